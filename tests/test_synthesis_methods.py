"""Sequential quadratic programming and the interior point method find the same designs, and say the same of them."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from four_bars import ANGLES, DRIVES, LENGTHS, POINT, four_bar, guess, points
from sarrus import synthesis as sy

NEAR = {"a": 0.105, "b": 0.29, "c": 0.29 / 1.2, "g": 0.325}


def path(goal: sy.Goal | None = None, **options: object) -> sy.Problem:
    """Return the problem of five points, or another at the same angles."""
    at = sy.sweep({"crank": ANGLES}, guess=guess(ANGLES[0], NEAR))
    goals = [goal or sy.point("coupler", POINT, points(), at, axes="xy")]
    return sy.Problem(four_bar(NEAR, "revolute"), DRIVES, goals, **options)  # type: ignore[arg-type]


def peak() -> sy.Problem:
    """Return a problem of a peak with a limit and a clearance."""
    at = sy.sweep({"crank": np.linspace(0.0, 6.0, 9)}, rates={"crank": 20.0}, guess=guess(0.0))
    return sy.Problem(
        four_bar(),
        {"x": "rocker.com.x", "y": "rocker.com.y", "a": DRIVES["a"]},
        [
            sy.peak_drive_force("crank", at),
            sy.between(lambda s: s.shaking_force[0], at, -30.0, 30.0, name="force along x"),
        ],
        constraints=[sy.clearance(at, 0.1)],
        bounds={"x": (-0.2, 0.2), "y": (-0.2, 0.2), "a": (0.08, 0.12)},
    )


def related() -> sy.Problem:
    """Return five points with an equation and an inequality between lengths."""
    rows = [sy.linear({"b": 1.0, "c": -1.2}, equal=0.0), sy.linear({"g": 1.0, "a": -1.0}, lower=0.1)]
    return path(constraints=rows)


@pytest.mark.parametrize("make", [path, related, peak])
def test_ipopt_finds_what_slsqp_finds(make: Callable[[], sy.Problem], capfd: pytest.CaptureFixture) -> None:
    made = make()
    one, other = made.solve(method="slsqp"), made.solve(method="ipopt")
    assert one.status is other.status is sr.Status.OK
    assert other.cost == pytest.approx(one.cost, rel=1e-7, abs=1e-15)
    assert other.active == one.active
    for name, value in one.parameters.items():
        assert other.parameters[name] == pytest.approx(value, abs=1e-5 if make is peak else 1e-6)
    if make is not peak:
        assert np.allclose([other.parameters[n] for n in "abcg"], list(LENGTHS.values()), atol=1e-7)
    assert capfd.readouterr() == ("", "")


def test_the_edge_of_what_closes_is_no_minimum_for_ipopt_either() -> None:
    at = sy.sweep({"crank": [2.5, 3.0]}, guess=guess(2.5))
    shortest = sy.cost(lambda s: s.parameters["b"], at, name="length")
    design = sy.Problem(four_bar(), {"b": DRIVES["b"]}, [shortest]).solve(method="ipopt", iterations=40)
    edge = float(abs(LENGTHS["g"] - LENGTHS["a"] * np.exp(3.0j))) - LENGTHS["c"]
    assert design.status is sr.Status.ALMOST
    assert "beyond it condition" in design.reason
    assert edge < design.parameters["b"] < LENGTHS["b"]


def test_few_iterations_and_limits_that_cannot_be_kept_are_a_status() -> None:
    assert peak().solve(method="ipopt", iterations=2).status is sr.Status.NOT_CONVERGED
    at = sy.sweep({"crank": ANGLES}, guess=guess(ANGLES[0]))
    far = sy.between(lambda s: s.position("coupler", POINT)[0], at, lower=5.0, name="far")
    short = sy.cost(lambda s: s.parameters["b"], at[0], name="length")
    bounds = dict.fromkeys(DRIVES, (0.05, 0.6))
    design = sy.Problem(four_bar(), DRIVES, [short, far], bounds=bounds).solve(method="ipopt", iterations=30)
    assert design.status is sr.Status.NOT_ACHIEVABLE
    assert "violated" in design.reason


def test_errors_come_through_the_solver() -> None:
    """What our functions raise inside of IPOPT is raised, not taken for a design that does not close."""
    at = sy.Configuration({"crank": 1.0}, guess=guess(1.0))
    drives = {"a": DRIVES["a"], "z": "coupler.placement.z"}
    goal = sy.squares(lambda s: s.coordinate("rocker") - 1.0, at)
    with pytest.raises(sr.SolveError, match="redundant closures cannot follow 'z'"):
        sy.Problem(four_bar(), drives, [goal]).solve(method="ipopt")


def test_an_error_in_the_middle_of_a_search_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    made, count = path(), [0]
    gradient = made.program.gradient

    def failing(found: object) -> np.ndarray:
        count[0] += 1
        if count[0] == 4:
            raise sr.SolveError("broken on the way", element="way")
        return gradient(found)  # type: ignore[arg-type]

    monkeypatch.setattr(made.program, "gradient", failing)
    with pytest.raises(sr.SolveError, match="broken on the way"):
        made.solve(method="ipopt")
    assert count[0] == 4


def test_methods_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        sr.ArgumentError, match="method must be one of 'auto', 'slsqp', 'ipopt', got 'simplex'"
    ):
        path().solve(method="simplex")  # type: ignore[arg-type]
    monkeypatch.setattr(ca, "has_nlpsol", lambda name: False)
    with pytest.raises(sr.ArgumentError, match="needs a CasADi with IPOPT"):
        path().solve(method="ipopt")
