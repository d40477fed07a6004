"""Closures of other kinds that make a mechanism statically determinate and keep its motion.

Let O be all constraints except closure c, and N a basis of the velocities that O allows. Closure c must remove
r = rank A − rank O dimensions of the relative velocities J N of its two frames. A kind of closure with r rows that
removes these dimensions can replace c. Closure after closure, the numbers r add up to the rank of A. Directions of
lines, planes and axes follow from J N: the null vectors of the Gram matrices (3 × 3) of its translations and rotations
are directions without relative motion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sarrus.analysis.mobility.internal_motions import body_twists
from sarrus.analysis.mobility.relaxed_closures import Relaxation, relaxations
from sarrus.analysis.mobility.removable_rows import Place
from sarrus.analysis.mobility.tolerances import EXCHANGE_SHARES, IDLE_VELOCITY
from sarrus.base.arrays import Array
from sarrus.dynamics.system import System
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import Ranked, ranked
from sarrus.model.mechanism.elements import WORLD, Closure
from sarrus.model.mechanism.pose import clean
from sarrus.model.mechanism.tolerances import PARALLEL

# Nodes of the search at most.
_MOST = 400


@dataclass(frozen=True, eq=False)
class Moves:
    """Relative velocities of a closure's frames at a configuration: ``twist`` (6, nv), ω and v / κ in axes of body 1.

    ``turn`` (3, 3): orientation of body 2 in axes of body 1.
    """

    twist: Array
    turn: Array


@dataclass(eq=False)
class Search:
    """Configurations, the rows of every constraint there, and the relative velocities at the closures that may be
    exchanged.
    """

    system: System
    found: Sequence[Place]
    t: float
    ranks: tuple[int, ...] = ()
    closures: Sequence[Closure] = ()
    moves: Mapping[str, Sequence[Moves]] = field(default_factory=dict)
    nodes: int = 0

    def __post_init__(self) -> None:
        self.ranks = tuple(ranked(place.rows, place.cut).rank for place in self.found)
        lasting = [c for c in self.system.current_mechanism().closures.values() if c.active is None]
        self.closures = lasting
        each = [_moves(self.system, place.q, self.t, lasting) for place in self.found]
        self.moves = {c.name: [at[c.name] for at in each] for c in lasting}

    def rows(self, k: int, chosen: Mapping[str, Relaxation], without: str = "") -> Array:
        """Return the rows at configuration k, with the chosen closures in place of the ones with the same names."""
        out = []
        for name, block in self.system.closure_rows.items():
            if name in chosen:
                move = self.moves[name][k]
                out.append(dense.product(chosen[name].rows(move.turn), move.twist))
            elif name != without:
                out.append(self.found[k].rows[block])
        return np.vstack([np.zeros((0, self.system.nv)), *out])

    def candidates(self, closure: Closure, chosen: Mapping[str, Relaxation]) -> Iterator[Relaxation]:
        """Yield the replacements of a closure with the required number of rows, the most effective first."""
        name = closure.name
        others = [self.rows(k, chosen, name) for k in range(len(self.found))]
        left = [ranked(rows, place.cut) for rows, place in zip(others, self.found)]
        needed = max(rank - parts.rank for rank, parts in zip(self.ranks, left))
        if needed == self.system.closure_rows[name].stop - self.system.closure_rows[name].start:
            return
        # relative velocities that are to go: those of N beyond the motions
        images = [dense.product(move.twist, parts.null) for move, parts in zip(self.moves[name], left)]
        own = [self.found[k].rows[self.system.closure_rows[name]] for k in range(len(left))]
        wanted = [
            ranked(dense.product(rows, parts.null), place.cut)
            for rows, parts, place in zip(own, left, self.found)
        ]
        turns = [move.turn for move in self.moves[name]]
        first, second = directions(closure, images, turns)
        options = [r for r in relaxations(closure, first, second) if r.size == needed]
        for most, least in zip((np.inf, *EXCHANGE_SHARES), EXCHANGE_SHARES):
            for option in options:
                taken = min(
                    (
                        _share(dense.product(option.rows(turn), image), parts)
                        for image, turn, parts in zip(images, turns, wanted)
                        if parts.rank == needed
                    ),
                    default=1.0,
                )
                if least <= taken < most:
                    yield option

    def choices(self) -> Iterator[dict[str, Relaxation]]:
        """Yield exchanges that leave independent rows: of one closure first, then of several."""
        for closure in self.closures[::-1]:
            for option in self.candidates(closure, {}):
                if self._is_determinate({closure.name: option}):
                    yield {closure.name: option}
        for order in (self.closures[::-1], self.closures):
            self.nodes = 0
            if (chosen := self._completed(order, {})) is not None:
                yield chosen

    def _completed(
        self, order: Sequence[Closure], chosen: dict[str, Relaxation]
    ) -> dict[str, Relaxation] | None:
        """Return the choice completed by the remaining closures in this order; None if that is impossible."""
        self.nodes += 1
        if self._is_determinate(chosen):
            return chosen
        if not order or self.nodes > _MOST:
            return None
        whole = self._completed(order[1:], chosen) if not self._is_spare(order[0], chosen) else None
        if whole is not None:
            return whole
        for option in self.candidates(order[0], chosen):
            found = self._completed(order[1:], chosen | {order[0].name: option})
            if found is not None:
                return found
        return None

    def _is_spare(self, closure: Closure, chosen: Mapping[str, Relaxation]) -> bool:
        """Return whether some rows of a closure depend on rows of other constraints."""
        size = len(closure.row_names)
        return any(
            rank - ranked(self.rows(k, chosen, closure.name), place.cut).rank < size
            for k, (rank, place) in enumerate(zip(self.ranks, self.found))
        )

    def _is_determinate(self, chosen: Mapping[str, Relaxation]) -> bool:
        """Return whether the rows are independent wherever A has its largest rank, and have the rank of A
        everywhere.
        """
        for k, (rank, place) in enumerate(zip(self.ranks, self.found)):
            rows = self.rows(k, chosen)
            if len(rows) != max(self.ranks) or ranked(rows, place.cut).rank != rank:
                return False
        return True


def _share(rows: Array, wanted: Ranked) -> float:
    """Return how well rows (r, k) measure the velocities that the closure's own rows remove, relative to the latter."""
    if wanted.rank == 0:
        return 1.0
    return float(ranked(dense.product(rows, wanted.right)).values[wanted.rank - 1] / wanted.kept[-1])


