"""`Problem`: a mechanism with free parameters and goals, and the search for a design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from sarrus.design.synthesis.closing import away_from_the_edge, first_places, pulled, restored
from sarrus.design.synthesis.conditions import Condition
from sarrus.design.synthesis.design import Design
from sarrus.design.synthesis.evaluation import Evaluation, Found
from sarrus.design.synthesis.goals import Clearance, Goal, Linear
from sarrus.design.synthesis.optimality import First, gradient_left, gradient_size
from sarrus.design.synthesis.program import Ended, Program
from sarrus.design.synthesis.solvers import Method, Solver, solver_of
from sarrus.design.synthesis.state import BranchLostError
from sarrus.design.synthesis.tolerances import CONSTRAINT_KEPT, OPTIMAL_GRADIENT, SAME_COST, ZERO_COST
from sarrus.design.synthesis.variables import Variables, read_variables
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.symbolic.multibody.parameters import Targets


@dataclass(frozen=True, eq=False)
class Value:
    """The cost of a design and its exact gradient; ``names`` are those of the variables.

    ``goals`` has the values of each goal, consecutive over the conditions, ``jacobians`` their derivatives (m, n).
    """

    cost: float
    gradient: Array
    names: tuple[str, ...]
    goals: Mapping[str, Array]
    jacobians: Mapping[str, Array]
    q: tuple[Array, ...]


class Problem:
    """A mechanism with free parameters, goals and constraints.

    At each condition loops and drivers determine the configuration q: φ(q, p) = 0. Its derivatives by the parameters p,
    and those of velocities, accelerations and forces, follow exactly from these equations (implicit differentiation).
    Redundant rows change nothing. A search changes the parameters; configurations follow on their branch, closed at
    every step. A step to a design that does not close is shortened. A start that does not close is first restored: the
    nearest design that closes is found, with parameters and all q as variables.

    Parameters
    ----------
    parameters : names with the numbers of the description that they drive, as in `sarrus.System`.
    goals : of `sarrus.design.synthesis`: point, pose, function, drive_force, shaking_force, squares, cost, peak,
        between, …
    constraints : clearance(...) and linear(...).
    bounds : (lower, upper) by name of a parameter or a free driver, such as "crank[2]"; bounds of the description (no
        negative mass) hold anyway.
    scales : scale of each variable; default: half the distance of its bounds, else its size.

    Contacts, stops and dry friction are left out. Raises `ArgumentError` for unknown names; bounds that cross, that a
    description does not allow or that the start violates; nonholonomic rows; and drivers that do not determine the
    configuration.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        parameters: Targets,
        goals: Sequence[Goal],
        *,
        constraints: Sequence[Clearance | Linear] = (),
        bounds: Mapping[str, tuple[float, float]] | None = None,
        scales: Mapping[str, float] | None = None,
    ) -> None:
        goals = [goals] if isinstance(goals, Goal) else list(goals)
        _require(mechanism, parameters, goals, constraints)
        self.mechanism = mechanism
        self.system = system = System(mechanism, parameters)
        if system.nc != system.nh:
            name = system.constraint_names[system.nh]
            raise ArgumentError(
                f"{system.name}: {name!r} is nonholonomic, and synthesis needs holonomic rows", element=name
            )
        system.require_no_activations("designs")
        clearances = [c for c in constraints if isinstance(c, Clearance)]
        found: dict[int, Condition] = {}
        for at in (*(goal.at for goal in goals), *(c.at for c in clearances)):
            found.update({id(c): c for c in at})
        conditions = tuple(found.values())
        self.variables: Variables = read_variables(system, conditions, bounds or {}, scales or {})
        relations = [c for c in constraints if isinstance(c, Linear)]
        self.evaluation = Evaluation(system, self.variables, conditions, goals, clearances, relations)
        self.program = Program(self.evaluation)
        self._labels = _labels(goals)
        self._home: Found | None = None

    def evaluate(self, values: Mapping[str, float] | None = None) -> Value:
        """Return the `Value` at values of the variables, by default at the start.

        Raises `SolveError` with status NOT_CLOSED if a condition cannot be closed there.
        """
        try:
            found = self._begin()
            x = self.variables.start.copy()
            for name, value in (values or {}).items():
                if name not in self.variables.names:
                    known = ", ".join(map(repr, self.variables.names))
                    raise ArgumentError(
                        f"{self.system.name}: unknown variable {name!r}. Known: {known}", element=name
                    )
                x[self.variables.names.index(name)] = value
            if not np.isfinite(x).all():
                raise ArgumentError(f"{self.system.name}: values must be finite numbers", element="values")
            found = self.evaluation.at(x)
        except BranchLostError as lost:
            raise lost.status.error(self.system.name, str(lost)) from lost
        gradient = self._with_peaks(found)
        each = range(len(self._labels))
        return Value(
            self.program.cost(found),
            read_only(gradient),
            self.variables.names,
            {self._labels[i]: read_only(found.goals[i].copy()) for i in each},
            {self._labels[i]: read_only(self.evaluation.jacobian(found, i)) for i in each},
            tuple(read_only(q.copy()) for q in found.q),
        )

    def solve(
        self, *, starts: int = 1, seed: int = 0, iterations: int = 300, method: Method = "auto"
    ) -> Design:
        """Return the best `Design` of searches from the mechanism as it is, and from random starts.

        Squares within bounds are minimised by Levenberg–Marquardt, all other problems by sequential quadratic
        programming. The result is a local minimum; ``starts`` > 1 adds starts drawn within bounds (within one scale
        without bounds) with a fixed ``seed``; of costs equal up to 1e-6 the first counts. Unreachable targets and
        designs that do not close are a status with a reason, no exception.

        ``method`` is "auto", as above; "slsqp", always sequential quadratic programming; or "ipopt", an interior point
        method with limited-memory Hessians that comes with CasADi (`ArgumentError` without it). All use the same
        derivatives and the same check of optimality.
        """
        if starts < 1 or iterations < 1:
            raise ArgumentError(
                f"{self.system.name}: starts and iterations must be at least 1", element="starts"
            )
        solver = solver_of(self.program, method)
        rng = np.random.default_rng(seed)
        before: float | None = None
        best: tuple[float, bool, Ended, First] | None = None
        reasons: list[BranchLostError] = []
        costs: list[float] = []
        self.evaluation.count = 0
        home: Found | None = None
        for k in range(starts):
            x = self.variables.start if k == 0 else self._drawn(rng)
            self.evaluation.lost = None
            try:
                found = self._started(x, home)
            except BranchLostError as lost:
                costs.append(float("inf"))
                reasons.append(lost)
                continue
            if k == 0 and np.array_equal(found.x, x):
                before, home = self.program.cost(found), found
            first = First.at(self.program, found)
            ended = self._searched(solver, found, first, iterations)
            cost, kept = self.program.cost(ended.found), not self._broken(ended.found)
            costs.append(cost if kept else float("inf"))
            if best is None or _is_better((cost, kept), best):
                best = cost, kept, ended, first
                last = self.evaluation.lost
        if best is None:
            return self._unclosed(reasons[0], before, costs)
        self.evaluation.verify(best[2].found)
        return self._design(best[2], best[3], last, before, costs)

    def _searched(self, solver: Solver, found: Found, first: First, iterations: int) -> Ended:
        """Return the end of a search; one that stops at the boundary of closing designs continues with open loops."""
        evaluation, program = self.evaluation, self.program
        ended = solver(found, iterations)
        stopped = evaluation.lost
        if (
            stopped is None
            or not program.plain
            or gradient_left(program, ended.found, first)
            <= OPTIMAL_GRADIENT * gradient_size(program, ended.found, first)
        ):
            return ended
        across = pulled(evaluation, ended.found.x, ended.found.q)
        if across is None:
            return ended
        try:
            closed, places = away_from_the_edge(evaluation, across[0], across)
            again = evaluation.start_at(closed, [h.close(closed, q) for h, q in zip(evaluation.held, places)])
        except BranchLostError:
            return ended
        evaluation.lost = None
        other = solver(again, iterations)
        if program.cost(other.found) < (1.0 - SAME_COST) * program.cost(ended.found):
            return other
        evaluation.lost = stopped
        return ended

    # --- starts ------------------------------------------------------------------------------------

    def _begin(self) -> Found:
        """Return the values at the start; `BranchLostError` if it does not close."""
        if self._home is None:
            x = self.variables.start
            places, lost = first_places(self.evaluation, x)
            if lost:
                raise lost[0]
            self._home = self.evaluation.start_at(x, places)
        self.evaluation.last = self._home
        return self._home

    def _started(self, x: Array, home: Found | None) -> Found:
        """Return the values at a start, or at a design near it that closes; `BranchLostError` if there is none."""
        evaluation = self.evaluation
        if home is not None and not np.array_equal(x, home.x):
            evaluation.last = home
            try:
                return evaluation.at(x)
            except BranchLostError:
                pass
        places, lost = first_places(evaluation, x)
        if not lost:
            return evaluation.start_at(x, places)
        again = pulled(evaluation, x, places) or restored(evaluation, x, places)
        if again is None:
            raise BranchLostError(lost[0].condition, f"{lost[0].reason}, and no design near the start closes")
        closed, places = away_from_the_edge(evaluation, x, again)
        places = [held.close(closed, q) for held, q in zip(evaluation.held, places)]
        return evaluation.start_at(closed, places)

    def _drawn(self, rng: np.random.Generator) -> Array:
        v = self.variables
        low = np.where(np.isfinite(v.lower), v.lower, np.minimum(v.start, v.upper) - v.scale)
        high = np.where(np.isfinite(v.upper), v.upper, np.maximum(v.start, v.lower) + v.scale)
        low = np.where(np.isfinite(v.lower), v.lower, np.minimum(low, high))
        return np.asarray(low + (high - low) * rng.random(len(low)))

    # --- answers -----------------------------------------------------------------------------------

    def _with_peaks(self, found: Found) -> Array:
        gradient = self.program.gradient(found)
        for i in self.program.peaks:
            k = int(np.abs(found.goals[i]).argmax())
            row = self.evaluation.jacobian(found, i)[k]
            gradient = gradient + self.evaluation.goals[i].goal.weight * np.sign(found.goals[i][k]) * row
        return gradient

    def _missed(self, found: Found) -> str:
        """Return the sentence that names a missed goal; "" if none is missed."""
        for g, label, values in zip(self.evaluation.goals, self._labels, found.goals):
            if g.goal.within is None:
                continue
            sizes = np.sqrt((values.reshape(len(g.conditions), g.rows) ** 2).sum(axis=1))
            worst = int(sizes.argmax())
            if sizes[worst] > g.goal.within:
                return f"{label} is missed by {sizes[worst]:.3g} at condition {g.conditions[worst]}"
        return ""

    def _broken(self, found: Found) -> str:
        """Return the sentence that names a violated constraint; "" if none is violated."""
        values, _, sizes = self.program.inequalities(found)
        if np.any(values < -CONSTRAINT_KEPT * sizes):
            return f"a clearance, limit or linear constraint is violated by {-(values.min()):.3g}"
        off = np.abs(self.program.equalities(found)[0]).max(initial=0.0)
        return f"a linear constraint is violated by {off:.3g}" if off > CONSTRAINT_KEPT else ""

    def _design(
        self,
        ended: Ended,
        first: First,
        lost: BranchLostError | None,
        before: float | None,
        costs: list[float],
    ) -> Design:
        found = ended.found
        left = gradient_left(self.program, found, first)
        status, reason = Status.OK, "a local minimum"
        if not left <= OPTIMAL_GRADIENT * gradient_size(self.program, found, first):
            status, reason = Status.ALMOST, f"the search ended before a minimum ({ended.said})"
            if lost is not None:
                reason = f"the search ended before a minimum: beyond it {lost}"
            elif not ended.converged:
                status, reason = Status.NOT_CONVERGED, "too few iterations"
        broken, missed = self._broken(found), self._missed(found)
        if broken or (missed and status is Status.OK):
            status, reason = Status.NOT_ACHIEVABLE, broken or f"a local minimum at which {missed}"
        elif missed:
            reason = f"{reason}; {missed}"
        return self._answer(found.x, found, self.program.cost(found), left, status, reason, before, costs)

    def _unclosed(self, lost: BranchLostError, before: float | None, costs: list[float]) -> Design:
        x, infinite = self.variables.start, float("inf")
        return self._answer(x, None, infinite, infinite, lost.status, str(lost), before, costs)

    def _answer(
        self,
        x: Array,
        found: Found | None,
        cost: float,
        left: float,
        status: Status,
        reason: str,
        before: float | None,
        costs: list[float],
    ) -> Design:
        v = self.variables
        values = v.values(x)
        return Design(
            name=self.system.name,
            parameters=values,
            start=v.values(v.start),
            drivers={name: float(value) for name, value in zip(v.names[v.parameters :], x[v.parameters :])},
            cost=cost,
            start_cost=before,
            goals={}
            if found is None
            else {n: float(np.abs(r).max()) for n, r in zip(self._labels, found.goals)},
            q=() if found is None else tuple(read_only(q.copy()) for q in found.q),
            active=v.active(x),
            optimality=left,
            status=status,
            reason=reason,
            mechanism=self.system.model.driven.apply(self.mechanism, values),
            evaluations=self.evaluation.count,
            starts=tuple(costs),
        )


