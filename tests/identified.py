"""Mechanisms to identify, logs of exact motions with noise, and true numbers beside the prior ones."""

from __future__ import annotations

from typing import Any

import numpy as np

import sarrus as sr
from conftest import load_example
from sarrus.base.arrays import Array
from sarrus.design.identification import Regressor
from sarrus.design.identification.consistent import _ten
from sarrus.design.identification.fourier import Fourier
from sarrus.design.identification.inertial import numbers_of, pseudo_inertia, with_numbers
from sarrus.design.identification.loops import Loops
from sarrus.model.mechanism.checks import impossible


def four_bar() -> sr.Mechanism:
    """A driven crank, a coupler and a rocker with a spring and a damper on it, in the x-z plane; pin in space."""
    m = sr.Mechanism("four_bar")
    for name, length, mass in (("crank", 0.3, 1.0), ("coupler", 1.0, 2.0), ("rocker", 0.8, 1.5)):
        moment = mass * length**2 / 12
        m.add_body(name, mass, com=(length / 2, 0, 0.03), inertia=(0.2 * moment, moment, moment))
    axis = (0, -1, 0)
    m.add_joint("crank_pin", "revolute", "world", "crank", axis=axis, damping=0.4)
    m.add_joint("coupler_pin", "revolute", "crank", "coupler", axis=axis, parent_pose=(0.3, 0, 0))
    m.add_joint("rocker_pin", "revolute", "world", "rocker", axis=axis, parent_pose=(1, 0, 0), reference=1.2)
    m.add_closure(
        "pin", "revolute", "coupler", "rocker", axis=(0, 1, 0), pose1=(1.0, 0, 0), pose2=(0.8, 0, 0)
    )
    m.add_spring_damper(
        "spring", "world", "rocker", point1=(1.6, 0, 0.1), point2=(0.5, 0, 0), stiffness=150.0, damping=6.0,
        rest_length=0.5,
    )  # fmt: skip
    m.add_actuator("motor", "crank_pin")
    return m


def other_numbers(mechanism: sr.Mechanism, seed: int, size: float = 0.15) -> sr.Mechanism:
    """A mechanism whose bodies have other masses, centres and inertias: each pseudo-inertia P becomes G P Gᵀ."""
    rng, true = np.random.default_rng(seed), mechanism.snapshot()
    for body in mechanism.bodies.values():
        g = np.eye(4) + size * rng.uniform(-1, 1, (4, 4)) * np.outer([0.3, 0.3, 0.3, 1], [1, 1, 1, 1])
        g[3, :3] = 0.0  # otherwise lengths count as masses
        true.replace_body(with_numbers(body, _ten(g @ pseudo_inertia(numbers_of(body)) @ g.T)))
    return true


def motion(
    system: sr.System, names: list[str], q: Array, swing: Array | float, period: float, count: int, seed: int
) -> tuple[Array, Array, Array, Array]:
    """t, q, v, a of a Fourier motion of independent coordinates about q, with the loops closed."""
    rng, m = np.random.default_rng(seed), len(names)
    at = [system.coordinate_names.index(n) for n in names]
    k = np.arange(1, 5) * 2 * np.pi / period
    swing = np.broadcast_to(swing, m)[:, None]
    sine, cosine = rng.uniform(-1, 1, (2, m, 4)) * k * swing / 4
    t = np.arange(count) * (2 * period / count)
    loops = Loops(system, [system.velocity_names.index(n) for n in names], q)
    places, rates, accelerations = Fourier(q[at], sine, cosine, period)(t)
    closed, good = loops.along(places[None], t)
    assert good[0]
    v, a, margin = loops.moving(closed[0], rates, accelerations, t)
    assert margin.min(initial=np.inf) > 1e-7
    assert max(np.abs(system.constraint_residual(x)).max() for x in closed[0]) < 1e-11
    return t, closed[0], v, a


def controls(system: sr.System, q: Array, v: Array, a: Array) -> Array:
    """The controls of exact motions by the library's inverse dynamics."""
    return np.array([system.inverse_dynamics(*state).u for state in zip(q, v, a)])


def noisy(
    rng: np.random.Generator, part: float, **signals: Array
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Signals with white noise of this part of each column's root mean square (of q about its mean), and its size."""
    out, sizes = {}, {}
    for name, x in signals.items():
        swing = x - x.mean(axis=0) if name == "q" else x
        sizes[name] = part * np.sqrt((swing**2).mean(axis=0))
        out[name] = x + sizes[name] * rng.standard_normal(x.shape)
    return out, sizes


def true_values(regressor: Regressor, true: sr.Mechanism) -> Array:
    """The regressor's numbers as another mechanism has them."""
    return Regressor(sr.System(true), list(regressor.names)).values


def case(name: str) -> tuple[sr.Mechanism, list[str], Array, Any, float]:
    """Mechanism, independent coordinates, where they swing about and by how much, and the period."""
    if name == "five_bar":
        mechanism = sr.load("models/five_bar.xml")
        return mechanism, ["left", "right"], mechanism.keyframes["symmetric"].q, 2.0, 3.0
    if name == "four_bar":
        mechanism = four_bar()
        system = sr.System(mechanism)
        return mechanism, ["crank_pin"], system.assemble(system.neutral()).q, 9.0, 4.0
    example = load_example("three_leg_platform")
    mechanism = example.build()
    names = ["platform.x", "platform.y", "platform.angle"]
    return mechanism, names, example.pose(sr.System(mechanism)), [0.6, 0.6, 1.8], 3.0


def physical(mechanism: sr.Mechanism) -> None:
    for body in mechanism.bodies.values():
        assert not impossible(body.mass, body.inertia)
        values = np.linalg.eigvalsh(pseudo_inertia(numbers_of(body)))
        assert values[0] > 0.0
    rebuilt = sr.Mechanism("rebuilt")
    for body in mechanism.bodies.values():
        rebuilt.add_body(body.name, body.mass, body.com, body.inertia)  # the builder's own checks
