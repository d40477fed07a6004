"""Coupler curves, ranges and dead centres of linkages, against closed forms, cognates and straight-line figures."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sarrus as sr
from sarrus.base.arrays import Array
from test_references import planar_four_bar

Y = (0.0, 1.0, 0.0)


@cache
def four_bar(ground: float, crank: float, coupler: float, rocker: float) -> sr.System:
    """Return a four-bar in the x-z plane; a positive angle turns x towards z."""
    links = [(x, 1.0, x / 2, 0.01 * x * x) for x in (crank, coupler, rocker)]
    return sr.System(planar_four_bar(ground, links))


def circuits(system: sr.System, driven: str, values: list[float]) -> list[Array]:
    """Return the modes of assembly at the first of the values at which there are any."""
    for value in values:
        try:
            found = sr.assembly_modes(system, driven, value)
        except sr.SolveError:
            continue
        if len(found):
            return list(found.q)
    return []


def assembled(lengths: Array, angle: float, side: float) -> Array | None:
    """Return (driver, coupler relative, follower) of a four-bar in closed form, None where it does not close."""
    g, a, b, c = lengths
    pin = a * np.exp(1j * angle)
    line = g - pin
    d = abs(line)
    if not abs(b - c) < d < b + c:
        return None
    turn = np.arccos((b * b + d * d - c * c) / (2 * b * d))
    coupler = np.angle(line) + side * turn
    follower = np.angle(pin + b * np.exp(1j * coupler) - g)
    return np.array([angle, coupler - angle, follower])


def lengths_of(seed: int) -> Array:
    return np.random.default_rng(seed).uniform(0.3, 1.0, 4)


def range_of_driver(g: float, a: float, b: float, c: float) -> list[float]:
    """Return the angles of the driver in [0, π] where coupler and follower are in line (its dead centres)."""
    cosines = [(g * g + a * a - d * d) / (2 * g * a) for d in (abs(b - c), b + c)]
    return [float(np.arccos(x)) for x in cosines if abs(x) < 1.0]


@pytest.mark.parametrize("seed", [k for k in range(25) if k != 11])  # of 11 the change point is next
def test_ranges_of_random_four_bars(seed):
    """Grashof's rule, and the dead centres of driver and follower from triangles (in all eight classes)."""
    lengths = lengths_of(seed)
    g, a, b, c = lengths
    grashof = min(lengths) + max(lengths) < sum(lengths) / 2
    assert abs(min(lengths) + max(lengths) - sum(lengths) / 2) > 1e-3
    starts = (assembled(lengths, x, 1.0) for x in np.linspace(0.05, 3.1, 40))
    q = next(x for x in starts if x is not None)
    system = four_bar(g, a, b, c)
    curve = sr.follow_curve(system, system.assemble(q).q, "driver")
    assert curve.closed
    shortest = int(np.argmin(lengths))
    crank = grashof and shortest in (0, 1)
    assert curve.turns_of("driver") == int(crank)
    assert curve.turns_of("follower") == int(grashof and shortest in (0, 3))
    expected = range_of_driver(g, a, b, c)
    assert (len(expected) == 0) == crank
    found = [np.cos(point.value) for point in curve.turning_points]
    assert len(found) == (0 if crank else 2)
    for value in found:
        assert np.abs(np.cos(expected) - value).min() < 1e-10
    other = [np.cos(np.pi - point.value) for point in curve.turning_points_of("follower")]
    for value in other:
        assert np.abs(np.cos(range_of_driver(g, c, b, a)) - value).min() < 1e-10


def test_dead_centres_of_the_follower_have_crank_and_coupler_in_line():
    curve = sr.follow_curve(
        four_bar(0.35, 0.1, 0.4, 0.3), assembled((0.35, 0.1, 0.4, 0.3), 0.5, 1.0), "driver"
    )
    points = curve.turning_points_of("follower")
    assert {point.limit for point in points} == {"lower", "upper"}
    assert max(abs(np.sin(point.q[1])) for point in points) < 1e-7
    assert curve.range_of("follower") == pytest.approx(sorted(point.value for point in points), abs=0.0)


def test_a_start_on_a_dead_centre_is_a_start_like_any_other():
    """Ties: the start itself is a turning point of the follower, and of the driver of the inverted linkage."""
    system = four_bar(0.35, 0.1, 0.4, 0.3)
    first = sr.follow_curve(system, assembled((0.35, 0.1, 0.4, 0.3), 0.5, 1.0), "driver")
    expected = sorted(point.value for point in first.turning_points_of("follower"))
    for point in first.turning_points_of("follower"):
        for driven in ("driver", "follower"):
            curve = sr.follow_curve(system, point.q, driven)
            found = sorted(one.value for one in curve.turning_points_of("follower"))
            assert len(found) == 2
            assert np.allclose(found, expected, rtol=0, atol=1e-13)


# --- the sextic and the cognates -----------------------------------------------------------------


