"""Forces of closures and contacts as arrows: where they act, on the body that the closure pushes.

Only what the multipliers determine is drawn solid; shares of redundant rows, of which the sum alone is known, are kept
apart. Couples have no arrows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.linalg.ranked import at_rank, rank_of
from sarrus.mechanism.elements import Closure, Contact, Coupling
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.pose import perpendicular_to
from sarrus.mechanism.rolling import RollingRows
from sarrus.plotting.rolling_drawing import force_ways, places_of
from sarrus.plotting.style import FAINT, colour
from sarrus.simulation.held_constraints import as_in_run
from sarrus.simulation.trajectory import Trajectory
from sarrus.viewer.drawing import Drawing, Poses
from sarrus.viewer.parts import Rgb, rgb

LONGEST = 0.35  # arrow of a typical force, in sizes of the mechanism
_SAMPLES = 60  # of a run, in which the typical force is looked for
_NONE = 1e-12  # forces below this part of the largest one are none


@dataclass(frozen=True, eq=False)
class Forces:
    """Arrows (n, 3): the points where they act [m], and the determined and the undetermined part [N]."""

    names: tuple[str, ...]
    points: Array
    determined: Array
    undetermined: Array

    @property
    def largest(self) -> float:
        """Length of the longest arrow [N]."""
        every = np.concatenate([self.determined, self.undetermined])
        return float(np.linalg.norm(every, axis=1).max(initial=0.0))

    def arrows(self, scale: float) -> Iterator[tuple[str, Rgb, Array]]:
        """Yield what is determined and what is not: its name, its colour, and start and end (n, 2, 3) [m].

        Only of forces that are not zero; ``scale`` in metres per newton.
        """
        parts = ("determined", colour(2), self.determined), ("undetermined", FAINT, self.undetermined)
        for name, shade, forces in parts:
            alive = np.linalg.norm(forces, axis=1) > _NONE * max(self.largest, 1e-300)
            starts = self.points[alive]
            yield name, rgb(shade), np.stack([starts, starts + scale * forces[alive]], axis=1)


def forces_of(mechanism: Mechanism, poses: Poses, multipliers: Array, sure: np.ndarray) -> Forces:
    """Return the forces on body 2 of each closure, on the body of each contact, and of each row of what rolls.

    ``multipliers`` (nc,).
    """
    index = mechanism.body_numbers
    names, points, known, unknown = [], [], [], []
    row = 0
    for element in mechanism.constraints():
        count = len(element.row_names)
        values, certain = multipliers[row : row + count], sure[row : row + count]
        row += count
        if isinstance(element, Coupling):
            continue
        if isinstance(element, RollingRows):
            places = places_of(element.rolling, index, poses.positions, poses.rotations)
            every = force_ways(element.rolling, places)
            for name, x, yes in zip(element.rows, values, certain):
                names.append(f"{element.rolling.name}.{name}")
                points.append(every[name][0])
                known.append(x * every[name][1] * yes)
                unknown.append(x * every[name][1] * (not yes))
            continue
        if isinstance(element, Contact):
            point = poses.apply(index[element.body], element.point)
            ways: list[Array | None] = [*_of_contact(element, poses.rotations[index[element.ground]])]
        else:
            point = poses.apply(index[element.body2], element.pose2.position)
            start = poses.apply(index[element.body1], element.pose1.position)
            carrier = index[mechanism.carrier(element.body1, element.body2)]
            axes = poses.rotations[index[element.body1]], poses.rotations[carrier]
            ways = _of_closure(element, *axes, point - start)
        used = [(way, x, yes) for way, x, yes in zip(ways, values, certain) if way is not None]
        if used:
            names.append(element.name)
            points.append(point)
            known.append(sum((x * way for way, x, yes in used if yes), np.zeros(3)))
            unknown.append(sum((x * way for way, x, yes in used if not yes), np.zeros(3)))
    return Forces(
        tuple(names), *(np.array(part, dtype=float).reshape(-1, 3) for part in (points, known, unknown))
    )


def forces_of_run(drawing: Drawing, run: Trajectory, k: int, q: Array | None = None) -> Forces:
    """Return the forces at sample k of a run, drawn where its bodies are at q (default: at the sample)."""
    system = drawing.system
    sure = np.zeros(0, dtype=bool)
    if system.nc:
        own = as_in_run(system, run, k)
        jacobian = own.constraint_jacobian(run.q[k], run.v[k], float(run.t[k]))
        sure = at_rank(jacobian, min(int(run.rank[k]), rank_of(jacobian))).determined
    poses = drawing.poses(run.q[k] if q is None else q, float(run.t[k]))
    forces = forces_of(drawing.mechanism, poses, run.multipliers[k], sure)
    rows = dict(zip(run.contact_row_names, run.contact_forces[k]))
    return _with_geometries(run, k, _with_friction(drawing.mechanism, poses, rows, forces))


def _with_geometries(run: Trajectory, k: int, forces: Forces) -> Forces:
    """Return the forces with those between geometries, in the middle of the points where a pair touches."""
    meetings = run.meetings.at(range(len(run.t))[k])
    if not meetings:
        return forces
    total = run.meetings.forces(range(len(run.t))[k])
    of = {name: [meeting.point for meeting in meetings if meeting.contact == name] for name in total}
    points = [np.mean(found, axis=0) for found in of.values()]
    return Forces(
        (*forces.names, *total),
        np.concatenate([forces.points, points]),
        np.concatenate([forces.determined, list(total.values())]),
        np.concatenate([forces.undetermined, np.zeros((len(total), 3))]),
    )


def _with_friction(mechanism: Mechanism, poses: Poses, found: dict[str, float], forces: Forces) -> Forces:
    """Return the forces with those of contacts with Coulomb friction, by the names of their rows."""
    index, names, points, added = mechanism.body_numbers, [], [], []
    for contact in mechanism.contacts.values():
        if not (contact.slides and contact.row_names[0] in found):
            continue
        ways = _of_contact(contact, poses.rotations[index[contact.ground]])
        names.append(contact.name)
        points.append(poses.apply(index[contact.body], contact.point) - contact.radius * ways[0])
        added.append(sum((found[row] * way for row, way in zip(contact.row_names, ways)), np.zeros(3)))
    if not names:
        return forces
    return Forces(
        (*forces.names, *names),
        np.concatenate([forces.points, points]),
        np.concatenate([forces.determined, added]),
        np.concatenate([forces.undetermined, np.zeros((len(names), 3))]),
    )


def metres_per_newton(drawing: Drawing, run: Trajectory) -> float:
    """Return the scale at which four fifths of the forces of a run have arrows below 0.35 of the mechanism.

    The largest are much longer where the run meets singular configurations. Zero without force.
    """
    samples = np.unique(np.linspace(0, len(run.t) - 1, _SAMPLES).astype(int))
    typical = float(np.quantile([forces_of_run(drawing, run, int(k)).largest for k in samples], 0.8))
    return LONGEST * drawing.size / typical if typical > 0.0 else 0.0


def _of_contact(contact: Contact, rotation: Array) -> list[Array]:
    ways = (contact.normal, contact.tangent1, contact.tangent2)[: len(contact.row_names)]
    return [rotation @ way for way in ways]


def _of_closure(closure: Closure, rotation: Array, carrier: Array, gap: Array) -> list[Array | None]:
    """Return the world direction of the force of each row, by the axes of body 1 and the carrier; None for couples."""
    normal = perpendicular_to(closure.axis1)
    across = np.cross(closure.axis1, normal)
    length = float(np.linalg.norm(gap))
    directions: dict[str, Array] = {
        **dict(zip("xyz", carrier.T)),
        "p1": rotation @ normal,
        "p2": rotation @ across,
        "height": rotation @ closure.axis1,
        "lead": rotation @ closure.axis1,
        "length": gap / length if length > 0.0 else np.zeros(3),
    }
    return [directions.get(name.rpartition(".")[2]) for name in closure.row_names]
