"""Hits of frictionless contacts, with dry friction aboard and by the thousand, and the impulse of a contact alone."""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.dynamics.impacts.restitution import lone_impulse
from sarrus.dynamics.optimize.contact_problem import solve_contact_problem
from sarrus.kernels.linalg.ranked import ranked

sys.path.insert(0, str(Path(__file__).parent / "families"))

from frictionless_hits import Case, cases, outcome


@cache
def some() -> list[Case]:
    """Return six random cases."""
    return cases(6, seed=11)


@pytest.mark.parametrize("k", range(6))
def test_generated_cases_are_right(k: int) -> None:
    """``python tests/families/frictionless_hits.py`` does hundreds."""
    case = some()[k]
    what, error = outcome(case)
    assert what == "right", (what, error, case.scene, case.method)


def slide() -> sr.System:
    """Return a body of 1 kg between two elastic stops, 1 m apart."""
    m = sr.Mechanism("slide", gravity=(0, 0, 0))
    m.add_body("body", 1.0)
    m.add_joint("x", "prismatic", "world", "body", limits=(0, 1), limit_restitution=1.0)
    return sr.System(m)


def test_thousands_of_hits_between_two_stops_end() -> None:
    """At 200 m/s for 10 s; what is as good as closed is 1e-8 of the way, each time."""
    motion = sr.simulate(slide(), [0.5], [200.0], duration=10.0, every=None, error_estimate=False)
    times = np.array([s.time for s in motion.switches])
    assert len(times) == 2000
    assert_allclose(times, (0.5 + np.arange(2000)) / 200.0, rtol=2e-8)
    assert_allclose(motion.v[-1], [200.0], rtol=1e-12)
    assert motion.status.ok


def test_a_limit_of_steps_ends_hits_without_end_and_says_so() -> None:
    motion = sr.simulate(
        slide(), [0.5], [1e6], duration=10.0, method=sr.Stepping(max_steps=2000), every=None, throw=False
    )
    assert motion.status is sr.Status.STEP_LIMIT
    assert motion.t[-1] < 3e-3
    assert "steps" in motion.message


# --- one contact that hits alone -------------------------------------------------------------------------


def random_impact(rng: np.random.Generator):
    """Return W, u⁻, −e u_n⁻ and μ of a contact in two or three directions, of which one may not move."""
    m = int(rng.integers(2, 4))
    rows = rng.normal(size=(m, m + 2)) * 10.0 ** rng.uniform(-2, 2)
    operator, velocities = rows @ rows.T, rng.normal(size=m)
    velocities[0] = -abs(velocities[0])
    if rng.random() < 0.3:
        velocities[1:] = 0.0
    if rng.random() < 0.3:
        operator[-1] = operator[:, -1] = 0.0
        velocities[-1] = 0.0
    return operator, velocities, -float(rng.uniform()) * velocities[0], float(rng.uniform(0.0, 1.2))


@pytest.mark.parametrize("seed", range(300))
def test_an_impulse_alone_obeys_coulomb_and_is_that_of_the_contact_problem(seed: int) -> None:
    operator, before, rebound, friction = random_impact(np.random.default_rng(seed))
    found = lone_impulse(operator, before, rebound, friction)
    if found is None:
        return
    after, size = before + operator @ found, np.abs(before).max()
    assert after[0] == pytest.approx(rebound, abs=1e-12 * size)
    pressed, slip = friction * found[0], np.linalg.norm(after[1:])
    assert np.linalg.norm(found[1:]) <= pressed * (1.0 + 1e-12)
    if slip > 1e-9 * size:
        assert_allclose(found[1:], -pressed * after[1:] / slip, atol=1e-9 * found[0])
    given = before.copy()
    given[0] -= rebound
    parts = ranked(operator, relative=1e-13)
    other = solve_contact_problem(
        parts.left * np.sqrt(parts.kept), given, [(len(before), friction)], [], throw=False
    )
    assert_allclose(found, other.forces, atol=1e-10 * found[0])


def test_most_impulses_alone_are_found_without_the_contact_problem() -> None:
    """Not where friction may hold the contact against its normal, and few others."""
    given = [random_impact(np.random.default_rng(seed)) for seed in range(300)]
    easy = [one for one in given if one[3] * np.linalg.norm(one[0][1:, 0]) < one[0][0, 0]]
    assert len(easy) > 200
    assert sum(lone_impulse(*one) is not None for one in easy) > 0.8 * len(easy)
    stuck = next(one for one in given if one[3] * np.linalg.norm(one[0][1:, 0]) >= one[0][0, 0])
    assert lone_impulse(*stuck) is None
