"""Invariants that runs keep: closed forms, own sums, what is no invariant, what depends on others, where it acts."""

from __future__ import annotations

import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import ellipj

import sarrus as sr

sys.path.insert(0, str(Path(__file__).resolve().parent / "families"))
from kept_invariants import cases

Array = np.ndarray
CHAIN = ("energy", "momentum.x", "momentum.y", "angular_momentum.z")
INERTIA = np.array([1.0, 2.0, 3.0])


def kept(*invariants: str | sr.Invariant, **more: object) -> sr.Stabilization:
    return sr.Stabilization(invariants=invariants, **more)  # type: ignore[arg-type]


def top() -> sr.System:
    m = sr.Mechanism("top", gravity=(0, 0, 0))
    m.add_body("body", mass=1.0, inertia=tuple(INERTIA))
    m.add_joint("pivot", "spherical", "world", "body")
    return sr.System(m)


CASIMIR = sr.Invariant("Casimir", lambda q, v, t: ca.sumsqr(ca.DM(np.diag(INERTIA)) @ v))


def chain(gravity: tuple[float, float, float] = (0, 0, 0), links: int = 5) -> sr.Mechanism:
    """Links in a closed ring that float in a plane."""
    m = sr.Mechanism("ring", gravity=gravity)
    for k in range(links):
        m.add_body(f"link{k}", mass=1.0 + 0.1 * k, com=(0.5, 0.1, 0), inertia=(0.1, 0.1, 0.1 + 0.01 * k))
        if k:
            m.add_joint(
                f"j{k}", "revolute", f"link{k - 1}", f"link{k}", parent_pose=(1, 0, 0), axis=(0, 0, 1)
            )
        else:
            m.add_joint("base", "planar", "world", "link0", axis=(0, 0, 1))
    m.add_closure("ring", "point", f"link{links - 1}", "link0", pose1=(1, 0, 0), pose2=(0, 0, 0))
    return m


def state(system: sr.System, seed: int = 0) -> tuple[Array, Array]:
    q = system.assemble([0, 0, 0, 1.2, 1.2, 1.2, 1.4]).q
    return q, system.project_velocity(q, np.random.default_rng(seed).normal(size=system.nv))


def sums(q: Array, v: Array, links: int = 5) -> Array:
    """Return px, py and Lz about the origin of a chain, from sums over its links."""
    place, speed, angle, turn = np.array(q[:2]), np.array(v[:2]), 0.0, 0.0
    found = np.zeros(3)
    for k in range(links):
        angle, turn = angle + q[2 + k], turn + v[2 + k]
        c, s = np.cos(angle), np.sin(angle)
        arm = np.array([0.5 * c - 0.1 * s, 0.5 * s + 0.1 * c])
        centre, rate = place + arm, speed + turn * np.array([-arm[1], arm[0]])
        p = (1.0 + 0.1 * k) * rate
        found += [p[0], p[1], centre[0] * p[1] - centre[1] * p[0] + (0.1 + 0.01 * k) * turn]
        place, speed = place + np.array([c, s]), speed + turn * np.array([-s, c])
    return found


RING = sr.System(chain())
HEAVY = sr.System(chain(gravity=(0, -9.81, 0)))


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
    q, v = state(RING)
    run = sr.simulate(RING, q, v, duration=5.0, stabilization=kept(*CHAIN), **options)  # type: ignore[arg-type]
    own = np.array([sums(*both) for both in zip(run.q, run.v)])
    assert_allclose(own, [own[0]] * len(own), atol=1e-11)
    assert_allclose(run.invariants[:, 1:], own, atol=1e-11)
    assert run.energy_drift < 1e-11
    assert run.residual.max() < 1e-13
    exact = sr.simulate(RING, q, v, duration=5.0, rtol=1e-12)
    assert np.abs(run.q[-1] - exact.q[-1]).max() < 3e-5


