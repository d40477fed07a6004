"""What designers ask of linkages: straight-line figures, transmission angles, dead centres; redundant, in any unit."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from five_bars import ARMS, START, five_bar
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from scaled import scaled
from test_coupler_curves import assembled, four_bar, system_point

Y = (0.0, 1.0, 0.0)
LENGTHS = (0.35, 0.1, 0.4, 0.3)


def slider_crank(crank: float, rod: float, offset: float) -> sr.System:
    """Return a slider-crank in the x-z plane; the slide is ``offset`` above the crank's pivot, the rod a body."""
    mechanism = sr.Mechanism("slider_crank")
    for name, parent, x, length in (("crank", "world", 0.0, crank), ("rod", "crank", crank, rod)):
        mechanism.add_body(name, 1.0, com=(length / 2, 0, 0), inertia=(0.001, 0.01, 0.01))
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, -1, 0), parent_pose=(x, 0, 0))
    mechanism.add_body("slider", 0.5, inertia=(0.001, 0.001, 0.001))
    mechanism.add_joint("slide", "prismatic", "world", "slider", axis=(1, 0, 0), parent_pose=(0, 0, offset))
    mechanism.add_closure("wrist", "point_on_line", "rod", "slider", axis=Y, pose1=(rod, 0, 0))
    return sr.System(mechanism)


def slider_start(crank: float, rod: float, offset: float, angle: float) -> Array:
    lift = np.arcsin((offset - crank * np.sin(angle)) / rod)
    return np.array([angle, lift - angle, crank * np.cos(angle) + rod * np.cos(lift)])


def spatial(system: sr.System) -> sr.System:
    """Return the four-bar with a hinge in space, five rows, in place of its planar pin of two."""
    mechanism = system.mechanism.snapshot()
    pin = mechanism.closures["pin"]
    other = sr.Mechanism("spatial")
    for name, parent, x in (
        ("driver", "world", 0.0),
        ("coupler", "driver", LENGTHS[1]),
        ("follower", "world", LENGTHS[0]),
    ):
        body = mechanism.bodies[name]
        other.add_body(name, body.mass, com=body.com, inertia=body.inertia)
        other.add_joint(
            name, "revolute", parent, name, axis=mechanism.bodies[name].joints[0].axis, parent_pose=(x, 0, 0)
        )
    other.add_closure(
        "pin", "revolute", "coupler", "follower", axis=Y, pose1=pin.pose1.position, pose2=pin.pose2.position
    )
    return sr.System(other)


# --- straight lines and other figures ---------------------------------------------------------------


def test_watts_curve():
    """Rockers b on pivots 2 a apart, coupler 2 c: r² = b² − (a sin θ ± √(c² − a² cos² θ))² about its middle."""
    a, b, c = 1.2, 1.3, 0.45
    system = four_bar(2 * a, b, 2 * c, b)
    starts = (assembled((2 * a, b, 2 * c, b), x, 1.0) for x in np.linspace(0.05, 3.1, 60))
    curve = sr.coupler_curve(system, next(x for x in starts if x is not None), "driver", "coupler", (c, 0, 0))
    x, y = curve.points[:, 0] - a, curve.points[:, 2]
    r, theta = np.hypot(x, y), np.arctan2(y, x)
    root = np.sqrt(np.maximum(c * c - (a * np.cos(theta)) ** 2, 0.0))
    both = [np.abs(r**2 - b * b + (a * np.sin(theta) + sign * root) ** 2) for sign in (1.0, -1.0)]
    far = r > 1e-3
    assert np.min(both, axis=0)[far].max() < 1e-7  # the root of a difference near its zero
    (middle,) = [one for one in curve.double_points if abs(one.point[0] - a) + abs(one.point[2]) < 1e-9]
    assert np.abs(middle.q1 - middle.q2).max() > 0.1


