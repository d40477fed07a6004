"""Times of the compilation of kernels."""

from __future__ import annotations

# [s] Longest wait for another process that compiles a kernel: well above the time of one kernel.
COMPILE_PATIENCE = 120.0
