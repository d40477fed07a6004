"""Robots with loops on a floor in MuJoCo: its contacts soft, the loops as stiff as a step allows."""

from __future__ import annotations

import mujoco

SOFTNESS = (0.005, 1.0)  # of the ground, as in the model of the quadruped


def put_on_floor(spec: mujoco.MjSpec, step: float) -> None:
    """Add the geom "floor" and set what a robot with loops and friction takes at a step [s]."""
    spec.option.timestep, spec.option.integrator = step, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0
    for loop in spec.equalities:
        loop.solref, loop.solimp = (2.0 * step, 1.0), (0.9999, 0.9999, 0.001, 0.5, 2.0)
    spec.worldbody.add_geom(
        name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=0, conaffinity=1, condim=3,
        solref=SOFTNESS,
    )  # fmt: skip
