"""Formulations of the literature to compare with: multipliers, null space, Udwadia–Kalaba, softened."""
