"""Tolerances of the room ``models``: pivots of two ways to solve for accelerations."""

from __future__ import annotations

# [1, of the largest pivot] Rows with a smaller pivot have not the rank that forward dynamics found.
LOST_RANK = 1e-12

# [1, of the largest entry of P] Below it the smallest pivot of the change of coordinates P costs two
# digits, and general code with pivoting is used.
CLEAR_CHANGE_OF_COORDINATES = 2e-2
