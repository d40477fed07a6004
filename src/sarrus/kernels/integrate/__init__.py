"""Time integration in kernels: steps, error control, events, singularity crossings, the loop of a run."""
