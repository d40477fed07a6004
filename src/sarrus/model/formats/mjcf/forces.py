"""Passive forces of a MuJoCo model beyond linear springs and dampers: gravity compensation, polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.names import unique
from sarrus.model.formats.importing import Import
from sarrus.model.formats.mjcf.element_names import Names
from sarrus.model.formats.mjcf.reflected import on_joint
from sarrus.model.mechanism.joint import VELOCITY_LABELS


@dataclass(frozen=True)
class ConstantForce:
    """A constant force [N] in world axes, as a function of CasADi vectors (q, v, t)."""

    force: tuple[float, float, float]

    def __call__(self, q: Any, v: Any, t: Any) -> Any:
        return ca.SX(ca.DM(self.force))


@dataclass(frozen=True)
class PolynomialForce:
    """Generalized force −Σ stiffness[k] xᵏ⁺² − Σ damping[k] v|v|ᵏ⁺¹ on one scalar joint.

    x is the coordinate minus the spring's reference. These are the terms above the linear ones that MuJoCo ≥ 3.6
    allows, with its antisymmetric damping.
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


def add_forces(load: Import, names: Names) -> None:
    """Add gravity compensation of bodies and the higher-order springs and dampers of scalar joints."""
    mechanism, model = load.mechanism, names.model
    for body in np.flatnonzero(model.body_gravcomp):
        name = names.bodies[body]
        if model.body_weldid[body] == 0 or not np.any(mechanism.gravity):
            continue
        element = mechanism.bodies[name]
        lift = -float(model.body_gravcomp[body]) * element.mass * mechanism.gravity
        force = ConstantForce((float(lift[0]), float(lift[1]), float(lift[2])))
        taken = unique(f"{name}_gravcomp", mechanism.forces)
        mechanism.add_force(taken, force, body=name, point=element.com, through_joints=True)
        limited = (
            _carries(names, int(body))
            & model.jnt_actgravcomp.astype(bool)
            & model.jnt_actfrclimited.astype(bool)
        )
        for held in np.flatnonzero(limited):
            reason = "the limit of its actuators' force (actuatorfrcrange) does not bound the compensation"
            load.report.leave_out("joint", names.joints[held], reason)
        load.report.act("gravity compensation", name, "a constant force at the centre of mass")
    _add_polynomials(load, names)


def _carries(names: Names, body: int) -> Any:
    """Return the joints that move a body."""
    model = names.model
    above = {body}
    while body:
        body = int(model.body_parentid[body])
        above.add(body)
    return np.isin(model.jnt_bodyid, list(above))


def _add_polynomials(load: Import, names: Names) -> None:
    """Add the springs and dampers of order above one."""
    mechanism, model = load.mechanism, names.model
    springs, dampers = (0.0 if names.disabled(flag) else 1.0 for flag in ("SPRING", "DAMPER"))
    for joint, name in enumerate(names.joints):
        first, kind = int(model.jnt_dofadr[joint]), names.joint_kinds[joint]
        stiffness = springs * model.jnt_stiffnesspoly[joint]
        own = model.dof_dampingpoly[first : first + len(VELOCITY_LABELS[kind])]
        damping = dampers * (own + on_joint(names, joint)[1:-1])
        if not (np.any(stiffness) or np.any(damping)):
            continue
        if kind in ("spherical", "free"):
            load.report.leave_out(
                "joint spring", name, "stiffness and damping above first order are left out"
            )
            continue
        polynomial = PolynomialForce(
            mechanism.coordinate_names.index(name),
            mechanism.velocity_names.index(name),
            float(model.qpos_spring[model.jnt_qposadr[joint]]),
            tuple(stiffness.tolist()),
            tuple(damping[0].tolist()),
        )
        mechanism.add_force(unique(f"{name}_polynomial", mechanism.forces), polynomial)
        load.report.act("joint spring", name, "stiffness and damping above first order, as a force")
