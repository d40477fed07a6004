"""Tolerances of the room ``model/formats/mjcf``: which poses of a file are equal."""

from __future__ import annotations

# [m and 1] Two poses are equal if positions and entries of rotations differ by less. MuJoCo's compiler
# computes both from the same numbers, up to rounding (1e-16).
SAME_POSE = 1e-12
