"""Inertias of a URDF file, as written in each link's <inertial>.

MuJoCo's compiler would refuse impossible inertias, compute links without <inertial> from their shapes, and convert the
rest to principal axes. It therefore gets a placeholder for every link, and the numbers of the file are read here, as in
urdfdom and Pinocchio.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

import numpy as np

from sarrus.base.errors import ModelFileError
from sarrus.model.formats.importing import Import
from sarrus.model.formats.mjcf.read_mjcf import Inertia
from sarrus.model.formats.model_xml import reals
from sarrus.model.mechanism import checks
from sarrus.model.mechanism.pose import Pose, vector
from sarrus.model.mechanism.report import Outcome

_MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_NOTHING = {"mass": {"value": "0"}, "inertia": dict.fromkeys(_MOMENTS, "0")}
# Settings of MuJoCo's <compiler> that would change inertias, and their neutral values.
_COMPILER = {
    "balanceinertia": ("false",),
    "inertiafromgeom": ("false", "auto"),
    "boundmass": ("0",),
    "boundinertia": ("0",),
    "settotalmass": ("-1",),
}


def take_inertias(load: Import, root: Element, compiler: Element) -> dict[str, Inertia]:
    """Return the inertia of every link and replace it by a placeholder; list MuJoCo's settings that are not applied."""
    for key, without_effect in _COMPILER.items():
        value = compiler.attrib.pop(key, without_effect[0])
        if value not in without_effect:
            reason = f"{value!r} is not applied: inertias are those of the file's <inertial> elements"
            load.report.leave_out("<mujoco> compiler", key, reason)
    compiler.set("inertiafromgeom", "false")
    inertias = {}
    for link in root.findall("link"):
        name, inertial = link.get("name", ""), link.find("inertial")
        inertias[name] = (0.0, np.zeros(3), np.zeros((3, 3)))
        if inertial is not None:
            inertias[name] = _inertia(load, name, inertial)
            link.remove(inertial)
        elif link.find("visual") is not None or link.find("collision") is not None:
            load.report.act(
                "link", name, "no <inertial>: massless, whatever its shapes, as for other readers of URDF"
            )
        placeholder = SubElement(link, "inertial")
        SubElement(placeholder, "mass", {"value": "1"})
        SubElement(placeholder, "inertia", dict(zip(_MOMENTS, "111000")))
    return inertias


def _inertia(load: Import, link: str, inertial: Element) -> Inertia:
    """Return mass, centre of mass, and the inertia about it, in link axes."""
    label = f"{load.path}: link {link!r}"
    for tag, rest in (("mass", "massless"), ("inertia", "a point mass")):
        if inertial.find(tag) is None:  # urdfdom reads mass, then inertia, and stops at a missing one
            given = inertial.find("inertia") if tag == "mass" else None
            if given is not None and any(_numbers(given, key, 1, label)[0] for key in _MOMENTS):
                break
            load.odd("inertial", link, f"no <{tag}>: {rest}, as for urdfdom and Pinocchio", Outcome.ACTS)
            SubElement(inertial, tag, _NOTHING[tag])
    mass = _numbers(inertial.find("mass"), "value", 1, label)
    xx, yy, zz, xy, xz, yz = (_numbers(inertial.find("inertia"), key, 1, label)[0] for key in _MOMENTS)
    origin = inertial.find("origin")
    if origin is None:
        origin = Element("origin")
    com = _numbers(origin, "xyz", 3, label, "0 0 0")
    rotation = Pose.of(rpy=_numbers(origin, "rpy", 3, label, "0 0 0")).rotation
    matrix = checks.inertia((xx, yy, zz, xy, xz, yz), f"body {link!r}")
    return mass[0], vector(com, 3, "com", label), rotation @ matrix @ rotation.T


def _numbers(element: Element | None, key: str, count: int, label: str, default: str = "") -> list[float]:
    given = default if element is None else element.get(key, default)
    values = reals(given, count)
    if values is None:
        what = {"value": "<mass value>", "xyz": "<origin xyz>", "rpy": "<origin rpy>"}.get(
            key, f"<inertia {key}>"
        )
        wanted = "a number" if count == 1 else f"{count} numbers"
        raise ModelFileError(f"{label}: {what} of <inertial> must be {wanted}, got {given!r}", element=label)
    return values
