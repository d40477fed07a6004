"""Instants at which functions of time jump or have a kink are found from their expressions."""

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from sarrus.motion.inputs.time_breaks import find_breaks, time_breaks
from sarrus.motion.inputs.time_program import time_program

T, Q = ca.SX.sym("t"), ca.SX.sym("q")
TABLE = sr.Spline.through([1.0, 2.0, 4.0], [0.0, 1.0, 0.5], degree=1)
PULSE = ca.if_else(ca.logic_and(T >= 4.0, T < 4.02), 400.0, 0.0)
BUMP = ca.if_else(ca.logic_and(T >= 4.0, T < 4.02), 1.0 - ca.cos(100.0 * np.pi * (T - 4.0)), 0.0)


def breaks_of(expression, t0=0.0, t1=10.0):
    program = time_program([expression + Q], T, ca.SX(0, 1), (Q,), "test")
    return find_breaks(program, np.zeros(0), t0, t1)


@pytest.mark.parametrize(
    ("expression", "times", "order"),
    [
        (PULSE, [4.0, 4.02], [0, 0]),
        (BUMP, [4.0, 4.02], [2, 2]),
        (ca.fmax(0.0, T - 0.5), [0.5], [1]),
        (ca.fmin(T, 3.0), [3.0], [1]),
        (ca.fabs(T - 2.0), [2.0], [1]),
        (ca.sign(T - 7.0), [7.0], [0]),
        (ca.floor(T / 3.0), [3.0, 6.0, 9.0], [0, 0, 0]),
        (ca.ceil(T - 0.25), np.arange(10) + 0.25, [0] * 10),
        (ca.fmod(T, 4.0), [4.0, 8.0], [0, 0]),
        (ca.remainder(T, 4.0), [2.0, 6.0], [0, 0]),
        (TABLE(T), [2.0], [1]),
        (ca.if_else(T * T > 16.0, 1.0, 2.0), [4.0], [0]),
        (
            ca.if_else(ca.exp(T) > 50.0, ca.if_else(T + 1000.0 > 1005.0, 1.0, 2.0), 0.0),
            [np.log(50.0), 5.0],
            [0, 0],
        ),
        (ca.sign(ca.sin(T)), np.pi * np.arange(1, 4), [0] * 3),
        (ca.fabs(ca.cos(T)), np.pi * (np.arange(3) + 0.5), [1] * 3),
        (ca.atan(ca.tan(T)), np.pi * (np.arange(3) + 0.5), [0] * 3),
        (ca.atan2(ca.sin(T), ca.cos(T)), [np.pi, 3.0 * np.pi], [0, 0]),
        (ca.exp(-(T**2)), [], []),
        (ca.fmax(0.0, T - 1.0) * ca.if_else(T > 20.0, 1.0, 0.0), [], []),
    ],
)
def test_breaks_are_where_closed_forms_have_them(expression, times, order):
    found = breaks_of(expression, 1e-3, 9.9)
    assert found.times == pytest.approx(np.array(times), abs=1e-13)
    assert found.order.tolist() == list(order)
    assert (found.before < found.times).all()
    assert (found.times < found.after).all()
    assert (found.after - found.before < 1e-11).all()  # 1000 + t is rounded to as much


def test_a_rectified_cube_and_smooth_knots_are_no_breaks_but_their_curvature_may_be():
    assert len(breaks_of(ca.fmax(0.0, T - 1.0) ** 4).times) == 0
    assert breaks_of(ca.fmax(0.0, T - 1.0) ** 2).order.tolist() == [2]
    x = np.linspace(0.0, 10.0, 11)
    assert len(breaks_of(sr.Spline.through(x, np.sin(x), degree=5, ends="rest")(T), 0.5, 9.5).times) == 0


def test_many_breaks_come_in_turn():
    wave, time, times = ca.sign(ca.sin(500.0 * T)), 1e-4, []
    while time < 60.0:
        found = breaks_of(wave, time, 60.0)
        times += found.times.tolist()
        time = found.until
    assert np.array(times) == pytest.approx(np.pi * np.arange(1, len(times) + 1) / 500.0, abs=1e-12)
    assert len(times) == int(60.0 * 500.0 / np.pi)


def test_those_of_a_system_are_those_of_its_motions_and_forces():
    mechanism = sr.Mechanism("cart", gravity=(0, 0, 0))
    mechanism.add_body("cart", mass=1.0, inertia=(1, 1, 1))
    mechanism.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
    mechanism.add_spring_damper("pull", "world", "cart", stiffness=1.0, point1=(5, 0, 0))
    assert len(time_breaks(sr.System(mechanism), 0.0, 1.0)) == 0
    driven = sr.Mechanism("driven", gravity=(0, 0, 0))
    driven.add_body("cart", mass=1.0, inertia=(1, 1, 1))
    driven.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
    driven.add_coupling("drive", {"slide": 1.0}, motion=lambda t: ca.fmax(0.0, t - 0.5))
    assert time_breaks(sr.System(driven), 0.0, 1.0) == pytest.approx([0.5], abs=1e-15)
