"""Rows of A that can be removed together while rank and motion stay the same.

Rows R can be removed if the remaining rows span the row space: no vanishing combination of rows, Uᵀ A = 0, lies in R
alone, so U restricted to R has independent rows. Sets of rows with this property form a matroid (the dual of that of
independent rows; Oxley, Matroid Theory, 2nd ed. 2011, section 2.1): any greedy collection ends with nc − rank rows, and
a preference decides which. At a singular configuration the second order distinguishes rows (Müller, Journal of
Mechanisms and Robotics 8(4), 2016): the curvatures of φ on the null space of A are columns beside A, and combinations
must vanish with them.

The property must hold at several configurations of the same motion: q, the branches through it, and closed ones nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as pairs

import numpy as np

from sarrus.analysis.mobility.tolerances import (
    FLAT_CURVATURE,
    LEAST_GROUP_SHARE,
    OTHER_PLACES,
    ROW_SHARES,
    ROW_TRIALS,
    ROWS_CLOSED,
    TRIAL_STEP,
    VIOLATED_PART,
)
from sarrus.base.arrays import Array
from sarrus.dynamics.closing.branches import Branch
from sarrus.dynamics.closing.levenberg_marquardt import Rows, data_of, levenberg_marquardt_close
from sarrus.dynamics.closing.manifold import close, finite_jacobian, second_derivatives, stays_closed
from sarrus.dynamics.impacts.activity import active
from sarrus.dynamics.system import System
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT
from sarrus.model.mechanism.elements import CLOSURE_ROWS

# Rows that can go together, because a kind of closure is left.
_TOGETHER: dict[str, tuple[tuple[str, ...], ...]] = {
    "weld": (("rx", "ry", "rz"),),
    "revolute": (("n1", "n2"),),
    "prismatic": (("rx", "ry", "rz"),),
    "cylindrical": (("n1", "n2"),),
    "screw": (("n1", "n2", "lead"), ("lead",)),
    "universal": (("perpendicular",),),
    "planar": (("n1", "n2"),),
}


@dataclass(frozen=True, eq=False)
class Place:
    """A closed configuration at which rows are compared: A in characteristic units (nc, nv), and which combinations
    vanish.

    ``kernel`` (nv, k): orthonormal basis of the velocities that holonomic rows allow, in these units; ``curvature``
    (nc, n): second derivatives of φ along it, n = 0 if not needed. Singular values of A up to ``cut`` and combinations
    of curvatures up to ``flat`` count as zero.
    """

    q: Array
    rows: Array
    kernel: Array
    curvature: Array
    cut: float
    flat: float

    def free(self, kept: np.ndarray) -> Array:
        """Return the vanishing combinations of the kept rows (mask (nc,)), with zeros for the other rows."""
        out = ranked(self.rows[kept], self.cut).left_null
        bent = dense.product(np.ascontiguousarray(out.T), self.curvature[kept])
        if bent.size and float(np.abs(bent).max()) > self.flat:
            out = dense.product(out, ranked(bent, self.flat).left_null)
        whole = np.zeros((len(kept), out.shape[1]))
        whole[kept] = out
        return whole


def places(system: System, q: Array, t: float, branches: Sequence[Branch], bent: bool) -> tuple[Place, ...]:
    """Return q and configurations on its branches; without branches, closed configurations nearby in seeded directions.

    Directions and lengths are in characteristic units, so that metres and millimetres agree. ``bent``: with curvatures.
    """
    first = place_at(system, q, t, bent)
    others = [branch.q for branch in branches]
    rng = np.random.default_rng(11)
    for _ in range(0 if branches or first.kernel.shape[1] == 0 else OTHER_PLACES):
        x = dense.product(first.kernel, rng.standard_normal(len(first.kernel.T)))
        for step in (TRIAL_STEP, TRIAL_STEP / 5):
            p = close(system, system.move(q, step / dense.norm(x) * x / system.characteristic.columns), t)
            if stays_closed(system, p, q, t):
                others.append(p)
                break
    return (first, *(place_at(system, p, t, bent) for p in others))


def beside(system: System, here: Place, t: float) -> list[Place]:
    """Return configurations next to a place in seeded directions, with open loops."""
    rng = np.random.default_rng(17)
    steps = [
        rng.standard_normal(len(here.rows.T)) / system.characteristic.columns for _ in range(OTHER_PLACES)
    ]
    return [place_at(system, system.move(here.q, TRIAL_STEP * step), t, bent=False) for step in steps]


def place_at(system: System, q: Array, t: float, bent: bool) -> Place:
    """Return the `Place` of a closed configuration, with curvatures if ``bent``."""
    size, nh, data = system.characteristic, system.nh, data_of(system)
    rows = size.scaled_rows(finite_jacobian(system, q, t))
    largest = dense.largest(rows)
    kernel = ranked(rows[:nh], data.rank_cut(RANK_CUT) * largest).null
    k = kernel.shape[1] if bent else 0
    curvature = np.zeros((system.nc, k * (k + 1) // 2))
    if k:
        bending = second_derivatives(system, q, t, kernel / size.columns[:, None])
        curvature[:nh] = size.rows[:nh, None] * bending[:, *np.tril_indices(k)]
    flat = max(FLAT_CURVATURE, 10.0 * data.cut) * max(largest, float(np.abs(curvature).max(initial=0.0)))
    return Place(q, rows, kernel, curvature, data.rank_cut(RANK_CUT) * largest, flat)


def removable_rows(system: System, t: float, found: Sequence[Place], same_motion: bool) -> np.ndarray:
    """Return the mask (nc,) of rows that can be removed together, a maximal set.

    Rows of permanent constraints are removed because of other permanent rows only, rows of switched constraints because
    of all active ones; inactive rows stay. Preference: a whole constraint, the last first; rows whose closure becomes
    another kind; single rows, the last first. ``same_motion``: rank and row space decide, no finite step is needed.
    """
    switched = active(system)
    acting = np.ones(system.nc, dtype=bool)
    lasting = acting.copy()
    for name, rows in system.closure_rows.items():
        if name in switched:
            lasting[rows] = False
            acting[rows] = [
                any(np.any(place.rows[i]) for place in found) for i in range(rows.start, rows.stop)
            ]
    taken = _collect(system, found, lasting, lasting)
    taken |= _collect(system, found, acting & ~taken, ~lasting)
    return taken if same_motion or not taken.any() else _brought_back(system, t, found[0], taken)


def _collect(system: System, found: Sequence[Place], kept: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return which of the candidates can be removed if ``kept`` are the present rows."""
    taken = np.zeros(system.nc, dtype=bool)
    if not (kept & candidates).any():
        return taken
    left = [place.free(kept) for place in found]
    if any(free.shape[1] == 0 for free in left):
        return taken
    for groups, share in pairs(_groups(system), ROW_SHARES):
        for group in groups:
            rows = [i for i in group if not taken[i]]
            if (
                not rows
                or not (kept & candidates)[rows].all()
                or (share < LEAST_GROUP_SHARE and len(rows) > 1)
            ):
                continue
            trial = _without(left, rows, share)
            if trial is not None:
                left = trial
                taken[rows] = True
    return taken


