"""`least_condition`: g and ν along motions, against dense grids, closed forms and the inverted matrices themselves."""

from __future__ import annotations

from functools import partial

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from sarrus import formulations as f
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError

METHODS = {"parameterized-projection": f.parameterized_projection, "oblique-projection": f.oblique_projection}
GRID = np.geomspace(1e-3, 1e3, 4001)


def random_motion(seed: int, states: int = 5) -> tuple[Array, Array]:
    """Return M and A along a made-up motion, one row of A twice and one zero."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(states, 6, 6)) * rng.uniform(0.3, 3.0, (states, 1, 6))
    rows = rng.normal(size=(states, 2, 6))
    return roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(6), np.concatenate(
        [rows, rows[:, :1], np.zeros((states, 1, 6))], axis=1
    )


def inertia(name: str, M: Array, A: Array, value: float) -> Array:
    """Return the matrix that is inverted, by the pseudo-inverse."""
    P = np.eye(len(M)) - np.linalg.pinv(A) @ A
    return (P @ M if name == "parameterized-projection" else P @ M @ P) + value * (np.eye(len(M)) - P)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("seed", range(6))
def test_no_other_number_is_better(name: str, seed: int) -> None:
    M, A = random_motion(seed)
    found = f.least_condition(M, A, name)

    def conditions(value: float) -> Array:
        return np.array([np.linalg.cond(inertia(name, m, a, value)) for m, a in zip(M, A)])

    grid = np.array([conditions(x) for x in found.constant * GRID[::20]])
    assert_allclose(found.with_constant, conditions(found.constant), rtol=1e-9)
    assert found.with_constant.max() <= grid.max(axis=1).min() * (1 + 1e-9)
    assert (found.with_each <= grid.min(axis=0) * (1 + 1e-9)).all()
    norms = np.linalg.norm(M, 2, axis=(1, 2))
    assert_allclose(found.norm, norms)
    assert_allclose(found.with_norm, [np.linalg.cond(inertia(name, *x)) for x in zip(M, A, norms)], rtol=1e-9)
    assert found.gain > 1.0
    zeros = np.zeros(6), np.zeros(4)
    for m, a, value, least in zip(M, A, found.each, found.with_each):
        own = METHODS[name](m, zeros[0], a, zeros[1], **{found.parameter: "minimal-condition"})
        assert own.details[found.parameter] == value
        assert_allclose(own.condition, least, rtol=1e-9)


def test_two_coordinates_and_one_row_in_closed_form() -> None:
    """M = [m c; c M₂], A = [0 1]: cond of [m c; 0 g] is least at g = √(m² + c²), by mpmath and by hand."""
    m, c, across = 2.0, 0.7, 5.0
    found = f.least_condition([[m, c], [c, across]], [[0.0, 1.0]])
    with mpmath.workdps(40):

        def condition(g: mpmath.mpf) -> mpmath.mpf:
            # det is m g, the squares of the entries add up to t: κ + 1/κ = t / (m g)
            t = (mpmath.mpf(m) ** 2 + mpmath.mpf(c) ** 2 + g**2) / (m * g)
            return (t + mpmath.sqrt(t**2 - 4)) / 2

        g = mpmath.findroot(lambda x: mpmath.diff(condition, x), 2.0)
        assert abs(g - mpmath.sqrt(mpmath.mpf(m) ** 2 + mpmath.mpf(c) ** 2)) < 1e-25
        least = float(condition(g))
    assert_allclose(found.constant, np.hypot(m, c), rtol=1e-7)  # a minimum: half the digits of the condition
    assert_allclose(found.with_constant, least, rtol=1e-12)


def test_several_states_of_the_oblique_projection_in_closed_form() -> None:
    """ν = √(min a · max b): here 8, between states with masses 1 … 4 and 16 … 64, where each would have 2 and 32."""
    M = np.array([np.diag([1.0, 4.0, 9.0]), np.diag([16.0, 64.0, 9.0])])
    A = np.array([[[0.0, 0.0, 1.0]]] * 2)
    found = f.least_condition(M, A, "oblique-projection")
    assert_allclose([found.constant, *found.each], [8.0, 2.0, 32.0], rtol=1e-14)
    assert_allclose(found.with_constant, [8.0, 8.0], rtol=1e-14)
    assert_allclose(found.with_each, [4.0, 4.0], rtol=1e-14)
    assert "one for all" in str(found)
    assert "8" in str(found)


def test_states_without_a_choice_do_not_count() -> None:
    M = np.array([np.diag([1.0, 100.0])] * 3)
    A = np.array([[[0.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]]])
    for name in METHODS:
        found = f.least_condition(M, A, name)
        assert_allclose(found.constant, 10.0, rtol=1e-6)
        assert_allclose(found.with_constant, [100.0, 10.0, 10.0], rtol=1e-6)
        none = f.least_condition(M[:1], A[:1], name)
        assert none.constant == 100.0
        assert none.gain == 1.0


def test_a_run_takes_it() -> None:
    """A slider-crank through its singular configurations: the same motion, and less lost in the inversion."""
    module = load_example("slider_crank")
    system = sr.System(module.build())
    start = system.assemble(system.neutral()).q
    v = system.project_velocity(start, np.ones(system.nv))
    run = sr.simulate(system, start, v, duration=1.0, dt=5e-3)
    M = np.array([system.mass_matrix(q) for q in run.q])
    A = np.array([system.constraint_jacobian(q) for q in run.q])
    for name, method in METHODS.items():
        found = f.least_condition(M, A, name, tolerance=1e-7)
        assert found.gain > 1.0
        bound = {found.parameter: found.constant}
        same = sr.simulate(system, start, v, duration=1.0, dt=5e-3, formulation=partial(method, **bound))
        assert_allclose(same.q, run.q, atol=1e-8)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("stepping", [{}, {"method": "dop853", "dt": 4e-2}, {"stabilization": "baumgarte"}])
def test_a_rule_in_a_run(name: str, stepping: dict, five_bar: tuple) -> None:
    """The motion is that with any number, and no other number of a grid has a lower largest condition."""
    system, start = five_bar
    options = {"duration": 0.3, "dt": 1e-2, **stepping}
    kernel = sr.simulate(system, start, **options)
    plain = sr.simulate(system, start, formulation=name, **options)
    ruled = sr.simulate(system, start, formulation=f"{name}-least-condition", **options)
    each = sr.simulate(system, start, formulation=f.LeastConditionRule(name, over="state"), **options)
    for run in (ruled, each):
        assert_allclose(run.q, plain.q, atol=1e-10)
        assert_allclose(run.q, kernel.q, atol=1e-8)
        assert run.status is plain.status
    assert ruled.condition.max() < 0.7 * plain.condition.max()
    assert (each.condition <= ruled.condition * (1 + 1e-6)).all()
    (said,) = ruled.events
    assert said.time == 0.0
    parameter, number = said.name.partition(":")[0].split(" = ")
    M = [system.mass_matrix(q) for q in kernel.q]
    A = [system.constraint_jacobian(q) for q in kernel.q]
    grid = float(number) * GRID[::20]
    largest = [max(np.linalg.cond(inertia(name, m, a, x)) for m, a in zip(M, A)) for x in grid]
    assert ruled.condition.max() <= min(largest) * (1 + 1e-3)
    assert parameter == ruled_parameter(name)


def ruled_parameter(name: str) -> str:
    return {"parameterized-projection": "g", "oblique-projection": "nu"}[name]


@pytest.fixture(scope="module")
def five_bar() -> tuple:
    mechanism = sr.load("models/five_bar.xml")
    return sr.System(mechanism), mechanism.keyframes["symmetric"].q


def test_a_rule_with_closures_that_come_and_go() -> None:
    """A pendulum of two masses that is tied for a while: the number is that of the rows that hold then."""
    mechanism = sr.Mechanism("tied", gravity=(0, 0, -9.81))
    for k, parent in enumerate(("world", "0")):
        mechanism.add_body(str(k), 1.0 + 30.0 * k, (0.5, 0, 0), (0.01, 0.1, 0.1))
        mechanism.add_joint(f"j{k}", "revolute", parent, str(k), axis=(0, 1, 0), parent_pose=(float(k), 0, 0))
    mechanism.add_coupling("tie", {"j1": 1.0, "j0": 2.0}, active=False)
    system = sr.System(mechanism)
    schedule = sr.Switching({"tie": [(0.2, 0.4)]})
    options = {"duration": 0.6, "dt": 5e-3, "switching": schedule}
    kernel = sr.simulate(system, [0.3, -0.6], **options)
    run = sr.simulate(system, [0.3, -0.6], formulation="oblique-projection-least-condition", **options)
    assert_allclose(run.q, kernel.q, atol=1e-10)
    assert "nu" in run.events[0].name
    assert len(run.switches) == len(kernel.switches)


def test_a_rule_by_name_in_a_comparison(five_bar: tuple) -> None:
    system, start = five_bar
    names = ["kernel", "oblique-projection", "oblique-projection-least-condition"]
    table = sr.compare(system, start, duration=0.1, dt=1e-2, formulations=names)
    assert table[names[2]].condition.max() < table[names[1]].condition.max()


def test_rules_that_cannot_be_followed(five_bar: tuple) -> None:
    system, start = five_bar
    with pytest.raises(ArgumentError, match="oblique-projection"):
        f.LeastConditionRule("projection")
    with pytest.raises(ArgumentError, match="'motion', 'state'"):
        f.LeastConditionRule(over="run")
    with pytest.raises(ArgumentError, match="call the Python functions twice"):
        sr.simulate(
            system, start, duration=0.1, dt=1e-2, formulation=f.LeastConditionRule(), sample_time=0.05,
            control=lambda q, v, t: np.zeros(system.nu),
        )  # fmt: skip


def test_refusals() -> None:
    M, A = random_motion(0)
    cases = [
        (lambda: f.least_condition(M, A, "projection"), "parameterized-projection"),
        (lambda: f.least_condition(M[:2], A), "shapes"),
        (lambda: f.least_condition(M[:0], A[:0]), "shapes"),
        (lambda: f.least_condition(np.diag([0.0, 1.0]), [[0.0, 1.0]]), r"M\[0\] is not positive definite"),
        (lambda: f.least_condition(M, A, metric=np.eye(3)), "metric has shape"),
        (lambda: f.least_condition(M * np.nan, A), "M must be finite"),
    ]
    for call, text in cases:
        with pytest.raises(ArgumentError, match=text):
            call()
