"""Drawings and arrows in viser's scene: one node per body, which is all that has to move."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.base.printable import printable
from sarrus.mechanism.pose import quaternion_of_rotation
from sarrus.viewer.drawing import Poses
from sarrus.viewer.force_arrows import Forces
from sarrus.viewer.layers import Layer
from sarrus.viewer.meshes import Mesh
from sarrus.viewer.parts import Rgb


class SceneNodes:
    """The nodes of one layer."""

    def __init__(self, scene: Any, root: str, layer: Layer) -> None:
        self.layer, drawing = layer, layer.drawing
        self.nodes = [
            scene.add_frame(f"{root}/{number}_{printable(name).replace('/', '_')}", show_axes=False)
            for number, name in enumerate(drawing.names)
        ]
        scene.add_frame(f"{root}/ground", show_axes=False)
        for number, part in enumerate(drawing.dressed(layer.tint, layer.opacity)):
            parent = f"{root}/ground" if part.body < 0 else self.nodes[part.body].name
            name = f"{parent}/{part.role}{number}"
            _add_mesh(scene, name, part.mesh, part.colour, part.opacity, side="double")
        self.rods = [
            _add_mesh(scene, f"{root}/rod{number}", rod.mesh, layer.tint or rod.colour, layer.opacity)
            for number, rod in enumerate(drawing.parts.rods)
        ]

    def move(self, poses: Poses) -> None:
        """Put everything where it is at a configuration."""
        for number, node in enumerate(self.nodes):
            node.position = poses.positions[number]
            node.wxyz = poses.quaternion(number)
        for node, (middle, rotation, length) in zip(self.rods, poses.rods):
            node.position, node.wxyz = middle, quaternion_of_rotation(rotation)
            node.scale = (1.0, 1.0, max(length, 1e-9))


def _add_mesh(scene: Any, name: str, mesh: Mesh, shade: Rgb, opacity: float, **options: Any) -> Any:
    return scene.add_mesh_simple(
        name,
        mesh.vertices.astype(np.float32),
        mesh.faces.astype(np.uint32),
        color=shade,
        opacity=opacity if opacity < 1.0 else None,
        cast_shadow=False,
        receive_shadow=False,
        **options,
    )


class ArrowNodes:
    """The arrows of forces: those that are determined in one colour, shares of redundant rows in grey."""

    def __init__(self, scene: Any, radius: float) -> None:
        self.scene, self.radius = scene, radius
        self.nodes: dict[str, Any] = {}

    def show(self, forces: Forces, scale: float) -> None:
        """Draw forces at ``scale`` metres per newton; zero hides them."""
        for name, shade, ends in forces.arrows(scale):
            node = self.nodes.get(name)
            if scale <= 0.0 or not len(ends):
                if node is not None:
                    node.visible = False
            elif node is None:
                self.nodes[name] = self.scene.add_arrows(
                    f"/forces/{name}",
                    ends.astype(np.float32),
                    shade,
                    shaft_radius=0.45 * self.radius,
                    head_radius=1.2 * self.radius,
                    head_length=3.0 * self.radius,
                )
            else:
                node.points, node.visible = ends.astype(np.float32), True
