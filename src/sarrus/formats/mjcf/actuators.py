"""Actuators of a compiled MuJoCo model: those that are affine in the control; others are listed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from sarrus.base.names import unique
from sarrus.formats.importing import Import
from sarrus.formats.mjcf.element_names import Names, actuator_count, address, enum_name
from sarrus.formats.mjcf.survey import disabled
from sarrus.formats.mjcf.transmissions import transmission
from sarrus.mechanism.elements import Activation
from sarrus.mechanism.transmissions import Transmission


@dataclass(frozen=True)
class _Law:
    """What is kept of an actuator's control law, and what changed."""

    gain: float
    bias: tuple[float, float, float]
    limits: tuple[float, float] | None
    activation: Activation | None = None
    note: str = ""
    gain_slopes: tuple[float, float] = (0.0, 0.0)


def add_actuators(load: Import, model: Any, names: Names) -> None:
    """Add every actuator that is affine in control, length and rate; warn by name of those left out."""
    off = disabled(model, "ACTUATION")
    for i in range(actuator_count(model)):
        name = names.actuators[i]
        group_off = bool(int(model.opt.disableactuator) >> int(model.actuator_group[i]) & 1)
        if off or group_off:
            where = "<option><flag actuation>" if off else "<option actuatorgroupdisable>"
            load.report.set_aside("actuator", name, f"disabled by {where}")
            continue
        target = transmission(model, names, i)
        law = _law(model, i)
        if isinstance(target, str) or isinstance(law, str):
            load.report.leave_out("actuator", name, f"left out: {target if isinstance(target, str) else law}")
            continue
        load.mechanism.add_actuator(
            name,
            target,
            gain=law.gain,
            bias=law.bias,
            limits=law.limits,
            force_limits=_force_limits(model, i),
            activation=law.activation,
            gain_slopes=law.gain_slopes,
        )
        if law.note:
            load.report.leave_out("actuator", name, law.note)
        else:
            early = law.activation is not None and bool(model.actuator_actearly[i])
            note = (
                "actearly: MuJoCo's force has the activation one step ahead, this one that of now"
                if early
                else ""
            )
            load.report.act("actuator", name, note)
        _reflected_damping(load, model, name, target, i)


def _law(model: Any, i: int) -> _Law | str:
    """Return gain, bias and control limits, or the reason why the law is not affine in u, length and rate."""
    gains, biases, dynamics = mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtDyn
    gain_kind, bias_kind = int(model.actuator_gaintype[i]), int(model.actuator_biastype[i])
    gain = model.actuator_gainprm[i][:3]
    if gain_kind not in (int(gains.mjGAIN_FIXED), int(gains.mjGAIN_AFFINE)):
        return f"its law ({enum_name(gains, gain_kind)}) is not affine in the control"
    if bias_kind not in (int(biases.mjBIAS_NONE), int(biases.mjBIAS_AFFINE)):
        return f"its bias ({enum_name(biases, bias_kind)}) is not affine in length and rate"
    bias = model.actuator_biasprm[i][:3] if bias_kind == int(biases.mjBIAS_AFFINE) else np.zeros(3)
    law = _Law(float(gain[0]), (float(bias[0]), float(bias[1]), float(bias[2])), _control_range(model, i))
    if gain_kind == int(gains.mjGAIN_AFFINE):
        law = replace(law, gain_slopes=(float(gain[1]), float(gain[2])))
    kind = int(model.actuator_dyntype[i])
    limits = _range(model.actuator_actrange[i]) if model.actuator_actlimited[i] else None
    if kind == int(dynamics.mjDYN_INTEGRATOR):
        law = replace(law, activation=Activation("integrator", limits=limits))
    elif kind in (int(dynamics.mjDYN_FILTER), int(dynamics.mjDYN_FILTEREXACT)):
        law = replace(law, activation=Activation("filter", float(model.actuator_dynprm[i][0]), limits))
    elif kind != int(dynamics.mjDYN_NONE):
        return f"activation dynamics of kind {enum_name(dynamics, kind)!r} are not supported"
    delayed = getattr(model, "actuator_delay", None)
    if delayed is not None and delayed[i] > 0.0:
        return replace(law, note=f"its delay of {delayed[i]:g} s is left out: the control acts at once")
    return law


def _control_range(model: Any, i: int) -> tuple[float, float] | None:
    control = address(model, "ctrl", i)
    if not model.actuator_ctrllimited[control] or disabled(model, "CLAMPCTRL"):
        return None
    return _range(model.actuator_ctrlrange[control])


def _range(pair: Any) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])


def _force_limits(model: Any, i: int) -> tuple[float, float] | None:
    return _range(model.actuator_forcerange[i]) if model.actuator_forcelimited[i] else None


def _reflected_damping(
    load: Import, model: Any, name: str, target: dict[str, float] | Transmission, i: int
) -> None:
    """Add the damping that an actuator reflects on its joint: damping × gear² (MuJoCo ≥ 4); tendons have their own."""
    damping = float(model.actuator_damping[i]) if hasattr(model, "actuator_damping") else 0.0
    on_tendon = int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_TENDON)
    lost = []
    if damping and not disabled(model, "DAMPER"):
        if isinstance(target, dict) and not on_tendon:
            mechanism = load.mechanism
            taken = (*mechanism.springs, *mechanism.coordinate_springs, *mechanism.tendons)
            mechanism.add_coordinate_spring(unique(f"{name}_damping", taken), target, damping=damping)
        load.report.act("actuator damping", name)
    if not on_tendon and hasattr(model, "actuator_dampingpoly") and np.any(model.actuator_dampingpoly[i]):
        lost.append("damping above first order")
    if lost:
        load.report.leave_out("actuator", name, f"left out: {' and '.join(lost)}")
