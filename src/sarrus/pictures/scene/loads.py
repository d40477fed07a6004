"""Loads in the viewer: forces and couples of joints, closures and contacts, at rest or along a run.

Unique loads and loads that are not unique, because the mechanism is overconstrained, are kept apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sarrus.analysis.loads.reaction_maxima import ReactionPeak
from sarrus.analysis.loads.reaction_table import OPEN, floors
from sarrus.analysis.loads.reactions import Reactions, reactions
from sarrus.analysis.loads.reactions_along import PARTS, ReactionsAlong, RunReactions
from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError, SolveError, check_known
from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.plots.skeleton import placements
from sarrus.pictures.scene.drawing import Drawing, Poses
from sarrus.pictures.scene.style import TYPICAL_SHARE
from sarrus.pictures.scene.units import KILO, MEGA
from sarrus.symbolic.multibody.connections import Connection, connections

CLOSURES, ALL = "closures and contacts", "all"
SIDES = ("child, body 2", "parent, body 1")
HELD, LET_GO = "held by its actuators", "released from rest"
_SAMPLES = 60  # of a run, in which the typical load is looked for
_KEPT = 256  # samples whose reactions are kept
_TREE = ("joint", "fixed", "driven")


@dataclass(frozen=True, eq=False)
class Loads:
    """Forces and couples (n, 3) in world axes, split into unique and non-unique parts, with their points of application
    [m].

    ``on`` are the bodies on which they act. ``determined`` and ``undetermined`` are the parts of the forces [N],
    ``couples`` and ``undetermined_couples`` those of the couples about the points [N m]; ``length`` [m] converts a
    couple to a comparable force.
    """

    names: tuple[str, ...]
    on: tuple[str, ...]
    points: Array
    determined: Array
    undetermined: Array
    couples: Array
    undetermined_couples: Array
    length: float = 1.0

    @cached_property
    def forces(self) -> Array:
        """The total forces (n, 3) [N]; one possible value if they are not unique."""
        return self.determined + self.undetermined

    @cached_property
    def whole_couples(self) -> Array:
        """The total couples (n, 3) [N m]; one possible value if they are not unique."""
        return self.couples + self.undetermined_couples

    @cached_property
    def largest(self) -> tuple[float, float]:
        """The largest force [N] and couple [N m], of the parts that have arrows."""
        pairs = (self.determined, self.undetermined), (self.couples, self.undetermined_couples)
        force, couple = (np.linalg.norm(np.concatenate(pair), axis=1).max(initial=0.0) for pair in pairs)
        return float(force), float(couple)

    @cached_property
    def nothing(self) -> tuple[float, float]:
        """Rounding of a force [N] and of a couple [N m], below which they are zero."""
        least = floors(self.forces, self.whole_couples, self.length)
        return float(least[0]), float(least[3])

    def described(self) -> list[tuple[str, str, str]]:
        """Return for each load its name, and its force and couple in words; "~" marks a value that is not unique."""
        lines = []
        parts = (self.forces, self.undetermined, self.whole_couples, self.undetermined_couples)
        least = self.nothing
        for k, name in enumerate(self.names):
            force, open_force, couple, open_couple = (float(np.linalg.norm(part[k])) for part in parts)
            one = _number(force, open_force, least[0], "N")
            two = _number(couple, open_couple, least[1], "N m")
            lines.append((name, one, two))
        return lines


def _number(size: float, share: float, least: float, unit: str) -> str:
    if size <= least:
        return f"0 {unit}"
    power, prefix = next(((p, x) for p, x in ((MEGA, "M"), (KILO, "k")) if size >= 10.0 * p), (1.0, ""))
    return f"{OPEN if share > least else ''}{size / power:.4g} {prefix}{unit}"


def choices(system: System) -> tuple[Connection, ...]:
    """Return the connections that can be shown: joints except free ones, fixed and driven bodies, closures, contacts,
    rolling.
    """
    assert system.mechanism is not None
    return tuple(one for one in connections(system.mechanism) if one.kind != "free")


def chosen(system: System, wanted: bool | str | Iterable[str]) -> frozenset[str]:
    """Return the selected names: True for closures, contacts and rolling elements, "all", or names.

    An unknown name is an `ArgumentError`.
    """
    every = choices(system)
    if wanted is False:
        return frozenset()
    if wanted is True or wanted == CLOSURES:
        return frozenset(one.label for one in every if one.what not in _TREE) | set(system.contact_geometries)
    if wanted == ALL:
        return frozenset(one.label for one in every) | set(system.contact_geometries)
    names = [wanted] if isinstance(wanted, str) else [str(name) for name in wanted]
    known = (*(one.label for one in every), *system.contact_geometries)
    for name in names:
        check_known("joint", name, known, f"{system.name}: forces", element="forces")
    return frozenset(names)


def loads_of(
    found: Reactions | ReactionsAlong,
    sample: int | None = None,
    *,
    names: Collection[str] | None = None,
    part: str = "full",
    side: str = SIDES[0],
) -> Loads:
    """Return the loads of reactions in own axes, along a run those of one of its samples.

    ``names`` selects connections, by default all except free joints; ``part`` is "full", "bearing" or "drive", ``side``
    the body on which they act. Samples at impacts have no loads.
    """
    check_known("part", part, PARTS, element="part")
    at: Any = slice(None) if sample is None else sample
    force, couple = found.force[at], found.couple[at]
    bearing_force, bearing_couple = found.bearing_force[at], found.bearing_couple[at]
    if part == "bearing":
        force, couple = bearing_force, bearing_couple
    elif part == "drive":
        force, couple = force - bearing_force, couple - bearing_couple
    connections = found.connections
    axes, points, sure = found.axes[at], found.points[at], found.determined[at]
    keep = np.array(
        [
            k
            for k, one in enumerate(connections)
            if one.kind != "free" and (names is None or one.label in names) and np.isfinite(force[k]).all()
        ],
        dtype=int,
    )
    sign = 1.0 if side == SIDES[0] else -1.0

    def world(vectors: Array, known: np.ndarray) -> Array:
        return sign * np.einsum("nji,nj->ni", axes[keep], vectors[keep] * known[keep])

    return Loads(
        names=tuple(connections[k].label for k in keep),
        on=tuple(connections[k].body if sign > 0.0 else connections[k].on for k in keep),
        points=points[keep],
        determined=world(force, sure[:, :3]),
        undetermined=world(force, ~sure[:, :3]),
        couples=world(couple, sure[:, 3:]),
        undetermined_couples=world(couple, ~sure[:, 3:]),
        length=found.length,
    )


@dataclass(frozen=True, eq=False)
class RestLoads:
    """Reactions at rest: ``how`` the mechanism rests, the status, and a note if it does not rest as requested."""

    found: Reactions
    how: str
    note: str = ""


def at_rest(system: System, q: Array, t: float = 0.0, *, held: bool = True) -> RestLoads:
    """Return the reactions at rest at q: held by the actuators if they can, else released.

    Redundant, inconsistent and singular configurations as in `sarrus.reactions`; a `SarrusError` gives the reason if
    there is no answer. Contacts between geometries without closed form are left out.
    """
    contacts = not system.contact_geometries
    rest, u, note = np.zeros(system.nv), None, ""
    if held and system.nu:
        try:
            needed = system.inverse_dynamics(q, rest, rest, t=t, contacts=contacts, throw=False)
        except SarrusError as error:
            note = str(error)
        else:
            if needed.status is Status.OK:
                u = needed.u
            else:
                note = f"the actuators cannot hold it here: {needed.status}"
    found = reactions(system, q, rest, u, t, frame="joint", contacts=contacts, throw=False)
    if found.rank < 0 or not np.isfinite(found.force).all():
        raise SolveError(f"{system.name}: no reactions here: {found.status}, {found.message}", result=found)
    return RestLoads(found, LET_GO if u is None else HELD, note)


class RunLoads:
    """Reactions along a run, computed for the samples that are shown.

    Forces between geometries without closed form act in the middle of the contact points of a pair. In runs with such
    forces the loads of joints of the tree are left out, because reactions do not include these forces.
    """

    def __init__(self, drawing: Drawing, run: Trajectory) -> None:
        self.drawing, self.run = drawing, run
        self.meets = bool(drawing.system.contact_geometries) and len(run.contact_log.table) > 0
        self._reactions = RunReactions(run, drawing.system, frame="joint")
        self._found: dict[int, ReactionsAlong] = {}

    @property
    def known(self) -> frozenset[str]:
        """Names of joints, closures and contacts whose loads the run has, free joints too."""
        every = self._reactions.connections
        return frozenset(one.label for one in every if not (self.meets and one.what in _TREE))

    @property
    def length(self) -> float:
        """The length κ [m] that converts a couple to a comparable force."""
        return self.reactions(0).length

    def reactions(self, k: int) -> ReactionsAlong:
        """Return the reactions at a sample, along own axes."""
        k = range(len(self.run.t))[k]
        if k not in self._found:
            if len(self._found) >= _KEPT:
                self._found.clear()
            self._found[k] = self._reactions.at([k])
        return self._found[k]

    def maxima(self, part: str = "full") -> tuple[ReactionPeak, ...]:
        """Return the largest load of each connection along the whole run, with its time; see
        `ReactionsAlong.maxima`.
        """
        every = self._reactions.at(np.arange(len(self.run.t)))
        return tuple(peak for peak in every.maxima(part) if peak.name in self.known and peak.kind != "free")

    def at(
        self,
        k: int,
        q: Array | None = None,
        *,
        names: Collection[str] | None = None,
        part: str = "full",
        side: str = SIDES[0],
    ) -> Loads:
        """Return the loads at sample k, drawn with the bodies at q (default: at the sample)."""
        found = self.reactions(k)
        wanted = self.known if names is None else self.known & set(names)
        loads = loads_of(found, 0, names=wanted, part=part, side=side)
        if q is not None and len(loads.names):
            time, index = float(self.run.t[k]), self.drawing.mechanism.body_numbers
            of = {one.label: index[one.body] for one in found.connections}
            system = self.drawing.system
            both = placements(system, np.stack([self.run.q[k], q]), np.full(2, time))
            there, here = (Poses(*pose, ()) for pose in zip(*both))
            points = []
            for name, point in zip(loads.names, loads.points):
                body = of[name]
                points.append(here.apply(body, (point - there.positions[body]) @ there.rotations[body]))
            loads = replace(loads, points=np.array(points))
        return self._with_geometries(range(len(self.run.t))[k], loads, names, side)

    def _with_geometries(self, k: int, loads: Loads, names: Collection[str] | None, side: str) -> Loads:
        """Return the loads with the forces between geometries, on the second one of each pair, or on the first."""
        total = self.run.contact_log.forces(k)
        total = {name: force for name, force in total.items() if names is None or name in names}
        if not total:
            return loads
        pairs = self.drawing.mechanism.geometry_contacts
        sign = 1.0 if side == SIDES[0] else -1.0
        points: dict[str, list[Array]] = {name: [] for name in total}
        for meeting in self.run.contact_log.at(k):
            if meeting.contact in total:
                points[meeting.contact].append(meeting.point)
        ends = [pairs[name].geom2 if sign > 0.0 else pairs[name].geom1 for name in total]
        none = np.zeros((len(total), 3))
        return Loads(
            (*loads.names, *total),
            (*loads.on, *(self.drawing.mechanism.geoms[end].body for end in ends)),
            np.concatenate([loads.points, [np.mean(found, axis=0) for found in points.values()]]),
            np.concatenate([loads.determined, [sign * force for force in total.values()]]),
            np.concatenate([loads.undetermined, none]),
            np.concatenate([loads.couples, none]),
            np.concatenate([loads.undetermined_couples, none]),
            loads.length,
        )

    def typical(self, **options: Any) -> tuple[float, float]:
        """Return the force [N] and the couple [N m] that four fifths of the run's samples do not exceed.

        The largest loads are much larger in runs through singular configurations. ``options`` are those of ``at``.
        """
        samples = np.unique(np.linspace(0, len(self.run.t) - 1, _SAMPLES).astype(int))
        largest = np.array([self.at(int(k), **options).largest for k in samples])
        force, couple = np.quantile(largest, TYPICAL_SHARE, axis=0)
        return float(force), float(couple)
