"""Codes and places of the results of the verification of a solution (`sarrus.kernels.solve.verification`)."""

from __future__ import annotations

# The answer is plainly good; its residuals are rounding but its error is not known; its residuals are larger.
GOOD, MET, UNMET = 0, 1, 2
# Where the results lie in x: largest residuals of M a = f + F, of M a = f + Aᵀλ and of A a + γ, and the error.
FORCE, MULTIPLIERS, ROWS, ERROR, N_RESULTS = 0, 1, 2, 3, 4
