"""URDF through MuJoCo's compiler, which reads the tree; the rest of the file is read here.

The XML tree is prepared in memory: links keep their frames (no fusing), inertias are used as written, mesh files are
located or removed, and joints of types that MuJoCo's parser does not have are added afterwards.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mujoco

from sarrus.base.errors import ArgumentError, ModelFileError, unknown_name
from sarrus.model.formats.importing import Import
from sarrus.model.formats.loops import LoopFile, add_loops, frame_of, read_loops
from sarrus.model.formats.mjcf.read_mjcf import ExtraJoint, Inertia, build
from sarrus.model.formats.model_xml import real
from sarrus.model.formats.mujoco_compiler import compile_spec, refuse_formats
from sarrus.model.formats.urdf.actuators import add_transmissions
from sarrus.model.formats.urdf.closing_joints import Ends, add_closing_joints, take_closing_joints
from sarrus.model.formats.urdf.drake_tendons import add_drake_tendons
from sarrus.model.formats.urdf.geometry import prepare_geometry
from sarrus.model.formats.urdf.grammar import list_unread
from sarrus.model.formats.urdf.inertia import take_inertias
from sarrus.model.formats.urdf.loop_joint import add_loop_joints
from sarrus.model.formats.urdf.plus import add_urdf_plus, attribute, origin_pose
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.faults import check_name
from sarrus.model.mechanism.pose import Pose

# Joint types that MuJoCo's parser does not have.
_EXTRA = {"spherical": "spherical", "SPHERICAL": "spherical", "ball": "spherical", "floating": "free"}
_TYPES = ("revolute", "continuous", "prismatic", "fixed", "planar", *_EXTRA)
_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


@dataclass
class _Prepared:
    """The elements removed from the XML before MuJoCo reads it."""

    extra_joints: dict[str, list[ExtraJoint]] = field(default_factory=dict)
    inertias: dict[str, Inertia] = field(default_factory=dict)
    mimics: dict[str, tuple[str, float, float]] = field(default_factory=dict)


def load_urdf(
    path: Path,
    *,
    loops: str | Path | Mapping[str, Any] | Sequence[Any] | None = None,
    strict: bool | None = None,
    floating_base: bool = False,
) -> Import:
    """Read a URDF or URDF+ file through MuJoCo's compiler; see `sarrus.load`."""
    load = Import(path, strict)
    mechanism = load.mechanism
    root = load.parse(path)
    mechanism.name = root.get("name") or path.stem
    loop_file = read_loops(loops)
    list_unread(load, root)
    refuse_formats(path, root)
    _check_names(root, path)
    ends = {j: (_link_of(j, "parent", path), _link_of(j, "child", path)) for j in root.findall("joint")}
    _check_links(root, ends, path)
    closing = take_closing_joints(load, root, ends)
    children = {ends[joint][1]: joint for joint in root.findall("joint")}
    prepared = _prepare(load, root, loop_file)
    if floating_base:
        _float(root, children, prepared, path)
    text = ElementTree.tostring(root, encoding="unicode")
    compiled = compile_spec(lambda: mujoco.MjSpec.from_string(text), load)
    if root.find("mujoco/option[@timestep]") is not None:
        load.keep_time_step(float(compiled.model.opt.timestep))
    build(load, compiled, prepared.extra_joints, prepared.inertias, prefer_visual=True)
    for name, geom in mechanism.geoms.items():  # MuJoCo's default friction is not the file's
        mechanism.geoms[name] = replace(geom, friction=None)
    bodies = mechanism.bodies
    for link, joint in children.items():
        if joint.get("name") not in bodies:
            mechanism.frames[joint.get("name", "")] = (link, Pose())
    fixed = {j.get("name", "") for j in root.findall("joint") if j.get("type") == "fixed"}
    _add_mimics(load, prepared, fixed - {joint.name for joint in mechanism.joints()})
    _keep_fixed_frames(load, root)
    add_closing_joints(load, closing, ends)
    add_urdf_plus(load, root, {link: (ends[j][0], j.get("name", "")) for link, j in children.items()})
    add_loop_joints(load, root)
    add_drake_tendons(load, root)
    add_transmissions(load, root)
    add_loops(load, loop_file)
    return load


