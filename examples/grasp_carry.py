"""A planar arm grasps a crate, carries it from one stand to another, and sets it down.

The crate is a body of its own. It stands on the first stand, is held by the gripper and the stand at once, by the
gripper alone, by the gripper and the second stand, and by this one alone: three closures on a schedule. Where gripper
and stand both hold it, motors and closures form a loop, and the motors choose the forces in it. With `control.HandOver`
the gripper closes without a force, takes the weight off the stand before this lets go, lays it on the second stand, and
is without a force when it opens. So the torques are continuous, and no impact takes energy. Without it they jump at
each of the four instants.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from sarrus import control

Array = NDArray[np.float64]

LENGTHS, MASSES = (0.6, 0.5, 0.4, 0.2), (4.0, 3.0, 2.0, 1.0)  # m, kg
CRATE = 2.5  # kg
SIDE = 0.2  # m, of the crate
LEVER = 0.03  # m, from the gripper to the crate's centre of mass, along x
BASE = 0.5  # m, height of the shoulder
FIRST, SECOND = (0.9, 0.0), (0.5, 0.3)  # m, where the crate stands: x and height
APEX, APPROACH = 0.25, 0.15  # m, above the higher stand, and above the crate
# s: gripper closes, first stand lets go, second one holds, gripper opens, end
GRASP, LIFT, LAND, RELEASE, END = 1.2, 1.7, 3.7, 4.2, 5.2
CAPTURE = 1e-3  # m, rad: gripper and stand hold the crate where it is by then
RAMP = 0.25  # s
SCHEDULE = {
    "grasp": [(GRASP, RELEASE)],
    "first stand": [(0.0, LIFT)],
    "second stand": [(LAND, np.inf)],
}
STIFFNESS, DAMPING = 100.0, 20.0  # 1/s², 1/s
DOWN = (
    np.cos(np.pi / 4),
    0.0,
    -np.sin(np.pi / 4),
    0.0,
)  # of the crate in axes of the last link, a unit quaternion
ELBOW = -1.5  # rad, of the second joint: the task that the gripper leaves


class Run(NamedTuple):
    """A run: largest jump of a torque at a switch and what the closures lost [N m, J], tracking error [m]."""

    motion: sr.Trajectory
    jumps: Array
    loss: float
    error: float


def build() -> sr.Mechanism:
    """Return the arm, the crate, and the closures that hold it."""
    m = sr.Mechanism("grasp_carry", gravity=(0, 0, -9.81))
    parent, at = "world", (0.0, 0.0, BASE)
    for k, (length, mass) in enumerate(zip(LENGTHS, MASSES), start=1):
        inertia = mass * length**2 / 12
        m.add_body(f"link{k}", mass, com=(length / 2, 0, 0), inertia=(1e-3, inertia, inertia))
        m.add_joint(f"q{k}", "revolute", parent, f"link{k}", axis=(0, -1, 0), parent_pose=at)
        m.add_actuator(f"motor{k}", f"q{k}")
        parent, at = f"link{k}", (length, 0.0, 0.0)
    half = SIDE / 2
    box = sr.Shape("box", np.full(3, half), sr.Pose.of((0, 0, half)), rgba=(0.85, 0.65, 0.4, 1.0))
    m.add_body("crate", CRATE, com=(LEVER, 0, half), inertia=(0.02, 0.02, 0.02), shapes=[box])
    m.add_joint("crate", "planar", "world", "crate", axis=(0, -1, 0), axis2=(1, 0, 0))
    down = sr.Pose.of((LENGTHS[-1], 0, 0), quaternion=DOWN)
    m.add_closure(
        "grasp", "weld", "link4", "crate", pose1=down, pose2=(0, 0, SIDE), active=False, capture=CAPTURE
    )
    for name, (x, z), on in (("first stand", FIRST, True), ("second stand", SECOND, False)):
        m.add_closure(name, "weld", "world", "crate", pose1=(x, 0, z), active=on, capture=CAPTURE)
    return m


def _step(t: Any, start: float, end: float) -> Any:
    """Return a path from 0 to 1 between two times, at rest at both."""
    x = ca.fmin(ca.fmax((t - start) / (end - start), 0.0), 1.0)
    return x**3 * (10 - 15 * x + 6 * x**2)


def gripper_at(t: Any) -> Any:
    """Return the commanded place (x, z) of the gripper [m]: at rest whenever something switches."""
    top, middle = max(FIRST[1], SECOND[1]) + APEX, 0.5 * (LIFT + LAND)
    x = FIRST[0] + (SECOND[0] - FIRST[0]) * _step(t, LIFT + 0.4, LAND - 0.4)
    z = FIRST[1] + APPROACH * (1 - _step(t, 0.1, GRASP - 0.1))
    z += (top - FIRST[1]) * _step(t, LIFT, middle) + (SECOND[1] - top) * _step(t, middle, LAND)
    z += APPROACH * _step(t, RELEASE + 0.2, END)
    return ca.vertcat(x, z + SIDE)


def start(system: sr.System) -> Array:
    """Return the configuration at t = 0: gripper above the crate, pointing down, second joint at ELBOW."""
    x, z = (float(value) for value in np.array(ca.DM(gripper_at(0.0))).ravel())
    z += LENGTHS[3] - BASE  # of the last joint, from the shoulder
    first = LENGTHS[0] + LENGTHS[1] * np.exp(1j * ELBOW)
    reach, length = np.hypot(x, z), abs(first)
    bend = np.arccos((length**2 + reach**2 - LENGTHS[2] ** 2) / (2 * length * reach))
    q1 = np.angle(x + 1j * z) + bend - np.angle(first)
    q3 = np.angle((x + 1j * z) - first * np.exp(1j * q1)) - q1 - ELBOW
    q = system.neutral().copy()
    q[:4] = q1, ELBOW, q3, -np.pi / 2 - q1 - ELBOW - q3
    q[4:6] = FIRST
    return q


def law_of(system: sr.System, *, handed_over: bool) -> control.Law:
    """Return the law: the gripper's place, then its direction and the second joint; with hand-overs or without."""
    tip = control.point("link4", (LENGTHS[-1], 0, 0), axes="xz")
    tasks = [
        control.Task(tip, gripper_at, STIFFNESS, DAMPING, name="gripper"),
        control.Task(
            lambda q, t: q[0] + q[1] + q[2] + q[3], -np.pi / 2, STIFFNESS, DAMPING, name="direction"
        ),
        control.Task("q2", ELBOW, STIFFNESS, DAMPING, name="elbow"),
    ]
    given = control.hand_overs(SCHEDULE, RAMP) if handed_over else ()
    return control.TaskHierarchy(system, tasks, hand_overs=given)


