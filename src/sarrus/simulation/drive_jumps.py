"""`DriveJumps`: instants at which the speed of a drive jumps, and what becomes of the velocities there.

A drive is a motion that is given as a function of time: of a coordinate, of a closure, of a body. Where its speed
jumps, b(q, t) of its row or the velocity of the body does, and the rows that hold on both sides act by impulses:

    p(q, v⁺, t⁺) − p(q, v⁻, t⁻) = AᵀΛ,    A v⁺ = b(q, t⁺),    p = ∂T/∂v = M v + g(q, t).

g is what the motion of driven bodies adds. What acts on one side alone, contacts, stops and cables, then hits: its
speed of approach is that of this v⁺, as if it hit a moment after the drive. A force with a limit, such as dry friction,
has no impulse in an instant. (Glocker: Set-Valued Force Laws, 2001, chapter 9: impacts with moving constraints.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.base.status import Status
from sarrus.contacts.activity import active, contact_names, switch_off
from sarrus.contacts.impacts import hold
from sarrus.dynamics.evaluations import Evaluations
from sarrus.dynamics.workspace import Workspace
from sarrus.equations.equations import activity_parameter
from sarrus.linalg.ranked import ranked
from sarrus.mechanism.pose import Pose
from sarrus.multibody.driven import driven_ground
from sarrus.simulation.time_breaks import time_breaks

# How far beside an instant both sides of it are looked at, in units in the last place of the times of a run.
SIDE = 8.0
# Breaks are looked for so many sides beyond the ends of a run, which so belong to it.
WIDER = 100.0
# Changes of a speed below this part of it are none: within the sides of an instant a smooth motion does as much.
SMOOTH = 1e-11
# Singular values of M below this part of the largest one are none.
MASSLESS = 1e-12
# Changes of configurations at which the rows of drives are looked at before a run, besides its start [rad, lengths].
BESIDE = 0.1
# Velocities that are off by less than this obey their constraints [characteristic lengths/s, rad/s].
OBEYED = 1e-5


class DriveJumps:
    """The jumps of one run: ``times`` ascend, and ``side`` [s] is how far beside them their sides are."""

    def __init__(self, times: Array, side: float) -> None:
        self.times, self.side = times, side

    @classmethod
    def of(cls, system: Workspace, q: Array, t0: float, duration: float) -> Self:
        """Return those of a run from q at t0; of rows that depend on q, those that jump there or nearby."""
        end = t0 + duration
        side = SIDE * float(np.spacing(max(abs(t0), abs(end), duration)))
        if not may_jump(system):
            return cls(np.zeros(0), side)
        all_on = system.varied({activity_parameter(name): 1.0 for name in active(system)})
        places = [q, *(system.move(q, way) for way in _ways(system))]
        breaks, times = time_breaks(system, t0 - WIDER * side, end + WIDER * side), list[float]()
        breaks = breaks[(breaks >= t0 - side) & (breaks <= end + side)]
        for time in breaks[np.diff(breaks, prepend=-np.inf) > 4.0 * side].tolist():
            if jumping_drives(all_on, places, time - side, time + side):
                times.append(time)
        return cls(np.array(times), side)

    def next(self, time: float, end: float) -> float | None:
        """Return the next jump from ``time`` on, both sides included, None where none is up to ``end``."""
        ahead = self.times[(self.times >= time) & (self.times <= end + self.side)]
        return float(ahead[0]) if len(ahead) else None

    def beginning(self, system: Workspace, q: Array, v: Array, t0: float) -> float:
        """Return when a run begins: beside t0 where a drive jumps there, on the side whose speeds v has."""
        if self.next(t0 - self.side, t0) is None:
            return t0
        before, after = t0 - self.side, t0 + self.side
        slip = np.abs(system.characteristic.rows * system.velocity_residual(q, v, before)).max(initial=0.0)
        return (
            before
            if slip <= OBEYED * (1.0 + np.abs(system.characteristic.columns * v).max(initial=0.0))
            else after
        )


def may_jump(system: Evaluations) -> bool:
    """Tell whether anything moves as a function of time."""

    def depends() -> bool:
        e = system.equations
        moved = ca.vertcat(e.velocity_residual, e.kinetic_energy, *(touch.rates for touch in e.touches))
        return bool(ca.depends_on(moved, e.t))

    return bool(system.model.lasting("driven in time", depends))


def driven_velocity(
    system: Workspace, q: Array, v: Array, before: float, after: float, drives: tuple[str, ...] = ()
) -> Array:
    """Return v (nv,) after a jump of the speed of drives between two times, with nothing that acts on one side alone.

    Raises `SolveError` where constraints that are redundant ask for different velocities.
    """
    push = _moved_momentum(system, q, before) - _moved_momentum(system, q, after)
    if push.any():
        columns = system.characteristic.columns
        mass = system.mass_matrix(q, after) / np.outer(columns, columns)
        v = v + ranked(mass, relative=MASSLESS).solve(push / columns) / columns
    two_sided = system.varied()
    switch_off(two_sided, contact_names(system))
    if not system.nc:
        return v
    found = hold(two_sided, q, v, after)
    if found.status is Status.INCONSISTENT:
        raise SolveError(
            f"{system.name}: at t = {after:.6g} s no velocity meets all constraints: the speed of "
            f"{', '.join(map(repr, drives))} jumps, and redundant rows do not follow. Give them motions that agree",
            result=found,
        )
    return np.array(found.v)


def jumping_drives(system: Evaluations, places: list[Array], before: float, after: float) -> tuple[str, ...]:
    """Return the names of the drives whose speed differs between two times at any of the configurations."""
    jumps = np.zeros(system.nc, dtype=bool)
    for q in places if system.nc else ():
        jumps |= _jumps(lambda t, q=q: system.velocity_residual(q, np.zeros(system.nv), t), before, after)
    names = [name for name, rows in system.closure_rows.items() if jumps[rows].any()]
    bodies = _jumping_bodies(system, before, after)
    if system.mechanism is not None:
        constraints = {**system.mechanism.closures, **system.mechanism.couplings}
        own = [name for name in names if getattr(constraints.get(name), "motion", None) is not None]
        names = own if own or bodies else names
    return (*names, *bodies)


def _jumps(speeds: Callable[[float], Array], before: float, after: float) -> Array:
    """Tell which speeds change between two times by more than rounding and than they do just before and after."""
    width = after - before
    one, other = speeds(before), speeds(after)
    smooth = np.abs(speeds(before - width) - one) + np.abs(speeds(after + width) - other)
    return np.abs(other - one) > SMOOTH * np.maximum(np.abs(one), np.abs(other)) + 4.0 * smooth


def _jumping_bodies(system: Evaluations, before: float, after: float) -> tuple[str, ...]:
    """Return the names of the driven bodies whose velocity jumps."""
    mechanism = system.mechanism
    if mechanism is None:
        return ()

    def speeds() -> dict[str, ca.Function]:
        found, t = {}, ca.SX.sym("t")
        for name, body in mechanism.driven_bodies.items():
            if body.function is not None:
                ground = driven_ground(body, Pose(), t)
                found[name] = ca.Function("speed", [t], [ca.vertcat(ground.spin, ground.velocity)])
        return found

    functions = system.model.lasting("speeds of driven bodies", speeds)
    return tuple(
        name
        for name, speed in functions.items()
        if _jumps(lambda t, speed=speed: speed(t).full().ravel(), before, after).any()
    )


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
    return [BESIDE * way / system.characteristic.columns for way in ways]
