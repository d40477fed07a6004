"""Derivatives of designs against differences of 80 digits, of a four-bar in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import casadi as ca
import mpmath as mp
import numpy as np
import pytest

import sarrus as sr
from four_bars import (
    COUPLER_COM,
    DRIVES,
    LENGTHS,
    MASSES,
    centres,
    coordinates,
    coupler_point,
    derivative,
    four_bar,
    gradient,
    guess,
)
from sarrus import synthesis as sy

ANGLES = [0.3, 1.5, 2.9, 4.6]
RATE, GROWTH = 7.0, 3.0
INERTIA = {"crank": 0.002, "coupler": 0.004, "rocker": 0.003}
NAMES = ("a", "b", "c", "g", "x", "y")


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    """Have eighty digits."""
    with mp.workdps(80):
        yield


def moving(closure: str = "point", free: tuple[str, ...] = ()) -> tuple[sy.Configuration, ...]:
    """Return configurations that move."""
    return sy.sweep(
        {"crank": ANGLES},
        rates={"crank": RATE},
        accelerations={"crank": GROWTH},
        guess=guess(ANGLES[0]),
        free=free,
    )


def problem(*goals: sy.Goal, closure: str = "point") -> sy.Problem:
    """Return a problem with all lengths and the rocker's centre of mass free."""
    return sy.Problem(four_bar(closure=closure), {**DRIVES, "x": "rocker.com.x", "y": "rocker.com.y"}, goals)


def start() -> dict[str, float]:
    """Return where the variables start."""
    return {**LENGTHS, "x": 0.1, "y": 0.0}


