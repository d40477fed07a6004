"""Motors with inductance: closed forms of current and speed, limits, balances, linear models, and all routes alike."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import sarrus as sr
from c_code import Compiled
from mechanisms import close_loops, random_coordinates, random_tree
from sarrus.base.errors import ArgumentError, ModelError, UnsupportedElementError
from sarrus.mechanism.document import from_json, to_json
from sarrus.mechanism.elements import Winding

K, OHM, HENRY, GEAR, ROTOR, LOAD, DAMPING = 0.05, 0.8, 1e-3, 30.0, 2e-5, 0.3, 0.02
J = LOAD + GEAR**2 * ROTOR
# d/dt (angle, speed, current), by the state and by the voltage.
MATRIX = np.array(
    [[0, 1, 0], [0, -DAMPING / J, GEAR * K / J], [0, -K * GEAR / HENRY, -OHM / HENRY]], dtype=float
)
INPUT = np.array([0.0, 0.0, 1.0 / HENRY])


def axle(**motor) -> sr.Mechanism:
    """A balanced arm of 0.3 kg m² about a vertical axis, with a motor."""
    mechanism = sr.Mechanism("arm")
    mechanism.add_body("arm", 1.0, inertia=(LOAD, LOAD, LOAD))
    mechanism.add_joint("axle", "revolute", "world", "arm", axis=(0, 0, 1), damping=DAMPING)
    numbers = {"torque_constant": K, "resistance": OHM, "inductance": HENRY, "gear": GEAR}
    mechanism.add_motor("motor", "axle", **{**numbers, "rotor_inertia": ROTOR, **motor})
    return mechanism


def held(**motor) -> sr.System:
    """The same with the rotor held fast."""
    mechanism = axle(**motor)
    mechanism.add_coupling("brake", {"axle": 1.0})
    return sr.System(mechanism)


def pump(closure: str = "revolute", **motor) -> sr.Mechanism:
    """A slider-crank in a plane; a revolute closure in space has three rows too many."""
    mechanism = sr.Mechanism("pump")
    mechanism.add_body("crank", 1.0, inertia=(1e-3, 1e-3, 1e-3))
    mechanism.add_joint("crank", "revolute", "world", "crank", axis=(0, 1, 0), damping=2e-3)
    mechanism.add_body("rod", 0.3, (0.1, 0, 0), (1e-5, 1e-3, 1e-3))
    mechanism.add_joint("rod", "revolute", "crank", "rod", axis=(0, 1, 0), parent_pose=(0.05, 0, 0))
    mechanism.add_body("piston", 0.5, inertia=(1e-4, 1e-4, 1e-4))
    mechanism.add_joint("piston", "prismatic", "world", "piston", axis=(1, 0, 0))
    axis = {} if closure == "point" else {"axis": (0, 1, 0)}
    mechanism.add_closure("pin", closure, "rod", "piston", pose1=(0.2, 0, 0), **axis)
    numbers = {"torque_constant": 0.035, "resistance": 0.3, "inductance": 2e-4, "gear": 5.0}
    mechanism.add_motor("motor", "crank", **{**numbers, "rotor_inertia": 7e-6, **motor})
    return mechanism


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


# --- derivatives -----------------------------------------------------------------------------------


def test_derivatives_of_steps_are_those_of_the_simulator() -> None:
    """Central differences of one step by current, voltage and numbers, with a redundant loop."""
    system = sr.System(pump(), {"inductance": "motor.inductance", "gain": "motor.gain", "rod": "rod.mass"})
    q = np.array(system.assemble([0.7, 0.0, 0.2, 0.5]).q)
    v = np.array(system.project_velocity(q, np.array([2.0, 0.0, 0.0])))
    start = dict(system.parameters)
    found = sr.sensitivity.step_derivatives(system, q, v, [3.0], dt=1e-4)
    assert found.names[-1] == "motor.current"
    assert found.F.shape == (7, 7)

    def end(current: float = 0.0, volts: float = 0.0, **numbers: float) -> np.ndarray:
        system.parameters.update({**start, **numbers})
        run = sr.simulate(
            system,
            q + current * np.eye(4)[3],
            v,
            duration=1e-4,
            dt=1e-4,
            control=lambda q, v, t: [3.0 + volts],
            error_estimate=False,
        )
        system.parameters.update(start)
        return np.concatenate([run.q[-1, :3], run.v[-1], run.q[-1, 3:]])

    for column, name in ((found.F[:, 6], "current"), (found.G[:, 0], "volts")):
        slope = (end(**{name: 1e-4}) - end(**{name: -1e-4})) / 2e-4
        np.testing.assert_allclose(column, slope, rtol=0, atol=1e-9)
    for column, (name, value) in zip(found.P.T, start.items()):
        h = 1e-5 * value
        slope = (end(**{name: value + h}) - end(**{name: value - h})) / (2 * h)
        np.testing.assert_allclose(column, slope, rtol=0, atol=1e-7 * (1 + np.abs(column).max()))


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.AccuracyWarning")  # of the step that meets the limit
def test_derivatives_of_motions_are_those_of_the_matrix_exponential() -> None:
    """By the start they are exp(A t), by the gain of a law what its closed loop says."""
    system = sr.System(axle(), {"inductance": "motor.inductance"})
    found = sr.sensitivity.motion_derivatives(
        system, [0.1, 2.0], [0.5], duration=4e-3, dt=2e-5, control=lambda q, v, t: [6.0 - 0.3 * q[1]]
    )
    closed = MATRIX.copy()
    closed[2, 2] -= 0.3 / HENRY
    np.testing.assert_allclose(found.by_start[-1], expm(closed * 4e-3), rtol=0, atol=1e-8)

    def end(henry: float) -> np.ndarray:
        a = closed.copy()
        a[2] *= HENRY / henry
        stacked = np.zeros((4, 4))
        stacked[:3, :3], stacked[2, 3] = a, 6.0 / henry
        return (expm(stacked * 4e-3) @ [0.1, 0.5, 2.0, 1.0])[:3]

    slope = (end(HENRY * 1.0001) - end(HENRY * 0.9999)) / (2e-4 * HENRY)
    dq, dv = found.dq[-1, :, 0], found.dv[-1, :, 0]
    np.testing.assert_allclose([dq[0], dv[0], dq[1]], slope, rtol=1e-6)
    limited = sr.System(axle(current_limits=(-3.0, 3.0)))
    with pytest.raises(
        sr.SolveError, match=r"no derivatives where 'motor\.current' is at its limit, at t = "
    ):
        sr.sensitivity.motion_derivatives(
            limited, [0.0, 2.9], duration=2e-3, dt=2e-5, control=lambda q, v, t: [12.0]
        )


def test_the_place_of_rest_follows_voltage_resistance_and_constant() -> None:
    """A crank that a motor holds against gravity: slopes of `sr.equilibrium`, with a redundant loop."""
    numbers = {"R": "motor.resistance", "k": "motor.gain", "m": "rod.mass", "L": "motor.inductance"}
    mechanism = pump()
    mechanism.add_coordinate_spring("hold", {"crank": 1.0}, stiffness=3.0)
    system = sr.System(mechanism, numbers)
    start = dict(system.parameters)

    def rest(volts: float = 2.0, **values: float) -> np.ndarray:
        system.parameters.update({**start, **values})
        q = np.array(sr.equilibrium(system, system.assemble([0.3, 0.0, 0.2, 0.0]).q, [volts]).q)
        system.parameters.update(start)
        return q

    found = sr.sensitivity.equilibrium_derivatives(system, rest(), [2.0])
    assert found.coordinate_names[-1] == "motor.current"
    np.testing.assert_allclose(found.dq[-1], [-2.0 / 0.3**2, 0.0, 0.0, 0.0], rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(found.dq_du[-1], [1.0 / 0.3], rtol=1e-12)
    np.testing.assert_allclose(found.dq_du[:, 0], (rest(2.001) - rest(1.999)) / 2e-3, rtol=0, atol=1e-7)
    for column, (name, value) in zip(found.dq.T, start.items()):
        h = 1e-3 * value
        slope = (rest(**{name: value + h}) - rest(**{name: value - h})) / (2 * h)
        np.testing.assert_allclose(column, slope, rtol=0, atol=1e-5 * (1 + np.abs(column).max()))
    with pytest.raises(
        ArgumentError, match=r"derivatives of eigenvalues know no activations yet \(motor\.curr"
    ):
        sr.sensitivity.eigenvalue_derivatives(system, rest(), [2.0])


# --- all routes ------------------------------------------------------------------------------------


def test_runs_many_runs_and_c_code_are_alike(tmp_path: Path) -> None:
    system = sr.System(pump(current_limits=(-8.0, 8.0), voltage_limits=(-10.0, 10.0)))
    q = np.array(system.assemble([0.7, 0.0, 0.2, 0.5]).q)
    v = np.array(system.project_velocity(q, np.array([3.0, 0.0, 0.0])))
    options = {"duration": 0.05, "dt": 1e-4}
    run = sr.simulate(system, q, v, control=lambda q, v, t: [7.0], error_estimate=False, **options)
    many = sr.rollout(system, np.tile(q, (3, 1)), np.tile(v, (3, 1)), u=np.full((3, 1, 1), 7.0), **options)
    np.testing.assert_allclose(many.q[:, -1], np.tile(run.q[-1], (3, 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(many.v[:, -1], np.tile(run.v[-1], (3, 1)), rtol=0, atol=1e-10)
    compiled = Compiled(
        sr.export.c_code(system, tmp_path, functions=["forward_dynamics", "step"], q=q), system
    )
    t = np.zeros(1)
    for _ in range(500):
        assert compiled.call("step", q, v, np.array([7.0]), t, None, 1e-4) == sr.Status.OK
    np.testing.assert_allclose(q, run.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(v, run.v[-1], rtol=0, atol=1e-10)
    adaptive = sr.simulate(system, run.q[0], run.v[0], duration=0.05, control=lambda q, v, t: [7.0])
    np.testing.assert_allclose(adaptive.q[-1], run.q[-1], rtol=0, atol=1e-4)  # the step that meets the limit
    assert run.currents["motor"].max() > 8.001
    np.testing.assert_allclose(run.currents["motor"][-1], 8.0, rtol=2e-9)


def test_tiny_time_constants_are_followed_and_fixed_steps_refused() -> None:
    """L/R = 2.5 µs: steps with error control follow; fixed steps far beyond it would grow without bound."""
    system, locked = sr.System(axle(inductance=2e-6)), held()
    run = sr.simulate(system, system.neutral(), duration=0.02, control=lambda q, v, t: [12.0])
    assert run.status is sr.Status.OK
    i = run.currents["motor"][-1]
    assert i == pytest.approx((12.0 - K * GEAR * run.v[-1, 0]) / OHM, rel=1e-4)
    message = (
        r"steps of 0.00[45] s are too long for the winding of motor 'motor', L/R = 0.00125 s: (rk4|dopri5) is"
    )
    for call in (
        lambda: sr.simulate(locked, [0.0, 0.0], duration=0.1, dt=4e-3),
        lambda: sr.rollout(locked, np.zeros((2, 2)), duration=0.1, dt=4e-3),
        lambda: sr.simulate(locked, [0.0, 0.0], duration=0.1, dt=5e-3, method="dopri5", rtol=np.inf),
    ):
        with pytest.raises(ArgumentError, match=message) as caught:
            call()
        assert caught.value.element == "motor"
    sr.rollout(locked, np.zeros((2, 2)), duration=0.102, dt=3.4e-3)  # within the region of stability


def test_inductance_and_resistance_are_parameters() -> None:
    """Runs side by side with numbers of their own, each as its closed form; the shortest time L/R bounds the step."""
    mechanism = axle()
    mechanism.add_coupling("brake", {"axle": 1.0})
    system = sr.System(mechanism, {"L": "motor.inductance", "R": "motor.resistance"})
    assert system.parameters == {"L": HENRY, "R": OHM}
    numbers = {"L": np.array([1e-3, 4e-3, 2e-3]), "R": np.array([0.8, 1.0, 0.5])}
    many = sr.rollout(
        system, np.zeros((3, 2)), u=np.full((3, 1, 1), 6.0), parameters=numbers, duration=2e-3, dt=2e-5
    )
    exact = 6.0 / numbers["R"] * (1 - np.exp(-2e-3 * numbers["R"] / numbers["L"]))
    np.testing.assert_allclose(many.q[:, -1, 1], exact, rtol=1e-8)
    with pytest.raises(ArgumentError, match=r"motor 'motor', L/R = 1e-05 s"):
        sr.rollout(system, np.zeros((3, 2)), parameters={"L": [1e-3, 8e-6, 1e-3]}, duration=2e-3, dt=1e-4)
    system.parameters["L"] = 5e-3
    assert sr.linearize_at(system, [0.0, 0.0]).A[-1, -1] == pytest.approx(-OHM / 5e-3, rel=1e-14)
    with pytest.raises(ArgumentError, match="resistance of actuator 'motor' would be 0"):
        system.parameters["R"] = 0.0


def test_rotors_with_dry_friction_run_in_phases() -> None:
    """Below the friction nothing turns, and the current is that of a rotor held; above it turns."""
    system = sr.System(axle(rotor_friction=0.02))
    still = sr.simulate(system, [0.0, 0.0], duration=0.02, control=lambda q, v, t: [0.2])
    np.testing.assert_allclose(still.v, 0.0, atol=1e-12)
    exact = 0.2 / OHM * (1 - np.exp(-still.t * OHM / HENRY))
    np.testing.assert_allclose(still.currents["motor"], exact, rtol=0, atol=1e-8)
    turns = sr.simulate(system, [0.0, 0.0], duration=0.02, control=lambda q, v, t: [2.0])
    breaks = -HENRY / OHM * np.log(1 - 0.02 / K * OHM / 2.0)  # when k i reaches the friction
    assert turns.switches[0].time == pytest.approx(breaks, abs=1e-7)


def test_what_knows_no_currents_says_so_by_name() -> None:
    system = sr.System(pump())
    q, v = system.assemble([0.7, 0.0, 0.2, 0.0]).q, np.zeros(3)
    calls = [
        lambda: system.inverse_dynamics(q, v, v),
        lambda: sr.simulate(system, q, duration=0.1, method="rodas5p"),
        lambda: sr.simulate(system, q, duration=0.1, method="moreau-jean"),
        lambda: sr.simulate(system, q, duration=0.1, coordinates="partition"),
        lambda: sr.parametrize(system, q),
        lambda: sr.equilibrium(system, q, hold=True),
        lambda: sr.control.ComputedTorque(system, ["crank"], [0.0]),
        lambda: sr.linearize_at(
            system, q, coordinates=sr.coordinates.Relation(lambda q, y: q[0] - y[0], ["x"])
        ),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match=r"know no activations yet \(motor\.current\)") as caught:
            call()
        assert caught.value.element == "motor"
    reach = sr.control.controllability(system, q)
    assert reach.controllable
    assert reach.dof == 1


# --- description -----------------------------------------------------------------------------------


def test_without_activation_is_the_motor_without_inductance() -> None:
    numbers = {"current_limits": (-2.0, 3.0), "voltage_limits": (-24.0, 24.0)}
    for k in (K, -K):
        wound, plain = axle(torque_constant=k, **numbers), axle(torque_constant=k, inductance=0.0, **numbers)
        assert plain.coordinate_names == ("axle",)
        assert wound.without_activation().actuators == plain.actuators
        assert [j.armature for j in wound.joints()] == [j.armature for j in plain.joints()]


def test_documents_and_trajectories_come_back(tmp_path: Path) -> None:
    mechanism = axle(current_limits=(-2.0, 3.0))
    assert from_json(to_json(mechanism)).actuators == mechanism.actuators
    assert mechanism.actuators["motor"].activation == Winding(HENRY, OHM, (-2.0, 3.0))
    run = sr.simulate(sr.System(mechanism), [0.0, 0.0], duration=0.01, control=lambda q, v, t: [5.0])
    again = sr.Trajectory.load(run.save(tmp_path / "run.nc"))
    np.testing.assert_array_equal(again.currents["motor"], run.currents["motor"])
    assert again.mechanism is not None
    assert again.mechanism.actuators == mechanism.actuators
    balance = sr.energy_balance(again)
    assert balance.total["source motor"] == pytest.approx(
        sr.energy_balance(run).total["source motor"], rel=1e-14
    )


MJCF = """
<mujoco><option timestep="{step}" integrator="RK4"><flag contact="disable" limit="disable"/></option>
<worldbody>
  <body><inertial pos="0.2 0 0" mass="1.5" diaginertia="0.02 0.03 0.04"/><joint name="j" axis="0 1 0" damping="0.2"/>
    <body pos="0.4 0 0"><inertial pos="0.1 0.02 0" mass="0.7" diaginertia="0.01 0.02 0.02"/>
      <joint name="k" type="slide" axis="1 0 0" damping="0.3" stiffness="40"/></body></body>
