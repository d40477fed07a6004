"""Activations of actuators in a linear model: inputs of the mechanism, states of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.kernels.linalg.dense import product

if TYPE_CHECKING:
    from sarrus.dynamics.model.evaluations import Evaluations


@dataclass(frozen=True, eq=False)
class Activations:
    """ẇ = d(w, u, q, v, t) at one state with its derivatives, and the names of the activations w; empty without any.

    ``by_place`` (nw × (nv + 1)) are the derivatives along velocities, then by time, ``by_velocity`` (nw × nv) by v (the
    induced voltage of a motor). None if the rates depend on (w, u) alone.
    """

    names: tuple[str, ...]
    rate: Array
    by_state: Array
    by_control: Array
    by_place: Array | None = None
    by_velocity: Array | None = None

    def moving(self, w: Array, tolerance: float) -> str | None:
        """Return the name of the activation that is farthest from equilibrium at w, None if all are in equilibrium.

        |ẇ| is compared with the tolerance; a current in units of its rate per volt, 1/L.
        """
        falls = np.abs(np.diag(self.by_state)) * (1.0 + np.abs(w))
        sizes = [
            max(1.0, fall) if name.endswith(".current") else 1.0 for name, fall in zip(self.names, falls)
        ]
        rates = np.abs(self.rate) / np.array(sizes)
        return self.names[int(rates.argmax())] if (rates > tolerance).any() else None

    def states(self, of_mechanism: Array, tangent: Array) -> Array:
        """Return A of the states (x, w) from [A | B_w]; x are the states of the mechanism, (N⁺δq, δv) = T δx."""
        moved = np.zeros((len(self.names), of_mechanism.shape[0]))
        if self.by_place is not None and self.by_velocity is not None:
            moved = product(np.hstack([self.by_place[:, :-1], self.by_velocity]), tangent)
        return np.block([[of_mechanism], [moved, self.by_state]])

    def times(self, of_mechanism: Array, in_time: Array) -> Array:
        """Return E of (x, w) from E of x; (N⁺q, v) change by ``in_time`` per second at given x."""
        moved = np.zeros(len(self.names))
        if self.by_place is not None and self.by_velocity is not None:
            along = np.hstack([self.by_place[:, :-1], self.by_velocity])
            moved = self.by_place[:, -1] + product(along, in_time)
        return np.concatenate([of_mechanism, moved])

    def inputs(self, of_mechanism: Array) -> Array:
        """Return B of (x, w)."""
        return np.vstack([of_mechanism, self.by_control])

    def beside(self, columns: Array) -> Array:
        """Return rows over x extended by zeros for w: rows over (x, w)."""
        return np.hstack([columns, np.zeros((len(columns), len(self.names)))])

    def outputs(self, states: tuple[str, ...], names: tuple[str, ...], c: Array) -> Array:
        """Return C over (x, w), with a unit row for each named activation."""
        c = self.beside(c)
        for row, name in enumerate(names):
            if name in self.names:
                c[row] = 0.0
                c[row, len(states) + self.names.index(name)] = 1.0
        return c


def by_inputs(system: Evaluations) -> ca.SX:
    """Return the derivatives of the input force by (u, w): the force depends on both in the same way."""
    e = system.equations
    return ca.jacobian(e.input_force, ca.vertcat(e.u, e.q[e.activation_places]))


def driving_matrix(system: Evaluations, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
    """Return S (nv × nu) near zero: the generalized force per unit of control, or of activation where there is one."""
    e = system.equations
    matrix = np.array(system.actuation_matrix(q, v, t))
    if not e.activations or system.mechanism is None:
        return matrix
    x = system.pack(q, v, t=t)
    x[e.activation_places] = system.mechanism.neutral()[e.activation_places]
    found = system.compiled.named("driving", lambda: {"matrix": by_inputs(system)}).evaluate(x)["matrix"]
    through = [k for k, a in enumerate(system.mechanism.actuators.values()) if a.activation is not None]
    matrix[:, through] = found[:, e.nu :]
    return matrix


def activations_of(system: Evaluations, x: Array) -> Activations:
    """Return the activations at x = [q | v | u | t | p | τ]."""
    e = system.equations
    first = e.nq - e.activations
    if e.drift is None:
        return Activations((), np.zeros(0), np.zeros((0, 0)), np.zeros((0, e.nu)))
    rate, w = e.drift[first:], e.q[first:]

    def outputs() -> dict[str, ca.SX]:
        found = {"rate": rate, "w": ca.jacobian(rate, w), "u": ca.jacobian(rate, e.u)}
        if ca.depends_on(rate, ca.vertcat(e.q[:first], e.v, e.t)):
            seeds = ca.densify(ca.diagcat(ca.jacobian(e.rate, e.v), 1))
            found["place"] = ca.jtimes(rate, ca.vertcat(e.q, e.t), seeds)
            found["velocity"] = ca.jacobian(rate, e.v)
        return found

    parts = system.compiled.named("activations", outputs).evaluate(x)
    names = tuple(e.coordinate_names[first:])
    moved = parts.get("place"), parts.get("velocity")
    return Activations(names, parts["rate"][:, 0], parts["w"], parts["u"], *moved)