def _check_names(root: ElementTree.Element, path: Path) -> None:
    """Raise `ModelFileError` for links and joints without a name or with a duplicate one."""
    for tag in ("link", "joint"):
        counts = Counter(element.get("name") for element in root.findall(tag))
        for name, count in counts.items():
            if not name:
                raise ModelFileError(f"{path}: a <{tag}> has no name", element=tag)
            if count > 1:
                raise ModelFileError(
                    f"{path}: {tag} {name!r} is defined {count} times; names are unique", element=name
                )


def _link_of(joint: ElementTree.Element, end: str, path: Path) -> str:
    """Return the name of a joint's parent or child link."""
    name = joint.get("name", "")
    element = joint.find(end)
    if element is None or not element.get("link"):
        raise ModelFileError(f"{path}: joint {name!r} has no <{end} link=...>", element=name)
    return element.get("link", "")


def _check_links(root: ElementTree.Element, ends: Mapping[ElementTree.Element, Ends], path: Path) -> None:
    """Raise `ModelFileError` for a joint of an unknown link."""
    links = sorted(link.get("name", "") for link in root.findall("link"))
    for joint, pair in ends.items():
        for end, link in zip(("parent", "child"), pair, strict=True):
            label = f"{path}: joint {joint.get('name')!r}: {end}"
            check_name("link", link, links, label, link, ModelFileError)


def _keep_fixed_frames(load: Import, root: ElementTree.Element) -> None:
    """Keep Isaac Sim's <fixed_frame>, a frame on a link."""
    for frame in root.findall("fixed_frame"):
        name = attribute(load, frame, "name", "fixed_frame")
        parent = frame.find("parent")
        label = f"{load.path}: fixed_frame {name!r}"
        link = "" if parent is None else parent.get("link", "")
        body, pose = frame_of(load, link, f"{label}: parent")
        load.mechanism.frames[name] = (body, pose @ origin_pose(frame.find("origin"), label, "origin"))
        load.report.act("fixed_frame", name, f"on {body!r}")


def _prepare(load: Import, root: ElementTree.Element, loop_file: LoopFile) -> _Prepared:
    """Change the tree in memory into one that MuJoCo reads with the meaning of the file."""
    report = load.report
    prepared = _Prepared()
    compiler = root
    for tag in ("mujoco", "compiler"):
        found = compiler.find(tag)
        compiler = ElementTree.SubElement(compiler, tag) if found is None else found
    compiler.attrib |= {"fusestatic": "false", "discardvisual": "false", "strippath": "false"}
    replaced = dict(loop_file.replaced_joints)
    for joint in root.findall("joint"):
        _prepare_joint(load, joint, prepared, replaced.pop(joint.get("name", ""), None))
    valid = tuple(j.get("name", "") for j in root.findall("joint"))
    for name in replaced:
        load.odd("joint_name", name, unknown_name("joint", name, valid), valid=valid)
    if any(limit.get("velocity") for limit in root.findall("joint/limit")):
        report.leave_out("joint limit", "velocity", "speeds are not limited here")
    prepare_geometry(load, root, compiler.get("meshdir", ""))
    prepared.inertias = take_inertias(load, root, compiler)
    return prepared


def _prepare_joint(
    load: Import, joint: ElementTree.Element, prepared: _Prepared, replaced: str | None
) -> None:
    """Remove the parts of a joint that are added after compiling: mimic, floating and replaced joints."""
    name, child = joint.get("name", ""), _link_of(joint, "child", load.path)
    mimic = joint.find("mimic")
    if mimic is not None:
        factor, offset = _numbers(load, name, mimic.attrib, {"multiplier": "1", "offset": "0"}, "mimic ")
        prepared.mimics[name] = mimic.get("joint", ""), factor, offset
        joint.remove(mimic)
    kind = replaced or joint.get("type") or ""
    if replaced is None:
        check_name("type", kind, _TYPES, f"{load.path}: joint {name!r}", name, ModelFileError)
    _report_limits(load, joint, name)
    extra = [(name, _EXTRA[kind], _AXES["Z"])] if kind in _EXTRA else []
    if kind.startswith("UJOINT_"):
        letters = kind.removeprefix("UJOINT_")
        extra = [(f"{name}_{letter}", "revolute", _AXES[letter]) for letter in letters]
    if extra:
        losses = _losses(load, joint)
        prepared.extra_joints[child] = [ExtraJoint(*each, *losses) for each in extra]
    if child in prepared.extra_joints or replaced == "FIXED":
        joint.set("type", "fixed")
    if joint.get("type") == "fixed":
        for tag in ("axis", "limit", "dynamics"):  # exporters write axis="0 0 0" on fixed joints
            for element in joint.findall(tag):
                joint.remove(element)


