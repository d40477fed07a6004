"""Plants with contacts, stops, ropes and dry friction, and laws for them."""

from __future__ import annotations

from typing import Any

import numpy as np

import sarrus as sr
from sarrus import control, references
from sarrus.base.arrays import Array

MASS, LENGTH, INERTIA, FRICTION = 2.0, 0.5, 0.1, 1.5


def accelerating(system: sr.System, names: list[str], a: Array) -> control.Law:
    """Return a law that demands accelerations of coordinates."""
    path = [float(x) for x in a]
    return control.ProjectedInverseDynamics(
        system, names, lambda t: [0.5 * x * t * t for x in path], stiffness=0.0, damping=0.0
    )


def along_x(system: sr.System, **options: Any) -> control.Law:
    path = references.minimum_jerk([0.0], [0.02], duration=0.1)
    return control.ProjectedInverseDynamics(system, ["x"], path, **options)


def pendulum_between_stops() -> sr.System:
    made = sr.Mechanism("pendulum")
    made.add_body("rod", MASS, com=(LENGTH, 0, 0), inertia=(INERTIA,) * 3)
    made.add_joint("turn", "revolute", "world", "rod", axis=(0, -1, 0), friction=FRICTION, limits=(-1.0, 1.0))
    made.add_actuator("motor", "turn")
    return sr.System(made)


def pushed(kind: str, size: tuple[float, ...], *, closed_form: bool) -> sr.System:
    """A geometry on the ground; a motor pushes it along x."""
    made = sr.Mechanism(kind)
    made.add_body("carriage", 1.0, inertia=(0.1,) * 3)
    made.add_body("load", 2.0, inertia=(0.1,) * 3)
    made.add_joint("x", "prismatic", "world", "carriage", axis=(1, 0, 0))
    made.add_joint("z", "prismatic", "carriage", "load", axis=(0, 0, 1))
    made.add_actuator("push", "x")
    made.add_geom("ground", "world", "plane")
    made.add_geom("skin", "load", kind, size, (0, 0, 0.1), friction=0.3)
    made.add_geometry_contacts(closed_form=closed_form)
    return sr.System(made)


def chain(r: np.random.Generator) -> tuple[sr.System, Array, Array, list[str]]:
    """Joints with dry friction, some at their stops, all of them driven."""
    made, n, parent = sr.Mechanism("chain"), int(r.integers(1, 5)), "world"
    q, v = r.uniform(-1, 1, n), np.where(r.random(n) < 0.5, 0.0, r.normal(size=n))
    for i in range(n):
        made.add_body(
            f"b{i}", r.uniform(0.5, 3), com=r.uniform(-0.3, 0.3, 3), inertia=(r.uniform(0.02, 0.2),) * 3
        )
        limits, side = {}, r.random()
        if side < 0.6:
            limits = {"limits": (q[i], q[i] + 1.0) if side < 0.3 else (q[i] - 1.0, q[i])}
            v[i] = abs(v[i]) if side < 0.3 else -abs(v[i])
        made.add_joint(
            f"j{i}", "revolute" if r.random() < 0.7 else "prismatic", parent, f"b{i}",
            axis=tuple(r.normal(size=3)), parent_pose=tuple(r.uniform(-0.5, 0.5, 3)),
            friction=float(r.uniform(0, 3)) if r.random() < 0.7 else 0.0, **limits,
        )  # fmt: skip
        made.add_actuator(f"m{i}", f"j{i}")
        parent = f"b{i}"
    return sr.System(made), q, v, [f"j{i}" for i in range(n)]


def gantry(r: np.random.Generator) -> tuple[sr.System, Array, Array, list[str]]:
    """A foot on a plane in two directions; a third motor lifts it in some."""
    made = sr.Mechanism("gantry")
    for body, low in (("a", 0.5), ("b", 0.5), ("c", 0.5)):
        made.add_body(body, r.uniform(low, 3.0), inertia=(0.1,) * 3)
    made.add_joint("x", "prismatic", "world", "a", axis=(1, 0, 0), friction=float(r.integers(0, 2)))
    made.add_joint("y", "prismatic", "a", "b", axis=(0, 1, 0))
    made.add_joint("z", "prismatic", "b", "c", axis=(0, 0, 1))
    made.add_contact("foot", "c", friction="coulomb", friction_coefficient=float(r.uniform(0.1, 0.9)))
    lifts = r.random() < 0.5
    for joint in "xyz" if lifts else "xy":
        made.add_actuator(f"m{joint}", joint)
    v = np.append(np.where(r.random(2) < 0.5, 0.0, r.normal(size=2)), 0.0)
    return sr.System(made), np.zeros(3), v, ["x", "y", "z"] if lifts else ["x", "y"]


