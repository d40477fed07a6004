"""An arm that wipes a table and leans on it: less loss in its motors, forces outside the sticking cone on purpose.

Three joints in a vertical plane, three motors, a tip on a surface with Coulomb friction. The tip slides along a path
with the last link at a constant angle, two degrees of freedom, so that one choice is left: the normal force N. Sliding
friction is μ N against the motion, and

    u = u₀ − N d,    d = Jᵀ(e_z − μ e_x),    P_loss = uᵀW u,  W = R / K_t² = 1 / K_m²,

u₀ what the motion takes in the air. The law of least loss (Aghili 2022, section 3.2, eqs. (25), (26), (29)) without the
sticking cone (29c), which no sliding tip can keep, leans on the table with N = dᵀW u₀ / dᵀW d. Beside it: the least
torque, which is the same with W = I; a constant light push, as of hybrid control; and the law with the cone, which
takes the floor for one that carries the tip along and chooses what friction it likes inside the cone.

The text of the work tells of an experiment with an arm on a frictional surface and gives no data: arm, motors and path
are ours.
"""

from __future__ import annotations

import json

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from sarrus import control

Array = NDArray[np.float64]

LENGTHS, MASSES = (0.5, 0.45, 0.2), (4.0, 2.5, 0.8)  # m, kg
MOTOR_CONSTANTS = np.array([1.6, 0.9, 0.35])  # N m/√W, at the joints
HEIGHT, TILT, FRICTION = 0.35, np.radians(65.0), 0.4  # m of the shoulder, of the last link downwards
START, STROKE, DURATION = 0.45, 0.45, 1.5  # m, m, s
LIGHT = 5.0  # N, least normal force that wipes
STIFFNESS, DAMPING = 400.0, 40.0  # N m/rad, N m s/rad of the feedback
PLANNED = 121  # places of the path at which torques are planned
LAWS = ("least loss", "least torque", "light push", "sticking cone")


def build() -> sr.Mechanism:
    """Return the arm; angles turn downwards, zero is level, and the tip touches the table at z = 0."""
    mechanism = sr.Mechanism("sliding arm", gravity=(0, 0, -9.81))
    parent, place = "world", (0.0, 0.0, HEIGHT)
    for name, length, mass, constant in zip(("upper", "fore", "hand"), LENGTHS, MASSES, MOTOR_CONSTANTS):
        inertia = mass * length**2 / 12
        mechanism.add_body(name, mass, (length / 2, 0, 0), (1e-3, inertia, inertia))
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, 1, 0), parent_pose=place)
        mechanism.add_actuator(f"{name} motor", name, motor_constant=float(constant))
        parent, place = name, (length, 0.0, 0.0)
    mechanism.add_contact(
        "tip", "hand", (LENGTHS[2], 0, 0), friction="coulomb", friction_coefficient=FRICTION
    )
    return mechanism


def path(t: ca.SX) -> ca.SX:
    """Return x of the tip [m]: rest to rest in minimum jerk."""
    s = t / DURATION
    return START + STROKE * s**3 * (10 - 15 * s + 6 * s**2)


def angles(t: ca.SX) -> ca.SX:
    """Return the joint angles (3,) with the tip on its path and the hand at its tilt, elbow up."""
    one, two, three = LENGTHS
    x = path(t) - three * np.cos(TILT)
    z = three * np.sin(TILT) - HEIGHT  # of the wrist from the shoulder
    bend = ca.acos((x**2 + z**2 - one**2 - two**2) / (2 * one * two))
    first = ca.atan2(-z, x) - ca.atan2(two * ca.sin(bend), one + two * ca.cos(bend))
    return ca.vertcat(first, bend, TILT - first - bend)


def reference(t: Array) -> tuple[Array, Array, Array]:
    """Return angles, rates and accelerations (T, 3) along the path."""
    time = ca.SX.sym("t")
    q = angles(time)
    v = ca.jacobian(q, time)
    function = ca.Function("reference", [time], [q, v, ca.jacobian(v, time)])
    found = function(ca.DM(t[None, :]))
    return tuple(np.array(part).reshape(3, -1, order="F").T for part in found)  # type: ignore[return-value]


