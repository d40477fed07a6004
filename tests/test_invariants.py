"""Invariants that runs keep: closed forms, own sums, what is no invariant, what depends on others, where it acts."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import ellipj

import sarrus as sr
from invariant_cases import CASIMIR, CHAIN, INERTIA, heavy_ring, kept, momentum_of, ring, state, sums, top

Array = np.ndarray


def euler(t: Array, w0: Array) -> Array:
    """Return ω(t) of a free body that begins at ω₂ = 0 and turns about its third axis (Landau and Lifshitz I, § 37)."""
    a, b, c = INERTIA
    energy, square = (INERTIA * w0**2).sum(), ((INERTIA * w0) ** 2).sum()
    rate = np.sqrt((c - b) * (square - energy * a) / (a * b * c))
    modulus = (b - a) * (energy * c - square) / ((c - b) * (square - energy * a))
    sn, cn, dn, _ = ellipj(rate * t, modulus)
    return np.stack(
        [
            np.sqrt((energy * c - square) / (a * (c - a))) * cn,
            np.sqrt((energy * c - square) / (b * (c - b))) * sn,
            np.sqrt((square - energy * a) / (c * (c - a))) * dn,
        ],
        axis=1,
    )


def test_euler_top_against_elliptic_functions() -> None:
    system, w0 = top(), np.array([0.8, 0.0, 1.0])
    for options in ({"rtol": 1e-12}, {"dt": 2e-3}):
        run = sr.simulate(
            system, system.neutral(), w0, duration=10.0, stabilization=kept("energy", CASIMIR), **options
        )
        assert_allclose(run.v, euler(run.t, w0), rtol=0, atol=1e-9)
        assert run.status is sr.Status.OK
        assert max(run.invariant_drift.values()) < 1e-12


def test_euler_top_in_coarse_steps_turns_on_its_polhode() -> None:
    """Steps of 0.2 s for 400 s: ω stays where ellipsoids of energy and Casimir meet, which it leaves without."""
    system, w0 = top(), np.array([0.8, 0.0, 1.0])

    def ellipsoids(**options: object) -> tuple[float, float]:
        run = sr.simulate(
            system, system.neutral(), w0, duration=400.0, dt=0.2, error_estimate=False, **options
        )  # type: ignore[arg-type]
        return np.ptp((INERTIA * run.v**2).sum(axis=1)), np.ptp(((INERTIA * run.v) ** 2).sum(axis=1))

    assert max(ellipsoids(stabilization=kept("energy", CASIMIR))) < 1e-12
    energy, square = ellipsoids(stabilization="energy")
    assert energy < 1e-12 < 1e-4 < square
    assert min(ellipsoids()) > 1e-4


def test_components_of_momentum_make_the_casimir_redundant() -> None:
    system, w0 = top(), np.array([0.8, 0.3, 1.0])
    parts = [f"angular_momentum.{axis}" for axis in "xyz"]
    run = sr.simulate(
        system, system.neutral(), w0, duration=5.0, dt=0.02, stabilization=kept(*parts, CASIMIR, "energy")
    )
    assert max(run.invariant_drift.values()) < 1e-12
    assert_allclose(run.invariants[:, 3], (run.invariants[:, :3] ** 2).sum(axis=1), atol=1e-12)
    assert [event.name for event in run.events] == [
        "invariants of rank 4, of 5: the constraints and those before fix 'Casimir'"
    ]
    found = sr.check_invariants(system, system.neutral(), w0, invariants=(*parts, CASIMIR, "energy"))
    assert (found.rank, found.redundant, found.changed) == (4, ("Casimir",), ())
    steady = sr.check_invariants(system, system.neutral(), [0, 0, 1.0], invariants=("energy", CASIMIR))
    assert (steady.rank, steady.redundant) == (1, ())  # gradients are parallel there alone
    turn = sr.simulate(
        system, system.neutral(), [0, 0, 1.0], duration=5.0, dt=0.02, stabilization=kept("energy", CASIMIR)
    )
    assert_allclose(turn.v, [[0, 0, 1.0]] * len(turn.t), atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{"dt": 0.02}, {"rtol": 1e-6, "method": "dopri5"}, {"rtol": 1e-8}, {"rtol": 1e-6, "method": "rodas5p"}],
)
def test_floating_ring_keeps_its_sums(options: dict[str, object]) -> None:
    q, v = state(ring())
    run = sr.simulate(ring(), q, v, duration=5.0, stabilization=kept(*CHAIN), **options)  # type: ignore[arg-type]
    own = np.array([sums(*both) for both in zip(run.q, run.v)])
    assert_allclose(own, [own[0]] * len(own), atol=1e-11)
    assert_allclose(run.invariants[:, 1:], own, atol=1e-11)
    assert run.energy_drift < 1e-11
    assert run.residual.max() < 1e-13
    exact = sr.simulate(ring(), q, v, duration=5.0, rtol=1e-12)
    assert np.abs(run.q[-1] - exact.q[-1]).max() < 3e-5


def test_order_stays_four() -> None:
    q, v = state(ring())
    exact = sr.simulate(ring(), q, v, duration=1.0, rtol=1e-13, atol=1e-13).q[-1]
    steps = np.array([0.04, 0.02, 0.01])
    errors = [
        np.abs(sr.simulate(ring(), q, v, duration=1.0, dt=h, stabilization=kept(*CHAIN)).q[-1] - exact).max()
        for h in steps
    ]
    assert 3.8 < np.polyfit(np.log(steps), np.log(errors), 1)[0] < 4.5


def test_spherical_pendulum_against_quadrature() -> None:
    """On a sphere under gravity: Lz and energy; the azimuth from one lowest place to the next is an integral."""
    system = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[2],
        holonomic=lambda q, t: ca.sumsqr(q) - 1,
    )
    spin = sr.Invariant("Lz", lambda q, v, t: q[0] * v[1] - q[1] * v[0])
    q, v = [0.6, 0.0, -0.8], [0.0, 4.0, 0.0]
    lowest = sr.Event("turn", lambda q, v, t: v[2], direction=1)
    run = sr.simulate(
        system, q, v, duration=5.0, dt=2e-3, stabilization=kept("energy", spin), events=[lowest]
    )
    assert max(run.invariant_drift.values()) < 1e-11
    assert run.residual.max() < 1e-13
    energy, momentum = 8.0 - 9.81 * 0.8, 2.4
    roots = np.sort(np.roots([2 * 9.81, -2 * energy, -2 * 9.81, 2 * energy - momentum**2]))
    low, high = roots[0], roots[1]
    assert low == pytest.approx(-0.8)  # the start is a turning point

    def azimuth(s: float) -> float:  # z = middle + half sin s takes the roots out
        z = (high + low) / 2 + (high - low) / 2 * np.sin(s)
        return momentum / (1 - z**2) / np.sqrt(2 * 9.81 * (roots[2] - z))

    turn = 2 * quad(azimuth, -np.pi / 2, np.pi / 2, epsabs=1e-13)[0]
    times = [event.time for event in run.events if event.name == "turn" and event.time > 0.1]
    for count, time in enumerate(times, 1):
        at = sr.simulate(system, q, v, duration=time, dt=2e-3, stabilization=kept("energy", spin)).q[-1]
        assert np.cos(count * turn) == pytest.approx(at[0] / np.hypot(*at[:2]), abs=2e-8)


def test_kepler_ellipse_with_the_laplace_vector_and_a_parameter() -> None:
    system = sr.System.from_lagrangian(
        nq=2, parameters={"mu": 1.3}, lagrangian=lambda q, v, t, p: ca.sumsqr(v) / 2 + p.mu / ca.norm_2(q)
    )
    spin = sr.Invariant("L", lambda q, v, t: q[0] * v[1] - q[1] * v[0])
    laplace = sr.Invariant(
        "Laplace",
        lambda q, v, t, p: (q[0] * v[1] - q[1] * v[0]) * ca.vertcat(v[1], -v[0]) - p.mu * q / ca.norm_2(q),
    )
    eccentricity = 0.5
    speed = np.sqrt(1.3 * (1 + eccentricity) / (1 - eccentricity))
    run = sr.simulate(
        system, [1 - eccentricity, 0], [0, speed], duration=60.0, dt=0.03, error_estimate=False,
        stabilization=kept("energy", spin, laplace),
    )  # fmt: skip
    size, angle = np.hypot(*run.q.T), np.arctan2(*run.q.T[::-1])
    assert_allclose(size, (1 - eccentricity**2) / (1 + eccentricity * np.cos(angle)), rtol=1e-11)
    assert run.invariant_names == ("energy", "L", "Laplace[0]", "Laplace[1]")
    assert "of rank 3, of 4" in run.events[0].name
    system.parameters["mu"] = 1.0
    drift = sr.simulate(system, [1, 0], [0, 1.1], duration=1.0, dt=0.01, stabilization=kept(laplace))
    assert max(drift.invariant_drift.values()) < 1e-12


def test_motion_of_the_centre_as_an_invariant_of_time() -> None:
    """Under gravity the momentum p + m g t is one: it depends on time."""
    total = sum(body.mass for body in heavy_ring().mechanism.bodies.values())
    q, v = state(heavy_ring())
    rate = sr.Invariant("falls", lambda q, v, t: momentum_of(q, v)[1] + total * 9.81 * t)
    run = sr.simulate(
        heavy_ring(), q, v, duration=2.0, dt=0.01, stabilization=kept("energy", "momentum.x", rate)
    )
    own = np.array([sums(*both) for both in zip(run.q, run.v)])
    assert_allclose(own[:, 1] + total * 9.81 * run.t, own[0, 1], atol=1e-11)
    assert run.status is sr.Status.OK


# --- what is no invariant ---------------------------------------------------------------------------------


def test_gravity_changes_momentum_and_is_named() -> None:
    q, v = state(heavy_ring())
    with pytest.raises(sr.SimulationError, match=r"'momentum.y', which changes by -58.86 a second") as caught:
        sr.simulate(heavy_ring(), q, v, duration=1.0, stabilization=kept(*CHAIN[:3]))
    run = caught.value.trajectory
    assert run.status is sr.Status.NOT_INVARIANT
    assert "momentum.x" not in run.message
    many = sr.rollout(
        heavy_ring(), [q, q], [v, v], duration=1.0, dt=0.01, stabilization=kept("momentum.y"), threads=1
    )
    assert (many.status == sr.Status.NOT_INVARIANT).all()
    assert (many.reached == 0.0).all()
    found = sr.check_invariants(heavy_ring(), q, v, invariants=CHAIN[:3])
    assert found.changed == ("momentum.y",)
    assert found.rates[2] == pytest.approx(-9.81 * 6.0)
    assert found.status is sr.Status.NOT_INVARIANT
    assert "'momentum.y' changes by -58.86 a second" in found.message


def test_what_begins_later_ends_the_run_then() -> None:
    q, v = state(ring())

    def force(q: ca.SX, v: ca.SX, t: ca.SX) -> list[object]:
        return [0, 0, 0.1 * ca.if_else(t > 1.0, 1, 0), 0, 0, 0, 0]

    for options in ({"dt": 0.02}, {}):
        run = sr.simulate(
            ring(), q, v, duration=2.0, force=force, stabilization=kept(*CHAIN[1:]), throw=False, **options
        )
        assert run.status is sr.Status.NOT_INVARIANT
        assert "'angular_momentum.z', which changes by 0.1 a second" in run.message
        assert "'momentum" not in run.message
        assert 0.99 < run.t[-1] < 1.05


def test_forces_inside_are_no_matter() -> None:
    q, v = state(ring())
    run = sr.simulate(
        ring(), q, v, duration=2.0, dt=5e-3, stabilization=kept(*CHAIN[1:]),
        force=lambda q, v, t: [0, 0, 0, ca.sin(t) - 0.1 * v[3], 0, 0, 0],
    )  # fmt: skip
    own = np.array([sums(*both) for both in zip(run.q, run.v)])
    assert_allclose(own, [own[0]] * len(own), atol=1e-11)
    assert np.ptp(run.energy) > 0.01


def test_dry_friction_takes_energy() -> None:
    """The energy of a slider that rubs was kept, and it went on at its first speed."""
    m = sr.Mechanism("slider", gravity=(0, 0, -9.81))
    m.add_body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("j", "prismatic", "world", "b", axis=(1, 0, 0), friction=0.5)
    run = sr.simulate(sr.System(m), [0.0], [1.0], duration=2.0, stabilization="energy", throw=False)
    assert run.status is sr.Status.NOT_INVARIANT
    assert "'energy', which changes by -0.5 a second" in run.message


def test_what_the_constraints_move_is_no_invariant() -> None:
    """x = cos t: its rate vanishes at the start alone."""
    system = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - ca.sumsqr(q),
        holonomic=lambda q, t: q[0] - ca.cos(t),
    )
    place = sr.Invariant("place", lambda q, v, t: q[0])
    for options in ({"dt": 1e-2}, {}):
        run = sr.simulate(system, [1.0, 0.3], duration=1.0, stabilization=kept(place), throw=False, **options)
        assert not run.status.complete
        assert "'place' cannot be kept with the constraints" in run.message
        assert run.t[-1] < 0.1


def test_a_symmetric_start_keeps_its_symmetry() -> None:
    """An invariant of this motion alone, which is one as long as the start is symmetric."""
    m = sr.Mechanism("two", gravity=(0, 0, -9.81))
    for k, x in enumerate((-1.0, 1.0)):
        m.add_body(f"p{k}", mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
        m.add_joint(f"h{k}", "revolute", "world", f"p{k}", axis=(0, 1, 0), parent_pose=(x, 0, 0))
    m.add_spring_damper(
        "s", "p0", "p1", point1=(0, 0, -1), point2=(0, 0, -1), stiffness=20.0, rest_length=1.5
    )
    system = sr.System(m)
    mirror = sr.Invariant("mirror", lambda q, v, t: ca.vertcat(q[0] + q[1], v[0] + v[1]))
    run = sr.simulate(system, [0.5, -0.5], duration=5.0, stabilization=kept("energy", mirror))
    assert np.abs(run.q.sum(axis=1)).max() < 1e-13
    with pytest.raises(sr.SimulationError, match=r"'mirror\[1\]', which changes by"):
        sr.simulate(system, [0.5, -0.4], duration=5.0, stabilization=kept("energy", mirror))


def test_boxes_that_slide() -> None:
    def box(friction: float) -> sr.System:
        m = sr.Mechanism("box", gravity=(0, 0, -9.81))
        m.add_body("b", mass=1.0, com=(0, 0, 0.1), inertia=(0.1, 0.1, 0.1))
        m.add_joint("j", "free", "world", "b")
        for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
            m.add_contact(
                f"c{k}", "b", (0.2 * x, 0.2 * y, 0), friction="coulomb", friction_coefficient=friction
            )
        return sr.System(m)

    smooth, rough = box(0.0), box(0.3)
    v = [1.0, 0.3, 0, 0, 0, 0.5]
    turn = sr.Invariant.angular_momentum((0, 0, 1), name="turn")
    run = sr.simulate(
        smooth, smooth.neutral(), v, duration=2.0, stabilization=kept("energy", "momentum.x", turn)
    )
    assert max(run.invariant_drift.values()) < 1e-12
    for one in ("energy", "momentum.x", turn):
        with pytest.raises(sr.SimulationError, match="which changes by -"):
            sr.simulate(rough, rough.neutral(), v, duration=2.0, stabilization=kept(one))
    with pytest.raises(sr.ArgumentError, match="leave stabilization at its default"):
        sr.simulate(smooth, smooth.neutral(), v, duration=0.1, dt=1e-3, stabilization=kept("momentum.x"))


def test_what_the_constraints_fix_is_redundant() -> None:
    system = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1],
        holonomic=lambda q, t: ca.sumsqr(q) - 1,
    )
    length = sr.Invariant("length", lambda q, v, t: ca.norm_2(q) ** 3)
    runs = [
        sr.simulate(system, [1.0, 0.0], duration=2.0, dt=0.01, stabilization=stabilization)
        for stabilization in ("energy", kept("energy", length))
    ]
    assert_allclose(runs[1].q, runs[0].q, atol=1e-11)
    assert "rank 1, of 2" in runs[1].events[0].name
    assert "'length'" in runs[1].events[0].name


def test_impacts_begin_anew() -> None:
    m = sr.Mechanism("ball", gravity=(0, 0, -9.81))
    m.add_body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("j", "planar", "world", "b", axis=(0, 1, 0))
    m.add_contact("c", "b", (0, 0, 0), friction="coulomb", friction_coefficient=0.0, restitution=0.5)
    system = sr.System(m)
    height = 1.0 if system.body_placements(np.array([0.0, 1.0, 0.0]))[0][0][2] > 0 else -1.0
    run = sr.simulate(
        system, [0, 0.3 * height, 0], [1.0, 0, 0.4], duration=0.6, stabilization=kept("energy", "momentum.x")
    )
    assert len(run.switches) == 2
    hit = np.sqrt(2 * 0.3 / 9.81)
    levels = [0.5 + 0.008 + 9.81 * 0.3 * 0.25**k for k in range(3)]
    expected = [levels[int(np.sum(t > [hit, 2 * hit]))] for t in run.t]
    inside = np.abs(run.t[:, None] - [hit, 2 * hit]).min(axis=1) > 1e-9
    assert_allclose(run.invariants[inside, 0], np.array(expected)[inside], atol=1e-9)
    assert run.invariant_drift["momentum.x"] < 1e-13
