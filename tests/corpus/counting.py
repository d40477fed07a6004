"""What a file has that is neither in the mechanism nor in its report: counted, and by name where there are names."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np
from oracles import compiled

from sarrus.model.formats.model_xml import parse_xml

sys.path.append(str(Path(__file__).resolve().parent.parent / "attacks"))
from model_files_oracle import untold
from model_files_seeds import Case


def silent_losses(path: Path, mechanism: Any) -> list[str]:
    """Return what the file has that is neither in the mechanism nor in its report."""
    lost = untold(Case(path.name, {path.name: _content(path)}), mechanism)
    if path.suffix.lower() in (".xml", ".mjcf"):
        model = compiled(path)
        lost += list(uncounted(model, mechanism)) if model is not None else []
    return lost


def _content(path: Path) -> bytes:
    """Return a file as strict XML: what TinyXML passes over (prefixes, comments) is counted by `untold` as read."""
    content = path.read_bytes()
    try:
        ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError):
        root = parse_xml(path)
        for element in root.iter():
            prefix, colon, tag = element.tag.rpartition(":")
            element.tag = f"{{{prefix}}}{tag}" if colon else tag
            for key in [key for key in element.attrib if ":" in key or key == "xmlns"]:
                element.attrib.pop(key)
        content = ElementTree.tostring(root)
    return content


def uncounted(model: Any, mechanism: Any) -> Iterator[str]:
    """Yield the elements of a compiled model that mechanism and report do not account for."""
    kinds, m = mujoco.mjtObj, mechanism
    joints = [joint.name for joint in m.joints()]
    tables: tuple[tuple[str, int, Any, Iterable[str]], ...] = (
        ("joint", model.njnt, kinds.mjOBJ_JOINT, joints),
        ("body", model.nbody - 1, kinds.mjOBJ_BODY, m.bodies),
        ("equality", model.neq, kinds.mjOBJ_EQUALITY, (*m.closures, *m.couplings)),
        ("actuator", _actuators(model), kinds.mjOBJ_ACTUATOR, m.actuators),
        ("tendon", model.ntendon, kinds.mjOBJ_TENDON, (*m.tendons, *m.coordinate_springs, *m.springs)),
        ("sensor", model.nsensor, kinds.mjOBJ_SENSOR, m.sensors),
        ("keyframe", model.nkey, kinds.mjOBJ_KEY, m.keyframes),
        ("site", model.nsite, kinds.mjOBJ_SITE, m.frames),
        ("contact exclude", model.nexclude, kinds.mjOBJ_EXCLUDE, ()),
        ("contact pair", model.npair, kinds.mjOBJ_PAIR, ()),
        ("flex", model.nflex, kinds.mjOBJ_FLEX, ()),
        ("plugin", model.nplugin, kinds.mjOBJ_PLUGIN, ()),
    )
    for kind, count, number, held in tables:
        told, more = _told(mechanism.report, kind)
        accounted = len(told | set(held)) + more
        if accounted < count:
            yield f"{count} elements of kind {kind}, {accounted} accounted for"
        names = [mujoco.mj_id2name(model, number, i) for i in range(1 if kind == "body" else 0, count)]
        lost = [name for name in names if name and name not in told and name not in held]
        if lost and not more:
            yield f"{kind} {', '.join(map(repr, lost[:5]))}: neither loaded nor told"
    losses = (
        ("joint friction", bool(np.any(model.dof_frictionloss)), "friction"),
        ("joint limits", bool(np.any(model.jnt_limited)) and not _off(model, "LIMIT"), "joint limit"),
        ("mocap body", model.nmocap > 0, "mocap"),
    )
    kept = " ".join(entry.kind for entry in mechanism.report)
    for what, there, word in losses:
        if there and word not in kept:
            yield f"{what}: not told"


def _actuators(model: Any) -> int:
    return len(model.actuator_trntype)


def _off(model: Any, flag: str) -> bool:
    return bool(int(model.opt.disableflags) & int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}")))


def _told(report: Any, kind: str) -> tuple[set[str], int]:
    """Return the names of the entries of a kind, and the sum of those that are numbers."""
    names, more = set(), 0
    for entry in report:
        if entry.kind == kind or (kind in ("equality", "tendon") and kind in entry.kind.split()):
            if entry.name.split()[0].isdigit():
                more += int(entry.name.split()[0])
            else:
                names.add(entry.name)
    return names, more
