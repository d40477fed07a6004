"""Tolerances of the room ``formulations/projections``: parameters of least condition, decoupling."""

from __future__ import annotations

# [1, of the logarithm] The search for the parameter of least condition ends with its logarithm known to this.
# Near a minimum the condition number is then flat to 1e-16.
LOG_PARAMETER = 1e-9

# [1, of the largest] Values along a motion that differ by less are printed as one number. Print has four
# digits, and equal values differ by rounding.
SAME_VALUES = 1e-9

# [1, of the norm of M] Default of ``coupling_tolerance``: a coupling (I − P) M P below this part is zero. It
# is the cut of ranks.
DECOUPLED = 1e-10
