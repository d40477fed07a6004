"""The log-barrier method: closed forms, grasps, programs without solution, and another solver."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import sparse

from sarrus.formulations.friction.log_barrier import BarrierResult, Cone, log_barrier

Array = np.ndarray


def friction(mu: float, size: int = 3, at: int = 0) -> Cone:
    """Return the cone of the force (n, t1, t2) that begins at an entry of x."""
    rows = np.zeros((3, size))
    rows[:, at : at + 3] = np.diag([mu, 1.0, 1.0])
    return Cone(rows, np.zeros(3))


def project(n: float, t1: float, t2: float) -> BarrierResult:
    """Return the point of the cone of μ = 0.4 nearest to a force."""
    return log_barrier(np.eye(3), -np.array([n, t1, t2]), cones=[friction(0.4)])


# --- closed forms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("force", "nearest"),
    [
        ((2.0, 3.0, 4.0), (3.448275862068965, 0.827586206896552, 1.103448275862069)),
        ((-1.0, 3.0, 4.0), (0.862068965517241, 0.206896551724138, 0.275862068965517)),
        ((-3.0, 3.0, 4.0), (0.0, 0.0, 0.0)),
        ((1.0, 0.1, 0.2), (1.0, 0.1, 0.2)),
    ],
)
def test_projection_on_a_cone(force: tuple, nearest: tuple) -> None:
    """The third force lies nearer to the mirrored cone, where the quadratic function is positive too."""
    found = project(*force)
    np.testing.assert_allclose(found.x, nearest, atol=2e-11)
    assert found.violation == 0.0
    assert (found.gap == 0.0) == (force == nearest)


@pytest.mark.parametrize("mu", [0.05, 0.4, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_projection_on_other_cones(mu: float, seed: int) -> None:
    """s = (μ|t| + n) / (1 + μ²) is the normal part of the projection, where it is positive."""
    n, *t = 3.0 * np.random.default_rng(seed).standard_normal(3)
    size = float(np.hypot(*t))
    s = max((mu * size + n) / (1 + mu**2), 0.0)
    inside = mu * n >= size
    expected = [n, *t] if inside else [s, *(mu * s / size * np.array(t))]
    found = log_barrier(np.eye(3), -np.array([n, *t]), cones=[friction(mu)])
    np.testing.assert_allclose(found.x, expected, atol=1e-9)


def test_active_and_idle_rows() -> None:
    """½|x|² with x₁ + x₂ = 2, x₁ ≥ 1.5, x₂ ≤ 7."""
    rows = np.array([[1.0, 0.0], [0.0, -1.0]])
    found = log_barrier(
        np.eye(2),
        np.zeros(2),
        equalities=(np.ones((1, 2)), np.array([2.0])),
        linear=(rows, np.array([-1.5, 7.0])),
    )
    np.testing.assert_allclose(found.x, [1.5, 0.5], atol=1e-10)
    assert 0.0 < found.cost - 1.25 <= found.gap < 1e-9
    idle = log_barrier(np.eye(2), np.zeros(2), linear=(rows, np.array([1.5, 7.0])))
    assert idle.iterations == 0
    np.testing.assert_array_equal(idle.x, [0.0, 0.0])


def test_gap_of_a_cone_is_three_eta_and_of_a_row_one() -> None:
    """The bound is sharp where the optimum is the apex: r η with r = 2 for a cone would be below the true gap."""
    axis = np.array([1.0, 0.0, 0.0])
    cone = log_barrier(np.zeros((3, 3)), axis, cones=[friction(0.4)], precision=1e-6)
    # The last Newton step begins within 1e-2 of the central path and squares that.
    assert cone.cost == pytest.approx(cone.gap, rel=1e-4, abs=0.0)
    row = log_barrier(np.zeros((1, 1)), np.ones(1), linear=(np.eye(1), np.zeros(1)), precision=1e-6)
    assert row.cost == pytest.approx(row.gap, rel=1e-4, abs=0.0)


def test_equalities_may_be_redundant_and_may_contradict_each_other() -> None:
    rows = np.array([[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]])
    found = log_barrier(np.eye(2), np.zeros(2), equalities=(rows, np.array([2.0, 4.0, 0.0])))
    np.testing.assert_allclose(found.x, [1.0, 1.0])
    assert found.contradiction == 0.0
    torn = log_barrier(np.eye(2), np.zeros(2), equalities=(rows, np.array([2.0, 4.0, 1.0])))
    np.testing.assert_allclose(torn.x, [1.0, 1.0])
    assert torn.contradiction == pytest.approx(1.0)


# --- grasps -----------------------------------------------------------------------------------------------

WEIGHT, MU = 1.2 * 9.81, 0.5


def grasp(fingers: int) -> tuple[Array, Array, list[Cone]]:
    """Fingers around a vertical cylinder of radius 1: balance of the wrench, and the cones of (n, t1, t2) of each."""
    wrench, cones = np.zeros((6, 3 * fingers)), []
    for k in range(fingers):
        angle = 2 * np.pi * k / fingers
        inward = -np.array([np.cos(angle), np.sin(angle), 0.0])
        up = np.array([0.0, 0.0, 1.0])
        directions = np.column_stack([inward, up, np.cross(inward, up)])
        wrench[:3, 3 * k : 3 * k + 3] = directions
        wrench[3:, 3 * k : 3 * k + 3] = np.cross(-inward, directions.T).T
        cones.append(friction(MU, 3 * fingers, 3 * k))
    return wrench, np.array([0.0, 0.0, WEIGHT, 0.0, 0.0, 0.0]), cones


@pytest.mark.parametrize(("fingers", "normal"), [(2, 11.772), (3, 7.848)])
def test_least_sum_of_normal_forces(fingers: int, normal: float) -> None:
    wrench, load, cones = grasp(fingers)
    q = np.tile([1.0, 0.0, 0.0], fingers)
    found = log_barrier(np.zeros((len(q), len(q))), q, equalities=(wrench, load), cones=cones)
    assert found.cost == pytest.approx(WEIGHT / MU, rel=1e-10)
    force = np.tile([normal, WEIGHT / fingers, 0.0], fingers)
    # The sum of the normal forces n is off by the gap, which leaves a cone μ² n² − t₁² = t₂² of horizontal friction.
    np.testing.assert_allclose(found.x, force, rtol=1e-9, atol=MU * np.sqrt(2 * normal * found.gap))
    np.testing.assert_allclose(found.x[0::3], normal, rtol=1e-9)


@pytest.mark.parametrize(("fingers", "largest"), [(2, 13.161496115563763), (3, 7.848 * 1.25**0.5)])
def test_least_largest_force(fingers: int, largest: float) -> None:
    """min s with s ≥ |f_k|: more cones, of a variable s that comes last."""
    wrench, load, cones = grasp(fingers)
    size = 3 * fingers
    widened = [Cone(np.column_stack([c.rows, np.zeros(3)]), c.offset) for c in cones]
    for k in range(fingers):
        rows = np.zeros((4, size + 1))
        rows[0, -1] = 1.0
        rows[1:, 3 * k : 3 * k + 3] = np.eye(3)
        widened.append(Cone(rows, np.zeros(4)))
    found = log_barrier(
        np.zeros((size + 1, size + 1)),
        np.append(np.zeros(size), 1.0),
        equalities=(np.column_stack([wrench, np.zeros(6)]), load),
        cones=widened,
    )
    assert found.cost == pytest.approx(largest, rel=1e-10)
    np.testing.assert_allclose(found.x[0:size:3], WEIGHT / MU / fingers, rtol=1e-9)


# --- no solution --------------------------------------------------------------------------------------------


def test_least_violation_and_who_causes_it() -> None:
    """|t| = 1 with n ≤ 1 and μ = 0.4: at best 0.4 n + s = 1 and n = 1 + s, so that s = 0.6 / 1.4."""
    found = log_barrier(
        np.eye(3),
        np.zeros(3),
        equalities=(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([1.0, 0.0])),
        linear=(np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), np.array([1.0, 50.0])),
        cones=[friction(0.4)],
    )
    assert found.violation == pytest.approx(0.6 / 1.4, rel=1e-8)
    np.testing.assert_allclose(found.x, [2.0 / 1.4, 1.0, 0.0], rtol=1e-8)
    np.testing.assert_allclose(found.shares, [0.4 / 1.4, 0.0, 1.0 / 1.4], atol=1e-5)
    assert np.isnan(found.gap)


@pytest.mark.parametrize(("room", "feasible"), [(1e-9, True), (0.0, False), (-1e-9, False)])
def test_how_little_room_is_enough(room: float, feasible: bool) -> None:
    rows = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, 0.0]])
    found = log_barrier(np.eye(2), np.zeros(2), linear=(rows, np.array([-1.0, 1.0 + room, 9.0])))
    assert (found.violation == 0.0) == feasible
    np.testing.assert_allclose(found.x.sum(), 1.0, atol=2e-9)
    if feasible:
        np.testing.assert_allclose(found.x, [0.5, 0.5], atol=1e-9)
    else:
        assert found.violation == pytest.approx(-room / 2, abs=1e-13)


def test_what_cannot_be_changed_is_reported() -> None:
    stuck = log_barrier(np.eye(1), np.zeros(1), linear=(np.zeros((1, 1)), np.array([-2.0])))
    assert stuck.violation == pytest.approx(2.0)
    fixed = log_barrier(
        np.eye(1),
        np.zeros(1),
        equalities=(np.eye(1), np.ones(1)),
        linear=(np.eye(1), np.array([-3.0])),
    )
    assert fixed.violation == pytest.approx(2.0)
    np.testing.assert_array_equal(fixed.x, [1.0])


def test_directions_that_nothing_bounds() -> None:
    """The first phase has to find its way, and to stop, where x may go to infinity without meeting a limit."""
    forward = np.array([[1.0, 0.0, 0.0]])
    found = log_barrier(np.eye(3), np.zeros(3), linear=(forward, np.array([-5.0])))
    np.testing.assert_allclose(found.x, [5.0, 0.0, 0.0], atol=1e-9)
    both = log_barrier(np.eye(3), np.zeros(3), linear=(np.vstack([forward, -forward]), np.full(2, -5.0)))
    assert both.violation == pytest.approx(5.0)


# --- another solver -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("linear_cost", [False, True])
def test_agrees_with_clarabel(linear_cost: bool) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(4, 12)), int(rng.integers(0, 3))
        inside = rng.standard_normal(n)
        root = rng.standard_normal((n, n))
        P = np.zeros((n, n)) if linear_cost else root @ root.T + 0.3 * np.eye(n)
        q, E = rng.standard_normal(n), rng.standard_normal((m, n))
        limit = np.abs(inside) + rng.uniform(0.01, 1.0, n)
        F, f = np.vstack([np.eye(n), -np.eye(n)]), np.concatenate([limit, limit])
        cones = []
        for _ in range(int(rng.integers(1, 4))):
            rows, y = rng.standard_normal((3, n)), rng.standard_normal(3)
            y[0] = np.linalg.norm(y[1:]) + rng.uniform(0.01, 1.0)
            cones.append(Cone(rows, y - rows @ inside))
        found = log_barrier(P, q, equalities=(E, E @ inside), linear=(F, f), cones=cones)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        other = clarabel.DefaultSolver(
            sparse.csc_matrix(np.triu(P)),
            q,
            sparse.csc_matrix(np.vstack([E, -F, *(-c.rows for c in cones)])),
            np.concatenate([E @ inside, f, *(c.offset for c in cones)]),
            [
                clarabel.ZeroConeT(m),
                clarabel.NonnegativeConeT(2 * n),
                *(clarabel.SecondOrderConeT(3) for _ in cones),
            ],
            settings,
        ).solve()
        assert found.violation == 0.0
        assert found.gap < 1e-9 * (1.0 + abs(found.cost))
        assert found.cost == pytest.approx(other.obj_val, rel=1e-8, abs=1e-8), seed
        np.testing.assert_allclose(found.x, other.x, atol=1e-5, err_msg=str(seed))
