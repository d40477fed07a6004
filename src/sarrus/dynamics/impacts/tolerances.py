"""Tolerances of the room ``impacts``: impulses, restitution, collisions, wrenches."""

from __future__ import annotations

from sarrus.kernels.contact.tolerances import IMPACT_GAP

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

# [rounds] Rounds in which the direction of sliding is found.
SLIDING_ROUNDS = 30

# [1, of the length 1] The direction is found when it changes by less: two units of rounding.
SAME_SLIDING = 4e-16

# [1, of the right side] Residual of a sticking contact.
STICKING_RESIDUAL = 1e-12

# [1, of the largest compliance] A row with a smaller compliance depends on others.
DEPENDENT_COMPLIANCE = 1e-9

# [1, of the largest compliance] Directions of W with less are stiff: a leg that is almost stretched has
# small ones.
STIFF_DIRECTION = 1e-12

# [1, of the speed of rest] A pressed contact takes part in an impact with this approach.
SHOVE = 1e-6

# [1, of the unit of the block] A gap of a contact that hits is zero.
IMPACT_GAP_ROUNDING = 100.0 * IMPACT_GAP

# [1, of twice the gap] Gaps at an impact are corrected where that moves no gap by more than twice the
# largest, but for rounding.
CORRECTED_GAPS = 1e-9
