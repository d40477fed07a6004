"""Mechanisms with ropes: the scenes with closed forms of the tests, and random ones with loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sarrus as sr
from sarrus.model.mechanism.tendons import Pulley, Wrap

ANCHORS = ((0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0))
CORNERS = ((-0.2, -0.1), (0.2, -0.1), (0.2, 0.1), (-0.2, 0.1))


def bob(**options: Any) -> sr.System:
    """1 kg in the plane x, z on a rope of 0.6 m from the origin."""
    mechanism = sr.Mechanism("bob")
    mechanism.add_body("slide", 0.0, inertia=(0, 0, 0))
    mechanism.add_body("bob", 1.0, inertia=(1e-3,) * 3)
    mechanism.add_joint("x", "prismatic", "world", "slide", axis=(1, 0, 0))
    mechanism.add_joint("z", "prismatic", "slide", "bob", axis=(0, 0, 1))
    mechanism.add_rope("rope", ["world", "bob"], **{"length": 0.6, **options})
    return sr.System(mechanism)


def lifts(name: str, masses: dict[str, tuple[float, float]]) -> sr.Mechanism:
    """Masses [kg] at x [m] that move along z."""
    mechanism = sr.Mechanism(name)
    for body, (mass, x) in masses.items():
        mechanism.add_body(body, mass, inertia=(1e-3,) * 3)
        mechanism.add_joint(body, "prismatic", "world", body, axis=(0, 0, 1), parent_pose=(x, 0, 0))
    return mechanism


def atwood() -> sr.System:
    """2 kg and 1 kg on a rope over a pulley; 2 kg hang 0.5 m above an inelastic floor."""
    mechanism = lifts("atwood", {"two": (2.0, 0.0), "one": (1.0, 0.4)})
    mechanism.add_contact("floor", "two", offset=-1.5, friction="coulomb", friction_coefficient=0.0)
    path = ["two", ("world", (0, 0, 0)), Pulley(1.0), ("world", (0.4, 0, 0)), "one"]
    mechanism.add_rope("rope", path, length=2.0)
    return sr.System(mechanism)


def winch(length: Callable[[Any], Any]) -> sr.System:
    """10 kg on a rope whose length is a function of time."""
    mechanism = lifts("winch", {"load": (10.0, 0.0)})
    mechanism.add_rope("rope", ["world", "load"], length=length)
    return sr.System(mechanism)


def tackle(*, on_bodies: bool = False) -> sr.System:
    """12 kg on a moving pulley with two parts, 4 kg on the free end; the fixed points may be bodies of their own."""
    mechanism = lifts("tackle", {"load": (12.0, 0.0), "weight": (4.0, 0.4)})
    ceiling, over = ("world", (0, 0, 0)), ("world", (0.4, 0, 0))
    if on_bodies:
        for body, x in (("ceiling", 0.0), ("block", 0.2)):
            mechanism.add_body(body, 1e-9)
            mechanism.add_joint(body, "fixed", "world", body, parent_pose=(x, 0, 0))
        ceiling, over = ("ceiling", (0, 0, 0)), ("block", (0.2, 0, 0))
    block = ("block", (-0.2, 0, 0)) if on_bodies else ("world", (0, 0, 0))
    mechanism.add_rope("rope", [ceiling, "load", block, Pulley(1.0), over, "weight"], length=3.0)
    return sr.System(mechanism)


def platform(q: tuple[float, float, float], *, cables: bool) -> sr.System:
    """A planar platform of 20 kg at (x, z, φ) on four ropes that are just taut there, or on four pulling motors."""
    mechanism = sr.Mechanism("platform")
    mechanism.add_body("platform", 20.0, inertia=(1.0,) * 3)
    mechanism.add_joint("p", "planar", "world", "platform", axis=(0, -1, 0), axis2=(1, 0, 0))
    x, z, turn = q
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    for k, (anchor, corner) in enumerate(zip(np.array(ANCHORS), np.array(CORNERS))):
        length = float(np.linalg.norm(np.array([x, z]) + rotation @ corner - anchor))
        path = [("world", (anchor[0], 0, anchor[1])), ("platform", (corner[0], 0, corner[1]))]
        if cables:
            mechanism.add_rope(f"r{k}", path, length=length)
        else:
            mechanism.add_tendon(f"r{k}", path)
            mechanism.add_actuator(f"u{k}", sr.model.mechanism.TendonTransmission(f"r{k}", gear=-1.0))
    return sr.System(mechanism)


def drum_and_load(*, radius: float = 0.1, torque: float = 0.0) -> sr.System:
    """A drum of 0.02 kg m² that winds up the rope of 3 kg, with a motor."""
    mechanism = lifts("drum", {"load": (3.0, 0.0)})
    mechanism.add_body("drum", 1.0, inertia=(0.02,) * 3)
    mechanism.add_joint("turn", "revolute", "world", "drum", axis=(0, 1, 0), parent_pose=(0, 0, 1))
    mechanism.add_rope("rope", ["world", "load"], length=2.0, joint_terms={"turn": radius})
    mechanism.add_actuator("motor", "turn")
    return sr.System(mechanism)


def random_loop(seed: int, *, hauling: float = 0.0) -> tuple[sr.System, np.ndarray, np.ndarray]:
    """A four-bar linkage with a chain and a rope around a wheel between them, taut at (q, v), without losses.

    A winch hauls the rope in by ``hauling`` t² [m].
    """
    rng = np.random.default_rng((43, seed))
    mechanism = sr.Mechanism(f"loop {seed}")
    lengths = {"crank": 0.3, "coupler": 0.8, "rocker": 0.6}
    parent, at = "world", 0.0
    for body in ("crank", "coupler"):
        _bar(mechanism, rng, body, parent, at, lengths[body])
        parent, at = body, lengths[body]
    _bar(mechanism, rng, "rocker", "world", 0.7, lengths["rocker"])
    mechanism.add_closure(
        "pin", "revolute", "coupler", "rocker", pose1=(0.8, 0, 0), pose2=(0.6, 0, 0), axis=(0, 1, 0)
    )
    _bar(mechanism, rng, "arm", "rocker", 0.6, 0.4)
    _bar(mechanism, rng, "hand", "arm", 0.4, 0.3)
    wheel = Wrap(
        "world", "cylinder", 0.15, sr.Pose((1.1, 0, 0.9), np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]]))
    )
    ends = [("world", (0.7, 0, 1.2)), ("hand", (0.3, 0, 0))]
    path = [ends[0], wheel, ends[1]] if seed % 2 else ends
    path = [*path, Pulley(2.0), "coupler", ("arm", (0.2, 0.1, 0))]
    mechanism.add_tendon("free", path)
    mechanism.add_sensor("length", "tendonpos", "free")
    system = sr.System(mechanism)
    guess = {"crank": -1.2, "coupler": 0.9, "rocker": -1.4, "arm": 2.0, "hand": 0.5}
    start = np.array([guess[name] for name in system.coordinate_names]) + 0.1 * rng.standard_normal(system.nq)
    q = system.assemble(start, locked=["crank"]).q
    length = float(system.sensors(q, np.zeros(system.nv))["length"][0])
    wound = -0.05 * float(q[list(system.coordinate_names).index("hand")])
    whole = length + wound
    wind = (lambda t: whole - hauling * t**2) if hauling else whole
    mechanism.add_rope("rope", path, length=wind, joint_terms={"hand": -0.05})
    return sr.System(mechanism), q, system.project_velocity(q, rng.standard_normal(system.nv))


def _bar(
    mechanism: sr.Mechanism, rng: np.random.Generator, body: str, parent: str, at: float, length: float
) -> None:
    mass = float(rng.uniform(0.5, 2.0))
    mechanism.add_body(body, mass, com=(0.5 * length, 0, 0), inertia=(mass * length**2 / 12,) * 3)
    mechanism.add_joint(body, "revolute", parent, body, axis=(0, 1, 0), parent_pose=(at, 0, 0))
