"""Friction of ropes on what they wrap, against closed forms and forces from vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sarrus as sr
from families import rope_friction as scenes
from families import ropes
from sarrus.base.errors import ModelError, UnsupportedElementError
from sarrus.dynamics.contacts.contact_elements import Mode
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.contacts.rope_tensions import grips_of
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.mechanism.tendons import Pulley, TendonJoint, Wrap
from sarrus.model.mechanism.transmissions import TendonTransmission

G = 9.81
MU = 0.2
RATIO = np.exp(MU * np.pi)  # 1.8744560876
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def angle_of(system: sr.System, q: np.ndarray, friction: float) -> float:
    """Return the angle θ [rad] of the wrap with friction."""
    return float(2 * np.arctanh(grips_of(system, system.pack(q)[None])["rope"][0]) / friction)


@pytest.mark.parametrize(("heavy", "light"), [(2.0, 1.0), (1.0, 2.0), (1.8, 1.0), (1.0, 1.8)])
def test_masses_over_a_post_slide_or_hold(heavy: float, light: float) -> None:
    """a = g (m₁ − m₂ exp(μθ)) / (m₁ + m₂ exp(μθ)) downwards if that is positive, else they hold."""
    system = scenes.over_post(heavy, light, MU)
    found = system.forward_dynamics([-1, -1], [0, 0])
    most, least = max(heavy, light), min(heavy, light)
    a = max(0.0, G * (most - least * RATIO) / (most + least * RATIO))
    down = a if heavy > light else -a
    np.testing.assert_allclose(found.a, [-down, down], rtol=0, atol=1e-12)
    assert found.contacts.modes["rope"] is (Mode.SLIDING if a else Mode.STICKING)
    tensions = sr.reactions(system, [-1, -1]).tensions
    expected = {"rope.1": heavy * (G - down), "rope.2": light * (G + down)}
    assert tensions == pytest.approx(expected, abs=1e-10)
    if not a:
        assert found.contacts.determined.all()
        held = sr.equilibrium(system, [-1, -1])
        mean, grip = held.contacts["rope"]
        part = np.tanh(0.5 * MU * np.pi) * grip
        assert (mean + part, mean - part) == pytest.approx((heavy * G, light * G), abs=1e-9)
        needed = abs(heavy - light) / (heavy + light) / np.tanh(0.5 * MU * np.pi)
        assert held.contacts.friction_needed == pytest.approx(needed, abs=1e-8)
        still = system.inverse_dynamics([-1, -1], [0, 0], [0, 0]).contacts
        assert still.forces == pytest.approx([mean, grip], abs=1e-9)


def test_the_scene_of_two_to_one() -> None:
    tensions = sr.reactions(scenes.over_post(2.0, 1.0, MU), [-1, -1]).tensions
    assert tensions == pytest.approx({"rope.1": 18.9842535866, "rope.2": 10.1278732067}, abs=1e-10)
    a = scenes.over_post(2.0, 1.0, MU).forward_dynamics([-1, -1], [0, 0]).a
    assert a[1] == pytest.approx(0.3178732067, abs=1e-10)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_rope_slides_to_rest_over_a_post_and_holds(sign: float) -> None:
    """Both directions of slip: the mass that goes down brakes as if it were lighter."""
    system = scenes.over_post(1.8, 1.0, MU)
    ratio = RATIO**sign
    brake = sign * G * (1.0 * ratio - 1.8) / (1.8 + 1.0 * ratio)
    stop = 0.5 / brake
    run = sr.simulate(system, [-1, -1], [-0.5 * sign, 0.5 * sign], duration=stop + 0.1, **EXACT)
    (stuck,) = (switch for switch in run.switches if switch.sticking)
    assert stuck.time == pytest.approx(stop, abs=1e-10)
    way = sign * 0.125 / brake
    np.testing.assert_allclose(run.q[-1], [-1 - way, -1 + way], rtol=0, atol=1e-9)
    sliding = run.t < stop - 1e-9
    np.testing.assert_allclose(
        run.tensions["rope.1"][sliding] / run.tensions["rope.2"][sliding], ratio, rtol=1e-11
    )
    at_rest = run.tensions["rope.1"][-1], run.tensions["rope.2"][-1]
    assert at_rest == pytest.approx((1.8 * G, G), abs=1e-9)
    lost = 0.5 * 2.8 * 0.25 + 0.8 * G * way  # kinetic energy, and what the heavier mass gives or takes
    assert run.contact_loss[-1] == pytest.approx(lost, abs=1e-9)
    assert abs(sr.energy_balance(run).residual).max() < 1e-9


def test_a_caught_mass_pulls_the_other_one_over_the_post() -> None:
    """An impact: the impulses have the ratio exp(μθ), v′ = m₁ v / (m₁ + m₂ exp(μθ)) downwards."""
    system = scenes.over_post(2.0, 1.0, MU)
    hit = sr.impact(system, [-1, -1], [-3.0, 0.0])
    after = 2.0 * 3.0 / (2.0 + RATIO)
    np.testing.assert_allclose(hit.v, [-after, after], rtol=0, atol=1e-12)
    # on the floor of the light side: from a slack rope, by events
    run = sr.simulate(system, [-0.9, -1], [0.0, 0.0], duration=0.3, **EXACT)
    assert run.switches[0].closed == ("rope",) or run.switches[0].opened
    assert run.status.ok


def test_a_band_brakes_its_drum() -> None:
    """The drum stops after ω I / (R m g |exp(±μθ) − 1|); then the band holds it."""
    system = scenes.band_brake(0.3)
    ratio = np.exp(0.3 * np.pi)
    for spin in (5.0, -5.0):
        torque = -0.2 * 2.0 * G * (ratio ** -np.sign(spin) - 1) * -1.0
        found = system.forward_dynamics([-1, 0], [0, spin])
        np.testing.assert_allclose(found.a, [0, torque / 0.02], rtol=0, atol=1e-9)
        run = sr.simulate(system, [-1, 0], [0, spin], duration=0.1, **EXACT)
        stop = -spin * 0.02 / torque
        (held,) = (switch for switch in run.switches if switch.sticking)
        assert held.time == pytest.approx(stop, abs=1e-11)
        np.testing.assert_allclose(run.q[-1], [-1.0, 0.5 * spin * stop], rtol=0, atol=1e-9)
        assert run.contact_loss[-1] == pytest.approx(0.5 * 0.02 * spin**2, abs=1e-9)


@pytest.mark.parametrize("speed", [0.4, -0.4])
def test_a_winch_over_a_bollard_pays_for_the_friction(speed: float) -> None:
    """Hauling takes m g exp(μθ), paying out m g exp(−μθ): the winch is at the end of the path."""
    system = scenes.bollard(MU, speed)
    run = sr.simulate(system, [-1.0], [speed], duration=0.5, **EXACT)
    pull = 10.0 * G * RATIO ** np.sign(speed)
    np.testing.assert_allclose(run.tensions["rope.1"], 10.0 * G, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.tensions["rope.2"], pull, rtol=0, atol=1e-9)
    balance = sr.energy_balance(run)
    assert balance.total["winch rope"] == pytest.approx(pull * speed * 0.5, abs=1e-9)
    assert balance.total["rope rope"] == pytest.approx((10.0 * G - pull) * speed * 0.5, abs=1e-9)
    assert abs(balance.residual).max() < 1e-9
    steps = sr.simulate(system, [-1.0], [speed], duration=0.5, dt=0.01)
    assert steps.tensions["rope.2"][-1] == pytest.approx(pull, abs=1e-8)
    assert sr.energy_balance(steps).total["winch rope"] == pytest.approx(pull * speed * 0.5, abs=1e-8)


def test_a_swinging_load_slips_where_its_tension_exceeds_the_angle_allows() -> None:
    """The load swings on the free part 1 + R φ as an involute pendulum; the rope slips at T = M g exp(μθ)."""
    system = scenes.swinging_load(0.1, 0.8)
    start = scenes.taut_swing(0.8)
    held = sr.simulate(system, start, duration=0.5, **EXACT)
    (slip,) = (switch for switch in held.switches[1:2])
    assert slip.slipping == ("rope",)
    k = int(np.searchsorted(held.t, slip.time - 1e-12))
    q, v = held.q[k], held.v[k]
    np.testing.assert_allclose(q[0], -1.0, rtol=0, atol=1e-10)
    # the angle from the place, by hand
    distance = float(np.hypot(q[1], q[2]))
    angle = np.arctan2(q[2], q[1]) + np.arccos(0.2 / distance)
    free = 1.0 + 0.2 * angle
    np.testing.assert_allclose(scenes.taut_swing(angle), q, rtol=0, atol=1e-10)
    fallen = start[2] - q[2]
    speed = float(np.hypot(v[1], v[2]))
    assert 0.5 * speed**2 == pytest.approx(G * fallen, abs=1e-9)
    tension = G * np.cos(angle) + speed**2 / free
    assert tension == pytest.approx(0.8 * G * np.exp(0.1 * (np.pi - angle)), abs=1e-7)
    assert angle_of(system, q, 0.1) == pytest.approx(np.pi - angle, abs=1e-9)
    assert abs(sr.energy_balance(held).residual).max() < 1e-7


def test_the_turn_of_spheres_and_helices() -> None:
    """A sphere turns the rope by its great circle, a cylinder by the integral of cos²(ψ)/R over the helix."""
    for kind, along in (("sphere", 0.0), ("cylinder", 0.7)):
        mechanism = sr.Mechanism("turn")
        for name in ("a", "b"):
            mechanism.add_body(name, 1.0, inertia=(1e-2,) * 3)
            mechanism.add_joint(name, "free", "world", name)
        wrap = Wrap("world", kind, 0.3, friction_coefficient=MU)
        mechanism.add_rope("rope", ["a", wrap, "b"], length=5.0)
        system = sr.System(mechanism)
        a, b = np.array([1.0, 0.1, 0.0]), np.array([-0.8, -0.2, along])
        q = np.concatenate([a, [1, 0, 0, 0], b, [1, 0, 0, 0]])
        near, far = np.linalg.norm(a), np.linalg.norm(b[:2])
        between = np.arccos(a[:2] @ b[:2] / near / far)
        arc = between - np.arccos(0.3 / near) - np.arccos(0.3 / far)
        flat = np.sqrt(near**2 - 0.09) + np.sqrt(far**2 - 0.09) + 0.3 * arc
        tilt = np.arctan2(along, flat)
        bent = np.cos(tilt) ** 2 / 0.3 * (0.3 * arc / np.cos(tilt))
        assert angle_of(system, q, MU) == pytest.approx(bent, abs=1e-12)
        straight = np.concatenate([[1.0, 0.5, 0], q[3:7], [-1.0, 0.5, 0], q[10:]])
        assert angle_of(system, straight, MU) == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_forces_are_those_of_the_tangents(seed: int) -> None:
    """The rope pulls its ends and the moving wheel by T₁ and T₂ along its tangents; T₁/T₂ has the sign of the slip."""
    system, q, _ = scenes.random_arms(seed, 0.35)
    pulls = scenes.PULLS
    still = system.forward_dynamics(q, np.zeros(4), pulls, contacts=False)
    taut = system.forward_dynamics(q, np.zeros(4), pulls)
    mean, grip = taut.contacts["rope"]
    assert abs(grip) <= mean * (1 + 1e-9)
    assert mean > 1.0
    found = sr.reactions(system, q, u=pulls).tensions
    origin, rotation = system.body_placements(q)
    names = list(system.mechanism.bodies)

    def place(q: np.ndarray, body: str, point: tuple[float, float, float]) -> np.ndarray:
        positions, rotations = system.body_placements(q)
        k = names.index(body)
        return (positions[k] + rotations[k] @ np.array(point))[[0, 2]]

    centre = (0.03, 0, 0.02)
    ends = ("left", (0.5, 0, 0)), ("hand", (0.3, 0, 0))
    points = [place(q, *end) for end in ends]
    left, right = scenes.tangents(place(q, "wheel", centre), 0.2, *points)
    wheel = names.index("wheel")
    force = np.zeros(4)
    for tension, end, (at, way) in zip((found["rope.1"], found["rope.2"]), ends, (left, right)):
        local = rotation[wheel].T @ (np.array([at[0], 0, at[1]]) - origin[wheel])
        for k in range(4):
            step = 1e-6 * np.eye(4)[k]
            moved = [
                (place(q + step, *e) - place(q - step, *e)) / 2e-6 for e in (end, ("wheel", tuple(local)))
            ]
            force[k] += tension * way @ (moved[1] - moved[0])
    np.testing.assert_allclose(taut.contacts.force, force, rtol=0, atol=1e-7 * (1 + abs(force).max()))
    np.testing.assert_allclose(
        system.mass_matrix(q) @ (taut.a - still.a), taut.contacts.force, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("seed", range(4))
def test_runs_of_arms_balance_energy(seed: int) -> None:
    system, q, v = scenes.random_arms(seed, 0.35)
    weaker = 0.4 * scenes.PULLS
    run = sr.simulate(system, q, 0.3 * v, duration=0.12, control=lambda *_: weaker, rtol=1e-10, atol=1e-12)
    assert run.status.ok
    caught = sum(
        switch.energy_loss for switch in run.switches if switch.time == 0.0
    )  # before the first sample
    lost = run.contact_loss[-1] - caught
    work = weaker @ (run.q[-1] - run.q[0])[[0, 2]]
    assert lost == pytest.approx(run.energy[0] - run.energy[-1] + work, abs=1e-8)
    assert lost >= -1e-10
    one, two = run.tensions["rope.1"], run.tensions["rope.2"]
    angles = 0.35 * np.array([angle_of(system, at, 0.35) for at in run.q])
    taut = np.minimum(one, two) > 1e-6
    assert (abs(np.log(one[taut] / two[taut])) <= angles[taut] + 1e-6).all()


def test_steps_in_time_have_the_motion_of_events() -> None:
    system = scenes.over_post(2.0, 1.0, MU)
    exact = sr.simulate(system, [-1, -1], [0.4, -0.4], duration=0.5, **EXACT)
    errors, steps = [], np.array([1 / 100, 1 / 200, 1 / 400, 1 / 800])
    for dt in steps:
        run = sr.simulate(system, [-1, -1], [0.4, -0.4], duration=0.5, dt=dt, error_estimate=False)
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
    assert errors[-1] < 2e-4
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] > 0.8, errors
    many = sr.rollout(system, [[-1, -1]] * 2, [[0.4, -0.4]] * 2, duration=0.5, dt=float(steps[-1]))
    np.testing.assert_allclose(many.final_q, [run.q[-1]] * 2, rtol=0, atol=1e-12)
    by_events = sr.rollout(system, [[-1, -1]] * 2, [[0.4, -0.4]] * 2, duration=0.5, method="rk4", dt=1e-3)
    np.testing.assert_allclose(by_events.final_q, [exact.q[-1]] * 2, rtol=0, atol=1e-9)


def test_a_rope_that_passes_its_wrap_has_one_tension() -> None:
    """Without an arc the grip has no effect: both tensions are m g, in dynamics, runs and steps."""
    mechanism = ropes.lifts("free", {"load": (3.0, 0.0)})
    wrap = Wrap("world", "sphere", 0.1, sr.Pose((0.5, 0, -0.5)), friction_coefficient=0.5)
    mechanism.add_rope("rope", ["world", wrap, "load"], length=1.0)
    system = sr.System(mechanism)
    assert sr.reactions(system, [-1.0]).tensions == pytest.approx(
        {"rope.1": 3 * G, "rope.2": 3 * G}, abs=1e-9
    )
    for options in ({}, {"dt": 1e-3, "method": "moreau-jean"}):
        run = sr.simulate(system, [-0.9], duration=0.3, **options)
        assert run.q[-1] == pytest.approx([-1.0], abs=1e-9)
        assert run.tensions["rope.1"][-1] == pytest.approx(3 * G, abs=1e-8)


def test_linear_models_hold_the_mode_of_the_rope() -> None:
    system = scenes.swinging_load(0.1, 1.0)
    q = scenes.taut_swing(0.0)
    stuck = sr.linearize(system, q)
    assert stuck.A.shape[0] == 2  # the pendulum alone; the rope neither slips nor lengthens
    np.testing.assert_allclose(np.sort(stuck.eigenvalues.imag), [-np.sqrt(G), np.sqrt(G)], atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_a_linear_model_about_a_sliding_rope_is_that_of_differences(seed: int) -> None:
    """The arc, and with it the ratio of the tensions, depends on the configuration."""
    system, q, v = scenes.random_arms(seed, 0.35)
    free = [0, 1, 3]  # left, wheel, hand; the rope ties the right arm

    def taut(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at, speed = q.copy(), v.copy()
        at[free], speed[free] = x[:3], x[3:]
        for _ in range(8):
            state = contact_row_state(system, at, speed, 0.0)
            at[2] -= state.gaps[0] / state.rows[0, 2]
        rows = contact_row_state(system, at, speed, 0.0).rows[0]
        speed[2] = -rows[free] @ speed[free] / rows[2]
        return at, speed

    def rates(x: np.ndarray) -> np.ndarray:
        at, speed = taut(x)
        return np.concatenate([speed[free], system.forward_dynamics(at, speed, scenes.PULLS).a[free]])

    x = np.concatenate([q[free], v[free]])
    linear = sr.linearize_at(system, *taut(x), scenes.PULLS, coordinates=["left", "wheel", "hand"])
    step = 1e-5
    columns = [(rates(x + step * e) - rates(x - step * e)) / (2 * step) for e in np.eye(6)]
    differences = np.array(columns).T
    np.testing.assert_allclose(linear.A, differences, rtol=0, atol=1e-6 * abs(differences).max())


def test_friction_at_a_wrap_is_kept_in_documents_and_refused_where_it_has_no_meaning() -> None:
    system = scenes.over_post(2.0, 1.0, MU)
    same = sr.System(from_json(to_json(system.mechanism)))
    np.testing.assert_array_equal(
        same.forward_dynamics([-1, -1], [0, 0]).a, system.forward_dynamics([-1, -1], [0, 0]).a
    )
    with pytest.raises(UnsupportedElementError, match="no friction between a tendon and what it wraps"):
        system.mechanism.to_mjcf("post.xml")
    mechanism = ropes.lifts("bad", {"a": (1.0, -0.2), "b": (1.0, 0.2)})
    path = ["a", scenes.post(MU), "b"]
    for options in (
        {"stiffness": 10.0},
        {"limits": (1.0, 3.0)},
        {"limits": (-np.inf, 3.0), "friction": 1.0},
        {},
    ):
        with pytest.raises(ModelError, match="a wrap with friction needs an inextensible rope"):
            mechanism.add_tendon("t", path, **options)
    with pytest.raises(ModelError, match="friction_coefficient"):
        mechanism.add_rope("r", ["a", scenes.post(-0.1), "b"], length=3.0)
    mechanism.add_rope("r", path, length=3.0)
    mechanism.add_actuator("pull", TendonTransmission("r"))
    with pytest.raises(
        ModelError, match="tendon 'r' has a wrap with friction, on which actuator 'pull' cannot act"
    ):
        sr.System(mechanism)


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("options", [{}, {"dt": 2e-3, "method": "moreau-jean"}])
def test_a_load_that_passes_under_its_post_is_told(friction: float, options: dict[str, Any]) -> None:
    """Its length jumps from wound to straight there: every such run names the rope, the wrap and the time.

    The rope is then 1.46 m too long for its limit, so that a run may end there or go on, without a meaning.
    """
    system = scenes.swinging_load(friction, 1.2)
    q, v = scenes.taut_swing(0.0), np.array([0.0, -2.0, 0.0])
    before = sr.simulate(system, q, v, duration=0.08, **options)
    assert before.status.ok
    run = sr.simulate(system, q, v, duration=0.3, throw=False, **options)
    assert run.status in (sr.Status.INACCURATE, sr.Status.SWITCHING_FAILED)
    assert "the path of tendon 'rope' jumps by 2.4" in run.message
    assert "at t = 0.102" in run.message
    assert "opposite the side point" in run.message


def test_wraps_between_which_the_length_varies_are_refused() -> None:
    on_a = scenes.post(MU, body="a")
    for between, what in (
        (["b", scenes.post(MU), "b"], "a point between them is on 'b'"),
        ([Pulley(1.0), "a", scenes.post(MU), "b"], "a pulley is between"),
        ([on_a, "a"], "a wrap between them is on 'a', not on 'world'"),
        ([TendonJoint("a", 0.1), scenes.post(MU), "b"], "the drum 'a' is between"),
    ):
        mechanism = ropes.lifts("bad", {"a": (1.0, -0.2), "b": (1.0, 0.2)})
        mechanism.add_rope("r", ["a", scenes.post(MU), ("world", (1, 0, 0)), *between], length=3.0)
        with pytest.raises(ModelError, match=f"tendon 'r': its wraps with friction must be .*{what}"):
            sr.System(mechanism)


@pytest.mark.parametrize(
    ("frictions", "turned", "unit"),
    [
        ([0.1, 0.25], False, (1.0, 1.0)),
        ([0.05, 0.1, 0.15], True, (1.0, 1.0)),
        ([0.05, 0.1, 0.15], False, (1e3, 1e3)),
        ([0.1, 0.0, 0.2], True, (1e3, 1e3)),
        ([0.06] * 6, False, (1.0, 1.0)),
    ],
)
def test_the_factors_of_posts_multiply(
    frictions: list[float], turned: bool, unit: tuple[float, float]
) -> None:
    """Over a row of posts the tensions differ by exp(Σ μθ) while the rope slides, by less while it holds."""
    metre, mass = unit
    system, q, alpha = scenes.over_posts(4.0, 1.0, frictions, unit, turned=turned)
    ratio = np.exp(alpha)
    fall = G * (4.0 - ratio) / (4.0 + ratio)
    np.testing.assert_allclose(
        system.forward_dynamics(q, [0, 0]).a, np.array([-fall, fall]) * metre, rtol=0, atol=1e-12 * metre
    )
    heavy, light = ("rope.2", "rope.1") if turned else ("rope.1", "rope.2")
    found = sr.reactions(system, q).tensions
    assert found[heavy] == pytest.approx(4.0 * (G - fall) * mass * metre, rel=1e-11)
    assert found[heavy] == pytest.approx(ratio * found[light], rel=1e-11)
    # the other way round it slides to rest, turns back if the friction allows it, and loses what friction takes
    back = G * (4.0 * ratio - 1.0) / (4.0 * ratio + 1.0)
    run = sr.simulate(system, q, np.array([0.3, -0.3]) * metre, duration=0.2, **EXACT)
    assert run.status.ok
    stop = 0.3 / back
    rest = 0.2 - stop
    assert run.q[-1, 0] / metre == pytest.approx(-1.0 + 0.15 * stop - 0.5 * fall * rest**2, abs=1e-9)
    energy = mass * metre**2
    assert run.contact_loss[-1] == pytest.approx(run.energy[0] - run.energy[-1], abs=1e-9 * energy)
    held, q, alpha = scenes.over_posts(0.999 * ratio, 1.0, frictions, unit, turned=turned)
    assert np.abs(held.forward_dynamics(q, [0, 0]).a).max() < 1e-12 * metre
    rests = sr.equilibrium(held, q)
    assert rests.contacts.friction_needed == pytest.approx(
        np.tanh(0.5 * np.log(0.999 * ratio)) / np.tanh(0.5 * alpha), abs=1e-8
    )


@pytest.mark.parametrize("speed", [0.2, -0.2])
def test_a_winch_over_two_posts_pays_for_both(speed: float) -> None:
    mechanism = ropes.lifts("winch", {"load": (10.0, -0.2)})
    other = replace(
        scenes.post(0.3), pose=sr.Pose.of((0, 0, -2), rpy=(np.pi / 2, 0, 0)), side=("world", (0.3, 0, -2))
    )
    path = ["load", scenes.post(0.2), ("world", (0.2, 0, -1)), other, ("world", (-1.0, 0, -2.2))]
    length = 1.0 + 0.2 * np.pi + 2.0 + 0.2 * np.pi / 2 + 1.0
    mechanism.add_rope("rope", path, length=lambda t: length - speed * t)
    system = sr.System(mechanism)
    run = sr.simulate(system, [-1.0], [speed], duration=0.5, **EXACT)
    factor = np.exp(np.sign(speed) * (0.2 * np.pi + 0.3 * np.pi / 2))
    np.testing.assert_allclose(run.tensions["rope.1"][1:], 10.0 * G, rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.tensions["rope.2"][1:], 10.0 * G * factor, rtol=0, atol=1e-7)
    assert run.contact_loss[-1] == pytest.approx(0.5 * speed * 10.0 * G * (factor - 1.0), abs=1e-8)
    steps = sr.simulate(system, [-1.0], [speed], duration=0.5, dt=5e-3, method="moreau-jean")
    np.testing.assert_allclose(steps.q[-1], run.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(steps.tensions["rope.2"][5:], 10.0 * G * factor, rtol=0, atol=1e-7)


def test_posts_in_many_runs_and_in_steps_of_time() -> None:
    system, q, alpha = scenes.over_posts(4.0, 1.0, [0.1, 0.25])
    fall = G * (4.0 - np.exp(alpha)) / (4.0 + np.exp(alpha))
    many = sr.rollout(system, [q] * 3, [[0.0, 0.0]] * 3, duration=0.4, dt=2e-3)
    np.testing.assert_allclose(many.final_q[:, 1], -1.0 + 0.5 * fall * 0.16, rtol=0, atol=1e-9)
    same = sr.System(from_json(to_json(system.mechanism)))
    np.testing.assert_array_equal(same.forward_dynamics(q, [0, 0]).a, system.forward_dynamics(q, [0, 0]).a)


def test_a_frame_with_two_posts_carries_the_outer_tensions() -> None:
    """The tension between the posts is a force within the frame."""
    mechanism = ropes.lifts("frame", {"heavy": (4.0, -0.2), "light": (1.0, 1.2)})
    mechanism.add_body("frame", 3.0, inertia=(0.1,) * 3)
    mechanism.add_joint("frame", "prismatic", "world", "frame", axis=(1, 0, 0))
    one, other = (
        replace(
            scenes.post(friction, body="frame", pose=sr.Pose.of((x, 0, 0), rpy=(np.pi / 2, 0, 0))),
            side=("frame", np.array((x, 0, 0.4))),
        )
        for friction, x in ((0.1, 0.0), (0.25, 1.0))
    )
    mechanism.add_rope(
        "rope", ["heavy", one, ("frame", (0.5, 0, 0.2)), other, "light"], length=3.0 + 0.2 * np.pi
    )
    found = sr.reactions(sr.System(mechanism), [-1.0, -1.0, 0.0])
    heavy, light = found.tensions["rope.1"], found.tensions["rope.2"]
    assert heavy == pytest.approx(light * np.exp(0.35 * np.pi / 2), rel=1e-12)
    np.testing.assert_allclose(found["frame"].force, [0, 0, 3.0 * G + heavy + light], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found["frame"].couple, [0, 0.2 * heavy - 1.2 * light, 0], rtol=0, atol=1e-10)
