"""Tolerances of `sarrus.kernels.states`: balances of forces."""

from __future__ import annotations

# [1, of the largest force of contacts, in units] A smaller force is rounding, and set to zero: the largest one has
# fewer digits.
ROUNDING_OF_FORCES = 1e-17
