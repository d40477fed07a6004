"""Control laws in kernels: demands level by level, with limits and friction cones."""
