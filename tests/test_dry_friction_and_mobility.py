"""Dry friction and mobility: friction forbids no velocity; what it holds under a load is in the forward dynamics."""

from __future__ import annotations

import pytest

import sarrus as sr


@pytest.mark.parametrize(("force", "mode"), [(4.9, "STICKING"), (5.1, "SLIDING")])
def test_a_joint_that_friction_holds_can_move(force: float, mode: str) -> None:
    mechanism = sr.Mechanism("slide", gravity=(0, 0, 0))
    mechanism.add_body("slide", 2.0)
    mechanism.add_joint("x", "prismatic", "world", "slide", axis=(1, 0, 0), friction=5.0)
    system = sr.System(mechanism)
    found = sr.mobility(system, [0.0])
    assert (found.dof, found.finite_dof) == (1, 1)
    loaded = system.forward_dynamics([0.0], [0.0], tau=[force])
    assert loaded.contacts.modes["x.friction"].name == mode
    assert loaded.a[0] == pytest.approx(max(force - 5.0, 0.0) / 2.0, abs=1e-12)
