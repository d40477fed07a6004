"""Designs: published closed forms recovered, also with redundant closures."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from four_bars import ANGLES, COUPLER_COM, DRIVES, LENGTHS, MASSES, POINT, four_bar, guess, points
from sarrus import synthesis as sy

NEAR = {"a": 0.11, "b": 0.285, "c": 0.26, "g": 0.335}


def path(
    closure: str = "point", free: tuple[str, ...] = (), angles: np.ndarray = ANGLES, **options: object
) -> sy.Problem:
    """Return the problem to find these lengths from others by five points of the coupler."""
    at = sy.sweep({"crank": angles}, guess=guess(angles[0], NEAR), free=free)
    goals = [sy.point("coupler", POINT, points(), at, axes="xy")]
    return sy.Problem(four_bar(NEAR, closure), DRIVES, goals, **options)  # type: ignore[arg-type]


# --- closed forms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("closure", ["point", "revolute"])
def test_five_points_of_a_coupler_are_recovered(closure: str) -> None:
    """Points of a known linkage; a revolute closure in space has three redundant rows."""
    made = path(closure, bounds=dict.fromkeys(DRIVES, (0.05, 0.6)))
    assert (made.system.nc, made.system.nv) == ((3, 3) if closure == "point" else (5, 3))
    design = made.solve()
    assert design.status is sr.Status.OK
    assert design.success
    assert not design.active
    assert design.cost < 1e-20 < design.start_cost
    for name, value in LENGTHS.items():
        assert design.parameters[name] == pytest.approx(value, abs=1e-9)
    # the new mechanism has these numbers, and its own assembly passes the points
    system = sr.System(design.mechanism)
    for angle, target in zip(ANGLES, points()):
        q = system.assemble(guess(angle), locked=["crank"]).q
        assert np.allclose(system.jacobian(q, body="coupler", point=POINT).position[:2], target, atol=1e-9)


def test_points_with_free_crank_angles_are_recovered() -> None:
    design = path(free=("crank",), angles=ANGLES + 0.05).solve()
    assert design.status is sr.Status.OK
    assert design.goals["point of coupler"] < 1e-8
    assert set(design.drivers) == {f"crank[{k}]" for k in range(5)}
    assert np.allclose([design.parameters[name] for name in LENGTHS], list(LENGTHS.values()), atol=1e-6)


@pytest.mark.parametrize("closure", ["point", "revolute"])
def test_a_shaking_force_is_balanced_by_counterweights(closure: str) -> None:
    """Berkof and Lowen 1969: the first moments of crank and rocker that hold the centre of mass still."""
    at = sy.sweep({"crank": np.arange(8) * np.pi / 4}, rates={"crank": 20.0}, guess=guess(0.0))
    made = sy.Problem(
        four_bar(closure=closure),
        {"x1": "crank.com.x", "y1": "crank.com.y", "x3": "rocker.com.x", "y3": "rocker.com.y"},
        [sy.shaking_force(at, axes="xy", within=1e-6)],
    )
    design = made.solve()
    share = complex(*COUPLER_COM) / LENGTHS["b"]  # of the coupler's mass at the pin, the rest at the crank
    crank = -MASSES["coupler"] * LENGTHS["a"] * (1.0 - share) / MASSES["crank"]
    rocker = -MASSES["coupler"] * LENGTHS["c"] * share / MASSES["rocker"]
    exact = [crank.real, crank.imag, rocker.real, rocker.imag]
    assert design.status is sr.Status.OK
    assert np.allclose([design.parameters[n] for n in ("x1", "y1", "x3", "y3")], exact, atol=1e-9, rtol=0)
    system = sr.System(design.mechanism)
    still = [system.centroidal(q).centre for q in design.q]
    assert np.ptp(still, axis=0).max() < 1e-10


def test_a_spring_without_free_length_carries_an_arm() -> None:
    """k a b = m g l, exact over the whole range."""
    arm = sr.Mechanism("arm", gravity=(0, -9.81, 0))
    arm.add_body("arm", 2.0, (0.4, 0, 0), (0.01, 0.05, 0.05))
    arm.add_joint("hinge", "revolute", "world", "arm")
    arm.add_spring_damper(
        "spring", "world", "arm", stiffness=100.0, rest_length=0.0, point1=(0, 0.2, 0), point2=(0.15, 0, 0)
    )
    at = sy.sweep({"hinge": np.linspace(-1.2, 1.2, 7)})
    design = sy.Problem(arm, {"k": "spring.stiffness"}, [sy.drive_force("hinge", at)]).solve()
    assert design.parameters["k"] * 0.2 * 0.15 == pytest.approx(2.0 * 9.81 * 0.4, rel=1e-12)
    bounds = {"k": (10.0, 2000.0), "a": (0.05, 0.5)}
    drives = {"k": "spring.stiffness", "a": "spring.point1.y"}
    relation = sy.linear({"k": 1.0, "a": -1000.0}, equal=0.0)
    for goal, constraints in (
        (sy.drive_force("hinge", at), []),
        (sy.drive_force("hinge", at), [relation]),
        (sy.peak_drive_force("hinge", at), []),
    ):
        found = sy.Problem(arm, drives, [goal], bounds=bounds, constraints=constraints).solve()
        k, a = found.parameters["k"], found.parameters["a"]
        assert found.status is sr.Status.OK
        assert k * a * 0.15 == pytest.approx(2.0 * 9.81 * 0.4, rel=1e-9)
        if constraints:
            assert k == pytest.approx(1000.0 * a, rel=1e-9)
    system = sr.System(found.mechanism)
    for angle in np.linspace(-1.5, 1.5, 20):
        left = system.bias_force([angle], [0.0]) - system.passive_force([angle], [0.0], 0.0)
        assert abs(left[0]) < 1e-8


def test_a_function_at_three_points_is_freudensteins() -> None:
    """K1 cos φ − K2 cos θ + K3 = cos(θ − φ), K1 = g/a, K2 = g/c, K3 = (a² − b² + c² + g²)/2ac; linear in K."""
    inputs = np.array([0.6, 1.1, 1.7])
    outputs = np.array([guess(x)[2] for x in inputs]) + np.array([0.004, -0.003, 0.005])
    rows = np.column_stack([np.cos(outputs), -np.cos(inputs), np.ones(3)])
    k1, k2, k3 = np.linalg.solve(rows, np.cos(inputs - outputs))
    g = LENGTHS["g"]
    a, c = g / k1, g / k2
    b = np.sqrt(a**2 + c**2 + g**2 - 2.0 * a * c * k3)
    at = sy.sweep({"crank": inputs}, guess=guess(inputs[0]))
    drives = {name: DRIVES[name] for name in "abc"}
    design = sy.Problem(four_bar(), drives, [sy.function("rocker", outputs, at, within=1e-9)]).solve()
    assert design.status is sr.Status.OK
    assert np.allclose([design.parameters[name] for name in "abc"], [a, b, c], atol=1e-9, rtol=0)


def test_poses_of_a_coupler_are_reached() -> None:
    system = sr.System(four_bar())
    places = [system.jacobian(guess(x), body="coupler") for x in ANGLES]
    at = sy.sweep({"crank": ANGLES}, guess=guess(ANGLES[0], NEAR))
    goal = sy.pose("coupler", [p.position for p in places], [p.rotation for p in places], at, length=0.2)
    design = sy.Problem(four_bar(NEAR), DRIVES, [goal]).solve()
    assert design.status is sr.Status.OK
    assert np.allclose([design.parameters[name] for name in LENGTHS], list(LENGTHS.values()), atol=1e-9)


def test_several_starts_are_drawn_with_a_seed() -> None:
    bounds = dict.fromkeys(DRIVES, (0.05, 0.6))
    one, two = (path(bounds=bounds).solve(starts=4, seed=3) for _ in range(2))
    assert one.parameters == two.parameters
    assert len(one.starts) == 4
    assert one.starts == two.starts
    assert one.status is sr.Status.OK


def test_two_arms_in_a_row_have_two_drivers() -> None:
    """Without loops: lengths of an arm of two links from two points, a closed form by itself."""
    arm = sr.Mechanism("arm", gravity=(0, 0, 0))
    for name, parent, at in (("upper", "world", 0.0), ("fore", "upper", 0.4)):
        arm.add_body(name, 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01))
        arm.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
    at = sy.sweep({"upper": [0.1, 0.8], "fore": [0.5, -0.4]})
    exact = [0.55 * np.exp(0.1j) + 0.3 * np.exp(0.6j), 0.55 * np.exp(0.8j) + 0.3 * np.exp(0.4j)]
    goal = sy.point("fore", (0.3, 0, 0), [[z.real, z.imag] for z in exact], at, axes="xy")
    design = sy.Problem(arm, {"l": "fore.placement.x"}, [goal]).solve()
    assert design.parameters["l"] == pytest.approx(0.55, abs=1e-12)


def test_a_design_prints_as_a_table() -> None:
    design = path(bounds=dict.fromkeys(DRIVES, (0.05, 0.6))).solve()
    text = str(design)
    assert text.startswith("four_bar: OK, a local minimum")
    assert "before" in text
    assert "point of coupler" in text
    assert text.splitlines()[2].split() == ["a", "0.11", "0.1"]