def test_chebyshevs_straight_line():
    """Ground 4, rockers 5, coupler 2: the middle is 4 high at three places, and nearly so between them."""
    lengths = (4.0, 5.0, 2.0, 5.0)
    start = np.array([np.arctan2(4.0, 3.0), np.pi - np.arctan2(4.0, 3.0), np.arctan2(4.0, -3.0)])
    curve = sr.coupler_curve(four_bar(*lengths), start, "driver", "coupler", (1.0, 0, 0))
    x, z = curve.points[:, 0] - 2.0, curve.points[:, 2]
    tilt = curve.curve.q[:, 0] + curve.curve.q[:, 1] - np.pi
    between = np.abs(np.mod(tilt + np.pi, 2 * np.pi) - np.pi) <= np.pi / 2  # from upright to upright
    assert np.ptp(x[between]) == pytest.approx(4.0, abs=0.3)
    assert between.sum() > 20
    assert np.abs(z[between] - 4.0).max() < 0.012 * 4.0
    upright = min(curve.curve.turning_points, key=lambda point: abs(point.value - np.arctan2(3.0, 4.0)))
    assert upright.value == pytest.approx(np.arctan2(3.0, 4.0), abs=1e-13)  # coupler and follower in line
    assert np.abs(system_point(curve.system, upright.q, curve.point) - (4.0, 0.0, 4.0)).max() < 1e-6


def test_hoeckens_straight_line():
    """Crank 1, ground 2, coupler and rocker 2.5, the point another 2.5 on: a line for half a turn of the crank."""
    lengths = (2.0, 1.0, 2.5, 2.5)
    start = assembled(lengths, np.pi, 1.0)
    curve = sr.coupler_curve(four_bar(*lengths), start, "driver", "coupler", (5.0, 0, 0))
    angle = np.mod(curve.curve.values, 2 * np.pi)
    half = np.abs(angle - np.pi) <= np.pi / 2
    x, z = curve.points[half, 0], curve.points[half, 2]
    assert np.ptp(x) == pytest.approx(4.0, abs=0.25)
    assert np.ptp(z) < 0.012 * np.ptp(x)
    assert curve.curve.turns_of("driver") == 1


def test_a_point_on_the_moving_centrode_has_a_cusp():
    """The coupler's point that is at the meeting of crank and follower stands still there."""
    system = four_bar(*LENGTHS)
    q = assembled(LENGTHS, 1.1, 1.0)
    ways = np.exp(1j * q[0]), np.exp(1j * q[2])
    s, _ = np.linalg.solve([[ways[0].real, -ways[1].real], [ways[0].imag, -ways[1].imag]], [LENGTHS[0], 0.0])
    local = (s * ways[0] - LENGTHS[1] * ways[0]) * np.exp(-1j * (q[0] + q[1]))
    start = sr.follow_curve(system, q, "driver", 0.2, 1.3).q[-1]
    curve = sr.coupler_curve(system, start, "driver", "coupler", (local.real, 0.0, local.imag))
    (cusp,) = curve.cusps
    assert np.abs(cusp.q - q).max() < 1e-9 or abs(np.mod(cusp.q[0] - q[0] + 1, 2 * np.pi) - 1) < 1e-9
    assert np.abs(cusp.point - [(s * ways[0]).real, 0.0, (s * ways[0]).imag]).max() < 1e-12
    (there,) = sr.coupler_curve(system, q, "driver", "coupler", (local.real, 0.0, local.imag)).cusps
    assert np.abs(there.point - cusp.point).max() < 1e-12  # the start is on it: a tie
    assert (
        sr.coupler_curve(system, q, "driver", "follower", (0.2, 0.0, 0.0)).cusps == ()
    )  # ends of an arc are none


def test_an_arc_is_traced_to_and_fro():
    curve = sr.coupler_curve(
        four_bar(*LENGTHS), assembled(LENGTHS, 0.5, 1.0), "driver", "follower", (0.3, 0, 0)
    )
    lower, upper = curve.curve.range_of("follower")
    assert curve.length == pytest.approx(2 * 0.3 * (upper - lower), rel=1e-5)
    assert curve.double_points == ()


