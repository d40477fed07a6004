"""`DriveJumps`: instants at which the speed of a drive jumps, and the velocities of the mechanism after each jump.

A drive is a prescribed motion θ(t) of a coordinate, a closure or a body. If its speed jumps, b(q, t) of its row (or the
velocity of the body) jumps, and the rows that hold on both sides transmit impulses Λ:

    p(q, v⁺, t⁺) − p(q, v⁻, t⁻) = AᵀΛ,    A v⁺ = b(q, t⁺),    p = ∂T/∂v = M v + g(q, t).

g is the momentum due to driven bodies. Unilateral contacts, stops and cables are hit afterwards: their speed of
approach follows from v⁺. Bounded forces, such as dry friction, have no impulse at an instant. (Glocker: Set-Valued
Force Laws, 2001, chapter 9: impacts with moving constraints.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Self

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.dynamics.impacts.activity import active, contact_names, switch_off
from sarrus.dynamics.impacts.impacts import hold
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.one_sided import jumps
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.linalg.ranked import ranked
from sarrus.model.mechanism.faults import Label
from sarrus.model.mechanism.pose import Pose
from sarrus.motion.inputs.time_breaks import constants_of, find_breaks
from sarrus.motion.inputs.time_program import TimeProgram, time_program
from sarrus.motion.inputs.tolerances import (
    CONFIGURATIONS_BESIDE,
    MASSLESS_DIRECTION,
    VELOCITY_OBEYS,
    WIDER_RUN,
)
from sarrus.symbolic.equations.equations import activity_parameter
from sarrus.symbolic.kinematics.driven import driven_ground
from sarrus.symbolic.kinematics.timed import number_at


class DriveJump(NamedTuple):
    """An instant [s] at which the speed of a drive jumps, with times just before and just after it [s]."""

    time: float
    before: float
    after: float


class DriveJumps:
    """The jumps of one run, in the order of time."""

    def __init__(self, jumps: Sequence[DriveJump]) -> None:
        self.jumps = tuple(jumps)
        self._after = [jump.after for jump in self.jumps]

    @classmethod
    def of(cls, system: Workspace, q: Array, t0: float, duration: float, *, first: bool = False) -> Self:
        """Return the jumps of a run that starts from q at t0 and lasts ``duration`` [s], both ends included.

        A row that depends on q is checked at configurations near q. ``first``: stop at the first jump.

        Raises `SolveError` if functions of time break more often than `sarrus.motion.inputs.time_breaks` allows.
        """
        if not may_jump(system):
            return cls(())
        key = ("jumps of drives", t0, duration, first, q.tobytes(), constants_of(system).tobytes())
        return system.model.cached_lru(key, lambda: cls(tuple(cls._found(system, q, t0, duration, first))))

    @classmethod
    def _found(
        cls, system: Workspace, q: Array, t0: float, duration: float, first: bool
    ) -> Iterator[DriveJump]:
        end, all_on = (
            t0 + duration,
            system.varied(dict.fromkeys(map(activity_parameter, active(system)), 1.0)),
        )
        wider = WIDER_RUN * float(np.spacing(max(abs(t0), abs(end), duration)))
        places = [q, *(system.move(q, way) for way in _ways(system))]
        found = (
            jump
            for jump in _breaks(system, t0 - wider, end + wider)
            if jump.after >= t0 and jump.before <= end and jumping_drives(all_on, places, jump)
        )
        return islice(found, 1 if first else None)

    def next(self, time: float, end: float) -> DriveJump | None:
        """Return the next jump after ``time`` that begins before ``end`` [s]; None without one."""
        ahead = self.jumps[bisect_right(self._after, time) :][:1]
        return ahead[0] if ahead and ahead[0].before <= end else None

    def beginning(self, system: Workspace, q: Array, v: Array, t0: float) -> float:
        """Return the time [s] at which a run begins: t0, or, if a drive jumps at t0, just beside it, on the side
        of v.
        """
        jump = self.next(t0, t0)
        if jump is None:
            return t0
        slip = np.abs(system.characteristic.rows * system.velocity_residual(q, v, jump.before))
        allowed = VELOCITY_OBEYS * (1.0 + np.abs(system.characteristic.columns * v).max(initial=0.0))
        return jump.before if slip.max(initial=0.0) <= allowed else jump.after


def _breaks(system: Workspace, t0: float, t1: float) -> Iterator[DriveJump]:
    """Yield the instants at which functions of time alone jump."""
    program, time = _program(system), t0
    while program is not None and time < t1:
        breaks = find_breaks(program, constants_of(system), time, t1)
        for k in np.flatnonzero(breaks.order == 0):
            at, low, high = (float(times[k]) for times in (breaks.times, breaks.before, breaks.after))
            width = high - low  # farther out than any step that ends at the break itself
            yield DriveJump(at, low - width, high + width)
        time = breaks.until


def refuse_jumps(system: Workspace, q: Array, t0: float, duration: float, what: str) -> None:
    """Raise `ArgumentError` if the speed of a drive jumps within ``duration`` [s] after t0; ``what`` names the
    caller.
    """
    found = DriveJumps.of(system, q, t0, duration, first=True).jumps
    if found:
        name = jumping_drives(system.varied(), [q], found[0])[:1] or ("a drive",)
        raise ArgumentError(
            f"{system.name}: the speed of {name[0]!r} jumps at t = {found[0].time:.6g} s. This is an impact, which "
            f"{what} cannot contain. Prescribe a motion with continuous speed, such as a Spline of degree 3",
            element=name[0],
        )


def may_jump(system: Evaluations) -> bool:
    """Return whether a prescribed motion has conditions on time, so that its speed may jump."""
    program = _program(system)
    return program is not None and len(program.conditions) > 0


def _program(system: Evaluations) -> TimeProgram | None:
    """Return the functions of time of all drives as a `TimeProgram`; None without drives."""

    def find() -> TimeProgram | None:
        e = system.equations
        moved = [e.velocity_residual, e.kinetic_energy, e.row_rates]
        moved = [entry for entry in moved if entry.nnz() and ca.depends_on(entry, e.t)]
        return time_program(moved, e.t, e.p, (e.q, e.v, e.u), e.name)

    found: TimeProgram | None = system.model.cached("courses of drives", find)
    return found


def driven_velocity(
    system: Workspace, q: Array, v: Array, jump: DriveJump, drives: tuple[str, ...], *, switching: bool
) -> Array:
    """Return v⁺ (nv,) after a jump of the speed of ``drives``, without impacts of contacts, stops and cables.

    Contacts that are constraints hold on both sides unless ``switching`` is True.

    Raises `SolveError` if redundant constraints require different velocities.
    """
    after = jump.after
    push = _moved_momentum(system, q, jump.before) - _moved_momentum(system, q, after)
    if push.any():
        columns = system.characteristic.columns
        mass = system.mass_matrix(q, after) / np.outer(columns, columns)
        v = v + ranked(mass, relative=MASSLESS_DIRECTION).solve(push / columns) / columns
    two_sided = system.varied()
    if switching:
        switch_off(two_sided, contact_names(system))
    if not system.nc:
        return v
    found = hold(two_sided, q, v, after)
    if found.status is Status.INCONSISTENT:
        raise SolveError(
            f"{system.name}: at t = {jump.time:.6g} s no velocity meets all constraints: the speed of "
            f"{', '.join(map(repr, drives))} jumps, and redundant rows contradict it. Prescribe motions that agree",
            result=found,
        )
    return np.array(found.v)


def jumping_drives(system: Evaluations, places: list[Array], jump: DriveJump) -> tuple[str, ...]:
    """Return the names of the drives whose speed jumps at ``jump``, in at least one configuration of ``places``."""
    found, still = np.zeros(system.nc, dtype=bool), np.zeros(system.nv)
    for q in places if system.nc else ():

        def speeds(t: float, q: Array = q) -> Array:
            return system.velocity_residual(q, still, t)

        found |= jumps(speeds, jump.before, jump.after)
    names = [name for name, rows in system.closure_rows.items() if found[rows].any()]
    bodies = _jumping_bodies_and_winches(system, jump)
    if system.mechanism is not None:
        constraints = {**system.mechanism.closures, **system.mechanism.couplings}
        own = [name for name in names if getattr(constraints.get(name), "motion", None) is not None]
        names = own if own or bodies else names
    return (*names, *bodies)


def _jumping_bodies_and_winches(system: Evaluations, jump: DriveJump) -> tuple[str, ...]:
    """Return the names of the driven bodies, and of the tendons with a limit L(t), whose velocity jumps at ``jump``."""
    mechanism = system.mechanism
    if mechanism is None:
        return ()

    def functions() -> dict[str, ca.Function]:
        found, t = {}, ca.SX.sym("t")
        for name, body in mechanism.driven_bodies.items():
            if body.function is not None:
                ground = driven_ground(body, Pose(), t)
                found[name] = ca.Function(
                    "speed", [t], [ca.densify(ca.vertcat(ground.spin, ground.velocity))]
                )
        for rope in (rope for tendon in mechanism.tendons.values() for rope in tendon.ropes):
            if callable(rope.bound):
                speed = number_at(rope.bound, t, Label("tendon", rope.tendon.name)).rate
                found[rope.name] = ca.Function("speed", [t], [ca.densify(speed)])
        return found

    def is_discontinuous(function: ca.Function) -> bool:
        return bool(jumps(lambda t: np.array(function(t)).ravel(), jump.before, jump.after).any())

    known = system.model.cached("speeds of driven bodies", functions)
    return tuple(name for name, function in known.items() if is_discontinuous(function))


def _moved_momentum(system: Workspace, q: Array, t: float) -> Array:
    """Return g = ∂T/∂v at v = 0 (nv,), from the kinetic energy, which is quadratic in v."""
    found = np.zeros(system.nv)
    for k, step in enumerate(1.0 / system.characteristic.columns):
        v = np.zeros(system.nv)
        v[k] = step
        found[k] = (system.kinetic_energy(q, v, t) - system.kinetic_energy(q, -v, t)) / (2.0 * step)
    return found


def _ways(system: Workspace) -> list[Array]:
    """Return small changes of a configuration in fixed, odd directions."""
    ways = [np.cos(np.arange(1, system.nv + 1) * k) for k in (1.0, 2.0)]
    return [CONFIGURATIONS_BESIDE * way / system.characteristic.columns for way in ways]
