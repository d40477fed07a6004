"""Assembly: from a rough guess to closed loops, and the rank of the constraints near a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sarrus.analysis.flips import flipped
from sarrus.compiled import random_coordinates
from sarrus.errors import ArgumentError, SolveError, unknown_name
from sarrus.mechanism.pose import Array
from sarrus.solves import Assembly, read_only
from sarrus.status import Status

if TYPE_CHECKING:
    from sarrus.system import System

TOLERANCE = 1e-12
# Contradictions of redundant rows below this are rounding of the data, as robot files have it.
DATA_TOLERANCE = 1e-6
MAX_ITERATIONS = 300
RESTARTS = 4
# Dampings tried in one step of the descent, each ten times the one before: the last is next to nothing even against the
# square of a residual of 1e-12, which is what it takes beside an isolated configuration.
_DAMPINGS = 40
# Of a residual below the tolerance of data a step that leaves more than this part gains little. So many in a row end
# the descent, beside a zero of high order; and none is taken that is longer than this multiple of the residual: rows
# that contradict each other by printed digits are nearly met, or not, anywhere along the motions.
_LITTLE, _CRAWL, _FAR = 0.9, 10, 1e3
# Seeded steps of this size [rad, m] from an assembly with opposite axes, to find one with parallel axes.
_TURN, _TURNS = 2.0, 24
# Neighbours: length of the step along the tangent space, how many are drawn, iterations of a quick closing.
_NEAR, _DRAWS, _QUICK = 0.03, 12, 20


def assemble(
    system: System, q: Array, *, locked: Sequence[str] = (), t: float = 0.0, throw: bool = True
) -> Assembly:
    """Close the loops from the guess q, moving as little as possible.

    Levenberg–Marquardt on φ(q, t) with damping ‖φ‖², which converges fast even where A loses rank (Fan and
    Yuan, Computing 74, 2005). Coordinates in ``locked`` (joint or coordinate names) keep their values.
    Where the descent gets stuck, it starts again from four small seeded perturbations before giving up.
    Revolute, cylindrical, screw and planar closures may end up with opposite instead of parallel axes; then
    it starts again from larger seeded steps, and where that fails the status is NOT_CLOSED and ``flipped``
    names them.
    ``throw`` raises `SolveError` for NOT_CLOSED; the error's ``result`` holds the answer.
    """
    free = free_velocities(system, locked)
    start = system.normalized(q)
    if not np.isfinite(_residual(system, start, t)):
        raise ArgumentError(
            f"{system.name}: q lies where the constraints are not finite numbers", element="q"
        )
    rng = np.random.default_rng(1)
    best, iterations = descend(system, start, t, free)
    error = _residual(system, best, t)
    for attempt in range(RESTARTS):
        if error <= DATA_TOLERANCE:
            break
        kick = 0.1 * (1 + attempt) * rng.standard_normal(system.nv) * free
        trial, more = descend(system, system.move(start, kick), t, free)
        iterations += more
        left = _residual(system, trial, t)
        if left < error:
            best, error = trial, left
    opposite: tuple[str, ...] = ()
    if error <= DATA_TOLERANCE:
        best, opposite, more = _turn_round(system, best, t, free)
        error, iterations = _residual(system, best, t), iterations + more
    near = survey(system, best, t)
    if error > DATA_TOLERANCE or opposite:
        status = Status.NOT_CLOSED
    elif near.motions is not None and near.motions.shape[1] == 0:
        status = Status.RIGID
    elif error > TOLERANCE:
        status = Status.INCONSISTENT
    else:
        status = Status.SINGULAR if near.here < near.holonomic_rank else Status.OK
    phi = system.constraint_residual(best, t)
    gaps = {
        name: float(np.abs(phi[rows]).max())
        for name, rows in system.closure_rows.items()
        if rows.stop <= system.nh
    }
    result = Assembly(read_only(best), error, iterations, near.here, status, gaps, opposite)
    if throw and status is Status.NOT_CLOSED:
        raise SolveError(f"{system.name}: {result.message}. {status.remedy}", result=result)
    return result


def numerical_rank(jacobian: Array, tolerance: float = 1e-6, scale: float = 0.0) -> int:
    """Return the number of singular values above ``tolerance`` × the largest one, or ``scale`` if more."""
    if jacobian.size == 0:
        return 0
    values = np.linalg.svd(jacobian, compute_uv=False)
    return int(np.count_nonzero(values > tolerance * max(values[0], scale)))


@dataclass(frozen=True)
class Neighbourhood:
    """What the constraints are like at generic closed configurations near one.

    ``rank`` of A and ``holonomic_rank`` of its holonomic rows; ``here`` is the latter at the configuration
    itself. ``scale`` is the largest singular value of A nearby or at a random configuration and
    ``weighted_scale`` that of A M^(−1/2): pivots count as singular against these. ``smallest`` is the largest
    value nearby of the smallest singular value of A M^(−1/2) at the generic rank. ``motions`` (nv × d): basis of the
    motions out of the configuration where A allows velocities besides that no motion has; d = 0 where it is isolated;
    else None (see `sarrus.analysis.rigidity`).
    """

    holonomic_rank: int
    rank: int
    here: int
    scale: float
    weighted_scale: float
    smallest: float
    motions: Array | None = None


def survey(system: System, q: Array, t: float = 0.0, v: Array | None = None) -> Neighbourhood:
    """Return the largest rank and scale of A at q and at up to three closed configurations nearby.

    The loops are closed first if they are open at q: beside the constraints redundant rows separate.
    Neighbours are steps of 0.03 along v and along the tangent space, closed again. At a singular
    configuration the rank is lower than nearby. ``v`` matters for constraints nonlinear in the velocity; the
    neighbours' velocities are seeded steps too. Where holonomic rows are dependent and no neighbour has a higher
    rank, the second order says whether the configuration is rigid, and on which branches else to look.
    """
    from sarrus.analysis.manifold import split
    from sarrus.analysis.rigidity import look

    start = np.zeros(system.nv) if v is None else v
    everything = np.ones(system.nv)
    if system.nc == 0:
        return Neighbourhood(0, 0, 0, 0.0, 0.0, 0.0)
    if _residual(system, q, t) > TOLERANCE:
        closed, _ = descend(system, q, t, everything)
        q = closed if _residual(system, closed, t) <= DATA_TOLERANCE else q
    samples = [(q, start), *_neighbours(system, q, t, start)]
    found = _compared(system, samples, t)
    if found.here < found.holonomic_rank or found.here in (system.nh, system.nv):
        return found
    ways = look(system, q, t, alone=all(p is q for p, _ in samples))
    if ways.places:
        found = _compared(system, [*samples, *((p, start) for p in ways.places)], t)
    motions = ways.motions
    if motions is not None and system.nc > system.nh:
        motions = motions @ split(finite_jacobian(system, q, t, start) @ motions, 1e-6 * found.scale).kernel
    return replace(found, motions=motions)


def _compared(system: System, samples: list[tuple[Array, Array]], t: float) -> Neighbourhood:
    """Return the largest rank and scale of A at states, of which the first one is the one that is asked about."""
    jacobians = [finite_jacobian(system, position, t, velocity) for position, velocity in samples]
    anywhere = random_coordinates(system.equations, np.random.default_rng(4))
    elsewhere = np.nan_to_num(system.constraint_jacobian(anywhere, t, samples[0][1]))
    weighted = [_weighted(system, x, jacobian) for (x, _), jacobian in zip(samples, jacobians)]
    rows = _row_scales(system, [*jacobians, elsewhere])
    scale = max(map(_largest, (*jacobians, elsewhere)))
    even = max(_largest(rows * jacobian) for jacobian in (*jacobians, elsewhere))
    weighted_scale = max(map(_largest, (*weighted, _weighted(system, anywhere, elsewhere))))
    holonomic = [numerical_rank((rows * jacobian)[: system.nh], scale=even) for jacobian in jacobians]
    rank = max(numerical_rank(rows * jacobian, scale=even) for jacobian in jacobians)
    smallest = max(np.linalg.svd(w, compute_uv=False)[rank - 1] for w in weighted) if rank else 0.0
    return Neighbourhood(max(holonomic), rank, holonomic[0], scale, weighted_scale, float(smallest))


def _row_scales(system: System, jacobians: list[Array]) -> Array:
    """Return factors (nc, 1) that give the largest row of every closure length one, whatever its units.

    Rows of one closure keep their proportions: a row that rounding keeps from being zero must not grow.
    """
    length = np.max([np.linalg.norm(jacobian, axis=1) for jacobian in jacobians], axis=0)
    factors = np.ones(system.nc)
    for block in system.closure_rows.values():
        largest = length[block].max(initial=0.0)
        factors[block] = 1.0 / largest if largest > 0.0 else 1.0
    return factors[:, None]


def _neighbours(system: System, q: Array, t: float, v: Array) -> list[tuple[Array, Array]]:
    """Return closed configurations near q with velocities near v: along v first, then in seeded directions.

    Where q is singular most tangent directions lead off the constraints, and closing the loops again falls
    back to q; such samples say nothing and are drawn anew.
    """
    rng = np.random.default_rng(2)
    everything = np.ones(system.nv)
    beside = system.move(q, _NEAR * rng.standard_normal(system.nv) / np.sqrt(system.nv))
    scale = _largest(finite_jacobian(system, beside, t, v))
    tangent = _tangent(finite_jacobian(system, q, t, v)[: system.nh], scale)
    directions = [v] if np.linalg.norm(v) > 1e-12 else []
    directions += [tangent.T @ rng.standard_normal(len(tangent)) for _ in range(_DRAWS) if len(tangent)]
    found, closed = [], min(DATA_TOLERANCE, 1e-10 + 10 * _residual(system, q, t))
    for direction in directions:
        kick = 0.03 * (1.0 + float(np.linalg.norm(v))) * rng.standard_normal(system.nv)
        step = _NEAR * direction / np.linalg.norm(direction)
        away = system.move(q, step)
        near, iterations = descend(system, away, t, everything)
        fallen = np.linalg.norm(near - q) < 0.5 * np.linalg.norm(away - q) or iterations > _QUICK
        if _residual(system, near, t) <= closed and not fallen:
            found.append((near, v + kick))
        if len(found) == 3:
            break
    if not found and system.nc > system.nh:
        found = [(q, v + 0.03 * (1.0 + float(np.linalg.norm(v))) * rng.standard_normal(system.nv))]
    return found


def finite_jacobian(system: System, q: Array, t: float = 0.0, v: Array | None = None) -> Array:
    """Return A, or raise `SolveError` naming the first constraint row that is not a number there."""
    jacobian = system.constraint_jacobian(q, t, v)
    bad = ~np.isfinite(jacobian).all(axis=1)
    if bad.any():
        name = system.constraint_names[int(np.argmax(bad))]
        raise SolveError(
            f"{system.name}: constraint {name!r} has a derivative that is not finite at q = {q}", element=name
        )
    return jacobian


def _largest(matrix: Array) -> float:
    return float(np.linalg.norm(matrix, 2)) if matrix.size else 0.0


def _weighted(system: System, q: Array, jacobian: Array) -> Array:
    """Return A L⁻ᵀ with M = L Lᵀ (the singular values of A M^(−1/2)); A itself where M is singular."""
    if system.compiled.mass_is_singular:
        return jacobian
    return np.linalg.solve(np.linalg.cholesky(system.mass_matrix(q)), jacobian.T).T


def _tangent(jacobian: Array, scale: float) -> Array:
    """Return an orthonormal basis, by rows, of the motions that the rows leave, at the scale of A beside."""
    _, values, right = np.linalg.svd(jacobian)
    return np.asarray(right[int(np.count_nonzero(values > 1e-6 * scale)) :])


def nearby_rank(system: System, q: Array, t: float = 0.0, v: Array | None = None) -> int:
    """Return the rank that A has at generic closed configurations near q; see `survey`."""
    return survey(system, q, t, v).rank


def _residual(system: System, q: Array, t: float) -> float:
    phi = system.constraint_residual(q, t)
    return float(np.abs(phi).max()) if phi.size else 0.0


def descend(system: System, q: Array, t: float, free: Array) -> tuple[Array, int]:
    """Run Levenberg–Marquardt steps of at most one radian or metre until nothing improves."""
    phi = system.constraint_residual(q, t)
    size = float(np.linalg.norm(phi))
    scale, crawling = 1.0, 0
    for iteration in range(MAX_ITERATIONS):
        if size <= 1e-15 * max(1.0, float(np.abs(q).max(initial=0.0))):
            return q, iteration
        left, values, right = np.linalg.svd(
            system.constraint_jacobian(q, t)[: system.nh] * free, full_matrices=False
        )
        keep = values > 1e-9 * max(values[0], 1e-300)
        left, values, right = left[:, keep], values[keep], right[keep]
        slope = left.T @ phi
        improved = False
        for _ in range(_DAMPINGS):
            step = -free * (right.T @ (values * slope / (values**2 + scale * size**2)))
            step /= max(1.0, float(np.abs(step).max(initial=0.0)))
            trial = system.move(q, step)
            value = system.constraint_residual(trial, t)
            length = float(np.abs(step).max(initial=0.0))
            little = size < DATA_TOLERANCE and np.linalg.norm(value) > _LITTLE * size
            if np.linalg.norm(value) < size and not (little and length > _FAR * size):
                improved = True
                break
            scale = 10.0 * scale
            if length < 1e-16:
                break
        if not improved:
            return q, iteration
        stalled = np.linalg.norm(value) > size * (1 - 1e-9) and size > DATA_TOLERANCE
        crawling = crawling + 1 if little else 0
        q, phi, size = trial, value, float(np.linalg.norm(value))
        scale = max(0.1 * scale, 1e-4)
        if stalled or crawling > _CRAWL:
            return q, iteration
    return q, MAX_ITERATIONS


def _turn_round(system: System, q: Array, t: float, free: Array) -> tuple[Array, tuple[str, ...], int]:
    """Return closed coordinates with the fewest flipped closures found, their names, and the iterations."""
    rng = np.random.default_rng(3)
    names, iterations = flipped(system, q), 0
    for _ in range(_TURNS):
        if not names:
            break
        kick = _TURN * rng.standard_normal(system.nv) * free
        trial, more = descend(system, system.move(q, kick), t, free)
        iterations += more
        left = flipped(system, trial) if _residual(system, trial, t) <= DATA_TOLERANCE else names
        if len(left) < len(names):
            q, names = trial, left
    return q, names, iterations


def free_velocities(system: System, names: Sequence[str], argument: str = "locked") -> Array:
    """Return ones (nv,) for velocities that may move and zeros for those of the named joints or coordinates."""
    if isinstance(names, str):
        raise ArgumentError(
            f"{argument} must be a sequence of names, such as {argument}=['crank']", element=argument
        )
    free = np.ones(system.nv)
    for name in names:
        indices = system.velocity_indices(name)
        if not indices:
            raise ArgumentError(
                f"{argument}: {unknown_name('joint or coordinate', name, system.joint_names)}",
                element=name,
                valid=system.joint_names,
            )
        free[indices] = 0.0
    return free
