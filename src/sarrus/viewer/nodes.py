"""Drawings and arrows in viser's scene: one node per body, which is all that has to move."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.base.printable import printable
from sarrus.mechanism.pose import quaternion_of_rotation
from sarrus.plotting.style import FAINT, colour
from sarrus.viewer.drawing import Drawing, Poses
from sarrus.viewer.force_arrows import Forces, arrows
from sarrus.viewer.meshes import capsule
from sarrus.viewer.parts import Rgb, rgb

SURE, UNSURE = rgb(colour(2)), rgb(FAINT)


class BodyNodes:
    """The nodes of one drawing; ``tint`` and ``opacity`` take the place of the parts' own, for motions laid over."""

    def __init__(
        self, scene: Any, root: str, drawing: Drawing, tint: Rgb | None = None, opacity: float = 1.0
    ) -> None:
        self.drawing = drawing
        self.nodes = [
            scene.add_frame(f"{root}/{number}_{printable(name).replace('/', '_')}", show_axes=False)
            for number, name in enumerate(drawing.names)
        ]
        scene.add_frame(f"{root}/ground", show_axes=False)
        for number, part in enumerate(drawing.groups):
            if part.body < 0 and opacity < 1.0:
                continue  # the ground is there once
            parent = f"{root}/ground" if part.body < 0 else self.nodes[part.body].name
            strength = part.opacity * opacity
            scene.add_mesh_simple(
                f"{parent}/{part.role}{number}",
                part.mesh.vertices.astype(np.float32),
                part.mesh.faces.astype(np.uint32),
                color=part.colour if tint is None or part.body < 0 else tint,
                opacity=strength if strength < 1.0 else None,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )
        self.rods = []
        for number, rod in enumerate(drawing.parts.rods):
            mesh = capsule(rod.radius, 0.5)
            self.rods.append(
                scene.add_mesh_simple(
                    f"{root}/rod{number}",
                    mesh.vertices.astype(np.float32),
                    mesh.faces.astype(np.uint32),
                    color=tint or rod.colour,
                    opacity=opacity if opacity < 1.0 else None,
                    cast_shadow=False,
                    receive_shadow=False,
                )
            )

    def move(self, poses: Poses) -> None:
        """Put everything where it is at a configuration."""
        for number, node in enumerate(self.nodes):
            node.position = poses.positions[number]
            node.wxyz = poses.quaternion(number)
        for node, (middle, rotation, length) in zip(self.rods, poses.rods):
            node.position, node.wxyz = middle, quaternion_of_rotation(rotation)
            node.scale = (1.0, 1.0, max(length, 1e-9))


class Arrows:
    """The arrows of forces: those that are determined in one colour, shares of redundant rows in grey."""

    def __init__(self, scene: Any, radius: float) -> None:
        self.scene, self.radius = scene, radius
        self.nodes: dict[str, Any] = {}

    def show(self, forces: Forces, scale: float) -> None:
        """Draw forces at ``scale`` metres per newton; zero hides them."""
        for name, part, shade in (
            ("determined", forces.determined, SURE),
            ("undetermined", forces.undetermined, UNSURE),
        ):
            ends = arrows(forces.points, part, scale, forces.largest).astype(np.float32)
            node = self.nodes.get(name)
            if scale <= 0.0 or not len(ends):
                if node is not None:
                    node.visible = False
            elif node is None:
                self.nodes[name] = self.scene.add_arrows(
                    f"/forces/{name}",
                    ends,
                    shade,
                    shaft_radius=0.45 * self.radius,
                    head_radius=1.2 * self.radius,
                    head_length=3.0 * self.radius,
                )
            else:
                node.points, node.visible = ends, True
