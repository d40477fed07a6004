"""What begins after a rest is not stepped over: pulses, ramps, bumps, peaks, by functions of time of every kind."""

import sys
from itertools import pairwise
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import sarrus as sr
from sarrus.motion.inputs.time_breaks import find_breaks
from sarrus.motion.inputs.time_course import course_of
from sarrus.motion.inputs.time_program import time_program

sys.path.insert(0, str(Path(__file__).parent / "families"))
import inputs_after_rests as family

STIFFNESS, DAMPING = 40.0, 0.5


def oscillator(**more):
    mechanism = sr.Mechanism("oscillator", gravity=(0, 0, 0))
    mechanism.add_body("mass", mass=1.0, inertia=(1, 1, 1))
    mechanism.add_joint(
        "slide", "prismatic", "world", "mass", axis=(1, 0, 0), stiffness=STIFFNESS, damping=DAMPING, **more
    )
    return mechanism


def gate(t, begin=4.0, end=4.02):
    return ca.if_else(ca.logic_and(t >= begin, t < end), 1.0, 0.0)


def kicked(force=400.0, begin=4.0, end=4.02, until=6.0, damping=DAMPING):
    """Return q of 1 kg on 40 N/m with 0.5 N s/m after a constant force between two times, at rest before."""
    a = np.array([[0.0, 1.0, 0.0], [-STIFFNESS, -damping, force], [0.0, 0.0, 0.0]])
    state = (expm(a * (end - begin)) @ [0.0, 0.0, 1.0])[:2]
    return (expm(a[:2, :2] * (until - end)) @ state)[0]


@pytest.fixture(scope="module")
def system():
    mechanism = oscillator()
    mechanism.add_actuator("push", "slide")
    return sr.System(mechanism)


@pytest.mark.parametrize("method", [None, "dop853", "dopri5", "rodas4", "rodas5p"])
def test_a_kick_of_20_ms_after_4_s(system, method):
    run = sr.simulate(system, [0.0], duration=6.0, force=lambda q, v, t: 400.0 * gate(t), method=method)
    assert kicked() == pytest.approx(0.0073884, abs=1e-7)
    assert run.q[-1, 0] == pytest.approx(kicked(), abs=2e-8)
    assert 0.0 < run.error[-1] < 1e-6


def test_a_kick_of_an_actuator_in_local_coordinates_and_in_many_runs(system):
    def control(q, v, t):
        return 400.0 * gate(t)

    one = sr.simulate(system, [0.0], duration=6.0, control=control, coordinates="partition")
    assert one.q[-1, 0] == pytest.approx(kicked(), abs=2e-8)
    many = sr.rollout(system, [[0.0]], duration=6.0, control=control, method="dop853")
    assert many.final_q[0, 0] == pytest.approx(kicked(), abs=2e-8)


def test_many_runs_have_the_breaks_of_all_their_parameters():
    mechanism = oscillator()
    mechanism.add_actuator("push", "slide")
    system = sr.System(mechanism, {"d": "slide.damping"})
    begin = 8.0 * system.equations.p[list(system.parameters).index("d")]
    values = [0.125, 0.5, 0.6]
    found = sr.rollout(
        system, [[0.0]] * 3, duration=6.0, method="dop853", rtol=1e-10, parameters={"d": values},
        control=lambda q, v, t: 400.0 * gate(t, begin, begin + 0.02),
    )  # fmt: skip
    expected = [kicked(begin=8.0 * d, end=8.0 * d + 0.02, damping=d) for d in values]
    assert found.final_q[:, 0] == pytest.approx(expected, abs=2e-8)


def test_records_are_on_both_sides_of_a_break(system):
    run = sr.simulate(system, [0.0], duration=6.0, control=lambda q, v, t: 400.0 * gate(t), method="dop853")
    for time in (4.0, 4.02):
        sides = np.flatnonzero(np.abs(run.t - time) < 1e-12)
        assert len(sides) == 2
        assert sorted(run.u[sides, 0]) == [0.0, 400.0]


def test_smooth_peaks_of_any_width(system):
    for width in (1e-4, 3e-3, 0.05):
        run = sr.simulate(
            system, [0.0], duration=6.0, force=lambda q, v, t, w=width: ca.exp(-(((t - 4.0) / w) ** 2)) / w
        )
        # the response to the peak is its Fourier transform times that to an impulse
        root = -0.5 * DAMPING + 1j * np.sqrt(STIFFNESS - 0.25 * DAMPING**2)
        peak = np.sqrt(np.pi) * np.exp((0.5 * width * root) ** 2)
        assert run.q[-1, 0] == pytest.approx((peak * np.exp(2.0 * root)).imag / root.imag, abs=2e-8)


