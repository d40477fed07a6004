"""The <loop_joint> elements of a URDF file, as read by Drake in the past and by Isaac Sim.

.. code-block:: xml

    <loop_joint name="knee" type="revolute">
      <link1 link="rod" xyz="1 0 0" rpy="0 0 0"/>
      <link2 link="shank" xyz="0 1 0" rpy="0 0 0"/>
      <axis xyz="0 0 1"/>
    </loop_joint>

The axis is in the frame on link 1. Isaac Sim's documentation writes a second <link1> for <link2>. Its exporter omits
the axis, which was (1, 0, 0) in Drake and may be any axis in USD, so a kind with an axis needs one here.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from sarrus.base.errors import ModelFileError
from sarrus.model.formats.importing import Import, Joined
from sarrus.model.formats.loops import frame_of
from sarrus.model.formats.urdf.plus import KINDS, attribute, close, only, origin_pose
from sarrus.model.mechanism.faults import check_name
from sarrus.model.mechanism.pose import Pose

_WITHOUT_AXIS = ("point", "weld")


def add_loop_joints(load: Import, root: ElementTree.Element) -> None:
    """Add every <loop_joint> as a closure of its kind."""
    for loop in root.findall("loop_joint"):
        name = attribute(load, loop, "name", "loop_joint")
        label = f"{load.path}: loop_joint {name!r}"
        only(loop, ("link1", "link2", "axis"), label)
        given, axis = loop.get("type", ""), loop.find("axis")
        check_name("type", given, KINDS, label, name, ModelFileError)
        ends = [*loop.findall("link1"), *loop.findall("link2")]
        if len(ends) != 2:
            raise ModelFileError(f"{label}: needs one <link1 link=…> and one <link2 link=…>", element=name)
        if axis is None and KINDS[given] not in _WITHOUT_AXIS:
            one, two = (end.get("link", "") for end in ends)
            reason = f"it is {given} and has no <axis>, for which readers have different defaults"
            remedy = 'write <axis xyz="…"/>, in the frame on link 1'
            load.joined.append(Joined("loop_joint", name, (one, two), reason, remedy))
            continue
        close(load, loop, name, label, (_end(load, end, label) for end in ends))


def _end(load: Import, end: ElementTree.Element, label: str) -> tuple[str, Pose]:
    """Return body and pose of the frame on one link."""
    body, pose = frame_of(load, end.get("link", ""), f"{label}: {end.tag}")
    return body, pose @ origin_pose(end, label, end.tag)