def _is_better(new: tuple[float, bool], best: tuple[float, bool, Ended, First]) -> bool:
    """Return whether a cost is lower by more than rounding, or the first one that satisfies the constraints."""
    if new[1] != best[1]:
        return new[1]
    return new[0] < best[0] - SAME_COST * abs(best[0]) - ZERO_COST * best[3].size


def _require(
    mechanism: Mechanism, parameters: Targets, goals: Sequence[Goal], constraints: Sequence[object]
) -> None:
    if not isinstance(mechanism, Mechanism):
        raise ArgumentError(f"Problem needs a Mechanism, got {type(mechanism).__name__}", element="mechanism")
    if not parameters:
        raise ArgumentError(
            f'{mechanism.name}: a problem needs parameters, such as {{"l": "link.com.x"}}',
            element="parameters",
        )
    if not goals or not all(isinstance(goal, Goal) for goal in goals):
        raise ArgumentError(
            f"{mechanism.name}: goals must be one or more of sarrus.design.synthesis", element="goals"
        )
    for c in constraints:
        if not isinstance(c, (Clearance, Linear)):
            raise ArgumentError(
                f"{mechanism.name}: constraints must be clearance(...) or linear(...), got {type(c).__name__}",
                element="constraints",
            )
    if all(goal.kind == "between" for goal in goals):
        raise ArgumentError(
            f"{mechanism.name}: limits alone are no goal; add a goal to minimise", element="goals"
        )


def _labels(goals: Sequence[Goal]) -> tuple[str, ...]:
    """Return names of goals, numbered if several are equal."""
    names = [goal.name for goal in goals]
    return tuple(
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
        for i, name in enumerate(names)
    )
