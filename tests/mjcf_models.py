"""Small MJCF models for the tests of the importer."""

from __future__ import annotations

from pathlib import Path

from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.load import load

INERTIA = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
# two pendulums with a site each, on which most snippets build
PAIR = (
    f'<body name="a">{INERTIA}<joint name="j"/><site name="s" pos="1 0 0"/></body>'
    f'<body name="b">{INERTIA}<joint name="k"/><site name="r" pos="0 2 0"/><site name="m"/></body>'
)
FIXED = '<tendon><fixed name="t"><joint joint="j" coef="1"/><joint joint="k" coef="2"/></fixed>'


def world(inside: str, outside: str = "") -> str:
    return f"<mujoco><worldbody>{inside}</worldbody>{outside}</mujoco>"


def on_pair(outside: str) -> str:
    return world(PAIR, outside)


def single(joint: str, more: str = "") -> str:
    return world(f'<body name="a">{INERTIA}{joint}{more}</body>')


def read(tmp_path: Path, xml: str, **options: object) -> Mechanism:
    """Write a model to a file and load it."""
    file = tmp_path / "model.xml"
    file.write_text(xml)
    return load(file, **options)
