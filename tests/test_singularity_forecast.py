"""What comes of a motion that nears a singular configuration, told before: closed forms, families, and live in runs."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from conftest import load_example
from families.near_singular_motions import cases, outcome
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.runs.cli.main import main
from scaled import scaled, scales
from test_singular import Parallelogram, RedundantParallelArm

LONG = 1.5  # rod of the driven slider-crank, whose crank is 1 m


def near_miss(rod: float) -> tuple[sr.System, Array, Array]:
    """Return a slider-crank with a rod that much as long as the crank, swinging up."""
    system = sr.System(load_example("slider_crank").build(rod))
    q = system.assemble([1.1, -2.2], locked=["crank"]).q
    return system, q, system.project_velocity(q, [3.6, -7.2])


# --- passing and turning back --------------------------------------------------------------------------


@pytest.mark.parametrize("rod", [1.002, 1.0001, 0.99])
def test_a_slider_crank_turns_back(rod: float) -> None:
    """The gap is what rod and crank differ by; time, distance and spike come true, the better the nearer."""
    system, q, v = near_miss(rod)
    run = sr.simulate(system, q, v, duration=0.2, rtol=1e-11, atol=1e-13, dt=2e-5)
    least = int(np.argmin(run.smallest_singular_value))
    for before, allowed in ((0.05, 0.02), (0.02, 0.005), (0.01, 0.003)):
        k = least - round(before / 2e-5)
        found = sr.forecast_singularity(system, run.q[k], run.v[k])
        assert found.outcome == "turns back"
        assert found.closures == ("slider",)
        assert found.gap == pytest.approx((1.0 - rod) / system.characteristic.length, abs=1e-13)
        assert found.sigma == pytest.approx(run.smallest_singular_value[k], rel=1e-9)
        assert found.rate == pytest.approx(run.singular_value_rate[k], rel=1e-9)
        assert found.time == pytest.approx(before, rel=allowed, abs=4e-5)
        assert found.least == pytest.approx(run.smallest_singular_value[least], rel=5e-3)
        assert found.spike == pytest.approx(np.nanmax(run.spike_acceleration), rel=5 * allowed)
        assert "turns back from a singular configuration of 'slider' in" in str(found)
    later = sr.forecast_singularity(system, run.q[least + 500], run.v[least + 500])
    assert later.outcome == "leads away"
    assert np.isnan(later.time)


def passing() -> dict[str, tuple[sr.System, Array, Array]]:
    """Return motions that go through, by name."""
    five_bar = sr.System(sr.load("models/five_bar.xml"))
    fall = sr.simulate(
        five_bar, five_bar.mechanism.keyframes["symmetric"].q, duration=0.6, rtol=1e-11, atol=1e-13
    )
    flat, doubled = Parallelogram(), RedundantParallelArm()
    return {
        "slider-crank": near_miss(1.0),
        "five-bar": (five_bar, fall.q[-1], fall.v[-1]),
        "parallelogram": (sr.System(flat.build()), *flat.state(-0.1)),
        "redundant": (sr.System(doubled.build()), *doubled.state(-0.1)),
    }


@pytest.mark.parametrize("name", ["slider-crank", "five-bar", "parallelogram", "redundant"])
def test_a_motion_passes_when_it_is_told_to(name: str) -> None:
    system, q, v = passing()[name]
    run = sr.simulate(system, q, v, duration=0.25, rtol=1e-11, atol=1e-13)
    (passage,) = run.passages[:1]
    assert passage.crossed
    found = sr.forecast_singularity(system, q, v)
    assert found.outcome == "passes"
    assert abs(found.gap) < 1e-13
    assert found.least == 0.0
    assert found.time == pytest.approx(passage.time, rel=0.05)
    assert "passes a singular configuration of" in str(found)


def test_a_motion_of_two_freedoms_goes_round_the_tip_of_a_cone() -> None:
    """The branches of the five-bar cross (the gap is zero), and a motion that is not symmetric still misses the tip."""
    system = sr.System(sr.load("models/five_bar.xml"))
    q = system.mechanism.keyframes["symmetric"].q
    q = system.assemble(q + np.array([1e-2, 0, 0, 0]), locked=["left"]).q
    run = sr.simulate(system, q, duration=0.7, rtol=1e-11, atol=1e-13, dt=1e-4)
    least = int(np.argmin(run.smallest_singular_value))
    for before, allowed in ((0.05, 5e-3), (0.01, 1e-3)):
        k = least - round(before / 1e-4)
        found = sr.forecast_singularity(system, run.q[k], run.v[k])
        assert found.outcome == "turns back"
        assert abs(found.gap) < 1e-12
        assert found.least == pytest.approx(run.smallest_singular_value[least], rel=allowed)
        assert found.spike == pytest.approx(
            run.spike_acceleration[least - 200 : least + 200].max(), rel=5 * allowed
        )


def test_four_bars_at_random() -> None:
    """Passing and turning back, all kinds of flat poses: ``tests/families/near_singular_motions.py`` runs more."""
    found = [outcome(case) for case in cases(40)]
    assert [what for what, _ in found] == 40 * ["right"]


def test_metres_and_millimetres_agree() -> None:
    system, q, v = near_miss(1.002)
    small = sr.System(scaled(system, 1000.0))
    places, speeds = scales(system, 1000.0)
    one, other = sr.forecast_singularity(system, q, v), sr.forecast_singularity(small, places * q, speeds * v)
    for name in ("time", "sigma", "rate", "least", "spike", "gap"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-8)


# --- dead centres --------------------------------------------------------------------------------------


@lru_cache
def driven(kind: str) -> sr.System:
    """Return a slider-crank whose slider is driven; rod and crank by absolute angles."""
    courses = {
        "out": lambda t: 2.4 + 0.2 * t,
        "in": lambda t: 0.6 - 0.2 * t,
        "past": lambda t: 2.49 + 0.02 * ca.sin(t),
        "short": lambda t: 2.4 + 0.095 * ca.sin(t),
    }
    course = courses[kind]
    return sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        holonomic=lambda q, t: ca.vertcat(
            ca.sin(q[0]) + LONG * ca.sin(q[1]), ca.cos(q[0]) + LONG * ca.cos(q[1]) - course(t)
        ),
        name="press",
    )


def at_slider(system: sr.System, x: float, rate: float, t: float) -> tuple[Array, Array]:
    """Return the state in which the slider is at x, by the cosine rule."""
    crank = np.arccos((1 + x**2 - LONG**2) / (2 * x))
    rod = np.arctan2(-np.sin(crank), x - np.cos(crank))
    q = np.array([crank, rod])
    return q, np.linalg.solve(system.constraint_jacobian(q, None, t), [0.0, rate])


@pytest.mark.parametrize(("kind", "ends"), [("out", 0.5), ("in", 0.5), ("past", float(np.arcsin(0.5)))])
def test_a_driven_slider_locks_up_at_its_dead_centre(kind: str, ends: float) -> None:
    """Where |x| = rod ± crank, at the time that the drive is there; the run ends there, too."""
    system = driven(kind)
    courses = {"out": (2.4, 0.2), "in": (0.6, -0.2)}
    for t in (0.0, 0.2, 0.45):
        if kind in courses:
            x, rate = courses[kind][0] + courses[kind][1] * t, courses[kind][1]
        else:
            x, rate = 2.49 + 0.02 * np.sin(t), 0.02 * np.cos(t)
        found = sr.forecast_singularity(system, *at_slider(system, x, rate, t), t=t)
        assert found.outcome == "locks up"
        assert t + found.time == pytest.approx(ends, abs=1e-6)
        assert (found.least, found.spike) == (0.0, np.inf)
        assert "locks up at a dead centre" in str(found)
    q, v = at_slider(
        system, *((courses[kind][0], courses[kind][1]) if kind in courses else (2.49, 0.02)), 0.0
    )
    run = sr.simulate(system, q, v, duration=1.0, throw=False)
    assert not run.status.complete
    assert run.t[-1] == pytest.approx(ends, abs=1e-3)


def test_a_drive_that_stops_short_of_the_dead_centre_does_not_lock_up() -> None:
    """x comes to 2.495 at π/2 and goes back: the function of time is asked, not its slope now."""
    system = driven("short")
    crank = np.arccos((1 + 2.495**2 - LONG**2) / (2 * 2.495))
    rod = np.arctan2(-np.sin(crank), 2.495 - np.cos(crank))
    least = np.linalg.svd(system.constraint_jacobian([crank, rod], None, np.pi / 2))[1][-1]
    for t in (0.0, 0.5, 1.2):
        found = sr.forecast_singularity(
            system, *at_slider(system, 2.4 + 0.095 * np.sin(t), 0.095 * np.cos(t), t), t=t
        )
        assert found.outcome == "turns back"
        assert t + found.time == pytest.approx(np.pi / 2, abs=1e-3)
        assert found.least == pytest.approx(least, rel=5e-3)


# --- what it does not know -----------------------------------------------------------------------------


def test_where_it_is_undecided() -> None:
    system, q, v = near_miss(1.0)
    crossing = sr.forecast_singularity(system, [np.pi / 2, -np.pi], [1.0, -2.0])
    assert (crossing.outcome, crossing.reason) == ("undecided", "this is a singular configuration")
    assert "is undecided: this is" in str(crossing)
    rubbing = load_example("slider_crank").build()
    rubbing.add_body("wheel", 1.0, inertia=(0.1, 0.1, 0.1))
    rubbing.add_joint("bearing", "revolute", "world", "wheel", axis=(0, 0, 1), friction=0.2)
    found = sr.forecast_singularity(sr.System(rubbing), [*q, 0.0], [*v, 0.0])
    assert found.outcome == "undecided"
    assert found.reason.startswith("contacts, stops or dry friction act")


def test_bad_arguments() -> None:
    system, q, v = near_miss(1.002)
    free = sr.System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: v[0] ** 2)
    with pytest.raises(ArgumentError, match="forecast_singularity needs constraints"):
        sr.forecast_singularity(free, [0.0], [1.0])
    sleigh = sr.System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v), velocity=lambda q, v, t: v[0] - q[1] * v[1]
    )
    for call in (
        lambda: sr.forecast_singularity(sleigh, [0.0, 0.0], [0.0, 1.0]),
        lambda: sr.simulate(sleigh, [0.0, 0.0], [0.0, 1.0], duration=0.1, watch=0.1),
    ):
        with pytest.raises(ArgumentError, match=r"needs holonomic rows only, and .* is a row on velocities"):
            call()
    with pytest.raises(ArgumentError, match="v"):
        sr.forecast_singularity(system, q, [1.0])
    with pytest.raises(ArgumentError):
        sr.forecast_singularity(system, q + 0.1, v)
    for bad, message in (
        (-1.0, "within must be a positive number, got -1.0"),
        ("near", "watch must be a bound of the smallest singular value or a SingularityWatch, got 'near'"),
        (True, "watch must be a bound"),
    ):
        with pytest.raises(ArgumentError, match=message):
            sr.simulate(system, q, v, duration=0.1, watch=bad)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="call must be a function of"):
        sr.SingularityWatch(call=3)  # type: ignore[arg-type]


# --- live ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"dt": 1e-3}, {}, {"rtol": 1e-10}, {"method": "rodas5p"}, {"dt": 1e-3, "method": "moreau-jean"},
        {"dt": 2e-3, "formulation": "null-space"}, {"dt": 2e-3, "coordinates": "partition"},
        {"dt": 1e-3, "control": lambda q, v, t: [0.0]}, {"dt": 1e-3, "every": None},
    ],
    ids=lambda options: "-".join(options) or "default",
)  # fmt: skip
def test_a_run_warns_on_the_way_and_takes_the_same_steps(options: dict[str, Any]) -> None:
    mechanism = load_example("slider_crank").build(1.002)
    mechanism.add_actuator("motor", "crank")
    system = sr.System(mechanism)
    _, q, v = near_miss(1.002)
    told: list[tuple[float, sr.SingularityForecast]] = []
    plain = sr.simulate(system, q, v, duration=0.3, **options)
    watch = sr.SingularityWatch(0.4, call=lambda t, forecast: told.append((t, forecast)))
    with pytest.warns(
        sr.SingularityWarning, match=r"slider_crank: at t = 0\.\d+ s near a singular .*turns back"
    ):
        watched = sr.simulate(system, q, v, duration=0.3, watch=watch, **options)
    np.testing.assert_array_equal(watched.q, plain.q)
    ((time, forecast),) = told
    assert forecast.sigma < 0.4
    turn = sr.simulate(system, q, v, duration=0.3, rtol=1e-10, dt=1e-4)
    nearest = turn.t[np.argmin(turn.smallest_singular_value)]
    assert time < nearest
    assert time + forecast.time == pytest.approx(nearest, abs=2e-3)
    (event,) = [event for event in watched.events if event not in plain.events]
    assert event.time == time
    assert event.name.startswith("near a singular configuration (σ = ")
    assert not event.terminal


def test_it_warns_at_every_approach_and_not_where_it_stays_away() -> None:
    system, q, v = near_miss(1.002)
    with pytest.warns(sr.SingularityWarning) as found:
        run = sr.simulate(system, q, v, duration=2.0, dt=1e-3, watch=0.3)
    sigma = run.smallest_singular_value
    falls = np.count_nonzero((sigma[:-1] >= 0.3) & (sigma[1:] < 0.3))
    assert len(found) == falls == len(run.events) > 2
    for event in run.events:
        k = int(np.searchsorted(run.t, event.time - 1e-9))
        assert sigma[k] < 0.3 < sigma[k - 20]
    with warnings.catch_warnings():
        warnings.simplefilter("error", sr.SingularityWarning)
        assert not sr.simulate(system, q, v, duration=0.3, dt=1e-3, watch=0.05).events


def test_the_command_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", sr.SingularityWarning)
        assert main(["simulate", "models/five_bar.xml", "--duration", "0.7", "--watch", "0.5"]) == 0
    told = capsys.readouterr().err
    assert "warning: at t = 0.6" in told
    assert (
        "near a singular configuration; the motion passes a singular configuration of 'tips' in 0.0" in told
    )


def test_a_dead_centre_is_told_before_the_run_ends() -> None:
    system = driven("out")
    q, v = at_slider(system, 2.4, 0.2, 0.0)
    with pytest.warns(sr.SingularityWarning, match="locks up at a dead centre"):
        run = sr.simulate(system, q, v, duration=1.0, dt=1e-3, watch=0.3, throw=False)
    assert run.events[0].time < 0.4
    assert not run.status.complete


@pytest.mark.parametrize("dt", [1e-3, 5e-4])
def test_fixed_steps_by_the_indicator(dt: float) -> None:
    """A rod 10 µm too long: halved steps at the spike keep the energy, half as many more, and the grid stays."""
    system, q, v = near_miss(1.00001)
    options: dict[str, Any] = {"duration": 0.6, "dt": dt, "error_estimate": False}
    plain = sr.simulate(system, q, v, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.SingularityWarning)
        finer = sr.simulate(system, q, v, watch=sr.SingularityWatch(0.5, part=0.05), **options)
        through = sr.simulate(*near_miss(1.0), watch=sr.SingularityWatch(0.5, part=0.05), **options)
        adaptive = sr.simulate(
            system, q, v, duration=0.6, rtol=1e-6, watch=sr.SingularityWatch(0.5, part=0.2)
        )
    assert plain.energy_drift > 0.1
    assert finer.energy_drift < 1e-5
    assert finer.steps < plain.steps + 400
    grid = np.arange(round(0.6 / dt) + 1) * dt
    assert np.abs(finer.t[np.searchsorted(finer.t, grid - 1e-9)] - grid).max() < 1e-12
    assert np.diff(finer.t).min() < dt / 16
    assert len(through.t) == len(grid)  # where it passes, short steps would come nearer
    alone = sr.simulate(system, q, v, duration=0.6, rtol=1e-6)
    assert adaptive.steps > alone.steps
    assert adaptive.energy_drift < 0.1 * alone.energy_drift
