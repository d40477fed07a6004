"""What cannot roll on a surface is named: radii that do not fit, second places, tangents without a direction."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus import surfaces
from sarrus.base.errors import ModelError, SolveError
from test_rolling_on_surfaces import RADIUS, TROUGH, free_body


def test_wheels_that_do_not_fit_are_named() -> None:
    mechanism = sr.Mechanism("tight")
    mechanism.add_body("wheel", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("wheel", "free", "world", "wheel")
    add = mechanism.add_rolling
    for surface in (surfaces.Sphere(0.5, inside=True), surfaces.Cylinder(0.5, inside=True)):
        with pytest.raises(ModelError, match=r"rolling 'big': .*0.6 m does not fit into a .* of 0.5 m"):
            add("big", "wheel", "wheel", radius=0.6, surface=surface)
    with pytest.raises(ModelError, match="a cone rolls on planes only"):
        add("cone", "cone", "wheel", radius=0.1, half_angle=0.4, surface=surfaces.Sphere(1.0))
    with pytest.raises(ModelError, match=r"surface must be one of sarrus.surfaces .*got 'sphere'"):
        add("name", "ball", "wheel", radius=0.1, surface="sphere")
    with pytest.raises(ModelError, match=r"radius of the surface must be positive \[m\], got -1"):
        add("sign", "ball", "wheel", radius=0.1, surface=surfaces.Sphere(-1.0))
    with pytest.raises(ModelError, match="function of the surface must be a function, got 3"):
        add("three", "ball", "wheel", radius=0.1, surface=surfaces.Height(3))
    with pytest.raises(ModelError, match="near is missing"):
        add("near", "ball", "wheel", radius=0.1, surface=surfaces.Curve(lambda s: (s, s)))
    with pytest.raises(ModelError, match="near must be finite places of s and w"):
        add(
            "near",
            "ball",
            "wheel",
            radius=0.1,
            surface=surfaces.Parametric(lambda s, w: (s, w, 0), [1.0, 2.0, 3.0]),
        )
    table = sr.Spline.through([0.0, 1.0], [0.0, 1.0], degree=1)
    with pytest.raises(ModelError, match="must have two columns"):
        add("table", "ball", "wheel", radius=0.1, surface=surfaces.Curve(table))
    add("wrong", "ball", "wheel", radius=0.1, surface=surfaces.Height(lambda x, y: np.sin(float(x))))
    with pytest.raises(ModelError, match="rolling 'wrong': the function gives NaN over CasADi symbols"):
        sr.System(mechanism)


def test_a_wheel_larger_than_a_given_trough_is_named() -> None:
    """A parabola z = 2 x² has the radius of curvature 0.25 m at its lowest point."""
    tight = surfaces.Height(lambda x, y: 2 * x * x)
    fits = free_body("disc", tight, start=(0, 0, 0.2), radius=0.2)
    assert_allclose(fits.constraint_residual(fits.neutral()), 0.0, atol=1e-14)
    big = free_body("disc", tight, start=(0, 0, 0.3), radius=0.3)
    for call in (lambda: big.rolling(big.neutral()), lambda: sr.mobility(big, big.neutral())):
        with pytest.raises(SolveError, match=r"rolling 'rolls' .*(less curved|hardly more curved)"):
            call()


@pytest.mark.parametrize("kind", ["ball", "disc"])
def test_a_second_place_ends_the_run(kind: str) -> None:
    """Level ground that rises to a slope of 60 degrees: rolling on, it meets the slope where its height says."""
    slope, sharp = np.tan(np.pi / 3), 0.002
    ramp = surfaces.Height(lambda x, y: slope * sharp * ca.log(1 + ca.exp((x - 0.5) / sharp)))
    system = free_body(kind, ramp, start=(0, 0, RADIUS))
    q = system.assemble(system.neutral()).q
    v = system.project_velocity(q, [1.0, 0, 0, 0, 1.0 / RADIUS, 0])
    for options in ({}, {"dt": 1e-3}, {"method": "rodas5p"}):
        run = sr.simulate(system, q, v, duration=1.0, throw=False, **options)
        assert run.status is not sr.Status.OK
        assert "rolling 'rolls' touches its surface at a second place" in run.message
        # a ball on the level touches a slope of 60 degrees at x = 0.5 − r tan(30°)
        assert abs(run.q[-1, 0] - (0.5 - RADIUS * np.tan(np.pi / 6))) < 5e-3


def test_tangents_that_have_no_direction_are_named() -> None:
    bowl = surfaces.Sphere(TROUGH, inside=True)
    system = free_body("ball", bowl, start=(0, 0, TROUGH - RADIUS), normal=(0, 0, 1))
    with pytest.raises(SolveError, match=r"opposite to normal=.*give a normal= that points elsewhere"):
        system.rolling(system.neutral())
    other = free_body("ball", bowl, start=(0, 0, TROUGH - RADIUS), normal=(0, 1, 0))
    assert_allclose(other.rolling(other.neutral())["rolls"].normal, [0, 0, -1], atol=1e-15)


@pytest.mark.parametrize("form", ["height", "curve", "parametric"])
def test_a_valley_of_two_planes_ends_the_run(form: str) -> None:
    """A ball that rolls down one of them touches both at the bottom, however the surface is written."""
    sharp = 1e-6
    valley = {
        "height": surfaces.Height(lambda x, y: ca.sqrt(x * x + sharp)),
        "curve": surfaces.Curve(lambda s: (s, ca.sqrt(s * s + sharp)), np.linspace(-1, 1, 21)),
        "parametric": surfaces.Parametric(
            lambda s, w: (s, w, ca.sqrt(s * s + sharp)), np.array([(s, 0.0) for s in np.linspace(-1, 1, 21)])
        ),
    }[form]
    system = free_body("ball", valley, start=(0.5, 0, 0.7))
    run = sr.simulate(system, system.assemble(system.neutral()).q, duration=0.8, throw=False)
    assert run.status is not sr.Status.OK
    assert "rolling 'rolls' touches its surface at a second place" in run.message
    assert_allclose(run.q[-1, :3], [0.0, 0.0, RADIUS * np.sqrt(2)], atol=1e-3)
