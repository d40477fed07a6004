"""Motions through a singular configuration that rounding puts beside it, and motions that miss it in earnest.

A bar turns on the same pivot as a rail; one as long is folded back along it, and a carriage holds its tip on the rail.
While they are folded the carriage stays in the pivot, and both turn at will, also through the right angle where the
carriage could leave: uniformly, without gravity. With bars that differ by d² the motion turns there, d aside.
"""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from sarrus.kernels.integrate.tableau import tableau

LENGTH = 0.38
NAMES = ("rail", "slide", "bar", "back")


def folded(difference: float = 0.0) -> sr.System:
    m = sr.Mechanism("folded", gravity=(0, 0, 0))
    small = (0.01, 0.01, 0.01)
    m.add_body("rail", 1.0, (0, 0, 0), small)
    m.add_joint("rail", "revolute", "world", "rail", axis=(0, 1, 0))
    m.add_body("carriage", 0.5, (0, 0, 0), small)
    m.add_joint("slide", "prismatic", "rail", "carriage", axis=(1, 0, 0))
    m.add_body("bar", 1.0, (LENGTH / 2, 0, 0), small)
    m.add_joint("bar", "revolute", "world", "bar", axis=(0, 1, 0))
    m.add_body("back", 1.0, (-LENGTH / 2, 0, 0), small)
    m.add_joint("back", "revolute", "bar", "back", axis=(0, 1, 0), parent_pose=(LENGTH, 0, 0))
    m.add_closure("tip", "point", "back", "carriage", pose1=(-LENGTH - difference, 0, 0))
    return sr.System(m)


@pytest.fixture(scope="module")
def system() -> sr.System:
    return folded()


def start(system: sr.System, rng: np.random.Generator, before: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a state so long before the right angle."""
    rail, bar = (system.velocity_names.index(name) for name in ("rail", "bar"))
    q, v = np.zeros(4), np.zeros(4)
    v[[rail, bar]] = rng.uniform(-1.0, 1.0, 2)
    q[bar] = rng.uniform(-1.0, 1.0)
    q[rail] = q[bar] + np.pi / 2 - (v[rail] - v[bar]) * before
    return q, v


def run(system: sr.System, q: np.ndarray, v: np.ndarray, before: float, **options: object) -> sr.Trajectory:
    return sr.simulate(system, q, v, duration=3.0 * before, error_estimate=False, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_what_rounding_puts_aside_goes_through(system, method):
    # With dop853 half of these turned, with status OK, before it was asked by how much they miss it.
    rail, slide, bar, back = (system.velocity_names.index(name) for name in NAMES)
    rng = np.random.default_rng(0)
    for _ in range(30):
        before = 10.0 ** rng.uniform(-4.0, -2.0)
        q, v = start(system, rng, before)
        angle = abs(v[rail] - v[bar]) * before
        q[slide] = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-19.0, -16.5) / angle
        v = system.project_velocity(q, v)
        motion = run(system, q, v, before, method=method)
        turned = motion.q[0] + v * motion.t[-1]
        assert np.abs(motion.q[-1] - turned)[[rail, bar]].max() < 1e-11
        assert np.abs(motion.q[-1])[[slide, back]].max() < 1e-10
        assert [p.crossed for p in motion.passages] == [True]


@pytest.mark.parametrize("aside", [1e-7, 1e-6, 1e-5, 1e-4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_misses_it_turns(aside, sign):
    rng = np.random.default_rng(1)
    system = folded(sign * aside**2)
    before = 3e-3
    q, v = start(system, rng, before)
    q = system.assemble(q).q
    v = system.project_velocity(q, v)
    ends = [
        run(system, q, v, before, method=method, rtol=rtol)
        for method, rtol in (("dop853", 1e-8), ("dopri5", 1e-8), ("dop853", 1e-11))
    ]
    slide = system.velocity_names.index("slide")
    assert all(abs(motion.v[-1][slide]) > 1e-3 for motion in ends)
    for motion in ends[:2]:
        np.testing.assert_allclose(motion.v[-1], ends[2].v[-1], rtol=1e-4, atol=1e-5)


def test_time_stepping_has_no_middle_at_a_singular_configuration(system):
    assert tableau("moreau-jean").between(0.5) not in (0.0, 0.5, 1.0)
    rail, slide, bar, _ = (system.velocity_names.index(name) for name in NAMES)
    rng = np.random.default_rng(2)
    for part in (0.5, 1.003, 1.0067, 1.1, 1.9):
        q, v = start(system, rng, 5e-3 + part * 1e-3)
        motion = sr.simulate(system, q, v, duration=0.01, dt=1e-3, method="moreau-jean", error_estimate=False)
        assert np.diff(motion.t) == pytest.approx(1e-3, abs=1e-12)
        assert np.abs(motion.q[-1] - q - 0.01 * v)[[rail, bar]].max() < 1e-9
        assert abs(motion.q[-1][slide]) < 1e-9
