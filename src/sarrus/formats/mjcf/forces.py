"""Passive forces of a MuJoCo model beyond linear springs and dampers: gravity compensation, polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.names import unique
from sarrus.formats.importing import Import
from sarrus.formats.mjcf.element_names import Names
from sarrus.formats.mjcf.survey import disabled


@dataclass(frozen=True)
class ConstantForce:
    """A constant force [N] in world axes, as a function of CasADi vectors (q, v, t)."""

    force: tuple[float, float, float]

    def __call__(self, q: Any, v: Any, t: Any) -> Any:
        return ca.SX(ca.DM(self.force))


@dataclass(frozen=True)
class PolynomialForce:
    """Generalized force −Σ stiffness[k] xᵏ⁺² − Σ damping[k] v|v|ᵏ⁺¹ on one scalar joint.

    x is the coordinate minus the spring's reference; these are the terms that MuJoCo ≥ 3.6 allows above
    the linear ones, with its antisymmetric damping.
    """

    iq: int
    iv: int
    reference: float
    stiffness: tuple[float, ...]
    damping: tuple[float, ...]

    def __call__(self, q: Any, v: Any, t: Any) -> Any:
        x, rate = q[self.iq] - self.reference, v[self.iv]
        speed = ca.fabs(rate)
        force = sum((-c * x ** (k + 2) for k, c in enumerate(self.stiffness)), ca.SX(0))
        force = sum((-c * rate * speed ** (k + 1) for k, c in enumerate(self.damping)), force)
        out = ca.SX.zeros(v.shape[0])
        out[self.iv] = force
        return out


def add_forces(load: Import, model: Any, names: Names) -> None:
    """Add gravity compensation of bodies and the higher-order springs and dampers of scalar joints."""
    mechanism = load.mechanism
    for body in np.flatnonzero(model.body_gravcomp):
        name = names.bodies[body]
        if model.body_weldid[body] == 0 or not np.any(mechanism.gravity):
            continue
        element = mechanism.bodies[name]
        lift = -float(model.body_gravcomp[body]) * element.mass * mechanism.gravity
        force = ConstantForce((float(lift[0]), float(lift[1]), float(lift[2])))
        taken = unique(f"{name}_gravcomp", mechanism.forces)
        mechanism.add_force(taken, force, body=name, point=element.com, through_joints=True)
        limited = [
            names.joints[j]
            for j in range(model.njnt)
            if model.jnt_bodyid[j] == body and model.jnt_actgravcomp[j] and model.jnt_actfrclimited[j]
        ]
        for held in limited:
            load.report.leave_out(
                "joint",
                held,
                "the limit of its actuators' force (actuatorfrcrange) does not bound the compensation",
            )
        load.report.act("gravity compensation", name, "a constant force at the centre of mass")
    if hasattr(model, "jnt_stiffnesspoly"):
        for joint in range(model.njnt):
            _add_polynomial(load, model, names, joint)


def _add_polynomial(load: Import, model: Any, names: Names, joint: int) -> None:
    first = int(model.jnt_dofadr[joint])
    scalar = int(model.jnt_type[joint]) in (2, 3)
    width = 1 if scalar else 6 - 3 * int(model.jnt_type[joint])
    stiffness = (
        0.0 * model.jnt_stiffnesspoly[joint] if disabled(model, "SPRING") else model.jnt_stiffnesspoly[joint]
    )
    damping = model.dof_dampingpoly[first : first + width]
    damping = 0.0 * damping if disabled(model, "DAMPER") else damping
    if not (np.any(stiffness) or np.any(damping)):
        return
    name = names.joints[joint]
    if not scalar:
        load.report.leave_out("joint spring", name, "stiffness and damping above first order are left out")
        return
    mechanism = load.mechanism
    coordinate, velocity = mechanism.coordinate_names.index(name), mechanism.velocity_names.index(name)
    reference = float(model.qpos_spring[model.jnt_qposadr[joint]])
    force = PolynomialForce(
        coordinate, velocity, reference, tuple(map(float, stiffness)), tuple(map(float, damping[0]))
    )
    mechanism.add_force(unique(f"{name}_polynomial", mechanism.forces), force)
    load.report.act("joint spring", name, "stiffness and damping above first order, as a force")