def directions(
    closure: Closure, images: Sequence[Array], turns: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """Return unit directions fixed to body 1, and to body 2, for axes, lines and normals of replacements.

    First the directions of the frames, then those along which the relative velocities (6, k) at all configurations have
    no component, or their only component, for translations and for rotations.
    """
    found: tuple[list[Array], list[Array]] = ([], [])
    for own, out, frame in ((False, found[0], closure.pose1), (True, found[1], closure.pose2)):
        gram = np.zeros((2, 3, 3))
        for image, turn in zip(images, turns):
            for k, part in enumerate((image[3:], image[:3])):
                seen = dense.product(np.ascontiguousarray(turn.T), part) if own else part
                gram[k] += dense.product(seen, np.ascontiguousarray(seen.T))
        extra = []
        for one in gram:
            parts = ranked(one, relative=IDLE_VELOCITY**2)
            if parts.rank == 2:
                extra.append(parts.null[:, 0])
            elif parts.rank == 1:
                extra.append(parts.right[:, 0])
        across = list(frame.rotation.T)
        axis = closure.axis2 if own else closure.axis1
        out += [_snapped(d, [axis, *across]) for d in extra]
        out += [*across, *np.eye(3)]
    return found


def _snapped(direction: Array, known: Sequence[Array]) -> Array:
    """Return a known direction if it agrees to rounding; else the direction with its first large entry positive."""
    for d in known:
        if abs(float(d @ direction)) > 1.0 - PARALLEL:
            return d
    first = int(np.argmax(np.abs(direction) > 0.5))
    return clean(direction * np.sign(direction[first]) / dense.norm(direction))


def _moves(system: System, q: Array, t: float, closures: Sequence[Closure]) -> dict[str, Moves]:
    """Return the relative velocities of the frames of closures, at unit velocities in characteristic units."""
    size = system.characteristic
    twists = body_twists(system, q, np.diag(1.0 / size.columns), t)
    positions, rotations = system.body_placements(q, t)
    assert system.mechanism is not None
    at = {name: (positions[k], rotations[k]) for k, name in enumerate(system.mechanism.bodies)}
    at[WORLD] = (np.zeros(3), np.eye(3))
    twists[WORLD] = np.zeros((6, system.nv))
    out = {}
    for c in closures:
        (place1, turn1), (place2, turn2) = at[c.body1], at[c.body2]
        arm = dense.product(turn2, c.pose2.position)
        one, two = twists[c.body1], twists[c.body2]
        back = np.ascontiguousarray(turn1.T)
        spin = two[:3] - one[:3]
        rate = (
            two[3:]
            - np.cross(arm, two[:3], axis=0)
            - one[3:]
            + np.cross(place2 + arm - place1, one[:3], axis=0)
        )
        twist = np.vstack([dense.product(back, spin), dense.product(back, rate) / size.length])
        out[c.name] = Moves(twist, dense.product(back, turn2))
    return out
