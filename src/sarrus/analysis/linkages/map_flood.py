"""`MapFlood`: configurations at the nodes of a grid of two coordinates, continued from node to node in whole fronts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.analysis.configurations.many_configurations import ManyConfigurations
from sarrus.analysis.configurations.search_limits import SearchLimits
from sarrus.analysis.linkages.map_plane import MapPlane
from sarrus.analysis.linkages.node_newton import NodeNewton, decomposed, direct_steps, parts_of, solved
from sarrus.analysis.linkages.tolerances import (
    BEYOND_FOLDS,
    FARTHEST,
    INSIDE_SHEET,
    SAME_NODE,
    STEP_OFF,
    STEP_OFF_REST,
)
from sarrus.base.arrays import Array
from sarrus.dynamics.closing.manifold import difference, turning

# What a node is.
REACHED, NOT_REACHED, BEYOND_LIMITS = 0, 1, 2
_WAYS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1)])


@dataclass(frozen=True, eq=False)
class Front:
    """Nodes (n, 2) with configurations (n, nq) and the singular value decompositions T = left diag(sizes)
    right there.
    """

    cells: np.ndarray
    q: Array
    left: Array
    sizes: Array
    right: Array

    def take(self, which: np.ndarray) -> Front:
        """Return the nodes selected by ``which``."""
        return Front(*(part[which] for part in vars(self).values()))

    @classmethod
    def joined(cls, parts: list[Front]) -> Front:
        """Return the nodes of several fronts, at least one."""
        return cls(*map(np.concatenate, zip(*(vars(part).values() for part in parts))))

    def __len__(self) -> int:
        return len(self.cells)


@dataclass(frozen=True, eq=False)
class Sheet:
    """One mode: q (n0, n1, nq), valid where ``status`` (n0, n1) is REACHED.

    ``least``, the smallest singular value of T, and ``slack``, the distance within limits [rad, κ], are also known at
    nodes beyond limits.
    """

    q: Array
    status: np.ndarray
    least: Array
    slack: Array

    @classmethod
    def empty(cls, shape: tuple[int, int], nq: int) -> Sheet:
        """Return a sheet without reached nodes."""
        unknown = np.full(shape, np.nan)
        status = np.full(shape, NOT_REACHED, dtype=np.int8)
        return cls(np.full((*shape, nq), np.nan), status, unknown, unknown.copy())

    def note(self, front: Front, slack: Array, what: int) -> None:
        """Write the nodes of a front with the status ``what``."""
        i, j = front.cells.T
        self.status[i, j], self.least[i, j], self.slack[i, j] = what, front.sizes[:, -1], slack
        if what == REACHED:
            self.q[i, j] = front.q


class MapFlood:
    """Fills sheets of configurations over a grid.

    T has the rows of the closures and of the two coordinates, in characteristic units, without the columns of locked
    velocities. Where T has full rank the two coordinates determine the configuration nearby. Sheets end in folds, where
    T loses rank.
    """

    def __init__(
        self,
        many: ManyConfigurations,
        plane: MapPlane,
        limits: SearchLimits,
        free: np.ndarray,
        start: Array,
    ) -> None:
        self.many, self.plane, self.limits = many, plane, limits
        self.newton = NodeNewton(many, plane, free, start, direct_steps)
        self.turns = turning(many.system)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of nodes along both coordinates."""
        return len(self.plane.nodes[0]), len(self.plane.nodes[1])

    def front(self, cells: np.ndarray, q: Array, matrices: Array) -> Front:
        """Return nodes with the decompositions of T."""
        return Front(cells, q, *decomposed(matrices))

    # --- from node to node -----------------------------------------------------------------------------

    def predicted(self, here: Front, goals: Array) -> Array:
        """Return the steps (n, k), in characteristic units, to goals to first order."""
        values, _ = self.plane.evaluate(here.q)
        missing = np.zeros((len(here), here.left.shape[1]))
        missing[:, -2:] = self.plane.factors * self.plane.short(goals - values)
        return solved((here.left, here.sizes, here.right), missing)

    def step(self, here: Front, cells: np.ndarray, goals: Array, steps: Array) -> tuple[Front, np.ndarray]:
        """Return the nodes at goals reached in one step, and their indices; folds are not crossed."""
        begin = self.newton.moved(here.q, steps)
        q, matrices, found = self.newton.solve(begin, goals)
        which = np.flatnonzero(found)
        at_once = (q[which] == begin[which]).all(axis=1)
        moved = self._chord(here.q[which], q[which])
        length = np.linalg.norm(steps[which], axis=1)
        off = np.linalg.norm(moved - steps[which], axis=1)
        turned = np.linalg.det(np.swapaxes(here.left[which], 1, 2) @ matrices[which])
        turned = turned * np.linalg.det(here.right[which])
        which = which[
            ((length < FARTHEST) | at_once) & (off <= STEP_OFF * length + STEP_OFF_REST) & (turned > 0.0)
        ]
        return self.front(cells[which], q[which], matrices[which]), which

    def _chord(self, start: Array, end: Array) -> Array:
        """Return the chords (n, k) in characteristic units."""
        system = self.many.system
        if system.nq == system.nv and not system.equations.quaternions:
            return np.asarray(((end - start) * self.newton.scale)[:, self.newton.free])
        chords = [self.newton.scale * difference(system, p, q) for p, q in zip(start, end)]
        return np.reshape(chords, (len(start), -1))[:, self.newton.free]

    def in_parts(self, here: Front, cells: np.ndarray) -> tuple[Front, np.ndarray]:
        """Return the nodes ``cells`` reached in short steps, each from one node, and their indices."""
        at, goals = np.arange(len(cells)), self.plane.goals(cells)
        start, _ = self.plane.evaluate(here.q)
        gap = self.plane.short(goals - start)
        parts = parts_of(float((self.plane.factors * self.plane.cell).max()))
        for part in range(1, parts + 1):
            middle = start + part / parts * gap
            here, going = self.step(here, cells[at], middle, self.predicted(here, middle))
            at, start, gap = at[going], start[going], gap[going]
        return here, at

    def begin(self, start: Array) -> Front | None:
        """Return the node next to a configuration, reached from it; None if no neighbouring node is reached."""
        values, _ = self.plane.evaluate(start[None])
        _, matrices = self.newton.rows(start[None], values)
        here = self.front(np.zeros((1, 2), dtype=int), start[None], matrices)
        around = [np.argsort(np.abs(gaps), kind="stable")[:3] for gaps in self.plane.gaps(start)]
        for i, j in sorted(np.ndindex(len(around[0]), len(around[1])), key=lambda x: (x[0] + x[1], x)):
            reached, which = self.in_parts(here, np.array([[around[0][i], around[1][j]]]))
            if len(which) and self.limits.contain(reached.q[0]):
                return reached
        return None

    # --- sheets ----------------------------------------------------------------------------------------

    def fill(self, seed: Front) -> tuple[Sheet, Front, Front]:
        """Return (the sheet through a node, nodes beside which it ends, nodes where it nearly folds inside)."""
        sheet = Sheet.empty(self.shape, seed.q.shape[1])
        sheet.note(seed, self.limits.slack(seed.q), REACHED)
        known, front = [seed], seed
        failed: list[tuple[Front, np.ndarray]] = []
        while len(front):
            front = self._wave(front, sheet, failed)
            if not len(front):
                front = self._once_more(failed, sheet, seed)
            if len(front):
                known.append(front)
        whole = Front.joined(known)
        beside, inside = self._neighbours(whole.cells)
        i, j = np.moveaxis(beside, 2, 0)
        ends = (inside & (sheet.status[i, j] != REACHED)).any(axis=1)
        low = whole.sizes[:, -1] < INSIDE_SHEET * np.median(whole.sizes[:, -1])
        return sheet, whole.take(np.flatnonzero(ends)), whole.take(np.flatnonzero(low & ~ends))

    def _neighbours(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the neighbours of nodes (n, 4, 2), and which of them are on the grid (n, 4)."""
        beside, shape = cells[:, None] + _WAYS, np.array(self.shape)
        inside = (self.plane.wraps | ((beside >= 0) & (beside < shape))).all(axis=2)
        return beside % shape, inside

    def _wave(self, front: Front, sheet: Sheet, failed: list[tuple[Front, np.ndarray]]) -> Front:
        """Return the new nodes reached in one step from a front.

        Nodes beyond limits are noted on the sheet, the origins of failed steps in ``failed``.
        """
        beside, inside = self._neighbours(front.cells)
        parents = np.repeat(np.arange(len(front)), 4)[inside.ravel()]
        cells = beside.reshape(-1, 2)[inside.ravel()]
        new = sheet.status[tuple(cells.T)] != REACHED
        here, cells = front.take(parents[new]), cells[new]
        if not len(cells):
            return here
        goals = self.plane.goals(cells)
        steps = self.predicted(here, goals)
        key = cells[:, 0] * self.shape[1] + cells[:, 1]
        order = np.lexsort((np.round(np.linalg.norm(steps, axis=1), 9), key))
        first = order[np.flatnonzero(np.diff(key[order], prepend=-1))]  # of each node the shortest step
        reached, which = self.step(here.take(first), cells[first], goals[first], steps[first])
        fails = np.ones(len(cells), dtype=bool)
        fails[first[which]] = False
        fails &= ~np.isin(key, key[first[which]])
        failed.append((here.take(np.flatnonzero(fails)), cells[fails]))
        return self._inside(reached, sheet)

    def _once_more(self, failed: list[tuple[Front, np.ndarray]], sheet: Sheet, nothing: Front) -> Front:
        """Return the nodes reached in short steps where one step has failed, each once."""
        here = Front.joined([front for front, _ in failed]) if failed else nothing.take(np.arange(0))
        cells = np.concatenate([cells for _, cells in failed]) if failed else here.cells
        failed.clear()
        left = np.flatnonzero(sheet.status[tuple(cells.T)] == NOT_REACHED)
        if not len(left):
            return nothing.take(np.arange(0))
        reached, _ = self.in_parts(here.take(left), cells[left])
        key = reached.cells[:, 0] * self.shape[1] + reached.cells[:, 1]
        _, first = np.unique(key, return_index=True)
        return self._inside(reached.take(first), sheet)

    def _inside(self, reached: Front, sheet: Sheet) -> Front:
        """Return the nodes within the limits; these and the other nodes are written to the sheet."""
        slack = self.limits.slack(reached.q)
        good = self.limits.contain_each(reached.q)
        for which, what in ((~good, BEYOND_LIMITS), (good, REACHED)):
            sheet.note(reached.take(np.flatnonzero(which)), slack[which], what)
        return reached.take(np.flatnonzero(good))

    def across(self, border: Front, ways: Sequence[float] = BEYOND_FOLDS) -> list[Front]:
        """Return nodes of other sheets, found across folds from nodes of one sheet, the most distant first.

        The search goes along the motion that the two coordinates do not determine at the fold.
        """
        found = []
        for s in (sign * way for way in ways for sign in (1.0, -1.0)):
            if not len(border):
                break
            goals = self.plane.goals(border.cells)
            q, matrices, good = self.newton.solve(self.newton.moved(border.q, s * border.right[:, -1]), goals)
            turned = np.linalg.det(np.swapaxes(border.left, 1, 2) @ matrices) * np.linalg.det(border.right)
            good &= turned < 0.0
            good[good] = self.limits.contain_each(q[good])
            found.append(self.front(border.cells[good], q[good], matrices[good]))
            border = border.take(np.flatnonzero(~good))
        if not found:
            return []
        nodes = Front.joined(found)
        share = np.round(
            nodes.sizes[:, -1] / nodes.sizes[:, 0], 9
        )  # mirror images are alike but for rounding
        order = np.lexsort((nodes.cells[:, 1], nodes.cells[:, 0], -share))
        return [nodes.take(order[[k]]) for k in range(len(order))]

    def has(self, sheet: Sheet, cell: tuple[int, int], q: Array, within: float = SAME_NODE) -> bool:
        """Return whether a sheet has this configuration at a node, modulo full turns."""
        if sheet.status[cell] != REACHED:
            return False
        gap = difference(self.many.system, sheet.q[cell], q, self.turns)
        return bool(np.linalg.norm(self.newton.scale * gap) < within)
