"""Elements of SDF: files, includes, numbers, poses. Errors name the element and the expected content."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ModelFileError
from sarrus.model.formats.importing import Import
from sarrus.model.formats.model_text import file_fault
from sarrus.model.formats.model_xml import parse_xml, reals
from sarrus.model.formats.sdf.tolerances import POSE_QUATERNION
from sarrus.model.mechanism.faults import fault
from sarrus.model.mechanism.pose import Pose, vector

Version = tuple[int, int]


def read_root(importing: Import, path: Path) -> tuple[Element, Version]:
    """Return the ``<sdf>`` element of a file and its version, as (1, 11)."""
    root = importing.parse(path)
    if root.tag != "sdf":
        raise file_fault(path, f"the root element of an SDF file is <sdf>, found <{root.tag}>")
    try:
        major, minor = (int(part) for part in root.get("version", "").split("."))
    except ValueError:
        raise file_fault(path, f"<sdf> needs a version such as '1.11', got {root.get('version')!r}") from None
    return root, (major, minor)


def model_file(uri: str, directory: Path) -> Path:
    """Return the SDF file named by the uri of an ``<include>``; relative paths start at ``directory``.

    A folder stands for the file named in its ``model.config``, or for its ``model.sdf``. ``model://`` is searched in
    ``directory`` and in its parent only.
    """
    scheme, separator, rest = uri.partition("://")
    if not separator:
        candidates = [directory / uri]
    elif scheme == "file":
        candidates = [directory / rest]
    elif scheme == "model":
        candidates = [directory / rest, directory.parent / rest]
    else:
        raise ModelFileError(
            f"include {uri!r}: only relative paths, file:// and model:// beside the file can be read; "
            "copy the model beside the file",
            element=uri,
        )
    for candidate in candidates:
        if os.path.isfile(candidate):
            return candidate
        if os.path.isdir(candidate):
            return _file_of_folder(candidate, uri)
    looked = " and ".join(repr(str(c)) for c in candidates)
    raise ModelFileError(f"include {uri!r}: no such file or folder; looked for {looked}", element=uri)


def _file_of_folder(folder: Path, uri: str) -> Path:
    config = folder / "model.config"
    file = folder / (text(parse_xml(config), "sdf", "model.sdf") if os.path.isfile(config) else "model.sdf")
    if not os.path.isfile(file):
        raise ModelFileError(f"include {uri!r}: folder {str(folder)!r} holds no {file.name!r}", element=uri)
    return file


def name_of(element: Element, label: str) -> str:
    """Return the nonempty name of an element."""
    name = element.get("name", "").strip()
    if not name:
        raise fault(label, f"<{element.tag}> needs a name")
    return name


def text(element: Element | None, path: str, default: str = "") -> str:
    """Return the stripped text of a child, or ``default`` if it is missing or empty."""
    found = element.findtext(path) if element is not None else None
    return found.strip() if found and found.strip() else default


def number(element: Element | None, path: str, default: float, label: str) -> float:
    """Return a child's number; infinities are legal, NaN is not."""
    given = text(element, path)
    if not given:
        return default
    values = reals(given, 1)
    if values is None:
        raise fault(label, f"<{path}> must be a number, got {given!r}")
    return values[0]


def numbers(given: str, size: int, what: str, label: str) -> Array:
    """Return ``size`` finite numbers from a text separated by blanks."""
    values = reals(given)
    return vector(given if values is None else values, size, what, label)


def flag(given: str, label: str) -> bool:
    """Return an SDF truth value: true, 1, false or 0."""
    value = {"true": True, "1": True, "false": False, "0": False}.get(given.strip().lower())
    if value is None:
        raise fault(label, f"expected true or false, got {given!r}")
    return value


def pose_of(element: Element | None, label: str) -> Pose:
    """Return the ``<pose>`` child of an element, the identity if it is missing.

    Six numbers x y z roll pitch yaw (radians, or degrees with ``degrees="true"``), or seven
    x y z qx qy qz qw with ``rotation_format="quat_xyzw"``.
    """
    pose = element.find("pose") if element is not None else None
    if pose is None or not (pose.text or "").strip():
        return Pose()
    given, form = pose.text or "", pose.get("rotation_format", "euler_rpy")
    if form == "quat_xyzw":
        x, y, z, w = (values := numbers(given, 7, "pose (x y z qx qy qz qw)", label))[3:]
        if abs(float(np.linalg.norm(values[3:])) - 1.0) > POSE_QUATERNION:
            raise fault(label, f"quaternion of <pose> must have length one: {given!r}")
        return Pose.of(values[:3], quaternion=(w, x, y, z))
    if form != "euler_rpy":
        raise fault(label, f"rotation_format must be 'euler_rpy' or 'quat_xyzw', got {form!r}")
    values = numbers(given, 6, "pose (x y z roll pitch yaw)", label)
    angles = np.deg2rad(values[3:]) if flag(pose.get("degrees", "false"), label) else values[3:]
    return Pose.of(values[:3], rpy=angles)


def relative_to(element: Element | None) -> str:
    """Return the ``relative_to`` attribute of the ``<pose>`` child, or an empty string."""
    return attribute(element.find("pose") if element is not None else None, "relative_to")


def attribute(element: Element | None, key: str) -> str:
    """Return the stripped text of an attribute, or an empty string."""
    return element.get(key, "").strip() if element is not None else ""
