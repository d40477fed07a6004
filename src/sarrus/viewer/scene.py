"""The empty scene of a viser server: light, camera and grid; nothing in it asks for anything on the network."""

from __future__ import annotations

from typing import Any

from sarrus.mechanism.pose import quaternion_of_rotation
from sarrus.viewer.camera import Camera
from sarrus.viewer.drawing import Drawing
from sarrus.viewer.ground import LINE, STRONG, Ground, ground_of


def furnish(server: Any, drawing: Drawing, camera: Camera) -> None:
    """Put light, camera and grid into a server's scene."""
    scene = server.scene
    scene.set_up_direction(tuple(camera.up))
    scene.world_axes.visible = False
    scene.configure_environment_map(None)
    scene.configure_default_lights(True, cast_shadow=False)
    _add_lights(scene, camera)
    _set_camera(server.initial_camera, camera)
    _add_ground(scene, ground_of(drawing))


def _add_lights(scene: Any, camera: Camera) -> None:
    """Add light from the reader's side and from above."""
    right, up, towards = camera.axes
    key = 0.35 * right + 0.45 * up + towards
    scene.add_light_ambient("/lights/ambient", intensity=0.9)
    scene.add_light_directional(
        "/lights/key", intensity=1.3, position=camera.look_at + 10.0 * camera.distance * key
    )


def _set_camera(handle: Any, camera: Camera) -> None:
    """Set viser's camera for pages that open."""
    handle.position, handle.look_at, handle.up = camera.position, camera.look_at, camera.up
    handle.fov = camera.field
    handle.near, handle.far = 0.01 * camera.distance, 100.0 * camera.distance


def _add_ground(scene: Any, ground: Ground) -> None:
    """Add the grid to a scene."""
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