# --- transmission angles ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 3, 4, 6, 8])
def test_transmission_angle_of_four_bars_by_the_law_of_cosines(seed):
    lengths = np.random.default_rng(seed).uniform(0.3, 1.0, 4)
    g, a, b, c = lengths
    starts = (assembled(lengths, x, 1.0) for x in np.linspace(0.05, 3.1, 40))
    curve = sr.follow_curve(four_bar(*lengths), next(x for x in starts if x is not None), "driver")
    found = sr.transmission_angle(curve.system, curve, "driver", "follower")
    opposite = g * g + a * a - 2 * g * a * np.cos(curve.values)
    angle = np.arccos(np.clip((b * b + c * c - opposite) / (2 * b * c), -1.0, 1.0))
    expected = np.minimum(angle, np.pi - angle)
    assert np.abs(np.sin(found.angle) - np.sin(expected)).max() < 1e-9
    if curve.turns_of("driver"):
        ends = [(b * b + c * c - d * d) / (2 * b * c) for d in (g - a, g + a)]
        assert found.least == pytest.approx(np.arccos(max(map(abs, ends))), abs=1e-12)
        assert abs(np.sin(found.least_at)) < 1e-6
    else:
        assert found.least < 1e-6  # dead centres of the driver: coupler and follower in line


def test_slider_crank():
    """Dead centres of the crank's slide at rod ± crank, and the angle between rod and the normal of the slide."""
    crank, rod, offset = 0.2, 0.7, 0.1
    system = slider_crank(crank, rod, offset)
    curve = sr.follow_curve(system, slider_start(crank, rod, offset, 0.4), "crank")
    assert curve.turns_of("crank") == 1
    expected = [np.sqrt((rod + sign * crank) ** 2 - offset**2) for sign in (-1.0, 1.0)]
    assert np.allclose(curve.range_of("slide"), expected, rtol=0, atol=1e-12)
    found = sr.transmission_angle(system, curve, "crank", "slide")
    lift = np.arcsin((offset - crank * np.sin(curve.values)) / rod)
    assert np.abs(found.pressure_angle - np.abs(lift)).max() < 1e-12
    assert found.least == pytest.approx(np.arccos((offset + crank) / rod), abs=1e-12)
    back = sr.follow_curve(system, slider_start(crank, rod, offset, 0.4), "slide")
    assert sorted(point.value for point in back.turning_points) == pytest.approx(expected, abs=1e-12)


def test_a_five_bar_with_one_crank_locked_is_a_four_bar():
    """Crank, coupler, follower and ground from the locked elbow: the same angle as that of the four-bar."""
    system = five_bar(*ARMS)
    curve = sr.follow_curve(system, START, "left", locked=["right"])
    found = sr.transmission_angle(system, curve, "left", "right_elbow")
    near, far, apart = ARMS
    crank, pivot = near * np.exp(1j * curve.q[:, 0]), apart + near * np.exp(1j * curve.q[:, 2])
    angle = np.arccos(np.clip(1.0 - np.abs(crank - pivot) ** 2 / (2 * far**2), -1.0, 1.0))
    assert np.abs(np.sin(found.angle) - np.sin(angle)).max() < 1e-9
    again = sr.transmission_angle(system, curve.q, "left", "right_elbow", locked=["right"])
    assert np.abs(again.angle - found.angle).max() < 1e-14


