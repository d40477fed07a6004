"""Tolerances of the room ``many``: starts of many runs."""

from __future__ import annotations

# [1, of the largest pivot] A start with its pivots this clearly above or below the generic rank needs no
# second look.
GENERIC_PIVOT = 1e-6