def test_order_stays_four() -> None:
    q, v = state(RING)
    exact = sr.simulate(RING, q, v, duration=1.0, rtol=1e-13, atol=1e-13).q[-1]
    steps = np.array([0.04, 0.02, 0.01])
    errors = [
        np.abs(sr.simulate(RING, q, v, duration=1.0, dt=h, stabilization=kept(*CHAIN)).q[-1] - exact).max()
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
    total = sum(body.mass for body in HEAVY.mechanism.bodies.values())
    q, v = state(HEAVY)
    rate = sr.Invariant("falls", lambda q, v, t: _momentum(q, v)[1] + total * 9.81 * t)
    run = sr.simulate(HEAVY, q, v, duration=2.0, dt=0.01, stabilization=kept("energy", "momentum.x", rate))
    own = np.array([sums(*both) for both in zip(run.q, run.v)])
    assert_allclose(own[:, 1] + total * 9.81 * run.t, own[0, 1], atol=1e-11)
    assert run.status is sr.Status.OK


def _momentum(q: ca.SX, v: ca.SX) -> ca.SX:
    """Return px and py of the ring over symbols."""
    speed, angle, turn = v[:2], 0, 0
    found = ca.SX.zeros(2)
    for k in range(5):
        angle, turn = angle + q[2 + k], turn + v[2 + k]
        c, s = ca.cos(angle), ca.sin(angle)
        found += (1.0 + 0.1 * k) * (speed + turn * ca.vertcat(-0.5 * s - 0.1 * c, 0.5 * c - 0.1 * s))
        speed = speed + turn * ca.vertcat(-s, c)
    return found


# --- what is no invariant ---------------------------------------------------------------------------------


def test_gravity_changes_momentum_and_is_named() -> None:
    q, v = state(HEAVY)
    with pytest.raises(sr.SimulationError, match=r"'momentum.y', which changes by -58.86 a second") as caught:
        sr.simulate(HEAVY, q, v, duration=1.0, stabilization=kept(*CHAIN[:3]))
    run = caught.value.trajectory
    assert run.status is sr.Status.NOT_INVARIANT
    assert "momentum.x" not in run.message
    many = sr.rollout(
        HEAVY, [q, q], [v, v], duration=1.0, dt=0.01, stabilization=kept("momentum.y"), threads=1
    )
    assert (many.status == sr.Status.NOT_INVARIANT).all()
    assert (many.reached == 0.0).all()
    found = sr.check_invariants(HEAVY, q, v, invariants=CHAIN[:3])
    assert found.changed == ("momentum.y",)
    assert found.rates[2] == pytest.approx(-9.81 * 6.0)
    assert found.status is sr.Status.NOT_INVARIANT
    assert "'momentum.y' changes by -58.86 a second" in found.message


def test_what_begins_later_ends_the_run_then() -> None:
    q, v = state(RING)

    def force(q: ca.SX, v: ca.SX, t: ca.SX) -> list[object]:
        return [0, 0, 0.1 * ca.if_else(t > 1.0, 1, 0), 0, 0, 0, 0]

    for options in ({"dt": 0.02}, {}):
        run = sr.simulate(
            RING, q, v, duration=2.0, force=force, stabilization=kept(*CHAIN[1:]), throw=False, **options
        )
        assert run.status is sr.Status.NOT_INVARIANT
        assert "'angular_momentum.z', which changes by 0.1 a second" in run.message
        assert "'momentum" not in run.message
        assert 0.99 < run.t[-1] < 1.05


def test_forces_inside_are_no_matter() -> None:
    q, v = state(RING)
    run = sr.simulate(
        RING, q, v, duration=2.0, dt=5e-3, stabilization=kept(*CHAIN[1:]),
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


# --- where it acts, and where it is refused -----------------------------------------------------------------


def test_formulations_events_and_many_runs() -> None:
    q, v = state(RING)
    way = kept(*CHAIN)
    plain = sr.simulate(RING, q, v, duration=1.0, dt=0.02, stabilization=way)
    short = {"duration": 0.2, "dt": 2e-3, "stabilization": way}
    other = sr.simulate(RING, q, v, formulation="null-space", **short)  # type: ignore[arg-type]
    assert_allclose(other.q, sr.simulate(RING, q, v, **short).q, atol=1e-11)  # type: ignore[arg-type]
    assert max(other.invariant_drift.values()) < 1e-12
    event = sr.Event("flat", lambda q, v, t: q[3] - 1.0)
    cut = sr.simulate(RING, q, v, duration=1.0, rtol=1e-8, stabilization=way, events=[event])
    assert max(cut.invariant_drift.values()) < 1e-12
    many = sr.rollout(RING, [q, q], [v, 2 * v], duration=1.0, dt=0.02, every=1, stabilization=way, threads=1)
    assert_allclose(many.final_q[0], plain.q[-1], atol=0)
    for run in range(2):
        own = np.array([sums(*both) for both in zip(many.samples.q[run], many.samples.v[run])])
        assert_allclose(own, [own[0]] * len(own), atol=1e-11)


def test_energy_is_one_of_them_to_the_bit() -> None:
    q, v = state(HEAVY)
    runs = [
        sr.simulate(HEAVY, q, v, duration=0.5, dt=0.01, stabilization=one, error_estimate=False)
        for one in ("energy", kept("energy"), kept(sr.Invariant.energy()))
    ]
    for run in runs[1:]:
        assert (run.q == runs[0].q).all()
        assert (run.v == runs[0].v).all()
        assert run.invariant_names == ("energy",)


def test_every_so_many_steps() -> None:
    q, v = state(RING)
    run = sr.simulate(RING, q, v, duration=1.0, dt=0.02, stabilization=kept(*CHAIN, every=5))
    assert run.status is sr.Status.OK
    own = np.array([sums(*both) for both in zip(run.q, run.v)])
    assert_allclose(own[::5], [own[0]] * len(own[::5]), atol=1e-11)


def test_quantities_of_laws() -> None:
    q, v = state(RING)
    both = sr.Invariant("p", sr.control.momentum("xy", ""))
    run = sr.simulate(RING, q, v, duration=0.5, dt=0.02, stabilization=kept(both))
    assert run.invariant_names == ("p[0]", "p[1]")
    assert_allclose(run.invariants[-1], sums(q, v)[:2], atol=1e-11)


def test_files(tmp_path: Path) -> None:
    q, v = state(RING)
    run = sr.simulate(RING, q, v, duration=0.2, dt=0.02, stabilization=kept(*CHAIN))
    again = sr.Trajectory.load(run.save(tmp_path / "ring.nc"))
    assert again.invariant_names == CHAIN
    assert (again.invariants == run.invariants).all()
    assert again.invariant_drift == run.invariant_drift
    header = run.to_csv(tmp_path / "ring.csv").read_text().splitlines()[0]
    assert "invariants momentum.x" in header
    plain = sr.simulate(RING, q, v, duration=0.2, dt=0.02)
    assert plain.invariants.shape == (11, 0)
    assert "invariants" not in plain.to_xarray()


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sarrus.cli.main import main

    path = tmp_path / "ring.xml"
    chain(links=3).to_mjcf(path)
    arguments = ["simulate", str(path), "--duration", "0.2", "--dt", "0.01", "--velocity", "base.x=1"]
    arguments += ["--assemble"]
    assert main([*arguments, "--invariant", "momentum.x", "--invariant", "energy"]) == 0
    assert "momentum.x drift" in capsys.readouterr().out
    assert main([*arguments, "--invariant", "momentum"]) == 2
    assert "momentum.x" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("not by kind='none'", {"kind": "none", "invariants": ("energy",)}),
        ("not by kind='baumgarte'", {"kind": "baumgarte", "invariants": ("energy",)}),
        ("must be a sequence", {"invariants": "energy"}),
        ("unknown invariant 'momentum'. Did you mean 'momentum", {"invariants": ("momentum",)}),
        ("names or sr.Invariant", {"invariants": (3,)}),
        ("names of their own", {"invariants": ("energy", sr.Invariant.energy())}),
    ],
)
def test_refusals_of_a_stabilization(text: str, arguments: dict[str, object]) -> None:
    with pytest.raises(sr.ArgumentError, match=text):
        sr.Stabilization(**arguments)  # type: ignore[arg-type]


