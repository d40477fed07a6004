"""Constraints on actuator forces: contacts, limits of the actuators, conditions on contact forces.

Source: Aghili 2022, Optimal control of legged robots subject to friction cone constraints, eqs. (1b)–(1d), (28),
(29d), (34), (35).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.formulations.friction.friction_cones import ConeInequality, ContactForces, cone_inequalities
from sarrus.formulations.friction.log_barrier import Cone
from sarrus.formulations.problem import Array, as_array

Condition = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, eq=False)
class Limits:
    """Constraints on u in the form of `sarrus.formulations.friction.log_barrier.log_barrier`.

    Attributes
    ----------
    contacts : those of the contacts, in the caller's order.
    linear : F and f of F u + f ≥ 0: contacts without friction, inequalities, upper and lower limits of actuators.
    cones : contacts with friction.
    equalities : E and e of E u = e.
    names : of the linear rows, then of the cones.
    """

    contacts: tuple[ConeInequality, ...]
    linear: tuple[Array, Array]
    cones: list[Cone]
    equalities: tuple[Array, Array]
    names: list[str]

    @classmethod
    def of(
        cls,
        forces: ContactForces,
        contacts: Sequence[Sequence[int]],
        mu: ArrayLike,
        u_min: ArrayLike | None,
        u_max: ArrayLike | None,
        inequalities: Condition | None,
        equalities: Condition | None,
    ) -> Limits:
        """Return the checked constraints; see `sarrus.formulations.optimal_distribution`."""
        conditions = cone_inequalities(forces, contacts, mu)
        smooth = {k: c.cone for k, c in enumerate(conditions) if len(c.rows) == 1}
        rough = {k: c.cone for k, c in enumerate(conditions) if len(c.rows) > 1}
        size = forces.gain.shape[1]
        lower, upper = _limit(u_min, -np.inf, size, "u_min"), _limit(u_max, np.inf, size, "u_max")
        for j in np.flatnonzero(lower >= upper):
            raise ArgumentError(
                f"u_min[{j}] = {lower[j]} must be below u_max[{j}] = {upper[j]}", element=f"u_min[{j}]"
            )
        above, below, eye = np.flatnonzero(upper < np.inf), np.flatnonzero(lower > -np.inf), np.eye(size)
        rows, offset = _condition(forces, inequalities, "inequalities")
        equal, shift = _condition(forces, equalities, "equalities")
        linear = [c.rows for c in smooth.values()] + [rows, -eye[above], eye[below]]
        constant = [c.offset for c in smooth.values()] + [offset, upper[above], -lower[below]]
        return cls(
            contacts=conditions,
            linear=(np.vstack(linear), np.concatenate(constant)),
            cones=list(rough.values()),
            equalities=(equal, -shift),
            names=[
                *(f"contact {k}" for k in smooth),
                *(f"inequality {k}" for k in range(len(offset))),
                *(f"upper limit of actuator {j}" for j in above),
                *(f"lower limit of actuator {j}" for j in below),
                *(f"contact {k}" for k in rough),
            ],
        )


def _limit(value: ArrayLike | None, default: float, size: int, name: str) -> Array:
    """Return limits of the actuators as a vector; infinite ones are allowed, NaN is not."""
    limit = real_array(default if value is None else value)
    if limit.ndim == 0:
        limit = np.full(size, float(limit))
    if limit.shape != (size,) or np.isnan(limit).any() or (limit == -default).any():
        raise ArgumentError(
            f"{name} must be a number or {size} numbers, infinite where there is no limit, got {value!r}",
            element=name,
        )
    return limit


def _condition(forces: ContactForces, condition: Condition | None, name: str) -> tuple[Array, Array]:
    """Return rows and offset of Σ λ(u) − s for a condition (Σ, s) on λ."""
    m = len(forces.offset)
    matrix, value = (np.zeros((0, m)), np.zeros(0)) if condition is None else condition
    size = np.size(value)
    sigma = as_array(matrix, (size, m), f"{name}[0]")
    return sigma @ forces.gain, sigma @ forces.offset - as_array(value, (size,), f"{name}[1]")
