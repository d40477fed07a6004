"""Metric tensors: what does not depend on units, with plain matrices and with a mechanism of mixed joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

import sarrus as sr
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.model.units import constraint_units, velocity_units
from sarrus.formulations.metric import actuator_metric, characteristic_metric
from sarrus.formulations.problem import Formulation
from sarrus.formulations.projections.constraint_inertia import (
    parameterized_projection,
    projection,
    symmetric_projection,
)
from sarrus.formulations.projections.oblique import oblique_projection
from sarrus.formulations.projections.projected_inverse import projected_inverse_dynamics
from sarrus.formulations.projections.tangent_space import (
    decompose_force,
    decouples,
    projector,
    projector_rate,
)

Array = np.ndarray
SOLVERS = [projection, symmetric_projection, parameterized_projection, oblique_projection]


@dataclass(frozen=True)
class Data:
    """One state in one system of units; the coordinates of ``length`` in units that are all the same."""

    M: Array
    h: Array
    A: Array
    Adot: Array
    gamma: Array
    tau: Array
    a: Array  # an admissible acceleration
    units: tuple[str, ...]
    row_units: tuple[str, ...]
    length: float
    maxima: Array
    active: Array

    @property
    def problem(self) -> tuple[Array, Array, Array, Array, Array]:
        return self.M, self.h, self.A, self.gamma, self.tau

    def metrics(self, kind: str) -> dict[str, Array]:
        metrics = {
            "actuator": actuator_metric(self.maxima),
            "characteristic": characteristic_metric(self.units, self.length),
        }
        return {"metric": metrics[kind], "row_metric": characteristic_metric(self.row_units, self.length)}


@dataclass(frozen=True)
class Change:
    """A change of the unit of length: v′ = D v, rows times E, forces e D⁻¹ f with e the ratio of units of energy."""

    D: Array
    E: Array
    e: float

    def of(self, d: Data, ratio: float) -> Data:
        back = 1.0 / self.D
        return replace(
            d,
            M=self.e * d.M * np.outer(back, back),
            h=self.force(d.h),
            tau=self.force(d.tau),
            A=d.A * np.outer(self.E, back),
            Adot=d.Adot * np.outer(self.E, back),
            gamma=self.E * d.gamma,
            a=self.D * d.a,
            length=ratio * d.length,
            maxima=self.force(d.maxima),
        )

    def force(self, f: Array) -> Array:
        return self.e * f / self.D


def changed(d: Data, ratio: float) -> tuple[Data, Change]:
    """Return the data with a unit of length that is ``ratio`` times smaller (1000: millimetres), same kg and s."""
    factor = {"m": ratio, "m/s": ratio, "N": ratio, "rad": 1.0, "rad/s": 1.0, "N m": 1.0}
    change = Change(
        np.array([factor[u] for u in d.units]), np.array([factor[u] for u in d.row_units]), ratio**2
    )
    return change.of(d, ratio), change


def plain_data(seed: int = 0) -> Data:
    """Return random matrices: four lengths, four angles; five rows of both kinds, four of them of rank 2."""
    rng = np.random.default_rng(seed)
    units = tuple(rng.permutation(["m"] * 4 + ["rad"] * 4).tolist())
    root, rows, rates = rng.standard_normal((8, 8)), rng.standard_normal((3, 8)), rng.standard_normal((3, 8))
    mix = np.vstack([np.eye(3), [[1.0, 0.7, 0.0], [-0.4, 1.2, 0.0]]])
    A = mix @ rows
    gamma = A @ rng.standard_normal(8)
    a = np.linalg.pinv(A, rcond=1e-10) @ -gamma + projector(A) @ rng.standard_normal(8)
    return Data(
        M=root @ root.T + 0.5 * np.eye(8),
        h=rng.standard_normal(8),
        A=A,
        Adot=mix @ rates,
        gamma=gamma,
        tau=rng.standard_normal(8),
        a=a,
        units=units,
        row_units=("m", "rad", "m", "rad", "m"),
        length=0.4,
        maxima=rng.uniform(0.5, 5.0, 8),
        active=np.array([True] * 7 + [False]),
    )


def slider_crank() -> sr.Mechanism:
    """Return a slider-crank whose slider moves on two prismatic and a revolute joint, held by two parallel guides.

    The guides are redundant: rows in metres and rows in radians share the couple on the slider.
    """
    mechanism = sr.Mechanism("guided_slider_crank", gravity=(0.0, -9.81, 0.0))
    mechanism.add_body("crank", 1.0, com=(0.1, 0, 0), inertia=(0.001, 0.004, 0.004))
    mechanism.add_body("rod", 0.8, com=(0.2, 0, 0), inertia=(0.001, 0.02, 0.02))
    mechanism.add_body("carriage")
    mechanism.add_body("cross_slide")
    mechanism.add_body("slider", 1.5, com=(0.05, 0.02, 0), inertia=(0.003, 0.003, 0.005))
    mechanism.add_joint("crank", "revolute", "world", "crank")
    mechanism.add_joint("rod", "revolute", "crank", "rod", parent_pose=(0.2, 0, 0))
    mechanism.add_joint("x", "prismatic", "world", "carriage", axis=(1, 0, 0))
    mechanism.add_joint("y", "prismatic", "carriage", "cross_slide", axis=(0, 1, 0))
    mechanism.add_joint("turn", "revolute", "cross_slide", "slider")
    mechanism.add_closure("pin", "revolute", "slider", "rod", pose2=(0.5, 0, 0))
    for name, x in (("rear_guide", 0.0), ("front_guide", 0.3)):
        mechanism.add_closure(name, "prismatic", "world", "slider", axis=(1, 0, 0), pose2=(x, 0, 0))
    return mechanism


def mechanism_data() -> Data:
    system = sr.System(slider_crank())
    q = system.assemble([0.7, -1.0, 0.6, 0.0, 0.0], locked=["crank"]).q
    v = system.project_velocity(q, np.eye(5)[0] * 4.0)
    h = 1e-6
    A, gamma = system.constraint_jacobian(q), system.constraint_bias(q, v)
    Adot = (system.constraint_jacobian(q + h * v) - system.constraint_jacobian(q - h * v)) / (2 * h)
    assert np.abs(Adot @ v - gamma).max() < 1e-6
    return Data(
        M=system.mass_matrix(q),
        h=system.bias_force(q, v),
        A=A,
        Adot=Adot,
        gamma=gamma,
        tau=np.array([1.0, -0.3, 4.0, 2.0, 0.5]),
        a=projection(system.mass_matrix(q), np.ones(5), A, gamma).a,
        units=velocity_units(system),
        row_units=constraint_units(system),
        length=0.2,
        maxima=np.array([3.0, 1.0, 20.0, 15.0, 2.0]),
        active=np.array([True, False, True, False, False]),
    )


@pytest.fixture(scope="module", params=["plain matrices", "slider-crank"])
def data(request: pytest.FixtureRequest) -> Data:
    return plain_data() if request.param == "plain matrices" else mechanism_data()


def same(one: Array, two: Array, tolerance: float = 1e-12) -> bool:
    """Tell whether two vectors or matrices agree, relative to the largest entry."""
    return bool(np.abs(np.subtract(one, two)).max() <= tolerance * np.abs(two).max())


def same_physically(one: Array, two: Array, scale: Array, tolerance: float = 1e-12) -> bool:
    """Tell whether vectors of mixed units agree, after each entry has been put into the metric."""
    return same(one * scale, two * scale, tolerance)


changes = pytest.mark.parametrize("ratio", [1000.0, 39.37007874015748, 0.001])
kinds = pytest.mark.parametrize("kind", ["characteristic", "actuator"])


# --- the must-show: metres or millimetres -----------------------------------------------------------


@changes
@kinds
@pytest.mark.parametrize("solve", SOLVERS)
def test_solutions_do_not_depend_on_the_unit_of_length(
    data: Data, solve: Callable[..., Formulation], kind: str, ratio: float
) -> None:
    other, change = changed(data, ratio)
    metrics = data.metrics(kind)
    one, two = solve(*data.problem, **metrics), solve(*other.problem, **other.metrics(kind))
    root = np.sqrt(np.diag(metrics["metric"]))
    row_root = np.sqrt(np.diag(metrics["row_metric"]))
    assert one.rank == two.rank
    assert list(one.determined) == list(two.determined)
    assert one.condition == pytest.approx(two.condition, rel=1e-10)
    assert same(two.details["P"], one.details["P"])
    assert same_physically(two.a / change.D, one.a, root)
    assert same_physically(two.constraint_force * change.D / change.e, one.constraint_force, 1.0 / root)
    assert same_physically(two.multipliers * change.E / change.e, one.multipliers, 1.0 / row_root)
    inertia = one.details["inertia"] / np.linalg.norm(one.details["inertia"])
    assert same(two.details["inertia"] / np.linalg.norm(two.details["inertia"]), inertia)


@changes
@kinds
def test_smallest_torques_do_not_depend_on_the_unit_of_length(data: Data, kind: str, ratio: float) -> None:
    other, change = changed(data, ratio)
    root = np.sqrt(np.diag(data.metrics(kind)["metric"]))
    for active in (None, data.active):
        one, two = (
            projected_inverse_dynamics(
                d.M, d.h, d.A, d.gamma, d.a, tau=d.tau, actuation=active, **d.metrics(kind)
            )
            for d in (data, other)
        )
        assert one.actuation_rank == two.actuation_rank == len(data.M) - one.rank
        assert same_physically(two.force * change.D / change.e, one.force, 1.0 / root)
        assert np.array_equal(one.determined, two.determined)
        row_root = np.sqrt(np.diag(data.metrics(kind)["row_metric"]))
        assert same_physically(two.multipliers * change.E / change.e, one.multipliers, 1.0 / row_root)
        assert same(two.u, two.force if active is None else two.force[active])
        assert same_physically(two.constraint_force * change.D / change.e, one.constraint_force, 1.0 / root)


@changes
@kinds
def test_projectors_and_parts_of_forces_do_not_depend_on_the_unit_of_length(
    data: Data, kind: str, ratio: float
) -> None:
    other, change = changed(data, ratio)
    metrics, others = data.metrics(kind), other.metrics(kind)
    one, two = projector_rate(data.A, data.Adot, **metrics), projector_rate(other.A, other.Adot, **others)
    assert same(two.P, one.P)
    assert same(projector(other.A, **others), one.P)
    assert same(two.P_dot, one.P_dot)
    assert same(two.Omega, one.Omega)
    scale = 1.0 / np.sqrt(np.diag(metrics["metric"]))
    for part, same_part in zip(
        decompose_force(other.tau, other.A, **others), decompose_force(data.tau, data.A, **metrics)
    ):
        assert same_physically(part * change.D / change.e, same_part, scale)


@changes
@kinds
def test_decoupling_does_not_depend_on_the_unit_of_length(data: Data, kind: str, ratio: float) -> None:
    metrics = data.metrics(kind)
    p = projection(*data.problem, **metrics).problem
    P, across = p.image.projector, np.eye(p.n) - p.image.projector
    split = p.root @ (P @ p.image.M @ P + across @ p.image.M @ across) @ p.root
    for mass, expected in ((data.M, False), (split, True)):
        first = replace(data, M=mass)
        other, _ = changed(first, ratio)
        assert decouples(first.M, first.A, **metrics) is expected
        assert decouples(other.M, other.A, **other.metrics(kind)) is expected


def test_without_a_metric_they_do(data: Data) -> None:
    """The reason for the metric: millimetres change the torques, the parts of forces, and the shared couple."""
    other, change = changed(data, 1000.0)
    one, two = (
        projected_inverse_dynamics(d.M, d.h, d.A, d.gamma, d.a, actuation=data.active).force
        for d in (data, other)
    )
    assert not same(two * change.D / change.e, one, 1e-2)
    one, two = decompose_force(data.tau, data.A)[0], decompose_force(other.tau, other.A)[0]
    assert not same(two * change.D / change.e, one, 1e-2)
    first, second = projection(*data.problem), projection(*other.problem)
    assert not same(second.multipliers * change.E / change.e, first.multipliers, 1e-2)
    # What is unique does not need it, but for digits and the decision on the rank.
    assert first.rank == second.rank
    assert same(second.a / change.D, first.a, 1e-8)
    assert same(second.constraint_force * change.D / change.e, first.constraint_force, 1e-8)
    sure = first.determined
    assert sure.any()
    assert same((second.multipliers * change.E / change.e)[sure], first.multipliers[sure], 1e-8)


# --- what a metric decides, and what it does not ----------------------------------------------------


def full_metric(seed: int, n: int) -> Array:
    root = np.random.default_rng(seed).standard_normal((n, n))
    return root @ root.T + 0.5 * np.eye(n)


@pytest.mark.parametrize("solve", SOLVERS)
def test_metric_of_the_coordinates_leaves_every_answer_alone(solve: Callable[..., Formulation]) -> None:
    d = plain_data(1)
    clash = d.gamma + np.arange(5.0)
    for gamma in (d.gamma, clash):
        plain = solve(d.M, d.h, d.A, gamma, d.tau)
        result = solve(d.M, d.h, d.A, gamma, d.tau, metric=full_metric(2, 8))
        assert result.status is plain.status
        assert same(result.a, plain.a, 1e-11)
        assert same(result.constraint_force, plain.constraint_force, 1e-11)
        assert same(result.multipliers, plain.multipliers, 1e-11)
        assert not same(result.details["P"], plain.details["P"], 1e-2)


@pytest.mark.parametrize("solve", SOLVERS)
def test_metric_of_the_rows_decides_between_redundant_rows(solve: Callable[..., Formulation]) -> None:
    d = plain_data(1)
    R = full_metric(3, 5)
    plain, result = solve(*d.problem), solve(*d.problem, row_metric=R)
    assert same(result.a, plain.a, 1e-11)
    assert same(result.constraint_force, plain.constraint_force, 1e-11)
    assert same(d.A.T @ result.multipliers, plain.constraint_force, 1e-11)
    # Least λᵀR⁻¹λ: no multiplier without effect, A^T y = 0, lowers it.
    idle = np.linalg.svd(d.A)[0][:, 3:]
    assert np.abs(idle.T @ np.linalg.solve(R, result.multipliers)).max() < 1e-11
    assert np.abs(idle.T @ np.linalg.solve(R, plain.multipliers)).max() > 1e-2
    # Where rows contradict each other, least squares in R.
    gamma = d.gamma + np.arange(5.0)
    result = solve(d.M, d.h, d.A, gamma, d.tau, row_metric=R)
    assert result.status is sr.Status.INCONSISTENT
    assert np.abs(d.A.T @ R @ (d.A @ result.a + gamma)).max() < 1e-10
    assert result.constraint_residual < 1e-12


def test_projector_is_orthogonal_in_the_metric() -> None:
    d, W = plain_data(4), full_metric(5, 8)
    p = projection(*d.problem, metric=W).problem
    P = p.projector
    assert same(P @ P, P)
    assert same(W @ P, (W @ P).T)
    assert np.abs(d.A @ P).max() < 1e-12
    assert same(p.basis.T @ W @ p.basis, np.eye(5))
    # It is I − A⁺A with the weighted pseudo-inverse W⁻¹Aᵀ(A W⁻¹Aᵀ)⁺.
    V = np.linalg.inv(W)
    inverse = V @ d.A.T @ np.linalg.pinv(d.A @ V @ d.A.T, rcond=1e-10)
    assert same(p.inverse, inverse, 1e-11)
    assert same(P, np.eye(8) - inverse @ d.A, 1e-11)
    potent, impotent = decompose_force(d.tau, d.A, metric=W)
    assert same(potent, P.T @ d.tau)
    assert abs(potent @ V @ impotent) < 1e-12
    assert np.abs(impotent @ P).max() < 1e-12


def test_smallest_force_is_smallest_in_the_metric(data: Data) -> None:
    metrics = data.metrics("actuator")
    dual = np.diag(1.0 / np.diag(metrics["metric"]))
    weighted, plain = (
        projected_inverse_dynamics(
            data.M, data.h, data.A, data.gamma, data.a, actuation=data.active, **keywords
        )
        for keywords in (metrics, {})
    )
    assert weighted.force @ dual @ weighted.force < plain.force @ dual @ plain.force * (1 - 1e-3)
    assert weighted.force @ weighted.force > plain.force @ plain.force * (1 + 1e-3)
    for result in (weighted, plain):
        forward = projection(data.M, data.h, data.A, data.gamma, result.force)
        assert same(forward.a, data.a, 1e-10)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 4.0, 0.3, 1.0, 2.0, 0.5])])
def test_actuation_matrix_with_a_full_metric(weights: Array | None) -> None:
    d, W = plain_data(3), full_metric(8, 8)
    S = np.random.default_rng(1).standard_normal((8, 6))
    result = projected_inverse_dynamics(
        d.M, d.h, d.A, d.gamma, d.a, tau=d.tau, actuation=S, weights=weights, metric=W
    )
    assert same(S @ result.u, result.force)
    assert same(d.M @ d.a + d.h, d.tau + result.force + result.constraint_force, 1e-11)
    assert same(d.A.T @ result.multipliers, result.constraint_force, 1e-11)
    # The controls left free, whose forces are impotent, do not lower the norm any more.
    idle = np.linalg.svd(projector(d.A) @ S)[2][result.actuation_rank :].T
    cost = S.T @ np.linalg.solve(W, S) if weights is None else np.diag(weights)
    assert result.actuation_rank == 5
    assert np.abs(idle.T @ cost @ result.u).max() < 1e-11 * np.abs(cost @ result.u).max()


def test_diagonal_may_be_given_as_a_vector() -> None:
    d = plain_data(6)
    one = projection(*d.problem, metric=d.maxima, row_metric=np.arange(1.0, 6.0))
    two = projection(*d.problem, metric=np.diag(d.maxima), row_metric=np.diag(np.arange(1.0, 6.0)))
    assert np.array_equal(one.details["P"], two.details["P"])
    assert np.array_equal(one.multipliers, two.multipliers)


def test_decoupling_depends_on_the_metric() -> None:
    """In the metric that is the mass matrix every constraint decouples."""
    A, M = np.array([[1.0, 2.0, -1.0]]), np.diag([1.0, 3.0, 5.0])
    assert not decouples(M, A)
    assert decouples(M, A, metric=M)


# --- the metrics themselves -------------------------------------------------------------------------


def test_characteristic_metric() -> None:
    """Aghili 2005, eq. (50): a translation by κ is a turn by one radian."""
    W = characteristic_metric(("m/s", "rad/s", "m", "rad", "N", "N m", "1"), 0.5)
    assert np.array_equal(W, np.diag([4.0, 1.0, 4.0, 1.0, 4.0, 1.0, 1.0]))
    translation, turn = np.array([0.5, 0, 0, 0, 0, 0, 0]), np.eye(7)[1]
    assert translation @ W @ translation == turn @ W @ turn
    assert characteristic_metric((), 1.0).shape == (0, 0)


def test_actuator_metric() -> None:
    """The norm of a force is that of its fractions of the largest one."""
    W, f = actuator_metric([2.0, 10.0]), np.array([1.0, 5.0])
    assert f @ np.linalg.solve(W, f) == pytest.approx(0.5**2 + 0.5**2)


def test_bad_metrics_are_named() -> None:
    cases: list[tuple[str, Callable[[], object]]] = [
        ("units\\[1\\] is '', which is no length", lambda: characteristic_metric(("m", ""), 1.0)),
        ("length must be a positive number", lambda: characteristic_metric(("m",), 0.0)),
        ("maxima\\[1\\] must be positive", lambda: actuator_metric([1.0, 0.0])),
        ("maxima must be a vector", lambda: actuator_metric([[1.0]])),
        ("metric must be symmetric", lambda: projector(np.ones((1, 2)), metric=[[1.0, 0.5], [0.0, 1.0]])),
        ("metric must be symmetric", lambda: projector(np.ones((1, 2)), metric=[[1.0, 1.0], [1.0, 1.0]])),
        ("metric must be symmetric", lambda: projector(np.ones((1, 2)), metric=[1.0, 0.0])),
        ("metric must be finite", lambda: projector(np.ones((1, 2)), metric=[1.0, np.nan])),
        ("metric must be an array of numbers", lambda: projector(np.ones((1, 2)), metric=["a", "b"])),
        ("maxima must be finite", lambda: actuator_metric([np.inf])),
        ("row_metric has shape", lambda: projector(np.ones((1, 2)), row_metric=[1.0, 1.0])),
    ]
    for message, call in cases:
        with pytest.raises(ArgumentError, match=message):
            call()
