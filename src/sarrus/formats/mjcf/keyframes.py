"""Keyframes of a compiled MuJoCo model: coordinates, velocities, controls and time, by the names of their joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.formats.importing import Import
from sarrus.formats.mjcf.element_names import Names, actuator_count
from sarrus.mechanism.keyframe import Keyframe
from sarrus.mechanism.pose import Pose


def add_keyframes(load: Import, model: Any, names: Names) -> None:
    """Add every keyframe; joints that the model does not know stay at their reference, at rest."""
    for key in range(model.nkey):
        name, lost, kept = names.keyframes[key], [], []
        q, v = _state(load, model, names, key)
        u, without = _controls(load, model, names, key)
        w, inert = _activations(load, model, names, key)
        lost += [f"{what} of {', '.join(of)}" for what, of in (("ctrl", without), ("act", inert)) if of]
        poses = _poses(load, model, names, key)
        if any(not _same(pose, load.mechanism.bodies[body].placement) for body, pose in poses):
            kept.append("mpos and mquat are recorded in its poses: drive the bodies there")
        load.mechanism.keyframes[name] = Keyframe(
            name,
            np.concatenate([q, w]),
            v if v.any() else None,
            u if u.any() else None,
            float(model.key_time[key]),
            poses,
        )
        if lost:
            load.report.leave_out("keyframe", name, f"left out: {', '.join(lost)}, which is not here")
        elif kept:
            load.report.keep("keyframe", name, "; ".join(kept))
        else:
            load.report.act("keyframe", name)


def _state(load: Import, model: Any, names: Names, key: int) -> tuple[Array, Array]:
    """Return the coordinates of the joints and v of a keyframe in the order of the mechanism."""
    addresses = {name: j for j, name in enumerate(names.joints)}
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


def _controls(load: Import, model: Any, names: Names, key: int) -> tuple[Array, list[str]]:
    """Return u in the order of the mechanism's actuators, and the names of those that are not there."""
    given = {}
    for i in range(actuator_count(model)):
        addresses = getattr(model, "actuator_ctrladr", None)
        given[names.actuators[i]] = float(model.key_ctrl[key][i if addresses is None else int(addresses[i])])
    u = np.array([given.pop(name, 0.0) for name in load.mechanism.actuators])
    return u, [name for name, value in given.items() if value]


def _activations(load: Import, model: Any, names: Names, key: int) -> tuple[Array, list[str]]:
    """Return the activations of the mechanism's actuators, and the names of those that have none there."""
    given = {
        names.actuators[i]: float(model.key_act[key][model.actuator_actadr[i]])
        for i in range(actuator_count(model))
        if model.actuator_actadr[i] >= 0
    }
    actuators = [a for a in load.mechanism.actuators.values() if a.activation is not None]
    w = np.array([given.pop(actuator.name, 0.0) for actuator in actuators])
    return w, [name for name, value in given.items() if value]


def _poses(load: Import, model: Any, names: Names, key: int) -> tuple[tuple[str, Pose], ...]:
    """Return where the driven bodies are at a keyframe."""
    positions, turns = model.key_mpos[key].reshape(-1, 3), model.key_mquat[key].reshape(-1, 4)
    bodies = [b for b in range(model.nbody) if model.body_mocapid[b] >= 0]
    return tuple(
        (names.bodies[b], Pose.of(positions[m], quaternion=turns[m]))
        for b in bodies
        for m in [int(model.body_mocapid[b])]
    )


def _same(one: Pose, other: Pose) -> bool:
    return bool(
        np.abs(one.position - other.position).max() < 1e-12
        and np.abs(one.rotation - other.rotation).max() < 1e-12
    )
