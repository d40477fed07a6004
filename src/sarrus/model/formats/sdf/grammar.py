"""Elements of an SDF file that this importer reads; all others are listed."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from sarrus.model.formats.importing import Import
from sarrus.model.formats.sdf.sensors import report_sensor
from sarrus.model.formats.unread import (
    Grammar,
    Unread,
    local,
    outside,
    refuse_bearing,
    survey_plugins,
    unread,
    warn_of_attributes,
)

SDF = Grammar(
    "SDF",
    {
        "sdf": "world* model*",
        "world": "gravity physics* link* joint* frame* model* include*",
        "physics": "?",
        "model": "static pose name gravity link* joint* frame* model* include*",
        "include": "uri name pose static placement_frame",
        "frame": "pose",
        "link": "pose inertial gravity kinematic visual* collision* sensor*",
        "inertial": "pose mass inertia fluid_added_mass density",
        "inertia": "ixx iyy izz ixy ixz iyz",
        "fluid_added_mass": "?",
        "visual": "?",
        "collision": "?",
        "link sensor": "?",
        "joint": "parent child pose axis axis2 thread_pitch screw_thread_pitch physics gearbox_ratio "
        "gearbox_reference_body",
        "axis": "xyz limit dynamics mimic initial_position use_parent_model_frame",
        "axis2": "xyz limit dynamics mimic initial_position use_parent_model_frame",
        "limit": "lower upper effort velocity",
        "dynamics": "damping friction spring_stiffness spring_reference",
        "mimic": "multiplier offset reference",
    },
    {
        "include": "merge",
        "model": "name canonical_link placement_frame",
        "link": "name",
        "frame": "name attached_to",
        "joint": "name type",
        "pose": "relative_to degrees rotation_format",
        "axis": "",
        "axis2": "",
        "xyz": "expressed_in",
        "mimic": "joint axis",
    },
)
_SCOPES = ("sdf", "world", "model")


def list_unread(load: Import, root: Element) -> None:
    """List unread elements: a joint, link or model at a wrong place is refused, other elements are listed."""
    survey_plugins(load, root, "<joint>")
    warn_of_attributes(load, SDF, root)
    for found in unread(SDF, root):
        name, holder = found.element.get("name") or found.tag, local(found.parent.tag)
        kind = found.tag
        if holder not in _SCOPES:
            kind, name = f"{holder} {found.tag}", f"{found.owner}/{name}"
        if found.bearing:
            refuse_bearing(load, SDF, found)
        elif outside(load, found):
            continue
        elif found.repeated:
            load.report.leave_out(kind, name, "given more than once: only the first is read")
        else:
            _list_other(load, found, kind, name)


def _list_other(load: Import, found: Unread, kind: str, name: str) -> None:
    """List an unread element: one of the grammar at a wrong place, a plugin, or one without influence here."""
    places = [f"<{place}>" for place in SDF.places(found.tag)]
    if found.tag == "sensor":
        report_sensor(load, found.element.get("type", ""), kind, name)
    elif found.tag == "plugin":
        load.report.set_aside(kind, name, "a plugin: its effect on joints and forces is not here")
    elif places and found.element.tag == found.tag:
        load.report.leave_out(kind, name, f"not read at this place: it belongs under {' or '.join(places)}")
    else:
        load.report.set_aside(kind, name, "not part of the dynamics here")
