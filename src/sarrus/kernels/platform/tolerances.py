"""Times of the compilation of kernels."""

from __future__ import annotations

# [s] The compilation of a kernel by another process is waited for so long: well above the time that one
# kernel takes.
COMPILE_PATIENCE = 120.0
