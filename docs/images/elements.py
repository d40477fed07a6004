"""Draw the symbols of elements on one sheet: python docs/images/elements.py."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from make import save
from PIL import Image

import sarrus as sr
from sarrus.model.mechanism.tendons import Pulley, Wrap
from sarrus.pictures.symbols.style import INK, new_figure

Add = Callable[[sr.Mechanism], object]
HINGE = {"axis": (0, -1, 0)}
WRAP = sr.Pose.of((0.4, 0.0, 0.3), rpy=(np.pi / 2, 0.0, 0.0))


def two(
    name: str, add: Add, kind: str = "revolute", place: tuple = (0.8, 0, 0), **more: object
) -> sr.Mechanism:
    """Return two bodies on the ground, with an element."""
    m = sr.Mechanism(name)
    for body, joint, at, given in (("a", "revolute", (0, 0, 0), HINGE), ("b", kind, place, HINGE | more)):
        m.add_body(body, 1.0, (0.3, 0, 0), (0.1, 0.1, 0.1))
        m.add_joint(body, joint, "world", body, parent_pose=at, **given)
    add(m)
    return m


def one(kind: str) -> sr.Mechanism:
    """Return a body on a joint."""
    m = sr.Mechanism(kind)
    m.add_body("a", 1.0, (0.5, 0, 0.1), (0.1, 0.1, 0.1))
    m.add_joint("a", kind, "world", "a", axis=(0, 0, 1), **({"pitch": 0.1} if kind == "screw" else {}))
    return m


def closed(kind: str) -> sr.Mechanism:
    """Return two bodies that a closure joins."""
    more = {"distance": {"length": 0.4}, "screw": {"pitch": 0.1}}.get(kind, {})
    ends = {"pose1": (0.4, 0, 0.1), "pose2": (-0.1 if kind == "distance" else -0.4, 0, 0.1)}
    return two(kind, lambda m: m.add_closure("c", kind, "a", "b", axis=(0, 0, 1), **ends, **more))


def sheet() -> list[sr.Mechanism]:
    """Return the mechanisms of the sheet."""
    spring = {"point1": (0.1, 0, 0.35), "point2": (0.25, 0, 0.3)}
    floor = {"point": (0.2, 0, -0.2), "friction": "coulomb"}
    driven = two("driven body", lambda m: m.add_body("t", 1.0, (0, 0, 0), (1, 1, 1)))
    driven.add_joint("t", "fixed", "world", "t", parent_pose=(0.4, 0, 0.3))
    driven.drive("t", lambda t: (0.4 + t, 0, 0.3))
    around = [("a", (0, 0, 0.5)), Wrap("world", "cylinder", 0.2, WRAP), ("b", (0.1, 0, 0.4))]
    block = [
        ("world", (0, 0, 0.5)),
        ("a", (0.3, 0, 0)),
        Pulley(2.0),
        ("b", (0, 0, 0.3)),
        ("world", (0.4, 0, 0.5)),
    ]
    low = {"radius": 0.25, "origin": (0, 0, -0.25)}
    along = {"place": (0.3, 0, 0.2), "axis": (1, 0, 0)}
    return [
        *map(one, ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical")),
        *map(closed, ("weld", "prismatic", "distance", "point_on_line", "point_on_plane")),
        two("gears", lambda m: m.add_coupling("c", {"a": 1.0, "b": 1.5})),
        two("belt", lambda m: m.add_coupling("c", {"a": 1.0, "b": -1.5})),
        two("rack", lambda m: m.add_coupling("c", {"b": 1.0, "a": 0.2}), "prismatic", **along),
        two("cam", lambda m: m.add_coupling("c", {"a": lambda x: x**2, "b": 1.0})),
        two("motion", lambda m: m.add_motion("c", "a", lambda t: t)),
        two("brake", lambda m: m.add_coupling("c", {"a": 1.0}, active=True)),
        two("motor", lambda m: m.add_actuator("m", "a")),
        two("linear motor", lambda m: m.add_actuator("m", "b"), "prismatic", **along),
        two("spring", lambda m: m.add_spring_damper("s", "a", "b", stiffness=1.0, **spring)),
        two("damper", lambda m: m.add_spring_damper("s", "a", "b", damping=1.0, **spring)),
        two("spring and damper", lambda m: m.add_spring_damper("s", "a", "b", stiffness=1.0, damping=1.0, **spring)),
        two("coordinate spring", lambda m: m.add_coordinate_spring("s", {"a": 1.0}, stiffness=1.0)),
        two("tendon, wrap", lambda m: m.add_tendon("t", around)),
        two("tendon, pulley", lambda m: m.add_tendon("t", block)),
        two("contact", lambda m: m.add_contact("c", "b", friction_coefficient=0.6, offset=-0.2, **floor)),
        two("disc", lambda m: m.add_rolling("c", "disc", "b", axis=(0, 1, 0), **low)),
        two("omni wheel", lambda m: m.add_rolling("c", "omni", "b", axis=(0, 1, 0), roller_angle=0.7, **low)),
        two("force", lambda m: m.add_force("f", lambda q, v, t: (0, 0, 1), body="b", point=(0.3, 0, 0))),
        two("sensor", lambda m: m.add_sensor("s", "accelerometer", "a", pose=(0.3, 0, 0))),
        driven,
    ]  # fmt: skip


def main() -> None:
    """Draw all on one sheet, on paper and in three dimensions."""
    columns, small = 8, (300, 225)
    found = sheet()
    rows = -(-len(found) // columns)
    figure = new_figure(15.0, 3.75 * rows)
    grid = figure.subplots(2 * rows, columns)
    for axes in grid.ravel():
        axes.set_axis_off()
    for k, mechanism in enumerate(found):
        row, column = divmod(k, columns)
        paper = BytesIO()
        flat = sr.plot.mechanism(mechanism)
        flat.axes[0].set_axis_off()
        flat.axes[0].set_title("", loc="left")
        for text in flat.axes[0].texts:
            text.set_visible(False)
        flat.set_size_inches(3.4, 2.5)
        flat.savefig(paper, format="png", dpi=100)
        with TemporaryDirectory() as folder:
            space = BytesIO(sr.render(mechanism, Path(folder) / "element.png", size=(400, 300)).read_bytes())
        for axes, picture in ((grid[2 * row, column], paper), (grid[2 * row + 1, column], space)):
            image = Image.open(picture).convert("RGB")
            image.thumbnail(small)
            axes.imshow(image)
        name = mechanism.name.replace("_", " ")
        grid[2 * row, column].set_title(name, loc="left", size=9, color=INK, weight="bold")
    save(figure, "elements.png", dpi=80)


if __name__ == "__main__":
    main()