def test_refusals_of_runs() -> None:
    q, v = state(RING)
    refused = {
        "depends on neither q nor v": {"stabilization": kept(sr.Invariant("clock", lambda q, v, t: t))},
        "invariant 'odd': the function could not": {
            "stabilization": kept(sr.Invariant("odd", lambda q, v, t: q[99]))
        },
        "'momentum.z' depends on neither": {"stabilization": kept("momentum.z")},
        "leave stabilization='projection'": {"stabilization": kept("energy"), "coordinates": "partition"},
        "leave stabilization as it is": {
            "stabilization": kept("energy"),
            "method": "moreau-jean",
            "dt": 0.01,
        },
        "needs a conservative system": {
            "stabilization": kept("energy"),
            "force": lambda q, v, t: [0] * 7,
        },
    }
    for text, options in refused.items():
        with pytest.raises(sr.ArgumentError, match=text):
            sr.simulate(RING, q, v, duration=0.1, **options)  # type: ignore[arg-type]
    plain = sr.System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: v**2 / 2)
    with pytest.raises(sr.ArgumentError, match=r"'momentum.x': .* only a system made from a Mechanism"):
        sr.simulate(plain, [0.0], duration=0.1, stabilization=kept("momentum.x"))
    for bad in ({"name": "", "function": abs}, {"name": "a", "function": 3}):
        with pytest.raises(sr.ArgumentError, match="Invariant"):
            sr.Invariant(**bad)  # type: ignore[arg-type]
    with pytest.raises(sr.ArgumentError, match="no length"):
        sr.Invariant.momentum((0, 0, 0))


