"""Motors with inductance: closed forms of current and speed, limits, balances, rest and linear models."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import sarrus as sr
from mechanisms import close_loops, random_coordinates, random_tree
from sarrus.base.errors import ArgumentError
from windings import DAMPING, GEAR, HENRY, INPUT, MATRIX, OHM, J, K, axle, held, pump

# --- closed forms ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "gear"), [(K, GEAR), (-K, GEAR), (K, -GEAR)])
def test_the_linear_model_has_the_eigenvalues_of_the_data_sheet(k: float, gear: float) -> None:
    system = sr.System(axle(torque_constant=k, gear=gear))
    model = sr.linearize_at(system, [0.4, -1.5], [2.0], [3.0])
    assert model.names == ("axle", "axle.rate", "motor.current")
    assert model.units == ("rad", "rad/s", "A")
    sign = np.sign(k * gear)
    exact = MATRIX * np.array([[1, 1, sign], [1, 1, sign], [sign, sign, 1]])
    np.testing.assert_allclose(model.A, exact, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.B[:, 0], INPUT, rtol=1e-14)
    np.testing.assert_allclose(model.affine, exact @ [0.4, 2.0, -1.5] + 3.0 * INPUT, rtol=1e-12, atol=1e-12)
    # from trace and determinant of the two that are not zero
    trace, determinant = -OHM / HENRY - DAMPING / J, (OHM * DAMPING + (K * GEAR) ** 2) / (HENRY * J)
    root = np.sqrt(trace**2 / 4 - determinant)
    np.testing.assert_allclose(
        model.eigenvalues, [0.0, determinant / (trace / 2 - root), trace / 2 - root], rtol=1e-10, atol=1e-10
    )


def test_a_step_of_voltage_follows_the_matrix_exponential() -> None:
    system = sr.System(axle())
    stepping = sr.Stepping(rtol=1e-11, max_step=1e-3)
    run = sr.simulate(system, [0.0, 0.0], duration=0.1, control=lambda q, v, t: [12.0], method=stepping)
    stacked = np.zeros((4, 4))
    stacked[:3, :3], stacked[:3, 3] = MATRIX, 12.0 * INPUT
    exact = np.array([expm(stacked * t)[:3, 3] for t in run.t])
    np.testing.assert_allclose(run.q[:, 0], exact[:, 0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.v[:, 0], exact[:, 1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.currents["motor"], exact[:, 2], rtol=0, atol=1e-8)
    assert run.coordinate_units == ("rad", "A")


def test_a_locked_rotor_takes_the_current_of_its_resistance() -> None:
    run = sr.simulate(held(), [0.0, 0.0], duration=0.01, control=lambda q, v, t: [12.0], rtol=1e-11)
    exact = 12.0 / OHM * (1 - np.exp(-run.t * OHM / HENRY))
    np.testing.assert_allclose(run.currents["motor"], exact, rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.multipliers[:, 0], -GEAR * K * exact, rtol=0, atol=1e-7)


def test_without_inductance_is_the_limit_and_of_first_order() -> None:
    def end(henry: float) -> np.ndarray:
        mechanism = pump(inductance=henry)
        system = sr.System(mechanism)
        start = system.assemble(system.neutral() + np.eye(system.nq)[0]).q
        run = sr.simulate(system, start, duration=0.05, control=lambda q, v, t: [6.0], rtol=1e-10)
        return np.concatenate([run.q[-1, :3], run.v[-1]])

    limit = end(0.0)
    sizes = np.array([4e-6, 2e-6, 1e-6])
    gaps = [np.linalg.norm(end(henry) - limit) for henry in sizes]
    order = np.polyfit(np.log(sizes), np.log(gaps), 1)[0]
    assert abs(order - 1.0) < 0.1
    assert gaps[-1] < 0.05


def test_a_motor_in_a_redundant_loop_follows_an_independent_integration() -> None:
    """One equation of motion of the crank angle, with the inertia of the linkage from its geometry."""
    system = sr.System(pump())
    start = system.assemble([0.7, 0.0, 0.2, 0.0]).q
    run = sr.simulate(
        system, start, duration=0.3, control=lambda q, v, t: [5 + 3 * ca.sin(30 * t)], rtol=1e-11
    )
    assert run.rank.max() < system.nc

    angle = ca.SX.sym("angle")
    r, length = 0.05, 0.2
    pin = ca.vertcat(r * ca.cos(angle), -r * ca.sin(angle))  # x and z
    slide = pin[0] + ca.sqrt(length**2 - pin[1] ** 2)
    rod = (pin + ca.vertcat(slide, 0)) / 2
    tilt = ca.asin(pin[1] / length)
    by = ca.jacobian(ca.vertcat(rod, slide, tilt), angle)
    inertia = 1e-3 + 25 * 7e-6 + 0.3 * (by[0] ** 2 + by[1] ** 2) + 0.5 * by[2] ** 2 + 1e-3 * by[3] ** 2
    weight = 0.3 * 9.81 * by[1]
    terms = ca.Function("terms", [angle], [inertia, ca.jacobian(inertia, angle), weight])

    def slope(t: float, x: np.ndarray) -> list[float]:
        m, change, load = (float(x) for x in terms(x[0]))
        force = 5 * 0.035 * x[2] - 2e-3 * x[1] - load - 0.5 * change * x[1] ** 2
        return [x[1], force / m, (5 + 3 * np.sin(30 * t) - 0.3 * x[2] - 0.035 * 5 * x[1]) / 2e-4]

    found = solve_ivp(slope, (0, 0.3), [start[0], 0, 0], "DOP853", run.t, rtol=1e-12, atol=1e-12).y
    np.testing.assert_allclose(run.q[:, 0], found[0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(run.v[:, 0], found[1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(run.currents["motor"], found[2], rtol=0, atol=1e-6)


# --- limits ----------------------------------------------------------------------------------------


def test_the_chopper_holds_the_current_and_nothing_winds_up() -> None:
    """With the rotor held: up to 3 A, held there, and down at once when the voltage falls."""
    system = held(current_limits=(-2.0, 3.0))
    off, time = 4e-3, HENRY / OHM
    begin = sr.simulate(system, [0.0, 0.0], duration=off, control=lambda q, v, t: [24.0], rtol=1e-10)
    free = 24.0 / OHM * (1 - np.exp(-begin.t / time))
    np.testing.assert_allclose(begin.currents["motor"], np.minimum(free, 3.0), rtol=0, atol=1e-7)
    assert system.saturated(begin.q[-1], [0.0], [24.0]) == ("motor",)
    assert system.saturated(begin.q[-1], [0.0], [1.0]) == ()
    after = sr.simulate(
        system, begin.q[-1], duration=off, t0=off, control=lambda q, v, t: [-24.0], rtol=1e-10
    )
    falls = -24.0 / OHM + (3.0 + 24.0 / OHM) * np.exp(-(after.t - off) / time)
    np.testing.assert_allclose(after.currents["motor"], np.maximum(falls, -2.0), rtol=0, atol=1e-7)


def test_limits_of_the_voltage_act_on_the_rate_of_the_current() -> None:
    system = sr.System(axle(voltage_limits=(-5.0, 9.0)))
    for volts, inside in ((20.0, 9.0), (-20.0, -5.0), (3.0, 3.0)):
        rate = system.activation_rate([0.0, 1.5], [volts], [0.7])
        np.testing.assert_allclose(rate, (inside - OHM * 1.5 - K * GEAR * 0.7) / HENRY, rtol=1e-13)
        model = sr.linearize_at(system, [0.0, 1.5], [0.7], [volts])
        assert model.saturated == (() if inside == volts else ("motor",))
        assert model.B.any() == (inside == volts)


# --- energy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("motor", [{}, {"current_limits": (-6.0, 6.0)}])
def test_the_source_pays_for_field_heat_and_motion(motor) -> None:
    system = sr.System(pump(**motor))
    start = system.assemble([0.7, 0.0, 0.2, 0.0]).q
    run = sr.simulate(
        system, start, duration=0.1, dt=2e-5, rtol=1e-11, control=lambda q, v, t: [8 * ca.sin(60 * t)]
    )
    balance = sr.energy_balance(run)
    assert balance.labels == ("source motor", "winding motor", "joint damping crank")
    i = run.currents["motor"]
    assert np.abs(balance.residual).max() < (1e-6 if motor else 1e-8) * balance.total["source motor"]
    heat = np.trapezoid(0.3 * np.clip(i, -6 if motor else -np.inf, 6 if motor else np.inf) ** 2, run.t)
    assert balance.total["winding motor"] == pytest.approx(-heat, rel=1e-6)
    if not motor:
        paid = np.trapezoid(8 * np.sin(60 * run.t) * i, run.t)
        assert balance.total["source motor"] == pytest.approx(paid, rel=1e-6)
    field = system.potential_energy(run.q[-1]) - system.potential_energy(np.append(run.q[-1, :3], 0.0))
    assert field == pytest.approx(0.5 * 2e-4 * i[-1] ** 2, rel=1e-12)


# --- rest and linear models ------------------------------------------------------------------------


def test_at_rest_the_current_is_that_of_the_resistance() -> None:
    mechanism = axle(current_limits=(-3.0, 3.0))
    mechanism.add_coordinate_spring("hold", {"axle": 1.0}, stiffness=20.0)
    system = sr.System(mechanism)
    for volts, amperes in ((2.0, 2.5), (9.0, 3.0)):
        rest = sr.equilibrium(system, system.neutral(), [volts])
        assert rest.q[1] == pytest.approx(amperes, abs=1e-12)
        assert rest.q[0] == pytest.approx(GEAR * K * amperes / 20.0, abs=1e-9)
        assert rest.stable
        np.testing.assert_allclose(sr.linearize(system, rest.q, [volts]).affine, 0.0, atol=1e-9)
    thin = sr.System(axle(inductance=1e-9))  # where rounding is 1e-6 A/s
    for volts in np.random.default_rng(2).uniform(-9, 9, 20):
        sr.linearize(thin, sr.equilibrium(thin, thin.neutral(), [volts], tau=[-GEAR * K * volts / OHM]).q, [volts],
                     tau=[-GEAR * K * volts / OHM])  # fmt: skip
    with pytest.raises(ArgumentError, match=r"'motor\.current' moves under these inputs"):
        sr.linearize(system, [0.0, 1.0], [0.0])


@pytest.mark.parametrize("seed", [3, 8])
def test_linear_models_of_random_loops_have_the_currents_rates(seed: int) -> None:
    """Rows of the current are slopes of its rate along motions that the loops allow, quaternions and all."""
    plan = random_tree(seed, ("revolute", "spherical", "prismatic", "cylindrical", "revolute", "free"))
    mechanism = close_loops(plan, random_coordinates(plan), ("point", "distance"))
    scalar = [joint.name for joint in mechanism.joints() if joint.nv == 1]
    for name in scalar[:2]:
        mechanism.add_motor(
            f"of {name}", name, torque_constant=0.2, resistance=1.3, inductance=0.02, gear=-3.0
        )
    system = sr.System(mechanism)
    rng = np.random.default_rng(seed)
    q = system.assemble(system.neutral() + 0.01 * rng.standard_normal(system.nq)).q
    q = np.append(q[: -len(scalar[:2])], rng.standard_normal(len(scalar[:2])))
    v = system.project_velocity(q, rng.standard_normal(system.nv))
    u = rng.standard_normal(system.nu)
    model = sr.linearize_at(system, q, v, u)
    w, n = system.nu, len(model.names)
    expected = np.zeros((w, n))
    for k, actuator in enumerate(mechanism.actuators.values()):
        expected[k, n - w + k] = -1.3 / 0.02
        row = system.velocity_names.index(actuator.transmission[0][0])
        expected[k, : n - w] = 0.2 * 3.0 / 0.02 * model.tangent[system.nv + row, : n - w]
    np.testing.assert_allclose(model.A[n - w :], expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max()))
    np.testing.assert_allclose(model.B[n - w :], np.eye(w) / 0.02, rtol=1e-13)
    np.testing.assert_allclose(model.affine[n - w :], system.activation_rate(q, u, v), rtol=1e-12)


def test_the_voltage_that_a_driven_ground_induces_changes_with_time() -> None:
    """The crank is told its angle t², so its speed 2t induces −k gear 2t: its slope in time is in E."""
    mechanism = axle()
    mechanism.add_motion("turn", "axle", lambda t: t**2)
    model = sr.linearize_at(sr.System(mechanism), [0.25, 1.0], [1.0], [2.0], t=0.5)
    assert model.names == ("motor.current",)
    np.testing.assert_allclose(model.A, [[-OHM / HENRY]], rtol=1e-13)
    np.testing.assert_allclose(model.E, [-K * GEAR * 2.0 / HENRY], rtol=1e-12)
    np.testing.assert_allclose(model.affine, [(2.0 - OHM - K * GEAR) / HENRY], rtol=1e-12)


def test_models_along_a_motion_are_those_at_its_states() -> None:
    system = sr.System(pump())
    q = system.assemble([0.7, 0.0, 0.2, 0.0]).q
    run = sr.simulate(system, q, duration=0.02, dt=2e-3, rtol=1e-8, control=lambda q, v, t: [5.0])
    models = sr.linearize_along(system, run.q, run.v, run.u, t=run.t, coordinates=["crank"])
    assert models.names == ("crank", "crank.rate", "motor.current")
    for k in (0, 7):
        one = sr.linearize_at(system, run.q[k], run.v[k], run.u[k], coordinates=["crank"])
        for name in ("A", "B", "E", "affine"):
            np.testing.assert_array_equal(getattr(models, name)[k], getattr(one, name))
    with pytest.raises(ArgumentError, match="give their names, or 'partition'"):
        sr.linearize_along(system, run.q, run.v, coordinates="tangent-space")
