"""`Reduction`: a mechanism without redundant rows, by closures of other kinds, with the same motion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sarrus.analysis.mobility.exchanges import Search
from sarrus.analysis.mobility.joint_exchanges import JointExchange, exchanged_joints
from sarrus.analysis.mobility.relaxed_closures import Relaxation
from sarrus.analysis.mobility.removable_rows import Place, beside, opened, place_at
from sarrus.analysis.mobility.tolerances import NO_DIRECTION_ENTRY
from sarrus.base.arrays import Array, read_only
from sarrus.base.status import Answer, Status
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import Closure

# Choices of kinds that are built and tried at most.
_TRIED = 3
_DIRECTED = {
    "revolute": "about", "prismatic": "along", "screw": "about", "cylindrical": "along", "universal": "about",
    "planar": "normal", "point_on_line": "along", "point_on_plane": "normal",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Exchange:
    """A closure that is replaced by another kind, or removed (``after`` is None).

    ``before`` and ``after`` are `sarrus.model.mechanism.elements.Closure`; bodies 1 and 2 may be interchanged.
    """

    before: Closure
    after: Closure | None

    @property
    def name(self) -> str:
        """Name of the closure."""
        return self.before.name

    @property
    def rows(self) -> int:
        """Number of rows that the exchange removes."""
        return len(self.before.row_names) - (0 if self.after is None else len(self.after.row_names))

    def __str__(self) -> str:
        if self.after is None:
            text = f"without it, {self.rows} row{'s' * (self.rows != 1)} fewer"
            return f"closure {self.name!r}: {self.before.kind} → {text}"
        c = self.after
        way = ""
        if c.kind in _DIRECTED:
            axis = c.pose1.rotation.T @ c.axis1
            way = f" {_DIRECTED[c.kind]} {_vector(axis)} in frame 1 on {c.body1!r}"
            if c.kind == "universal":
                way += f" and {_vector(c.pose2.rotation.T @ c.axis2)} in frame 2 on {c.body2!r}"
        fewer = f"{self.rows} row{'s' * (self.rows != 1)} fewer"
        return f"closure {self.name!r}: {self.before.kind} → {c.kind}{way}, {fewer}"


@dataclass(frozen=True, eq=False)
class Reduction(Answer):
    """The redundancy of a mechanism, and the same mechanism without it; ``print`` shows both.

    Attributes
    ----------
    name : name of the system.
    removable : names of rows that can be removed together; see `Mobility.removable`.
    exchanges : closures replaced by other kinds or removed, which together leave independent rows and the same motion;
        if closures are not enough, joints of the tree with further freedoms, which the closures hold. () if there is no
        redundancy, and if neither is enough.
    mechanism : the mechanism with these exchanges; unchanged without redundancy; None if no kinds are suitable or the
        system has no mechanism. q : (nq,) the configuration in its coordinates, which are the original ones if only
        closures change; None without a mechanism.
    status : OK, or NOT_ACHIEVABLE if there is no mechanism.
    """

    name: str
    removable: tuple[str, ...]
    exchanges: tuple[Exchange | JointExchange, ...]
    mechanism: Mechanism | None
    q: Array | None
    status: Status

    @property
    def message(self) -> str:
        """The outcome as a sentence."""
        if not self.removable:
            return "no row can be removed: all are independent or needed for the motion"
        if self.exchanges:
            return "; ".join(map(str, self.exchanges))
        return (
            f"no closures and no joints of other kinds make the {len(self.removable)} redundant "
            f"row{'s' * (len(self.removable) != 1)} independent or unnecessary"
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


def reduction(
    system: System, t: float, found: Sequence[Place], removable: np.ndarray, same_motion: bool
) -> Reduction:
    """Return the `Reduction` with closures of other kinds in place of redundant ones; arguments as of
    `removable_rows`.
    """
    names = tuple(name for name, gone in zip(system.constraint_names, removable) if gone)
    if system.mechanism is None or not names:
        mechanism = None if system.mechanism is None else system.current_mechanism()
        status = Status.OK if not names else Status.NOT_ACHIEVABLE
        q = None if mechanism is None else read_only(found[0].q)
        return Reduction(system.name, names, (), mechanism, q, status)
    current = system.current_mechanism()
    for chosen in islice(_choices(system, current, t, found, removable), _TRIED):
        mechanism = rebuilt(current, chosen)
        if _is_same(system, System(mechanism), t, found, same_motion):
            exchanges = _exchanges(current, chosen)
            return Reduction(system.name, names, exchanges, mechanism, read_only(found[0].q), Status.OK)
    if same_motion:
        spare = {name: Relaxation(name, None) for name in _whole(system, current, removable)}
        other = System(rebuilt(current, spare)) if spare else system
        there = [place_at(other, place.q, t, bent=False) for place in found] if spare else found
        if (joints := exchanged_joints(other, t, there)) is not None:
            both: tuple[Exchange | JointExchange, ...] = (*_exchanges(current, spare), *joints[0])
            return Reduction(system.name, names, both, joints[1], read_only(joints[2]), Status.OK)
    return Reduction(system.name, names, (), None, None, Status.NOT_ACHIEVABLE)


def _exchanges(mechanism: Mechanism, chosen: Mapping[str, Relaxation]) -> tuple[Exchange, ...]:
    closures = mechanism.closures.items()
    return tuple(Exchange(closure, chosen[name].closure) for name, closure in closures if name in chosen)


def _whole(system: System, mechanism: Mechanism, removable: np.ndarray) -> list[str]:
    """Return the closures all of whose rows can be removed."""
    return [name for name in mechanism.closures if removable[system.closure_rows[name]].all()]


def _choices(
    system: System, mechanism: Mechanism, t: float, found: Sequence[Place], removable: np.ndarray
) -> Iterator[dict[str, Relaxation]]:
    """Yield replacements of closures: first without the removable rows, then the results of `Search`."""
    largest = max(ranked(place.rows, place.cut).rank for place in found)
    whole = _whole(system, mechanism, removable)
    rows = sum(len(mechanism.closures[name].row_names) for name in whole)
    if rows == removable.sum():
        yield {name: Relaxation(name, None) for name in whole}
    left = system.nc - int(removable.sum())
    if left != largest:
        # the rank is left nowhere on the motions: what rows have in common is seen beside them
        found = [place for place in beside(system, found[0], t) if ranked(place.rows, place.cut).rank == left]
    if found:
        yield from Search(system, found, t).choices()


def rebuilt(mechanism: Mechanism, chosen: Mapping[str, Relaxation]) -> Mechanism:
    """Return a copy of a mechanism with replaced closures of the same names, or without them."""
    copy = mechanism.snapshot()
    closures = {name: chosen[name].closure if name in chosen else c for name, c in mechanism.closures.items()}
    copy.closures = {name: closure for name, closure in closures.items() if closure is not None}
    return copy


def _is_same(system: System, other: System, t: float, found: Sequence[Place], same_motion: bool) -> bool:
    """Return whether the rows of another system in the same coordinates are independent and span the same row space."""
    for place in found:
        new = place_at(other, place.q, t, bent=not same_motion)
        both = np.vstack([place.rows, new.rows])
        ranks = {ranked(rows, place.cut).rank for rows in (place.rows, new.rows, both)}
        if len(ranks) != 1:
            return False
        determined = [
            len(one.rows) - one.free(np.ones(len(one.rows), dtype=bool)).shape[1] for one in (place, new)
        ]
        if determined[0] != determined[1]:
            return False
    return same_motion or not opened(system, other, t, found[0]).any()


def _vector(direction: np.ndarray) -> str:
    return (
        "("
        + ", ".join(
            f"{x + 0.0:.4g}" for x in np.where(np.abs(direction) < NO_DIRECTION_ENTRY, 0.0, direction)
        )
        + ")"
    )