def com(p: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the centres of mass in their bodies."""
    return {"crank": (0.05, 0.0), "coupler": COUPLER_COM, "rocker": (p["x"], p["y"])}


def in_time(f: Any, angle: float) -> tuple[Any, Any]:
    """Return the first two derivatives by time of a function of the crank's angle."""
    first = derivative(f, angle, "1e-20")
    h = mp.mpf("1e-15")
    x = mp.mpf(angle)
    second = (f(x + h) - 2 * f(x) + f(x - h)) / h**2
    return first * RATE, second * RATE**2 + first * GROWTH


def shaking(angle: float, p: dict[str, Any]) -> Any:
    """Return −ṗ as a complex number."""
    parts = [
        -mp.mpf(mass) * in_time(lambda x, k=k: centres(x, p, com(p))[k], angle)[1]
        for k, mass in enumerate(MASSES.values())
    ]
    return sum(parts)


def moment(angle: float, p: dict[str, Any]) -> Any:
    """Return −d/dt of the angular momentum about the origin."""
    total = mp.mpf(0)
    for k, name in enumerate(MASSES):
        place = centres(angle, p, com(p))[k]
        second = in_time(lambda x, k=k: centres(x, p, com(p))[k], angle)[1]
        turned = in_time(lambda x, name=name: turn(x, p, name), angle)[1]
        total -= MASSES[name] * mp.im(mp.conj(place) * second) + INERTIA[name] * turned
    return total


def turn(angle: Any, p: dict[str, Any], name: str) -> Any:
    """Return the angle of a body in the world."""
    crank, relative, rocker = coordinates(angle, p)
    return {"crank": crank, "coupler": crank + relative, "rocker": rocker}[name]


def torque(angle: float, p: dict[str, Any]) -> Any:
    """Return the torque at the crank by its power: the sum of those of inertia and weight."""
    power = mp.mpf(0)
    for k, name in enumerate(MASSES):
        v, acceleration = in_time(lambda x, k=k: centres(x, p, com(p))[k], angle)
        w, growth = in_time(lambda x, name=name: turn(x, p, name), angle)
        force = MASSES[name] * (acceleration + mp.mpc(0, mp.mpf(9.81)))
        power += mp.re(mp.conj(v) * force) + INERTIA[name] * w * growth
    return power / RATE


def check(found: sy.Value, cost: Any) -> None:
    """Compare a cost and its gradient."""
    names = [name for name in NAMES if name in found.names]
    exact = gradient(cost, start(), names)
    assert found.cost == pytest.approx(float(cost(start())), rel=1e-10)
    got = np.array([found.gradient[found.names.index(name)] for name in names])
    assert np.abs(got - exact).max() < 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("closure", ["point", "revolute"])
def test_squares_of_a_coupler_point(closure: str) -> None:
    targets = np.array([[0.1, 0.2], [0.0, 0.25], [-0.1, 0.2], [0.1, 0.1]])
    at = sy.sweep({"crank": ANGLES}, guess=guess(ANGLES[0]))
    found = problem(sy.point("coupler", (0.2, 0.1, 0), targets, at, axes="xy"), closure=closure).evaluate()

    def cost(p: dict[str, Any]) -> Any:
        places = [coupler_point(angle, p, (0.2, 0.1)) for angle in ANGLES]
        return sum(abs(place - mp.mpc(*target)) ** 2 for place, target in zip(places, targets.tolist()))

    check(found, cost)


@pytest.mark.parametrize("closure", ["point", "revolute"])
def test_shaking_force_and_moment(closure: str) -> None:
    at = moving()
    check(
        problem(sy.shaking_force(at), closure=closure).evaluate(),
        lambda p: sum(abs(shaking(angle, p)) ** 2 for angle in ANGLES),
    )
    check(
        problem(sy.shaking_moment(at), closure=closure).evaluate(),
        lambda p: sum(moment(angle, p) ** 2 for angle in ANGLES),
    )


@pytest.mark.parametrize("closure", ["point", "revolute"])
def test_torque_of_the_crank(closure: str) -> None:
    found = problem(sy.drive_force("crank", moving()), closure=closure).evaluate()
    check(found, lambda p: sum(torque(angle, p) ** 2 for angle in ANGLES))


def test_own_costs_of_velocities_and_energies() -> None:
    def cost(s: sy.Quantities) -> ca.SX:
        return s.velocity("coupler", (0.2, 0.1, 0))[0] ** 3 + s.kinetic_energy

    def exact(p: dict[str, Any]) -> Any:
        total = mp.mpf(0)
        for angle in ANGLES:
            v, _ = in_time(lambda x: coupler_point(x, p, (0.2, 0.1)), angle)
            total += mp.re(v) ** 3
            for k, name in enumerate(MASSES):
                speed, _ = in_time(lambda x, k=k: centres(x, p, com(p))[k], angle)
                w, _ = in_time(lambda x, name=name: turn(x, p, name), angle)
                total += MASSES[name] * abs(speed) ** 2 / 2 + INERTIA[name] * w**2 / 2
        return total

    check(problem(sy.cost(cost, moving())).evaluate(), exact)


def test_accelerations_and_reactions() -> None:
    """The pin's force on the rocker balances the rocker alone about its pivot: a row of λ against a free body."""

    def pivot(s: sy.Quantities) -> ca.SX:
        arm = s.position("rocker", (0.25, 0, 0)) - s.position("rocker")
        rows = [s.system.constraint_names.index(f"pin.{axis}") for axis in "xy"]
        force = s.multipliers[rows]
        return arm[0] * force[1] - arm[1] * force[0]

    def balance(angle: float, p: dict[str, Any]) -> Any:
        arm = centres(angle, p, com(p))[2] - mp.mpf(p["g"])
        acceleration = in_time(lambda x: centres(x, p, com(p))[2], angle)[1] + mp.mpc(0, mp.mpf(9.81))
        growth = in_time(lambda x: turn(x, p, "rocker"), angle)[1]
        return MASSES["rocker"] * mp.im(mp.conj(arm) * acceleration) + INERTIA["rocker"] * growth

    made = sy.Problem(
        four_bar(),
        {"x": "rocker.com.x", "y": "rocker.com.y", "b": "pin.pose1.x"},
        [sy.squares(pivot, moving())],
    )
    check(made.evaluate(), lambda p: sum(balance(angle, p) ** 2 for angle in ANGLES))


def test_free_drivers_and_clearance() -> None:
    at = [sy.Configuration({"crank": 1.5}, free=("crank",), guess=guess(1.5))]
    made = problem(sy.point("coupler", (0.2, 0.1, 0), [0.1, 0.2], at, axes="xy"))
    found = made.evaluate()

    def cost(p: dict[str, Any]) -> Any:
        return abs(coupler_point(p.get("crank[0]", 1.5), p, (0.2, 0.1)) - mp.mpc(0.1, 0.2)) ** 2

    check(found, cost)
    slope = float(derivative(lambda x: cost({**start(), "crank[0]": x}), 1.5))
    assert found.gradient[found.names.index("crank[0]")] == pytest.approx(slope, rel=1e-9)


def test_margins_follow_like_their_differences() -> None:
    at = sy.sweep({"crank": ANGLES}, guess=guess(ANGLES[0]))
    made = sy.Problem(
        four_bar(), DRIVES, [sy.cost(lambda s: s.parameters["a"], at)], constraints=[sy.clearance(at, 1e-3)]
    )
    made.evaluate()
    evaluation = made.evaluation
    x = made.variables.start
    exact = evaluation.margin_jacobian(evaluation.at(x), 0)
    for k in range(len(x)):
        h = 1e-5 * np.eye(len(x))[k]
        sides = [evaluation.at(x + sign * h).margins[0] for sign in (1.0, -1.0)]
        assert np.allclose((sides[0] - sides[1]) / 2e-5, exact[:, k], atol=1e-7)


def test_places_of_rest_follow() -> None:
    """A pendulum on a spring: k θ = m g l cos θ at rest, against its implicit derivative."""
    arm = sr.Mechanism("arm", gravity=(0, -9.81, 0))
    arm.add_body("arm", 2.0, (0.4, 0, 0), (0.1, 0.1, 0.1))
    arm.add_joint("hinge", "revolute", "world", "arm", stiffness=30.0)
    rest = sy.Rest([0.0])
    made = sy.Problem(
        arm,
        {"k": "hinge.stiffness", "l": "arm.com.x"},
        [sy.squares(lambda s: s.coordinate("hinge") + 0.1, rest)],
    )
    found = made.evaluate()

    def angle(p: dict[str, Any]) -> Any:
        return mp.findroot(lambda x: p["k"] * x + 2 * mp.mpf(9.81) * p["l"] * mp.cos(x), -0.25)

    at = {"k": 30.0, "l": 0.4}
    exact = gradient(lambda p: (angle(p) + mp.mpf(0.1)) ** 2, at, ("k", "l"))
    assert np.allclose(found.gradient, exact, rtol=1e-9)
    design = made.solve()
    assert design.status is sr.Status.OK
    assert sr.equilibrium(sr.System(design.mechanism), [0.0]).q[0] == pytest.approx(-0.1, abs=1e-9)


def test_a_linkage_in_space_with_quaternions() -> None:
    """RSUR in space, whose coupler hangs on a ball joint: against differences of fourth order of the same goals."""
    linkage = sr.Mechanism("space", gravity=(0, 0, -9.81))
    for name, parent, kind, place, axis in (
        ("crank", "world", "revolute", (0, 0, 0), (0, 0, 1)),
        ("coupler", "crank", "spherical", (0.2, 0, 0), (0, 0, 1)),
        ("rocker", "world", "revolute", (0.6, 0.3, 0), (0, 1, 0)),
    ):
        linkage.add_body(name, 1.0, (0.1, 0.02, 0.03), (0.01, 0.02, 0.02))
        linkage.add_joint(name, kind, parent, name, parent_pose=place, axis=axis)
    linkage.add_closure(
        "pin",
        "universal",
        "coupler",
        "rocker",
        axis=(0, 0, 1),
        axis2=(1, 0, 0),
        pose1=(0.7, 0, 0),
        pose2=(0, 0, 0.5),
    )
    system = sr.System(linkage)
    q = system.assemble(system.neutral()).q
    turned = {"crank": 0.4 + np.arange(3) * 0.1}
    at = sy.sweep(turned, rates={"crank": 3.0}, accelerations={"crank": 2.0}, guess=q)
    drives = {
        "a": "coupler.placement.x",
        "b": "pin.pose1.x",
        "y": "rocker.placement.y",
        "m": "coupler.mass",
        "z": "rocker.com.z",
    }
    goals = [
        sy.shaking_force(at, weight=1e-2),
        sy.shaking_moment(at, about=(0.1, 0.2, 0.3)),
        sy.drive_force("crank", at),
        sy.point("coupler", (0.3, 0.1, 0.2), np.zeros((3, 3)), at),
        sy.squares(lambda s: s.acceleration("rocker", (0, 0, 0.5)), at, weight=0.1),
        sy.reaction("rocker", at, part="bearing_couple", frame="joint", weight=0.1),
        sy.reaction("pin", at, frame="coupler", weight=0.1),
    ]
    made = sy.Problem(linkage, drives, goals)
    assert made.system.nq == made.system.nv + 1
    found = made.evaluate()
    for k, name in enumerate(found.names):
        x, h = made.variables.start[k], 2e-3
        sides = [made.evaluate({name: x + n * h}).cost for n in (-2, -1, 1, 2)]
        slope = (sides[0] - 8 * sides[1] + 8 * sides[2] - sides[3]) / (12 * h)
        assert found.gradient[k] == pytest.approx(slope, rel=1e-6, abs=1e-6)
