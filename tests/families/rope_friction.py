"""Mechanisms with ropes that rub on what they wrap, and the forces of such ropes from vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import sarrus as sr
from families import ropes
from sarrus.model.mechanism.tendons import Wrap

ACROSS = sr.Pose.of((0, 0, 0), rpy=(np.pi / 2, 0, 0))  # a cylinder along y


def post(friction: float, radius: float = 0.2, body: str = "world", pose: sr.Pose = ACROSS) -> Wrap:
    """A horizontal cylinder that a rope passes above."""
    above = "world", np.array((0, 0, 2 * radius))
    return Wrap(body, "cylinder", radius, pose, above, friction_coefficient=friction)


def over_post(heavy: float, light: float, friction: float, **options: Any) -> sr.System:
    """Two masses [kg] on a rope over a post of 0.2 m, both 1 m below its axis at (−1, −1)."""
    mechanism = ropes.lifts("post", {"heavy": (heavy, -0.2), "light": (light, 0.2)})
    options = {"length": 2.0 + 0.2 * np.pi, **options}
    mechanism.add_rope("rope", ["heavy", post(friction), "light"], **options)
    return sr.System(mechanism)


def band_brake(friction: float) -> sr.System:
    """A drum of 0.02 kg m² under a band from a weight of 2 kg to the ground."""
    mechanism = ropes.lifts("brake", {"weight": (2.0, -0.2)})
    mechanism.add_body("drum", 1.0, inertia=(0.01, 0.02, 0.01))
    mechanism.add_joint("drum", "revolute", "world", "drum", axis=(0, 1, 0))
    path = ["weight", post(friction, body="drum"), ("world", (0.2, 0, -1))]
    mechanism.add_rope("band", path, length=2.0 + 0.2 * np.pi)
    return sr.System(mechanism)


def bollard(friction: float, speed: float) -> sr.System:
    """A winch hauls a load of 10 kg in at ``speed`` [m/s] over a post."""
    mechanism = ropes.lifts("bollard", {"load": (10.0, -0.2)})
    path = ["load", post(friction), ("world", (0.2, 0, -1))]
    mechanism.add_rope("rope", path, length=lambda t: 2.0 + 0.2 * np.pi - speed * t)
    return sr.System(mechanism)


def swinging_load(friction: float, counterweight: float) -> sr.System:
    """1 kg that swings on a rope over a post, with a counterweight on the other side."""
    mechanism = ropes.lifts("swing", {"counter": (counterweight, -0.2)})
    for name, axis, parent in (("slide", (1, 0, 0), "world"), ("load", (0, 0, 1), "slide")):
        mechanism.add_body(name, float(name == "load"), inertia=(1e-3 * (name == "load"),) * 3)
        mechanism.add_joint(name, "prismatic", parent, name, axis=axis)
    mechanism.add_rope("rope", ["counter", post(friction), "load"], length=2.0 + 0.2 * np.pi)
    return sr.System(mechanism)


def taut_swing(angle: float) -> np.ndarray:
    """Return q of `swinging_load` with the counterweight 1 m below the axis and the load at an angle [rad] outwards."""
    free = 1.0 + 0.2 * angle
    leaves = 0.2 * np.array([np.cos(angle), np.sin(angle)])
    return np.array([-1.0, *(leaves + free * np.array([np.sin(angle), -np.cos(angle)]))])


def random_arms(seed: int, friction: float) -> tuple[sr.System, np.ndarray, np.ndarray]:
    """Two arms and a turning wheel between them that a rope passes around, taut at q; the rope ends at the arms' tips.

    Returns the system, q and a random v. Motors (`PULLS`) turn the arms away from the wheel.
    """
    rng = np.random.default_rng((95, seed))
    mechanism = sr.Mechanism(f"arms {seed}")
    for name, x in (("left", -0.6), ("wheel", 0.0), ("right", 0.6)):
        mechanism.add_body(name, float(rng.uniform(0.5, 2)), com=(0.1, 0, 0), inertia=(0.05,) * 3)
        mechanism.add_joint(name, "revolute", "world", name, axis=(0, 1, 0), parent_pose=(x, 0, 0.1 * x))
    mechanism.add_body("hand", 0.7, com=(0.1, 0, 0), inertia=(0.02,) * 3)
    mechanism.add_joint("hand", "revolute", "right", "hand", axis=(0, 1, 0), parent_pose=(0.3, 0, 0))
    hub = sr.Pose.of((0.03, 0, 0.02), rpy=(np.pi / 2, 0, 0))
    wheel = post(friction, 0.2, "wheel", hub)
    path = [("left", (0.5, 0, 0)), wheel, ("hand", (0.3, 0, 0))]
    mechanism.add_tendon("probe", [path[0], replace(wheel, friction_coefficient=0.0), path[2]])
    mechanism.add_sensor("length", "tendonpos", "probe")
    probe = sr.System(mechanism)
    q = np.array([2.2, rng.uniform(-0.4, 0.4), 1.3, 0.4]) + 0.2 * rng.uniform(-1, 1, 4)
    length = float(probe.sensors(q, np.zeros(4))["length"][0])
    mechanism.add_rope("rope", path, length=length)
    for name in ("left", "right"):
        mechanism.add_actuator(name, name)
    return sr.System(mechanism), q, rng.standard_normal(4)


PULLS = np.array([25.0, -20.0])  # N m of the motors of `random_arms`, with which the rope is taut


def tangents(
    centre: ArrayLike, radius: float, start: ArrayLike, end: ArrayLike
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the points (x, z) where a rope that passes above a circle leaves it, with unit vectors to its ends."""
    found = []
    for side, point in ((-1.0, start), (1.0, end)):
        away = np.asarray(point) - np.asarray(centre)
        distance = float(np.linalg.norm(away))
        turn = np.arctan2(away[1], away[0]) + side * -1.0 * -np.arccos(radius / distance)
        place = np.asarray(centre) + radius * np.array([np.cos(turn), np.sin(turn)])
        towards = np.asarray(point) - place
        found.append((place, towards / np.linalg.norm(towards)))
    return found


