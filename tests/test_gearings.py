"""Gearings in all else: many runs, exported C, places of rest, files, and errors by name."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from c_code import Compiled
from sarrus.model.builders.document import from_json, to_json
from test_transmission_losses import Jack, train


def test_one_flank_pushes_at_a_time_and_many_runs_agree_with_one():
    jack = Jack(5)
    s, u = jack.system, [2.0 * jack.torque(1.0)]
    many = sr.rollout(s, np.zeros((2, 2)), np.zeros((2, 2)), duration=0.05, dt=1e-3)
    one = sr.simulate(s, [0, 0], duration=0.05, dt=1e-3)
    assert np.allclose(many.q[0, -1], one.q[-1], rtol=0, atol=1e-12)
    run = sr.simulate(s, [0, 0], duration=0.5, dt=1e-3, control=lambda q, v, t: [u[0] * np.cos(9 * t)])
    pushes = run.contact_forces[:, [0, 2]]
    assert (pushes.min(axis=1) == 0.0).all()
    assert pushes.max() > 0.0


def test_where_a_spring_takes_the_load_from_a_thread_that_does_not_hold():
    jack = Jack(0, 0.3 * np.tan(Jack(0).lead))
    jack.mechanism.add_coordinate_spring("spring", {"nut": 1.0}, stiffness=jack.load / 0.05, rest_length=0.0)
    rest = sr.equilibrium(jack.system, [0, 0])
    assert rest.q[1] == pytest.approx(-0.05, abs=1e-7)
    assert rest.q[0] == pytest.approx(-0.05 / jack.per_radian, rel=1e-6)


@pytest.mark.parametrize("length", [1e-3, 1e3, 1e6], ids=["km", "mm", "um"])
def test_a_jack_is_the_same_in_all_units(length):
    """Half a tonne on a screw of 36 mm: torques against books, that it holds, and its motion."""
    mechanism = sr.Mechanism("jack", gravity=(0, 0, -9.81 * length))
    mechanism.add_body("screw", 4.0, inertia=3 * (1e-3 * length**2,))
    mechanism.add_joint("screw", "revolute", "world", "screw", axis=(0, 0, 1))
    mechanism.add_body("load", 500.0, inertia=3 * (10 * length**2,))
    mechanism.add_joint("load", "prismatic", "world", "load", axis=(0, 0, 1))
    diameter, pitch, mu = 0.036 * length, 0.006 * length, 0.12
    mechanism.add_lead_screw("thread", "load", "screw", pitch, diameter=diameter, friction_coefficient=mu)
    mechanism.add_actuator("crank", "screw")
    system = sr.System(mechanism)
    lead, angle = np.arctan(pitch / (np.pi * diameter)), np.arctan(mu)
    for way in (1.0, -1.0):
        torque = system.inverse_dynamics([0, 0], [way, way * pitch / (2 * np.pi)], [0, 0]).u[0]
        book = 500.0 * 9.81 * length * diameter / 2 * np.tan(lead + way * angle)
        assert torque == pytest.approx(book, rel=1e-10)
    assert sr.equilibrium(system, [0, 0]).contacts.friction_needed == pytest.approx(
        np.tan(lead) / mu, rel=1e-9
    )
    assert np.abs(sr.simulate(system, [0, 0], duration=0.1).q[-1]).max() < 1e-8
    drive = 500.0 * 9.81 * length * diameter / 2 * np.tan(lead + angle) + 4.0 * length**2
    turned = sr.simulate(system, [0, 0], duration=0.5, control=lambda q, v, t: [drive]).q[-1, 0]
    per_turn = pitch / (2 * np.pi)
    inertia = 1e-3 * length**2 + 500.0 * per_turn * diameter / 2 * np.tan(lead + angle)
    assert turned == pytest.approx(0.5 * 4.0 * length**2 / inertia * 0.25, rel=1e-4)


def test_steps_in_exported_c_are_those_of_runs(tmp_path):
    jack = Jack(4)
    s = jack.system
    code = Compiled(sr.export.c_code(s, tmp_path, ("contact_step",), name="plant", q=jack.start), s)
    torque = 1.5 * jack.torque(1.0)
    run = sr.simulate(s, jack.start, duration=0.1, dt=1e-3, control=lambda q, v, t: [torque])
    q, v, u, t = np.array(jack.start), np.zeros(2), np.array([torque]), np.zeros(1)
    forces = np.zeros(4)
    for k in range(100):
        assert code.call("contact_step", q, v, u, t, None, 1e-3, forces) == 0
        assert np.allclose(q, run.q[k + 1], rtol=1e-9, atol=1e-12)
        assert np.allclose(forces, run.contact_forces[k + 1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_without_losses_couplings_take_their_place(seed):
    jack = Jack(seed, 0.0, references={"screw": 0.4, "nut": 0.01})
    bare = sr.System(jack.mechanism.without_losses())
    assert bare.constraint_names == ("thread",)
    q = bare.assemble([1.3, 0.0], locked=["screw"]).q
    assert q[1] - 0.01 == pytest.approx((q[0] - 0.4) * jack.per_radian, abs=1e-12)
    s = jack.system
    v = [2.0, 2.0 * jack.per_radian]
    wanted, found = bare.forward_dynamics(q, v, [3.0]), s.forward_dynamics(q, v, [3.0])
    assert np.allclose(found.a, wanted.a, rtol=1e-9)
    push = found.contacts.forces @ [1.0, -1.0] * np.cos(jack.lead) * np.cos(jack.flank_angle)
    assert push == pytest.approx(wanted.multipliers[0], rel=1e-9)
    assert sr.linearize(bare, q, [jack.hand * jack.load * abs(jack.per_radian)]).A.shape == (2, 2)


def test_a_screw_that_turns_and_travels_at_once():
    jack = Jack(1)
    m = sr.Mechanism("nut on a rod", gravity=(0, 0, 0))
    m.add_body("nut", jack.mass, inertia=(jack.inertia,) * 3)
    m.add_joint("nut", "cylindrical", "world", "nut", axis=(0, 0, 1))
    m.add_lead_screw(
        "thread", "nut.translation", "nut.angle", jack.pitch, diameter=jack.diameter,
        friction_coefficient=jack.friction, flank_angle=jack.flank_angle,
    )  # fmt: skip
    m.add_actuator("pull", "nut.translation")
    m.add_actuator("twist", "nut.angle")
    s = sr.System(m)
    for way in (1.0, -1.0):
        found = s.forward_dynamics(
            [0, 0], [jack.moving(way)[1], jack.moving(way)[0]], [-jack.load, jack.torque(way)]
        )
        assert np.abs(found.a).max() < 1e-8 * (jack.load / jack.mass + jack.load * jack.radius / jack.inertia)


@pytest.mark.parametrize("seed", range(4))
def test_forward_after_inverse_dynamics_of_random_trains_with_loads(seed):
    rng = np.random.default_rng(seed)
    stages = 3
    ratios, etas = (
        rng.uniform(0.3, 3.0, stages) * rng.choice([-1.0, 1.0], stages),
        rng.uniform(0.5, 1.0, stages),
    )
    s = train(etas, ratios, rng.uniform(0.05, 1.0, stages + 1))
    turns = 1.0 / np.cumprod([1.0, *ratios])
    v, a = rng.normal() * turns, 10.0 * rng.normal() * turns
    load = 5.0 * rng.normal(size=2)
    driven = s.inverse_dynamics(np.zeros(4), v, a)
    again = s.forward_dynamics(np.zeros(4), v, driven.u)
    assert np.allclose(again.a, a, rtol=1e-8, atol=1e-8)
    found = s.forward_dynamics(np.zeros(4), v, load)
    # what goes in is what comes out, gathers and is lost
    lost = -found.contacts.force @ v
    assert lost > 0.0
    assert load @ v[[0, -1]] == pytest.approx(found.a @ s.mass_matrix(np.zeros(4)) @ v + lost, rel=1e-9)


def random_drive(seed: int) -> tuple[sr.System, object]:
    """Return axes that gearings tie one to the next, with springs, dampers, play and rebounds, and torques on all."""
    rng = np.random.default_rng(1000 + seed)
    m, count = sr.Mechanism("drive"), int(rng.integers(2, 5))
    kinds = rng.choice(["revolute", "prismatic"], count)
    for k, kind in enumerate(kinds):
        m.add_body(f"b{k}", rng.uniform(0.5, 5), rng.normal(size=3) * 0.1, (rng.uniform(0.02, 0.3),) * 3)
        damping, stiffness = rng.uniform(0, 0.5), rng.uniform(0, 50)
        m.add_joint(
            f"j{k}", kind, "world", f"b{k}", axis=rng.normal(size=3), damping=damping, stiffness=stiffness
        )
        m.add_actuator(f"u{k}", f"j{k}")
    for k in range(count - 1):
        one, other, sign = f"j{k}", f"j{k + 1}", rng.choice([-1, 1])
        more = {"backlash": rng.choice([0.0, 1e-3]), "restitution": rng.choice([0.0, 0.5])}
        eta, mu = rng.uniform(0.5, 1), rng.uniform(0.02, 0.2)
        if kinds[k] == kinds[k + 1]:
            m.add_gear_pair(
                f"g{k}", one, other, sign * rng.uniform(0.3, 3), efficiency=eta, radius=0.2, **more
            )
            continue
        slide, turn = (one, other) if kinds[k] == "prismatic" else (other, one)
        if rng.random() < 0.5:
            m.add_rack(f"g{k}", slide, turn, sign * rng.uniform(0.02, 0.2), efficiency=eta, **more)
        else:
            pitch = sign * rng.uniform(0.05, 0.3)
            m.add_lead_screw(f"g{k}", slide, turn, pitch, diameter=0.05, friction_coefficient=mu, **more)
    size, speed, phase = rng.uniform(0, 8, count), rng.uniform(2, 9, count), rng.uniform(0, 6, count)
    return sr.System(m), lambda q, v, t: [a * ca.sin(w * t + p) for a, w, p in zip(size, speed, phase)]


@pytest.mark.parametrize("seed", range(6))
def test_random_drives_stay_within_their_play_and_lose_energy(seed):
    s, control = random_drive(seed)
    start = np.zeros(s.nq)
    run = sr.simulate(s, start, duration=0.5, dt=1e-3, method="rk4", control=control)
    steps = sr.simulate(s, start, duration=0.5, dt=1e-4, control=control, error_estimate=False)
    assert np.allclose(steps.q[-1], run.q[-1], atol=2e-3)
    names = list(s.coordinate_names)
    for gearing in s.mechanism.gearings.values():
        for motion, depth in ((run, 1e-8), (steps, 1e-5)):
            way = sum(weight * motion.q[:, names.index(c)] for c, weight in gearing.approach)
            assert np.abs(way).max() <= 0.5 * gearing.play + depth
            rows = [motion.contact_row_names.index(f"{flank.name}.n") for flank in gearing.flanks]
            pushes = motion.contact_forces[:, rows]
            assert pushes.min() > -1e-6 * max(1.0, pushes.max())
            assert pushes.min(axis=1).max() < 1e-6 * max(1.0, pushes.max())
    balance = sr.energy_balance(run)
    assert np.abs(balance.residual).max() < 1e-4 * np.abs(balance.work).max()
    assert run.contact_loss[-1] > 0.0


def test_redundant_meshes_share_and_a_loop_of_gears_says_that_their_shares_count():
    m = sr.Mechanism("twice", gravity=(0, 0, 0))
    for k in range(3):
        m.add_body(f"s{k}", 1.0, inertia=(0.1 * (k + 1),) * 3)
        m.add_joint(f"s{k}", "revolute", "world", f"s{k}", axis=(0, 0, 1))
        m.add_actuator(f"u{k}", f"s{k}")
    twice = m.snapshot()
    m.add_gear_pair("a", "s0", "s1", 2.0, efficiency=0.9)
    alone = sr.System(m).forward_dynamics(np.zeros(3), [2, 1, 0], [1.0, -0.5, 0.0])
    for name in ("a", "b", "c"):
        twice.add_gear_pair(name, "s0", "s1", 2.0, efficiency=0.9)
    shared = sr.System(twice).forward_dynamics(np.zeros(3), [2, 1, 0], [1.0, -0.5, 0.0])
    assert np.allclose(shared.a, alone.a, rtol=1e-9)
    assert shared.contacts.carrying == ("a.down", "b.down", "c.down")
    assert not shared.contacts.ambiguous
    m.add_gear_pair("b", "s1", "s2", 1.5, efficiency=0.95)
    m.add_gear_pair("c", "s0", "s2", 3.0, efficiency=0.8)  # which way power goes is a matter of shares
    looped = sr.System(m).forward_dynamics(np.zeros(3), [3, 1.5, 1], [1.0, 0.0, 0.0])
    assert looped.status.ok
    assert set(looped.contacts.ambiguous) == set(looped.contacts.carrying)


def test_what_jams_is_said_by_name_and_takes_an_impact_in_a_run():
    jack = Jack(1, 0.4)
    arm = jack.radius * np.tan(jack.angle - jack.lead)
    light = 0.2 * jack.mass * abs(jack.per_radian) * arm  # less than the load has about the screw
    jack.mechanism.replace_body(replace(jack.mechanism.bodies["screw"], inertia=light * np.eye(3)))
    s = jack.system
    with pytest.raises(sr.SolveError, match=r"thread\.up' slide on: it jams"):
        s.forward_dynamics([0, 0], jack.moving(-1.0))
    run = sr.simulate(s, jack.start, jack.moving(-1.0), duration=0.01)
    assert run.switches[0].energy_loss > 0.9 * run.energy[0]
    assert np.abs(run.v[-1]).max() < 1e-6


def test_files_hold_gearings_and_mjcf_refuses_them(tmp_path):
    jack = Jack(2, static_coefficient=0.5, restitution=0.2, references={"screw": 0.3}, backlash=1e-3)
    again = from_json(to_json(jack.mechanism))
    assert again.gearings == jack.mechanism.gearings
    with pytest.raises(
        sr.UnsupportedElementError, match=r"lead screw 'thread'.*no friction of teeth and threads"
    ):
        jack.mechanism.to_mjcf(tmp_path / "jack.xml")
    jack.mechanism.to_mjcf(tmp_path / "jack.xml", contacts="ignore")
    assert not sr.load(tmp_path / "jack.xml").gearings


def test_wrong_numbers_are_refused_by_name():
    m = Jack(0).mechanism
    with pytest.raises(sr.ModelError, match="lead screw 'thread': the name is already taken"):
        m.add_lead_screw("thread", "nut", "screw", 0.01, diameter=0.02, friction_coefficient=0.1)
    with pytest.raises(sr.ModelError, match="lead screw 'b': give either friction_coefficient or efficiency"):
        m.add_lead_screw("b", "nut", "screw", 0.01, diameter=0.02)
    with pytest.raises(sr.ModelError, match="lead screw 'b': pitch must not be zero"):
        m.add_lead_screw("b", "nut", "screw", 0.0, diameter=0.02, efficiency=0.5)
    with pytest.raises(
        sr.ModelError, match=r"gear pair 'b': efficiency must be above 0 and at most 1, got 1\.2"
    ):
        m.add_gear_pair("b", "nut", "screw", 2.0, efficiency=1.2)
    with pytest.raises(sr.ModelError, match=r"rack 'b'.*'nutt'"):
        m.add_rack("b", "nutt", "screw", 0.1, efficiency=0.9)
    with pytest.raises(sr.ModelError, match="worm gear 'b': lead_angle must be between 0 and π/2"):
        m.add_worm_gear("b", "screw", "nut", 30.0, diameter=0.04, lead_angle=2.0, efficiency=0.9)
    with pytest.raises(sr.ModelError, match="gear pair 'b': ties no coordinates"):
        m.add_gear_pair("b", "nut", {"nut": 0.5}, 2.0, efficiency=0.9)
    with pytest.raises(sr.ModelError, match="gearing 'b': has friction without slip"):
        m.add_gearing("b", {"nut": 1.0}, {"nut": 0.0}, friction_coefficient=0.1)
    with pytest.raises(sr.ModelError, match="references: 'nuts' is none of 'nut', 'screw'"):
        m.add_rack("b", "nut", "screw", 0.1, efficiency=0.9, references={"nuts": 1.0})
    s = Jack(0).system
    for call in (
        lambda: s.forward_dynamics([0, 0.01], [0, 0]),
        lambda: sr.simulate(s, [0, 0.01], duration=0.1),
    ):
        with pytest.raises(
            sr.ArgumentError, match=r"flank 'thread.down' is 0.00.* coordinates of this gearing"
        ):
            call()
