"""Activations of actuators in a linear model: to the mechanism they are inputs, to the model states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array

if TYPE_CHECKING:
    from sarrus.dynamics.evaluations import Evaluations


@dataclass(frozen=True, eq=False)
class Activations:
    """ẇ = d(w, u) of one state with its derivatives, and the names of the w; all empty where there are none."""

    names: tuple[str, ...]
    rate: Array
    by_state: Array
    by_control: Array

    def states(self, of_mechanism: Array) -> Array:
        """Return A of (x, w) from [A | B_w], x the states of the mechanism."""
        still = np.zeros((len(self.names), of_mechanism.shape[0]))
        return np.block([[of_mechanism], [still, self.by_state]])

    def inputs(self, of_mechanism: Array) -> Array:
        """Return B of (x, w)."""
        return np.vstack([of_mechanism, self.by_control])

    def beside(self, columns: Array) -> Array:
        """Return rows over x as rows over (x, w), which do not depend on w."""
        return np.hstack([columns, np.zeros((len(columns), len(self.names)))])

    def outputs(self, states: tuple[str, ...], names: tuple[str, ...], c: Array) -> Array:
        """Return C over (x, w): named activations are themselves."""
        c = self.beside(c)
        for row, name in enumerate(names):
            if name in self.names:
                c[row] = 0.0
                c[row, len(states) + self.names.index(name)] = 1.0
        return c


def by_inputs(system: Evaluations) -> ca.SX:
    """Return the derivatives of the input force by u and w, which to the mechanism are inputs alike."""
    e = system.equations
    return ca.jacobian(e.input_force, ca.vertcat(e.u, e.q[e.nq - e.activations :]))


def activations_of(system: Evaluations, x: Array) -> Activations:
    """Return the activations at x = [q | v | u | t | p | τ]."""
    e = system.equations
    first = e.nq - e.activations
    if e.drift is None:
        return Activations((), np.zeros(0), np.zeros((0, 0)), np.zeros((0, e.nu)))
    rate, w = e.drift[first:], e.q[first:]
    native = system.compiled.named(
        "activations", lambda: {"rate": rate, "w": ca.jacobian(rate, w), "u": ca.jacobian(rate, e.u)}
    )
    parts = native.evaluate(x)
    return Activations(tuple(e.coordinate_names[first:]), parts["rate"][:, 0], parts["w"], parts["u"])
