"""Tolerances of `sarrus.kernels.models`: rank of A, change of coordinates in linear models."""

from __future__ import annotations

# [1, of the largest pivot] A smaller pivot of A lowers its rank below the rank found by forward dynamics.
LOST_RANK = 1e-12

# [1, of the largest entry of P] Least pivot of the change of coordinates P. A smaller pivot costs two digits,
# and general code with pivoting is used.
CLEAR_CHANGE_OF_COORDINATES = 2e-2
