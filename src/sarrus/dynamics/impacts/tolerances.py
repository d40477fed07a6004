"""Tolerances of the room ``impacts``: impulses, restitution, collisions, wrenches."""

from __future__ import annotations

# [1, of the largest push or gap] A smaller push, gap or normal force is zero.
IMPULSE_ROUNDING = 1e-9

# [1, of the largest entry or singular value] Singular values of rows below it are zero: looser than the
# rounding of a model's data, 1e-8.
DEPENDENT_IMPACT_ROWS = 1e-7

# [1, of the largest entry of M] The mass matrix of the free motions is definite above it.
DEFINITE_IMPACT_MASS = 1e-12

# [1, of the part of the restitutions] The part is found.
RESTITUTION_FOUND = 1e-9

# [1, of the restitutions] A smaller part is zero.
LEAST_RESTITUTION = 1e-3

# [rounds] Rounds in which contacts that are constraints and contacts with Coulomb friction hit each other.
IMPACT_ROUNDS = 100

# [1, of the largest compliance] Directions of W with less are stiff: a leg that is almost stretched has
# small ones.
STIFF_DIRECTION = 1e-12

# [1, of the speed of rest] A pressed contact takes part in an impact with this approach.
SHOVE = 1e-6
