"""Tolerances of the room ``formulations/classical``: penalties, damping, scales."""

from __future__ import annotations

# [1, of the largest eigenvalue of M] Default penalty: the largest eigenvalue of ρ AᵀA is at least this
# multiple. Each iteration then gains eight digits, and half of the digits of M are left.
PENALTY_STIFFNESS = 1e8

# [1, of the largest eigenvalue of M] Default penalty: the smallest eigenvalue of ρ AᵀA that is not zero is at
# least this multiple. The slowest direction then gains two digits an iteration.
PENALTY_WEAKEST = 1e2

# [1, of the accelerations] Iterations of the augmented Lagrangian end if the constraints are missed by less.
# It is a hundred times the rounding of one product.
PENALTY_ACCURACY = 1e-13

# [1, of the largest diagonal entry of M] Smaller diagonal entries are raised to this part where they scale
# columns. The scale 1e6 is then the largest, and massless bodies stay finite.
LEAST_SCALE_OF_MASS = 1e-12

# [1, of the norm of A] A given basis K of unit columns is refused if A K is larger. A basis from eight
# printed digits passes. A looser ``tolerance`` loosens it.
TANGENT_BASIS = 1e-8

# [unit of A: 1 for angles about joints, m for lengths] Default damping and default cut of softened inverses.
# All of them act at the same distance from a singular configuration.
SOFTNESS = 1e-2
