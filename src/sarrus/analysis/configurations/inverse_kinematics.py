"""Inverse kinematics: closed configurations with bodies and coordinates at given targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lstsq
from scipy.optimize import lsq_linear

from sarrus.analysis.configurations.targets import Targets, scalar_coordinates, target
from sarrus.analysis.configurations.tolerances import (
    AT_LIMIT,
    CLOSING_DAMPING,
    CLOSURE_WEIGHT,
    FRESH_STARTS,
    KINEMATICS_DAMPING,
    KINEMATICS_LEAST_DAMPING,
    KINEMATICS_LONGEST,
    KINEMATICS_ROUNDING,
    KINEMATICS_STEPS,
    LEAST_SQUARES_END,
    LOOPS_CLOSED,
    STALLED,
    TARGET_MET,
    WEIGHTED_CUT,
)
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import SolveError, check_is
from sarrus.base.status import Answer, Status
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.antiparallel import antiparallel
from sarrus.dynamics.closing.assembly import free_velocities
from sarrus.dynamics.closing.tolerances import DATA_TOLERANCE
from sarrus.dynamics.closing.within_limits import outside_limits
from sarrus.dynamics.model.measures import open_by
from sarrus.dynamics.system import System
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.levenberg_marquardt import levenberg_marquardt
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT


@dataclass(frozen=True, eq=False)
class InverseKinematics(Answer):
    """A closed configuration and the errors of its targets.

    Attributes
    ----------
    q : (nq,) configuration.
    residuals : by target, the largest error of its components [m, rad]; ``residual`` is the largest of all.
    closure_residual : largest entry of φ [m, rad].
    at_limits : names of the coordinates that ended at a limit of their joint.
    outside : coordinates beyond limits of their joints by more than rounding, and their values: locked ones, and any
        without ``within_limits``.
    dof : degrees of freedom that the targets leave, with the locked coordinates held.
    iterations : number of steps over all starts.
    antiparallel : closures that hold with opposite instead of parallel axes only.
    status : OK; NOT_ACHIEVABLE (closed, with least errors of the targets); NOT_CLOSED (open, or antiparallel).
    """

    q: Array
    residuals: dict[str, float]
    closure_residual: float
    at_limits: tuple[str, ...]
    dof: int
    iterations: int
    antiparallel: tuple[str, ...]
    status: Status
    outside: dict[str, float] = field(default_factory=dict)

    @property
    def residual(self) -> float:
        """Largest error of all targets [m, rad]."""
        return max(self.residuals.values(), default=0.0)

    @property
    def message(self) -> str:
        """The outcome as a sentence, with the worst target."""
        if self.antiparallel:
            return f"the loops close only with opposite axes of closure {', '.join(map(repr, self.antiparallel))}"
        if self.status is Status.NOT_CLOSED:
            return (
                f"the loops stay open by {self.closure_residual:.3g} with these limits and locked coordinates"
            )
        if self.status is Status.OK:
            names = ", ".join(f"{name!r} at {value:.6g}" for name, value in self.outside.items())
            return f"all targets are met{f'; beyond limits: {names}' if names else ''}"
        worst = max(self.residuals, key=lambda name: self.residuals[name])
        held = f"; at their limits: {', '.join(self.at_limits)}" if self.at_limits else ""
        return (
            f"the targets cannot be met from here: {worst!r} is missed by {self.residuals[worst]:.3g}{held}"
        )


@described()
def inverse_kinematics(
    system: System,
    targets: Targets,
    q: ArrayLike | None = None,
    *,
    locked: Sequence[str] = (),
    within_limits: bool = True,
    t: float = 0.0,
    throw: bool = True,
) -> InverseKinematics:
    """Return a closed configuration with bodies and coordinates at given targets, as an `InverseKinematics`.

    Levenberg–Marquardt steps on the targets, in which the closures weigh 10⁶ times as much and joint limits are bounds
    of the linear least-squares problem; the loops are closed after every step. If the iteration ends without meeting
    the targets it restarts from seeded configurations, and the best result counts. Errors and steps are measured in
    radians and characteristic lengths (`sarrus.dynamics.model.characteristic`), so the result does not depend on units;
    targets count as met to 10⁻⁹ of these.

    Parameters
    ----------
    targets : a dictionary. Keys and values:

        - ``"coordinate": number``: a scalar coordinate [m, rad];
        - ``"body": (x, y, z)``: the origin of the body in the world [m]; None for a component leaves it free;
        - ``("body", (x, y, z)): (X, Y, Z)``: a point given in body axes, in the world;
        - ``"body": Pose`` and ``("body", point): Pose``: position and orientation in the world;
        - ``"body": 3×3 rotation matrix``: orientation alone.

        A name of both a body and a coordinate means the coordinate if the value is a number.
    q : (nq,) start, default the neutral configuration. Its loops may be open.
    locked : joints or coordinates that keep their values of q.
    within_limits : keep scalar coordinates within the limits of their joints; starts beyond are moved to the limit.
    t : time [s] of constraints that depend on it.
    throw : raise `SolveError` unless the status is OK; its ``result`` is the best answer.

    Full rank: the solution is isolated if ``dof`` is 0, else one of many, near the start. Redundant rows and targets
    change nothing. Inconsistent or unreachable targets: NOT_ACHIEVABLE, with closed loops and a local minimum of the
    sum of squared errors. Singular: damping keeps the steps short, and convergence is slow if a target lies on the
    boundary of the reachable set. NOT_CLOSED: the loops cannot be closed with the locked coordinates and limits.
    """
    check_is("inverse_kinematics", system, System)
    problem = Problem(system, targets, locked, within_limits, t)
    start = system.neutral() if q is None else system.normalized(q)
    start = problem.within(start)
    best, iterations = problem.solve(start)
    rng = np.random.default_rng(12)
    for _ in range(FRESH_STARTS):
        if problem.merit(best) == 0.0:
            break
        kick = rng.uniform(-1.0, 1.0, system.nv) * problem.free
        trial, more = problem.solve(problem.within(problem.moved(start, kick)))
        iterations += more
        if problem.merit(trial) < 0.999 * problem.merit(best):
            best = trial
    result = problem.describe(best, iterations)
    if throw and result.status is not Status.OK:
        raise SolveError(f"{system.name}: {result.message}", result=result)
    return result


class Problem:
    """The targets as equations in q, with bounds; errors and motions are in radians and characteristic lengths."""

    def __init__(
        self, system: System, targets: Targets, locked: Sequence[str], within_limits: bool, t: float
    ) -> None:
        self.system, self.t, self.size = system, t, system.characteristic
        self.free = free_velocities(system, locked)
        self.targets = [target(system, key, value) for key, value in targets.items()]
        self.lower, self.upper = coordinate_limits(system) if within_limits else _no_limits(system)
        pairs = list(scalar_coordinates(system).values())
        self.scalars = np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def residual(self, q: Array) -> Array:
        """Return the errors of the targets, stacked."""
        return np.concatenate([np.zeros(0), *(one.factors * one.error(q) for one in self.targets)])

    def jacobian(self, q: Array) -> Array:
        """Return the derivative of the errors with respect to motions."""
        parts = [one.factors[:, None] * one.jacobian(q) for one in self.targets]
        return np.vstack([np.zeros((0, self.system.nv)), *parts]) / self.size.columns

    def moved(self, q: Array, motion: Array) -> Array:
        """Return q ⊕ motion."""
        return self.system.move(q, motion / self.size.columns)

    def within(self, q: Array) -> Array:
        """Return q with its scalar coordinates moved into their limits, locked ones left alone."""
        out = q.copy()
        i, j = self.scalars.T
        inside = np.clip(q[i], self.lower[i], self.upper[i])
        out[i] = np.where(self.free[j] > 0.0, inside, q[i])
        return out

    def merit(self, q: Array) -> float:
        """Return the merit of a configuration: zero if all targets are met; open loops count first."""
        gap, error = open_by(self.system, q, self.t), float(np.linalg.norm(self.residual(q)))
        turned = CLOSURE_WEIGHT * len(antiparallel(self.system, q, self.t))
        return (
            (error if error > TARGET_MET else 0.0)
            + (CLOSURE_WEIGHT * gap if gap > LOOPS_CLOSED else 0.0)
            + turned
        )

    def solve(self, q: Array) -> tuple[Array, int]:
        """Return the configuration nearest to q with least errors of the targets, and the number of iterations."""

        def steps(at: tuple[Array, Array]) -> Callable[[float], tuple[Array, Array] | None] | None:
            q, error = at
            size = float(np.linalg.norm(error))
            if size <= KINEMATICS_ROUNDING * (
                1.0 + float(np.abs(self.size.coordinates * q).max(initial=0.0))
            ):
                return None

            def step(damping: float) -> tuple[Array, Array] | None:
                motion = self.step(q, self.jacobian(q), error, damping * min(size, 1.0))
                p = self.close(self.moved(q, motion))
                there = self.residual(p)
                gap = open_by(self.system, p, self.t)
                if np.linalg.norm(there) < size and gap <= max(LOOPS_CLOSED, open_by(self.system, q, self.t)):
                    return p, there
                return at if np.abs(motion).max(initial=0.0) < KINEMATICS_ROUNDING else None

            return step

        q = self.close(q)
        (found, _), count = levenberg_marquardt(
            (q, self.residual(q)),
            lambda at: float(np.linalg.norm(at[1])),
            steps,
            damping=KINEMATICS_DAMPING,
            least=KINEMATICS_LEAST_DAMPING,
            tries=10,
            most=KINEMATICS_STEPS,
            stalled=STALLED,
        )
        return found, count

    def close(self, q: Array) -> Array:
        """Close the loops next to q within limits."""
        size = open_by(self.system, q, self.t)
        for _ in range(30):
            if size <= KINEMATICS_ROUNDING:
                break
            step = self.step(q, np.zeros((0, self.system.nv)), np.zeros(0), CLOSING_DAMPING * min(size, 1.0))
            for _ in range(6):
                p = self.moved(q, step)
                there = open_by(self.system, p, self.t)
                if there < size:
                    break
                step = step / 4
            else:
                break
            q, size = p, there
        return self.within(q)

    def step(self, q: Array, jacobian: Array, error: Array, damping: float) -> Array:
        """Return the damped least-squares step within bounds, with the closures weighing most."""
        system = self.system
        columns = np.flatnonzero(self.free)
        if columns.size == 0:
            return np.zeros(system.nv)
        rows = self.size.scaled_rows(system.constraint_jacobian(q, t=self.t))[: system.nh]
        scale = CLOSURE_WEIGHT / max(float(np.abs(rows).max(initial=0.0)), 1.0)
        matrix = np.vstack([scale * rows, jacobian, damping * np.eye(system.nv)])[:, columns]
        phi = self.size.rows[: system.nh] * system.constraint_residual(q, self.t)
        target = -np.concatenate([scale * phi, error, np.zeros(system.nv)])
        lower, upper = np.full(system.nv, -KINEMATICS_LONGEST), np.full(system.nv, KINEMATICS_LONGEST)
        i, j = self.scalars.T
        down, up = (self.size.coordinates * (limit - q) for limit in (self.lower, self.upper))
        lower[j] = np.maximum(lower[j], np.minimum(down[i], -LEAST_DIVISOR))
        upper[j] = np.minimum(upper[j], np.maximum(up[i], LEAST_DIVISOR))
        lower, upper = lower[columns], upper[columns]
        # Householder's method with pivots keeps what light rows say, heavy ones on top (Cox and Higham 1998); an SVD
        # loses of it what the weights are apart.
        found = lstsq(matrix, target, cond=WEIGHTED_CUT, lapack_driver="gelsy")[0]
        if np.any(found < lower) or np.any(found > upper):
            found = lsq_linear(matrix, target, bounds=(lower, upper), method="bvls", tol=LEAST_SQUARES_END).x
        step = np.zeros(system.nv)
        step[columns] = found
        return step

    def describe(self, q: Array, iterations: int) -> InverseKinematics:
        """Return the answer at q."""
        system = self.system
        residuals = {one.name: float(np.abs(one.error(q)).max(initial=0.0)) for one in self.targets}
        gap = open_by(system, q, self.t)
        i, j = self.scalars.T
        down, up = (self.size.coordinates * np.abs(limit - q) for limit in (self.lower, self.upper))
        tight = (self.free[j] > 0.0) & ((down[i] < AT_LIMIT) | (up[i] < AT_LIMIT))
        closures = self.size.scaled_rows(system.constraint_jacobian(q, t=self.t))[: system.nh]
        rows = np.vstack([closures, self.jacobian(q)]) * self.free
        cut = RANK_CUT * max(dense.largest(rows), 1.0)
        turned = antiparallel(system, q, self.t)
        met = float(np.abs(self.residual(q)).max(initial=0.0)) <= TARGET_MET
        status = Status.OK if met else Status.NOT_ACHIEVABLE
        return InverseKinematics(
            q=read_only(q),
            residuals=residuals,
            closure_residual=gap,
            at_limits=tuple(system.coordinate_names[k] for k in i[tight]),
            dof=int(self.free.sum()) - ranked(rows, cut).rank,
            iterations=iterations,
            antiparallel=turned,
            status=Status.NOT_CLOSED if gap > DATA_TOLERANCE or turned else status,
            outside=outside_limits(system, q),
        )


def coordinate_limits(system: System) -> tuple[Array, Array]:
    """Return lower and upper limits of the coordinates (nq,), infinite where a joint has none."""
    lower, upper = _no_limits(system)
    index = {name: i for i, name in enumerate(system.coordinate_names)}
    for joint in system.mechanism.joints() if system.mechanism else ():
        for name, limit in zip(joint.velocity_names, joint.limits):
            if limit is not None and name in index:
                lower[index[name]], upper[index[name]] = limit
    return lower, upper


def _no_limits(system: System) -> tuple[Array, Array]:
    return np.full(system.nq, -np.inf), np.full(system.nq, np.inf)