</worldbody>
<actuator>
  <dcmotor name="slow" joint="j" motorconst="0.08" resistance="0.9" inductance="0.01" gear="20" ctrlrange="-12 12"/>
  <dcmotor name="cut" joint="k" motorconst="0.05 0.07" resistance="1.2" inductance="0 0.02" gear="-40"
    saturation="0.1"/>
  <dcmotor name="fast" joint="j" nominal="12 0.5 80" gear="5" saturation="0 1.5"/>
</actuator>
<keyframe><key name="turning" qpos="0.1 0.02" act="1.5 -2"/></keyframe></mujoco>"""


def test_the_dcmotor_of_mujoco_is_the_same(tmp_path: Path) -> None:
    """Rates to rounding; motions in the limit of small steps, in which MuJoCo is of first order with its actearly."""
    (tmp_path / "model.xml").write_text(MJCF.format(step=1e-4))
    mechanism = sr.load(tmp_path / "model.xml")
    system, rng = sr.System(mechanism), np.random.default_rng(5)
    assert system.coordinate_names == ("j", "k", "slow.current", "cut.current")
    model = mujoco.MjModel.from_xml_string(MJCF.format(step=1e-4))
    data, u = mujoco.MjData(model), np.array([14.0, -6.0, 5.0])
    for _ in range(10):
        q, v, at = rng.normal(size=4), rng.normal(size=2), 10 * rng.normal(size=3)
        data.qpos[:], data.act[:], data.qvel[:], data.ctrl[:] = q[:2], q[2:], v, at
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(system.activation_rate(q, at, v), data.act_dot, rtol=1e-12, atol=1e-10)
    ends = []
    for step in (2e-5, 1e-5):
        model = mujoco.MjModel.from_xml_string(MJCF.format(step=step))
        data = mujoco.MjData(model)
        data.ctrl[:] = u
        for _ in range(round(0.1 / step)):
            mujoco.mj_step(model, data)
        ends.append(np.concatenate([data.qpos, data.act]))
    run = sr.simulate(system, system.neutral(), duration=0.1, control=lambda q, v, t: u, rtol=1e-10)
    assert np.abs(ends[1] - run.q[-1]).max() < 5e-3
    np.testing.assert_allclose(run.q[-1], 2 * ends[1] - ends[0], rtol=0, atol=2e-5)

    mechanism.to_mjcf(tmp_path / "again.xml")
    loaded = sr.load(tmp_path / "again.xml")
    for one in (mechanism, loaded):
        np.testing.assert_array_equal(one.keyframes["turning"].q, [0.1, 0.02, 1.5, -2.0])
    again = loaded.actuators
    for name, actuator in mechanism.actuators.items():
        assert again[name].transmission == actuator.transmission
        assert again[name].limits == actuator.limits
        if isinstance(actuator.activation, Winding):
            np.testing.assert_allclose(
                again[name].force_limits or 0.0, actuator.force_limits or 0.0, rtol=1e-14
            )
            assert again[name].activation.inductance == pytest.approx(
                actuator.activation.inductance, rel=1e-14
            )


def test_mjcf_turns_negative_constants_and_refuses_limits_of_currents(tmp_path: Path) -> None:
    axle(torque_constant=-K).to_mjcf(tmp_path / "back.xml")
    motor = sr.load(tmp_path / "back.xml").actuators["motor"]
    assert (motor.gain, motor.transmission) == (K, (("axle", -GEAR),))
    with pytest.raises(UnsupportedElementError, match="actuator 'motor': MJCF limits the torque of a motor"):
        axle(current_limits=(-3.0, 3.0)).to_mjcf(tmp_path / "limits.xml")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inductance": -1e-3}, "motor 'motor': inductance must not be negative"),
        ({"inductance": np.nan}, "motor 'motor': inductance must be finite"),
        ({"current_limits": (3.0, -3.0)}, "motor 'motor': current_limits has lower 3.0 above upper -3.0"),
    ],
)
def test_bad_numbers_are_errors_that_name_the_motor(given, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        axle(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"activation": Winding(0.0, 1.0)}, "inductance of its winding must be positive"),
        ({"activation": Winding(1e-3, 0.0)}, "resistance of its winding must be positive"),
        ({"activation": Winding(1e-3, 1.0), "gain": 0.0}, "must not be zero"),
        ({"activation": Winding(1e-3, 1.0), "bias": (0, 1, 0)}, "bias and gain_slopes must be zero"),
    ],
)
def test_actuators_with_windings_are_gain_and_current(given, message: str) -> None:
    mechanism = axle()
    with pytest.raises(ModelError, match=f"actuator 'other': .*{message}"):
        mechanism.add_actuator("other", "axle", **given)
