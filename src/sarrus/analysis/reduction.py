"""`Reduction`: a mechanism without redundant rows, by closures of other kinds, with the same motion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sarrus.analysis.exchanges import Search
from sarrus.analysis.relaxed_closures import Relaxation
from sarrus.analysis.removable_rows import Place, beside, opened, place_at
from sarrus.base.status import Answer, Status
from sarrus.dynamics.system import System
from sarrus.linalg.ranked import ranked
from sarrus.mechanism.elements import Closure
from sarrus.mechanism.mechanism import Mechanism

# Choices of kinds that are built and tried at most.
_TRIED = 3
_DIRECTED = {
    "revolute": "about", "prismatic": "along", "screw": "about", "cylindrical": "along", "universal": "about",
    "planar": "normal", "point_on_line": "along", "point_on_plane": "normal",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Exchange:
    """A closure of another kind in the place of one; ``after`` is None where it is left out.

    ``before`` and ``after`` are `sarrus.mechanism.elements.Closure`; bodies 1 and 2 may have changed their places.
    """

    before: Closure
    after: Closure | None

    @property
    def name(self) -> str:
        """Name of the closure."""
        return self.before.name

    @property
    def rows(self) -> int:
        """Number of rows that it takes away."""
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
    """What is redundant in a mechanism, and the same one without it; ``print`` shows it.

    Attributes
    ----------
    name : name of the system.
    removable : names of rows that can go, all at once; see `Mobility.removable`.
    exchanges : closures of other kinds, or none, in the place of some, which together leave independent rows only and
        the same motion. () where there is nothing to do, and where no kinds do it.
    mechanism : the mechanism with these exchanged, its coordinates the same; as it was where nothing is redundant,
        None where no kinds do it or the system has no mechanism.
    status : OK, or NOT_ACHIEVABLE where there is no mechanism.
    """

    name: str
    removable: tuple[str, ...]
    exchanges: tuple[Exchange, ...]
    mechanism: Mechanism | None
    status: Status

    @property
    def message(self) -> str:
        """What became of it, in words."""
        if not self.removable:
            return "no row can go, rank and motion need all of them"
        if self.exchanges:
            return "; ".join(map(str, self.exchanges))
        return (
            f"no closures of other kinds take away {len(self.removable)} row{'s' * (len(self.removable) != 1)} and "
            "leave the motion as it is"
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


def reduction(
    system: System, t: float, found: Sequence[Place], removable: np.ndarray, same_motion: bool
) -> Reduction:
    """Return closures of other kinds in place of those that are redundant; arguments as of `removable_rows`."""
    names = tuple(name for name, gone in zip(system.constraint_names, removable) if gone)
    if system.mechanism is None or not names:
        mechanism = None if system.mechanism is None else system.current_mechanism()
        status = Status.OK if not names else Status.NOT_ACHIEVABLE
        return Reduction(system.name, names, (), mechanism, status)
    current = system.current_mechanism()
    for chosen in islice(_choices(system, current, t, found, removable), _TRIED):
        mechanism = rebuilt(current, chosen)
        if _is_same(system, System(mechanism), t, found, same_motion):
            exchanges = tuple(
                Exchange(closure, chosen[name].closure)
                for name, closure in current.closures.items()
                if name in chosen
            )
            return Reduction(system.name, names, exchanges, mechanism, Status.OK)
    return Reduction(system.name, names, (), None, Status.NOT_ACHIEVABLE)


def _choices(
    system: System, mechanism: Mechanism, t: float, found: Sequence[Place], removable: np.ndarray
) -> Iterator[dict[str, Relaxation]]:
    """Yield closures in place of others: those without the removable rows, then what `Search` finds."""
    largest = max(ranked(place.rows, place.cut).rank for place in found)
    whole = {name for name in mechanism.closures if removable[system.closure_rows[name]].all()}
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
    """Return a copy of a mechanism with other closures of the same names, or without them."""
    copy = mechanism.snapshot()
    closures = {name: chosen[name].closure if name in chosen else c for name, c in mechanism.closures.items()}
    copy.closures = {name: closure for name, closure in closures.items() if closure is not None}
    return copy


def _is_same(system: System, other: System, t: float, found: Sequence[Place], same_motion: bool) -> bool:
    """Tell whether rows of another system of the same coordinates are independent and say the same."""
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
    return "(" + ", ".join(f"{x + 0.0:.4g}" for x in np.where(np.abs(direction) < 1e-9, 0.0, direction)) + ")"
