"""Units of FMI 3.0: what an importer makes of them is the motion that Python computes."""

from __future__ import annotations

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu

import sarrus as sr
from c_code import compiler
from fmi_units import DISCARD, ERROR, quickly, unit
from printed_digits import linkage
from sarrus.dynamics.model.activations import activations_of

NAMES = (
    "five_bar",
    "four_bar_chain",
    "three_leg_platform",
    "rolling_disc",
    "bennett",
    "parameters",
    "sensors",
)
OTHERS = ("activations", "winding", "sleigh", "driven")


@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_co_simulation_is_the_simulation(units, name: str) -> None:
    """Steps with controls that are held, and a description that the schema and fmpy find right."""
    system, q, v, path, folder = units(name)
    assert validate_fmu(path) == []
    u = 0.2 * np.arange(1.0, 1.0 + system.nu)
    motion = sr.simulate(
        system,
        q,
        v,
        duration=0.2,
        dt=1e-3,
        control=(lambda q, v, t: u) if system.nu else None,
        switching=False,
    )
    with unit(path, folder) as one:
        one.set({f"u.{n}": x for n, x in zip(system.actuator_names, u)})
        one.begin()
        for k in range(20):
            one.fmu.doStep(0.01 * k, 0.01)
        np.testing.assert_allclose(one.all("q."), motion.q[-1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(one.all("v."), motion.v[-1], rtol=0, atol=1e-11)
        assert one.get("residual")[0] < 1e-12
        np.testing.assert_allclose(
            one.get("energy.kinetic", "energy.potential").sum(), motion.energy[-1], rtol=1e-9
        )
        assert one.log == []


@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_model_exchange_is_the_simulation(units, name: str) -> None:
    """CVode of fmpy, which knows nothing of the constraints; events at completed steps keep the loops closed."""
    system, q, v, path, _ = units(name)
    motion = sr.simulate(system, q, v, duration=0.4, dt=2e-4, switching=False)
    found = fmpy.simulate_fmu(
        str(path), stop_time=0.4, output_interval=0.01, fmi_type="ModelExchange", relative_tolerance=1e-9
    )
    end = np.array([found[f"q.{n}"][-1] for n in system.coordinate_names])
    np.testing.assert_allclose(end, motion.q[-1], rtol=0, atol=1e-6)
    assert found["residual"].max() < 1e-7
    assert found["residual"][-1] < 1e-9


def test_rows_that_contradict_each_other_by_printed_digits(tmp_path) -> None:
    """No projection can close them; what it leaves is no reason for further events."""
    compiler()
    system = linkage("five-bar", 6)
    q = np.array(system.assemble(system.neutral()).q)
    v = np.array(system.project_velocity(q, 0.5 * np.random.default_rng(1).standard_normal(system.nv)))
    path = tmp_path / "printed.fmu"
    with quickly():
        sr.export.fmu(system, path, q=q, v=v, contacts=False, derivatives=False)
    motion = sr.simulate(system, q, v, duration=0.5, dt=2e-4, switching=False)
    found = fmpy.simulate_fmu(
        str(path), stop_time=0.5, output_interval=0.01, fmi_type="ModelExchange", relative_tolerance=1e-10
    )
    end = np.array([found[f"q.{n}"][-1] for n in system.coordinate_names])
    np.testing.assert_allclose(end, motion.q[-1], rtol=0, atol=1e-6)
    assert 1e-7 < found["residual"].max() < 2e-6
    assert len(found) < 60  # a row for each event beside the 51 of output


@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_rates_and_readings_are_those_of_python(units, name: str) -> None:
    system, q, v, path, folder = units(name)
    rng = np.random.default_rng(5)
    u, tau = rng.standard_normal(system.nu), rng.standard_normal(system.nv)
    expected = system.forward_dynamics(q, v, u, 0.0, tau, contacts=False)
    with unit(path, folder, "ModelExchange") as one:
        one.set({f"u.{n}": x for n, x in zip(system.actuator_names, u)})
        one.set({f"tau.{n}": x for n, x in zip(system.velocity_names, tau)})
        one.begin()
        scale = max(1.0, np.abs(expected.a).max())
        np.testing.assert_allclose(one.all("der(v."), expected.a, rtol=0, atol=1e-10 * scale)
        rates = np.array(system.coordinate_rate(q, v))
        drift = activations_of(system, system.pack(q, v, u)).rate
        rates[len(rates) - len(drift) :] += drift
        assert name != "activations" or np.abs(drift).max() > 0.1
        np.testing.assert_allclose(one.all("der(q."), rates, rtol=0, atol=1e-12)
        size = max(1.0, np.abs(expected.multipliers).max(initial=0.0))
        np.testing.assert_allclose(one.all("lambda."), expected.multipliers, rtol=0, atol=1e-9 * size)
        if name == "sensors":
            readings = system.sensors(q, v, u, 0.0, tau, contacts=False)
            np.testing.assert_allclose(one.all("sensor."), readings.array, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_directional_derivatives_are_those_of_the_linear_model(units, name: str) -> None:
    """Along every direction of the linear model, and by every control."""
    system, q, v, path, folder = units(name)
    linear = sr.linearize_at(system, q, v, contacts=False)
    nv, chosen = system.nv, list(linear.velocity_indices)
    rates = [f"der(v.{system.velocity_names[k]})" for k in chosen]
    with unit(path, folder, "ModelExchange") as one:
        one.begin()
        bottom = linear.A[-len(chosen) :]
        size = max(1.0, np.abs(bottom).max())
        for j in range(bottom.shape[1]):
            way, turn = linear.tangent[:nv, j], linear.tangent[nv:, j]
            dq = np.array(system.coordinate_rate(q, way))
            seeds = dict(zip([f"q.{n}" for n in system.coordinate_names], dq))
            seeds |= dict(zip([f"v.{n}" for n in system.velocity_names], turn))
            np.testing.assert_allclose(one.derivatives(rates, seeds), bottom[:, j], rtol=0, atol=1e-9 * size)
        for j, actuator in enumerate(system.actuator_names):
            got = one.derivatives(rates, {f"u.{actuator}": 1.0})
            np.testing.assert_allclose(got, linear.B[-len(chosen) :, j], rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("name", ["three_leg_platform", "sensors", *OTHERS])
def test_directional_derivatives_are_slopes_of_all_that_can_be_read(units, name: str) -> None:
    """Central differences of what the unit itself says, in directions on the constraints, quaternions included."""
    system, q, v, path, folder = units(name)
    rng, h = np.random.default_rng(8), 1e-5
    with unit(path, folder, "ModelExchange") as one:
        one.begin()
        unknowns = [n for n in one.references if n.startswith(("der(", "sensor.", "energy.", "lambda."))]
        way = np.array(system.project_velocity(q, rng.standard_normal(system.nv)))
        seeds = dict(zip([f"q.{n}" for n in system.coordinate_names], system.coordinate_rate(q, way)))
        push = dict(zip([f"u.{n}" for n in system.actuator_names], rng.standard_normal(system.nu)))
        push |= dict(zip([f"tau.{n}" for n in system.velocity_names], rng.standard_normal(system.nv)))
        seeds |= push
        got, ends = one.derivatives(unknowns, seeds), []
        for sign in (-1.0, 1.0):
            shifted = np.concatenate([system.move(q, sign * h * way), v])
            one.set({n: sign * h * x for n, x in push.items()})
            one.fmu.enterContinuousTimeMode()
            states = np.ascontiguousarray(shifted)
            one.fmu.setContinuousStates(
                states.ctypes.data_as(fmpy.fmi3.POINTER(fmpy.fmi3.fmi3Float64)), len(states)
            )
            ends.append(one.get(*unknowns))
            one.fmu.enterEventMode()
        slopes = (ends[1] - ends[0]) / (2 * h)
        np.testing.assert_allclose(got, slopes, rtol=0, atol=1e-6 * max(1.0, np.abs(slopes).max()))


def test_multipliers_of_redundant_rows_have_no_slopes(units) -> None:
    """They are of least norm, which rows alone do not determine; accelerations have theirs."""
    _, _, _, path, folder = units("bennett")
    with unit(path, folder, "ModelExchange") as one:
        one.begin()
        state = next(name for name in one.references if name.startswith("q."))
        row = next(name for name in one.references if name.startswith("lambda."))
        assert np.isfinite(one.derivatives([f"der(v.{state[2:]})"], {state: 1.0})).all()
        with pytest.raises(FMICallException):
            one.derivatives([row], {state: 1.0})
        assert one.log[-1] == (
            DISCARD,
            "bennett_revolute: constraint rows are redundant: no derivatives of their multipliers",
        )


def test_a_parameter_is_tuned_while_it_runs(units) -> None:
    system, q, v, path, folder = units("parameters")
    heavy = system.with_parameters({"load": 5.0})
    motion = sr.simulate(heavy, q, v, duration=0.1, dt=1e-3, switching=False)
    with unit(path, folder) as one:
        one.begin()
        one.set({"p.load": 5.0})
        for k in range(10):
            one.fmu.doStep(0.01 * k, 0.01)
        np.testing.assert_allclose(one.all("q."), motion.q[-1], rtol=0, atol=1e-12)
        one.set({"p.load": -5.0})
        with pytest.raises(FMICallException):
            one.fmu.doStep(0.1, 0.01)
        assert one.log[-1][0] == ERROR
        assert "mass of body 'link2', which load changes" in one.log[-1][1]