def test_edges_in_the_state_that_are_declared_end_steps():
    mechanism = sr.Mechanism("flight", gravity=(0, 0, 0))
    mechanism.add_body("mass", mass=1.0, inertia=(1, 1, 1))
    mechanism.add_joint("slide", "prismatic", "world", "mass", axis=(1, 0, 0))
    events = [sr.Event("in", lambda q, v, t: q - 4.0), sr.Event("out", lambda q, v, t: q - 4.02)]
    run = sr.simulate(
        sr.System(mechanism), [0.0], [1.0], duration=10.0, events=events,
        force=lambda q, v, t: ca.if_else(ca.logic_and(q > 4.0, q < 4.02), 100.0, 0.0),
    )  # fmt: skip
    assert run.v[-1, 0] == pytest.approx(np.sqrt(5.0), abs=1e-8)
    assert [event.name for event in run.events] == ["in", "out"]
    assert [event.time for event in run.events] == pytest.approx(
        [4.0, 4.0 + 0.01 * (np.sqrt(5.0) - 1.0)], abs=1e-9
    )


def test_a_square_wave_has_an_error_that_is_not_zero(system):
    run = sr.simulate(system, [0.0], duration=5.0, force=lambda q, v, t: 4.0 * ca.sign(ca.sin(50.0 * t)))
    a = np.array([[0.0, 1.0, 0.0], [-STIFFNESS, -DAMPING, 4.0], [0.0, 0.0, 0.0]])
    state, times = np.array([0.0, 0.0, 1.0]), [*np.arange(0.0, 5.0, np.pi / 50.0), 5.0]
    for begin, end in pairwise(times):
        state = expm(a * (end - begin)) @ state
        state[2] *= -1.0
    assert run.q[-1, 0] == pytest.approx(state[0], abs=1e-9)
    assert 0.0 < run.error[-1] < 1e-6


def test_rests_cost_no_steps_and_steady_sines_bound_none():
    t, q = ca.SX.sym("t"), ca.SX.sym("q")

    def rows(expression, end=10.0):
        program = time_program([expression + q], t, ca.SX(0, 1), (q,), "test")
        return course_of(program, np.zeros(0), 0.0, end, 0.25).rows

    assert len(rows(ca.sin(3.0 * t), 1e4)) == 1
    assert rows(ca.sin(3.0 * t))[0, 1] == pytest.approx(2.0 * np.pi / 3.0)  # a whole period
    burst = rows(ca.sin(1e4 * t) * gate(t))
    assert burst[0, 1] == np.inf
    assert burst[1, 1] < 1e-3
    assert burst[2, 1] == np.inf
    peak = rows(ca.exp(-(((t - 4.0) / 1e-6) ** 2)), 100.0)
    assert peak[0, 1] == np.inf
    assert peak[0, 0] == pytest.approx(4.0, abs=1e-4)
    assert peak[:, 1].min() < 1e-5
    assert len(peak) < 20


def test_too_many_breaks_for_many_runs_are_refused_and_single_runs_go_on(system):
    def control(q, v, t):
        return ca.sign(ca.sin(1e6 * t))

    with pytest.raises(sr.SarrusError, match="fixed steps"):
        sr.rollout(system, [[0.0]], duration=1.0, control=control, method="dop853")
    limits = sr.Stepping(max_steps=3000)
    run = sr.simulate(system, [0.0], duration=1.0, control=control, method=limits, throw=False)
    assert run.status.name == "STEP_LIMIT"


@pytest.mark.parametrize("number", range(10))
def test_random_schedules(number):
    verdict, error = family.run(**family.case(np.random.default_rng([7, number])))
    assert verdict != "wrong", error


def test_breaks_depend_on_parameters():
    t, p, q = ca.SX.sym("t"), ca.SX.sym("p", 2), ca.SX.sym("q")
    program = time_program([ca.fmax(0.0, t - p[1]) + p[0] * q], t, p, (q,), "test")
    assert program.uses == [1]
    assert find_breaks(program, np.array([0.0, 3.0]), 0.0, 10.0).times == pytest.approx([3.0])
