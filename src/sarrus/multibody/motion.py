"""`Motion`: how a node of the tree, or a ground, moves."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca


@dataclass(frozen=True)
class Motion:
    """Twist (``angular``, ``linear``) of a node, its spatial acceleration without gravity, and that of free fall.

    In the node's axes about its origin. Accelerations are those at v̇ = 0 unless joints have some of their own.
    """

    angular: ca.SX
    linear: ca.SX
    angular_bias: ca.SX
    linear_bias: ca.SX
    gravity: ca.SX
