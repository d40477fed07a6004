"""Drawing of a mechanism: its parts, their poses at a configuration, and the extent of its motion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.manifold import close, holonomic_jacobian, rank_cut
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.model.mechanism.pose import quaternion_of_rotation
from sarrus.pictures.plots.skeleton import Skeleton, build_skeleton, drawn_mechanism, placements
from sarrus.pictures.scene.meshes import along, join
from sarrus.pictures.scene.part import Part, Rgb
from sarrus.pictures.scene.parts import Parts, parts_of
from sarrus.pictures.scene.style import SMALLEST_SCENE
from sarrus.pictures.scene.tolerances import TRIAL_MOTION
from sarrus.pictures.symbols.picture_plane import View, choose_view, view_from_above

# Frames of a motion that are looked at to find out how large it is.
_FRAMES = 200


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of all parts at one configuration.

    Attributes
    ----------
    positions, rotations : of the bodies and, last, the ground: (nb + 1, 3) [m], (nb + 1, 3, 3).
    rods : middle (3,), rotation (3, 3) and length [m] of each rod.
    """

    positions: Array
    rotations: Array
    rods: tuple[tuple[Array, Array, float], ...]

    def quaternion(self, body: int) -> Array:
        """Return the wxyz quaternion of a body."""
        return quaternion_of_rotation(self.rotations[body])

    def apply(self, body: int, points: Array) -> Array:
        """Return points (…, 3) of a body in world axes."""
        return points @ self.rotations[body].T + self.positions[body]


class Drawing:
    """A system with its parts, in proportion to the motion over configurations q (frames, nq).

    A system without mechanism is an `ArgumentError`. For a single configuration small motions around it are used.
    """

    def __init__(self, system: System, q: Array) -> None:
        self.system = system
        self.mechanism = drawn_mechanism(system)
        self.names = tuple(self.mechanism.bodies)
        self.skeleton: Skeleton = build_skeleton(self.mechanism)
        q = np.atleast_2d(q)
        frames = np.unique(np.linspace(0, len(q) - 1, _FRAMES).astype(int))
        self._frames = placements(system, q[frames] if len(q) > 1 else trial_motion(system, q[0]))
        self.motion = self._points(self.skeleton.bodies, self.skeleton.points)
        reach = np.ptp(self.motion[0], axis=0).max() if self.motion.size else 0.0
        self.size = max(float(reach), SMALLEST_SCENE)
        self.view: View = choose_view(self.motion, None, self.mechanism.gravity)
        if self.view.spatial:
            self.view = view_from_above(self.upwards, height=2.2)
        self.parts: Parts = parts_of(self.mechanism, self.skeleton, self.size)

    @property
    def upwards(self) -> Array:
        """Direction against gravity; z without gravity."""
        gravity = np.asarray(self.mechanism.gravity, dtype=float)
        size = float(np.linalg.norm(gravity))
        return -gravity / size if size > 0.0 else np.array([0.0, 0.0, 1.0])

    @cached_property
    def groups(self) -> tuple[Part, ...]:
        """Solids of one body that look alike as one part, which draws faster."""
        looks: dict[tuple, list[Part]] = {}
        for part in self.parts.solids:
            looks.setdefault((part.body, part.role, part.colour, part.opacity), []).append(part)
        return tuple(
            Part(body, join([part.mesh for part in alike]), colour, opacity, role)
            for (body, role, colour, opacity), alike in looks.items()
        )

    def dressed(self, tint: Rgb | None, opacity: float) -> list[Part]:
        """Return the groups in a tint, if given; overlaid drawings leave the ground out."""
        return [
            replace(
                part,
                colour=part.colour if part.body < 0 else tint or part.colour,
                opacity=part.opacity * opacity,
            )
            for part in self.groups
            if part.body >= 0 or opacity >= 1.0
        ]

    def poses(self, q: Array, t: float = 0.0) -> Poses:
        """Return the poses of all parts at q and, for driven bodies, at the time t [s]."""
        placed = placements(self.system, np.atleast_2d(q), np.array([t]))
        positions, rotations = (array[0] for array in placed)
        rods = []
        for rod in self.parts.rods:
            middle, half, rotation = along(*rod.ends(positions, rotations))
            rods.append((middle, rotation, 2.0 * half))
        return Poses(positions, rotations, tuple(rods))

    def bounds(self) -> tuple[Array, Array]:
        """Return the lowest and highest corner of the motion, solids and all but large ground included [m]."""
        points = [self.motion.reshape(-1, 3)]
        for part in self.groups:
            low, high = part.mesh.vertices.min(axis=0), part.mesh.vertices.max(axis=0)
            if part.body >= 0 or (high - low).max() < 3.0 * self.size:
                corners = np.array(list(product(*zip(low, high))))
                points.append(self._points(np.full(8, part.body), corners).reshape(-1, 3))
        every = np.concatenate(points)
        return every.min(axis=0), every.max(axis=0)

    def _points(self, bodies: Array, points: Array) -> Array:
        """Return points (n, 3) of bodies (n,) in world axes at the frames of the motion (frames, n, 3)."""
        positions, rotations = self._frames
        return positions[:, bodies] + np.einsum("fnij,nj->fni", rotations[:, bodies], points)


def trial_motion(system: System, q: Array) -> Array:
    """Return q and closed configurations to both sides of it, along each motion that the closures allow."""
    found = [q]
    try:
        kernel = ranked(holonomic_jacobian(system, q), rank_cut(system, q, least=LEAST_DIVISOR)).null
        steps = [side * TRIAL_MOTION * x for x in kernel.T for side in (-1.0, 1.0)]
        found += [close(system, system.move(q, step)) for step in steps]
    except SarrusError:  # then the configuration alone has to do
        pass
    return np.array(found)
