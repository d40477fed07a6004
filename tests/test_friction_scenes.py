"""Friction on whole mechanisms: a chain over a post, a five-bar's feet, against closed forms; runs that are cut off."""

from __future__ import annotations

import signal
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

import sarrus as sr
from conftest import load_example
from test_time_stepping import body, moving, order, point, run

G = 9.81


# --- a chain over a post --------------------------------------------------------------------------------


def constant(force: np.ndarray, q: object, v: object, t: object) -> tuple[float, ...]:
    """Return a force that is the same everywhere."""
    return tuple(force)


def chain(
    count: int, friction: float, wrap: float, pull: tuple[float, float]
) -> tuple[sr.System, np.ndarray]:
    """Return a chain of point masses around a fixed post of radius 1, pulled at both ends, and where it lies.

    Each mass touches the tangent plane of the post at its angle; the chain turns by wrap / count at each.
    """
    turn = wrap / count
    mechanism = sr.Mechanism("chain", gravity=(0, 0, 0))
    angles = (np.arange(count) + 0.5) * turn
    for k, angle in enumerate(angles):
        normal = np.array([np.cos(angle), 0.0, np.sin(angle)])
        mechanism.add_body(f"m{k}", 1.0, inertia=(1.0,) * 3)
        mechanism.add_joint(f"m{k}", "planar", "world", f"m{k}", axis=(0, -1, 0), axis2=(1, 0, 0))
        mechanism.add_contact(
            f"c{k}", f"m{k}", normal=normal, offset=1.0, friction="coulomb", friction_coefficient=friction
        )
        if k:
            length = 2.0 * np.sin(0.5 * turn)
            mechanism.add_closure(f"link{k}", "distance", f"m{k - 1}", f"m{k}", length=length)
    for name, end, force, angle in (
        ("low", 0, pull[0], -0.5 * np.pi),
        ("high", count - 1, pull[1], wrap + 0.5 * np.pi),
    ):
        along = force * np.array([np.cos(angle), 0.0, np.sin(angle)])
        mechanism.add_force(name, partial(constant, along), body=f"m{end}")
    system = sr.System(mechanism)
    return system, np.column_stack([np.cos(angles), np.sin(angles), np.zeros(count)]).ravel()


@pytest.mark.parametrize("friction", [0.2, 0.7])
def test_a_chain_over_a_post_holds_what_euler_and_eytelwein_say(friction: float) -> None:
    """T₂/T₁ is at most (1 + μ tan δ/2)/(1 − μ tan δ/2) for each turn by δ, and of many turns exp(μ β).

    It holds to 1e-6 below the product and slides 1e-6 above; the product comes to the limit with the square of δ.
    """
    wrap, distances = np.pi, []
    for count in (2, 4, 8, 16):
        gain = friction * np.tan(0.5 * wrap / count)
        ratio = ((1.0 + gain) / (1.0 - gain)) ** count
        for excess, holds in ((1.0 - 1e-6, True), (1.0 + 1e-6, False)):
            system, q = chain(count, friction, wrap, (1.0, ratio * excess))
            motion = run(system, q, None, 0.1, 1e-2)
            assert motion.status.ok
            speed = float(np.abs(motion.v[-1]).max())
            assert (speed < 1e-12) is holds, (count, speed)
            assert motion.residual.max() < 1e-12
        distances.append(np.log(ratio) - friction * wrap)
        forces = motion.contact_forces[-1].reshape(count, 3)
        assert_allclose(np.hypot(*forces[:, 1:].T), friction * forces[:, 0], rtol=1e-9)  # all slide at once
        assert_allclose(forces[1:, 0] / forces[:-1, 0], (1.0 + gain) / (1.0 - gain), rtol=1e-4)
    assert order(distances) == pytest.approx(2.0, abs=0.1)


# --- the feet of a five-bar --------------------------------------------------------------------------------

PRESS, FRICTION, CARRIAGE, FOOT, REACH = 25.0, 0.4, 0.5, 0.2, 0.1


def footed_five_bar() -> tuple[sr.System, np.ndarray]:
    """Return the five-bar whose tip carries two feet, each pressed against a vertical wall by 25 N, and its start.

    The tip stays between the walls, so every normal force is 25 N; the mechanism falls through the configuration in
    which all its links lie on one line.
    """
    module = load_example("five_bar")
    mechanism = module.build()
    del mechanism.closures["tips"]
    mechanism.add_body("rail", 0.0)
    mechanism.add_joint("x", "prismatic", "world", "rail", axis=(1, 0, 0), parent_pose=(0.5, 0, 0))
    mechanism.add_body("carriage", CARRIAGE)
    mechanism.add_joint("z", "prismatic", "rail", "carriage", axis=(0, 0, 1))
    for link in ("link2", "link3"):
        mechanism.add_closure(
            f"{link}.tip", "point_on_line", "carriage", link, axis=(0, 1, 0), pose2=(1.5, 0, 0)
        )
    for name, side in (("left", -1), ("right", 1)):
        mechanism.add_body(f"{name}_foot", FOOT)
        mechanism.add_joint(
            f"{name}_foot",
            "prismatic",
            "carriage",
            f"{name}_foot",
            axis=(side, 0, 0),
            parent_pose=(side * REACH, 0, 0),
        )
        mechanism.add_contact(
            f"{name}_wall", f"{name}_foot", normal=(-side, 0, 0), offset=-side * (0.5 + side * REACH),
            friction="coulomb", friction_coefficient=FRICTION,
        )  # fmt: skip
        mechanism.add_actuator(f"{name}_press", f"{name}_foot")
    system = sr.System(mechanism)
    q = np.zeros(system.nq)
    q[:4] = module.SYMMETRIC
    height = np.sin(q[0]) + 1.5 * np.sin(q[0] + q[1])
    q[system.coordinate_names.index("z")] = height
    return system, q


