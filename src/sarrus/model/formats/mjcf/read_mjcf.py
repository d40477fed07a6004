"""MJCF and compiled MuJoCo models: bodies, joints, keyframes, gravity of an ``mjModel`` as a `Mechanism`."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.importing import Import
from sarrus.model.formats.mjcf.actuators import add_actuators
from sarrus.model.formats.mjcf.coverage import report_coverage
from sarrus.model.formats.mjcf.element_names import Names, enum_name
from sarrus.model.formats.mjcf.equalities import add_equalities
from sarrus.model.formats.mjcf.forces import add_forces
from sarrus.model.formats.mjcf.keyframes import add_keyframes
from sarrus.model.formats.mjcf.reflected import on_joint
from sarrus.model.formats.mjcf.sensors import add_sensors
from sarrus.model.formats.mjcf.shapes import add_geoms, shapes_of_bodies
from sarrus.model.formats.mjcf.sources import survey_sources
from sarrus.model.formats.mjcf.tendons import add_tendons
from sarrus.model.formats.model_xml import parse_xml
from sarrus.model.formats.mujoco_compiler import Compiled, compile_spec
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.joint import COORDINATE_LABELS, VELOCITY_LABELS
from sarrus.model.mechanism.pose import Pose

# Mass [kg], centre of mass [m] and inertia about it [kg m²] in body axes.
Inertia = tuple[float, Array, Array]


@dataclass(frozen=True)
class ExtraJoint:
    """A joint at the origin of a body of a type that MuJoCo's parser does not have; see `build`."""

    name: str
    kind: str
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    damping: float = 0.0
    friction: float = 0.0


def load_mjcf(path: Path, *, strict: bool | None = None) -> Import:
    """Read an MJCF file through MuJoCo's compiler; see `sarrus.load`."""
    load = Import(path, strict)
    mechanism = load.mechanism
    sources = survey_sources(load)
    compiled = compile_spec(lambda: _parse(path), load)
    mechanism.name = compiled.name or path.stem
    sources.compare(compiled.model)
    build(load, compiled)
    name = enum_name(mujoco.mjtIntegrator, compiled.model.opt.integrator)
    mechanism.integrator = {"euler": "Euler", "rk4": "RK4"}.get(name, name)
    load.keep_time_step(float(compiled.model.opt.timestep))
    return load


def _parse(path: Path) -> Any:
    """Return the ``MjSpec`` of a file; MuJoCo selects the parser by suffix and accepts .xml only."""
    if path.suffix.lower() == ".xml":
        return mujoco.MjSpec.from_file(str(path))
    root = parse_xml(path)
    for include in root.iter("include"):
        include.set("file", str((path.parent / include.get("file", "")).resolve()))
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    spec.modelfiledir = str(path.parent)
    return spec


def build(
    load: Import,
    compiled: Compiled,
    extra_joints: Mapping[str, Sequence[ExtraJoint]] | None = None,
    inertias: Mapping[str, Inertia] | None = None,
    *,
    prefer_visual: bool = False,
) -> None:
    """Fill ``load.mechanism`` from a compiled model.

    ``extra_joints`` maps body names to joints that replace the body's weld; ``inertias`` maps them to inertias that
    replace the compiled ones. ``prefer_visual`` draws only the visual geometry of bodies that have any (URDF).
    """
    model, names = compiled.model, Names(compiled.model)
    mechanism, extra = load.mechanism, extra_joints or {}
    on_world = any(joint.kind == "free" for joints in extra.values() for joint in joints)
    mechanism.gravity = np.zeros(3) if names.disabled("GRAVITY") else model.opt.gravity.copy()
    shapes = shapes_of_bodies(load, compiled, names, prefer_visual)
    mechanism.world_shapes = shapes.get(0, ())
    for body, name in enumerate(names.bodies[1:], start=1):
        mass, com, inertia = (inertias or {}).get(name) or compiled.inertia_of(body)
        added = load.add_body(name, mass, com, inertia, shapes.get(body, ()))
        _attach(load, names, body, extra.get(name, ()), on_world)
        note = ""
        if mass == 0.0 and not added.inertia.any():
            moves = model.body_jntnum[body] or name in extra
            note = "massless; legal where its motion is constrained" if moves else "massless"
        load.report.act("body", name, note)
        if model.body_mocapid[body] >= 0:
            mechanism.drive(name)
            note = "at its pose in the file until mechanism.drive(body, function of t) moves it"
            load.report.act("mocap body", name, note)
    for site, name in enumerate(names.sites):
        mechanism.frames[name] = names.place("site", site)
    add_geoms(mechanism, compiled, names)
    for add in (add_tendons, add_equalities, add_actuators, add_forces, add_keyframes, add_sensors):
        add(load, names)
    report_coverage(load.report, names)


