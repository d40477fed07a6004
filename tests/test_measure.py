"""The smallest singular value as straight-line code: values, rates and passages are those of dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms import close_loops, random_coordinates, random_state, random_tree
from sarrus.dynamics.model import entries
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.motion.simulate import simulate


@pytest.mark.parametrize("seed", range(6))
def test_value_vectors_and_rate(seed: int) -> None:
    plan = random_tree(seed, ("revolute", "spherical", "free", "prismatic"))
    q = random_coordinates(plan)
    system = System(close_loops(plan, q, ("point",)))
    v = system.project_velocity(q, random_state(system, seed)[1])
    system.forward_dynamics(q, v)
    work = system.workspace()
    assert work.basis is not None
    found = work.compiled.direct("measure", work.basis).evaluate(system.pack(q, v))
    units = work.compiled.units

    def rows(time: float) -> np.ndarray:
        return (
            units.rows[:, None] * system.constraint_jacobian(system.move(q, time * v), v) / units.velocities
        )

    own = rows(0.0)[list(work.basis.independent)]
    least = np.linalg.svd(own, compute_uv=False)[-1]
    sigma = found["sigma"].item()
    assert least * (1.0 - 1e-12) <= sigma <= 1.1 * least  # the rounds end there where values are close
    u, w = found["left"].ravel(), found["right"].ravel()
    np.testing.assert_allclose([u @ u, w @ w], 1.0, rtol=1e-12)
    np.testing.assert_allclose(rows(0.0).T @ u, sigma * w, atol=1e-12)
    step = 1e-5
    rate = u @ (rows(step) - rows(-step)) @ w / (2 * step)
    assert found["change"].item() == pytest.approx(rate, rel=1e-6, abs=1e-7)
    assert found["largest"].item() == pytest.approx(np.linalg.norm(rows(0.0), axis=1).max(), rel=1e-12)


def parallelograms(count: int) -> System:
    """Parallelograms in a row on rockers of length one, flat where all rockers point along the row."""
    m = Mechanism("row", gravity=(0, 0, 0))
    for k in range(count + 1):
        m.add_body(f"rocker{k}", 1.0, (0.5, 0, 0), (0.02, 0.1, 0.1))
        m.add_joint(f"r{k}", "revolute", "world", f"rocker{k}", axis=(0, -1, 0), parent_pose=(k, 0, 0))
    for k in range(count):
        m.add_body(f"coupler{k}", 1.0, (0.5, 0, 0), (0.02, 0.1, 0.1))
        m.add_joint(f"c{k}", "revolute", f"rocker{k}", f"coupler{k}", axis=(0, -1, 0), parent_pose=(1, 0, 0))
        m.add_closure(f"pin{k}", "point", f"coupler{k}", f"rocker{k + 1}", pose1=(1, 0, 0), pose2=(1, 0, 0))
    return System(m)


def test_near_a_singular_configuration() -> None:
    for angle in (0.1, 1e-2, 1e-3):
        system = parallelograms(1)
        q = np.array([angle if name.startswith("r") else -angle for name in system.coordinate_names])
        system.forward_dynamics(q, np.zeros(system.nv))
        work = system.workspace()
        assert work.basis is not None
        found = work.compiled.direct("measure", work.basis).evaluate(system.pack(q))
        units = work.compiled.units
        rows = units.rows[:, None] * system.constraint_jacobian(q) / units.velocities
        left, sigma, right = np.linalg.svd(rows)
        assert found["sigma"].item() == pytest.approx(sigma[1], rel=1e-9)
        assert abs(found["left"].ravel() @ left[:, 1]) == pytest.approx(1.0, abs=1e-9)
        assert abs(found["right"].ravel() @ right[1]) == pytest.approx(1.0, abs=1e-9)


def test_passages_are_those_of_dense_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for small in (0, 10**9):
        monkeypatch.setattr(entries, "SMALL", small)
        system = parallelograms(4)
        names = list(system.coordinate_names)
        q, v = np.zeros(system.nq), np.zeros(system.nv)
        for k in range(5):
            q[names.index(f"r{k}")], v[names.index(f"r{k}")] = 0.3, -1.0
        for k in range(4):
            q[names.index(f"c{k}")], v[names.index(f"c{k}")] = -0.3, 1.0
        run = simulate(system, q, v, duration=0.6, dt=1e-3)
        assert run.passages
        found[small] = run
    sparse, dense = found.values()
    assert len(sparse.passages) == len(dense.passages)
    for one, other in zip(sparse.passages, dense.passages):
        assert one.time == pytest.approx(other.time, abs=1e-7)
        assert (one.crossed, one.closures) == (other.crossed, other.closures)
    assert sparse.passages[0].time == pytest.approx(0.3, abs=1e-4)
