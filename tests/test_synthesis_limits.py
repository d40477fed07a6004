"""What limits designs: constraints, what does not close, what cannot be reached, and bad input."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from four_bars import ANGLES, DRIVES, LENGTHS, POINT, four_bar, guess, points
from sarrus import synthesis as sy


def test_a_peak_is_as_low_as_a_fine_grid_finds() -> None:
    at = sy.sweep({"crank": np.linspace(0.0, 6.0, 13)}, rates={"crank": 20.0}, guess=guess(0.0))
    made = sy.Problem(
        four_bar(), {"x": "rocker.com.x"}, [sy.peak_drive_force("crank", at)], bounds={"x": (-0.2, 0.2)}
    )
    design = made.solve()
    assert design.status is sr.Status.OK
    grid = [made.evaluate({"x": x}).cost for x in np.linspace(-0.2, 0.2, 81)]
    assert design.cost <= min(grid) + 1e-9
    assert design.cost == pytest.approx(design.goals["peak force of crank"])


def test_a_clearance_keeps_away_from_what_does_not_close() -> None:
    """The shortest coupler: without clearance the search ends at the edge of what closes, with it at the margin."""
    at = sy.sweep({"crank": [2.5, 3.0]}, guess=guess(2.5))
    shortest = sy.cost(lambda s: s.parameters["b"], at, name="length")
    free = sy.Problem(four_bar(), {"b": DRIVES["b"]}, [shortest]).solve()
    edge = float(abs(LENGTHS["g"] - LENGTHS["a"] * np.exp(3.0j))) - LENGTHS["c"]
    assert free.status is sr.Status.ALMOST
    assert "beyond it condition" in free.reason
    assert free.parameters["b"] > edge
    kept = sy.Problem(four_bar(), {"b": DRIVES["b"]}, [shortest], constraints=[sy.clearance(at, 0.2)])
    design = kept.solve()
    assert design.status is sr.Status.OK
    margins = kept.evaluation.at(np.array([design.parameters["b"]])).margins[0]
    assert margins.min() == pytest.approx(0.2, abs=1e-8)


def test_limits_of_an_expression_are_kept() -> None:
    at = sy.sweep({"crank": ANGLES}, guess=guess(ANGLES[0]))
    high = sy.between(lambda s: s.position("coupler", POINT)[1], at, upper=0.28, name="height")
    far = sy.cost(lambda s: s.parameters["b"], at[0], name="length")
    design = sy.Problem(four_bar(), {"b": DRIVES["b"]}, [far, high]).solve()
    assert design.status is sr.Status.OK
    assert max(
        float(sr.System(design.mechanism).jacobian(q, body="coupler", point=POINT).position[1])
        for q in design.q
    ) == (pytest.approx(0.28, abs=1e-8))


def test_points_out_of_reach_are_a_status() -> None:
    at = sy.sweep({"crank": ANGLES}, guess=guess(ANGLES[0]))
    made = sy.Problem(
        four_bar(),
        DRIVES,
        [sy.point("coupler", POINT, points() + np.array([5.0, 0.0]), at, axes="xy")],
        bounds=dict.fromkeys(DRIVES, (0.05, 0.6)),
    )
    design = made.solve()
    assert not design.success
    assert "point of coupler" in design.reason
    assert "condition" in design.reason
    assert design.status in (sr.Status.NOT_ACHIEVABLE, sr.Status.ALMOST)
    assert np.isfinite(design.cost)
    assert design.cost < design.start_cost


def test_a_start_that_does_not_close_is_restored() -> None:
    """A rocker that is too short to reach the coupler; the points are those of the linkage that closes."""
    short = {**LENGTHS, "c": 0.05, "b": 0.1}
    at = [sy.Configuration({"crank": x}, guess=guess(x)) for x in ANGLES]
    goals = [sy.point("coupler", POINT, points(), at, axes="xy")]
    design = sy.Problem(four_bar(short), DRIVES, goals, bounds=dict.fromkeys(DRIVES, (0.04, 0.6))).solve()
    assert design.start_cost is None
    assert design.status is sr.Status.OK
    assert design.cost < 1e-20


def test_what_never_closes_is_a_status() -> None:
    short = {**LENGTHS, "c": 0.05, "b": 0.1}
    at = sy.sweep({"crank": ANGLES}, guess=guess(ANGLES[0]))
    goals = [sy.point("coupler", POINT, points(), at, axes="xy")]
    made = sy.Problem(four_bar(short), {"c": DRIVES["c"]}, goals, bounds={"c": (0.01, 0.06)})
    design = made.solve(starts=2)
    assert design.status is sr.Status.NOT_CLOSED
    assert "condition 0" in design.reason
    assert design.cost == np.inf
    assert not design.q
    with pytest.raises(sr.SolveError, match="condition 0 does not close"):
        made.evaluate()


def test_numbers_that_are_none_are_a_status_or_an_error() -> None:
    at = sy.Configuration({"crank": 1.0}, guess=guess(1.0))
    nothing = sy.cost(lambda s: ca.sqrt(s.parameters["a"] - 1.0), at, name="root")
    design = sy.Problem(four_bar(), DRIVES, [nothing]).solve()
    assert design.status is sr.Status.NOT_FINITE
    assert "root" in design.reason
    steep = sy.cost(lambda s: ca.sqrt(s.parameters["a"] - 0.1), at, name="root")
    with pytest.raises(sr.SolveError, match="'root' has no finite derivative"):
        sy.Problem(four_bar(), DRIVES, [steep]).evaluate()


def test_redundant_closures_that_cannot_follow_are_named() -> None:
    at = sy.Configuration({"crank": 1.0}, guess=guess(1.0))
    drives = {"a": DRIVES["a"], "z": "coupler.placement.z"}
    made = sy.Problem(four_bar(), drives, [sy.squares(lambda s: s.coordinate("rocker") - 1.0, at)])
    with pytest.raises(sr.SolveError, match="redundant closures cannot follow 'z'"):
        made.solve()


def test_multipliers_that_are_not_determined_are_named() -> None:
    at = sy.Configuration({"crank": 1.0}, guess=guess(1.0))
    made = four_bar(closure="revolute")
    made.add_closure(
        "again", "revolute", "coupler", "rocker", pose1=(LENGTHS["b"], 0, 0), pose2=(LENGTHS["c"], 0, 0)
    )
    shared = sy.squares(lambda s: s.multipliers[0], at, name="share")
    with pytest.raises(sr.ArgumentError, match=r"'share' depends on the multiplier of 'pin\.x'"):
        sy.Problem(made, {"m": "rocker.mass"}, [shared]).evaluate()


CRANK = sy.Configuration({"crank": 1.0}, guess=guess(1.0))
REACH = sy.point("coupler", POINT, [0.1, 0.2], CRANK, axes="xy")


@pytest.mark.parametrize(
    ("message", "arguments", "options"),
    [
        ("unknown number 'crank.length'", ({"a": "crank.length"}, [REACH]), {}),
        ("unknown variable 'd'", (DRIVES, [REACH]), {"bounds": {"d": (0.0, 1.0)}}),
        ("lower < upper", (DRIVES, [REACH]), {"bounds": {"a": (1.0, 0.0)}}),
        ("'a' starts at 0.1, outside its bounds", (DRIVES, [REACH]), {"bounds": {"a": (0.2, 1.0)}}),
        ("mass of body 'crank' could be -1", ({"m": "crank.mass"}, [REACH]), {"bounds": {"m": (-1.0, 1.0)}}),
        ("the scale of 'a' must be positive", (DRIVES, [REACH]), {"scales": {"a": 0.0}}),
        ("needs parameters", ({}, [REACH]), {}),
        ("goals must be one or more", (DRIVES, []), {}),
        ("unknown variable 'z'", (DRIVES, [REACH]), {"constraints": [sy.linear({"z": 1.0}, equal=0.0)]}),
        ("limits alone", (DRIVES, [sy.between(lambda s: s.q[0], CRANK, 0.0, 1.0)]), {}),
        ("unknown body 'cupler'", (DRIVES, [sy.point("cupler", POINT, [0, 0, 0], CRANK)]), {}),
        ("'rocker' is no driver", (DRIVES, [sy.drive_force("rocker", CRANK)]), {}),
        (
            "unknown driver 'krank'",
            (DRIVES, [sy.squares(lambda s: s.q, sy.Configuration({"krank": 1.0}))]),
            {},
        ),
    ],
)
def test_bad_input_is_named(message: str, arguments: tuple, options: dict) -> None:
    with pytest.raises(sr.ArgumentError, match=message):
        sy.Problem(four_bar(), *arguments, **options)


def test_bad_goals_are_named() -> None:
    with pytest.raises(sr.ArgumentError, match="needs 1 × 2 finite numbers"):
        sy.point("coupler", POINT, [np.nan, 0.0], CRANK, axes="xy")
    with pytest.raises(sr.ArgumentError, match="weight must be a positive number"):
        sy.shaking_force(CRANK, weight=-1.0)
    with pytest.raises(sr.ArgumentError, match='letters of "xyz"'):
        sy.point("coupler", POINT, [0.0], CRANK, axes="w")
    with pytest.raises(sr.ArgumentError, match="at must be a Configuration"):
        sy.cost(lambda s: s.q[0], [])
    with pytest.raises(sr.ArgumentError, match="least must be a positive number"):
        sy.clearance(CRANK, 0.0)
    with pytest.raises(sr.ArgumentError, match="without any it is no constraint"):
        sy.linear({"a": 1.0})
    with pytest.raises(sr.ArgumentError, match="one number or 2"):
        sy.sweep({"crank": [0.0, 1.0]}, rates={"crank": [1.0, 2.0, 3.0]})


def test_drivers_that_leave_a_motion_are_a_status() -> None:
    arm = sr.Mechanism("arm")
    for name, parent in (("upper", "world"), ("fore", "upper")):
        arm.add_body(name, 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01))
        arm.add_joint(name, "revolute", parent, name)
    at = sy.Configuration({"upper": 0.1})
    made = sy.Problem(arm, {"l": "fore.placement.x"}, [sy.squares(lambda s: s.position("fore"), at)])
    design = made.solve()
    assert design.status is sr.Status.NOT_CLOSED
    assert "leave a degree of freedom" in design.reason


def test_numbers_without_bounds_stay_what_a_description_may_have() -> None:
    """The lightest crank: a mass is not negative, and the search ends at zero."""
    at = sy.sweep({"crank": [0.5, 1.0]}, guess=guess(0.5))
    light = sy.cost(lambda s: s.parameters["m"], at[0], name="mass")
    design = sy.Problem(four_bar(), {"m": "crank.mass"}, [light]).solve()
    assert design.status is sr.Status.OK
    assert design.active == ("m",)
    assert design.parameters["m"] == 0.0


def test_few_iterations_are_no_minimum() -> None:
    at = sy.sweep({"crank": ANGLES}, guess=guess(ANGLES[0]))
    far = sy.point("coupler", POINT, points() * 1.1, at, axes="xy")
    design = sy.Problem(four_bar(), DRIVES, [far]).solve(iterations=2)
    assert design.status is sr.Status.NOT_CONVERGED
    assert not design.success


def test_points_are_found_under_a_relation_of_lengths() -> None:
    """The relation that the linkage of the points has: quadratic programming comes as near as it can tell."""
    near = {"a": 0.105, "b": 0.29, "c": 0.29 / 1.2, "g": 0.325}
    at = sy.sweep({"crank": ANGLES}, guess=guess(ANGLES[0], near))
    goal = sy.point("coupler", POINT, points(), at, axes="xy")
    relation = sy.linear({"b": 1.0, "c": -1.2}, equal=0.0)
    order = sy.linear({"g": 1.0, "a": -1.0}, lower=0.1)
    design = sy.Problem(four_bar(near), DRIVES, [goal], constraints=[relation, order]).solve()
    assert design.status is sr.Status.OK
    assert np.allclose([design.parameters[name] for name in "abcg"], list(LENGTHS.values()), atol=1e-7)
    assert design.parameters["b"] == pytest.approx(1.2 * design.parameters["c"], rel=1e-10)
