"""The singular configuration nearest to a start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.mobility.mobility import weightiest_closures
from sarrus.analysis.singularities.singular_measure import Measure
from sarrus.analysis.singularities.tolerances import (
    HOME_DIRECTION,
    LEAST_AWAY,
    MEASURE_DESCENT,
    MEASURE_LONGEST,
    NEARER,
    SHORTEST_HOME,
    SLOPE_ZERO,
    WALK_CURVE,
    WALK_RAYS,
    WALK_REACH,
)
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import SolveError, check_is
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.dynamics.closing.manifold import came_back, closed_start, turning
from sarrus.dynamics.closing.tolerances import WALK_STEP
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import beyond, ranked


@dataclass(frozen=True, eq=False)
class Singularity(Answer):
    """The singular configuration nearest to a start that the search has found.

    Attributes
    ----------
    q : (nq,) the singular configuration; if none was found, the configuration with the smallest singular value.
    distance : length of the straight step from the start to q, in radians and characteristic lengths κ,
        ``system.characteristic.length``: the same in metres and in millimetres.
    value : smallest generically nonzero singular value at q, in characteristic units.
    rank, generic_rank : rank of the free columns of A here, and generically.
    left : (nc, lost) orthonormal combinations of rows that vanish here and not nearby.
    motions : (nv, m) basis of the motions with the driven velocities at rest, orthonormal in characteristic units.
    closures : names of the closures that become dependent.
    status : OK, or NOT_ACHIEVABLE if none was found.
    complete : True if none was found and the whole curve of configurations was searched, so that none exists on it.
    """

    q: Array
    distance: float
    value: float
    rank: int
    generic_rank: int
    left: Array
    motions: Array
    closures: tuple[str, ...]
    status: Status
    complete: bool = False

    @property
    def message(self) -> str:
        """The outcome as a sentence."""
        if self.status is Status.OK:
            names = ", ".join(repr(name) for name in self.closures)
            return (
                f"singular at a distance of {self.distance:.4g} (rad, κ): closures {names} become dependent"
            )
        where = "on the whole curve of configurations" if self.complete else "within the reach of the search"
        return f"no singular configuration {where}; the smallest singular value was {self.value:.3g}"


@described()
def find_singularity(
    system: System,
    q: ArrayLike,
    *,
    driven: Sequence[str] = (),
    t: float = 0.0,
    reach: float | None = None,
    throw: bool = True,
) -> Singularity:
    """Return the `Singularity` nearest to q along the closed configurations.

    The smallest generically nonzero singular value is followed down its gradient, and along walks through the closed
    configurations (in both directions with one degree of freedom, else in seeded directions) wherever it has a minimum;
    Newton's method on φ = 0, Gᵀu = 0, |u| = 1 then converges quadratically. With several degrees of freedom the
    singular configurations form surfaces, and the one found is moved along its surface towards the start. It is a
    search: with several degrees of freedom a nearer one may be missed.

    Parameters
    ----------
    q : (nq,) start; its loops may be open by up to 1e-5.
    driven : joints or coordinates that actuators hold. Singular (type 2, parallel singularity): with the actuators
        locked the mechanism can move, or they cannot balance every load. Without ``driven``: the closures become
        dependent and the motion may branch.
    reach : length of the walks [rad, κ]; default 50 with one degree of freedom, where a walk also ends when it returns
        to its start, and 7 with several.
    throw : raise `SolveError` if none is found; its ``result`` has the status NOT_ACHIEVABLE.

    Permanently redundant rows do not count, as they are dependent everywhere. From a singular start the answer is the
    start. Loops open by more than 1e-5 are an `ArgumentError`.
    """
    check_is("find_singularity", system, System)
    start = closed_start(system, real_array(q), t)
    measure = Measure(system, start, driven, t)
    best, distance, lowest, complete = _search(measure, start, reach)
    if best is None:
        result = _outcome(measure, start, lowest, Status.NOT_ACHIEVABLE, complete)
        if throw:
            raise SolveError(f"{system.name}: {result.message}", result=result)
        return result
    if measure.tangent(start).shape[1] > 1 and distance > 0.0:
        best = _nearest(measure, start, best)
    return _outcome(measure, start, best, Status.OK, False)


def _search(measure: Measure, start: Array, reach: float | None) -> tuple[Array | None, float, Array, bool]:
    """Return (nearest singular configuration or None, distance, configuration of smallest value, completeness)."""
    best: Array | None = None
    distance, lowest = np.inf, start
    here, left, right = measure.value(start)
    if here < measure.cut:
        q, found = measure.converge(start, left)
        return (q if found else start), 0.0, start, False

    def consider(q: Array) -> bool:
        nonlocal best, distance, lowest
        q, found = measure.descend(q)
        away = measure.away(start, q)
        if measure.value(q)[0] < measure.value(lowest)[0]:
            lowest = q
        if found and away < distance:
            best, distance = q, away
        return found

    tangent = measure.tangent(start)
    freedom = tangent.shape[1]
    if freedom == 0:
        return None, np.inf, start, True
    if freedom > 1:
        consider(start)
    farthest = reach if reach is not None else WALK_REACH if freedom > 1 else WALK_CURVE
    for direction in _directions(measure, start, tangent, left, right):
        back = _ray(measure, start, direction, min(farthest, 1.5 * distance), consider)
        if back and freedom == 1:
            return best, distance, lowest, True
    return best, distance, lowest, False


def _directions(measure: Measure, start: Array, tangent: Array, left: Array, right: Array) -> Iterator[Array]:
    """Yield unit directions of walks: downhill and uphill first, then seeded ones."""
    slope = measure.gradient(start, left, right)
    first = slope if np.linalg.norm(slope) > SLOPE_ZERO else tangent[:, 0]
    yield -first / np.linalg.norm(first)
    yield first / np.linalg.norm(first)
    if tangent.shape[1] > 1:
        rng = np.random.default_rng(10)
        for _ in range(WALK_RAYS - 2):
            x = tangent @ rng.standard_normal(tangent.shape[1])
            yield x / np.linalg.norm(x)


def _ray(
    measure: Measure, start: Array, direction: Array, reach: float, consider: Callable[[Array], bool]
) -> bool:
    """Walk until the singular value has a minimum of zero; return whether the walk returned to its start before."""
    system, turns, scale = measure.system, turning(measure.system), measure.scale
    before, last, value = np.inf, start, measure.value(start)[0]
    travelled = 0.0
    for q, tangent in measure.walk(start, direction):
        ahead = measure.value(q)[0]
        if before > value <= ahead and consider(last):
            return False
        travelled += measure.away(last, q)
        before, last, value = value, q, ahead
        if travelled > 4 * WALK_STEP and came_back(
            system, start, direction / scale, q, tangent, turns, scale
        ):
            return True
        if travelled > reach:
            return False
    return False


def _nearest(measure: Measure, start: Array, q: Array) -> Array:
    """Move q along the singular surface towards the start while the distance decreases."""
    length = 1.0
    for _ in range(MEASURE_DESCENT):
        _, left, right = measure.value(q)
        normal = measure.gradient(q, left, right)
        tangent = measure.tangent(q)
        home = tangent @ (tangent.T @ measure.gap(q, start))
        size = float(np.linalg.norm(normal))
        if size > 0.0:
            home = home - normal * (normal @ home) / size**2
        away = measure.away(start, q)
        if np.linalg.norm(home) < HOME_DIRECTION * max(away, LEAST_AWAY):
            break
        step = length * home * min(1.0, MEASURE_LONGEST / float(np.linalg.norm(home)))
        p, found = measure.descend(measure.moved(q, step))
        if found and measure.away(start, p) < away - NEARER:
            q, length = p, min(1.0, 2 * length)
        elif length > SHORTEST_HOME:
            length /= 4
        else:
            break
    return q


def _outcome(measure: Measure, start: Array, q: Array, status: Status, complete: bool) -> Singularity:
    system = measure.system
    here = ranked(measure.matrix(q), measure.cut)
    fixed = np.diag(1.0 - measure.free)
    motions = ranked(np.vstack([measure.rows(q), fixed]), measure.cut).null / measure.scale[:, None]
    lost = _lost(measure, start, q, here.left_null) if status is Status.OK else np.zeros((system.nh, 0))
    even, left = np.zeros((2, system.nc, lost.shape[1]))
    even[: system.nh] = lost
    left[: system.nh] = np.linalg.qr(measure.row_scale[:, None] * lost)[0]
    return Singularity(
        q=read_only(q),
        distance=measure.away(start, q),
        value=measure.value(q)[0],
        rank=here.rank,
        generic_rank=measure.rank,
        left=read_only(left),
        motions=read_only(motions),
        closures=weightiest_closures(system, even) if lost.shape[1] else (),
        status=status,
        complete=complete,
    )


def _lost(measure: Measure, start: Array, q: Array, left_null: Array) -> Array:
    """Return the part of the left null space that does not exist beside q."""
    beside = start
    tangent = measure.tangent(q)
    for sign in (1.0, -1.0):
        for x in tangent.T:
            p = measure.moved(q, sign * 0.02 * x)
            if ranked(measure.matrix(p), measure.cut).rank == measure.rank:
                beside = p
    lasting = ranked(measure.matrix(beside), measure.cut).left_null
    return beyond(left_null, lasting)