def test_seeded_mechanisms() -> None:
    """``python tests/families/kept_invariants.py --cases 200`` does more."""
    for seed, found, change in cases(0, 8):
        assert found == "right", seed
        assert change < 1e-11


def test_studies_and_comparisons(tmp_path: Path) -> None:
    q, v = state(RING)
    way = kept("energy", sr.Invariant("along", lambda q, v, t: _momentum(q, v)[0]))
    settings = {"duration": 0.1, "dt": 0.01, "q": q, "store": tmp_path / "runs", "stabilization": way}
    grid = {"q.base.x": [0.0, 0.1]}
    found = sr.study(RING, grid, **settings)  # type: ignore[arg-type]
    assert (found.status == "OK").all()
    again = sr.study(RING, grid, **settings)  # type: ignore[arg-type]
    assert_allclose(again.q, found.q, atol=0)
    with pytest.raises(sr.ArgumentError, match="stabilization"):
        sr.study(RING, grid, **(settings | {"stabilization": "energy"}))  # type: ignore[arg-type]
    compared = sr.compare(
        RING,
        q,
        v,
        duration=0.1,
        dt=0.01,
        formulations=["kernel", "kernel:baumgarte", "null-space"],
        stabilization=way,
    )
    runs = compared.trajectories
    assert runs["kernel"].invariant_names == ("energy", "along")
    assert runs["kernel:baumgarte"].invariant_names == ()
    assert max(runs["null-space"].invariant_drift.values()) < 1e-12


def test_an_environment_keeps_none() -> None:
    pytest.importorskip("gymnasium")
    m = chain(links=3)
    m.add_actuator("motor", "j1")
    with pytest.raises(sr.ArgumentError, match="it keeps no invariants"):
        sr.gym.make(
            sr.System(m), duration=1.0, sample_time=0.01, stabilization=kept("momentum.x"),
            reward=lambda q, v, u, t: 0.0,
        )  # fmt: skip
