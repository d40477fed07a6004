"""Drawings and arrows in viser's scene: one node for each body, whose pose is the only thing that changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.printable import printable
from sarrus.model.mechanism.pose import quaternion_of_rotation
from sarrus.pictures.scene.drawing import Poses
from sarrus.pictures.scene.force_arrows import (
    OPEN,
    Scale,
    Turning,
    couple_arrows,
    dashes,
    force_arrows,
    label_places,
    turning_arrow,
)
from sarrus.pictures.scene.layers import Layer
from sarrus.pictures.scene.loads import Loads
from sarrus.pictures.scene.meshes import Mesh
from sarrus.pictures.scene.part import Rgb
from sarrus.pictures.scene.style import HEAD_LENGTH, HEAD_RADIUS, HIDDEN_SHAFT, SHAFT, THINNEST_ROD


class SceneNodes:
    """The nodes of one layer."""

    def __init__(self, scene: Any, root: str, layer: Layer) -> None:
        self.layer, drawing = layer, layer.drawing
        self.nodes = [
            scene.add_frame(f"{root}/{number}_{printable(name).replace('/', '_')}", show_axes=False)
            for number, name in enumerate(drawing.names)
        ]
        scene.add_frame(f"{root}/ground", show_axes=False)
        self.bodies: list[tuple[Any, float]] = []
        for number, part in enumerate(drawing.dressed(layer.tint, layer.opacity)):
            parent = f"{root}/ground" if part.body < 0 else self.nodes[part.body].name
            name = f"{parent}/{part.role}{number}"
            node = _add_mesh(scene, name, part.mesh, part.colour, part.opacity, side="double")
            if part.role == "body":
                self.bodies.append((node, part.opacity))
        self.rods = [
            _add_mesh(
                scene, f"{root}/rod{number}", rod.mesh, layer.tint or rod.colour, rod.opacity * layer.opacity
            )
            for number, rod in enumerate(drawing.parts.rods)
        ]

    def move(self, poses: Poses) -> None:
        """Set all nodes to their poses at a configuration."""
        for number, node in enumerate(self.nodes):
            node.position = poses.positions[number]
            node.wxyz = poses.quaternion(number)
        for node, (middle, rotation, length) in zip(self.rods, poses.rods):
            node.position, node.wxyz = middle, quaternion_of_rotation(rotation)
            node.scale = (1.0, 1.0, max(length, THINNEST_ROD))

    def see_through(self, share: float) -> None:
        """Draw the bodies with a fraction of their opacity."""
        for node, opacity in self.bodies:
            node.opacity = share * opacity if share * opacity < 1.0 else None


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
    """The arrows of loads: unique ones in colours, non-unique ones in grey; and their labels."""

    def __init__(self, scene: Any, radius: float) -> None:
        self.scene, self.radius = scene, radius
        self.straight: dict[str, Any] = {}
        self.turning: dict[str, list[Any]] = {}
        self.labels: list[Any] = []

    def show(self, loads: Loads | None, scale: Scale, *, numbers: bool = False) -> None:
        """Draw loads, with ``numbers`` beside them; None hides all."""
        if loads is None:
            for node in (*self.straight.values(), *chain(*self.turning.values()), *self.labels):
                node.visible = False
            return
        for name, shade, ends in force_arrows(loads, scale):
            self._show_straight(name, shade, ends)
        for name, shade, turning in couple_arrows(loads, scale, self.radius):
            self._show_turning(name, shade, turning)
        self._show_labels(label_places(loads, scale) if numbers else [])

    def _show_straight(self, name: str, shade: Rgb, ends: Array) -> None:
        shaft, head, length = (x * self.radius for x in (SHAFT, HEAD_RADIUS, HEAD_LENGTH))
        if name == OPEN:
            add = partial(self.scene.add_line_segments, colors=shade, thickness=2.0 * shaft)
            self._show_points("/forces/dashes", dashes(ends, self.radius), add)
            shaft = HIDDEN_SHAFT * self.radius
        sizes = {"shaft_radius": shaft, "head_radius": head, "head_length": length}
        self._show_points(f"/forces/{name}", ends, partial(self.scene.add_arrows, colors=shade, **sizes))

    def _show_points(self, name: str, ends: Array, add: Callable[..., Any]) -> None:
        """Show lines (n, 2, 3) by a node made by ``add``; it is hidden without lines."""
        node = self.straight.get(name)
        if not len(ends):
            if node is not None:
                node.visible = False
        elif node is None:
            self.straight[name] = add(name, ends.astype(np.float32))
        else:
            node.points, node.visible = ends.astype(np.float32), True

    def _show_turning(self, name: str, shade: Rgb, turning: list[Turning]) -> None:
        nodes = self.turning.setdefault(name, [])
        while len(nodes) < len(turning):
            place = f"/couples/{name}{len(nodes)}"
            nodes.append(_add_mesh(self.scene, place, turning_arrow(), shade, 1.0))
        for node, arrow in zip_longest(nodes, turning):
            node.visible = arrow is not None
            if arrow is not None:
                node.position, node.wxyz = arrow.point, quaternion_of_rotation(arrow.rotation)
                node.scale = (arrow.radius,) * 3

    def _show_labels(self, wanted: list[tuple[str, Any]]) -> None:
        while len(self.labels) < len(wanted):
            name = f"/loads/{len(self.labels)}"
            self.labels.append(self.scene.add_label(name, "", anchor="bottom-left", font_screen_scale=0.9))
        for label, here in zip_longest(self.labels, wanted):
            label.visible = here is not None
            if here is not None:
                label.text, label.position = printable(here[0]), here[1]
