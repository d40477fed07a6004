"""A loaded model against MuJoCo and Pinocchio: M, bias, forces, placements, sites, keyframes, constraint rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import casadi as ca
import mujoco
import numpy as np
from oracles import compiled, far, full_mass, smooth

from rows import rows_differ
from sarrus.symbolic.multibody.model import body_placements, trace
from sarrus.symbolic.multibody.sensors import sensor_values

# How far the controls of each state reach: within and beyond limits.
CONTROLS = (1.0, 100.0, 0.0)
# What is left out without changing a force, a mass or a placement in a configuration without contact.
HARMLESS = ("contact", "joint limit", "joint friction", "keyframe", "texture", "mesh", "sensor", "mocap")


def differences(path: Path, mechanism: Any) -> tuple[list[str], str]:
    """Return in what the mechanism differs from the oracles' model, and which oracle read the file ("" if none)."""
    if path.suffix.lower() in (".sdf", ".world"):
        return [], ""
    if path.suffix.lower() == ".urdf":  # the reference; MuJoCo loses inertias of links without mass
        found = _against_pinocchio(path, mechanism)
        if found is not None:
            return found, "Pinocchio"
    model = compiled(path)
    if model is None or model.nq != _joined(mechanism):
        return [], ""
    return list(against_mujoco(model, mechanism)), "MuJoCo"


def _joined(mechanism: Any) -> int:
    return sum(joint.nq for joint in mechanism.joints())


def against_mujoco(model: Any, mechanism: Any) -> Iterator[str]:
    """Yield in what a mechanism differs from a compiled model."""
    e = trace(mechanism)
    terms = [e.mass_matrix, e.bias_force, e.passive_force + e.input_force]
    function = ca.Function("terms", [e.q, e.v, e.u, e.t, e.p], [ca.densify(x) for x in terms])
    assert e.tree is not None
    places = ca.Function("places", [e.q], [body_placements(e.tree, list(mechanism.bodies), e.q)])
    sensors = _sensors(mechanism, e)
    yield from _keyframes(model, mechanism)
    yield from rows_differ(model, mechanism, e)
    smooth(model)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EQUALITY)
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    lost = mechanism.report.left_out
    whole = all(any(word in entry.kind for word in HARMLESS) for entry in lost)
    weighed = not any("armature" in entry.reason for entry in lost)
    parameters = np.array(list(e.parameter_values.values()))
    limits = [a.activation.limits or (0.0, 1.0) for a in mechanism.actuators.values() if a.activation]
    acts = np.array(
        [rng.uniform(max(lower, 0.0), min(upper, 1.0)) for lower, upper in limits]
    )  # else MuJoCo's go on
    for reach in CONTROLS:
        data.qpos[:] = model.qpos0
        mujoco.mj_integratePos(model, data.qpos, rng.normal(0, 0.3, model.nv), 1.0)
        data.qvel[:] = rng.normal(0, 1, model.nv)
        data.ctrl[:] = rng.normal(0, 1, model.nu) * reach
        if model.na == len(acts):
            data.act[:] = acts
        mujoco.mj_forward(model, data)
        controls, q = _controls(model, data, mechanism), np.concatenate([data.qpos, acts])
        mass, bias, force = (np.array(x) for x in function(q, data.qvel, controls, 0.0, parameters))
        if weighed:
            yield from far("M", mass, full_mass(model, data))
            yield from far("bias", bias[:, 0], data.qfrc_bias)
        if whole and len(controls) == model.nu and model.na == len(acts):
            yield from far("forces", force[:, 0], data.qfrc_passive + data.qfrc_actuator)
            for name, value in zip(mechanism.sensors, sensors(q, data.qvel, controls, parameters, data.qacc)):
                yield from _sensor(model, data, name, np.array(value)[:, 0])
        flat = np.array(places(q)).reshape(-1, 12)
        yield from _places(model, data, mechanism, dict(zip(mechanism.bodies, flat)))


def _controls(model: Any, data: Any, mechanism: Any) -> Any:
    """Return the controls of the actuators that were loaded."""
    ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name) for name in mechanism.actuators]
    if len(ids) == model.nu:
        return data.ctrl.copy()
    return np.array([data.ctrl[i] if i >= 0 else 0.0 for i in ids])