def _without(left: Sequence[Array], rows: Sequence[int], share: float) -> list[Array] | None:
    """Return the vanishing combinations after removal of the rows; None if a combination becomes too small."""
    out = []
    for free in left:
        for i in rows:
            size = dense.norm(free[i])
            if size < share:
                return None
            along = free[i] / size
            free = free - np.multiply.outer(dense.product(free, along), along)
        out.append(free)
    return out


def _groups(system: System) -> list[list[Sequence[int]]]:
    """Return groups of rows in order of preference: whole constraints, rows whose closure becomes another kind, single
    rows.
    """
    blocks = [(name, range(rows.start, rows.stop)) for name, rows in system.closure_rows.items()][::-1]
    kinds: list[Sequence[int]] = []
    for name, block in blocks:
        closure = system.mechanism.closures.get(name) if system.mechanism else None
        if closure is not None:
            labels = CLOSURE_ROWS[closure.kind]
            together = _TOGETHER.get(closure.kind, ())
            kinds += [[block[labels.index(label)] for label in group] for group in together]
    return [[block for _, block in blocks], kinds, [[i] for _, block in blocks for i in reversed(block)]]


def _brought_back(system: System, t: float, here: Place, taken: np.ndarray) -> np.ndarray:
    """Return the removed rows without those whose absence lets a finite step leave the closed configurations."""
    taken = taken.copy()
    for _ in range(int(taken.sum())):
        kept = ~taken[: system.nh]
        rows = _kept_rows(system, t, kept)
        worst = np.where(kept, 0.0, opened(system, rows, t, here))
        if not worst.any():
            return taken
        taken[int(np.argmax(worst > VIOLATED_PART * worst.max()))] = False
    return taken


def _kept_rows(system: System, t: float, kept: np.ndarray) -> Rows:
    """Return φ with zeros for the rows that are removed."""
    return Rows(
        system,
        system.nh,
        lambda q: kept * system.constraint_residual(q, t),
        lambda q: kept[:, None] * system.constraint_jacobian(q, t=t)[: system.nh],
    )


def opened(system: System, rows: Rows | System, t: float, here: Place) -> Array:
    """Return by how much the rows of φ (nh,) open, in characteristic units, in finite steps that the other rows allow.

    Zero if no row opens more than at the start.
    """
    size, q, nh = system.characteristic, here.q, system.nh
    jacobian = rows.constraint_jacobian(q, t=t)[: rows.nh] / size.columns
    kernel = ranked(jacobian, here.cut).null
    rng = np.random.default_rng(13)
    worst = np.zeros(nh)
    for _ in range(ROW_TRIALS if kernel.shape[1] else 0):
        x = dense.product(kernel, rng.standard_normal(len(kernel.T)))
        p = system.move(q, TRIAL_STEP / 2 / dense.norm(x) * x / size.columns)
        p = levenberg_marquardt_close(rows, p, t, np.ones(system.nv))[0]
        left = np.abs(rows.constraint_residual(p, t)[: rows.nh]).max(initial=0.0)
        if left < data_of(system).accepted(ROWS_CLOSED) and not stays_closed(system, p, q, t):
            worst = np.maximum(worst, np.abs(size.rows[:nh] * system.constraint_residual(p, t)))
    return worst
