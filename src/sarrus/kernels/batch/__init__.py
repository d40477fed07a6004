"""Many runs in kernels: one after the other, and side by side in the lanes of the processor."""
