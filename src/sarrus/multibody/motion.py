"""`Motion`: how a node of the tree, or a ground, moves."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca


@dataclass
class Motion:
    """Kinematics of one node. ``rotation``, ``position`` place it in its parent, ``world_…`` in the world.

    ``s_angular``, ``s_linear`` are the joint's motion subspace (3 × nv each); ``angular``, ``linear`` the
    twist, ``angular_bias``, ``linear_bias`` the spatial acceleration at v̇ = 0 without gravity, and
    ``gravity`` the acceleration of free fall: all in the node's axes.
    """

    rotation: ca.SX
    position: ca.SX
    s_angular: ca.SX
    s_linear: ca.SX
    world_rotation: ca.SX
    world_position: ca.SX
    angular: ca.SX
    linear: ca.SX
    angular_bias: ca.SX
    linear_bias: ca.SX
    gravity: ca.SX
