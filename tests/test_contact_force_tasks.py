"""Forces of contacts as tasks of a law: told, at one level with motions, within friction, coming and going."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from legged_robots import hopping, kept, slack
from sarrus import control
from sarrus.dynamics.impacts import activity


def test_the_feet_press_against_each_other_as_told() -> None:
    """Two feet in a plane leave one internal force free: friction of one foot, as a number and as a function of t."""
    system, q, tasks = hopping()
    v = np.zeros(system.nv)
    squeeze = control.ContactForce("front", -5.0, ("t1",), name="squeeze")
    law = control.LeggedController(system, [*tasks, squeeze])
    for value in (-5.0, 0.0, 8.0):
        law.settings["squeeze.value"] = value
        told = law.solve(q, v)
        assert told.outcome == "exact"
        assert told.contact_forces["front"][1] == pytest.approx(value, abs=1e-9)
        assert told.contact_forces["rear"][1] == pytest.approx(-value, abs=1e-9)
        with kept(system):
            activity.switch_on(system, ("front", "rear"), q)
            done = system.forward_dynamics(q, v, told.u)
        assert_allclose(done.a, 0.0, atol=1e-8)
        assert done.multipliers[1] == pytest.approx(value, abs=1e-8)
    free = control.LeggedController(system, tasks).solve(q, v)
    assert free.cost < told.cost
    wave = control.ContactForce("front", lambda t: 4.0 * ca.sin(t), ("t1",), name="wave")
    assert control.LeggedController(system, [*tasks, wave]).solve(q, v, 0.5).contact_forces["front"][1] == (
        pytest.approx(4.0 * np.sin(0.5))
    )


def test_forces_beside_motions_at_one_level_and_within_friction() -> None:
    """A squeeze beyond friction is relaxed to the cone; at the same level as motions these share what is missed."""
    system, q, tasks = hopping()
    v = np.zeros(system.nv)
    squeeze = control.ContactForce("front", 100.0, ("t1",), name="squeeze")
    told = control.LeggedController(system, [*tasks, squeeze]).solve(q, v, throw=False)
    assert told.outcome == "relaxed"
    assert slack(told.contact_forces, 0.7) == pytest.approx(0.0, abs=1e-6)
    assert told.missed == ("squeeze",) or told.missed == ("upright", "stay", "squeeze")
    level = control.LeggedController(
        system, [[*tasks, control.ContactForce("front", 3.0, "t1", name="squeeze")]]
    )
    told = level.solve(q, v)
    assert told.contact_forces["front"][1] == pytest.approx(3.0, abs=1e-9)


def test_forces_come_and_go_and_have_weights() -> None:
    """Half on, the controls are in the middle; of two that contradict each other at one level the mean by weights²."""
    system, q, tasks = hopping()
    v = np.zeros(system.nv)
    squeeze = control.ContactForce("front", 6.0, ("t1",), name="squeeze", on=1.0, ramp=0.01)
    law = control.LeggedController(system, [*tasks, squeeze])
    told = law.sample(q, v, 0.0, 1e-3)
    law.settings["squeeze.on"] = 0.0
    course = np.array([law.sample(q, v, 1e-3 * k, 1e-3) for k in range(12)])
    free = control.LeggedController(system, tasks).solve(q, v).u
    assert_allclose(course[[0, 5, 11]], [told, 0.5 * (told + free), free], atol=1e-7)
    pair = [
        control.ContactForce("front", value, ("t1",), name=name, weight=weight)
        for name, value, weight in (("one", 1.0, 3.0), ("other", 5.0, 1.0))
    ]
    law = control.LeggedController(system, [*tasks, pair])
    for weight, mean in ((3.0, 1.4), (1.0, 3.0)):
        law.settings["one.weight"] = weight
        found = law.solve(q, v, throw=False)
        assert found.contact_forces["front"][1] == pytest.approx(mean, abs=1e-7)


def test_the_force_of_an_open_contact_is_not_asked_for() -> None:
    system, q, _ = hopping()
    loads = [control.ContactForce(name, 20.0, name=f"load {name}") for name in ("front", "rear")]
    law = control.LeggedController(system, loads)
    told = law.solve(q, np.zeros(system.nv))
    assert [told.contact_forces[name][0] for name in ("front", "rear")] == pytest.approx(
        [20.0, 20.0], abs=1e-9
    )
    law.settings["front.closed"] = 0.0
    told = law.solve(q, np.zeros(system.nv))
    assert_allclose(told.contact_forces["front"], 0.0, atol=1e-9)
    assert told.contact_forces["rear"][0] == pytest.approx(20.0, abs=1e-9)
