"""Modes as motions of the whole mechanism: closed, near the linear and the simulated motion, and on film."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

import sarrus as sr
from conftest import load_example
from sarrus.base.errors import ArgumentError, SolveError

MODELS = Path(__file__).parent.parent / "models"


@lru_cache
def hanging() -> sr.LinearSystem:
    """The five-bar at its stable equilibrium: a swing and a symmetric mode."""
    mechanism = sr.load(MODELS / "five_bar.xml")
    system = sr.System(mechanism)
    return sr.linearize(system, sr.equilibrium(system, -mechanism.keyframes["symmetric"].q, stable=True).q)


@pytest.mark.parametrize("mode", range(4))
def test_frames_are_closed_and_near_the_linear_motion(mode: int) -> None:
    model = hanging()
    beside = []
    for amplitude in (0.02, 0.04):
        motion = model.vibration_mode(mode, amplitude, frames=16)
        assert motion.q.shape == (16, 4)
        assert max(np.abs(model.system.constraint_residual(q)).max() for q in motion.q) < 1e-12
        linear = (amplitude * model.mode_shapes[:, mode] * np.exp(1j * motion.phase[:, None])).real
        beside.append(np.abs(motion.q - model.q - linear).max())
        assert beside[-1] < amplitude**2
    assert 3.5 < beside[1] / beside[0] < 4.5
    assert_allclose(np.abs(motion.q[0] - model.q).max(), 0.04, rtol=0, atol=beside[1])


@pytest.mark.parametrize("mode", [0, 2])
def test_frames_are_those_of_the_free_motion(mode: int) -> None:
    """Released from the first frame, the mechanism is at the others after parts of the period."""
    model, amplitude = hanging(), 0.01
    motion = model.vibration_mode(mode, amplitude, frames=8)
    period = 2 * np.pi / model.natural_frequencies[mode]
    free = sr.simulate(model.system, motion.q[0], duration=period, rtol=1e-10)
    assert_allclose(free.at(period * np.arange(8) / 8), motion.q, atol=5 * amplitude**2)


def test_a_mode_says_what_it_is() -> None:
    assert str(hanging().vibration_mode(0)) == "0.537 Hz"
    cart = load_example("lqr_inverted")
    model = sr.linearize(sr.System(cart.build()), np.zeros(4))
    assert str(model.vibration_mode(0)) == "s = 0: drifts"
    assert str(model.vibration_mode(2)) == "s = -4.52/s: decays, drawn as a swing"
    assert str(model.vibration_mode(3)) == "s = 4.52/s: grows, drawn as a swing"
    damped = sr.System.from_lagrangian(
        nq=1,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 2 * ca.sumsqr(q),
        generalized_force=lambda q, v, t: -0.4 * v,
    )
    assert str(sr.linearize(damped, [0.0]).vibration_mode(0)) == "0.318 Hz, damping ratio 0.1"


def test_film_goes_round(tmp_path: Path) -> None:
    path = hanging().animate_vibration_mode(2, tmp_path / "mode.gif", amplitude=0.3, seconds=1.0)
    with Image.open(path) as film:
        assert film.n_frames == 25
        assert film.info["duration"] == 40
        assert film.info["loop"] == 0
        first = np.array(film.convert("L"), dtype=float)
        film.seek(12)
        assert (np.abs(np.array(film.convert("L"), dtype=float) - first) > 100).sum() > 500


def test_what_cannot_be_shown() -> None:
    model = hanging()
    with pytest.raises(ArgumentError, match="mode must be an index below 4, got 4"):
        model.vibration_mode(4)
    with pytest.raises(ArgumentError, match="amplitude must be positive"):
        model.vibration_mode(0, amplitude=0.0)
    with pytest.raises(ArgumentError, match="frames must be at least 2"):
        model.vibration_mode(0, frames=1)
    with pytest.raises(ArgumentError, match="seconds must lie between"):
        model.animate_vibration_mode(0, "mode.gif", seconds=0.0)
    bead = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        holonomic=lambda q, t: ca.sumsqr(q) - 1,
        name="ring",
    )
    ring = sr.linearize_at(bead, [1.0, 0.0])
    with pytest.raises(ArgumentError, match="only a system made from a Mechanism has bodies to draw"):
        ring.animate_vibration_mode(0, "mode.gif")
    system = sr.System(load_example("bricard").build())
    loop = sr.linearize_at(system, system.assemble(system.neutral()).q)
    loop.vibration_mode(0, amplitude=0.3)
    with pytest.raises(SolveError, match=r"at an amplitude of 1.5 mode 0 is no motion near the linear one"):
        loop.vibration_mode(0, amplitude=1.5)
