"""Contacts in drawings: contact points, pieces of their planes, and outlines of the friction cones.

Rolling elements are drawn as contacts at their point of contact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from scipy.spatial import ConvexHull

from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import Contact, OnPlane, first_on_planes
from sarrus.model.mechanism.rolling import Rolling
from sarrus.pictures.plots.skeleton import Skeleton, build_skeleton, placements
from sarrus.pictures.plots.style import CONE_SLANT, NO_GAP, PLANE_BORDER, PLANE_MESH, SMALLEST_MECHANISM
from sarrus.pictures.plots.tolerances import EDGE_NORMAL
from sarrus.pictures.symbols.picture_plane import View
from sarrus.pictures.symbols.rolling_drawing import places_of
from sarrus.pictures.symbols.style import FAINT, INK, colour

if TYPE_CHECKING:
    from sarrus.dynamics.system import System

_RIM = np.linspace(0.0, 2 * np.pi, 32, endpoint=False)
_MOST_CELLS = 24
_CONE = colour(5)


@dataclass(frozen=True, eq=False)
class ContactMarks:
    """Marks of contacts on paper at every frame of a motion [m].

    Attributes
    ----------
    points : (frames, contacts and rolling elements, 2).
    lines : (frames, segments, 2, 2), the pieces of planes.
    cones : (frames, cones, 1 + rim, 2), apex and rim of the friction cones of the contacts with a coefficient.
    touching : (frames, cones) bool, whether the contact is closed and the cone is drawn.
    """

    points: Array
    lines: Array
    cones: Array
    touching: np.ndarray

    def with_planes(self, paper: Array) -> Array:
        """Return points on paper (frames, n, 2) together with those of the planes."""
        return np.concatenate([paper, self.lines.reshape(len(paper), -1, 2)], axis=1)

    def outlines(self, frame: int) -> list[Array]:
        """Return the outlines of the cones to be drawn at a frame."""
        drawn = self.cones[frame][self.touching[frame]]
        return [cone[ConvexHull(cone).vertices] for cone in drawn]


def contact_marks(
    mechanism: Mechanism, system: System, q: Array, view: View, t: Array | None = None
) -> ContactMarks:
    """Return the marks for configurations q (frames, nq) at times t, in proportion to the size of the mechanism."""
    return marks_at(mechanism, build_skeleton(mechanism), *placements(system, q, t), view)


def marks_at(
    mechanism: Mechanism, skeleton: Skeleton, positions: Array, rotations: Array, view: View
) -> ContactMarks:
    """Return the marks at poses of the bodies and the ground (frames, bodies + 1, 3), (…, 3, 3)."""
    size = max(
        float(np.ptp(skeleton.own(skeleton.at(positions[:1], rotations[:1]))[0], axis=0).max()),
        SMALLEST_MECHANISM,
    )
    count = len(positions)
    contacts: list[Contact | Rolling] = [*mechanism.contacts.values(), *mechanism.rollings.values()]
    index = mechanism.body_numbers
    points = np.empty((count, len(contacts), 3))
    seen = np.empty((count, len(contacts), 3))  # from the plane's origin, in axes of the ground
    for k, contact in enumerate(contacts):
        body, ground = index[contact.body], index[contact.ground]
        if isinstance(contact, Rolling):
            points[:, k] = places_of(contact, index, positions, rotations).low
        else:
            points[:, k] = positions[:, body] + rotations[:, body] @ contact.point
        seen[:, k] = (
            np.einsum("fji,fj->fi", rotations[:, ground], points[:, k] - positions[:, ground])
            - contact.origin
        )
    normals = np.array([contact.normal for contact in contacts]).reshape(-1, 3)
    gaps = np.einsum("fki,ki->fk", seen, normals)
    numbered = list(enumerate(mechanism.contacts.values()))
    coned = [(k, contact) for k, contact in numbered if contact.friction_coefficient]
    rough = [k for k, _ in coned]
    cones = np.empty((count, len(rough), 1 + len(_RIM), 3))
    for place, (k, contact) in enumerate(coned):
        turned = rotations[:, index[contact.ground]] @ _cone(contact, CONE_SLANT * size).T
        cones[:, place] = points[:, k, None] + turned.swapaxes(1, 2)
    lines = [np.empty((count, 0, 2, 3))]
    firsts = np.array(first_on_planes(contacts))
    for first in np.unique(firsts):
        if getattr(contacts[first], "surface", None) is not None:
            continue  # `sarrus.pictures.symbols.surface_drawing` draws it
        ground, group = index[contacts[first].ground], np.flatnonzero(firsts == first)
        edge = rotations[0, ground].T @ view.towards
        piece = _piece(contacts[first], seen[:, group], gaps[:, group], edge, size)
        lines.append(
            positions[:, ground, None, None] + np.einsum("fij,skj->fski", rotations[:, ground], piece)
        )
    project = view.project
    return ContactMarks(
        project(points),
        project(np.concatenate(lines, axis=1)),
        project(cones),
        gaps[:, rough] < NO_GAP * size,
    )


def draw_contacts(axes: Axes, marks: ContactMarks, frame: int) -> list[Artist]:
    """Draw the marks at a frame; return the artists for `move_contacts`."""
    planes = LineCollection([], colors=FAINT, linewidths=0.7, zorder=0.9)
    cones = PolyCollection([], facecolors=(_CONE + "30",), edgecolors=_CONE, linewidths=0.8, zorder=1.4)
    axes.add_collection(planes, autolim=False)
    axes.add_collection(cones, autolim=False)
    artists = [planes, cones, *axes.plot([], [], "o", markersize=4.0, color=INK, zorder=5)]
    move_contacts(artists, marks, frame)
    return artists


def move_contacts(artists: Sequence, marks: ContactMarks, frame: int) -> None:
    """Move the artists of `draw_contacts` to another frame."""
    planes, cones, points = artists
    planes.set_segments(marks.lines[frame])
    cones.set_verts(marks.outlines(frame))
    points.set_data(*marks.points[frame].T)


def _cone(contact: Contact, slant: float) -> Array:
    """Return apex and rim (1 + rim, 3) of the friction cone at the origin, in axes of the ground."""
    coefficient = contact.friction_coefficient or 0.0
    around = np.outer(np.cos(_RIM), contact.tangent1) + np.outer(np.sin(_RIM), contact.tangent2)
    rim = slant / np.hypot(1.0, coefficient) * (contact.normal + coefficient * around)
    return np.vstack([np.zeros(3), rim])


def _piece(contact: OnPlane, seen: Array, gaps: Array, edge: Array, size: float) -> Array:
    """Return the segments (n, 2, 3), in axes of the ground, that draw a plane where its contacts come near it.

    ``edge`` is the direction towards the reader: where it lies in the plane the segments are a line with hatching
    under it, elsewhere a mesh along the tangents.
    """
    hatched = abs(float(edge @ contact.normal)) < EDGE_NORMAL
    x = np.cross(contact.normal, edge) if hatched else contact.tangent1
    y = edge if hatched else contact.tangent2
    near = seen[gaps <= max(NO_GAP * size, float(gaps.min()))]
    low, high = (f(near @ np.stack([x, y], axis=1), axis=0) for f in (np.min, np.max))
    low, high = low - PLANE_BORDER * size, high + PLANE_BORDER * size
    cells = np.clip(np.ceil((high - low) / (PLANE_MESH * size)).astype(int), 1, _MOST_CELLS)
    along, across = (np.linspace(low[i], high[i], cells[i] + 1) for i in (0, 1))

    def at(a: float, b: float) -> Array:
        return contact.origin + a * x + b * y

    if not hatched:
        return np.array(
            [[at(a, across[0]), at(a, across[-1])] for a in along]
            + [[at(along[0], b), at(along[-1], b)] for b in across]
        )
    middle = 0.5 * float(low[1] + high[1])
    under = 0.6 * float(along[1] - along[0])
    strokes = [[at(a, middle), at(a - under, middle) - under * contact.normal] for a in along[1:]]
    return np.array([[at(along[0], middle), at(along[-1], middle)], *strokes])
