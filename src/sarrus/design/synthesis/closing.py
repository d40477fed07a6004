"""Closing the conditions of a problem at the start, and restoration of a start that does not close."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.numbers import real_array
from sarrus.design.synthesis.design_equilibrium import DesignEquilibrium
from sarrus.design.synthesis.driven_configuration import DrivenConfiguration
from sarrus.design.synthesis.evaluation import Evaluation
from sarrus.design.synthesis.least_squares import descend
from sarrus.design.synthesis.state import POSITION, BranchLostError
from sarrus.design.synthesis.tolerances import (
    BEYOND_RESTORATION,
    DESIGN_CLOSED,
    GOAL_PULLS,
    RESTORATION_STEPS,
    SLOW_RESTORATION,
)
from sarrus.dynamics.system import System


def first_places(evaluation: Evaluation, x: Array) -> tuple[list[Array], list[BranchLostError]]:
    """Return a closed q for each condition at x, from its guess, and the conditions that do not close."""
    system = evaluation.system
    lost: list[BranchLostError] = []
    places: list[Array] = []
    before = system.neutral()
    at = system.with_parameters(evaluation.variables.values(x))
    for k, (held, condition) in enumerate(zip(evaluation.held, evaluation.conditions)):
        q = (
            before
            if condition.guess is None
            else system.checked(real_array(condition.guess), system.nq, "guess")
        )
        q = system.normalized(q)
        try:
            begins = condition.guess is not None or k == 0
            q = _first(held, at, x, q, search=begins and not lost)
        except BranchLostError as missed:
            if condition.guess is None and k == 0:
                missed.reason += " from the reference pose: give a guess"
            lost.append(missed)
            if isinstance(held, DrivenConfiguration):
                q[held.places] = held.angles(x)
        places.append(q)
        before = q
    return places, lost


def _first(
    held: DrivenConfiguration | DesignEquilibrium, at: System, x: Array, q: Array, search: bool
) -> Array:
    """Return the closed q from a guess by moving the drivers, else, with ``search``, as `assemble` finds it."""
    try:
        return held.close(x, q)
    except BranchLostError:
        if not search or not isinstance(held, DrivenConfiguration):
            raise
    q = q.copy()
    q[held.places] = held.angles(x)
    return held.close(x, np.array(at.assemble(q, held.t, locked=held.drivers, throw=False).q))


def away_from_the_edge(
    evaluation: Evaluation, x: Array, found: tuple[Array, list[Array]]
) -> tuple[Array, list[Array]]:
    """Return the design with the largest clearance on the extension of the way from x to a restored design.

    The nearest design that closes lies on the boundary of the closing designs, where no search can begin.
    """
    v = evaluation.variables
    best, most = found, _clearance(evaluation, found)
    for part in BEYOND_RESTORATION:
        further = np.clip(found[0] + part * (found[0] - x), v.lower, v.upper)
        trial = restored(evaluation, further, found[1])
        if trial is not None and (room := _clearance(evaluation, trial)) > most:
            best, most = trial, room
    return best


def _clearance(evaluation: Evaluation, found: tuple[Array, list[Array]]) -> float:
    """Return the smallest singular value of loops and drivers over all configurations; zero at singular ones."""
    x, places = found
    out = np.inf
    for held, q in zip(evaluation.held, places):
        assert isinstance(held, DrivenConfiguration)
        try:
            out = min(out, held.margin(held.state(x, q, POSITION)))
        except BranchLostError:
            return 0.0
    return out


def restored(evaluation: Evaluation, x: Array, places: Sequence[Array]) -> tuple[Array, list[Array]] | None:
    """Return a design near x whose configurations all close, with these; None if none is found.

    Levenberg–Marquardt on φ and the drivers of all configurations at once, with x within its bounds and all q as
    variables: loops may be open on the way.
    """
    if not all(isinstance(held, DrivenConfiguration) for held in evaluation.held):
        return None
    v = evaluation.variables
    x, q, size = Opened(evaluation).descend(np.clip(x, v.lower, v.upper), places)
    return (x, q) if size <= DESIGN_CLOSED else None


def pulled(evaluation: Evaluation, x: Array, places: Sequence[Array]) -> tuple[Array, list[Array]] | None:
    """Return a design that closes, found with open loops on the way while its goals attract it; None if none is found.

    As `restored`, with the residuals of the goals added, at weights that fall step by step. It can pass through designs
    that do not close. For goals that are squares of positions alone; else None.
    """
    known = all(isinstance(held, DrivenConfiguration) for held in evaluation.held)
    if not known or any(g.goal.kind != "squares" or g.level > POSITION for g in evaluation.goals):
        return None
    v = evaluation.variables
    x, q = np.clip(x, v.lower, v.upper), list(places)
    for pull in GOAL_PULLS:
        x, q, _ = Opened(evaluation, pull).descend(x, q)
    return restored(evaluation, x, q)


class Opened:
    """Residuals of loops, drivers and goals as functions of x in its scales and of steps of all q in characteristic
    units.
    """

    def __init__(self, evaluation: Evaluation, pull: float = 0.0) -> None:
        self.evaluation, self.pull = evaluation, pull
        self.helds = [held for held in evaluation.held if isinstance(held, DrivenConfiguration)]
        self.nv = evaluation.system.nv

    def descend(self, x: Array, places: Sequence[Array]) -> tuple[Array, list[Array], float]:
        """Return (x, all q, largest residual of loops and drivers) at the end of Levenberg–Marquardt steps."""
        (x, q), _ = descend(
            self, (x, [np.array(place) for place in places]), RESTORATION_STEPS, slow=SLOW_RESTORATION
        )
        return x, q, self._open(x, q)

    def residual(self, place: tuple[Array, list[Array]]) -> Array | None:
        """Return all residuals; None if a goal is not finite."""
        x, q = place
        loops = np.concatenate([h.rows * h.residual(x, at)[0] for h, at in zip(self.helds, q)])
        out = np.concatenate([self._goals(x, q)[0], loops]) if self.pull else loops
        return out if np.isfinite(out).all() else None

    def moved(self, place: tuple[Array, list[Array]], step: Array) -> tuple[Array, list[Array]]:
        """Return the place after a step, x clipped to its bounds."""
        (x, q), v = place, self.evaluation.variables
        steps = step[len(x) :].reshape(len(q), self.nv) / self.evaluation.system.characteristic.columns
        moved = [self.evaluation.system.move(at, part) for at, part in zip(q, steps)]
        return np.clip(x + v.scale * step[: len(x)], v.lower, v.upper), moved

    def stops(self, place: tuple[Array, list[Array]], step: Array) -> np.ndarray:
        """Return the mask of variables at a bound that the step would cross."""
        out = np.zeros(len(step), dtype=bool)
        out[: len(place[0])] = self.evaluation.variables.stops(place[0], step[: len(place[0])])
        return out

    def jacobian(self, place: tuple[Array, list[Array]]) -> Array:
        """Return the Jacobian of all residuals."""
        x, q = place
        v, rows = self.evaluation.variables, []
        for k, (held, at) in enumerate(zip(self.helds, q)):
            opened, b = held.openings(x, at)
            rows.append(held.rows[:, None] * self._wide(k, opened * v.scale, b / held.columns))
        return np.vstack([*self._goals(x, q)[1], *rows] if self.pull else rows)

    def _open(self, x: Array, q: Sequence[Array]) -> float:
        loops = [np.abs(h.rows * h.residual(x, place)[0]).max(initial=0.0) for h, place in zip(self.helds, q)]
        return float(max(loops))

    def _wide(self, k: int, by_x: Array, by_q: Array) -> Array:
        """Return the derivatives of rows that depend on x and on the q of condition k."""
        out = np.zeros((len(by_x), by_x.shape[1] + self.nv * len(self.helds)))
        out[:, : by_x.shape[1]] = by_x
        start = by_x.shape[1] + self.nv * k
        out[:, start : start + self.nv] = by_q
        return out

    def _goals(self, x: Array, q: Sequence[Array]) -> tuple[Array, list[Array]]:
        """Return pull × √weight × the values of all goals and their derivatives; positions are divided by κ."""
        e, v = self.evaluation, self.evaluation.variables
        values, rows = [], []
        for g in e.goals:
            factor = self.pull * np.sqrt(g.goal.weight) / e.system.characteristic.length
            for n, k in enumerate(g.conditions):
                value, by_q, by_p = e.at_position(g, n, self.helds[k].packed(x, q[k]))
                by_x = np.zeros((len(value), len(x)))
                by_x[:, : v.parameters] = by_p
                values.append(factor * value)
                rows.append(factor * self._wide(k, by_x * v.scale, by_q / self.helds[k].columns))
        return np.concatenate(values), rows