def _places(model: Any, data: Any, mechanism: Any, places: dict[str, Any]) -> Iterator[str]:
    kinds = mujoco.mjtObj
    for name, row in places.items():
        body = mujoco.mj_name2id(model, kinds.mjOBJ_BODY, name)
        if body > 0:
            yield from far(f"place of {name!r}", row, np.r_[data.xpos[body], data.xmat[body]])
    for name, (body, pose) in mechanism.frames.items():
        site = mujoco.mj_name2id(model, kinds.mjOBJ_SITE, name)
        if site >= 0:
            row = places.get(body, np.r_[np.zeros(3), np.eye(3).ravel()])
            origin, axes = row[:3], row[3:].reshape(3, 3)
            own = np.r_[origin + axes @ pose.position, (axes @ pose.rotation).ravel()]
            yield from far(f"site {name!r}", own, np.r_[data.site_xpos[site], data.site_xmat[site]])


def _sensors(mechanism: Any, e: Any) -> Any:
    """Return the function that gives what all sensors measure, at a given acceleration and without multipliers."""
    a = ca.SX.sym("a", e.nv)
    values = sensor_values(mechanism, e, a, ca.SX.zeros(e.nc, 1))
    outputs = [ca.densify(ca.substitute(x, e.t, 0.0)) for x in values.values()]
    function = ca.Function("sensors", [e.q, e.v, e.u, e.p, a], outputs)
    return lambda *given: function.call([ca.DM(x) for x in given])


def _sensor(model: Any, data: Any, name: str, own: Any) -> Iterator[str]:
    sensor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, name)
    if sensor >= 0:
        first, count = int(model.sensor_adr[sensor]), int(model.sensor_dim[sensor])
        other = data.sensordata[first : first + count]
        turned = int(model.sensor_datatype[sensor]) == int(mujoco.mjtDataType.mjDATATYPE_QUATERNION)
        yield from far(f"sensor {name!r}", -own if turned and own @ other < 0.0 else own, other)


def _keyframes(model: Any, mechanism: Any) -> Iterator[str]:
    told = {entry.name for entry in mechanism.report.left_out if entry.kind == "keyframe"}
    for key in range(model.nkey):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_KEY, key) or f"key_{key}"
        held = mechanism.keyframes.get(name)
        if held is None:
            continue
        values = np.r_[model.key_qpos[key], model.key_act[key]]
        if len(held.q) == model.nq:  # actuators with an activation are left out, which the report says
            values = model.key_qpos[key]
        pairs = [("q", held.q, values), ("t", held.t, model.key_time[key])]
        for what, own, values in (("v", held.v, model.key_qvel[key]), ("u", held.u, model.key_ctrl[key])):
            pairs.append((what, np.zeros_like(values) if own is None else own, values))
        for what, own, values in pairs if name not in told else pairs[:1]:
            yield from far(f"keyframe {name!r}: {what}", own, values)


def _against_pinocchio(path: Path, mechanism: Any) -> list[str] | None:
    """Return in what M and bias differ from Pinocchio's; None where it does not read the file or other joints."""
    try:
        import pinocchio as pin

        model = pin.buildModelFromUrdf(str(path))
    except Exception:
        return None
    names, joints = mechanism.velocity_names, {j.name for j in mechanism.joints() if j.nv == 1}
    if not names or model.nv != len(names) or set(model.names[1:]) != set(names) or joints != set(names):
        return None
    e, data, rng = trace(mechanism), model.createData(), np.random.default_rng(1)
    model.gravity.linear = mechanism.gravity
    function = ca.Function(
        "terms", [e.q, e.v, e.t, e.p], [ca.densify(e.mass_matrix), ca.densify(e.bias_force)]
    )
    order = [model.idx_vs[model.getJointId(name)] for name in names]
    parameters, found = list(e.parameter_values.values()), list[str]()
    for _ in range(3):
        angles, v = rng.normal(0, 0.5, model.nv), rng.normal(0, 1, model.nv)
        q = pin.integrate(model, pin.neutral(model), angles)
        mass = np.triu(pin.crba(model, data, q))
        mass = mass + np.triu(mass, 1).T
        own, bias = (np.array(x) for x in function(angles[order], v[order], 0.0, parameters))
        found += far("M", own, mass[np.ix_(order, order)])
        found += far("bias", bias[:, 0], pin.rnea(model, data, q, v, np.zeros(model.nv))[order])
    return found
