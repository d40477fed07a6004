"""Motions in momenta and quasi-velocities, by relations with velocities, and the conditions on such relations."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from families.state_relations import cases
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SimulationError
from sarrus.base.status import Status
from sarrus.dynamics.coordinates import Momenta, Relation, extend
from test_state_relations import (
    MOVING,
    PHASES,
    QUASI,
    TIGHT,
    bar_state,
    five_bar,
    particle,
    sleigh,
    sleigh_state,
    swing,
    swing_state,
)

# --- motion ----------------------------------------------------------------------------------------------


def compare(
    system: sr.System, q: Array, v: Array, relation: Relation, duration: float, t0: float = 0.0
) -> sr.Trajectory:
    """Run a motion in the coordinates of a relation and in all coordinates; their ends agree to 1e-10."""
    plain = sr.simulate(system, q, v, duration=duration, t0=t0, error_estimate=False, **TIGHT)
    found = sr.simulate(
        system, q, v, duration=duration, t0=t0, coordinates=relation, error_estimate=False, **TIGHT
    )
    assert found.status is Status.OK
    assert_allclose(found.q[-1, : system.nq], plain.q[-1], rtol=0, atol=1e-10)
    assert_allclose(found.v[-1, : system.nv], plain.v[-1], rtol=0, atol=1e-10)
    assert found.residual.max() < 1e-12
    return found


@pytest.mark.parametrize("seed", range(4))
def test_motion_is_the_plain_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v = bar_state(seed)
    for system in (five_bar(), five_bar(2)):
        for momenta in (Momenta(["left", "right"]), Momenta()):
            compare(system, q, v, momenta, 0.15)
    motion = compare(sleigh(), *sleigh_state(seed), QUASI, 2.0)
    assert motion.velocity_names == ("x", "y", "yaw", "com.x", "com.y", "heading", "speed", "spin")
    com = motion.q[:, :2] + 0.3 * np.column_stack([np.cos(motion.q[:, 2]), np.sin(motion.q[:, 2])])
    assert_allclose(motion.v[:, 3:5], com, atol=1e-13)
    assert_allclose(motion.v[:, 6] ** 2, (motion.v[:, :2] ** 2).sum(axis=1), atol=1e-12)
    compare(sleigh(), *sleigh_state(seed), Momenta(), 2.0)
    t0 = rng.uniform(0.0, 3.0)
    state = swing_state(rng.uniform(-1.0, 1.0), rng.standard_normal(), t0)
    for relation in (Relation(MOVING.function, ["angle"]), MOVING, Momenta()):
        compare(swing(), *state, relation, 1.0, t0)


def test_amplitudes_of_a_run_stay() -> None:
    motion = compare(particle(), np.array([0.3, 0.5]), np.array([0.7, -0.2]), PHASES, 3.0)
    assert_allclose(np.ptp(motion.v[:, 2:4], axis=0), 0.0, atol=1e-13)
    assert_allclose(motion.v[-1, 4:] - motion.v[0, 4:], 3.0 * np.sqrt(1.5), atol=1e-11)


def test_rolling_disc_in_quasi_velocities() -> None:
    """A mechanism with quaternions and nonholonomic rows, in momenta of its own velocities."""
    system = load_example("rolling_disc").build()
    q = system.neutral()
    v = system.project_velocity(q, np.array([0.4, 0.1, 0.0, 0.3, -2.0, 0.5])[: system.nv])
    compare(system, q, v, Momenta(), 0.3)


def test_charts_of_momenta_change_on_the_way() -> None:
    """The five-bar falls through a singular configuration; momenta change with the charts, the motion goes on."""
    q = load_example("five_bar").SYMMETRIC
    found = sr.simulate(five_bar(), q, duration=1.2, coordinates=Momenta(), rtol=1e-11, atol=1e-11)
    plain = sr.simulate(five_bar(), q, duration=1.2, **TIGHT)
    assert len(found.events) > 0
    assert found.events[0].name == "independent coordinates: y0, y1, p0, p1"
    assert_allclose(found.q[-1], plain.q[-1], rtol=0, atol=1e-7)


def test_fixed_steps_have_order_four() -> None:
    q, v = bar_state(2)
    exact = sr.simulate(five_bar(), q, v, duration=0.2, **TIGHT).q[-1]
    errors = [
        np.abs(
            sr.simulate(five_bar(), q, v, duration=0.2, dt=h, coordinates=Momenta(["left", "right"])).q[-1]
            - exact
        ).max()
        for h in (0.02, 0.01)
    ]
    assert 3.7 < np.log2(errors[0] / errors[1]) < 4.5


def test_random_loops_in_random_coordinates() -> None:
    """``python tests/families/state_relations.py`` does hundreds."""
    done = [found for _, found in cases(4) if not isinstance(found, str)]
    assert len(done) > 2
    for found in done:
        assert found["motion"] < 1e-10
        assert found["model"] < 1e-8
        assert found["hamilton"] < 1e-8


# --- conditions ------------------------------------------------------------------------------------------


def test_conditions_are_reported_by_number() -> None:
    q, v = sleigh_state(0)
    found = sr.parametrize(sleigh(), q, v, coordinates=QUASI).conditions(q, v)
    assert [one.equation for one in found] == ["(2.27)", "(2.21)", "(2.28)", "(2.22)"]
    assert all(one.holds and one.number < 3.0 for one in found)
    assert str(found[0]) == "(2.27) ∂R_q/∂y: condition number 1"
    coupled = sr.parametrize(particle(), [0.3, 0.5], [0.7, -0.2], coordinates=PHASES).conditions([0.3, 0.5])
    assert [one.equation for one in coupled] == ["(2.21)", "(2.22)"]
    plain = sr.parametrize(five_bar(), *bar_state(0), coordinates="partition").conditions(bar_state(0)[0])
    assert [one.equation for one in plain] == ["(2.27)", "(2.28)"]


def test_what_fails_is_named() -> None:
    def quasi(place: Callable[..., object], speed: Callable[..., object]) -> Relation:
        return Relation(place, ["a", "b", "c"], velocity=speed, velocity_names=["u", "w"])

    def place(q: ca.SX, y: ca.SX) -> ca.SX:
        return q - y

    def speed(q: ca.SX, v: ca.SX, y: ca.SX, z: ca.SX) -> list[ca.SX]:
        return [v[0] * ca.cos(q[2]) + v[1] * ca.sin(q[2]) - z[0], v[2] - z[1]]

    q, v = sleigh_state(3)
    cases = (
        (quasi(lambda q, y: [q[0] - y[0], q[1] - y[1] ** 3, q[2] - y[2]], speed), r"∂R_q/∂y .* condition \(2.27\)"),
        (quasi(lambda q, y: [q[0] - y[0], q[0] - y[1], q[2] - y[2]], speed), r"\[∂R_q/∂q N; A\] .* condition \(2.28\)"),
        (quasi(place, lambda q, v, y, z: [v[0] - z[0] ** 2, v[2] - z[1]]), r"∂R_v/∂z .* condition \(2.21\)"),
        (quasi(place, lambda q, v, y, z: [v[2] - z[0], 2 * v[2] - z[1]]), r"\[∂R_v/∂v; A\] .* condition \(2.22\)"),
        (quasi(place, lambda q, v, y, z: [ca.cos(q[2]) * v[1] - ca.sin(q[2]) * v[0] - z[0], v[2] - z[1]]),
         r"u, w and the constraints \(rank 1\) do not determine v here"),
    )  # fmt: skip
    for relation, text in cases:
        for use in (
            lambda r: sr.parametrize(sleigh(), q, v, coordinates=r),
            lambda r: extend(sleigh(), q, v, relation=r),
            lambda r: sr.simulate(sleigh(), q, v, duration=0.1, coordinates=r),
            lambda r: sr.linearize_at(sleigh(), q, v, coordinates=r),
        ):
            with pytest.raises(ArgumentError, match=text):
                use(relation)
    coupled = Relation(
        lambda q, v, y, z: [*(q - y).elements(), *(q - z).elements()], ["a", "b"], velocity_names=["c", "d"]
    )
    with pytest.raises(
        ArgumentError, match=r"a, b, c, d and the .* x = \(q, v\) here: \[∂R/∂x; H\] .* \(2.22\)"
    ):
        sr.parametrize(particle(), [0.3, 0.5], coordinates=coupled)
    still = Relation(
        lambda q, v, y, z: [*(q - y).elements(), *(v - y - 0 * z).elements()],
        ["a", "b"],
        velocity_names=["c", "d"],
    )
    with pytest.raises(ArgumentError, match=r"x does not determine a, b, c, d .* condition \(2.21\)"):
        sr.parametrize(particle(), [0.3, 0.5], coordinates=still)


def test_wrong_counts_and_missing_names_are_told() -> None:
    q, v = sleigh_state(0)
    with pytest.raises(ArgumentError, match="add velocity= and velocity_names= of 2 velocities"):
        sr.parametrize(sleigh(), q, v, coordinates=Relation(lambda q, y: q - y, ["a", "b", "c"]))
    few = Relation(
        lambda q, y: q - y, ["a", "b", "c"], velocity=lambda q, v, y, z: v[2] - z[0], velocity_names=["w"]
    )
    with pytest.raises(
        ArgumentError, match=r"must give 2 independent velocities \(nv − rank = 3 − 1\), got 1 \(w\)"
    ):
        sr.parametrize(sleigh(), q, v, coordinates=few)
    with pytest.raises(ArgumentError, match="velocity_names is missing"):
        Relation(lambda q, y: q - y, ["a"], velocity=lambda q, v, y, z: v - z)
    with pytest.raises(ArgumentError, match="'a' is both in names and in velocity_names"):
        Relation(lambda q, v, y, z: q - y, ["a"], velocity_names=["a"])
    with pytest.raises(ArgumentError, match=r"velocity_guess must be 1 finite numbers \(b\)"):
        Relation(lambda q, v, y, z: q - y, ["a"], velocity_names=["b"], velocity_guess=[np.nan])
    wrong = Relation(lambda q, y: q - y, ["a", "b"], velocity=lambda q, v: v, velocity_names=["c", "d"])
    with pytest.raises(
        ArgumentError, match=r"velocity must be a function of \(q, v, y, z\), got one of \(q, v\)"
    ):
        sr.parametrize(particle(), [1.0, 0.0], coordinates=wrong)


def test_models_along_a_motion_are_those_of_each_state() -> None:
    """In momenta as single models; in sums of angles those of the angles, in other axes."""
    system = five_bar()
    run = sr.simulate(system, *bar_state(0), duration=0.2, dt=0.02)
    states = run.q, run.v, run.u
    momenta = Momenta(["left", "right"])
    along = sr.linearize_along(system, *states, t=run.t, coordinates=momenta)
    assert along.names == ("y.left", "y.right", "p.left", "p.right")
    for k in (0, 4, -1):
        single = sr.linearize_at(system, run.q[k], run.v[k], run.u[k], t=run.t[k], coordinates=momenta)
        for name in ("A", "B", "E", "affine"):
            assert_allclose(getattr(along, name)[k], getattr(single, name), rtol=0, atol=1e-12)
    sums = Relation(lambda q, y: [y[0] - q[0] - q[2], y[1] - q[0] + q[2]], ["sum", "difference"])
    turned = sr.linearize_along(system, *states, t=run.t, coordinates=sums)
    plain = sr.linearize_along(system, *states, t=run.t, coordinates=["left", "right"])
    axes = np.kron(np.eye(2), [[1.0, 1.0], [1.0, -1.0]])
    assert_allclose(turned.A, axes @ plain.A @ np.linalg.inv(axes), rtol=0, atol=1e-9 * np.abs(plain.A).max())
    assert_allclose(turned.B, axes @ plain.B, rtol=0, atol=1e-9 * np.abs(plain.B).max())


def test_a_run_says_which_condition_ends_it() -> None:
    """At the bottom of the circle the height no longer determines the pendulum."""
    height = Relation(
        lambda q, y, t: q[1] - y[0],
        ["height"],
        [-0.8],
        velocity=lambda q, v, y, z: v[1] - z[0],
        velocity_names=["climb"],
    )
    q, v = swing_state(-0.5, 3.0, 0.0)
    found = sr.simulate(swing(), q, v, duration=2.0, coordinates=height, throw=False, **TIGHT)
    assert found.status is Status.COORDINATES_FAILED
    assert "(2.28) [∂R_q/∂q N; A]" in found.message or "(2.22) [∂R_v/∂v; A]" in found.message
    with pytest.raises(SimulationError, match="the chosen coordinates no longer determine"):
        sr.simulate(swing(), q, v, duration=2.0, coordinates=height, **TIGHT)
    with pytest.raises(ArgumentError, match="integrates local coordinates on the constraints"):
        sr.simulate(swing(), q, v, duration=0.1, coordinates=height, method="rodas5p")
