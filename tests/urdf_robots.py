"""Twelve small robots in the patterns of the URDF files that people have, and their mass matrix computed from the XML.

The mass matrix here is a sum over links of Jacobians times inertias, in plain NumPy with a kinematics of its own.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def link(
    name: str, mass: float = 1.0, moments: str = "0.02 0.03 0.04 0.001 -0.002 0.003", origin: str = ""
) -> str:
    """A link with an inertia: ixx iyy izz ixy ixz iyz."""
    given = " ".join(f'{key}="{value}"' for key, value in zip(MOMENTS, moments.split(), strict=True))
    origin = origin or 'xyz="0.1 -0.02 0.05" rpy="0.3 -0.2 0.5"'
    return f'<link name="{name}"><inertial><origin {origin}/><mass value="{mass}"/><inertia {given}/></inertial></link>'


def joint(name: str, kind: str, parent: str, child: str, axis: str = "0 0 1", more: str = "") -> str:
    """A joint with an oblique origin."""
    limit = (
        '<limit lower="-1" upper="1" effort="9" velocity="2"/>' if kind in ("revolute", "prismatic") else ""
    )
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="0.3 0.1 -0.2" rpy="0.2 -0.4 0.7"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="{axis}"/>{limit}{more}</joint>'
    )


def _robot(*parts: str, root: str = "base") -> str:
    return f'<robot name="r"><link name="{root}"/>{"".join(parts)}</robot>'


BOX = '<collision><geometry><box size="1 2 3"/></geometry></collision>'
DAMPED = '<dynamics damping="0.7" friction="0"/>'
ARM = (
    link("a", 2.0) + joint("ja", "revolute", "base", "a", "0 1 0"),
    link("b", 1.5) + joint("jb", "continuous", "a", "b", "1 0 0"),
)
ROBOTS: dict[str, str] = {
    "frames without inertial": _robot(
        *ARM, f'<link name="tool">{BOX}</link><link name="camera"/>',
        joint("jt", "fixed", "b", "tool"), joint("jc", "fixed", "tool", "camera"),
        link("c", 0.4), joint("jd", "prismatic", "camera", "c"),
    ),
    "massless link between joints": _robot(
        *ARM, f'<link name="cross">{BOX}</link>', joint("jx", "revolute", "b", "cross", "1 0 0"),
        link("c"), joint("jy", "revolute", "cross", "c", "0 1 0"),
    ),
    "floating from the world": _robot(
        link("trunk", 9.0), joint("f", "floating", "world", "trunk", more=DAMPED),
        link("leg"), joint("hip", "revolute", "trunk", "leg", "0 1 0"), root="world",
    ),
    "floating in the tree": _robot(
        *ARM, link("puck", 0.3), joint("f", "floating", "a", "puck", more=DAMPED),
        link("flap", 0.1), joint("jf", "continuous", "puck", "flap", "0.3 -0.5 0.2"),
    ),
    "floating below fixed links": _robot(
        link("mount", 3.0), joint("jm", "fixed", "base", "mount"),
        link("rail", 1.0), joint("jr", "prismatic", "mount", "rail", "1 0 0"),
        link("puck", 0.3), joint("f", "floating", "mount", "puck"),
        link("flap", 0.1), joint("jf", "continuous", "puck", "flap"),
        link("lid", 0.1), joint("jl", "revolute", "base", "lid"),
    ),
    "A + B < C": _robot(link("a", 2.0, "0.02 0.03 0.4 0 0 0"), joint("ja", "revolute", "base", "a"), *ARM[1:]),
    "negative eigenvalue": _robot(
        link("a", 2.0, "0.02 0.03 0.04 0.1 0 0"), joint("ja", "revolute", "base", "a", "1 2 3"), *ARM[1:]
    ),
    "negative mass": _robot(*ARM, link("c", -0.2, "0.001 0.001 0.001 0 0 0"), joint("jc", "revolute", "b", "c")),
    "mimic gripper": _robot(
        *ARM, link("left", 0.1), link("right", 0.1), joint("jl", "prismatic", "b", "left", "0 1 0"),
        joint("jr", "prismatic", "b", "right", "0 -1 0", '<mimic joint="jl" multiplier="1" offset="0.01"/>'),
    ),
    "planar, continuous, prismatic": _robot(
        link("cart", 4.0), joint("p", "planar", "base", "cart"), link("pole"),
        joint("c", "continuous", "cart", "pole", "0.1 1 -0.4"), link("slide"), joint("s", "prismatic", "pole", "slide"),
    ),
    "fixed chain with offsets": _robot(
        link("k1", 0.5), joint("f1", "fixed", "base", "k1"), link("k2", 0.7), joint("f2", "fixed", "k1", "k2"),
        link("a", 2.0), joint("ja", "revolute", "k2", "a", "0 1 0", DAMPED),
        link("k3", 0.9), joint("f3", "fixed", "a", "k3"), link("k4", 1.1), joint("f4", "fixed", "k3", "k4"),
        link("b", 1.5), joint("jb", "continuous", "k4", "b", "1 0 1", DAMPED),
    ),
    "inertia without mass": _robot(
        *ARM, link("rotor", 0.0, "1e-4 1e-4 2e-4 0 0 0"), joint("jr", "revolute", "b", "rotor")
    ),
}  # fmt: skip


def rotation(axis: Array, angle: float) -> Array:
    """Rodrigues' formula."""
    x, y, z = axis / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def _rpy(angles: Array) -> Array:
    x, y, z = np.eye(3)
    return rotation(z, angles[2]) @ rotation(y, angles[1]) @ rotation(x, angles[0])


