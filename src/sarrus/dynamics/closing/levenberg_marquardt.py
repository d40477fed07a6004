"""Levenberg–Marquardt descent in the kinetic metric, from a guess to closed loops.

Rows and steps are in radians and characteristic lengths (`sarrus.dynamics.model.characteristic`); a step δ has the
length δᵀM δ / (mass × length²). The steps are therefore equal for a model in metres and in millimetres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import cast

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.closing.tolerances import (
    CRAWL_REACH,
    CRAWL_STEPS,
    DATA_TOLERANCE,
    DESCENT_ROUNDING,
    DESCENT_SPLIT,
    DESCENT_STALLED,
    JUDGING_ITERATIONS,
    JUDGING_KICKS,
    JUDGING_STARTS,
    LEAST_DAMPING,
    LITTLE_GAIN,
    OFFSET_GAP,
    SHORTEST_DESCENT,
)
from sarrus.dynamics.model.closure_precision import NEARLY, measured_precision
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.measures import longest, metric_root, open_by
from sarrus.dynamics.model.model_precision import EXACT, DataTolerance
from sarrus.dynamics.model.tolerances import ROUGH_GAP
from sarrus.dynamics.model.units import constraint_units
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import in_metric, ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT, RANK_CUT

MAX_ITERATIONS = 300
# Number of dampings tried in one step, each ten times the one before; the smallest is negligible even against the
# square of a residual of 1e-12, which is needed near an isolated configuration.
_DAMPINGS = 40


def directions(free: Array) -> Array:
    """Return the columns of the identity (nv × k) where ``free`` (nv,) is not zero."""
    return np.eye(len(free))[:, free != 0.0]


@dataclass(frozen=True)
class Rows:
    """Equations on q with their Jacobian, solved by the same descent as the closures."""

    system: Evaluations
    nh: int
    residual: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]

    def constraint_residual(self, q: Array, t: float) -> Array:
        """Return the residual."""
        return self.residual(q)

    def constraint_jacobian(self, q: Array, v: Array | None = None, t: float = 0.0) -> Array:
        """Return its derivative along velocities."""
        return self.jacobian(q)

    def move(self, q: Array, step: Array) -> Array:
        """Return q ⊕ step."""
        return self.system.move(q, step)


def _along(basis: Array | None, matrix: Array) -> Array:
    """Return ``matrix`` times the columns of ``basis``; the matrix itself for None."""
    return matrix if basis is None else dense.product(matrix, basis)


def levenberg_marquardt_close(
    system: Evaluations | Rows,
    q: Array,
    t: float,
    free: Array,
    enough: Callable[[Array, float], bool] | None = None,
    *,
    data: DataTolerance | None = None,
) -> tuple[Array, int]:
    """Return q after Levenberg–Marquardt steps until the residual stagnates, and the number of iterations.

    Steps are at most one radian or characteristic length. The damping is ‖φ‖², with fast convergence even if A loses
    rank (Fan and Yuan, Computing 74, 2005). ``free`` is one for free velocities and zero for locked ones (nv,), or a
    basis of the directions in which q may move (nv × k). ``enough``, a function of q and the norm of the residual, ends
    the descent. Rows that are independent only because of the digits of ``data`` (by default of the model) cause no
    motion.
    """
    plant = cast(Evaluations, getattr(system, "system", system))
    data = data_of(plant) if data is None else data
    basis = (None if free.all() else directions(free)) if free.ndim == 1 else free
    factors = np.ones(system.nh)
    factors[: plant.nh] = plant.characteristic.rows[: plant.nh]
    reach = max(1.0, float(np.abs(plant.characteristic.coordinates * q).max(initial=0.0)))
    phi = factors * system.constraint_residual(q, t)
    size = dense.norm(phi)
    fine, least = data.closed(DATA_TOLERANCE), FINE_RANK_CUT if data.exact else data.rank_cut(RANK_CUT)
    scale, crawling, cut = 1.0, 0, data.rank_cut(RANK_CUT)
    if basis is not None and basis.shape[1] == 0:
        return q, 0
    for iteration in range(MAX_ITERATIONS):
        if size <= DESCENT_ROUNDING * reach or (enough is not None and enough(q, size)):
            return q, iteration
        root = metric_root(plant, q, t, basis)
        rows = factors[:, None] * _along(basis, system.constraint_jacobian(q, t=t)[: system.nh])
        if not np.isfinite(rows).all():  # no direction of descent
            return q, iteration
        weighted = ranked(in_metric(rows, root), relative=cut if size < fine else least)
        improved = False
        for _ in range(_DAMPINGS):
            step = -dense.solve(root.T, weighted.damped(phi, scale * size**2))
            step = step if basis is None else dense.product(basis, step)
            step /= max(1.0, longest(plant, step))
            trial = system.move(q, step)
            value = factors * system.constraint_residual(trial, t)
            length, left_over = longest(plant, step), dense.norm(value)
            little = size < fine and left_over > LITTLE_GAIN * size
            if left_over < size and not (little and length > CRAWL_REACH * size):
                improved = True
                break
            scale = 10.0 * scale
            if length < SHORTEST_DESCENT:
                break
        if not improved and cut > least and DESCENT_SPLIT * reach < size < fine:
            cut, scale = least, 1.0
            continue
        if not improved:
            return q, iteration
        stalled = left_over > size * (1 - DESCENT_STALLED) and size > fine
        crawling = crawling + 1 if little else 0
        q, phi, size = trial, value, left_over
        scale = max(0.1 * scale, LEAST_DAMPING)
        if crawling > CRAWL_STEPS and cut > least:
            cut, scale, crawling = least, 1.0, 0
        elif stalled or crawling > CRAWL_STEPS:
            return q, iteration
    return q, MAX_ITERATIONS


def data_of(system: Evaluations) -> DataTolerance:
    """Return the precision of the data of a model, judged once at the first suitable configuration.

    Candidates: the neutral configuration, the keyframes and seeded steps from them. Suitable: it closes to `ROUGH`
    (lengths after steps to `_OFFSET`) and is not singular. If none is suitable, `judge_at` is used later; until then
    the model counts as exact.
    """
    return EXACT if system.nh < 2 else _judgement(system) or EXACT


def judge_at(system: Evaluations, q: Array, t: float) -> None:
    """Judge the digits of a model at q, if its loops are nearly closed there and it has not been judged before."""
    if system.nh < 2 or _judgement(system) is not None or not _is_rough(system, q, t):
        return
    with np.errstate(all="ignore"):
        found = measured_precision(system, q, t)
    if found is not None:
        system.model.revise(_key(system), found)


def _judgement(system: Evaluations) -> DataTolerance | None:
    return system.model.cached_lru(_key(system), lambda: _judged_precision(system))


def _key(system: Evaluations) -> tuple[str, tuple[float, ...]]:
    return "data", tuple(system.parameters.values())


def is_closed(system: Evaluations, q: Array, t: float = 0.0) -> bool:
    """Tell whether the loops are closed up to the digits of the model."""
    return open_by(system, q, t) <= data_of(system).closed(DATA_TOLERANCE)


def _judged_precision(system: Evaluations) -> DataTolerance | None:
    """Return the tolerance of the data at the first suitable configuration, None if there is none."""
    places = []
    with np.errstate(all="ignore"):
        for q in _rough_configurations(system):
            places.append(q)
            if (found := measured_precision(system, q)) is not None:
                return found
        return next(
            (found for q in places if (found := measured_precision(system, q, least=0.0)) is not None), None
        )


def _rough_configurations(system: Evaluations) -> Iterator[Array]:
    """Iterate over configurations closed to `ROUGH`: at and near the neutral configuration and the keyframes."""
    rng, everything = np.random.default_rng(11), np.ones(system.nv)
    keys = () if system.mechanism is None else system.mechanism.keyframes.values()
    starts = [system.neutral(), *(system.normalized(key.q) for key in keys if len(key.q) == system.nq)]
    yield from (q for q in starts if open_by(system, q) <= ROUGH_GAP)
    for size in (0.0, *JUDGING_KICKS):
        for start in starts[:JUDGING_STARTS]:
            kick = rng.standard_normal(system.nv) / np.sqrt(system.nv) / system.characteristic.columns
            iterations = count()
            q, _ = levenberg_marquardt_close(
                system,
                system.move(start, size * kick),
                0.0,
                everything,
                lambda *_, iterations=iterations: next(iterations) > JUDGING_ITERATIONS,
                data=NEARLY,
            )
            if _is_rough(system, q, 0.0):
                yield q


def _is_rough(system: Evaluations, q: Array, t: float) -> bool:
    """Tell whether loops are open by less than `ROUGH`, and gaps of undrawn configurations by less than `_OFFSET`."""
    lengths = np.array([unit == "N" for unit in constraint_units(system)[: system.nh]])
    gaps = np.abs(system.constraint_residual(q, t)[lengths]) / system.characteristic.length
    return open_by(system, q, t) <= ROUGH_GAP and bool((gaps <= OFFSET_GAP).all())
