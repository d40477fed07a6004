"""One record of tolerances for contacts: a state means the same at every level."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from families.states_by_level import family


def test_every_level_does_what_the_laws_say_at_a_state() -> None:
    done, bad = family(24, seed=2)
    assert done == 24
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("slip", [5e-8, 1e-6])
def test_a_slow_slip_goes_on_where_the_push_is_above_sliding_friction(slip: float) -> None:
    block = sr.Mechanism("block")
    block.add_body("b", 1.0, inertia=(0.1, 0.1, 0.1))
    block.add_joint("p", "planar", "world", "b", axis=(0, -1, 0), axis2=(1, 0, 0))
    block.add_contact("c", "b", friction="coulomb", friction_coefficient=0.3, static_coefficient=0.5)
    system, push = sr.System(block), np.array([0.4 * 9.81, 0.0, 0.0])
    still, v = system.neutral(), [slip, 0.0, 0.0]
    assert system.forward_dynamics(still, v, tau=push).a[0] == pytest.approx(0.981)
    for more in ({}, {"method": "rk4", "dt": 1e-3}, {"method": "moreau-jean", "dt": 1e-3}):
        run = sr.simulate(system, still, v, duration=0.05, force=lambda q, v, t: push, **more)
        assert run.a[0, 0] == pytest.approx(0.981, rel=1e-7)
        assert run.v[-1, 0] == pytest.approx(0.05 * 0.981 + slip, rel=1e-4)


def test_dry_friction_that_presses_a_frictionless_contact_is_known_to_it() -> None:
    """It bounced every microsecond, as it was let go by accelerations without the friction."""
    arm = sr.Mechanism("arm")
    arm.add_body("a", 1.0, com=(0.3, 0, 0), inertia=(0.05, 0.05, 0.05))
    arm.add_joint("j1", "revolute", "world", "a", axis=(0, -1, 0), friction=2.0, parent_pose=(0, 0, 0.5))
    arm.add_body("b", 0.5, com=(0.2, 0, 0), inertia=(0.02, 0.02, 0.02))
    arm.add_joint("j2", "revolute", "a", "b", axis=(0, -1, 0), friction=1.0, parent_pose=(0.6, 0, 0))
    arm.add_contact("tip", "b", (0.4, 0, 0), friction="frictionless")
    run = sr.simulate(sr.System(arm), [0.3, 0.2], [-1.0, 2.0], duration=1.0, error_estimate=False)
    assert run.status.ok
    assert len(run.switches) < 60
