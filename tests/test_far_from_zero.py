"""Times whose neighbours in double precision lie farther apart than a step are refused by name."""

from __future__ import annotations

import pytest

import sarrus as sr


@pytest.fixture(scope="module")
def pendulum() -> sr.System:
    mechanism = sr.Mechanism("pendulum", gravity=(0, 0, -9.81))
    mechanism.add_body("bob", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.1))
    mechanism.add_joint("hinge", "revolute", "world", "bob", axis=(0, 1, 0))
    return sr.System(mechanism)


@pytest.mark.parametrize("t0", [1e18, -1e18, 1e14, 1.7e308])
@pytest.mark.parametrize("more", [{}, {"dt": 1e-3}, {"method": "rodas5p"}])
def test_runs_begin_where_time_can_be_told(pendulum: sr.System, t0: float, more: dict[str, object]) -> None:
    with pytest.raises(sr.ArgumentError, match=r"t0=.*s apart in double precision.*give a t0 nearer to zero"):
        sr.simulate(pendulum, [0.3], duration=1.0, t0=t0, **more)
    with pytest.raises(sr.ArgumentError, match="s apart in double precision"):
        sr.rollout(pendulum, [[0.3]], [[0.0]], duration=1.0, dt=1e-3, t0=t0)


def test_seconds_since_1970_are_told(pendulum: sr.System) -> None:
    late = sr.simulate(pendulum, [0.3], duration=1.0, dt=1e-3, t0=1.7e9)
    assert late.t[-1] == 1.7e9 + 1
    assert late.q[-1, 0] == pytest.approx(
        sr.simulate(pendulum, [0.3], duration=1.0, dt=1e-3).q[-1, 0], abs=1e-6
    )
