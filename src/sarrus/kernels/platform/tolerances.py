"""Tolerances of the room ``platform``: times."""

from __future__ import annotations

# [s] So long the compilation of a kernel by another process is waited for: several times the slowest one.
COMPILE_PATIENCE = 120.0