def _report_limits(load: Import, joint: ElementTree.Element, name: str) -> None:
    """List limits without effect: of a continuous joint, and with lower above upper."""
    limit = joint.find("limit")
    given = (
        {} if limit is None else {key: limit.get(key, "0") for key in ("lower", "upper") if limit.get(key)}
    )
    if not given:
        return
    if joint.get("type") == "continuous":
        load.report.set_aside("joint limits", name, "a continuous joint has none")
        return
    lower, upper = _numbers(load, name, given, {"lower": "0", "upper": "0"}, "limit ")
    if lower > upper and joint.get("type") in ("revolute", "prismatic"):
        load.odd("joint limits", name, f"lower {lower:g} is above upper {upper:g}; taken as none")


def _losses(load: Import, joint: ElementTree.Element) -> list[float]:
    """Return damping and dry friction of a joint hidden from MuJoCo, for all directions, as MuJoCo would read them."""
    name, dynamics = joint.get("name", ""), joint.find("dynamics")
    given = {} if dynamics is None else dynamics.attrib
    damping, friction = _numbers(load, name, given, {"damping": "0", "friction": "0"})
    if friction:
        load.report.keep_friction(name, friction)
    return [damping, friction]


def _numbers(
    load: Import, joint: str, given: Mapping[str, str], defaults: Mapping[str, str], of: str = ""
) -> list[float]:
    """Return the numbers of a joint's element by the names of its attributes."""
    try:
        return [real(given.get(key, default)) for key, default in defaults.items()]
    except ValueError:
        wrong = f"joint {joint!r}: {of}{' and '.join(defaults)} must be numbers"
        raise ModelFileError(f"{load.path}: {wrong}", element=joint) from None


def _float(
    root: ElementTree.Element, children: Mapping[str, ElementTree.Element], prepared: _Prepared, path: Path
) -> None:
    """Give every root link a free joint named root (root_2 … if there are several)."""
    roots = [link.get("name", "") for link in root.findall("link") if link.get("name") not in children]
    for number, link in enumerate(roots, start=1):
        if link == WORLD:
            raise ArgumentError(f"{path}: floating_base: the root link is 'world', which is the ground")
        prepared.extra_joints[link] = [ExtraJoint("root" if number == 1 else f"root_{number}", "free")]


def _add_mimics(load: Import, prepared: _Prepared, fixed: Set[str]) -> None:
    """Add q = multiplier × q_other + offset as couplings named ``<joint>_mimic``."""
    scalar = {joint.name: joint for joint in load.mechanism.joints() if joint.nv == 1}
    for name, (other, multiplier, offset) in prepared.mimics.items():
        if name in fixed:
            load.odd("mimic", name, "the joint is fixed, so that it follows nothing")
        elif name not in scalar:
            reason = "the joint has no scalar coordinate"
            load.refuse("mimic", name, reason, "mimic revolute or prismatic joints")
        elif other in fixed:
            load.odd("mimic", name, f"joint {other!r} is fixed, so that there is nothing to follow")
        elif other not in scalar:
            load.odd("mimic", name, unknown_name("joint", other, scalar), element=other, valid=scalar)
        elif other == name:
            wrong = f"joint {name!r}: mimic: it follows itself; name another joint"
            raise ModelFileError(f"{load.path}: {wrong}", element=name)
        else:
            load.mechanism.add_coupling(f"{name}_mimic", {name: (-offset, 1.0), other: -multiplier})
            load.report.act("mimic", name)
