"""Symbolic equations of motion: `Equations` over CasADi symbols, from a mechanism, a Lagrangian or matrices.

Also the straight-line eliminations of the constrained solve, traced over structural nonzeros (`elimination`, `stages`).
"""
