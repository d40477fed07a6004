"""Directions in which contacts that rest begin to slide: all at once, those of the velocities that grow from them.

Velocities that begin at zero with constant forces are v = a t, so that friction −μ_k r_k d_k has d_k = a_k/‖a_k‖ for
the accelerations a_k that it leaves itself. With the other rows held, those of contacts are H z, H Hᵀ their W, where z
has as many entries as they have motions, fewer than directions where feet belong to one body. The unknown is z up to
its size: z ∥ z_a(d(z)) is well posed where the acceleration is next to nothing, too, as at the instant of sliding under
a force that grows; each set of contacts that move each other has a size of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT
from sarrus.motion.contacts.tolerances import (
    DIRECTION_AT_ROUNDING,
    DIRECTION_CONVERGED,
    DIRECTION_HALVINGS,
    DIRECTION_NEAR,
    DIRECTION_STEP,
    DIRECTION_STEPS,
    HELD_FAST,
)


@dataclass(frozen=True)
class Rubbing:
    """A contact that slides: where its rows are in W, its coefficient μ, its direction, and whether that is unknown."""

    rows: slice  # the normal one first
    friction: float
    direction: Array
    begins: bool

    @property
    def tails(self) -> slice:
        """Its tangential rows."""
        return slice(self.rows.start + 1, self.rows.stop)


@dataclass(frozen=True)
class Beginning:
    """How a contact begins to slide: its direction, its normal force, and how much it does.

    The latter is z_a · z over the accelerations by friction, one number for all that move each other: below zero they
    stick; nan where what is held keeps the contact from moving.
    """

    direction: Array
    push: float
    growth: float


def first_directions(
    delassus: Array, given: Array, begun: Array, sliding: Sequence[Rubbing], scales: Array
) -> list[Beginning] | None:
    """Return how each of those begins to slide whose direction is unknown; None where no directions are found.

    Parameters
    ----------
    operator, given : W (m, m) of all rows of what is closed, and their accelerations without forces (m,).
    begun : forces (m,); of redundant rows those next to them are taken.
    sliding : the contacts that slide; all other rows, and their normal ones, are held.
    scales : (m,) size of each row's response, one number for all rows of a contact.
    """
    problem = _Beginning(delassus, given, begun, sliding, scales)
    return problem.solved() if problem.islands else None


class _Beginning:
    """Accelerations of contacts that begin to slide, for given directions, in units in which responses are one."""

    def __init__(
        self, delassus: Array, given: Array, begun: Array, sliding: Sequence[Rubbing], scales: Array
    ) -> None:
        unit = 1.0 / np.sqrt(scales)
        self.unit = unit
        self.W, self.given = delassus * unit[:, None] * unit, given * unit
        self.sliding, self.first = sliding, [one for one in sliding if one.begins]
        tails = [j for one in sliding for j in range(one.tails.start, one.tails.stop)]
        self.held = np.array([j for j in range(len(given)) if j not in tails], dtype=int)
        self.places = {int(j): i for i, j in enumerate(self.held)}
        own = self.W[np.ix_(self.held, self.held)]
        known = ranked(own, relative=FINE_RANK_CUT)
        # Forces Z that do nothing stay what they were: Zᵀ r, r in units of force.
        self.null, self.keeps = known.null, known.null * unit[self.held, None] ** 2
        self.kept = dense.product(self.keeps.T, begun[self.held] / unit[self.held])
        rows = np.array([j for one in self.first for j in range(one.tails.start, one.tails.stop)])
        across = self.W[np.ix_(rows, self.held)]
        compliance_column = self.W[np.ix_(rows, rows)] - dense.product(
            across, known.solve(np.ascontiguousarray(across.T))
        )
        self.rows, self.at, start = rows, list[slice](), 0
        for one in self.first:
            self.at.append(slice(start, start := start + len(one.direction)))
        free = ranked(compliance_column, cut=HELD_FAST)
        self.H = free.left * np.sqrt(free.kept)
        self.inverse = np.ascontiguousarray((free.left / np.sqrt(free.kept)).T)
        moves = [bool((self.H[at] ** 2).sum() > HELD_FAST) for at in self.at]
        self.moving = [k for k, one in enumerate(moves) if one]
        self.islands = self._islands(compliance_column) if self.moving else []

    def _islands(self, compliance_column: Array) -> list[Array]:
        """Return orthonormal bases, in z, of the motions of each set of contacts that move each other."""
        left, found = list(self.moving), list[Array]()
        while left:
            members, more = [left.pop(0)], True
            while more:
                rows = [j for k in members for j in range(self.at[k].start, self.at[k].stop)]
                linked = [k for k in left if np.abs(compliance_column[rows, self.at[k]]).max() > HELD_FAST]
                members, left, more = [*members, *linked], [k for k in left if k not in linked], bool(linked)
            rows = [j for k in members for j in range(self.at[k].start, self.at[k].stop)]
            found.append(ranked(self.H[rows], relative=FINE_RANK_CUT).right)
        return found

    def accelerations(self, directions: Sequence[Array]) -> tuple[Array, Array, Array]:
        """Return z_a for directions of those that begin, its derivative by these, and the sizes of friction."""
        W, held = self.W, self.held
        A, E = W[np.ix_(held, held)], W[np.ix_(self.rows, held)]
        known = iter(directions)
        for one in self.sliding:
            d = next(known) if one.begins else one.direction
            normal = self.places[one.rows.start]
            A[:, normal] -= one.friction * (W[held, one.tails] * d).sum(axis=1)
            E[:, normal] -= one.friction * (W[self.rows, one.tails] * d).sum(axis=1)
        A += dense.product(self.null, self.keeps.T)
        right = np.column_stack(
            [dense.product(self.null, self.kept) - self.given[held], W[np.ix_(held, self.rows)]]
        )
        found = dense.solve(A, right)
        change = W[np.ix_(self.rows, self.rows)] - dense.product(E, np.ascontiguousarray(found[:, 1:]))
        u = self.given[self.rows] + dense.product(E, np.ascontiguousarray(found[:, 0]))
        sizes = np.zeros(len(self.rows))
        for one, at in zip(self.first, self.at):
            sizes[at] = one.friction * found[self.places[one.rows.start], 0]
        return dense.product(self.inverse, u), dense.product(self.inverse, change * -sizes), sizes

    def directions(self, z: Array) -> tuple[list[Array], Array]:
        """Return the directions of H z, and their derivatives by z."""
        p, found, change = dense.product(self.H, z), list[Array](), np.zeros_like(self.H)
        for k, (one, at) in enumerate(zip(self.first, self.at)):
            size = dense.norm(p[at])
            if k not in self.moving or size == 0.0:
                found.append(one.direction)
                continue
            d = p[at] / size
            found.append(d)
            change[at] = (self.H[at] - np.outer(d, dense.product(d, self.H[at]))) / size
        return found, change

    def solved(self) -> list[Beginning] | None:
        """Return the directions and how much each begins to slide, by Newton's method; None where it finds nothing."""
        z = self._start()
        state = self._left(z)
        for _ in range(DIRECTION_STEPS):
            size, left, matrix, *_ = state
            if size <= DIRECTION_CONVERGED:
                break
            step = dense.solve(matrix, left)
            if not np.isfinite(step).all():
                return None
            step *= min(1.0, DIRECTION_STEP / max(dense.norm(dense.product(B.T, step)) for B in self.islands))
            for _ in range(DIRECTION_HALVINGS):
                trial = self._normalized(z + step)
                new = self._left(trial)
                if new[0] < size:
                    break
                step *= 0.5
            else:
                break
            z, state = trial, new
        if state[0] > DIRECTION_AT_ROUNDING:
            return None
        pushes = [size * self.unit[one.rows.start] / one.friction for size, one in zip(state[5], self.first)]
        return [Beginning(*found) for found in zip(state[3], pushes, state[4].tolist())]

    def _start(self) -> Array:
        """Return z with nearly the directions of before: of accelerations with these, or the nearest motion."""
        before = [one.direction for one in self.first]
        a, z = self.accelerations(before)[0], np.zeros(self.H.shape[1])
        for B in self.islands:
            own = dense.product(B, dense.product(B.T, a))
            p, members = dense.product(self.H, own), [k for k in self.moving if self._moves(B, k)]
            if all(
                dense.dot(p[self.at[k]], before[k]) > DIRECTION_NEAR * dense.norm(p[self.at[k]])
                for k in members
            ):
                z += own
                continue
            across = [
                self.H[self.at[k]] - np.outer(before[k], dense.product(before[k], self.H[self.at[k]]))
                for k in members
            ]
            weakest = dense.product(B, dense.svd(dense.product(np.vstack(across), B)).right[-1])
            p = dense.product(self.H, weakest)
            z += weakest if sum(dense.dot(p[self.at[k]], before[k]) for k in members) > 0.0 else -weakest
        return self._normalized(z)

    def _moves(self, B: Array, k: int) -> bool:
        """Tell whether a contact belongs to the motions B."""
        return float((dense.product(self.H[self.at[k]], B) ** 2).sum()) > HELD_FAST

    def _normalized(self, z: Array) -> Array:
        """Return z of length one in each island."""
        out = np.zeros_like(z)
        for B in self.islands:
            own = dense.product(B.T, z)
            out += dense.product(B, own / (dense.norm(own) or 1.0))
        return out

    def _left(self, z: Array) -> tuple[float, Array, Array, list[Array], Array, Array]:
        """Return how much is left of z_a ∥ z, Newton's equations, the directions, z_a · z of each, and friction.

        The first and the last but one are parts of the accelerations by friction.
        """
        directions, turned = self.directions(z)
        a, change, sizes = self.accelerations(directions)
        matrix, left = -dense.product(change, turned), np.zeros_like(a)
        size, most, unit = 0.0, np.full(len(self.first), np.nan), float(np.abs(sizes).max()) or 1.0
        for B in self.islands:
            way, own = dense.product(B.T, z), dense.product(B.T, a)
            along = dense.dot(way, own)
            ahead = dense.product(B, way)
            across = own - along * way
            left += dense.product(B, across)
            matrix += max(along, 0.0) * dense.product(B, B.T) + unit * np.outer(ahead, ahead)
            size = max(size, float(np.abs(across).max()))
            most[[k for k in self.moving if self._moves(B, k)]] = along / unit
        return size / unit, left, matrix, directions, most, sizes[[at.start for at in self.at]]
