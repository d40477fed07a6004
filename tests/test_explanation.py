"""`Law.explain`: shares, costs and limits, against what they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from legged_robots import LEGS, quadruped
from random_levels import Hierarchy, carts, random_levels
from sarrus import control

MU, LARGEST = 0.5, 250.0


@pytest.fixture(scope="module")
def leap():
    """A quadruped that is to move aside faster than friction allows."""
    system, q = quadruped(MU)
    upright = control.Task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="upright")
    height = control.Task(control.centre_of_mass("z"), [0.41], 200.0, 25.0, name="height")
    place = control.Task(control.centre_of_mass("xy"), [0.3, 0.0], 25.0, 8.0, name="place")
    law = control.LeggedController(
        system, [[upright, height], place], largest_force=LARGEST, weights=np.linspace(1.0, 2.0, 12)
    )
    return law, q, np.zeros(system.nv)


def test_costs_are_those_of_what_comes_with_each_level(leap):
    law, q, v = leap
    told, found = law.explain(q, v), law.solve(q, v, throw=False)
    assert sum(share.cost for share in told.levels) == pytest.approx(found.cost, rel=1e-9)
    assert [share.level.name for share in told.levels] == [
        "contacts",
        "lost contacts",
        "upright, height",
        "place",
    ]
    shares = {share.level.name: share.level.residual for share in told.levels}
    for level in found.levels:
        assert shares[level.name] == pytest.approx(level.residual, rel=1e-8, abs=1e-9)
    alone = control.LeggedController(law.system, [], largest_force=LARGEST, weights=np.linspace(1.0, 2.0, 12))
    assert told.levels[0].cost == pytest.approx(alone.solve(q, v).cost, abs=1e-9)
    assert_allclose(told.u, found.u, rtol=1e-8)


def test_limits_are_those_that_forces_are_at(leap):
    law, q, v = leap
    told, found = law.explain(q, v), law.solve(q, v, throw=False)
    assert len(told.limits) == 12 + 2 * 4
    reached = {limit.name for limit in told.reached}
    for leg in LEGS:
        normal, *along = found.contact_forces[leg]
        slides = np.linalg.norm(along) > (1.0 - 1e-6) * MU * normal
        assert (f"contact '{leg}', friction" in reached) == bool(slides)
        use = next(limit for limit in told.limits if limit.name == f"contact '{leg}', normal force")
        assert (use.lower, use.upper) == (0.0, LARGEST)
        assert use.value == pytest.approx(normal, rel=1e-6, abs=1e-6)
    assert reached
    text = str(told)
    assert text.startswith("LeggedController of quadruped: relaxed, because of the limits of contact")
    assert "upright, height" in text
    assert all(name in text for name in reached)


def test_an_explanation_changes_nothing(leap):
    law, q, v = leap
    law.sample(q, v, 0.0, 2e-3)
    before = [array.copy() for array in (*law.limits.arrays.values(), law.arrays.input, law.arrays.answer)]
    law.explain(q, v + 0.1)
    after = (*law.limits.arrays.values(), law.arrays.input, law.arrays.answer)
    assert all(np.array_equal(one, other) for one, other in zip(before, after))


def test_inequalities_say_what_they_are_and_may_be():
    system, rng, zero = carts(7), np.random.default_rng(2), np.zeros(7)
    levels = random_levels(rng, (2, -3), 7)
    law = Hierarchy(system, (2, -3), 2, limits=(-1, 1))
    law.take(levels, -np.ones(7), np.ones(7))
    told = law.explain(zero, zero)
    rows = told.limits[7:]
    assert [row.name for row in rows] == [f"'row1.{k}' of 'level1'" for k in range(3)]
    assert_allclose([row.value for row in rows], levels[1].T @ told.u, atol=1e-9)
    assert_allclose([row.upper for row in rows], levels[1].d)
    assert told.levels[1].at_most


def test_laws_without_limits_have_levels_alone():
    system = carts(2)
    told = control.TaskHierarchy(system, [control.Task("x0", 1.0, name="go")]).explain([0, 0], [0, 0])
    assert told.limits == ()
    assert told.levels[0].cost == pytest.approx(100.0**2)
    assert str(told).endswith("no limit is reached")
