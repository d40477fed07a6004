"""Mass matrices that are singular everywhere: held by the constraints, or refused by name, in every function."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import casadi as ca
import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ellipj, ellipk

import sarrus as sr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
import straight_line

Array = np.ndarray
GRAVITY = 9.81
HELD = (
    "null-space",
    "udwadia-phohomsiri",
    "parameterized-projection",
    "oblique-projection",
    "augmented-lagrangian",
)


def swing(t: Array, start: float = 1.0) -> Array:
    """Return the angle of a pendulum of length one that starts at rest."""
    k = np.sin(start / 2)
    return 2 * np.arcsin(k * ellipj(ellipk(k * k) - np.sqrt(GRAVITY) * t, k * k)[0])


def rows(q: ca.SX, t: ca.SX, held: bool) -> ca.SX:
    """Return place and angle of a rod of length one: both rows, or its length alone, which leaves the angle free."""
    return ca.vertcat(q[0] - ca.sin(q[2]), q[1] + ca.cos(q[2])) if held else ca.sumsqr(q[:2]) - 1


def pendulum(way: str, held: bool = True) -> sr.System:
    """Return a point mass by x, y and an angle without inertia: M = diag(1, 1, 0)."""
    more = {
        "holonomic": lambda q, t: rows(q, t, held),
        "inputs": lambda q: ca.vertcat(0, 0, 1),
        "name": "pendulum",
    }
    if way == "lagrangian":
        return sr.System.from_lagrangian(
            nq=3, lagrangian=lambda q, v, t: ca.sumsqr(v[:2]) / 2 - GRAVITY * q[1], **more
        )  # type: ignore[arg-type]
    return sr.System.from_equations(
        nq=3,
        mass_matrix=lambda q: ca.diag(ca.vertcat(1, 1, 0)),
        bias=lambda q, v: ca.vertcat(0, GRAVITY, 0),
        **more,
    )


START = [np.sin(1.0), -np.cos(1.0), 1.0]


@cache
def linkage() -> tuple[sr.System, Array]:
    """Return the straight-line linkage and a configuration of it."""
    system = sr.System(straight_line.build())
    return system, straight_line.angles(system, straight_line.SWING)


@cache
def loose_linkage() -> sr.System:
    """Return the linkage without its pin, with a motor at the crank."""
    mechanism = straight_line.build(pinned=False)
    mechanism.add_actuator("motor", "crank")
    return sr.System(mechanism)


@pytest.mark.parametrize("way", ["lagrangian", "equations"])
@pytest.mark.parametrize(
    "options",
    [
        {"rtol": 1e-11},
        {"dt": 1e-3},
        {"method": "rodas5p", "rtol": 1e-10},
        {"rtol": 1e-10, "coordinates": "partition"},
    ],
)
def test_an_angle_too_many(way: str, options: dict[str, object]) -> None:
    run = sr.simulate(pendulum(way), START, duration=5.0, **options)  # type: ignore[arg-type]
    assert run.status is sr.Status.OK
    assert_allclose(run.q[:, 2], swing(run.t), rtol=0, atol=1e-9)


def test_an_angle_too_many_elsewhere() -> None:
    system = pendulum("lagrangian")
    many = sr.rollout(system, [START, START], duration=1.0, dt=1e-3, threads=1)
    assert_allclose(many.final_q[:, 2], swing(np.array(1.0)), atol=1e-9)
    kept = sr.simulate(system, START, duration=5.0, dt=1e-3, stabilization="energy")
    assert_allclose(kept.q[:, 2], swing(kept.t), atol=1e-9)
    assert_allclose(
        np.sort(sr.linearize(system, [0, -1, 0]).eigenvalues.imag), [-np.sqrt(GRAVITY), np.sqrt(GRAVITY)]
    )
    law = sr.control.ComputedTorque(system, ["q3"], lambda t: 1.0 + 0.2 * ca.sin(2 * t) ** 2)
    driven = sr.simulate(system, START, duration=2.0, rtol=1e-10, control=law)
    assert driven.q[-1, 2] == pytest.approx(1.0 + 0.2 * np.sin(4.0) ** 2, abs=1e-8)
    angle = 1.0 + 0.2 * np.sin(2 * driven.t) ** 2  # the torque is that of the pendulum
    assert_allclose(driven.u[:, 0], 1.6 * np.cos(4 * driven.t) + GRAVITY * np.sin(angle), atol=1e-5)


@pytest.mark.parametrize("way", ["lagrangian", "equations"])
def test_an_angle_that_nothing_holds_is_named(way: str) -> None:
    system = pendulum(way, held=False)
    named = "nothing resists a motion of 'q3'"
    found = system.forward_dynamics(START, np.zeros(3), throw=False)
    assert found.status is sr.Status.ILL_POSED
    for options in ({}, {"dt": 1e-2}, {"method": "rodas5p"}):
        with pytest.raises(sr.SimulationError, match=named):
            sr.simulate(system, START, duration=0.1, **options)  # type: ignore[arg-type]
    with pytest.raises(sr.SolveError, match=named):
        sr.linearize(system, [0, -1, 0])
    assert (sr.rollout(system, [START], duration=0.1, dt=1e-2, threads=1).status == sr.Status.ILL_POSED).all()
    with pytest.raises(sr.SarrusError, match=named):
        sr.control.ComputedTorque(system, ["q3"], lambda t: 1.0)(START, np.zeros(3), 0.0)


def test_linkage_of_massless_bars() -> None:
    system, top = linkage()
    for options in (
        {"rtol": 1e-10},
        {"method": "rodas5p", "rtol": 1e-10},
        {"rtol": 1e-10, "coordinates": ["crank"]},
    ):
        run = sr.simulate(system, top, duration=5.0, **options)  # type: ignore[arg-type]
        tips = np.array([straight_line.tip(system, q) for q in run.q])
        assert_allclose(tips[:, 1], straight_line.exact(run.t), rtol=0, atol=1e-9)
        assert_allclose(tips[:, 0], straight_line.LINE, rtol=0, atol=1e-13)
        assert run.energy_drift < 1e-8


def test_formulations_side_by_side() -> None:
    held, loose = straight_line.side_by_side(), straight_line.side_by_side(pinned=False)
    for name in sr.formulations.METHODS:
        assert held[name] == ("agrees with the closed form" if name in HELD else "refused, ILL_POSED")
        assert loose[name] == "refused, ILL_POSED"


@pytest.mark.parametrize("name", ["null-space", "udwadia-phohomsiri", "oblique-projection"])
def test_formulations_in_runs(name: str) -> None:
    system, top = linkage()
    run = sr.simulate(system, top, duration=0.05, dt=1e-3, formulation=name)
    tips = np.array([straight_line.tip(system, q) for q in run.q])
    assert_allclose(tips[:, 1], straight_line.exact(run.t), rtol=0, atol=1e-11)


def test_a_bar_that_nothing_holds_is_named() -> None:
    named = "nothing resists a motion of 'far_lower'"
    system, (_, top) = loose_linkage(), linkage()
    with pytest.raises(sr.SimulationError, match=named):
        sr.simulate(system, top, duration=0.1)
    with pytest.raises(sr.SolveError, match=named):
        sr.linearize_at(system, top, np.zeros(7))
    law = sr.control.ComputedTorque(system, ["crank"], lambda t: float(top[0]))
    with pytest.raises(sr.SarrusError, match=named):
        law(top, np.zeros(7), 0.0)


def test_random_singular_masses() -> None:
    """M = B Bᵀ of any rank and rows of any rank, against the KKT equations of independent rows in forty digits."""
    rng = np.random.default_rng(3)
    met = refused = 0
    for _ in range(200):
        n = int(rng.integers(2, 9))
        mass_rank, count = int(rng.integers(0, n + 1)), int(rng.integers(1, n + 1))
        B, A = rng.normal(size=(n, mass_rank)), rng.normal(size=(count, n))
        if rng.random() < 0.5:  # a redundant row
            A = np.vstack([A, rng.normal(size=count) @ A])
        M, h, tau = B @ B.T, rng.normal(size=n), rng.normal(size=n)
        gamma = A @ rng.normal(size=n)
        found = sr.formulations.udwadia_phohomsiri(M, h, A, gamma, tau, throw=False)
        shared = n - np.linalg.matrix_rank(np.vstack([M, A]), tol=1e-9)
        if shared:
            refused += 1
            assert found.status is sr.Status.ILL_POSED
            with pytest.raises(
                sr.SolveError, match=rf"rank {n - shared} of {n} \(M has {mass_rank}, .*{shared} direc"
            ):
                sr.formulations.udwadia_phohomsiri(M, h, A, gamma, tau)
            continue
        met += 1
        m = np.linalg.matrix_rank(A)  # a redundant row is the last
        kkt = np.block([[M, -A[:m].T], [A[:m], np.zeros((m, m))]])
        with mpmath.workdps(40):
            solved = mpmath.lu_solve(mpmath.matrix(kkt.tolist()), mpmath.matrix([*(tau - h), *-gamma[:m]]))
        exact = np.array([float(x) for x in solved])
        assert found.status is sr.Status.OK
        size = max(1.0, np.abs(exact[:n]).max())
        condition = np.linalg.cond(np.vstack([M, A]))
        assert_allclose(found.a, exact[:n], rtol=0, atol=1e-13 * size * condition**2 + 1e-12 * size)
        assert_allclose(
            M @ found.a + h - tau, found.constraint_force, atol=1e-10 * size * max(1.0, np.abs(M).max())
        )
        assert found.details["mass_rank"] == mass_rank
    assert met > 60 < refused
