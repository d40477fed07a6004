"""Geometry of the set of closed configurations: tangents, curvature, retraction and differences.

A direction is a velocity x (nv,); q ⊕ x is `System.move`. Lengths are Euclidean in x, with metres and radians mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.numbers import real_array
from sarrus.dynamics.closing.closed_state import require_closed
from sarrus.dynamics.closing.levenberg_marquardt import Rows, data_of, levenberg_marquardt_close
from sarrus.dynamics.closing.tolerances import (
    NEAR_CLOSED,
    OPEN,
    SAME_FINGERPRINT,
    WALK_SHORTEST,
    WALK_STEP,
    WALK_STRAIGHT,
)
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.measures import open_by
from sarrus.dynamics.model.rolling_contacts import why_not_finite
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT


def rank_cut(
    system: Evaluations, q: Array, t: float = 0.0, least: float = 0.0, *, even: bool = False
) -> float:
    """Return the threshold below which a singular value of A counts as zero at q; the size of A is at least ``least``.

    For A in the units of `comparable`, or with ``even`` in characteristic units.
    """
    return data_of(system).rank_cut(RANK_CUT) * max(typical_size(system, q, t, even=even), least)


def finite_jacobian(system: Evaluations, q: Array, t: float = 0.0, v: Array | None = None) -> Array:
    """Return A (nc × nv), or raise `SolveError` with the name of the first row that is not finite."""
    jacobian = system.constraint_jacobian(q, v, t)
    bad = ~np.isfinite(jacobian).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        name, why = system.constraint_names[row], why_not_finite(system, row, q, t)
        raise SolveError(
            f"{system.name}: constraint {name!r} has a derivative that is not finite at q = {q}{why}",
            element=name,
        )
    return jacobian


def holonomic_jacobian(system: Evaluations, q: Array, t: float = 0.0) -> Array:
    """Return the rows of A of φ (nh × nv); a row that is not finite is a `SolveError`."""
    return finite_jacobian(system, q, t)[: system.nh]


def comparable(system: Evaluations, rows: Array) -> Array:
    """Return A (nc × nv), or its first rows, with rows in characteristic units if the model is not exact.

    If rows contradict each other by digits, the choice among them must not depend on units.
    """
    return rows if data_of(system).exact else system.characteristic.rows[: len(rows), None] * rows


def typical_size(system: Evaluations, q: Array, t: float = 0.0, *, even: bool = False) -> float:
    """Return the largest singular value of A at q and at 0.03 from it: the scale for zero singular values.

    In the units of `comparable`, or with ``even`` with rows and velocities in characteristic units.
    """
    if system.nc == 0:
        return 0.0
    sizes = system.characteristic
    beside = np.random.default_rng(5).standard_normal(system.nv)
    step = 0.03 * beside / dense.norm(beside)
    places = (q, system.move(q, step / sizes.columns if even else step))
    found = (finite_jacobian(system, place, t) for place in places)
    return max(dense.largest(sizes.scaled_rows(rows) if even else comparable(system, rows)) for rows in found)


def rate_matrix(system: Evaluations, q: Array) -> Array:
    """Return N(q) (nq × nv) of q̇ = N v."""
    e = system.equations
    native = system.compiled.named("rate_matrix", lambda: {"N": ca.jacobian(e.rate, e.v)})
    return np.asarray(native(system.pack(q)).reshape(system.nq, system.nv))


def turning(system: Evaluations) -> np.ndarray:
    """Return the indices of the coordinates that are angles: q and q + 2π are the same configuration.

    For a mechanism they follow from its joints. For the user's own equations: no row and no entry of M differs
    between q and q + 2π at seeded random configurations.
    """
    if system.mechanism is not None:
        names = {name for joint in system.mechanism.joints() for name in joint.turning_names}
        return np.array(
            [i for i, name in enumerate(system.coordinate_names) if name in names], dtype=np.int64
        )
    rng, inside = np.random.default_rng(6), set(system.equations.quaternions)
    candidates = [i for i in range(system.nq) if not any(s <= i < s + 4 for s in inside)]
    for _ in range(2):
        q = system.normalized(system.neutral() + rng.uniform(-1.0, 1.0, system.nq))
        here = _fingerprint(system, q)
        candidates = [
            i
            for i in candidates
            if np.allclose(
                _fingerprint(system, q + 2 * np.pi * np.eye(system.nq)[i]),
                here,
                rtol=0,
                atol=SAME_FINGERPRINT,
            )
        ]
    return np.array(candidates, dtype=np.int64)


def _fingerprint(system: Evaluations, q: Array) -> Array:
    parts = (system.mass_matrix(q).ravel(), system.constraint_residual(q), [system.potential_energy(q)])
    return np.nan_to_num(np.concatenate(parts))


def difference(system: Evaluations, start: Array, end: Array, turns: np.ndarray | None = None) -> Array:
    """Return the chord x (nv,) from start to end: start ⊕ x ≈ end, exact for constant N.

    Quaternions q and −q are equal. ``turns`` are the indices of coordinates whose full turns are removed.
    """
    return dense.product(ranked(rate_matrix(system, start)).inverse, _gap(system, start, end, turns))


def differences(system: Evaluations, start: Array, ends: Array) -> Array:
    """Return the chords (T, nv) from one start to every end (T, nq); see `difference`."""
    inverse = ranked(rate_matrix(system, start)).inverse
    return np.array([dense.product(inverse, _gap(system, start, end)) for end in ends])


def _gap(system: Evaluations, start: Array, end: Array, turns: np.ndarray | None = None) -> Array:
    """Return end − start (nq,) with the nearer sign of quaternions, and without full turns of ``turns``."""
    gap = np.asarray(end, dtype=float) - start
    for s in system.equations.quaternions:
        part = slice(s, s + 4)
        if end[part] @ start[part] < 0.0:
            gap[part] = -np.asarray(end[part]) - start[part]
    if turns is not None:
        gap[turns] -= 2 * np.pi * np.rint(gap[turns] / (2 * np.pi))
    return gap


def solve_rows(
    rows: Rows, q: Array, free: Array, enough: Callable[[Array, float], bool] | None = None
) -> Array:
    """Return the configuration closest to q with zero ``rows``, or with the smallest residual.

    ``free`` (nv,) is one for free velocities and zero for locked ones; ``enough`` as in `levenberg_marquardt_close`.
    """
    return levenberg_marquardt_close(rows, q, 0.0, free, enough)[0]


def close(system: Evaluations, q: Array, t: float = 0.0, across: Array | None = None) -> Array:
    """Return the closed configuration next to q, or the one with the smallest residual.

    ``across`` (nv × m, orthonormal) are locked directions.
    """
    if across is None or across.size == 0:
        return levenberg_marquardt_close(system, q, t, np.ones(system.nv))[0]
    whole, _ = np.linalg.qr(across, mode="complete")
    return levenberg_marquardt_close(system, q, t, whole[:, across.shape[1] :])[0]


def stays_closed(system: Evaluations, q: Array, start: Array, t: float) -> bool:
    """Tell whether the residual at q is closed, or at most ten times the closing error of the data at the start."""
    return open_by(system, q, t) < NEAR_CLOSED + 10 * open_by(system, start, t)


def closed_start(system: Evaluations, q: Array, t: float) -> Array:
    """Return q with its loops closed to rounding; loops open by more than 1e-5 are an `ArgumentError`."""
    q = system.normalized(q)
    require_closed(system, q, t)
    return close(system, q, t)


def closed_starts(system: Evaluations, q: ArrayLike, t: float) -> list[Array]:
    """Return one start (nq,) or several (k, nq), each closed by `closed_start`; at least one."""
    rows = np.atleast_2d(real_array(q))
    if rows.ndim != 2 or not len(rows):
        raise ArgumentError(
            f"{system.name}: q must be a start ({system.nq},) or several (k, {system.nq}), got shape {rows.shape}",
            element="q",
        )
    return [closed_start(system, row, t) for row in rows]


def second_derivatives(system: Evaluations, q: Array, t: float, basis: Array) -> Array:
    """Return ∂²φ (nh × k × k) along the columns x_i of ``basis``, from γ(q, v) by polarization, at a fixed time.

    For rows combined by u with uᵀA = 0 it is the curvature in any coordinates: a motion q(s) with velocity x has
    uᵀ d²φ/ds² = uᵀ γ(q, x).
    """
    still = system.constraint_bias(q, np.zeros(system.nv), t)[: system.nh]

    def curvature(x: Array) -> Array:
        both = system.constraint_bias(q, x, t)[: system.nh] + system.constraint_bias(q, -x, t)[: system.nh]
        return np.asarray(both / 2 - still)

    k = basis.shape[1]
    out = np.zeros((system.nh, k, k))
    for i in range(k):
        out[:, i, i] = curvature(basis[:, i])
    for i in range(k):
        for j in range(i):
            both = curvature(basis[:, i] + basis[:, j])
            out[:, i, j] = out[:, j, i] = (both - out[:, i, i] - out[:, j, j]) / 2
    return out


def walk(
    system: Evaluations,
    q: Array,
    direction: Array,
    *,
    t: float,
    step: float,
    cut: float,
    hold: Array | None = None,
    scale: Array | None = None,
) -> Iterator[tuple[Array, Array]]:
    """Yield (configuration, unit tangent) along the closed configurations, straight on from q.

    The tangent is the previous one projected on the kernel of A, which continues through singular configurations.
    Steps are halved if the path bends by more than 0.2 rad or the loops do not close; the iteration ends if this does
    not help. ``hold`` (nv × m, orthonormal) are locked directions. ``scale`` (nv,) is a metric: lengths, angles and
    unit tangents are those of scale · x, by default of x.
    """
    held = np.zeros((system.nv, 0)) if hold is None else hold
    factors = np.ones(system.nv) if scale is None else scale
    tangent = direction / np.linalg.norm(factors * direction)
    length = step
    while length > WALK_SHORTEST * step:
        level = factors**2 * tangent  # normal of the plane across the step, in the metric of the walk
        across = np.column_stack([held, level / np.linalg.norm(level)])
        p = close(system, system.move(q, length * tangent), t, across=across)
        rows = comparable(system, holonomic_jacobian(system, p, t))
        kernel = ranked(np.vstack([rows, held.T]), cut).null
        if scale is not None:
            kernel, _ = np.linalg.qr(factors[:, None] * kernel)
        ahead = kernel @ (kernel.T @ (factors * tangent)) / factors
        size = float(np.linalg.norm(factors * ahead))
        if size < WALK_STRAIGHT or open_by(system, p, t) > data_of(system).accepted(OPEN):
            length /= 2
            continue
        q, tangent, length = p, ahead / size, min(step, 2 * length)
        yield q, tangent


def came_back(
    system: Evaluations,
    start: Array,
    way: Array,
    q: Array,
    tangent: Array,
    turns: np.ndarray,
    counted: Array | None = None,
) -> bool:
    """Tell whether a walk in steps of `STEP` that left the start along ``way`` has returned to it, up to full turns.

    ``counted`` (nv,) is zero for velocities that are not compared.
    """
    weight = np.ones(system.nv) if counted is None else counted
    home = float(np.linalg.norm(weight * difference(system, start, q, turns)))
    before, now = weight * way, weight * tangent
    return home < 0.6 * WALK_STEP and float(now @ before) > 0.9 * float(
        np.linalg.norm(now) * np.linalg.norm(before)
    )
