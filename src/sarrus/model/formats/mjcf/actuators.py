"""Actuators of a compiled MuJoCo model: those affine in the control are added, others are listed."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.model.formats.importing import Import
from sarrus.model.formats.mjcf.element_names import Names
from sarrus.model.formats.mjcf.transmissions import transmission
from sarrus.model.mechanism.elements import Activation, Winding

# actuator_ctrlspec of a dcmotor with its voltage as only input (mjINPUT_VOLTAGE). MuJoCo before version 4 does not have
# it; there another input appears among the gains.
_VOLTAGE = (0, 8)
_ACTIVATIONS = {"integrator": "integrator", "filter": "filter", "filterexact": "filter"}


def add_actuators(load: Import, names: Names) -> None:
    """Add every actuator whose force is affine in control, length and rate; list the others."""
    model, off = names.model, names.disabled("ACTUATION")
    for i, name in enumerate(names.actuators):
        damped = model.actuator_damping[i] or np.any(model.actuator_dampingpoly[i])
        if damped and not names.disabled("DAMPER"):
            where = "the tendon" if names.kind("actuator_trntype", i) == "tendon" else "the joint"
            load.report.act("actuator damping", name, f"times gear² on {where}")
        group_off = bool(int(model.opt.disableactuator) >> int(model.actuator_group[i]) & 1)
        if off or group_off:
            where = "<option><flag actuation>" if off else "<option actuatorgroupdisable>"
            load.report.set_aside("actuator", name, f"disabled by {where}")
            continue
        target, law = transmission(names, i), _law(names, i)
        if isinstance(target, str) or isinstance(law, str):
            load.report.leave_out("actuator", name, f"left out: {target if isinstance(target, str) else law}")
            continue
        actuator = load.mechanism.add_actuator(name, target, **law)
        if model.actuator_delay[i] > 0.0:
            reason = f"its delay of {model.actuator_delay[i]:g} s is left out: the control acts at once"
            load.report.leave_out("actuator", name, reason)
        elif actuator.activation is not None and model.actuator_actearly[i]:
            note = "actearly: MuJoCo's force uses the activation of the next step, here the present one"
            load.report.act("actuator", name, note)
        else:
            load.report.act("actuator", name)


def _law(names: Names, i: int) -> dict[str, Any] | str:
    """Return the arguments of `add_actuator` other than the target, or the reason why the force is not affine."""
    model = names.model
    gain_kind, bias_kind, dynamics = (
        names.kind(f"actuator_{table}", i) for table in ("gaintype", "biastype", "dyntype")
    )
    if model.actuator_plugin[i] >= 0:
        return "it is a plugin's"
    if "dcmotor" in (gain_kind, bias_kind, dynamics):
        return _motor(names, i)
    if gain_kind not in ("fixed", "affine"):
        return f"its law ({gain_kind}) is not affine in the control"
    if bias_kind not in ("none", "affine"):
        return f"its bias ({bias_kind}) is not affine in length and rate"
    if dynamics not in ("none", *_ACTIVATIONS):
        return f"activation dynamics of kind {dynamics!r} are not supported"
    activation = None
    if dynamics in _ACTIVATIONS:
        kind = _ACTIVATIONS[dynamics]
        time = float(model.actuator_dynprm[i][0]) if kind == "filter" else 0.0
        activation = Activation(kind, time, names.limits("actuator_act", i))
    return {
        "gain": model.actuator_gainprm[i][0],
        "gain_slopes": model.actuator_gainprm[i][1:3] if gain_kind == "affine" else (0.0, 0.0),
        "bias": model.actuator_biasprm[i][:3] if bias_kind == "affine" else np.zeros(3),
        **_limits(names, i),
        "activation": activation,
    }


def _limits(names: Names, i: int) -> dict[str, tuple[float, float] | None]:
    """Return the limits of control and force of an actuator."""
    clamped = not names.disabled("CLAMPCTRL")
    return {
        "limits": names.limits("actuator_ctrl", names.model.actuator_ctrladr[i]) if clamped else None,
        "force_limits": names.limits("actuator_force", i),
    }


def _motor(names: Names, i: int) -> dict[str, Any] | str:
    """Return the arguments of `add_actuator` for a dcmotor, or the reason why it is no plain winding."""
    model = names.model
    gain, bias, dynamics = (getattr(model, f"actuator_{of}prm")[i] for of in ("gain", "bias", "dyn"))
    ohm, k, time = float(gain[0]), float(gain[1]), float(dynamics[0])
    if int(model.actuator_ctrlspec[i]) not in _VOLTAGE or np.any(gain[4:]):
        return "its input is not its voltage alone"
    if k == 0.0:
        return "its motorconst is zero"
    more = {
        "cogging": bias[0],
        "LuGre friction": dynamics[5],
        "heat": dynamics[2],
        "current_rate": dynamics[1],
    }
    found = [name for name, number in more.items() if number]
    if found:
        return f"a dcmotor with {', '.join(found)} is not supported"
    if time == 0.0:
        law = {"gain": k / ohm, "bias": (0.0, 0.0, -k * k / ohm), "motor_constant": abs(k) / ohm**0.5}
        return {**law, **_limits(names, i)}
    return {"gain": k, "activation": Winding(time * ohm, ohm), **_limits(names, i)}
