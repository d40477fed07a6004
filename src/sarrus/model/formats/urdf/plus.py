"""URDF+: the <loop> and <coupling> elements of a URDF file.

The format is that of generalized_rbda (Chignoli et al., "URDF+: An Enhanced URDF for Robots with
Kinematic Loops", arXiv:2411.19753, 2024):

.. code-block:: xml

    <loop name="knee" type="revolute">
      <predecessor link="rod"><origin xyz="1 0 0" rpy="0 0 0"/></predecessor>
      <successor link="shank"><origin xyz="0 1 0"/></successor>
      <axis xyz="0 0 1"/>
    </loop>
    <coupling name="gear">
      <predecessor link="output"/>
      <successor link="rotor"/>
      <ratio value="6"/>
    </coupling>

The axis is in the predecessor's frame. A coupling is ratio × (sum of the joint coordinates from the nearest
common ancestor to the predecessor) = (sum of the joint coordinates to the successor).
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping

from sarrus.base.errors import ModelFileError
from sarrus.model.formats.importing import Import
from sarrus.model.formats.loops import frame_of, frames_known
from sarrus.model.formats.model_xml import reals
from sarrus.model.mechanism.faults import check_name
from sarrus.model.mechanism.pose import Pose

# Type of a loop → kind of closure.
KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "spherical": "point",
    "ball": "point",
    "point": "point",
    "fixed": "weld",
    "cylindrical": "cylindrical",
    "universal": "universal",
    "planar": "planar",
}

_ENDS = ("predecessor", "successor")

Parents = Mapping[str, tuple[str, str]]


def add_urdf_plus(load: Import, root: ElementTree.Element, parents: Parents) -> None:
    """Add every <loop> and <coupling>; ``parents`` maps a link to (parent link, joint between them)."""
    for loop in root.findall("loop"):
        _add_loop(load, loop)
    for coupling in root.findall("coupling"):
        _add_coupling(load, coupling, parents)
    if any(joint.get("independent") is not None for joint in root.findall("joint")):
        load.report.set_aside("joint attribute", "independent", "sarrus finds independent coordinates itself")


def _add_loop(load: Import, loop: ElementTree.Element) -> None:
    name = attribute(load, loop, "name", "loop")
    label = f"{load.path}: loop {name!r}"
    only(loop, (*_ENDS, "axis"), label)
    check_name("type", loop.get("type", ""), KINDS, label, name, ModelFileError)
    close(load, loop, name, label, (_end(load, loop, end, label) for end in _ENDS))


def close(
    load: Import, loop: ElementTree.Element, name: str, label: str, ends: Iterable[tuple[str, Pose]]
) -> None:
    """Add the closure of an element's type and axis between two frames, which are looked for here."""
    kind, axis = loop.get("type", ""), loop.find("axis")
    with frames_known(load, f"loop {kind}", name):
        (body1, pose1), (body2, pose2) = ends
        direction = [0.0, 0.0, 1.0] if axis is None else numbers(axis.get("xyz", ""), label, "axis")
        load.mechanism.add_closure(name, KINDS[kind], body1, body2, pose1=pose1, pose2=pose2, axis=direction)
        load.report.act(f"loop {kind}", name)


def _add_coupling(load: Import, coupling: ElementTree.Element, parents: Parents) -> None:
    name = attribute(load, coupling, "name", "coupling")
    label = f"{load.path}: coupling {name!r}"
    only(coupling, (*_ENDS, "ratio"), label)
    ratio = coupling.find("ratio")
    if ratio is None:
        raise ModelFileError(f"{label}: <ratio value=...> is missing", element=name)
    factor = numbers(ratio.get("value", ""), label, "ratio", count=1)[0]
    with frames_known(load, "coupling", name):
        one, two = (_path(_end_link(load, coupling, end, label), parents) for end in _ENDS)
        weights = dict.fromkeys(one, factor) | dict.fromkeys(two, -1.0)
        movable = {joint.name: joint.nv for joint in load.mechanism.joints()}
        terms = {j: w for j, w in weights.items() if j in movable and not (j in one and j in two)}
        for joint in terms:
            if movable[joint] != 1:
                reason = f"joint {joint!r} has no scalar coordinate"
                load.refuse("coupling", name, reason, "couple revolute or prismatic joints")
                return
        load.mechanism.add_coupling(name, terms)
        load.report.act("coupling", name)


def _path(link: str, parents: Parents) -> list[str]:
    """Return the joints from a link up to the root."""
    joints = []
    while link in parents:
        link, joint = parents[link]
        joints.append(joint)
    return joints


def _end(load: Import, loop: ElementTree.Element, end: str, label: str) -> tuple[str, Pose]:
    """Return body and pose of the predecessor or successor frame."""
    body, pose = frame_of(load, _end_link(load, loop, end, label), f"{label}: {end}")
    element = loop.find(end)
    assert element is not None
    origin = element.find("origin")
    if origin is None:
        return body, pose
    return body, pose @ origin_pose(origin, label, f"{end} origin")


def _end_link(load: Import, element: ElementTree.Element, end: str, label: str) -> str:
    found = element.find(end)
    if found is None or not found.get("link"):
        raise ModelFileError(f"{label}: <{end} link=...> is missing", element=element.get("name"))
    only(found, ("origin",), f"{label}: {end}")
    link = found.get("link", "")
    frame_of(load, link, f"{label}: {end}")
    return link


def origin_pose(element: ElementTree.Element | None, label: str, what: str) -> Pose:
    """Return the pose given by xyz and rpy of an element; the identity if it is missing."""
    given = {} if element is None else element.attrib
    xyz, rpy = (numbers(given.get(key, "0 0 0"), label, f"{what} {key}") for key in ("xyz", "rpy"))
    return Pose.of(xyz, rpy=rpy)


def attribute(load: Import, element: ElementTree.Element, key: str, tag: str) -> str:
    """Return a required attribute."""
    value = element.get(key)
    if not value:
        raise ModelFileError(f"{load.path}: a <{tag}> has no {key}", element=tag)
    return value


def only(element: ElementTree.Element, tags: tuple[str, ...], label: str) -> None:
    """Raise for a child with another tag."""
    for child in element:
        check_name("element", child.tag, tags, label, child.tag, ModelFileError)


def numbers(text: str, label: str, what: str, count: int = 3) -> list[float]:
    """Return the numbers of an attribute."""
    values = reals(text, count)
    if values is None:
        raise ModelFileError(f"{label}: {what} must be {count} numbers, got {text!r}", element=what)
    return values
