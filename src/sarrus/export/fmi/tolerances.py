"""Tolerances of the room ``export/fmi``: what a unit takes as closed."""

from __future__ import annotations

# [unit of the rows] Default of ``closure_tolerance``: a start whose loops are open by more is an error of the
# unit. Files with ten digits pass.
UNIT_CLOSED = 1e-9
