"""What exported C says of open loops and of numbers that are too large: a status, and never NaN with OK."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from c_code import Compiled
from sarrus import Status, control
from sarrus.base.errors import SolveError

HUGE = (1e300, -1e300, 1e160)


def five_bar() -> tuple[sr.System, np.ndarray]:
    system = sr.System(sr.load("models/five_bar.xml"))
    assert system.mechanism is not None
    return system, np.array(system.assemble(system.mechanism.keyframes["symmetric"].q).q)


@pytest.fixture(scope="module")
def dynamics(tmp_path_factory: pytest.TempPathFactory) -> tuple[Compiled, np.ndarray]:
    system, q = five_bar()
    functions = ("forward_dynamics", "inverse_dynamics", "step")
    return Compiled(sr.export.c_code(system, tmp_path_factory.mktemp("c"), functions, q=q), system), q


@pytest.fixture(scope="module")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> tuple[Compiled, control.Law, np.ndarray]:
    system, q = five_bar()
    law = control.ProjectedInverseDynamics(system, ["left", "right"], [0.1, 0.2])
    return Compiled(sr.export.c_code(law, tmp_path_factory.mktemp("c"), q=q), system), law, q


def contact_system() -> sr.System:
    mechanism = sr.Mechanism("block", gravity=(0, 0, -9.81))
    mechanism.add_body("block", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("x", "prismatic", "world", "block", axis=(0, 0, 1))
    mechanism.add_contact("floor", "block", friction="coulomb", friction_coefficient=0.5)
    return sr.System(mechanism)


def test_open_loops_are_not_closed(dynamics: tuple[Compiled, np.ndarray]) -> None:
    """By the rule of `simulate`; forward dynamics gives the answer of the rows as they are, a step is not done."""
    code, closed = dynamics
    still, u = np.zeros(4), np.zeros(2)
    for step, status in (
        (0.0, Status.OK),
        (2e-6, Status.OK),
        (1e-4, Status.NOT_CLOSED),
        (0.3, Status.NOT_CLOSED),
    ):
        q = closed + step * np.eye(4)[0]
        found, expected = code.forward_dynamics(q, still), code.system.forward_dynamics(q, still, throw=False)
        assert (found.status, expected.status) == (status, status), step
        np.testing.assert_allclose(found.a, expected.a, rtol=1e-9, atol=1e-9)
        assert code.call("inverse_dynamics", q, still, found.a, 0.0, u) == status, step
        place, speed, t = q.copy(), still.copy(), np.zeros(1)
        assert code.call("step", place, speed, None, t, None, 1e-3) == status, step
        assert (t[0] == 0.0) == (status is Status.NOT_CLOSED)
        if status is Status.NOT_CLOSED:
            np.testing.assert_array_equal(place, q)


def test_laws_of_open_loops(tracking: tuple[Compiled, control.Law, np.ndarray]) -> None:
    """`solve` and C give u, and say NOT_CLOSED; a law that is called as a function takes what encoders may measure."""
    code, law, closed = tracking
    still, u = np.zeros(4), np.zeros(2)
    for step in (0.0, 2e-6, 1e-4, 0.3):
        q = closed + step * np.eye(4)[0]
        told = law.solve(q, still, throw=False)
        assert told.status is (Status.OK if step < 1e-5 else Status.NOT_CLOSED)
        if step < 1e-3:
            np.testing.assert_array_equal(law(q, still), told.u)
        else:
            with pytest.raises(
                SolveError, match=r"q leaves the loops open by .*\(row 'tips.x'\); close them"
            ):
                law(q, still)
        for name, more in (("law", ()), ("law_sample", (1e-3, None))):
            assert code.call(name, q, still, 0.0, *more, u) == told.status, (name, step)
            np.testing.assert_allclose(u, told.u, rtol=1e-9)


def test_a_law_goes_on_after_open_loops(tracking: tuple[Compiled, control.Law, np.ndarray]) -> None:
    _, law, closed = tracking
    before = law(closed, np.zeros(4))
    with pytest.raises(SolveError, match="open"):
        law(closed + 0.1, np.zeros(4))
    np.testing.assert_array_equal(law(closed, np.zeros(4)), before)


@pytest.mark.parametrize("huge", HUGE)
def test_huge_numbers_have_a_status(dynamics: tuple[Compiled, np.ndarray], huge: float) -> None:
    """Speeds whose squares are none are NOT_FINITE; whatever is OK has finite answers."""
    code, closed = dynamics
    nothing = {"q": closed, "v": np.zeros(4), "u": np.zeros(2), "tau": np.zeros(4)}
    for name in (*nothing, "t", "h"):
        given = {key: value.copy() for key, value in nothing.items()}
        if name in given:
            given[name][0] = huge
        t, h = np.array([huge if name == "t" else 0.0]), huge if name == "h" else 1e-3
        found = code.forward_dynamics(given["q"], given["v"], given["u"], float(t[0]), given["tau"])
        if name == "v":
            assert found.status is Status.NOT_FINITE
        answers = np.concatenate([found.a, found.constraint_force, found.multipliers])
        assert np.isfinite(answers).all() or found.status in (Status.NOT_FINITE, Status.ILL_POSED), name
        place, speed = given["q"].copy(), given["v"].copy()
        status = Status(code.call("step", place, speed, given["u"], t, given["tau"], h))
        assert np.isfinite([*place, *speed]).all(), name
        if name in ("v", "h"):
            assert status in (Status.NOT_FINITE, Status.PROJECTION_FAILED), (name, status)
            np.testing.assert_array_equal(place, given["q"])
        u, a = np.full(2, 5.0), found.a if np.isfinite(found.a).all() else np.zeros(4)
        status = Status(code.call("inverse_dynamics", given["q"], given["v"], a, float(t[0]), u))
        assert np.isfinite(u).all(), name
        if name == "v":
            assert status is Status.NOT_FINITE
            np.testing.assert_array_equal(u, 5.0)


@pytest.mark.parametrize("huge", HUGE)
def test_laws_at_huge_numbers(tracking: tuple[Compiled, control.Law, np.ndarray], huge: float) -> None:
    code, _, closed = tracking
    for name, k in product(("q", "v"), range(4)):
        q, v, u = closed.copy(), np.zeros(4), np.full(2, 5.0)
        (q if name == "q" else v)[k] = huge
        status = Status(code.call("law", q, v, 0.0, u))
        assert np.isfinite(u).all()
        assert status is (Status.NOT_CLOSED if name == "q" else Status.NOT_FINITE), (name, k)
        if name == "v":
            np.testing.assert_array_equal(u, 5.0)


@pytest.mark.parametrize("huge", HUGE)
def test_contact_steps_at_huge_numbers(tmp_path: Path, huge: float) -> None:
    system = contact_system()
    code = Compiled(sr.export.c_code(system, tmp_path, "contact_step"), system)
    for name in ("q", "v", "tau", "t", "h"):
        given = {key: np.array([huge if key == name else 0.0]) for key in ("q", "v", "tau", "t")}
        place, speed, forces = given["q"].copy(), given["v"].copy(), np.zeros(3)
        h = huge if name == "h" else 1e-3
        status = Status(code.call("contact_step", place, speed, None, given["t"], given["tau"], h, forces))
        assert np.isfinite([*place, *speed, *forces]).all() or status is not Status.OK, name
        if name == "h":
            assert status is not Status.OK
            np.testing.assert_array_equal(place, given["q"])
