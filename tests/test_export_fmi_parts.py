"""Units of FMI 3.0 with contacts, of laws, of a robot, and from the command line."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu

import sarrus as sr
from c_code import compiler
from fmi_units import quickly, unit
from linear_precision import shipped
from sarrus import control
from sarrus.base.errors import ArgumentError
from sarrus.runs.cli.main import main
from test_rest_on_contacts import quadruped

FIVE_BAR = Path(__file__).parent.parent / "models" / "five_bar.xml"


def test_a_quadruped_that_drops_on_its_feet(tmp_path) -> None:
    """Steps with contacts, and their forces; there is no model exchange."""
    compiler()
    system, q = quadruped(friction=0.3)
    q = q.copy()
    q[2] += 0.01
    v = np.zeros(system.nv)
    v[0] = 0.5
    path = tmp_path / "quadruped.fmu"
    with pytest.raises(ArgumentError, match="no multipliers"):
        sr.export.fmu(system, path, multipliers=True)
    with quickly():
        assert sr.export.fmu(system, path, q=q, v=v).interfaces == ("CoSimulation",)
    assert validate_fmu(path) == []
    motion = sr.simulate(system, q, v, duration=0.1, dt=1e-3, error_estimate=False)
    with unit(path, tmp_path / "unpacked") as one:
        one.begin()
        for k in range(20):
            one.fmu.doStep(0.005 * k, 0.005)
        np.testing.assert_allclose(one.all("q."), motion.q[-1], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(one.all("v."), motion.v[-1], rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(one.all("contact."), motion.contact_forces[-1], rtol=1e-4, atol=1e-3)
        assert np.abs(motion.contact_forces[-1]).max() > 1.0


def test_a_quadruped_in_the_air(tmp_path) -> None:
    """Twelve rows of four-bar knees and a quaternion, by both interfaces."""
    compiler()
    system, guess = shipped("quadruped")
    q = np.array(system.assemble(guess).q)
    v = np.array(system.project_velocity(q, 0.3 * np.random.default_rng(2).standard_normal(system.nv)))
    path = tmp_path / "quadruped.fmu"
    with quickly():
        sr.export.fmu(system, path, q=q, v=v, contacts=False, derivatives=False)
    motion = sr.simulate(system, q, v, duration=0.1, dt=1e-3, switching=False)
    with unit(path, tmp_path / "unpacked") as one:
        one.begin()
        for k in range(10):
            one.fmu.doStep(0.01 * k, 0.01)
        np.testing.assert_allclose(one.all("q."), motion.q[-1], rtol=0, atol=1e-12)
    found = fmpy.simulate_fmu(
        str(path), stop_time=0.1, output_interval=0.01, fmi_type="ModelExchange", relative_tolerance=1e-10
    )
    exchanged = np.array([found[f"q.{n}"][-1] for n in system.coordinate_names])
    np.testing.assert_allclose(exchanged, motion.q[-1], rtol=0, atol=1e-8)


def test_what_is_left_out_is_said(tmp_path) -> None:
    system, q = quadruped(friction=0.3)
    path = tmp_path / "quadruped.fmu"
    sr.export.fmu(system, path, q=q, contacts=False, derivatives=False, binary=False)
    assert "Left out: contacts with Coulomb friction" in fmpy.read_model_description(path).description


def test_a_law_drives_a_plant_from_outside(tmp_path) -> None:
    """Two units, the law before the plant at each sample, are the sampled loop of a run; settings may be tuned."""
    compiler()
    system = sr.System(sr.load(FIVE_BAR))
    q = np.array(system.mechanism.keyframes["symmetric"].q)

    def follow(t: ca.SX) -> ca.SX:
        return ca.vertcat(2.0 + 0.2 * ca.sin(t), 1.0 + 0.2 * ca.cos(t))

    law = control.ProjectedInverseDynamics(system, ["left", "right"], follow, stiffness=90.0, damping=20.0)
    of_plant, of_law = tmp_path / "plant.fmu", tmp_path / "law.fmu"
    with quickly():
        sr.export.fmu(system, of_plant, q=q, contacts=False, derivatives=False)
        assert sr.export.fmu(law, of_law, name="tracking", q=q).interfaces == ("CoSimulation",)
    assert validate_fmu(of_law) == []
    sample, count = 2e-3, 100
    motion = sr.simulate(
        system, q, duration=sample * count, dt=1e-3, control=law, sample_time=sample, switching=False
    )
    state = [
        f"{kind}.{n}"
        for kind, names in (("q", system.coordinate_names), ("v", system.velocity_names))
        for n in names
    ]
    controls = [f"u.{n}" for n in system.actuator_names]
    with unit(of_plant, tmp_path / "a") as plant, unit(of_law, tmp_path / "b") as driver:
        plant.begin()
        driver.begin()
        np.testing.assert_allclose(driver.get(*controls), law(q, np.zeros(4), 0.0), rtol=1e-12)
        for k in range(count):
            driver.set(dict(zip(state, plant.get(*state))))
            driver.fmu.doStep(sample * k, sample)
            plant.set(dict(zip(controls, driver.get(*controls))))
            plant.fmu.doStep(sample * k, sample)
        np.testing.assert_allclose(plant.all("q."), motion.q[-1], rtol=0, atol=1e-10)
        assert driver.log == plant.log == []
        driver.set({"setting.motion.stiffness[0]": 0.0})
        law.settings["motion.stiffness[0]"] = 0.0
        driver.fmu.doStep(sample * count, sample)
        at = driver.get(*state)
        np.testing.assert_allclose(driver.get(*controls), law(at[:4], at[4:], sample * count), rtol=1e-9)
        driver.set({"v.left": 1e200})
        with pytest.raises(FMICallException):
            driver.fmu.doStep(sample * (count + 1), sample)


def test_the_command(tmp_path, capsys) -> None:
    path = tmp_path / "arm.fmu"
    options = ["--keyframe", "symmetric", "--name", "arm", "--energies", "--no-contacts", "--sources-only"]
    assert main(["export", "fmu", str(FIVE_BAR), *options, "-o", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("ModelExchange, CoSimulation: ")
    assert f"written  {path}" in out
    description = fmpy.read_model_description(path)
    assert description.coSimulation.modelIdentifier == "arm"
    assert main(["export", "fmu", str(FIVE_BAR), "--step", "-1", "-o", str(path)]) == 2
    assert "step must be positive" in capsys.readouterr().err
