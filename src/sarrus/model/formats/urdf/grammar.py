"""Elements of a URDF or URDF+ file that this importer and MuJoCo read; all others are listed."""

from __future__ import annotations

from collections import Counter
from xml.etree.ElementTree import Element

from sarrus.model.formats.importing import Import
from sarrus.model.formats.unread import (
    Grammar,
    local,
    outside,
    refuse_bearing,
    survey_plugins,
    unread,
    warn_of_attributes,
)
from sarrus.model.formats.urdf.drake_tendons import PARTS
from sarrus.model.formats.urdf.drake_tendons import TAG as DRAKE_TENDON

URDF = Grammar(
    "URDF",
    {
        "robot": "link* joint* material* mujoco transmission* ros2_control* loop* coupling* loop_joint* fixed_frame* "
        f"{DRAKE_TENDON}*",
        DRAKE_TENDON: " ".join([f"{PARTS[0]}*", *PARTS[1:]]),
        "link": "inertial visual* collision*",
        "inertial": "origin mass inertia",
        "visual": "?",
        "collision": "?",
        "material": "?",
        "joint": "origin parent child axis limit dynamics mimic",
        "mujoco": "compiler option size",
        "transmission joint": "?",
        "actuator": "?",
        "ros2_control": "hardware joint* sensor* gpio* transmission*",
        "ros2_control transmission": "plugin joint* actuator* param*",
        "ros2_control joint": "?",
        "ros2_control sensor": "?",
        "hardware": "plugin param* group*",
        "gpio": "?",
        "loop": "predecessor successor axis",
        "coupling": "predecessor successor ratio",
        "fixed_frame": "parent origin",
        "transmission": "type joint* actuator* mechanicalReduction",
        "loop_joint": "link1* link2 axis",
        "predecessor": "origin",
        "successor": "origin",
    },
    {
        "joint": "name type independent",
        "origin": "xyz rpy",
        "parent": "link",
        "child": "link",
        "axis": "xyz",
        "limit": "lower upper effort velocity",
        "dynamics": "damping friction",
        "mimic": "joint multiplier offset",
        "mass": "value",
        "inertia": "ixx ixy ixz iyy iyz izz",
        "loop": "name type",
        "coupling": "name",
        "loop_joint": "name type",
        "link1": "link xyz rpy",
        "link2": "link xyz rpy",
        "predecessor": "link",
        "successor": "link",
        "ratio": "value",
    },
)
_DRAFTS = ("loop_constraint", "joint_constraint")
_REASONS = {
    "safety_controller": "controller settings",
    "calibration": "calibration of sensors",
}


def list_unread(load: Import, root: Element) -> None:
    """List unread elements: a joint, link or closure at a wrong place is refused, others are counted by place."""
    survey_plugins(load, root, "<loop> of URDF+")
    warn_of_attributes(load, URDF, root)
    ignored: Counter[tuple[str, str]] = Counter()
    repeated: Counter[tuple[str, str]] = Counter()
    drafts: Counter[str] = Counter()
    for found in list(unread(URDF, root)):
        place = "" if found.parent is root else f"{local(found.parent.tag)} "
        if found.repeated:  # urdfdom uses the first, MuJoCo fails
            found.parent.remove(found.element)
        if found.repeated and found.tag == "axis" and not load.strict:
            repeated[place, found.tag] += 1
        elif found.bearing:
            refuse_bearing(load, URDF, found)
        elif outside(load, found):
            continue
        elif found.tag == "joint_properties":
            _report_properties(load, found.element, found.owner)
        elif found.tag in _DRAFTS:
            drafts[found.tag] += 1
        elif found.repeated:
            repeated[place, found.tag] += 1
        else:
            ignored[place, found.tag] += 1
    for tag, count in drafts.items():
        load.refuse(f"<{tag}>", f"{count}", "a draft form of URDF+", "write it as <loop> or <coupling>")
    for (place, tag), count in repeated.items():
        load.report.leave_out(f"{place}<{tag}>", f"{count}", "given more than once: only the first is read")
    for (place, tag), count in ignored.items():
        reason = _REASONS.get(tag, "not part of URDF's mechanism")
        load.report.set_aside(f"{place}<{tag}>", f"{count}", reason)


def _report_properties(load: Import, element: Element, joint: str) -> None:
    """List the friction of <joint_properties>, written by an exporter from Onshape and read by no reader."""
    friction, kind = element.get("friction", ""), "joint <joint_properties>"
    if friction.strip("0. "):
        reason = f"no reader takes it: friction is <dynamics friction={friction!r}/>"
        load.report.leave_out(kind, joint, reason)
    else:
        load.report.set_aside(kind, joint, "it says nothing")
