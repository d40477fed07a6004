"""`Evaluation`: goals and constraints of a problem at values of its variables, with exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError, check_known
from sarrus.base.status import Status
from sarrus.design.synthesis.conditions import Condition, Configuration
from sarrus.design.synthesis.design_equilibrium import DesignEquilibrium
from sarrus.design.synthesis.determinacy import verify
from sarrus.design.synthesis.driven_configuration import DrivenConfiguration
from sarrus.design.synthesis.goals import Clearance, Goal, Linear
from sarrus.design.synthesis.quantities import Quantities
from sarrus.design.synthesis.state import POSITION, BranchLostError, State, StateDerivatives
from sarrus.design.synthesis.traced import TracedGoal, traced_goal
from sarrus.design.synthesis.variables import Variables
from sarrus.dynamics.system import System


@dataclass(eq=False)
class Found:
    """Values at x: ``q`` of all conditions, and the values of each goal (rows of all conditions, consecutive).

    ``own`` are the derivatives of goals with respect to the state at their conditions, computed with the values.
    """

    x: Array
    q: list[Array]
    states: list[State]
    goals: list[Array]
    own: list[list[Array]]
    margins: list[Array]
    follows: list[StateDerivatives] | None = field(default=None)
    jacobians: dict[int, Array] = field(default_factory=dict)


class Evaluation:
    """The functions of a problem. Configurations are followed from the last x at which all of them closed."""

    def __init__(
        self,
        system: System,
        variables: Variables,
        conditions: Sequence[Condition],
        goals: Sequence[Goal],
        clearances: Sequence[Clearance],
        relations: Sequence[Linear],
    ) -> None:
        self.system, self.variables, self.conditions = system, variables, tuple(conditions)
        drivers = _drivers(system, conditions)
        self.held: list[DrivenConfiguration | DesignEquilibrium] = [
            DrivenConfiguration(system, variables, c, k)
            if isinstance(c, Configuration)
            else DesignEquilibrium(system, variables, c, k, len(drivers))
            for k, c in enumerate(conditions)
        ]
        place = {id(c): k for k, c in enumerate(conditions)}
        self.quantities = Quantities(system, drivers)
        self.goals = [
            traced_goal(self.quantities, goal, i, tuple(place[id(c)] for c in goal.at))
            for i, goal in enumerate(goals)
        ]
        self.levels = [
            max((g.level for g in self.goals if k in g.conditions), default=POSITION)
            for k in range(len(self.conditions))
        ]
        self.clearances = [(c, tuple(place[id(at)] for at in c.at)) for c in clearances]
        for _, places in self.clearances:
            if any(isinstance(self.held[k], DesignEquilibrium) for k in places):
                raise ArgumentError(
                    f"{system.name}: a clearance needs configurations with drivers", element="at"
                )
        self.relations = [self._relation(relation) for relation in relations]
        self.last: Found | None = None
        self.lost: BranchLostError | None = None
        self.count = 0

    # --- values ------------------------------------------------------------------------------------

    def start_at(self, x: Array, q: Sequence[Array]) -> Found:
        """Return the values at x with given closed configurations, from which later ones are followed."""
        self.last = self._found(x, [np.array(place) for place in q])
        self.verify(self.last)
        return self.last

    def at(self, x: Array) -> Found:
        """Return the values at x; `BranchLostError` if a condition cannot be followed there."""
        last = self.last
        assert last is not None
        if np.array_equal(x, last.x):
            return last
        self.count += 1
        try:
            self._check(x)
            q = [held.close(x, q, last.x) for held, q in zip(self.held, last.q)]
            self.last = self._found(x, q)
        except BranchLostError as lost:
            self.lost = lost
            raise
        return self.last

    def _check(self, x: Array) -> None:
        try:
            self.system.model.driven.check(self.variables.values(x))
        except ArgumentError as error:
            raise BranchLostError(None, str(error)) from error

    def _found(self, x: Array, q: list[Array]) -> Found:
        states = [held.state(x, place, level) for held, place, level in zip(self.held, q, self.levels)]
        found = [[g.evaluate(n, states[k]) for n, k in enumerate(g.conditions)] for g in self.goals]
        values = [np.concatenate([part["value"][:, 0] for part in parts]) for parts in found]
        margins = [
            np.array([self._held(k).margin(states[k]) for k in places]) for _, places in self.clearances
        ]
        if not all(np.isfinite(part).all() for part in (*values, *margins)):
            names = [g.goal.name for g, part in zip(self.goals, values) if not np.isfinite(part).all()]
            raise BranchLostError(
                None, f"{names[0] if names else 'a clearance'} is no finite number", Status.NOT_FINITE
            )
        own = [[part["jacobian"] for part in parts] for parts in found]
        return Found(x.copy(), q, states, values, own, margins)

    def at_position(self, g: TracedGoal, n: int, z: Array) -> tuple[Array, Array, Array]:
        """Return values of a goal of positions at its n-th condition, and their derivatives along velocities and by p.

        The q in z need not close the loops.
        """
        nv, nc, s = self.system.nv, self.system.nc, self.quantities
        state = State(z, np.zeros(nv), np.zeros(nv), np.zeros(nc), np.zeros(s.forces.numel()), None, POSITION)
        d = g.evaluate(n, state)
        by_p = d["jacobian"][:, d["jacobian"].shape[1] - self.variables.parameters :]
        return d["value"][:, 0], d["jacobian"][:, :nv], by_p

    def _held(self, k: int) -> DrivenConfiguration:
        held = self.held[k]
        assert isinstance(held, DrivenConfiguration)
        return held

    # --- derivatives -------------------------------------------------------------------------------

    def follows(self, found: Found) -> list[StateDerivatives]:
        """Return the derivatives of all conditions with respect to the variables."""
        if found.follows is None:
            found.follows = [held.follows(state) for held, state in zip(self.held, found.states)]
        return found.follows

    def jacobian(self, found: Found, i: int) -> Array:
        """Return the derivative of the values of goal number i by x; `SolveError` if it is not finite."""
        if i not in found.jacobians:
            g, follows = self.goals[i], self.follows(found)
            if not all(np.isfinite(part).all() for part in found.own[i]):
                raise SolveError(
                    f"{self.system.name}: {g.goal.name!r} has no finite derivative at "
                    f"{self.variables.values(found.x)}; use a differentiable expression",
                    element=g.goal.name,
                )
            rows = [part @ follows[k].rows for part, k in zip(found.own[i], g.conditions)]
            found.jacobians[i] = np.vstack(rows)
        return found.jacobians[i]

    def margin_jacobian(self, found: Found, i: int) -> Array:
        """Return the derivative of the margins of clearance number i by x."""
        follows = self.follows(found)
        return np.vstack(
            [self._held(k).margin_derivative(found.states[k], follows[k]) for k in self.clearances[i][1]]
        )

    # --- what goals are made of --------------------------------------------------------------------

    def verify(self, found: Found) -> None:
        """Raise `ArgumentError` if a goal depends on forces shared by redundant closures and drivers."""
        names = (*self.system.constraint_names, *self.quantities.drive)
        verify(self.system.name, names, self.goals, self.held, found.states)

    def _relation(self, relation: Linear) -> tuple[Array, float, float]:
        row = np.zeros(len(self.variables.names))
        for name, factor in relation.coefficients.items():
            check_known("variable", name, self.variables.names, f"{self.system.name}: linear")
            row[self.variables.names.index(name)] = factor
        return row, relation.lower, relation.upper


def _drivers(system: System, conditions: Sequence[Condition]) -> tuple[str, ...]:
    """Return the names of the drivers, which all configurations must have in common."""
    found = [tuple(c.drivers) for c in conditions if isinstance(c, Configuration)]
    for names in found[1:]:
        if names != found[0]:
            raise ArgumentError(
                f"{system.name}: all configurations must have the same drivers in the same order, got {found[0]} and "
                f"{names}",
                element="drivers",
            )
    return found[0] if found else ()