def jumps_at_switches(system: sr.System, law: control.Law, motion: sr.Trajectory) -> Array:
    """Return by how much each torque jumps at each switch (4 × 4) [N m]: u after it less u before it, in one state."""
    found = []
    for switch in (GRASP, LIFT, LAND, RELEASE):
        k = int(np.searchsorted(motion.t, switch + 1e-9)) - 1  # the state after the switch
        u = []
        for side in (-1e-6, 1e-6):
            on = {name: any(a <= switch + side < b for a, b in pairs) for name, pairs in SCHEDULE.items()}
            system.parameters.update({f"active.{name}": float(value) for name, value in on.items()})
            u.append(law(motion.q[k], motion.v[k], switch))
        found.append(u[1] - u[0])
    return np.array(found)


def run(*, handed_over: bool) -> Run:
    """Grasp, carry and set down."""
    system = sr.System(build())
    law = law_of(system, handed_over=handed_over)
    motion = sr.simulate(
        system, start(system), duration=END, control=law, dt=2e-3, switching=sr.Switching(SCHEDULE)
    )
    tip = control.TaskSpace(system, control.point("link4", (LENGTHS[-1], 0, 0), axes="xz"))
    t = ca.SX.sym("t")
    told = np.array(ca.Function("told", [t], [gripper_at(t)])(motion.t[None])).T
    seen = np.array([tip.kinematics(q).value for q in motion.q])
    return Run(
        motion,
        jumps_at_switches(system, law, motion),
        float(sum(abs(switch.energy_loss) for switch in motion.switches)),
        float(np.linalg.norm(seen - told, axis=1).max()),
    )


def grasp_force(motion: sr.Trajectory, t: float) -> Array:
    """Return what the gripper exerts on the crate at a time (x, z, moment about the gripper) [N, N m]."""
    k, names = int(np.searchsorted(motion.t, t - 1e-9)), motion.constraint_names
    rows = [names.index(f"grasp.{row}") for row in ("x", "z", "ry")]
    return np.asarray(motion.multipliers[k, rows])


def reach(motion: sr.Trajectory) -> control.ControllabilityAlong:
    """Return which motions and loads the motors reach along the schedule."""

    def place(t: float) -> Array:
        return np.asarray(motion.q[min(int(np.searchsorted(motion.t, t)), len(motion.t) - 1)])

    return control.controllability_along(motion.system, SCHEDULE, place, END)


def main() -> None:
    """Run it with and without hand-overs, and print the jumps."""
    bare, kept = run(handed_over=False), run(handed_over=True)
    print(f"{'largest jump of a torque [N m]':34}{'without':>10}{'handed over':>13}")
    names = ("gripper closes", "first stand lets go", "second stand holds", "gripper opens")
    for name, one, other in zip(names, bare.jumps, kept.jumps):
        print(f"{name:34}{np.abs(one).max():10.3g}{np.abs(other).max():13.1g}")
    print(f"{'largest error of place [m]':34}{bare.error:10.1g}{kept.error:13.1g}")
    print(f"{'energy lost by impacts [J]':34}{bare.loss:10.1g}{kept.loss:13.1g}")
    print(reach(kept.motion))
    assert np.abs(kept.jumps).max() < 1e-9 * np.abs(kept.motion.u).max()
    assert np.abs(bare.jumps).max(axis=1).min() > 1.0
    assert kept.loss < 1e-12
    weight = CRATE * 9.81
    carried = grasp_force(kept.motion, LIFT)  # at rest, nothing on the stand
    assert np.allclose(carried, [0.0, weight, -weight * LEVER], atol=1e-6)
    figures = {
        "jump_without": float(np.abs(bare.jumps).max()),
        "jump": float(np.abs(kept.jumps).max()),
        "loss": kept.loss,
        "force": carried.tolist(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
