"""Rows of a contact problem as a table of their nonzero entries: from rows, from rows with an inertia, or from W."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.dynamics.optimize.tolerances import SYMMETRIC_DELASSUS
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT
from sarrus.kernels.memory import contact_problem_layout as cp

# Rows of so many times more velocities than there are rows are solved by W.
SLENDER = 4
# Few rows with up to so many velocities are one component.
FEW_VELOCITIES = 24
# Largest range of numbers whose distinct ones are marked instead of sorted.
MOST_MARKS = 1_000_000


class ContactRows:
    """The rows G of contacts and the compliance K, or W = G K Gᵀ, in the order of components of velocities.

    Attributes
    ----------
    count : number of rows m.
    width : number of velocities k; 0 if W is given.
    whole : whether rows are solved by W.
    delassus : W (m, m), sparse where it is given so; None where many rows are solved by G and K.
    """

    def __init__(self, rows: Any, delassus: Any, sizes: np.ndarray) -> None:
        self.inertia: Any = None
        self.rows: Any = None
        self.delassus: Any = None
        if delassus is None:
            given, self.inertia = (rows[1], rows[0]) if isinstance(rows, tuple) else (rows, None)
            self.rows = _matrix(given, "rows", (int(sizes.sum()), None))
            self.count, self.width = self.rows.shape
            self.whole = self.inertia is None and SLENDER * self.count < self.width
            few = self.inertia is None and self.count <= cp.MANY
            self.delassus = _square(self.rows) if self.whole or few else None
            if self.inertia is not None:
                self.inertia = _matrix(self.inertia, "rows (M, H)", (self.width, self.width))
                _refuse_asymmetric(self.inertia, "M")
        else:
            self.delassus = _matrix(delassus, "delassus", (int(sizes.sum()), int(sizes.sum())))
            _refuse_asymmetric(self.delassus, "delassus")
            self.count, self.width, self.whole = self.delassus.shape[0], 0, True
        self.sizes = sizes
        self.order = np.arange(self.width)
        self.parts = self._by_delassus() if self.whole else self._by_rows()

    @property
    def dense(self) -> Array | None:
        """W (m, m) of up to `MANY` rows, None for more."""
        if self.delassus is None or self.count > cp.MANY:
            return None
        return np.ascontiguousarray(_full(self.delassus))

    def change(self, forces: Array, by_parts: Array) -> Array:
        """Return K Gᵀ r (k,): ``by_parts`` in the order of the rows, where rows are solved by parts."""
        if self.rows is None:
            return np.zeros(0)
        if self.whole:
            return _times(self.rows.T, forces)
        out = np.empty(self.width)
        out[self.order] = by_parts[: self.width]
        return out

    def normal_rows(self, normal: np.ndarray) -> Array:
        """Return the rows of normal forces, whose combinations that vanish change no velocity."""
        if self.rows is not None:
            return _full(self.rows[normal])
        return _full(self.delassus[normal][:, normal])

    def factored(self) -> Array:
        """Return rows H (m, k) with W = H Hᵀ, dense; without the part of a given W that is not positive."""
        if self.rows is None:
            return factor_of(_full(self.delassus))
        rows = _full(self.rows)
        if self.inertia is None:
            return rows
        lower = dense.cholesky(_full(self.inertia))
        return dense.solve(lower, np.ascontiguousarray(rows.T)).T

    # --- tables ------------------------------------------------------------------------------------------------

    def _by_delassus(self) -> cp.Parts:
        """Return the table of W: each block of rows is a component."""
        entries, columns, first = _table(self.delassus)
        owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        parts = cp.Parts.zeros()
        parts.whole = 1
        self._write(parts, entries, columns, first, owner, starts, owner)
        return parts

    def _by_rows(self) -> cp.Parts:
        """Return the table of G: components are coupled by the inertia, or columns that the same blocks depend on."""
        if self.inertia is None and self.delassus is not None and self.width <= FEW_VELOCITIES:
            return self._as_one_component()
        entries, columns, first = _table(self.rows)
        owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        block = owner[np.repeat(np.arange(self.count), np.diff(first))]
        component = self._components(block, columns)
        self.order = np.argsort(component, kind="stable")
        place = np.empty(self.width, dtype=np.int64)
        place[self.order] = np.arange(self.width)
        component = component[self.order]
        starts = np.searchsorted(component, np.arange(component.max(initial=-1) + 2))
        parts = cp.Parts.zeros()
        self._write(parts, entries, place[columns], first, component, starts, owner)
        if self.inertia is not None:
            widths = np.diff(starts)
            self._blocks = np.concatenate([[0], np.cumsum(widths * widths)]).astype(np.int64)
            self._compliance = np.zeros(self._blocks[-1])
            data, column, begin = _table(self.inertia)
            i, j = place[np.repeat(np.arange(self.width), np.diff(begin))], place[column]
            c = component[i]
            self._compliance[self._blocks[c] + (i - starts[c]) * widths[c] + j - starts[c]] = data
            parts.blocks, parts.compliance = self._blocks, self._compliance
        return parts

    def _as_one_component(self) -> cp.Parts:
        """Return the table of all entries of few rows with few velocities."""
        m, k, parts = self.count, self.width, cp.Parts.zeros()
        self._entries = np.ascontiguousarray(_full(self.rows))
        self._kept = [
            np.tile(np.arange(k), m),
            np.arange(0, m * k + 1, k) if k else np.zeros(m + 1, dtype=np.int64),
            np.zeros(k, dtype=np.int64),
            np.array([0, k]),
        ]
        parts.columns, parts.first, parts.component, parts.starts = self._kept
        parts.entries = self._entries
        self._make_room(parts, k, 1, len(self.sizes), m * k)
        return parts

    def _components(self, block: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the component of each velocity: coupled by the inertia, or joined by the same blocks of rows."""
        label = np.arange(self.width)
        if self.inertia is not None:
            from scipy.sparse.csgraph import connected_components

            label = connected_components(_sparse(self.inertia), directed=False)[1].astype(np.int64)
        pairs = _distinct(label[columns] * len(self.sizes) + block, self.width * len(self.sizes))
        marks = np.zeros(self.width, dtype=np.uint64)  # a number of the set of blocks
        numbers = (pairs % len(self.sizes) + 1).astype(np.uint64)
        np.add.at(
            marks, pairs // len(self.sizes), numbers * numbers * numbers * np.uint64(0x9E3779B97F4A7C15)
        )
        return np.asarray(np.unique(marks[label], return_inverse=True)[1])

    def _write(
        self,
        parts: cp.Parts,
        entries: Array,
        columns: np.ndarray,
        first: np.ndarray,
        component: np.ndarray,
        starts: np.ndarray,
        owner: np.ndarray,
    ) -> None:
        """Write the table and the room that it needs to ``parts``."""
        self._kept = [np.ascontiguousarray(a, dtype=np.int64) for a in (columns, first, component, starts)]
        self._entries = np.ascontiguousarray(entries, dtype=np.float64)
        parts.columns, parts.first, parts.component, parts.starts = self._kept
        parts.entries = self._entries
        widths, count = np.diff(starts), len(self.sizes)
        block = owner[np.repeat(np.arange(self.count), np.diff(first))]
        pairs = block * len(widths) + component[columns]
        if parts.whole:  # a block of rows is its own component, with or without entries of W
            pairs = np.append(pairs, np.arange(count) * (count + 1))
        pairs = _distinct(pairs, count * len(widths))
        entries_of_links = self.sizes[pairs // len(widths)] * widths[pairs % len(widths)]
        self._make_room(
            parts, int(widths.max(initial=1)), len(widths), len(pairs), int(entries_of_links.sum())
        )

    def _make_room(self, parts: cp.Parts, widest: int, components: int, links: int, entries: int) -> None:
        """Write the sizes of the table to ``parts``, with room for the solver."""
        parts.velocities = int(self._kept[-1][-1])
        parts.widest, parts.components, parts.room_components = max(1, widest), components, components
        parts.room, parts.room_links, parts.room_entries = self.count, links, entries
        self._work = np.zeros(sum(cp.parts_sizes(parts)))
        parts.work = self._work


def factor_of(delassus: Array) -> Array:
    """Return rows H (m, k) with W = H Hᵀ; without the part of W that is not positive."""
    parts = ranked(delassus, relative=FINE_RANK_CUT)
    return np.asarray(parts.left * np.sqrt(parts.kept))


def _distinct(numbers: np.ndarray, end: int) -> np.ndarray:
    """Return the distinct ones of numbers from 0 to ``end`` − 1, ascending."""
    if end > MOST_MARKS:
        return np.unique(numbers)
    marks = np.zeros(end, dtype=bool)
    marks[numbers] = True
    return np.flatnonzero(marks)


def _matrix(given: Any, name: str, shape: tuple[int, int | None]) -> Any:
    """Return a matrix, dense or in compressed rows, of this shape and of finite numbers."""
    sparse = hasattr(given, "tocsr")
    matrix: Any = given.tocsr() if sparse else real_array(given)
    if sparse and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    sized = len(matrix.shape) == 2 and all(want in (None, size) for want, size in zip(shape, matrix.shape))
    if not sized:
        wanted = ", ".join("k" if want is None else str(want) for want in shape)
        raise ArgumentError(f"{name} must have the shape ({wanted}), got {matrix.shape}", element="rows")
    if not np.isfinite(matrix.data if sparse else matrix).all():
        raise ArgumentError(f"{name} must be finite", element="rows")
    return matrix


def _refuse_asymmetric(matrix: Any, name: str) -> None:
    """Raise `ArgumentError` where a matrix is not symmetric."""
    largest, difference = abs(matrix).max() if matrix.shape[0] else 0.0, abs(matrix - matrix.T)
    if matrix.shape[0] and difference.max() > SYMMETRIC_DELASSUS * largest:
        raise ArgumentError(
            f"{name} must be symmetric, it differs from its transpose by {float(difference.max()):.2g}",
            element=name,
        )


def _square(rows: Any) -> Any:
    """Return W = H Hᵀ."""
    return (rows @ rows.T).tocsr() if hasattr(rows, "tocsr") else dense.product(rows, rows.T)


def _times(matrix: Any, vector: Array) -> Array:
    return np.asarray(matrix @ vector) if hasattr(matrix, "tocsr") else dense.product(matrix, vector)


def _full(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if hasattr(matrix, "tocsr") else matrix, dtype=np.float64)


def _sparse(matrix: Any) -> Any:
    from scipy.sparse import csr_array

    return matrix if hasattr(matrix, "tocsr") else csr_array(matrix)


def _table(matrix: Any) -> tuple[Array, np.ndarray, np.ndarray]:
    """Return the nonzero entries row by row, their columns, and the place of the first one of each row."""
    if hasattr(matrix, "tocsr"):
        return matrix.data, matrix.indices, matrix.indptr
    i, j = np.nonzero(matrix)
    first = np.searchsorted(i, np.arange(len(matrix) + 1))
    return matrix[i, j], j, first