def hoist(r: np.random.Generator) -> tuple[sr.System, Array, Array, list[str]]:
    """A load on a rope from a drum."""
    made = sr.Mechanism("hoist")
    made.add_body("drum", 1.0, inertia=(0.1,) * 3)
    made.add_body("load", r.uniform(1, 5), inertia=(0.1,) * 3)
    made.add_joint("turn", "revolute", "world", "drum", axis=(0, 1, 0), friction=float(r.integers(0, 2)))
    made.add_joint("z", "prismatic", "world", "load", axis=(0, 0, 1))
    made.add_rope("rope", ["world", "load"], length=1.0, joint_terms={"turn": 0.1})
    made.add_actuator("winch", "turn")
    v = np.array([1.0, 0.1]) * (r.normal() if r.random() < 0.5 else 0.0)
    return sr.System(made), np.array([0.0, -1.0]), v, ["z"]


def slider_crank(r: np.random.Generator) -> tuple[sr.System, Array, Array, list[str]]:
    """A closed loop: a crank drives a slider with dry friction, at a stop in some."""
    made = sr.Mechanism("slider_crank")
    for body, com in (("crank", 0.15), ("rod", 0.4), ("slider", 0.0)):
        made.add_body(body, r.uniform(0.5, 2.0), com=(com, 0, 0), inertia=(0.03,) * 3)
    made.add_joint("crank", "revolute", "world", "crank", axis=(0, 1, 0))
    made.add_joint("rod", "revolute", "crank", "rod", axis=(0, 1, 0), parent_pose=(0.3, 0, 0))
    angle = float(r.uniform(0.3, 2.5))
    x = 0.3 * np.cos(angle) + np.sqrt(0.8**2 - (0.3 * np.sin(angle)) ** 2)
    stop = r.random() < 0.5
    made.add_joint(
        "slide", "prismatic", "world", "slider", axis=(1, 0, 0), friction=float(r.uniform(0.5, 3.0)),
        **({"limits": (x, x + 1.0)} if stop else {}),
    )  # fmt: skip
    made.add_closure("pin", "revolute", "rod", "slider", pose1=(0.8, 0, 0), axis=(0, 1, 0))
    made.add_actuator("motor", "crank")
    system = sr.System(made)
    q = np.array(
        system.assemble([angle, -np.arcsin(0.3 * np.sin(angle) / 0.8) - angle, x], locked=["crank"]).q
    )
    v = np.array(system.project_velocity(q, [-1.0 if r.random() < 0.5 else 0.0, 0.0, 0.0]))
    return system, q, v, ["crank"]


def quadruped_on_legs() -> sr.System:
    made = sr.Mechanism("quadruped")
    made.add_body("trunk", 5.0, inertia=(0.2, 0.3, 0.4))
    made.add_joint("float", "free", "world", "trunk")
    for k, (x, y) in enumerate([(0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2)]):
        made.add_body(f"hip{k}", 0.2, inertia=(0.01,) * 3)
        made.add_body(f"leg{k}", 0.3, inertia=(0.01,) * 3)
        made.add_joint(f"hip{k}", "revolute", "trunk", f"hip{k}", axis=(0, 1, 0), parent_pose=(x, y, 0))
        made.add_joint(f"leg{k}", "prismatic", f"hip{k}", f"leg{k}", axis=(0, 0, 1), friction=1.0)
        made.add_contact(f"foot{k}", f"leg{k}", (0, 0, -0.5), friction="coulomb", friction_coefficient=0.6)
        made.add_actuator(f"turn{k}", f"hip{k}")
        made.add_actuator(f"push{k}", f"leg{k}")
    return sr.System(made)
