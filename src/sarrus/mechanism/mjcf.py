"""MJCF and compiled MuJoCo models: bodies, joints, keyframes, gravity of an ``mjModel`` as a `Mechanism`."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.errors import ModelFileError
from sarrus.mechanism.elements import WORLD
from sarrus.mechanism.importing import Import
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.mjcf_actuators import add_actuators
from sarrus.mechanism.mjcf_equalities import add_equalities
from sarrus.mechanism.mjcf_forces import add_forces
from sarrus.mechanism.mjcf_names import Names
from sarrus.mechanism.mjcf_shapes import add_geoms, shapes_of_bodies
from sarrus.mechanism.mjcf_sources import survey_sources
from sarrus.mechanism.mjcf_survey import disabled, survey
from sarrus.mechanism.mjcf_tendons import add_tendons
from sarrus.mechanism.model_xml import parse_xml
from sarrus.mechanism.mujoco_compiler import Compiled, compile_spec, message_of, warnings_in
from sarrus.mechanism.pose import Array, Pose


@dataclass(frozen=True)
class ExtraJoint:
    """A joint at the origin of a body which MuJoCo's parser has no word for; see `build`."""

    name: str
    kind: str
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)


def load_mjcf(path: Path, *, strict: bool = True) -> Import:
    """Read an MJCF file through MuJoCo's compiler; see `sarrus.load`."""
    root = parse_xml(path)
    mechanism = Mechanism(path.stem)
    mechanism.report.source = str(path)
    sources = survey_sources(path)
    try:
        with warnings_in(mechanism.report, path):
            spec = _parse(path, root)
    except Exception as error:  # MuJoCo raises ValueError, and FatalError for some files
        raise ModelFileError(f"{path}: MuJoCo: {message_of(error)}", element=str(path)) from None
    compiled = compile_spec(spec, path, mechanism.report)
    if spec.modelname and spec.modelname != "MuJoCo Model":
        mechanism.name = spec.modelname
    load = Import(path, mechanism, strict)
    sources.compare(load, compiled.model)
    build(load, compiled)
    mechanism.time_step = float(compiled.model.opt.timestep)
    mechanism.report.act(
        "time step", f"{mechanism.time_step:g} s", "for fixed steps without a number of their own"
    )
    return load


def _parse(path: Path, root: ElementTree.Element) -> Any:
    """Return the ``MjSpec`` of a file; MuJoCo reads files by suffix and knows .xml only."""
    import mujoco

    if path.suffix.lower() == ".xml":
        return mujoco.MjSpec.from_file(str(path))
    for include in root.iter("include"):
        include.set("file", str((path.parent / include.get("file", "")).resolve()))
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    spec.modelfiledir = str(path.parent)
    return spec


def build(
    load: Import,
    compiled: Compiled,
    extra_joints: Mapping[str, Sequence[ExtraJoint]] | None = None,
    *,
    prefer_visual: bool = False,
) -> None:
    """Fill ``load.mechanism`` from a compiled model.

    ``extra_joints`` maps body names to joints that replace the body's weld. ``prefer_visual`` draws only
    the visual geometry of bodies that have any (URDF).
    """
    model, names = compiled.model, Names(compiled.model)
    mechanism = load.mechanism
    mechanism.gravity = np.zeros(3) if disabled(model, "GRAVITY") else model.opt.gravity.copy()
    shapes = shapes_of_bodies(load, compiled, prefer_visual)
    mechanism.world_shapes = shapes.get(0, ())
    for body in range(1, model.nbody):
        mass, com, inertia = compiled.inertia_of(body)
        mechanism.add_body(names.bodies[body], mass, com, inertia, shapes=shapes.get(body, ()))
        _attach(load, model, names, body, (extra_joints or {}).get(names.bodies[body], ()))
        if mass == 0.0:
            load.report.act("body", names.bodies[body], "massless; legal where its motion is constrained")
        else:
            load.report.act("body", names.bodies[body])
        if model.body_mocapid[body] >= 0:
            load.report.leave_out(
                "mocap body", names.bodies[body], "kept as a body fixed to the ground at its first pose"
            )
    for site in range(model.nsite):
        body_name = names.bodies[model.site_bodyid[site]]
        pose = Pose.of(model.site_pos[site], quaternion=model.site_quat[site])
        mechanism.frames[names.sites[site]] = (body_name, pose)
    add_geoms(mechanism, model, names)
    add_equalities(load, model, names)
    add_tendons(load, model, names)
    add_actuators(load, model, names)
    add_forces(load, model, names)
    _add_keyframes(load, model, names, bool(extra_joints))
    survey(load.report, model, names)


