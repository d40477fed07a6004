"""Constrained solves in kernels: M a = f + Aᵀλ with A a = −γ, projections on the constraints, their checks."""
