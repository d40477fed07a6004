"""A loaded model against MuJoCo and Pinocchio: M, bias, forces, placements, constraint rows; and what nobody told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import casadi as ca
import mujoco
import numpy as np

from sarrus.multibody.model import body_placements, trace

sys.path.append(str(Path(__file__).resolve().parent.parent / "attacks"))
from model_files_oracle import untold
from model_files_seeds import Case

STATES = 3
# Relative difference that is none.
SAME = 1e-9
# What is left out without changing a force, a mass or a placement in a configuration without contact.
HARMLESS = ("contact", "joint limit", "joint limits", "keyframe", "texture", "mesh", "transmission")


def silent_losses(path: Path, mechanism: Any) -> list[str]:
    """Return what the file has that is neither in the mechanism nor in its report."""
    lost = untold(Case(path.name, {path.name: path.read_bytes()}), mechanism)
    if path.suffix.lower() in (".xml", ".mjcf"):
        model = _compiled(path)
        lost += list(_uncounted(model, mechanism)) if model is not None else []
    return lost


def differences(path: Path, mechanism: Any) -> tuple[list[str], str]:
    """Return in what the mechanism differs from the oracles' model, and which oracle read the file ("" if none)."""
    if path.suffix.lower() in (".sdf", ".world"):
        return [], ""
    model = _compiled(path)
    if model is not None and model.nq == _joined(mechanism):
        return list(_against_mujoco(model, mechanism)), "MuJoCo"
    return (list(_against_pinocchio(path, mechanism)), "Pinocchio") if path.suffix == ".urdf" else ([], "")


def _joined(mechanism: Any) -> int:
    return sum(joint.nq for joint in mechanism.joints())


def _compiled(path: Path) -> Any:
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        if (
            path.suffix == ".urdf"
        ):  # links without <inertial> are massless for all readers of URDF but this one
            spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
        model = spec.compile()
    except Exception:
        return None
    bits = mujoco.mjtDisableBit
    for name in ("CONTACT", "LIMIT", "FRICTIONLOSS", "EQUALITY"):
        model.opt.disableflags |= int(getattr(bits, f"mjDSBL_{name}"))
    return model


def _uncounted(model: Any, mechanism: Any) -> Iterator[str]:
    """Yield the kinds of which MuJoCo has more than mechanism and report account for."""
    names = [entry.name for entry in mechanism.report]
    told = " ".join(f"{entry.kind} {entry.name}" for entry in mechanism.report)
    joints = sum(len(joint.name) > 0 for joint in mechanism.joints())
    if joints < model.njnt and "joint" not in told:
        yield f"{model.njnt} joints, {joints} loaded"
    for count, kind, found in (
        (model.nu, "actuator", len(mechanism.actuators)),
        (model.neq, "equality", len(mechanism.closures) + len(mechanism.couplings)),
        (model.nkey, "keyframe", len(mechanism.keyframes)),
        (model.nsite, "site", len(mechanism.frames)),
        (model.nbody - 1, "body", len(mechanism.bodies)),
    ):
        listed = sum(kind in entry.kind for entry in mechanism.report)
        if max(found, listed) < count:
            yield f"{count} elements of kind {kind}, {found} loaded and {listed} told"
    for count, kind in ((model.nsensor, "sensor"), (model.ntendon, "tendon"), (model.nflex, "flex")):
        if count and kind not in told:
            yield f"{count} elements of kind {kind}, none told"
    del names


def _against_mujoco(model: Any, mechanism: Any) -> Iterator[str]:
    e = trace(mechanism)
    terms = [e.mass_matrix, e.bias_force, e.passive_force + e.input_force]
    function = ca.Function("terms", [e.q, e.v, e.u, e.t, e.p], [ca.densify(x) for x in terms])
    assert e.tree is not None
    names = list(mechanism.bodies)
    places = ca.Function("places", [e.q], [body_placements(e.tree, names, e.q)])
    whole = all(any(word in entry.kind for word in HARMLESS) for entry in mechanism.report.left_out)
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    parameters = np.array(list(e.parameter_values.values()))
    acts = list(mechanism.reference()[_joined(mechanism) :])
    for _ in range(STATES):
        step = rng.normal(0, 0.3, model.nv)
        data.qpos[:] = model.qpos0
        mujoco.mj_integratePos(model, data.qpos, step, 1.0)
        data.qvel[:], data.ctrl[:] = rng.normal(0, 1, model.nv), rng.normal(0, 1, model.nu)
        if model.na == len(acts):
            data.act[:] = acts
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        _full_mass(model, data, mass)
        controls = _controls(model, data, mechanism)
        q = np.concatenate([data.qpos, acts])
        m, h, force = (np.array(x) for x in function(q, data.qvel, controls, 0.0, parameters))
        yield from _far("M", m, mass)
        yield from _far("bias", h[:, 0], data.qfrc_bias)
        if whole and len(controls) == model.nu:
            yield from _far("forces", force[:, 0], data.qfrc_passive + data.qfrc_actuator)
        flat = np.array(places(q)).reshape(-1, 12)
        for name, row in zip(names, flat):
            body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
            if body > 0:
                yield from _far(f"place of {name!r}", row, np.r_[data.xpos[body], data.xmat[body]])


def _controls(model: Any, data: Any, mechanism: Any) -> Any:
    """Return the controls of the actuators that were loaded."""
    ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name) for name in mechanism.actuators]
    if len(ids) == model.nu:
        return data.ctrl.copy()
    return np.array([data.ctrl[i] if i >= 0 else 0.0 for i in ids])


def _full_mass(model: Any, data: Any, mass: Any) -> None:
    try:
        mujoco.mj_fullM(model, mass, data.qM)
    except (TypeError, AttributeError):  # from MuJoCo 4 on
        mujoco.mj_fullM(model, data, mass)


def _against_pinocchio(path: Path, mechanism: Any) -> Iterator[str]:
    try:
        import pinocchio as pin
    except ImportError:
        return
    try:
        model = pin.buildModelFromUrdf(str(path))
    except Exception:
        return
    free = set(model.names[1:]) & {joint.name for joint in mechanism.joints() if joint.nv == 1}
    if model.nv != len(free) or len(free) != len(mechanism.velocity_names()):
        return
    e, data, rng = trace(mechanism), model.createData(), np.random.default_rng(1)
    function = ca.Function("M", [e.q, e.t, e.p], [ca.densify(e.mass_matrix)])
    order = [model.idx_vs[model.getJointId(name)] for name in mechanism.velocity_names()]
    for _ in range(STATES):
        v = rng.normal(0, 0.5, model.nv)
        q = pin.integrate(model, pin.neutral(model), v)
        mass = pin.crba(model, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T
        own = np.array(function(v[order], 0.0, list(e.parameter_values.values())))
        yield from _far("M", own, mass[np.ix_(order, order)])


def _far(what: str, own: Any, other: Any) -> Iterator[str]:
    own, other = np.asarray(own), np.asarray(other)
    if not own.size:
        return
    difference = float(np.abs(own - other).max()) / (1e-12 + float(np.abs(other).max(initial=1e-3)))
    if not difference <= SAME:
        yield f"{what} differs by {difference:.1e} of its size"