def _attach(load: Import, names: Names, body: int, extra: Sequence[ExtraJoint], on_world: bool) -> None:
    """Attach a body to its parent: by its joints in series, by ``extra`` joints, or fixed.

    With ``on_world`` a body that moves relative to a fixed link is attached to the world. A floating joint requires it,
    because its coordinates are the pose in the world, and the order of the other coordinates would change otherwise.
    """
    model = names.model
    name, parent = names.bodies[body], names.bodies[model.body_parentid[body]]
    pose = Pose.of(model.body_pos[body], quaternion=model.body_quat[body])
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    if on_world and (count or extra):
        parent, pose = _from_the_world(load.mechanism, parent, pose)
    if count == 0 and not extra:
        load.mechanism.add_joint(f"{name}_fixed", "fixed", parent, name, parent_pose=pose)
    for number, joint in enumerate(extra):
        given: dict[str, Any] = {"axis": joint.axis, "parent_pose": pose if number == 0 else None}
        if joint.kind == "free":
            given = {"parent_pose": pose.position, "reference": (*pose.position, *pose.quaternion)}
        given |= {"damping": joint.damping, "friction": joint.friction}
        load.mechanism.add_joint(joint.name, joint.kind, parent, name, **given)
        load.report.act("joint", joint.name)
    for joint_id in range(first, first + count):
        _add_joint(load, names, joint_id, parent, pose, series=joint_id > first)
        load.report.act("joint", names.joints[joint_id])


def _from_the_world(mechanism: Mechanism, parent: str, pose: Pose) -> tuple[str, Pose]:
    """Return the world and the pose in it if neither the parent nor its ancestors move, else the arguments."""
    bodies, ancestor, in_world = mechanism.bodies, parent, pose
    while ancestor != WORLD and not bodies[ancestor].joints:
        in_world = bodies[ancestor].placement @ in_world
        ancestor = bodies[ancestor].parent
    return (WORLD, in_world) if ancestor == WORLD else (parent, pose)


def _add_joint(load: Import, names: Names, joint: int, parent: str, pose: Pose, *, series: bool) -> None:
    """Add one MuJoCo joint; the second and later joints of a body act in series."""
    model, kind = names.model, names.joint_kinds[joint]
    scalar = kind in ("revolute", "prismatic")
    anchor = Pose(np.zeros(3) if kind == "free" else model.jnt_pos[joint])
    if kind == "free":  # its coordinates are the pose in the world, so its frame has the world's axes
        pose = Pose(pose.position)
    limits = None if names.disabled("LIMIT") else names.limits("jnt_", joint)
    springs, dampers, friction = (
        0.0 if names.disabled(flag) else 1.0 for flag in ("SPRING", "DAMPER", "FRICTIONLOSS")
    )
    reflected = on_joint(names, joint)
    iq, iv = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
    q, v = slice(iq, iq + len(COORDINATE_LABELS[kind])), slice(iv, iv + len(VELOCITY_LABELS[kind]))
    load.mechanism.add_joint(
        names.joints[joint],
        kind,
        parent,
        names.bodies[model.jnt_bodyid[joint]],
        axis=model.jnt_axis[joint] if scalar else (0.0, 0.0, 1.0),
        parent_pose=None if series else pose @ anchor,
        child_pose=anchor,
        reference=model.qpos0[q].tolist(),
        limits=limits if scalar else None,
        stiffness=springs * float(model.jnt_stiffness[joint]),
        spring_reference=model.qpos_spring[q].tolist(),
        damping=(dampers * (model.dof_damping[v] + reflected[0])).tolist(),
        actuator_force_limits=names.limits("jnt_actfrc", joint) if scalar else None,
        friction=(friction * model.dof_frictionloss[v]).tolist(),
        largest_angle=limits[1] if limits and kind == "spherical" else None,
        armature=(model.dof_armature[v] + reflected[-1]).tolist(),
    )
