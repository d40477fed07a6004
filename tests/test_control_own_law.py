"""Laws of one's own, made of demands: what they ask for comes true, and what does not fit is refused by name."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from mechanisms import random_loop
from sarrus import control
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status


class EnergyLevel(control.Law):
    """Let the energy E = T + V go to a level: Ė = −k (E − E_d)."""

    def __init__(self, system: sr.System, level: float, rate: float) -> None:
        e, settings = system.equations, control.Settings()
        wanted, k = settings.add("level", level, 1, "energy"), settings.add("rate", rate, 1, "energy")
        energy = e.kinetic_energy + e.potential_energy
        drift = ca.jtimes(energy, e.q, e.rate)
        demand = control.Demand("energy", ("E",), ca.jacobian(energy, e.v), -k * (energy - wanted) - drift)
        super().__init__(system, [demand], settings)


def loop(kind: str = "redundant") -> tuple[sr.System, np.ndarray, np.ndarray]:
    mechanism, q = random_loop(kind)
    for joint in mechanism.joints():
        if joint.nv == 1:
            mechanism.add_actuator(f"{joint.name}_motor", joint.name)
    system = sr.System(mechanism)
    return system, q, system.project_velocity(q, np.random.default_rng(3).standard_normal(system.nv))


def energy(system: sr.System, q: np.ndarray, v: np.ndarray) -> float:
    return system.kinetic_energy(q, v) + system.potential_energy(q)


def test_energy_goes_to_its_level_as_the_demand_says() -> None:
    mechanism = sr.load("models/five_bar.xml")
    system = sr.System(mechanism)
    q = system.assemble(mechanism.keyframes["symmetric"].q).q
    v = system.project_velocity(q, np.array([0.4, -0.7, 0.3, 0.2]))
    start = energy(system, q, v)
    law = EnergyLevel(system, start + 3.0, 2.0)
    motion = sr.simulate(system, q, v, duration=0.6, rtol=1e-10, atol=1e-10, control=law)
    levels = [energy(system, *state) for state in zip(motion.q, motion.v)]
    assert_allclose(levels, start + 3.0 * (1.0 - np.exp(-2.0 * motion.t)), rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", ["hinges", "redundant"])
def test_power_of_the_motors_is_what_the_energy_needs(kind: str) -> None:
    system, q, v = loop(kind)
    law = EnergyLevel(system, 5.0, 4.0)
    u = law(q, v)
    found = system.forward_dynamics(q, v, u)
    dissipated = v @ found.constraint_force
    step = 1e-6
    change = [energy(system, system.move(q, s * step * (v + 0.5 * s * step * found.a)), v + s * step * found.a)
              for s in (1, -1)]  # fmt: skip
    assert_allclose(
        (change[0] - change[1]) / (2 * step), -4.0 * (energy(system, q, v) - 5.0), rtol=1e-6, atol=1e-6
    )
    assert abs(dissipated) < 1e-9 * max(1.0, np.abs(found.constraint_force).max())


def test_at_rest_no_power_can_be_given() -> None:
    system, q, v = loop("redundant")
    law = EnergyLevel(system, energy(system, q, 0 * v) + 1.0, 1.0)
    found = law.solve(q, 0 * v, throw=False)
    assert found.status is Status.NOT_ACHIEVABLE
    assert found.missed == ("energy",)
    assert_allclose(found.u, 0.0)


def test_multipliers_and_accelerations_in_one_row() -> None:
    """J a + E λ = r, for a row that has both."""
    mechanism = sr.load("models/five_bar.xml")
    for joint in ("left_elbow", "right_elbow"):
        mechanism.add_actuator(f"{joint}_motor", joint)
    system = sr.System(mechanism)
    q = system.assemble(mechanism.keyframes["symmetric"].q).q
    v = system.project_velocity(q, np.array([0.4, -0.7, 0.3, 0.2]))
    row = system.constraint_names.index("tips.x")
    jacobian, multipliers = ca.SX(1, system.nv), ca.SX(1, system.nc)
    jacobian[0, 0], multipliers[0, row] = 2.0, 0.5
    demand = control.Demand("mix", ("mix",), ca.densify(jacobian), ca.SX(7.0), ca.densify(multipliers))
    law = control.Law(system, [demand], control.Settings())
    found = system.forward_dynamics(q, v, law.solve(q, v).u)
    assert_allclose(2.0 * found.a[0] + 0.5 * found.multipliers[row], 7.0, atol=1e-10)


def test_demands_that_do_not_fit_are_refused_by_name() -> None:
    system, _, _ = loop()
    nv = system.nv

    def law(*demands: control.Demand | control.ForceDemand) -> control.Law:
        return control.Law(system, demands, control.Settings())

    with pytest.raises(
        ArgumentError, match=rf"jacobian of the demand 'narrow' .* 1 × {nv}.*\(row\), got 1 × 2"
    ):
        law(control.Demand("narrow", ("row",), ca.SX.zeros(1, 2), ca.SX.zeros(1)))
    with pytest.raises(ArgumentError, match=r"wanted of the demand 'long' .* 1 × 1, .* got 2 × 1"):
        law(control.Demand("long", ("row",), ca.SX.zeros(1, nv), ca.SX.zeros(2)))
    with pytest.raises(ArgumentError, match=r"jacobian of the demand 'array' must be a CasADi SX matrix"):
        law(control.Demand("array", ("row",), np.zeros((1, nv)), ca.SX.zeros(1)))
    with pytest.raises(ArgumentError, match=r"the demand 'free' has symbols of its own, gain"):
        law(control.Demand("free", ("row",), ca.SX.ones(1, nv), ca.SX.sym("gain")))
    with pytest.raises(
        ArgumentError, match=rf"force of the demand 'push' must be a CasADi SX column of {nv}"
    ):
        law(control.ForceDemand("push", ca.SX.zeros(nv + 1)))
