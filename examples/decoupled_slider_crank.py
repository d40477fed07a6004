"""A slider-crank whose guide feels the force that is asked for, whatever the crank does: designed, not fed forward.

Motors at both joints. The motion takes torques along the null space of A, [1, −2] on the branch q₂ = −2 q₁; the force
on the guide takes f⊥ = Aᵀλ_d. In general the torques of the motion press on the guide, too, and force control has to
feed them forward (Aghili 2005, eq. (51)). It need not where M leaves that null space invariant (proposition 3). With
crank and rod of one length l, c₁ and c₂ their centres of mass, I₁ and I₂ their inertias about these, that is so where

    c₂ = 0,    I₂ = 2/3 S,    S = I₁ + m₁ c₁² + m₂ l²;

with c₁ = −m₂ l / m₁ gravity is balanced as well, M is constant on the branch, and the guide feels λ_d exactly.
"""

from __future__ import annotations

import json

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from sarrus import synthesis

Array = NDArray[np.float64]

LENGTH, MASSES = 0.4, (2.0, 1.5)  # m, kg
START = np.array([0.6, -1.2])  # rad


def build() -> sr.Mechanism:
    """Return the mechanism as it is before the design; angles of the rod are relative to the crank."""
    mechanism = sr.Mechanism("decoupled slider-crank", gravity=(0, -9.81, 0))
    numbers = {"crank": (MASSES[0], 0.1, 0.3), "rod": (MASSES[1], 0.2, 0.15)}
    parent, place = "world", 0.0
    for name, (mass, com, inertia) in numbers.items():
        mechanism.add_body(name, mass, (com, 0, 0), (1, 1, inertia))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(place, 0, 0))
        mechanism.add_actuator(f"{name} motor", name)
        parent, place = name, LENGTH
    mechanism.add_closure("guide", "point_on_plane", "world", "rod", axis=(0, 1, 0), pose2=(LENGTH, 0, 0))
    return mechanism


def design() -> synthesis.Design:
    """Return the counterweights and the inertia of the rod that decouple, with gravity balanced."""
    at = synthesis.sweep({"crank": [0.3, 0.8, 1.2]}, guess=START)
    return synthesis.Problem(
        build(),
        {"crank": "crank.com.x", "rod": "rod.com.x", "inertia": "rod.inertia.zz"},
        [synthesis.decoupling(at), synthesis.drive_force("crank", at)],
        bounds={"crank": (-0.5, 0.5), "rod": (-0.3, 0.3), "inertia": (0.05, 1.9)},
    ).solve()


def wanted(t: Array) -> Array:
    """Return the force on the guide that is asked for [N]."""
    return 8.0 + 4.0 * np.cos(3.0 * t)


def press(mechanism: sr.Mechanism, duration: float = 2.0) -> sr.Trajectory:
    """Take the crank to and fro and press on the guide, without a word from one to the other."""

    def control(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
        rows = LENGTH * ca.vertcat(ca.cos(q[0]) + ca.cos(q[0] + q[1]), ca.cos(q[0] + q[1]))  # Aᵀ
        torque = 30.0 * (0.6 + 0.3 * ca.sin(4.0 * t) - q[0]) - 3.0 * v[0]
        return ca.DM([1.0, -2.0]) / 5.0 * torque + rows * (8.0 + 4.0 * ca.cos(3.0 * t))

    return sr.simulate(sr.System(mechanism), START, duration=duration, dt=5e-3, rtol=1e-10, control=control)


def off(run: sr.Trajectory) -> Array:
    """Return by how much the guide is pressed too much or too little (T,) [N]."""
    return -run.multipliers[:, 0] - wanted(run.t)


def main() -> None:
    """Design it, press before and after, compare with the closed form."""
    found = design()
    print(found)
    place = -MASSES[1] * LENGTH / MASSES[0]
    inertia = 2 / 3 * (0.3 + MASSES[0] * place**2 + MASSES[1] * LENGTH**2)
    closed = {"crank": place, "rod": 0.0, "inertia": inertia}
    for name, value in closed.items():
        assert abs(found.parameters[name] - value) < 1e-9, name
    before, after = press(build()), press(found.mechanism)
    assert np.abs(off(after)).max() < 1e-8
    assert np.ptp(after.q[:, 0]) > 0.4
    for run, needs in ((before, False), (after, True)):
        system = sr.System(build() if run is before else found.mechanism)
        q = run.q[100]
        assert sr.formulations.decouples(system.mass_matrix(q), system.constraint_jacobian(q)) is needs
    print(
        json.dumps(
            {
                "off before the design [N]": float(np.abs(off(before)).max()),
                "off after it [N]": float(np.abs(off(after)).max()),
            }
        )
    )


if __name__ == "__main__":
    main()
