"""Control laws in kernels: hierarchies of tasks, level by level, with limits and friction cones."""
