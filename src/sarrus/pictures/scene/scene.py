"""The empty scene of a viser server: light, camera and grid, without any request to the network."""

from __future__ import annotations

from typing import Any

from sarrus.model.mechanism.pose import quaternion_of_rotation
from sarrus.pictures.scene.camera import Camera
from sarrus.pictures.scene.drawing import Drawing
from sarrus.pictures.scene.ground import LINE, STRONG, ground_of
from sarrus.pictures.scene.style import FIELD, NEAR_PLANE


def set_up_scene(server: Any, drawing: Drawing, camera: Camera) -> None:
    """Put light, camera and grid into a server's scene."""
    scene = server.scene
    scene.set_up_direction(tuple(camera.view.up))
    scene.world_axes.visible = False
    scene.configure_environment_map(None)
    scene.configure_default_lights(True, cast_shadow=False)
    scene.add_light_ambient("/lights/ambient", intensity=0.9)
    scene.add_light_directional(
        "/lights/key", intensity=1.3, position=camera.look_at + 10.0 * camera.distance * camera.light
    )
    first = server.initial_camera
    first.position, first.look_at, first.up = camera.position, camera.look_at, camera.view.up
    first.fov, first.near, first.far = FIELD, NEAR_PLANE * camera.distance, 100.0 * camera.distance
    ground = ground_of(drawing)
    scene.add_grid(
        "/grid",
        width=2.0 * ground.half,
        height=2.0 * ground.half,
        plane="xy",
        cell_size=ground.cell,
        section_size=5.0 * ground.cell,
        cell_color=LINE,
        section_color=STRONG,
        cell_thickness=0.8,
        section_thickness=1.2,
        shadow_opacity=0.0,
        fade_strength=0.0,
        wxyz=quaternion_of_rotation(ground.axes),
        position=ground.centre,
    )
