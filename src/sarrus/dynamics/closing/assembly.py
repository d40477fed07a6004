"""Assembly: closed loops from a rough guess, and the rank of A near a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_known, check_sequence
from sarrus.base.status import Status
from sarrus.dynamics.closing.antiparallel import antiparallel
from sarrus.dynamics.closing.closed_state import unmoved_rows
from sarrus.dynamics.closing.continuation import closed_origins, follow, held_coordinates, same_place
from sarrus.dynamics.closing.gradient_flow import gradient_flow, turned_over
from sarrus.dynamics.closing.levenberg_marquardt import (
    data_of,
    is_closed,
    judge_at,
    levenberg_marquardt_close,
)
from sarrus.dynamics.closing.manifold import finite_jacobian
from sarrus.dynamics.closing.rigidity import look
from sarrus.dynamics.closing.tolerances import (
    ASSEMBLED,
    DATA_TOLERANCE,
    MOVING,
    NEAR_CLOSED,
    NEIGHBOUR_DRAWS,
    NEIGHBOUR_STEP,
    NEWTON_GAP,
    PARALLEL_TURN,
    PARALLEL_TURNS,
    QUICK_CLOSING,
)
from sarrus.dynamics.closing.within_limits import bring_inside, outside_limits
from sarrus.dynamics.model.compiled import random_coordinates
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.inertia import is_singular_at
from sarrus.dynamics.model.measures import metric_root, open_by
from sarrus.dynamics.results import Assembly
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import at_rank, in_metric, independent_rows, rank_by, rank_of, ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT

RESTARTS = 4


def assemble(
    system: Evaluations,
    q: ArrayLike,
    t: float = 0.0,
    *,
    locked: Sequence[str] = (),
    within_limits: bool = False,
    throw: bool = True,
) -> Assembly:
    """Return a configuration with closed loops on the branch of the guess q, as near to the guess as possible.

    Coordinates in ``locked`` (joint or coordinate names) keep their values. If the guess is a closed configuration
    except for its locked coordinates, these are moved to their values by continuation, and the free coordinates follow;
    ``limits`` gives the values reached if the path is blocked. Any other guess is closed by a continuous descent.
    Lengths are measured in the kinetic metric, so the answer does not depend on units.

    If the descent does not close the loops, Levenberg–Marquardt is tried from the guess and from four seeded
    perturbations. Revolute, cylindrical, screw and planar closures may end with opposite instead of parallel axes; the
    search then restarts from larger seeded steps, and if it fails the status is NOT_CLOSED and ``antiparallel`` names
    the closures. ``left_branch`` names closures whose answer may be on another assembly branch than the guess: all of
    them after such a jump, after a descent the closures with changed orientation.

    Coordinates beyond their joint limits stay there; ``outside`` names them. ``within_limits`` moves them inside with
    closed loops, and separates contacts with Coulomb friction, gearing flanks and geometries from their ground, by
    shortest steps in the kinetic metric. If this fails the status is NOT_ACHIEVABLE; locked coordinates keep their
    values.

    ``throw`` raises `SolveError` for NOT_CLOSED and NOT_ACHIEVABLE; the error's ``result`` holds the configuration.
    """
    free = free_velocities(system, locked)
    start = system.normalized(q)
    if not np.isfinite(open_by(system, start, t)):
        raise ArgumentError(
            f"{system.name}: q lies where the constraints are not finite numbers", element="q"
        )
    found, left = _close(system, start, t, free), tuple[str, ...]()
    if within_limits:
        inside, left, more = bring_inside(system, found.q, t, free)
        changed = turned_over(system, found.q, inside, t, free) if inside is not found.q else ()
        found = replace(
            found, q=inside, iterations=found.iterations + more, left_branch=found.left_branch or changed
        )
    best, error = found.q, open_by(system, found.q, t)
    judge_at(system, best, t)
    near = rank_analysis(system, best, t)
    closed = data_of(system).closed(ASSEMBLED)
    if error > max(DATA_TOLERANCE, closed) or found.opposite:
        status = Status.NOT_CLOSED
    elif near.motions is not None and near.motions.shape[1] == 0:
        status = Status.RIGID
    elif error > closed:
        status = Status.INCONSISTENT
    elif left:
        status = Status.NOT_ACHIEVABLE
    else:
        status = Status.SINGULAR if near.here < near.holonomic_rank else Status.OK
    phi = system.constraint_residual(best, t)
    gaps = {
        name: float(np.abs(phi[rows]).max())
        for name, rows in system.closure_rows.items()
        if rows.stop <= system.nh
    }
    result = Assembly(
        read_only(best),
        float(np.abs(phi).max(initial=0.0)),
        found.iterations,
        near.here,
        status,
        gaps,
        found.opposite,
        found.left_branch,
        found.limits,
        outside_limits(system, best),
        left,
        unmoved_rows(system, best, t) if status is Status.NOT_CLOSED else (),
    )
    if throw and status is Status.NOT_ACHIEVABLE:
        raise SolveError(
            f"{system.name}: {', '.join(left)}: no configuration inside was found; start nearer, or unlock coordinates",
            result=result,
        )
    if throw and status is Status.NOT_CLOSED:
        raise status.error(system.name, result.message, result=result)
    return result


@dataclass(frozen=True, eq=False)
class _Closed:
    """The end of a search for closed loops; the fields are explained in `Assembly`."""

    q: Array
    iterations: int
    opposite: tuple[str, ...] = ()
    left_branch: tuple[str, ...] = ()
    limits: dict[str, float] = field(default_factory=dict)


def _close(system: Evaluations, start: Array, t: float, free: Array) -> _Closed:
    """Close the loops by continuation; if it fails by a continuous descent; if it fails by Levenberg–Marquardt."""
    error = open_by(system, start, t)
    closed = data_of(system).closed(DATA_TOLERANCE)
    if error <= data_of(system).closed():
        return _Closed(start, 0)
    limits: dict[str, float] = {}
    names = tuple(name for name, rows in system.closure_rows.items() if rows.stop <= system.nh)
    if error > ASSEMBLED and not free.all():
        ways = [follow(system, origin, start, t, free) for origin in closed_origins(system, start, t, free)]
        arrived = [levenberg_marquardt_close(system, way.q, t, free) for way in ways if way.arrived]
        if arrived:
            best, iterations = arrived[0]
            sure = ways[0].arrived and all(same_place(system, best, other) for other, _ in arrived)
            return _Closed(best, iterations, left_branch=() if sure else names)
        if ways:
            way = ways[0]
            limits = {
                system.coordinate_names[i]: float(way.q[i])
                for i in held_coordinates(system, free)
                if way.q[i] != start[i]
            }
    best, steps = gradient_flow(system, start, t, free) if error > NEWTON_GAP else (start, 0)
    best, iterations = levenberg_marquardt_close(system, best, t, free)
    iterations += steps
    jumped = bool(limits)
    rng = np.random.default_rng(1)
    attempts = [np.zeros(system.nv)]
    attempts += [
        0.1 * (1 + k) * rng.standard_normal(system.nv) * free / system.characteristic.columns
        for k in range(RESTARTS)
    ]
    error = open_by(system, best, t)
    for kick in attempts:
        if error <= closed:
            break
        trial, more = levenberg_marquardt_close(system, system.move(start, kick), t, free)
        iterations += more
        left = open_by(system, trial, t)
        if left < error:
            best, error, jumped = trial, left, True
    if error > closed:
        return _Closed(best, iterations, limits=limits)
    turned, opposite, more = _turn_round(system, best, t, free)
    jumped = jumped or turned is not best
    changed = names if jumped else turned_over(system, start, turned, t, free)
    return _Closed(turned, iterations + more, opposite, changed, limits)


@dataclass(frozen=True)
class Neighbourhood:
    """The constraints at generic closed configurations near q.

    ``rank`` is the rank of A, ``holonomic_rank`` of its holonomic rows; ``here`` is the holonomic rank at q itself.
    Scales are the largest singular values of A nearby or at a random configuration, and decide which pivots count as
    singular: ``scale`` of A, ``weighted_scale`` of A M^(−1/2), ``scaled_rows_size`` of A M^(−1/2) with rows in
    characteristic units, ``measured_rows_size`` of A with rows and velocities in characteristic units. ``smallest``
    is the largest value nearby of the singular value number ``rank`` of the factored matrix: A M^(−1/2) with rows in
    characteristic units, or, if M is singular, A with rows and velocities in them. ``independent`` are ``rank`` row
    indices, independent at this configuration; given if other rows depend on them and straight-line code eliminates
    M. ``motions`` (nv × d) is a basis of the finite motions out of a rigid q, where A allows more velocities than
    motions; d = 0 if q is isolated; None elsewhere (`sarrus.dynamics.closing.rigidity`).
    """

    holonomic_rank: int
    rank: int
    here: int
    scale: float
    weighted_scale: float
    scaled_rows_size: float
    measured_rows_size: float
    smallest: float
    independent: tuple[int, ...] = ()
    motions: Array | None = None


def rank_analysis(system: Evaluations, q: Array, t: float = 0.0, v: Array | None = None) -> Neighbourhood:
    """Return the largest rank and scale of A at q and at up to three closed configurations nearby.

    The loops are closed first if they are open at q, because redundant rows become independent off the constraints.
    Neighbours are steps of 0.03 along v and along the tangent space, closed again. At a singular configuration the rank
    is lower than nearby. ``v`` matters for constraints nonlinear in the velocity; the neighbours' velocities are seeded
    steps too. If holonomic rows are dependent and no neighbour has a higher rank, a second-order test decides whether
    the configuration is rigid, and gives further branches to sample.
    """
    start = np.zeros(system.nv) if v is None else v
    everything = np.ones(system.nv)
    if system.nc == 0:
        return Neighbourhood(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    data = data_of(system)
    if open_by(system, q, t) > data.closed(ASSEMBLED):
        closed, _ = levenberg_marquardt_close(system, q, t, everything)
        q = closed if is_closed(system, closed, t) else q
    samples = [(q, start), *_neighbours(system, q, t, start)]
    found = _compared(system, samples, t)
    if found.here < found.holonomic_rank or found.here in (system.nh, system.nv) or not data.exact:
        return found
    ways = look(system, q, t, alone=all(p is q for p, _ in samples))
    if ways.places:
        found = _compared(system, [*samples, *((p, start) for p in ways.places)], t)
    motions = ways.motions
    if motions is not None and system.nc > system.nh:
        motions = (
            motions @ ranked(finite_jacobian(system, q, t, start) @ motions, RANK_CUT * found.scale).null
        )
    return replace(found, motions=motions)


def _compared(system: Evaluations, samples: list[tuple[Array, Array]], t: float) -> Neighbourhood:
    """Return the largest rank and scale of A at several states; the first state is q itself."""
    size = system.characteristic
    anywhere = random_coordinates(system.equations, np.random.default_rng(4)) / size.coordinates
    # skip rows that are not finite there, such as those of a rolling element far from its surface
    elsewhere = np.nan_to_num(system.constraint_jacobian(anywhere, samples[0][1], t), posinf=0.0, neginf=0.0)
    places = [*(place for place, _ in samples), anywhere]
    jacobians = [*(finite_jacobian(system, place, t, speed) for place, speed in samples), elsewhere]
    weighted = [_weighted(system, place, rows, t) for place, rows in zip(places, jacobians)]
    projected = [_in_metric(system, place, rows, t) for place, rows in zip(places, jacobians)]
    columns = [rows / size.columns for rows in jacobians]
    measured = [size.rows[:, None] * rows for rows in columns]
    factors = _row_scales(system, measured)
    evened = [factors * rows for rows in measured]
    kinds = jacobians, weighted, projected, measured, evened
    scale, weighted_scale, scaled_rows_size, measured_rows_size, even = (
        max(dense.largest(rows) for rows in kind) for kind in kinds
    )
    of_evened = [dense.even_singular_values(rows) for rows in evened[:-1]]
    cut = data_of(system).rank_cut(RANK_CUT)
    whole = [rank_by(those, cut, even) for those in of_evened]
    holonomic = whole
    if system.nh < system.nc:
        holonomic = [rank_of(rows[: system.nh], cut, even) for rows in evened[:-1]]
    rank, smallest, live = max(whole), 0.0, system.compiled.live
    independent: list[int] = []
    if rank:
        factored = measured if system.compiled.mass_is_singular else projected
        least = [float(dense.even_singular_values(rows)[rank - 1]) for rows in factored[:-1]]
        smallest = max(least)
        if live is not None and rank < len(live):
            independent = independent_rows(projected[least.index(smallest)], rank, 0.9)
    scales = scale, weighted_scale, scaled_rows_size, measured_rows_size
    return Neighbourhood(max(holonomic), rank, holonomic[0], *scales, smallest, tuple(independent))


def kinetic_rank(system: Evaluations, q: Array, t: float = 0.0, v: Array | None = None) -> int:
    """Return the rank of A at q alone, with velocities in units of 1/√M_kk and rows scaled to length one."""
    mass = np.diag(system.mass_matrix(q, t))
    jacobian = finite_jacobian(system, q, t, v) / np.sqrt(np.where(mass > 0.0, mass, 1.0))
    length = np.linalg.norm(jacobian, axis=1, keepdims=True)
    return rank_of(jacobian / np.where(length > 0.0, length, 1.0))


def _row_scales(system: Evaluations, jacobians: list[Array]) -> Array:
    """Return factors (nc, 1) for rows in characteristic units that scale the largest row of each closure to length one.

    Rows of one closure keep their proportions, so that a zero row with rounding stays small.
    """
    length = np.max([np.linalg.norm(jacobian, axis=1) for jacobian in jacobians], axis=0)
    factors = np.ones(system.nc)
    for block in system.closure_rows.values():
        largest = length[block].max(initial=0.0)
        factors[block] = 1.0 / largest if largest > 0.0 else 1.0
    return factors[:, None]


def _neighbours(system: Evaluations, q: Array, t: float, v: Array) -> list[tuple[Array, Array]]:
    """Return closed configurations near q with velocities near v: along v first, then in seeded directions.

    At a singular q most tangent directions leave the constraints, and closing the loops falls back to q. These steps
    are repeated with the motion along the step locked; samples that still fall back are drawn anew.
    """
    rng = np.random.default_rng(2)
    everything = np.ones(system.nv)
    size = system.characteristic
    far = max(
        NEIGHBOUR_STEP, data_of(system).passing_cut
    )  # farther than the imprecise zone of a singular configuration
    beside = system.move(q, far * rng.standard_normal(system.nv) / np.sqrt(system.nv) / size.columns)

    def even(place: Array) -> Array:
        return size.scaled_rows(finite_jacobian(system, place, t, v))

    cut = data_of(system).rank_cut(RANK_CUT) * dense.largest(even(beside))
    tangent = ranked(even(q)[: system.nh], cut).null.T / size.columns
    directions = [v] if dense.norm(size.columns * v) > MOVING else []
    directions += [
        dense.product(tangent.T, rng.standard_normal(len(tangent)))
        for _ in range(NEIGHBOUR_DRAWS)
        if len(tangent)
    ]
    found, speed = [], dense.norm(size.columns * v)
    closed = min(DATA_TOLERANCE, NEAR_CLOSED + 10 * open_by(system, q, t))
    closed = max(closed, data_of(system).accepted(0.0))
    for direction in directions:
        kick = 0.03 * (1.0 + speed) * rng.standard_normal(system.nv) / size.columns
        step = far * direction / dense.norm(size.columns * direction)
        away = system.move(q, step)
        for along in (True, False):
            beside_it = None if along else at_rank((size.columns * step)[None], 1).null
            ways = everything if beside_it is None else beside_it / size.columns[:, None]
            near, iterations = levenberg_marquardt_close(system, away, t, ways)
            came, went = (dense.norm(size.coordinates * (place - q)) for place in (near, away))
            fallen = not 0.5 * went <= came <= 3.0 * went or iterations > QUICK_CLOSING
            if open_by(system, near, t) <= closed and not fallen:
                found.append((near, v + kick))
                break
        if len(found) == 3:
            break
    if not found and system.nc > system.nh:
        found = [(q, v + 0.03 * (1.0 + speed) * rng.standard_normal(system.nv) / size.columns)]
    return found


def _weighted(system: Evaluations, q: Array, jacobian: Array, t: float) -> Array:
    """Return A L⁻ᵀ with M = L Lᵀ (singular values of A M^(−1/2)); A if M is singular."""
    if is_singular_at(system, q, t):
        return jacobian
    return in_metric(jacobian, dense.cholesky(system.mass_matrix(q, t)))


def _in_metric(system: Evaluations, q: Array, jacobian: Array, t: float) -> Array:
    """Return R A L⁻¹, the matrix factored by a projection: rows in characteristic units R A, metric LᵀL."""
    size = system.characteristic
    rows = size.rows[:, None] * jacobian
    return in_metric(rows, metric_root(system, q, t)) / (np.sqrt(size.mass) * size.length)


def _turn_round(system: Evaluations, q: Array, t: float, free: Array) -> tuple[Array, tuple[str, ...], int]:
    """Return the closed coordinates with the fewest antiparallel closures found, their names, and the iterations."""
    rng = np.random.default_rng(3)
    names, iterations = antiparallel(system, q, t), 0
    for _ in range(PARALLEL_TURNS):
        if not names:
            break
        kick = PARALLEL_TURN * rng.standard_normal(system.nv) * free / system.characteristic.columns
        trial, more = levenberg_marquardt_close(system, system.move(q, kick), t, free)
        iterations += more
        closed = is_closed(system, trial, t)
        left = antiparallel(system, trial, t) if closed else names
        if len(left) < len(names):
            q, names = trial, left
    return q, names, iterations


def held_velocities(system: Evaluations, locked: Sequence[str]) -> Array:
    """Return the unit velocities (nv × n) of the locked joints or coordinates, by columns."""
    return np.eye(system.nv)[:, free_velocities(system, locked) == 0.0]


def free_velocities(system: Evaluations, names: Sequence[str], argument: str = "locked") -> Array:
    """Return ones (nv,) for free velocities and zeros for the velocities of the named joints or coordinates."""
    check_sequence(argument, names)
    free = np.ones(system.nv)
    for name in names:
        indices = system.velocity_indices(name)
        if not indices:
            check_known("joint or coordinate", name, system.joint_names, argument)
        free[indices] = 0.0
    return free