def over_posts(
    heavy: float, light: float, frictions: list[float], unit: tuple[float, float] = (1.0, 1.0), **how: bool
) -> tuple[sr.System, np.ndarray, float]:
    """Two masses on a rope over a row of posts, through an eye between two of them, with q and α = Σ μθ.

    ``unit`` are the metre and the kilogram in units of the model; ``turned``: the path is given from its other end.
    """
    metre, mass = unit
    radius, last = 0.2, len(frictions) - 1
    mechanism = ropes.lifts(
        "posts", {"heavy": (heavy * mass, -radius * metre), "light": (light * mass, (last + radius) * metre)}
    )
    if metre != 1.0:
        mechanism.gravity = np.array([0, 0, -9.81 * metre])
    path: list[Any] = ["heavy"]
    ends, alpha, length = [np.array([-radius, -1.0])], 0.0, 0.0
    for k, friction in enumerate(frictions):
        centre = sr.Pose.of((k * metre, 0, 0), rpy=(np.pi / 2, 0, 0))
        above = "world", np.array((k * metre, 0, 2 * radius * metre))
        path.append(Wrap("world", "cylinder", radius * metre, centre, above, friction_coefficient=friction))
        if k < last:
            path.append(("world", np.array((k + 0.5, 0, -0.1 - 0.05 * k)) * metre))
            ends.append(np.array([k + 0.5, -0.1 - 0.05 * k]))
    ends.append(np.array([last + radius, -1.0]))
    for k, friction in enumerate(frictions):
        to = [end - (k, 0) for end in ends[k : k + 2]]
        far = [float(np.linalg.norm(w)) for w in to]
        between = (np.arctan2(to[0][1], to[0][0]) - np.arctan2(to[1][1], to[1][0])) % (2 * np.pi)
        theta = between - sum(np.arccos(radius / d) for d in far)
        alpha += friction * theta
        length += radius * theta + sum(np.sqrt(d * d - radius**2) for d in far)
    path = [*path, "light"]
    mechanism.add_rope("rope", path[:: -1 if how.get("turned") else 1], length=length * metre)
    return sr.System(mechanism), np.array([-metre, -metre]), float(alpha)
