"""A part of a drawing: a solid fixed to a body, or a rod between points of two bodies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sarrus.base.arrays import Array
from sarrus.pictures.scene import meshes
from sarrus.pictures.scene.meshes import Mesh

Rgb = tuple[int, int, int]


def rgb(text: str) -> Rgb:
    """Return red, green, blue (0 to 255) of a colour such as "#0072b2"."""
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


@dataclass(frozen=True, eq=False)
class Part:
    """A solid on a body: ``mesh`` in the body's axes, ``body`` an index in ``mechanism.bodies``, −1 the ground.

    ``role`` is body, joint, closure, symbol, contact or ground.
    """

    body: int
    mesh: Mesh
    colour: Rgb
    opacity: float
    role: str


@dataclass(frozen=True, eq=False)
class Rod:
    """A rod of changing length between two points, each in the axes of its body [m]."""

    bodies: tuple[int, int]
    points: tuple[Array, Array]
    radius: float
    colour: Rgb

    @property
    def opacity(self) -> float:
        """Its opacity."""
        return 1.0

    @cached_property
    def mesh(self) -> Mesh:
        """The rod at length one, along z."""
        return meshes.capsule(self.radius, 0.5)

    def ends(self, positions: Array, rotations: Array) -> tuple[Array, Array]:
        """Return its ends at positions (nb + 1, 3) and rotations (nb + 1, 3, 3) of the bodies and the ground."""
        start, end = (
            rotations[body] @ point + positions[body] for body, point in zip(self.bodies, self.points)
        )
        return start, end
