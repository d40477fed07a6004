"""Derivatives of the equations for a traced linear model, by the recursion over the tree or automatic differentiation.

Both give the same numbers; which of the two needs fewer instructions depends on the model, see docs/decisions/0007.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.dynamics.model.derivatives import along, bias_rows, residual_force
from sarrus.dynamics.system import System
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.kinematics.tree import build_tree
from sarrus.symbolic.multibody.motions import Accelerated
from sarrus.symbolic.multibody.partials import TreePartials
from sarrus.symbolic.multibody.row_partials import RowPartials


@dataclass(frozen=True)
class Slopes:
    """Derivatives of F = M a + h − k − S u − C − τ − Aᵀλ and G = A a + γ: along velocities, by time, by v."""

    force_q: ca.SX
    force_v: ca.SX
    bias_q: ca.SX
    bias_v: ca.SX


class RecursivePieces:
    """Derivatives by `sarrus.symbolic.multibody.partials`, for the coordinates of a mechanism.

    The external forces k + S u + C + τ are differentiated automatically.
    """

    def __init__(self, system: System) -> None:
        assert system.mechanism is not None
        e, tree = system.equations, build_tree(system.mechanism, system.equations.t)
        joints = links(tree, e.q, e.v)
        self._tree = TreePartials(tree, joints, e.v)
        self._rows = RowPartials(system.mechanism, tree, joints, e, self._tree)
        outer = e.passive_force + e.input_force + e.non_ideal + system.compiled.applied
        self._outer_q, self._outer_v = along(system, outer), ca.jacobian(outer, e.v)
        self._still = ca.SX(e.nc, 1)
        self.mass = self._tree.mass_matrix()
        self.force = outer - self._tree.bias_force()
        self.jacobian, self.bias = self._rows.jacobian, self._rows.bias
        self.velocity = ca.horzcat(self._rows.slip, self._still)
        self.drift = self._still

    def slopes(self, a: ca.SX, multipliers: ca.SX) -> Slopes:
        """Return the derivatives at accelerations and multipliers that solve the equations."""
        force_q, force_v = self._tree.force_derivatives(Accelerated(self._tree.motions, a))
        bias_q, bias_v, reaction = self._rows.derivatives(a, multipliers)
        force_q = ca.horzcat(force_q - reaction, ca.SX(a.shape[0], 1))
        return Slopes(
            force_q - self._outer_q, force_v - self._outer_v, ca.horzcat(bias_q, self._still), bias_v
        )


class DifferentiatedPieces:
    """Derivatives by automatic differentiation, for equations of any kind."""

    def __init__(self, system: System) -> None:
        e = system.equations
        self._system = system
        self.mass, self.force = e.mass_matrix, system.compiled.force
        self.jacobian, self.bias = e.jacobian, e.constraint_bias
        self.velocity = along(system, e.velocity_residual)
        self.drift = ca.jacobian(e.position_residual, e.t)

    def slopes(self, a: ca.SX, multipliers: ca.SX) -> Slopes:
        """Return the derivatives at accelerations and multipliers that solve the equations."""
        given = ca.SX.sym("a", *a.shape), ca.SX.sym("multipliers", *multipliers.shape)
        force, bias = residual_force(self._system, *given), bias_rows(self._system, given[0])
        v = self._system.equations.v
        slopes = [
            along(self._system, force), ca.jacobian(force, v), along(self._system, bias), ca.jacobian(bias, v)
        ]  # fmt: skip
        return Slopes(*ca.substitute(slopes, list(given), [a, multipliers]))


# Equations at (q, v): ``mass``, ``force``, ``jacobian`` and ``bias``, ∂ψ along velocities and by time (``velocity``),
# ∂φ/∂t (``drift``); then `slopes` at a, λ. Rows of closures with the ground may be turned, λ then is that of those.
Pieces = RecursivePieces | DifferentiatedPieces


def pieces_of(system: System) -> Pieces:
    """Return the derivatives with fewer instructions: the recursion for every tree (docs/decisions/0007)."""
    mechanism = system.mechanism
    own = system.equations.tree
    tree = mechanism is not None and mechanism.velocity_names == system.velocity_names
    # The recursion takes the numbers of the description as they are, rows and a ground at rest, no inertia of tendons.
    moving = (
        bool(system.model.driven.drives)
        or (own is not None and bool(own.driven))
        or system.model.is_rheonomic
        or system.equations.rotors
    )
    return DifferentiatedPieces(system) if not tree or moving else RecursivePieces(system)
