"""Tendons of a compiled MuJoCo model: fixed and spatial ones, with what the actuators on them reflect."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sarrus.base.arrays import Array
from sarrus.formats.importing import Import
from sarrus.formats.mjcf.element_names import Names, actuator_count, address
from sarrus.formats.mjcf.survey import disabled
from sarrus.mechanism.pose import Pose
from sarrus.mechanism.tendon_builder import Item
from sarrus.mechanism.tendons import Pulley, TendonJoint, TendonPoint, Wrap


def tendon_path(model: Any, tendon: int) -> list[tuple[int, int, float]]:
    """Return (wrap kind, object index, parameter) along the path of a tendon."""
    first = int(model.tendon_adr[tendon])
    path = range(first, first + int(model.tendon_num[tendon]))
    return [(int(model.wrap_type[k]), int(model.wrap_objid[k]), float(model.wrap_prm[k])) for k in path]


def two_sites(model: Any, tendon: int) -> tuple[int, int] | None:
    """Return the sites of a spatial tendon that is one straight line, else None."""
    path = tendon_path(model, tendon)
    if len(path) == 2 and all(kind == int(mujoco.mjtWrap.mjWRAP_SITE) for kind, _, _ in path):
        return path[0][1], path[1][1]
    return None


def coordinate_weights(model: Any, names: Names, tendon: int) -> dict[str, float] | None:
    """Return joint name → coefficient of a fixed tendon, None for a spatial one."""
    weights: dict[str, float] = {}
    for kind, joint, coefficient in tendon_path(model, tendon):
        if kind != int(mujoco.mjtWrap.mjWRAP_JOINT):
            return None
        weights[names.joints[joint]] = weights.get(names.joints[joint], 0.0) + coefficient
    return weights


def add_tendons(load: Import, model: Any, names: Names) -> None:
    """Add every tendon with its spring, damper and inertia; what does not act is listed by name."""
    springs, dampers = (0.0 if disabled(model, flag) else 1.0 for flag in ("SPRING", "DAMPER"))
    for i in range(model.ntendon):
        name, weights = names.tendons[i], coordinate_weights(model, names, i)
        label = "spatial tendon" if weights is None else "fixed tendon"
        reflected = _reflected(model, i)
        damping = dampers * (_higher(model, "tendon_damping", i) + reflected[:-1])
        stiffness = springs * _higher(model, "tendon_stiffness", i)
        armature = float(_row(model, "tendon_armature", i)[0] + reflected[-1])
        limited = bool(model.tendon_limited[i]) and not disabled(model, "LIMIT")
        bounded = bool(getattr(model, "tendon_actfrclimited", np.zeros(model.ntendon))[i])
        load.mechanism.add_tendon(
            name,
            _path(model, names, i) if weights is None else weights,
            stiffness=float(stiffness[0]),
            damping=float(damping[0]),
            rest_length=_pair(model.tendon_lengthspring[i]),
            armature=armature,
            stiffness_higher=_trimmed(stiffness[1:]),
            damping_higher=_trimmed(damping[1:]),
            limits=_pair(model.tendon_range[i]) if limited else None,
            friction=float(model.tendon_frictionloss[i]),
            force_limits=_pair(model.tendon_actfrcrange[i]) if bounded else None,
        )
        if not (np.any(stiffness) or np.any(damping) or armature):
            load.report.set_aside(
                label,
                name,
                "no stiffness, damping or armature; it acts only through actuators and equalities",
            )
        elif weights is None and _is_rigid(load, name):
            load.report.set_aside(label, name, "it is all on one body; its length is constant")
        else:
            load.report.act(label, name)
        _note_rest(load, model, i, label, name)


def _path(model: Any, names: Names, tendon: int) -> list[Item]:
    """Return the path of a spatial tendon."""
    kinds = mujoco.mjtWrap
    out: list[Item] = []
    for kind, index, parameter in tendon_path(model, tendon):
        if kind == int(kinds.mjWRAP_SITE):
            out.append(TendonPoint(names.bodies[model.site_bodyid[index]], model.site_pos[index]))
        elif kind == int(kinds.mjWRAP_PULLEY):
            out.append(Pulley(parameter))
        else:
            side, site = None, round(parameter)
            if site >= 0:
                side = names.bodies[model.site_bodyid[site]], model.site_pos[site].copy()
            shape = "sphere" if kind == int(kinds.mjWRAP_SPHERE) else "cylinder"
            pose = Pose.of(model.geom_pos[index], quaternion=model.geom_quat[index])
            body = names.bodies[model.geom_bodyid[index]]
            out.append(Wrap(body, shape, float(model.geom_size[index][0]), pose, side))
    return out


def _is_rigid(load: Import, name: str) -> bool:
    """Tell whether all of a spatial tendon is on one body."""
    places = [
        item.body for item in load.mechanism.tendons[name].path if not isinstance(item, (Pulley, TendonJoint))
    ]
    return len(set(places)) == 1


def _reflected(model: Any, tendon: int) -> Array:
    """Return damping of all orders and armature of the actuators on a tendon, times gear² (MuJoCo ≥ 4)."""
    total = np.zeros(2 + np.shape(getattr(model, "actuator_dampingpoly", np.zeros((1, 0))))[1])
    if not hasattr(model, "actuator_damping") or int(model.tendon_actuatorid[tendon]) == -1:
        return total
    for i in range(actuator_count(model)):
        on_tendon = int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_TENDON)
        if on_tendon and int(model.actuator_trnid[i][0]) == tendon:
            gear = float(model.actuator_gear[address(model, "out", i)][0])
            own = [*_higher(model, "actuator_damping", i), model.actuator_armature[i]]
            total += gear**2 * np.array(own)
    return total


def _pair(values: Array) -> tuple[float, float]:
    return float(values[0]), float(values[1])


def _row(model: Any, attribute: str, index: int) -> Array:
    """Return the numbers of one element, zero where this MuJoCo has no such number."""
    values = getattr(model, attribute, None)
    return np.zeros(1) if values is None else np.atleast_1d(values[index])


def _higher(model: Any, attribute: str, index: int) -> Array:
    """Return a coefficient with those above first order behind it, where this MuJoCo has any."""
    linear, higher = _row(model, attribute, index), getattr(model, f"{attribute}poly", None)
    return linear if higher is None else np.concatenate([linear, higher[index]])


def _trimmed(coefficients: Array) -> tuple[float, ...]:
    """Return the coefficients without trailing zeros."""
    count = max((k + 1 for k, c in enumerate(coefficients) if c != 0.0), default=0)
    return tuple(map(float, coefficients[:count]))


def _note_rest(load: Import, model: Any, i: int, label: str, name: str) -> None:
    """List what a tendon has and does not act here."""
    tendon, kept = load.mechanism.tendons[name], []
    if tendon.limits is not None:
        kept.append("length limits ({:g}, {:g})".format(*tendon.limits))
    if tendon.friction:
        kept.append(f"dry friction {tendon.friction:g}")
    if kept:
        load.report.keep(label, name, "recorded, does not act: " + "; ".join(kept))
    if np.any(_row(model, "tendon_springyield", i)):
        load.report.leave_out(label, name, "the yield of its spring is left out: it stays elastic")
