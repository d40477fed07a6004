"""Tendons of a compiled MuJoCo model, fixed and spatial, with the reflected damping and inertia of their actuators."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.tendon_builder import Item
from sarrus.model.formats.importing import Import
from sarrus.model.formats.mjcf.element_names import Names
from sarrus.model.formats.mjcf.reflected import on_tendon
from sarrus.model.mechanism.tendons import Pulley, TendonJoint, TendonPoint, Wrap


def tendon_path(names: Names, tendon: int) -> list[tuple[str, int, float]]:
    """Return (wrap kind, object index, parameter) along the path of a tendon."""
    model, first = names.model, int(names.model.tendon_adr[tendon])
    path = range(first, first + int(model.tendon_num[tendon]))
    return [(names.kind("wrap_type", k), int(model.wrap_objid[k]), float(model.wrap_prm[k])) for k in path]


def coordinate_weights(names: Names, tendon: int) -> dict[str, float] | None:
    """Return joint name → coefficient of a fixed tendon, None for a spatial one."""
    weights: dict[str, float] = {}
    for kind, joint, coefficient in tendon_path(names, tendon):
        if kind != "joint":
            return None
        weights[names.joints[joint]] = weights.get(names.joints[joint], 0.0) + coefficient
    return weights


def add_tendons(load: Import, names: Names) -> None:
    """Add every tendon with its spring, damper, inertia and range; list features that do not act."""
    model = names.model
    springs, dampers = (0.0 if names.disabled(flag) else 1.0 for flag in ("SPRING", "DAMPER"))
    for i, name in enumerate(names.tendons):
        weights, reflected = coordinate_weights(names, i), on_tendon(names, i)
        label = "spatial tendon" if weights is None else "fixed tendon"
        damping = dampers * (
            np.array([model.tendon_damping[i], *model.tendon_dampingpoly[i]]) + reflected[:-1]
        )
        stiffness = springs * np.array([model.tendon_stiffness[i], *model.tendon_stiffnesspoly[i]])
        armature = float(model.tendon_armature[i] + reflected[-1])
        tendon = load.mechanism.add_tendon(
            name,
            _path(names, i) if weights is None else weights,
            stiffness=stiffness[0],
            damping=damping[0],
            rest_length=tuple(model.tendon_lengthspring[i]),
            armature=armature,
            stiffness_higher=trimmed(stiffness[1:]),
            damping_higher=trimmed(damping[1:]),
            limits=None if names.disabled("LIMIT") else names.limits("tendon_", i),
            friction=0.0 if names.disabled("FRICTIONLOSS") else model.tendon_frictionloss[i],
            force_limits=names.limits("tendon_actfrc", i),
        )
        on = {item.body for item in tendon.path if not isinstance(item, (Pulley, TendonJoint))}
        if not (np.any(stiffness) or np.any(damping) or armature or tendon.ropes or tendon.friction):
            reason = (
                "no stiffness, damping, armature, range or friction; it acts through actuators and equalities"
            )
            load.report.set_aside(label, name, reason)
        elif len(on) == 1:
            load.report.set_aside(label, name, "it is all on one body; its length is constant")
        else:
            load.report.act(label, name)
        limits = names.limits("tendon_", i)
        if tendon.ropes and limits is not None:
            lower, upper = limits
            load.report.act("tendon range", name, f"({lower:g}, {upper:g}), exact and without rebound")
            if model.tendon_margin[i]:
                reason = (
                    f"its margin of {model.tendon_margin[i]:g} is left out: the limits are those of the range"
                )
                load.report.leave_out("tendon range", name, reason)
        if tendon.friction:
            load.report.act("tendon friction", name, f"dry friction of {tendon.friction:g} along its length")
        if hasattr(model, "tendon_springyield") and np.any(model.tendon_springyield[i]):  # MuJoCo ≥ 4
            load.report.leave_out(label, name, "the yield of its spring is left out: it stays elastic")


def _path(names: Names, tendon: int) -> list[Item]:
    """Return the path of a spatial tendon."""
    out: list[Item] = []
    model = names.model
    for kind, index, parameter in tendon_path(names, tendon):
        if kind == "site":
            out.append(TendonPoint(names.bodies[model.site_bodyid[index]], model.site_pos[index]))
        elif kind == "pulley":
            out.append(Pulley(parameter))
        else:
            side, site = None, round(parameter)
            if site >= 0:
                side = names.bodies[model.site_bodyid[site]], model.site_pos[site].copy()
            body, pose = names.place("geom", index)
            out.append(Wrap(body, kind, float(model.geom_size[index][0]), pose, side))
    return out


def trimmed(coefficients: Array | list[float], least: int = 0) -> tuple[float, ...]:
    """Return the coefficients without trailing zeros, at least ``least`` of them."""
    count = max((k + 1 for k, c in enumerate(coefficients) if c != 0.0), default=0)
    return tuple(map(float, coefficients[: max(count, least)]))