def sextic(points: Array, lengths: Array, u: float, v: float) -> Array:
    """Return the relative miss of the equation of the coupler curve, of the point u along and v beside the coupler.

    The circles about A (radius a) and B (radius c) that the ends of the coupler move on give two linear equations in
    cosine and sine of the coupler's angle; their squares add up to one.
    """
    g, a, b, c = lengths
    x, y = points[:, 0], points[:, 2]
    r2, s2 = u * u + v * v, (b - u) ** 2 + v * v
    one = np.stack([-2 * (x * u + y * v), 2 * (x * v - y * u)], axis=1), a * a - x * x - y * y - r2
    w = u - b
    xs = x - g
    two = np.stack([-2 * (xs * w + y * v), 2 * (xs * v - y * w)], axis=1), c * c - xs * xs - y * y - s2
    det = one[0][:, 0] * two[0][:, 1] - one[0][:, 1] * two[0][:, 0]
    cosine = one[1] * two[0][:, 1] - one[0][:, 1] * two[1]
    sine = one[0][:, 0] * two[1] - one[1] * two[0][:, 0]
    return np.abs(cosine**2 + sine**2 - det**2) / np.abs(det**2).max()


@pytest.mark.parametrize("seed", [1, 3, 4, 6])
def test_coupler_curves_satisfy_the_sextic(seed):
    lengths = lengths_of(seed)
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-0.5, 1.0, 2)
    starts = (assembled(lengths, x, 1.0) for x in np.linspace(0.05, 3.1, 40))
    q = next((x for x in starts if x is not None), None)
    assert q is not None
    curve = sr.coupler_curve(four_bar(*lengths), q, "driver", "coupler", (u, 0.0, v))
    assert sextic(curve.points, lengths, u, v).max() < 1e-11
    assert curve.closed
    assert np.abs(curve.points[0] - curve.points[-1]).max() < 1e-12
    assert np.allclose(curve.normal, (0, 1, 0), rtol=0, atol=1e-9)
    for double in curve.double_points:
        for q in (double.q1, double.q2):
            place = system_point(curve.system, q, curve.point)
            assert np.abs(place - double.point).max() < 1e-11
        assert np.linalg.norm(double.q1 - double.q2) > 1e-2


def system_point(system: sr.System, q: Array, point: Array, body: str = "coupler") -> Array:
    return system.jacobian(q, body=body, point=point).position


def distance_to_path(points: Array, path: sr.CouplerCurve) -> float:
    """Return how far points are from a path at most, by the cubics between its stations."""
    worst = 0.0
    for point in points:
        k = int(np.argmin(((path.points - point) ** 2).sum(axis=1)))
        q, way = path.curve.q[k], path.curve.tangents[k]
        for _ in range(8):
            seen = path.system.jacobian(q, body=path.body, point=path.point)
            rate = seen.linear @ path.curve.trace.ahead(q, way)
            step = float(rate @ (point - seen.position) / (rate @ rate))
            q = path.curve.trace.place(q, path.curve.trace.ahead(q, way), np.clip(step, -0.05, 0.05))
        worst = max(worst, float(np.linalg.norm(system_point(path.system, q, path.point, path.body) - point)))
    return worst


def test_the_three_cognates_trace_the_same_curve():
    """Roberts and Chebyshev: links of the cognates are those of the first one times the sides of the triangle."""
    g, a, b, c = 1.0, 0.4, 0.9, 0.8
    z = 0.45 + 0.35j  # the traced point over the coupler, from its crank's end, in units of the coupler
    q = assembled((g, a, b, c), 0.7, 1.0)
    first = sr.coupler_curve(four_bar(g, a, b, c), q, "driver", "coupler", (b * z.real, 0, b * z.imag))
    pin, coupler, follower = a * np.exp(0.7j), b * np.exp(1j * (0.7 + q[1])), c * np.exp(1j * q[2])
    third = g * z  # the third fixed pivot
    trace = pin + coupler * z
    # left cognate: pivots 0 and the third one; its links are z × coupler, z × crank, z × follower
    left = coupler * z, pin * z, follower * z
    # right cognate: pivots g and the third one; links (1 − z) times coupler, follower and crank, mirrored
    right = coupler * (z - 1), follower * (1 - z), -pin * (z - 1)
    for base, goal, (one, two, three), apex in (
        (0.0, third, left, trace - coupler * z),
        (g + 0j, third, right, trace - g - coupler * (z - 1)),
    ):
        frame = goal - base
        turn = frame / abs(frame)
        lengths = (abs(frame), *map(abs, (one, two, three)))
        end = three + (goal - base)
        assert abs(one + two - end) < 1e-12
        angles = [np.angle(x / turn) for x in (one, two, three)]
        start = np.array([angles[0], angles[1] - angles[0], angles[2]])
        local = apex / two * abs(two)
        cognate = sr.coupler_curve(
            four_bar(*lengths), start, "driver", "coupler", (local.real, 0, local.imag)
        )
        flat = (cognate.points[:, 0] + 1j * cognate.points[:, 2]) * turn + base
        moved = np.stack([flat.real, np.zeros(len(flat)), flat.imag], axis=1)
        assert distance_to_path(moved[::7], first) < 1e-11
        assert cognate.length == pytest.approx(first.length, rel=1e-5)
