"""Springs and dampers with laws: tables, functions, friction that is smooth, energy, equilibrium, files."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import sarrus as sr
from sarrus.base.errors import ArgumentError, ModelError, UnsupportedElementError
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.mechanism.laws import stribeck
from sarrus.model.mechanism.spline import Spline


def slider(**laws) -> sr.Mechanism:
    """A mass on a line, 0.5 kg, with a spring on its coordinate."""
    mechanism = sr.Mechanism("slider", gravity=(0, 0, 0))
    mechanism.add_body("mass", 0.5, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("x", "prismatic", "world", "mass", axis=(1, 0, 0))
    mechanism.add_coordinate_spring("spring", {"x": 1.0}, **laws)
    return mechanism


PROGRESSIVE = Spline.through([-0.2, -0.1, 0.0, 0.05, 0.1, 0.2], [-40.0, -5.0, 0.0, 3.0, 9.0, 60.0])


def test_a_straight_table_is_a_linear_spring() -> None:
    linear = sr.System(slider(stiffness=30.0, rest_length=0.1))
    table = sr.System(slider(law=Spline.through([-1.0, 1.0], [-30.0, 30.0], 1), rest_length=0.1))
    for x in (-2.0, 0.1, 0.4, 3.0):
        for quantity in ("passive_force", "potential_energy"):
            given = ([x], [0.0]) if quantity == "passive_force" else ([x],)
            one, two = (getattr(system, quantity)(*given) for system in (linear, table))
            np.testing.assert_allclose(one, two, atol=1e-12)
    assert table.equations.conservative


def test_a_progressive_spring_keeps_its_energy_and_its_period() -> None:
    system = sr.System(slider(law=PROGRESSIVE))
    assert system.equations.conservative
    start = 0.18
    run = sr.simulate(system, [start], [0.0], duration=2.0, rtol=1e-10, atol=1e-10)
    assert run.energy_drift < 1e-6
    # the time of half a swing, from energy: dx / v between the places where it turns back
    energy = PROGRESSIVE.integral()
    most = energy.at(start)[0]
    back = brentq(lambda x: energy.at(x)[0] - most, -1.0, -0.05)
    middle, half = (start + back) / 2, (start - back) / 2

    def along(angle: float) -> float:
        speed = np.sqrt(max(most - energy.at(middle + half * np.sin(angle))[0], 1e-300) / 0.25)
        return half * np.cos(angle) / speed

    time = quad(along, -np.pi / 2, np.pi / 2, limit=200)[0]
    found = sr.simulate(system, [start], [0.0], duration=time, rtol=1e-10, atol=1e-10)
    assert abs(found.q[-1, 0] - back) < 1e-6


def test_between_points_a_law_acts_beyond_rest_and_along_the_line() -> None:
    mechanism = sr.Mechanism("swing", gravity=(0, 0, -9.81))
    mechanism.add_body("mass", 2.0)
    mechanism.add_joint("lift", "prismatic", "world", "mass", axis=(0, 0, 1))
    mechanism.add_spring_damper(
        "rope", "world", "mass", point1=(0.3, 0, 1.0), rest_length=(0.0, 0.5), law=lambda x: 100 * x**3
    )
    system = sr.System(mechanism)
    for z in (-1.0, 0.0, 0.9):
        length = np.hypot(0.3, 1.0 - z)
        stretch = max(length - 0.5, 0.0)
        force = 100 * stretch**3 * (1.0 - z) / length
        np.testing.assert_allclose(system.passive_force([z], [0.0]), force, rtol=1e-13, atol=1e-13)
    assert not system.equations.conservative
    balance = sr.energy_balance(sr.simulate(system, [0.0], [0.0], duration=0.5, dt=1e-3))
    assert balance.kinds == ("damper",)  # a law whose energy nobody knows
    assert np.abs(balance.residual).max() < 1e-8
    held = sr.equilibrium(system, [-0.2])
    np.testing.assert_allclose(system.passive_force(held.q, [0.0]), 2.0 * 9.81, rtol=1e-9)


def test_smooth_friction_is_the_curve_of_stribeck_and_slows_down() -> None:
    law = stribeck(2.0, 3.0, 0.05, 1.5, smooth_speed=1e-3)
    system = sr.System(slider(damper_law=law))
    for speed in (-0.5, -0.02, 0.0, 1e-4, 0.3):
        size = 2.0 + np.exp(-((speed / 0.05) ** 2))
        expected = -(size * np.tanh(speed / 1e-3) + 1.5 * speed)
        np.testing.assert_allclose(system.passive_force([0.0], [speed]), expected, rtol=1e-13, atol=1e-15)
    assert not system.equations.conservative
    run = sr.simulate(system, [0.0], [1.0], duration=0.5)
    assert run.status.ok
    assert abs(run.v[-1, 0]) < 1e-4
    # of the way of a mass under Coulomb and viscous friction alone, which is longer
    most = 0.5 / 1.5 * (1.0 - 2.0 / 1.5 * np.log(1.0 + 1.5 / 2.0))
    assert 0.8 * most < run.q[-1, 0] < most
    balance = sr.energy_balance(sr.simulate(system, [0.0], [1.0], duration=0.3, dt=1e-4))
    assert (balance.kinds, balance.names) == (("damper",), ("spring",))
    assert np.abs(balance.residual).max() < 1e-6


def test_tables_are_kept_in_files_and_functions_are_named() -> None:
    kept = from_json(to_json(slider(law=PROGRESSIVE, damper_law=lambda rate: rate**3)))
    spring = kept.coordinate_springs["spring"]
    assert np.array_equal(spring.law.coefficients, PROGRESSIVE.coefficients)
    assert spring.damper_law is None
    assert [(entry.kind, entry.name) for entry in kept.report.left_out] == [("law", "spring")]
    with pytest.raises(UnsupportedElementError, match=r"spring 'spring': .* polynomials"):
        slider(law=PROGRESSIVE).to_mjcf("no.xml")


def test_laws_are_in_casadi_functions_and_in_exported_c(tmp_path: Path) -> None:
    system = sr.System(slider(law=PROGRESSIVE, damper_law=stribeck(2.0)))
    expected = system.forward_dynamics([0.15], [0.2]).a
    function = system.to_casadi("forward_dynamics")
    np.testing.assert_allclose(np.array(function(q=[0.15], v=[0.2])["a"])[:, 0], expected, rtol=1e-13)
    sr.export.c_code(system, tmp_path, functions=["forward_dynamics"])
    assert list(tmp_path.glob("*.c"))


@pytest.mark.parametrize(
    ("laws", "message"),
    [
        ({"law": 3.0}, "spring 'spring': law must be a function or a Spline, got 3.0"),
        ({"damper_law": Spline.through([0, 1], [[0, 1], [1, 2]])}, "damper_law must be a Spline of one row"),
        ({"law": lambda x: [x, x]}, "spring 'spring': law must return one number, got 2"),
        ({"law": lambda x: x + ca.SX.sym("y")}, "spring 'spring': law depends on other symbols"),
    ],
)
def test_bad_laws_are_errors_that_name_the_spring(laws, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        sr.System(slider(**laws))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"coulomb": -1.0}, "coulomb must be a number that is not negative"),
        ({"coulomb": 2.0, "static": 1.0}, "static must be at least coulomb = 2"),
        ({"coulomb": 2.0, "smooth_speed": 0.0}, "smooth_speed must be a number that is positive"),
        ({"coulomb": np.nan}, "coulomb must be a number"),
    ],
)
def test_bad_friction_is_an_error(given, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        stribeck(**given)


@pytest.mark.parametrize("how", ["spline", "function"])
def test_a_stop_with_preload_does_nothing_where_it_is_slack(how: str) -> None:
    """It is met with its preload, and gives back what it takes."""
    laws = {
        "spline": Spline.through([0, 0.05, 0.1], [50.0, 300, 1000]),
        "function": lambda x: 50.0 + 5000.0 * x,
    }
    mechanism = sr.Mechanism("buffer", gravity=(0, 0, 0))
    mechanism.add_body("wagon", 2.0, inertia=(1, 1, 1))
    mechanism.add_joint("rail", "prismatic", "world", "wagon", axis=(1, 0, 0))
    mechanism.add_coordinate_spring("stop", {"rail": 1.0}, rest_length=(-np.inf, 1.0), law=laws[how])
    system = sr.System(mechanism)
    assert system.forward_dynamics([0.2], [0.0]).a[0] == 0.0
    assert system.forward_dynamics([1.0], [0.0]).a[0] == 0.0
    assert system.forward_dynamics([1.0 + 1e-9], [0.0]).a[0] == pytest.approx(-25.0, rel=1e-6)
    run = sr.simulate(system, [0.2], [1.0], duration=2.0, rtol=1e-9)
    before = run.t < 0.79
    np.testing.assert_allclose(run.v[before, 0], 1.0, rtol=1e-12)
    assert run.v[-1, 0] == pytest.approx(-1.0, rel=1e-5)