def _attach(load: Import, model: Any, names: Names, body: int, extra: Sequence[ExtraJoint]) -> None:
    """Hang a body on its parent: by its joints in series, by ``extra`` ones, or fixed."""
    name, parent = names.bodies[body], names.bodies[model.body_parentid[body]]
    pose = Pose.of(model.body_pos[body], quaternion=model.body_quat[body])
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    if count == 0 and not extra:
        load.mechanism.add_joint(f"{name}_fixed", "fixed", parent, name, parent_pose=pose)
    for number, joint in enumerate(extra):
        if joint.kind == "free":
            _attach_free(load, joint.name, parent, name, pose)
        else:
            placement = pose if number == 0 else None
            load.mechanism.add_joint(
                joint.name, joint.kind, parent, name, axis=joint.axis, parent_pose=placement
            )
        load.report.act("joint", joint.name)
    for joint_id in range(first, first + count):
        _add_joint(load, model, names, joint_id, parent, pose, series=joint_id > first)
        load.report.act("joint", names.joints[joint_id])


def _attach_free(load: Import, joint: str, parent: str, body: str, pose: Pose) -> None:
    """Add a free joint; where nothing above the body moves it hangs on the world, as in MuJoCo."""
    bodies, ancestor, in_world = load.mechanism.bodies, parent, pose
    while ancestor != WORLD and not bodies[ancestor].joints:
        in_world = bodies[ancestor].placement @ in_world
        ancestor = bodies[ancestor].parent
    if ancestor == WORLD:
        parent, pose = WORLD, in_world
    load.mechanism.add_joint(
        joint, "free", parent, body, parent_pose=pose.position, reference=(*pose.position, *pose.quaternion)
    )


def _add_joint(
    load: Import, model: Any, names: Names, joint: int, parent: str, pose: Pose, *, series: bool
) -> None:
    """Add one MuJoCo joint; the second and later joints of a body act in series."""
    import mujoco

    kind = {
        int(mujoco.mjtJoint.mjJNT_HINGE): "revolute",
        int(mujoco.mjtJoint.mjJNT_SLIDE): "prismatic",
        int(mujoco.mjtJoint.mjJNT_BALL): "spherical",
        int(mujoco.mjtJoint.mjJNT_FREE): "free",
    }[int(model.jnt_type[joint])]
    nq, nv = {"spherical": (4, 3), "free": (7, 6)}.get(kind, (1, 1))
    iq, iv = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
    anchor = Pose(np.zeros(3) if kind == "free" else model.jnt_pos[joint])
    if kind == "free":  # its coordinates are the pose in the world, so its own frame has the world's axes
        pose = Pose(pose.position)
    limited = bool(model.jnt_limited[joint]) and nv == 1 and not disabled(model, "LIMIT")
    scale = 0.0 if disabled(model, "SPRING") else 1.0
    damping = 0.0 * model.dof_damping if disabled(model, "DAMPER") else model.dof_damping
    load.mechanism.add_joint(
        names.joints[joint],
        kind,
        parent,
        names.bodies[model.jnt_bodyid[joint]],
        axis=model.jnt_axis[joint] if nv == 1 else (0.0, 0.0, 1.0),
        parent_pose=None if series else pose @ anchor,
        child_pose=anchor,
        reference=_coordinates(model.qpos0, iq, nq),
        limits=tuple(model.jnt_range[joint]) if limited else None,
        stiffness=scale * float(model.jnt_stiffness[joint]),
        spring_reference=_coordinates(model.qpos_spring, iq, nq),
        damping=damping[iv : iv + nv].tolist(),
        actuator_force_limits=_actuator_force_limits(model, joint),
        armature=(model.dof_armature[iv : iv + nv] + _reflected_armature(model, joint)).tolist(),
    )


def _actuator_force_limits(model: Any, joint: int) -> tuple[float, float] | None:
    if not model.jnt_actfrclimited[joint] or int(model.jnt_type[joint]) not in (2, 3):
        return None
    return float(model.jnt_actfrcrange[joint][0]), float(model.jnt_actfrcrange[joint][1])


def _coordinates(values: Array, start: int, count: int) -> float | list[float]:
    return float(values[start]) if count == 1 else [float(x) for x in values[start : start + count]]


def _reflected_armature(model: Any, joint: int) -> float:
    """Return the rotor inertia that an actuator reflects on its joint, gear² × armature (MuJoCo ≥ 4)."""
    actuator = int(model.jnt_actuatorid[joint]) if hasattr(model, "jnt_actuatorid") else -1
    if actuator < 0:
        return 0.0
    gear = float(model.actuator_gear[model.actuator_outadr[actuator]][0])
    return gear**2 * float(model.actuator_armature[actuator])


def _add_keyframes(load: Import, model: Any, names: Names, has_extra_joints: bool) -> None:
    for key in range(model.nkey):
        name = names.keyframes[key]
        if has_extra_joints:
            load.report.leave_out(
                "keyframe", name, "its coordinates lack those of the joints added on import"
            )
            continue
        load.mechanism.keyframes[name] = np.concatenate([model.key_qpos[key], model.key_act[key]])
        rest = [
            label
            for label, values in (
                ("qvel", model.key_qvel[key]),
                ("ctrl", model.key_ctrl[key]),
            )
            if np.any(values)
        ]
        if rest:
            load.report.leave_out("keyframe", name, f"qpos kept; {', '.join(rest)} left out")
        else:
            load.report.act("keyframe", name)