def fallen(psi: np.ndarray | float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return height of the tip, its slope, energy to come by, and inertia, for the angle ψ of the long links.

    Both sides are mirror images, 1/2 = cos θ + 3/2 cos ψ with θ = π − α, and α is smooth through ψ = 0.
    """
    module = load_example("five_bar")
    root = np.sqrt(1.5) * np.sin(0.5 * psi)
    alpha, rate = 2.0 * np.arcsin(root), np.sqrt(1.5) * np.cos(0.5 * psi) / np.sqrt(1.0 - root**2)
    short, long = module.MASS["link1"], module.MASS["link2"]
    height = np.sin(alpha) + 1.5 * np.sin(psi)
    slope = np.cos(alpha) * rate + 1.5 * np.cos(psi)
    middle = np.array([np.sin(alpha) * rate - 0.75 * np.sin(psi), np.cos(alpha) * rate + 0.75 * np.cos(psi)])
    one = module.INERTIA["link1"] + 0.25 * short
    inertia = 2.0 * (one * rate**2 + long * (middle**2).sum(axis=0) + module.INERTIA["link2"])
    inertia += (CARRIAGE + 2.0 * FOOT) * slope**2
    weight = 2.0 * (0.5 * short * np.sin(alpha) + long * (np.sin(alpha) + 0.75 * np.sin(psi)))
    energy = G * (weight + (CARRIAGE + 2.0 * FOOT) * height) - 2.0 * FRICTION * PRESS * height
    return height, slope, energy, inertia


def test_feet_of_a_five_bar_slide_while_its_loops_are_singular() -> None:
    """Virtual work gives the speed at every height and the time of the passage; energy goes as force times way."""
    system, q = footed_five_bar()
    start = q[0] + q[1]
    height, _, begun, _ = fallen(start)
    assert height == pytest.approx(q[system.coordinate_names.index("z")], abs=1e-12)

    def slowness(root: float) -> float:  # ψ = start − root², so that it stays finite at rest
        _, _, energy, inertia = fallen(start - root**2)
        return float(2.0 * root / np.sqrt(2.0 * (begun - energy) / inertia))

    flat = quad(slowness, 0.0, np.sqrt(start), epsabs=1e-12)[0]
    press = np.array([0.0, 0.0, PRESS, PRESS])
    passed, speeds, ends = [], [], []
    for dt in (4e-3, 2e-3, 1e-3):
        motion = run(system, q, None, 1.0, dt, control=lambda q, v, t: press)
        assert motion.status.ok
        assert motion.residual.max() < 1e-12
        (passage,) = motion.passages
        passed.append(abs(passage.time - flat))
        forces = motion.contact_forces.reshape(-1, 2, 3)
        assert_allclose(forces[1:, :, 0], PRESS, rtol=1e-10)
        assert_allclose(np.hypot(*forces[1:, :, 1:].T), FRICTION * PRESS, rtol=1e-10)
        z = motion.q[:, system.coordinate_names.index("z")]
        way = 2.0 * FRICTION * PRESS * (z[0] - z)
        speeds.append(np.abs(motion.energy[0] - motion.energy - way).max())
        assert_allclose(motion.contact_loss, way, atol=3.0 * speeds[-1] + 1e-9)
        psi = motion.q[-1, 0] + motion.q[-1, 1]
        _, slope, energy, inertia = fallen(psi)
        truth = -slope * np.sqrt(2.0 * (begun - energy) / inertia)
        ends.append(abs(motion.v[-1, system.velocity_names.index("z")] / truth - 1.0))
    assert psi < -0.2  # well beyond
    assert passed[-1] < 1e-6
    assert order(passed) == pytest.approx(2.0, abs=0.2)
    assert order(speeds) == pytest.approx(2.0, abs=0.2)
    assert ends[-1] < 1e-5


# --- runs that are cut off ------------------------------------------------------------------------------------


def test_an_interrupt_keeps_the_steps_with_contacts_so_far() -> None:
    """Ctrl-C while compiled code steps, at any moment: the forces, gaps and losses are those of the whole run."""
    system = point(0.3)
    v = moving(system, vx=200.0)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        motion = run(system, system.neutral(), v, 1e4, 1e-3, every=10)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert motion.status is sr.Status.INTERRUPTED
    assert "interrupted at t = " in motion.message
    assert len(motion.t) > 10
    assert len(motion.contact_forces) == len(motion.contact_loss) == len(motion.t)
    assert np.isfinite(motion.contact_forces).all()
    short = motion.t < 60.0  # it stops at 68 s
    assert_allclose(motion.v[short, 0], 200.0 - 0.3 * G * motion.t[short], rtol=1e-9)
    assert_allclose(motion.contact_forces[1:, 0], 2.0 * G, rtol=1e-9)


def test_an_interrupt_by_a_law_keeps_the_steps_with_contacts_so_far() -> None:
    mechanism = body()
    mechanism.add_contact("c", "block", friction="coulomb", friction_coefficient=0.3)
    mechanism.add_actuator("spin", "free.wz")
    system = sr.System(mechanism)

    def law(q: object, v: object, t: float) -> float:
        if t > 0.055:
            raise KeyboardInterrupt
        return 0.0

    motion = run(system, system.neutral(), moving(system, vx=1.0), 1.0, 1e-3, sample_time=0.01, control=law)
    assert motion.status is sr.Status.INTERRUPTED
    assert motion.t[-1] == pytest.approx(0.06)
    assert_allclose(motion.v[:, 0], 1.0 - 0.3 * G * motion.t, atol=1e-12)