def shares(system: sr.System, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """Return u₀, the torques in the air, and the Jacobian of the tip along x and z (2, 3)."""
    air = system.inverse_dynamics(q, v, a, contacts=False).u
    jacobian = system.jacobian(q, body="hand", point=(LENGTHS[2], 0, 0)).linear[[0, 2]]
    return np.asarray(air), np.asarray(jacobian)


def torques(system: sr.System, law: str, t: Array) -> tuple[Array, Array]:
    """Return the torques (T, 3) [N m] that a law plans along the path, and the normal forces that it believes in."""
    loss = np.diag(MOTOR_CONSTANTS**-2.0)
    weights = np.eye(3) if law == "least torque" else loss
    planned, normal = [], []
    for q, v, a in zip(*reference(t)):
        u, jacobian = shares(system, q, v, a)
        if law == "sticking cone":
            force = force_in_the_cone(system, q, v, a, loss)
        else:
            along = np.array([-FRICTION, 1.0])
            d = jacobian.T @ along
            size = LIGHT if law == "light push" else max(LIGHT, d @ weights @ u / (d @ weights @ d))
            force = size * along
        planned.append(u - jacobian.T @ force)
        normal.append(force[1])
    return np.array(planned), np.array(normal)


def force_in_the_cone(system: sr.System, q: Array, v: Array, a: Array, loss: Array) -> Array:
    """Return the contact force along x and z of least loss inside the sticking cone, as if the floor went along."""
    point = system.jacobian(q, v, body="hand", point=(LENGTHS[2], 0, 0))
    rows = np.vstack(
        [point.linear[[0, 2]], np.zeros(3)]
    )  # a contact has two tangents; one is across the plane
    gamma = -rows @ a  # of a floor that carries the tip as the path has it
    mass, bias = system.mass_matrix(q), system.bias_force(q, v)
    found = sr.formulations.optimal_distribution(
        mass, bias, rows, gamma, np.eye(3), loss, mass @ a + bias, [(0, 2, 1)], FRICTION
    )
    return np.asarray(found.multipliers[:2])


def wipe(system: sr.System, law: str) -> sr.Trajectory:
    """Follow the path by the torques that a law plans, and feedback of the joints."""
    t = np.linspace(0.0, DURATION, PLANNED)
    planned, _ = torques(system, law, t)
    splines = [sr.Spline.through(t, column) for column in planned.T]

    def u(q: ca.SX, v: ca.SX, time: ca.SX) -> ca.SX:
        wanted = angles(time)
        rates = ca.jacobian(wanted, time)
        forward = ca.vertcat(*(spline(time) for spline in splines))
        return forward - STIFFNESS * (q - wanted) - DAMPING * (v - rates)

    start, _, _ = reference(np.zeros(1))
    return sr.simulate(system, start[0], duration=DURATION, dt=DURATION / 600, rtol=1e-9, control=u)


def behind(system: sr.System, run: sr.Trajectory) -> Array:
    """Return how far the tip is from its path (T,) [m]."""
    x = run.body_motion("hand", (LENGTHS[2], 0, 0)).position[:, 0]
    return np.asarray(x - [float(ca.evalf(path(ca.SX(t)))) for t in run.t])


def contact_force(run: sr.Trajectory) -> tuple[Array, Array]:
    """Return the recorded normal force and the friction along x (T,) [N]."""
    rows = [run.contact_row_names.index(name) for name in ("tip.n", "tip.t1")]
    return run.contact_forces[:, rows[0]], run.contact_forces[:, rows[1]]


def friction_to_hold(system: sr.System, run: sr.Trajectory) -> Array:
    """Return the coefficient of friction (T,) with which the floor would stop the tip by sticking, under these torques.

    Above μ what holds the tip would lie outside the sticking cone.
    """
    needed = []
    for q, v, u in zip(run.q, run.v, run.u):
        point = system.jacobian(q, v, body="hand", point=(LENGTHS[2], 0, 0))
        along = [0, 2]
        forces = sr.formulations.contact_forces(
            system.mass_matrix(q),
            system.bias_force(q, v),
            point.linear[along],
            point.linear_bias[along],
            np.eye(3),
        ).at(u)
        needed.append(abs(forces[0]) / forces[1])
    return np.array(needed)


def main() -> None:
    """Wipe once by each law; print what its motors lose, and how far the tip is from its path."""
    system, figures = sr.System(build()), {}
    print(f"{'':14}{'mean loss':>11}{'loss':>12}{'energy':>12}{'largest push':>14}{'off its path':>14}")
    for law in LAWS:
        run = wipe(system, law)
        loss, metre = run.motor_loss(), run.energy_per_metre("hand", (LENGTHS[2], 0, 0))
        push, friction = contact_force(run)
        off = float(np.abs(behind(system, run)).max())
        print(
            f"{law:14}{loss.mean_power:9.2f} W{metre.loss_per_metre:8.1f} J/m{metre.energy_per_metre:8.1f} J/m"
            f"{push.max():12.1f} N{1e3 * off:11.3f} mm"
        )
        figures |= {
            f"{law}, W": loss.mean_power,
            f"{law}, J/m": metre.loss_per_metre,
            f"{law}, mm off": 1e3 * off,
        }
        own = np.trapezoid((run.u**2 / MOTOR_CONSTANTS**2).sum(axis=1), run.t)
        assert abs(loss.total - own) < 1e-3 * own
        if law == "sticking cone":
            continue
        slides = np.linalg.norm(run.v, axis=1) > 1e-3
        _, planned = torques(system, law, run.t)
        assert off < 1e-5
        assert np.abs(push - planned)[slides].max() < 0.05
        assert np.abs(friction + FRICTION * push)[slides].max() < 1e-9  # at the edge of the cone, all the way
    _check_against_inverse_dynamics(system)
    held = friction_to_hold(system, wipe(system, "least loss"))
    figures["largest friction to hold"] = float(held.max())
    assert (
        held.max() > 1.02 * FRICTION
    )  # while the tip speeds up, what would hold it is outside the sticking cone
    assert figures["least loss, W"] < 0.9 * figures["least torque, W"]
    assert figures["least loss, W"] < 0.4 * figures["light push, W"]
    assert figures["sticking cone, mm off"] > 1.0
    print(json.dumps(figures))


def _check_against_inverse_dynamics(system: sr.System) -> None:
    """Assert that `System.inverse_dynamics`, which knows Coulomb's law, has the torques of least loss."""
    t = np.linspace(0.2, DURATION - 0.2, 7)
    planned, normal = torques(system, "least loss", t)
    for q, v, a, u, size in zip(*reference(t), planned, normal):
        found = system.inverse_dynamics(q, v, a, weights=control.loss_weights(system))
        assert size > LIGHT
        assert np.abs(found.u - u).max() < 1e-8


if __name__ == "__main__":
    main()
