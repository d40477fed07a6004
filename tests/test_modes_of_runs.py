"""Runs by events and forward dynamics find one answer: modes, directions and forces that statics does not determine."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_elements import Mode

G = 9.81


def plate(seed: int, feet: int, friction: float | None = None) -> tuple[sr.System, Array]:
    """Return a plate on feet with random places and coefficients of friction, on a slope, and where it stands."""
    rng = np.random.default_rng(seed)
    slope = rng.uniform(-0.6, 0.6, 2) if friction is None else np.zeros(2)
    m = sr.Mechanism(f"plate{seed}", gravity=(G * slope[0], G * slope[1], -G))
    com = rng.uniform(-0.1, 0.1, 3) if friction is None else np.zeros(3)
    m.add_body("top", rng.uniform(1.0, 5.0), com=tuple(com), inertia=rng.uniform(0.1, 0.19, 3))
    m.add_joint("float", "free", "world", "top")
    for k in range(feet):
        angle, radius = 2.0 * np.pi * (k + rng.uniform(-0.2, 0.2)) / feet, rng.uniform(0.2, 0.4)
        m.add_contact(
            f"foot{k}", "top", (radius * np.cos(angle), radius * np.sin(angle), -0.2), friction="coulomb",
            friction_coefficient=rng.uniform(0.2, 0.8) if friction is None else friction,
        )  # fmt: skip
    system = sr.System(m)
    q = system.neutral()
    q[2] = 0.2
    return system, q


@pytest.mark.parametrize(("seed", "feet"), [(7011, 5), (1, 7)])
def test_a_run_has_the_accelerations_of_its_states(seed: int, feet: int) -> None:
    """Feet with different friction slide: how they share the load decides the motion, and is one rule.

    Where feet would have to pull on equal springs, the shares are those of the others on springs, at each state.
    """
    system, q = plate(seed, feet)
    run = sr.simulate(system, q, duration=0.02, rtol=1e-9, error_estimate=False)
    assert run.status.ok, run.message
    for k in range(2, len(run.t), 3):
        found = system.forward_dynamics(run.q[k], run.v[k])
        assert found.a == pytest.approx(run.a[k], abs=1e-10 + 1e-5 * np.abs(run.a[k]).max())


@pytest.mark.parametrize("excess", [1e-4, 1e-8])
@pytest.mark.parametrize("feet", [4, 7])
def test_slips_that_begin_next_to_not_at_all_have_a_direction(feet: int, excess: float) -> None:
    """Pushed beyond its limit by next to nothing a plate slides straight on, in forward dynamics and in runs."""
    system, q = plate(feet, feet, friction=0.5)
    mass = float(system.mass_matrix(q)[0, 0])
    way = np.array([np.cos(0.7), np.sin(0.7), 0.0])
    push = 0.5 * mass * G * (1.0 + excess) * way
    # through a point 0.2 below the centre: no moment about the feet
    tau = np.concatenate([push, np.cross([0.0, 0.0, -0.2], push)])
    found = system.forward_dynamics(q, np.zeros(6), tau=tau)
    assert found.contacts is not None
    assert set(found.contacts.modes.values()) == {Mode.SLIDING}
    assert found.a[:3] == pytest.approx(0.5 * G * excess * way, abs=1e-13)
    forces = found.contacts.forces.reshape(-1, 3)
    for normal, *rub in forces:
        assert np.array(rub) == pytest.approx(-0.5 * normal * way[:2], abs=1e-7 * mass * G)


def test_no_foot_pulls_where_the_others_stop() -> None:
    """A step into the stop of all feet once had one of them pull, and open for 20 ns, from stages beyond the stop."""
    system, q = plate(21, 5)
    v = np.zeros(6)
    v[[0, 1, 5]] = 0.5 * np.random.default_rng(21).normal(size=3)
    run = sr.simulate(system, q, v, duration=0.3, rtol=1e-8, atol=1e-8, error_estimate=False)
    assert run.status.ok, run.message
    pushes = run.contact_forces[:, ::3]
    assert pushes.min() > -1e-7 * pushes.max()
