"""Every shipped model in a batch: side by side where it can, and always the runs of `simulate`."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from linear_precision import SHIPPED, shipped

OPTIONS = {"duration": 0.1, "dt": 1e-3, "every": 50, "switching": False}
# Bars held by stiff springs, for which explicit steps of a millisecond are too long: every run fails, and says so.
TOO_STIFF = "stiff, springs"
# Redundant or nonholonomic rows, contacts, a Gram matrix that loses digits: these go one after the other.
ALONE = {
    "bennett", "bennett, weld", "bricard", "bricard, free bodies", "foot, in flight", "foot, on the ground",
    "rolling_disc", "stewart",
}  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
def test_runs_of_a_batch_are_single_runs(name: str) -> None:
    system, middle = shipped(name)
    rng = np.random.default_rng(3)
    near = [system.assemble(middle + 0.03 * rng.normal(size=system.nq), throw=False) for _ in range(9)]
    q = np.array([found.q if found.status.ok else middle for found in near])
    v = np.array([system.project_velocity(row, 0.3 * rng.normal(size=system.nv)) for row in q])
    many = sr.rollout(system, q, v, **OPTIONS)
    assert many.side_by_side == (name not in ALONE)
    if name == TOO_STIFF:
        assert len(many.failed) == len(many)
        return
    assert many.failed.size == 0
    assert many.residual.max() < 1e-13
    for run in (0, 4, 8):
        one = sr.simulate(system, q[run], v[run], progress=False, **OPTIONS)
        bound = 1e-12 if many.side_by_side else 0.0
        for ours, theirs in ((many.q[run], one.q), (many.v[run], one.v), (many.a[run], one.a)):
            np.testing.assert_allclose(
                ours, theirs, rtol=0, atol=bound * (1.0 + np.abs(theirs).max(initial=0.0))
            )
        np.testing.assert_array_equal(many.rank[run], one.rank)