def _numbers(element: ElementTree.Element | None, key: str, default: str) -> Array:
    return np.array([float(x) for x in (default if element is None else element.get(key, default)).split()])


def origin_of(element: ElementTree.Element) -> tuple[Array, Array]:
    """Position and rotation of the <origin> of a joint or an inertial."""
    origin = element.find("origin")
    return _numbers(origin, "xyz", "0 0 0"), _rpy(_numbers(origin, "rpy", "0 0 0"))


def _quaternion(q: Array) -> Array:
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@dataclass
class _Place:
    """A link in the world; columns: velocity name → (angular velocity, velocity of the link's origin)."""

    position: Array
    turn: Array
    columns: dict[str, tuple[Array, Array]]
    fixed: bool

    def moved(self, position: Array, turn: Array) -> _Place:
        at = self.position + self.turn @ position
        columns = {n: (w, u + np.cross(w, at - self.position)) for n, (w, u) in self.columns.items()}
        return _Place(at, self.turn @ turn, columns, self.fixed)


def mass_matrix(xml: str, q: dict[str, float], velocities: tuple[str, ...]) -> Array:
    """Mass matrix of a robot at coordinates by name, in the order of the velocities."""
    root = ElementTree.fromstring(xml)
    joints = root.findall("joint")
    children = {j.find("child").get("link") for j in joints}
    total = np.zeros((len(velocities), len(velocities)))
    stack = [
        (element.get("name"), _Place(np.zeros(3), np.eye(3), {}, True))
        for element in root.findall("link")
        if element.get("name") not in children
    ]
    while stack:
        name, place = stack.pop()
        inertial = root.find(f"link[@name='{name}']/inertial")
        if inertial is not None:
            total += _weight(inertial, place, velocities)
        below = [element for element in joints if element.find("parent").get("link") == name]
        stack += [(element.find("child").get("link"), _beyond(element, place, q)) for element in below]
    return total


def _weight(inertial: ElementTree.Element, place: _Place, velocities: tuple[str, ...]) -> Array:
    at = place.moved(*origin_of(inertial))
    mass = float(inertial.find("mass").get("value"))
    xx, yy, zz, xy, xz, yz = (float(inertial.find("inertia").get(k)) for k in MOMENTS)
    tensor = at.turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ at.turn.T
    none = (np.zeros(3), np.zeros(3))
    spin = np.array([at.columns.get(name, none)[0] for name in velocities])
    shift = np.array([at.columns.get(name, none)[1] for name in velocities])
    return spin @ tensor @ spin.T + mass * shift @ shift.T


def _beyond(element: ElementTree.Element, place: _Place, q: dict[str, float]) -> _Place:
    """Place of a joint's child; a floating joint below fixed links is given in the world, else in its parent."""
    name, kind = element.get("name"), element.get("type")
    axis = _numbers(element.find("axis"), "xyz", "1 0 0")
    axis = axis / np.linalg.norm(axis)
    if kind == "floating":
        base = _Place(np.zeros(3), np.eye(3), {}, True) if place.fixed else place
        out = base.moved(
            np.array([q[f"{name}.{x}"] for x in "xyz"]),
            _quaternion(np.array([q[f"{name}.q{x}"] for x in "wxyz"])),
        )
        for i, x in enumerate("xyz"):
            out.columns[f"{name}.v{x}"] = (np.zeros(3), base.turn[:, i])
            out.columns[f"{name}.w{x}"] = (out.turn[:, i], np.zeros(3))
        out.fixed = False
        return out
    out = place.moved(*origin_of(element))
    zero = np.zeros(3)
    if kind == "planar":
        assert np.allclose(axis, [0, 0, 1])
        columns = {f"{name}_TX": (zero, out.turn[:, 0]), f"{name}_TY": (zero, out.turn[:, 1])}
        out = out.moved(np.array([q[f"{name}_TX"], q[f"{name}_TY"], 0.0]), rotation(axis, q[f"{name}_RZ"]))
        out.columns |= columns | {f"{name}_RZ": (out.turn @ axis, zero)}
    elif kind == "prismatic":
        out = out.moved(q[name] * axis, np.eye(3))
        out.columns[name] = (zero, out.turn @ axis)
    elif kind != "fixed":
        out = out.moved(zero, rotation(axis, q[name]))
        out.columns[name] = (out.turn @ axis, zero)
    out.fixed = place.fixed and kind == "fixed"
    return out
