"""Keyframes of a compiled MuJoCo model: coordinates, velocities, controls and time, by the names of their joints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.formats.importing import Import
from sarrus.model.formats.mjcf.element_names import Names
from sarrus.model.formats.mjcf.tolerances import SAME_POSE
from sarrus.model.mechanism.keyframe import Keyframe
from sarrus.model.mechanism.pose import Pose


def add_keyframes(load: Import, names: Names) -> None:
    """Add every keyframe; joints unknown to MuJoCo stay at their reference, at rest."""
    model, mechanism = names.model, load.mechanism
    drivers = [name for name, a in mechanism.actuators.items() if a.activation is not None]
    driven = [(body, int(m)) for body, m in zip(names.bodies, model.body_mocapid) if m >= 0]
    for key, name in enumerate(names.keyframes):
        q, v = _state(load, names, key)
        u, lost = _of_actuators(names, model.key_ctrl[key], model.actuator_ctrladr, mechanism.actuators)
        w, inert = _of_actuators(names, model.key_act[key], model.actuator_actadr, drivers)
        without = [f"{what} of {', '.join(of)}" for what, of in (("ctrl", lost), ("act", inert)) if of]
        places, turns = model.key_mpos[key].reshape(-1, 3), model.key_mquat[key].reshape(-1, 4)
        poses = tuple((body, Pose.of(places[m], quaternion=turns[m])) for body, m in driven)
        keyframe = Keyframe(
            name,
            np.concatenate([q, w]),
            v if v.any() else None,
            u if u.any() else None,
            float(model.key_time[key]),
            poses,
        )
        mechanism.keyframes[name] = keyframe
        if without:
            load.report.leave_out("keyframe", name, f"left out: {', '.join(without)}, which is not here")
        elif any(not _same(pose, mechanism.bodies[body].placement) for body, pose in poses):
            reason = "mpos and mquat are recorded in its poses: drive the bodies there"
            load.report.keep("keyframe", name, reason)
        else:
            load.report.act("keyframe", name)


def _state(load: Import, names: Names, key: int) -> tuple[Array, Array]:
    """Return the coordinates of the joints and v of a keyframe in the order of the mechanism."""
    model, addresses = names.model, {name: j for j, name in enumerate(names.joints)}
    q: list[float] = []
    v: list[float] = []
    for joint in load.mechanism.joints():
        if joint.name not in addresses:
            q += joint.reference
            v += [0.0] * joint.nv
            continue
        j = addresses[joint.name]
        iq, iv = int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])
        q += model.key_qpos[key][iq : iq + joint.nq].tolist()
        v += model.key_qvel[key][iv : iv + joint.nv].tolist()
    return np.array(q), np.array(v)


def _of_actuators(
    names: Names, values: Array, addresses: Array, wanted: Iterable[str]
) -> tuple[Array, list[str]]:
    """Return the controls or activations of the wanted actuators, and the names of others with a nonzero value."""
    given = {name: float(values[at]) for name, at in zip(names.actuators, addresses) if at >= 0}
    found = np.array([given.pop(name, 0.0) for name in wanted])
    return found, [name for name, value in given.items() if value]


def _same(one: Pose, other: Pose) -> bool:
    return bool(
        np.abs(one.position - other.position).max() < SAME_POSE
        and np.abs(one.rotation - other.rotation).max() < SAME_POSE
    )