def test_rods_and_where_there_is_no_angle():
    """A rod is a coupler without a body; at a dead centre of both the force is determined, at a change point not."""
    q = assembled(LENGTHS, 0.5, 1.0)
    whole = sr.transmission_angle(four_bar(*LENGTHS), q, "driver", "follower")
    ends = (("driver", LENGTHS[1]), ("follower", LENGTHS[3]))
    for (one, x1), (two, x2) in (ends, ends[::-1]):
        mechanism = sr.Mechanism("rod")
        for name, x in (("driver", 0.0), ("follower", LENGTHS[0])):
            mechanism.add_body(name, 1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
            mechanism.add_joint(name, "revolute", "world", name, axis=(0, -1, 0), parent_pose=(x, 0, 0))
        mechanism.add_closure(
            "rod", "distance", one, two, pose1=(x1, 0, 0), pose2=(x2, 0, 0), length=LENGTHS[2]
        )
        found = sr.transmission_angle(sr.System(mechanism), q[[0, 2]], "driver", "follower")
        assert found.angle == pytest.approx(whole.angle, abs=1e-13)
    with pytest.raises(SolveError, match="not unique"):
        sr.transmission_angle(four_bar(1.0, 0.4, 1.0, 0.4), [0.0, 0.0, 0.0], "driver", "follower")
    with pytest.raises(ArgumentError, match="'driver' is driver and output"):
        sr.transmission_angle(four_bar(*LENGTHS), q, "driver", "driver")
    with pytest.raises(ArgumentError, match="unknown joint or closure 'pni'"):
        sr.transmission_angle(four_bar(*LENGTHS), q, "driver", "follower", "pni")


# --- redundancy and units ----------------------------------------------------------------------------


def test_redundant_rows_change_nothing():
    planar = four_bar(*LENGTHS)
    system = spatial(planar)
    q = assembled(LENGTHS, 0.5, 1.0)
    curves = [sr.coupler_curve(s, q, "driver", "coupler", (0.2, 0.0, 0.15)) for s in (planar, system)]
    assert sr.mobility(system, q).redundant
    assert np.abs(curves[0].points - curves[1].points).max() < 1e-11
    assert curves[0].length == pytest.approx(curves[1].length, rel=1e-9)
    angles = [sr.transmission_angle(c.system, c.curve, "driver", "follower") for c in curves]
    assert np.abs(angles[0].angle - angles[1].angle).max() < 1e-9
    assert angles[0].least == pytest.approx(angles[1].least, abs=1e-12)


def test_millimetres_and_metres_agree():
    crank, rod, offset = 0.2, 0.7, 0.1
    metres = slider_crank(crank, rod, offset)
    start = slider_start(crank, rod, offset, 0.4)
    one = sr.coupler_curve(metres, start, "slide", "rod", (0.3, 0, 0.1))
    for factor in (1e3, 1e-2):
        system = sr.System(scaled(metres, factor))
        other = sr.coupler_curve(
            system, start * [1.0, 1.0, factor], "slide", "rod", np.multiply((0.3, 0, 0.1), factor)
        )
        assert other.closed
        assert one.closed
        assert other.length == pytest.approx(factor * one.length, rel=1e-6)
        values = [sorted(p.value for p in c.curve.turning_points) for c in (one, other)]
        assert np.allclose(np.multiply(values[0], factor), values[1], rtol=1e-11, atol=0)
        assert len(other.points) == pytest.approx(len(one.points), rel=0.05)
        angles = [sr.transmission_angle(c.system, c.curve, "slide", "crank", "rod") for c in (one, other)]
        assert angles[0].least == pytest.approx(angles[1].least, abs=1e-6)
    assert len(one.double_points) == len(other.double_points)
    for double in one.double_points:
        assert np.abs(system_point(metres, double.q2, one.point, "rod") - double.point).max() < 1e-11


def press(crank: float, rod: float, offset: float) -> sr.System:
    """Return a slider-crank whose rod hangs on the slide, the crank's pin being a hinge in space."""
    mechanism = sr.Mechanism("press")
    for name in ("piston", "rod", "crank"):
        mechanism.add_body(name, 1.0, com=(0.01, 0, 0), inertia=(0.01, 0.01, 0.01))
    mechanism.add_joint("slide", "prismatic", "world", "piston", axis=(1, 0, 0), parent_pose=(0, 0, offset))
    mechanism.add_joint("rod", "revolute", "piston", "rod", axis=(0, -1, 0))
    mechanism.add_joint("crank", "revolute", "world", "crank", axis=(0, -1, 0))
    mechanism.add_closure(
        "pin", "revolute", "rod", "crank", axis=(0, -1, 0), pose1=(-rod, 0, 0), pose2=(crank, 0, 0)
    )
    return sr.System(mechanism)


def press_start(crank: float, rod: float, offset: float, angle: float) -> Array:
    _, lift, slide = slider_start(crank, rod, offset, angle)
    return np.array([slide, lift + angle, angle])


def random_press(seed: int) -> tuple[Array, Array]:
    """Return (crank, rod, offset) of a press whose crank goes round, and a start."""
    rng = np.random.default_rng(seed)
    crank = rng.uniform(0.05, 0.5)
    rod = crank * rng.uniform(1.3, 12.0)
    offset = (rod - crank) * rng.uniform(0.0, 0.9)
    return np.array([crank, rod, offset]), press_start(crank, rod, offset, rng.uniform(0.0, 2 * np.pi))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("factor", [1.0, 1e3, 1e4])  # metres, millimetres, tenths of them
def test_curves_of_presses_are_closed_in_any_unit(factor, seed):
    """At the dead centres of the slide, too; angles by the law of cosines, and rod and crank in line."""
    (crank, rod, offset), start = random_press(seed)
    system = sr.System(scaled(press(crank, rod, offset), factor))
    expected = [np.sqrt((rod + sign * crank) ** 2 - offset**2) for sign in (-1.0, 1.0)]
    for driven, output, through in (("crank", "slide", "rod"), ("slide", "crank", "pin")):
        curve = sr.follow_curve(system, start * [factor, 1.0, 1.0], driven)
        misses = [np.abs(system.constraint_residual(q)).max() for q in curve.q]
        assert max(misses) < 1e-12 * factor * (crank + rod)
        assert curve.turns_of("crank") == 1
        found = sorted(point.value / factor for point in curve.turning_points_of("slide"))
        assert found == pytest.approx(expected, abs=1e-12)
        angle = sr.transmission_angle(system, curve, driven, output, through)
        lift = np.arcsin((offset - crank * np.sin(curve.q[:, 2])) / rod)
        closed_form = np.cos(lift) if driven == "crank" else np.abs(np.sin(curve.q[:, 2] - lift))
        assert np.abs(np.sin(angle.angle) - closed_form).max() < 1e-9
        if driven == "crank":
            assert angle.least == pytest.approx(np.arccos((offset + crank) / rod), abs=1e-9)


@pytest.mark.parametrize("factor", [1.0, 1e3, 1e4])
def test_a_press_has_two_circuits_in_any_unit(factor):
    """With nothing driven its assemblies are two curves, the slide on either side of the crank."""
    lengths, _ = random_press(0)
    found = sr.assembly_modes(sr.System(scaled(press(*lengths), factor)))
    assert sorted(np.sign(found.q[:, 0])) == [-1.0, 1.0]
    assert found.dof == 1


def test_a_start_beside_a_dead_centre_in_millimetres():
    crank, rod, offset = 467.3278131357786, 5282.365054708715, 746.9157623512208
    curve = sr.follow_curve(
        press(crank, rod, offset), press_start(crank, rod, offset, 3.267111563928535), "slide"
    )
    expected = [np.sqrt((rod + sign * crank) ** 2 - offset**2) for sign in (-1.0, 1.0)]
    assert curve.closed
    assert sorted(point.value for point in curve.turning_points) == pytest.approx(expected, rel=1e-12)


def test_errors_name_what_is_wrong():
    system, q = four_bar(*LENGTHS), assembled(LENGTHS, 0.5, 1.0)
    with pytest.raises(ArgumentError, match="unknown body 'couplr'"):
        sr.coupler_curve(system, q, "driver", "couplr")
    with pytest.raises(ArgumentError, match="unknown scalar coordinate 'drive'"):
        sr.coupler_curve(system, q, "drive", "coupler")
    with pytest.raises(ArgumentError, match="point must be three finite numbers"):
        sr.coupler_curve(system, q, "driver", "coupler", (1.0, 2.0))


def two_links(limits: tuple[float, float] | None) -> sr.System:
    mechanism = sr.Mechanism("arm")
    for name, parent, x, own in (("a", "world", 0.0, limits), ("b", "a", 1.0, None)):
        mechanism.add_body(name, 1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", parent, name, axis=Y, parent_pose=(x, 0, 0), limits=own)
    return sr.System(mechanism)


def test_a_start_outside_of_the_range_is_refused():
    """Of the joint, or a given one in its place; what is no range is refused, too."""
    limited, free = two_links((0.5, 2.0)), two_links(None)
    with pytest.raises(ArgumentError, match=r"arm: 'a' starts at 0, outside of its limits 0\.5 to 2") as seen:
        sr.follow_curve(limited, [0.0, 1.0], "a", locked=["b"])
    assert seen.value.element == "a"
    with pytest.raises(ArgumentError, match=r"'a' starts at 0, outside of its limits 0\.5 to 2"):
        sr.coupler_curve(limited, [0.0, 1.0], "a", "b", locked=["b"])
    with pytest.raises(ArgumentError, match=r"'a' starts at 3, outside of its limits -inf to 2\.5"):
        sr.follow_curve(free, [3.0, 1.0], "a", upper=2.5, locked=["b"])
    for lower, upper in ((1.0, 0.5), (np.nan, 1.0), (0.5, np.nan), (1.0, 1.0)):
        with pytest.raises(ArgumentError, match=r"limits of 'a' must be \(lower, upper\) with lower < upper"):
            sr.follow_curve(free, [0.7, 1.0], "a", lower, upper, locked=["b"])
    with pytest.raises(ArgumentError, match=r"limits of 'a' must be .*, got \('low', 1.0\)"):
        sr.follow_curve(free, [0.7, 1.0], "a", "low", 1.0, locked=["b"])
    curve = sr.follow_curve(limited, [0.5, 9.0], "a", locked=["b"])  # on a limit, and b has none
    assert curve.range_of("a") == pytest.approx((0.5, 2.0), abs=1e-12)
    assert sr.follow_curve(limited, [0.0, 1.0], "a", -1.0, 1.0, locked=["b"]).range_of("a") == pytest.approx(
        (-1.0, 1.0), abs=1e-12
    )


def test_a_path_of_one_configuration_has_no_length():
    """At a dead centre of the driver that is the end of its range."""
    system = four_bar(*LENGTHS)
    whole = sr.follow_curve(system, assembled(LENGTHS, 0.5, 1.0), "follower")
    upper = next(point for point in whole.turning_points if point.limit == "upper")
    path = sr.coupler_curve(system, upper.q, "follower", "coupler", lower=upper.value + 1e-11)
    assert len(path.points) == 1
    assert path.length == 0.0
    assert path.double_points == path.cusps == ()


def test_hinges_in_space_hand_on_couples(example):
    """In Bennett's linkage the couple in a hinge moves the output, too: a force's angle would say the wrong thing."""
    module = example("bennett")
    system = sr.System(module.build())
    q = module.closed(0.7, 3)
    with pytest.raises(SolveError, match="transmits a couple that moves the output"):
        sr.transmission_angle(system, q, "theta1", "theta3", "theta4")
    path = sr.coupler_curve(system, q, "theta1", "link2", (0.1, 0.2, 0.0))
    assert path.closed
    assert path.normal is None
    assert path.curve.turns_of("theta1") == 1
