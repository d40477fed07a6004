"""Tendons of a compiled MuJoCo model as springs on coordinates and between points."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.mechanism.importing import Import
from sarrus.mechanism.mjcf_names import Names
from sarrus.mechanism.mjcf_survey import disabled
from sarrus.mechanism.pose import Array


def tendon_path(model: Any, tendon: int) -> list[tuple[int, int, float]]:
    """Return (wrap kind, object index, parameter) along the path of a tendon."""
    first = int(model.tendon_adr[tendon])
    path = range(first, first + int(model.tendon_num[tendon]))
    return [(int(model.wrap_type[k]), int(model.wrap_objid[k]), float(model.wrap_prm[k])) for k in path]


def two_sites(model: Any, tendon: int) -> tuple[int, int] | None:
    """Return the sites of a spatial tendon that is one straight line, else None."""
    import mujoco

    path = tendon_path(model, tendon)
    if len(path) == 2 and all(kind == int(mujoco.mjtWrap.mjWRAP_SITE) for kind, _, _ in path):
        return path[0][1], path[1][1]
    return None


def coordinate_weights(model: Any, names: Names, tendon: int) -> dict[str, float] | None:
    """Return joint name → coefficient of a fixed tendon, None for a spatial one."""
    import mujoco

    weights: dict[str, float] = {}
    for kind, joint, coefficient in tendon_path(model, tendon):
        if kind != int(mujoco.mjtWrap.mjWRAP_JOINT):
            return None
        weights[names.joints[joint]] = weights.get(names.joints[joint], 0.0) + coefficient
    return weights


def add_tendons(load: Import, model: Any, names: Names) -> None:
    """Add the stiffness and damping of every tendon; what is lost is warned by name."""
    no_springs, no_dampers = disabled(model, "SPRING"), disabled(model, "DAMPER")
    for i in range(model.ntendon):
        name = names.tendons[i]
        stiffness = 0.0 if no_springs else float(model.tendon_stiffness[i])
        damping = 0.0 if no_dampers else float(model.tendon_damping[i])
        acts = stiffness != 0.0 or damping != 0.0
        rest = (float(model.tendon_lengthspring[i][0]), float(model.tendon_lengthspring[i][1]))
        weights, sites = coordinate_weights(model, names, i), two_sites(model, i)
        label = "spatial tendon" if weights is None else "fixed tendon"
        if not acts:
            load.report.set_aside(
                label, name, "no stiffness or damping; it acts only through actuators and equalities"
            )
        elif weights is not None:
            load.mechanism.add_coordinate_spring(
                name, weights, stiffness=stiffness, damping=damping, rest_length=rest
            )
            load.report.act(label, name)
        elif sites is not None:
            body1, body2 = (names.bodies[model.site_bodyid[s]] for s in sites)
            if body1 == body2:
                load.report.set_aside(label, name, f"both ends are on {body1!r}; its length is constant")
                continue
            point1, point2 = (model.site_pos[s] for s in sites)
            load.mechanism.add_spring_damper(
                name,
                body1,
                body2,
                point1=point1,
                point2=point2,
                stiffness=stiffness,
                damping=damping,
                rest_length=rest,
            )
            load.report.act(label, name)
        else:
            load.report.leave_out(
                label,
                name,
                "its spring and damper force is left out: a spring here is a straight tendon between two "
                "sites, without pulleys, wrapping geometry or further sites",
            )
        _note_losses(load, model, i, label, name)


def _note_losses(load: Import, model: Any, i: int, label: str, name: str) -> None:
    """Warn of what a tendon has besides stiffness and damping."""
    lost = []
    if model.tendon_limited[i]:
        lower, upper = model.tendon_range[i]
        lost.append(f"length limits ({lower:g}, {upper:g}) are not enforced")
    if model.tendon_frictionloss[i]:
        lost.append("dry friction is left out")
    if _nonzero(model, "tendon_armature", i):
        lost.append("armature is left out")
    if _nonzero(model, "tendon_stiffnesspoly", i) or _nonzero(model, "tendon_dampingpoly", i):
        lost.append("stiffness and damping above first order are left out")
    if _nonzero(model, "tendon_springyield", i):
        lost.append("the yield of its spring is left out")
    if bool(getattr(model, "tendon_actfrclimited", np.zeros(model.ntendon))[i]):
        lost.append("the limit of the total actuator force (actuatorfrcrange) is left out")
    if lost:
        load.report.leave_out(label, name, "; ".join(lost))


def _nonzero(model: Any, attribute: str, index: int) -> bool:
    values: Array | None = getattr(model, attribute, None)
    return values is not None and bool(np.any(values[index]))
