"""Screws, worms, gears and racks with friction between their flanks, against closed forms of machine design."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from sarrus.model.mechanism.tolerances import LEAST_PLAY

G = 9.81
SEEDS = range(6)


class Jack:
    """A nut with a load on a screw that turns in place, with random numbers; λ, φ' and what torques lift and lower."""

    def __init__(self, seed: int, friction: float | None = None, **given) -> None:
        rng = np.random.default_rng(seed)
        self.hand = 1.0 if seed % 2 else -1.0
        self.diameter, self.pitch = rng.uniform(0.01, 0.06), self.hand * rng.uniform(0.002, 0.03)
        self.flank_angle, self.mass, self.inertia = (
            rng.uniform(0, 0.5),
            rng.uniform(5, 500),
            rng.uniform(1e-4, 1e-1),
        )
        self.radius, self.load = self.diameter / 2, self.mass * G
        self.lead = np.arctan(abs(self.pitch) / (np.pi * self.diameter))
        self.friction = rng.uniform(0.02, 0.3) if friction is None else friction
        self.angle = np.arctan(self.friction / np.cos(self.flank_angle))
        self.per_radian = self.pitch / (2 * np.pi)
        m = sr.Mechanism("jack", gravity=(0, 0, -G))
        m.add_body("screw", 1.0, inertia=(self.inertia,) * 3)
        m.add_joint("screw", "revolute", "world", "screw", axis=(0, 0, 1))
        m.add_body("nut", self.mass, inertia=(1, 1, 1))
        m.add_joint("nut", "prismatic", "world", "nut", axis=(0, 0, 1))
        m.add_actuator("motor", {"screw": 1.0})
        m.add_lead_screw(
            "thread", "nut", "screw", self.pitch, diameter=self.diameter, flank_angle=self.flank_angle,
            **({"friction_coefficient": self.friction} | given),
        )  # fmt: skip
        self.mechanism = m

    @property
    def start(self) -> list[float]:
        """Return coordinates at which the load rests on its flank."""
        return [0.0, -0.5 * LEAST_PLAY / (np.cos(self.lead) * np.cos(self.flank_angle))]

    @property
    def system(self) -> sr.System:
        return sr.System(self.mechanism)

    def torque(self, way: float) -> float:
        """Return the steady torque on the screw that lifts (1) or lowers (−1) the load."""
        return self.hand * self.load * self.radius * np.tan(self.lead + way * self.angle)

    def acceleration(self, torque: float, way: float, reversed_load: bool = False) -> float:
        """Return that of the screw as it lifts or lowers: I θ̈ = T − F' r tan(λ ± φ'), F' = m (g + p θ̈ / 2π)."""
        arm = self.radius * np.tan(self.lead + (-way if reversed_load else way) * self.angle)
        arm *= self.hand
        return (torque - self.load * arm) / (self.inertia + self.mass * self.per_radian * arm)

    def moving(self, way: float) -> list[float]:
        """Return velocities as it goes up or down."""
        return [way * self.hand * 2.0, way * abs(self.per_radian) * 2.0]


@pytest.mark.parametrize("seed", SEEDS)
def test_torques_that_lift_and_lower_are_those_of_machine_design(seed):
    jack = Jack(seed)
    s = jack.system
    for way in (1.0, -1.0):
        needed = s.inverse_dynamics([0, 0], jack.moving(way), [0, 0])
        assert needed.u[0] == pytest.approx(jack.torque(way), rel=1e-10)
        steady = s.forward_dynamics([0, 0], jack.moving(way), [jack.torque(way)])
        assert np.abs(steady.a).max() < 1e-9 * (jack.load * jack.radius / jack.inertia + G)
        up, down = (
            steady.contacts.forces[list(steady.contacts.names).index(f"thread.{f}.n")] for f in ("up", "down")
        )
        assert up > 0.0
        assert down == 0.0
        for push in (0.3, 3.0):  # more torque than that, and less
            torque = jack.torque(way) + push * jack.hand * way * jack.load * jack.radius
            found = s.forward_dynamics([0, 0], jack.moving(way), [torque]).a
            falls = jack.acceleration(torque, way) * jack.per_radian < -G  # faster than the load by itself
            assert found[0] == pytest.approx(jack.acceleration(torque, way, falls), rel=1e-9)
            assert found[1] == pytest.approx(found[0] * jack.per_radian, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_torn_down_rests_on_the_other_flank(seed):
    jack = Jack(seed)
    torque = -40.0 * jack.hand * (jack.load * jack.radius + jack.inertia * G / abs(jack.per_radian))
    found = jack.system.forward_dynamics([0, 0], jack.moving(-1.0), [torque])
    assert found.contacts.carrying == ("thread.down",)
    assert found.a[0] == pytest.approx(jack.acceleration(torque, -1.0, True), rel=1e-9)
    again = jack.system.inverse_dynamics([0, 0], jack.moving(-1.0), found.a)
    assert again.u[0] == pytest.approx(torque, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_it_holds_between_both_torques_and_nowhere_else(seed):
    jack = Jack(seed)
    s = jack.system
    low, high = sorted((jack.torque(1.0), jack.torque(-1.0)))
    band = high - low
    for part in (1e-6, 0.5, 1.0 - 1e-6):
        still = sr.equilibrium(s, [0, 0], [low + part * band])
        assert still.status.ok
        assert np.abs(still.q).max() == 0.0
        assert np.abs(s.forward_dynamics([0, 0], [0, 0], [low + part * band]).a).max() < 1e-7
    for torque in (low - 1e-6 * band, high + 1e-6 * band):
        with pytest.raises(sr.SolveError, match=r"thread\.up' would slide"):
            sr.equilibrium(s, [0, 0], [torque])
        way = np.sign(torque - 0.5 * (low + high)) * jack.hand
        found = s.forward_dynamics([0, 0], [0, 0], [torque]).a[0]
        assert found == pytest.approx(jack.acceleration(torque, way), rel=1e-6)
    least = sr.equilibrium(s, [0, 0], hold=True).u[0]
    assert least == pytest.approx(
        0.0 if low <= 0.0 <= high else min(low, high, key=abs), rel=1e-6, abs=1e-9 * band
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_it_locks_by_itself_from_the_angle_of_friction_on(seed):
    for factor, locks in ((1.0 + 1e-6, True), (1.0 - 1e-6, False)):
        bare = Jack(seed)
        jack = Jack(seed, factor * np.tan(bare.lead) * np.cos(bare.flank_angle))
        s = jack.system
        rest = sr.equilibrium(s, [0, 0], throw=False)
        assert rest.status.ok == locks
        if locks:
            assert rest.contacts.friction_needed == pytest.approx(1.0 / factor, rel=1e-8)
        run = sr.simulate(s, [0, 0], duration=1.0)
        expected = 0.0 if locks else jack.acceleration(0.0, -1.0)
        assert run.v[-1, 0] == pytest.approx(expected, rel=1e-4, abs=1e-12)
        assert (run.v[-1, 0] == pytest.approx(0.0, abs=1e-12)) == locks


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_run_takes_the_torque_and_has_the_efficiency(seed, way):
    jack = Jack(seed)
    speed = 3.0 * jack.hand * way
    jack.mechanism.add_motion("drive", "screw", lambda t: speed * t)
    s = jack.system
    run = sr.simulate(s, jack.start, [speed, speed * jack.per_radian], duration=1.0)
    settled = run.t > 0.1
    torque = run.multipliers[settled, s.constraint_names.index("drive")]
    assert np.allclose(torque, jack.torque(way), rtol=1e-9)
    balance = sr.energy_balance(run)
    work = dict(zip(balance.names, np.ptp(balance.work[settled], axis=0)))
    lifted = np.ptp(run.energy[settled])
    if way > 0.0:
        assert lifted / work["drive"] == pytest.approx(
            np.tan(jack.lead) / np.tan(jack.lead + jack.angle), rel=1e-8
        )
    lost = jack.load * abs(jack.per_radian) * np.ptp(run.t[settled]) * 3.0
    lost *= way * (np.tan(jack.lead + way * jack.angle) / np.tan(jack.lead) - 1.0)
    assert work["thread.up"] == pytest.approx(lost, rel=1e-8)
    assert np.abs(balance.residual).max() < 1e-8 * np.ptp(run.energy)


def test_the_load_breaks_loose_when_the_torque_is_there():
    jack = Jack(3, 2.0 * np.tan(Jack(3).lead))
    rate = jack.torque(1.0) / 0.7
    run = sr.simulate(jack.system, jack.start, duration=1.0, control=lambda q, v, t: [rate * t])
    begin = next(switch.time for switch in run.switches if "thread.up" in switch.slipping)
    assert begin == pytest.approx(0.7, abs=1e-8)
    arm = jack.hand * jack.radius * np.tan(jack.lead + jack.angle)
    slope = rate / (jack.inertia + jack.mass * jack.per_radian * arm)
    assert run.v[-1, 0] == pytest.approx(0.5 * slope * 0.3**2, rel=1e-6)
    assert run.q[-1, 0] == pytest.approx(slope * 0.3**3 / 6.0, rel=1e-6)


def test_static_friction_holds_more_and_lets_go():
    jack = Jack(1, static_coefficient=0.4)
    angle = np.arctan(0.4 / np.cos(jack.flank_angle))
    high = jack.hand * jack.load * jack.radius * np.tan(jack.lead + angle)
    s = jack.system
    assert np.abs(s.forward_dynamics([0, 0], [0, 0], [0.999 * high]).a).max() < 1e-8
    loose = s.forward_dynamics([0, 0], [0, 0], [1.001 * high]).a[0]
    assert loose == pytest.approx(jack.acceleration(1.001 * high, 1.0), rel=1e-9)


def worm_drive(friction: float | None, efficiency: float | None, lead_angle: float, backlash: float = 0.0):
    m = sr.Mechanism("hoist", gravity=(0, 0, 0))
    m.add_body("worm", 1.0, inertia=(1e-3, 1e-3, 1e-3))
    m.add_joint("worm", "revolute", "world", "worm", axis=(1, 0, 0))
    m.add_body("wheel", 5.0, inertia=(0.2, 0.2, 0.2))
    m.add_joint("wheel", "revolute", "world", "wheel", axis=(0, 1, 0))
    m.add_actuator("motor", {"worm": 1.0})
    m.add_actuator("load", {"wheel": 1.0})
    given = {"friction_coefficient": friction} if efficiency is None else {"efficiency": efficiency}
    m.add_worm_gear(
        "mesh", "wheel", "worm", 40.0, diameter=0.05, lead_angle=lead_angle, backlash=backlash, **given
    )
    return sr.System(m)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_worm_drives_both_ways_with_its_efficiency_and_holds_or_not(seed):
    rng = np.random.default_rng(seed)
    angle, mu, press = rng.uniform(0.03, 0.6), rng.uniform(0.01, 0.15), np.cos(np.pi / 9)
    s, load = worm_drive(mu, None, angle), 30.0
    forward = (press - mu * np.tan(angle)) / (press + mu / np.tan(angle))  # Shigley, worm drives
    back = (press - mu / np.tan(angle)) / (press + mu * np.tan(angle))
    wheel_speed = np.array([40.0, 1.0])
    for way in (1.0, -1.0):  # the worm turns against the load, and lets it down
        v = way * wheel_speed
        motor = s.inverse_dynamics([0, 0], v, [0, 0]).u
        assert motor.shape == (2,)
        steady = s.forward_dynamics(
            [0, 0], v, [load / 40.0 / forward if way > 0 else load / 40.0 * back, -load]
        )
        assert np.abs(steady.a).max() < 1e-8
    off = s.forward_dynamics([0, 0], [0, 0], [0, -load]).a
    if back <= 0.0:
        assert np.abs(off).max() < 1e-9
    else:  # the wheel drives the worm
        ahead = -(load * back / 40.0) / (1e-3 + 0.2 * back / 1600.0)
        assert off[0] == pytest.approx(ahead, rel=1e-9)
        assert off[1] == pytest.approx(ahead / 40.0, rel=1e-9)
    same = worm_drive(None, forward, angle)
    assert same.mechanism.gearings["mesh"].friction_coefficient == pytest.approx(mu, rel=1e-12)


def test_a_worm_holds_its_load_while_the_motor_is_off():
    s = worm_drive(0.1, None, 0.08)
    run = sr.simulate(
        s,
        [0, 0],
        duration=3.0,
        control=lambda q, v, t: [3.0 * (1.0 - 2.0 * (t > 2.0)) * (abs(t - 1.5) > 0.5), -30.0],
    )
    at = lambda t: run.v[np.searchsorted(run.t, t) - 1]  # noqa: E731
    assert at(0.99)[1] > 0.1
    assert np.abs(at(1.99)).max() < 1e-9  # it stopped by itself, and stayed
    assert at(2.99)[1] < -0.1
    assert np.abs(run.q[:, 0] - 40.0 * run.q[:, 1]).max() < 1e-4


def train(etas, ratios, inertias, **given):
    m = sr.Mechanism("train", gravity=(0, 0, 0))
    for k, inertia in enumerate(inertias):
        m.add_body(f"shaft{k}", 1.0, inertia=(inertia,) * 3)
        m.add_joint(f"shaft{k}", "revolute", "world", f"shaft{k}", axis=(0, 0, 1))
    for k, (eta, ratio) in enumerate(zip(etas, ratios)):
        m.add_gear_pair(f"mesh{k}", f"shaft{k}", f"shaft{k + 1}", ratio, efficiency=eta, **given)
    m.add_actuator("motor", {"shaft0": 1.0})
    m.add_actuator("brake", {f"shaft{len(ratios)}": 1.0})
    return sr.System(m)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gear_train_accelerates_as_its_efficiencies_say_whichever_drives(seed):
    rng = np.random.default_rng(seed)
    stages = 1 + seed % 3
    etas, inertias = rng.uniform(0.6, 1.0, stages), rng.uniform(0.01, 1.0, stages + 1)
    ratios = rng.uniform(0.3, 5.0, stages) * rng.choice([-1.0, 1.0], stages)
    s = train(etas, ratios, inertias)
    total = np.cumprod([1.0, *ratios])  # turns of shaft 0 over those of shaft k
    for turning in (1.0, -1.0):
        v = turning * 10.0 / total
        losses = np.cumprod([1.0, *etas])
        for first, torque in ((0, 2.0), (stages, 2.0)):  # the motor drives, the other end does
            gains = 1.0 / losses if first == 0 else losses
            # power that shaft k takes counts with the losses between it and the first shaft
            u = np.zeros(2)
            u[0 if first == 0 else 1] = turning * torque * np.sign(1.0 if first == 0 else total[-1])
            mass = (inertias * gains / total**2).sum()
            ahead = (u[0] + u[1] * gains[-1] / total[-1]) / mass
            found = s.forward_dynamics(np.zeros(stages + 1), v, u)
            assert np.allclose(found.a, ahead / total, rtol=1e-9)
            assert len(found.contacts.carrying) == stages
    u = np.array([1.0, 0.0])  # at rest as much as the last stage takes
    held = -u[0] * total[-1] * np.prod(etas) * (1.0 + 1e-6)
    assert np.abs(s.forward_dynamics(np.zeros(stages + 1), np.zeros(stages + 1), [1.0, held]).a).max() < 1e-9
    held = -u[0] * total[-1] * np.prod(etas) * (1.0 - 1e-6)
    assert np.abs(s.forward_dynamics(np.zeros(stages + 1), np.zeros(stages + 1), [1.0, held]).a).max() > 1e-8


def test_planetary_gears_have_the_efficiency_of_the_books():
    basic, z_sun, z_ring = 0.96, 20.0, 70.0
    m = sr.Mechanism("planetary", gravity=(0, 0, 0))
    for name in ("sun", "carrier"):
        m.add_body(name, 1.0, inertia=(0.1, 0.1, 0.1))
        m.add_joint(name, "revolute", "world", name, axis=(0, 0, 1))
        m.add_actuator(name, {name: 1.0})
    # the ring stands: relative to the carrier it turns back
    m.add_gear_pair("mesh", {"sun": 1, "carrier": -1}, {"carrier": -1.0}, -z_ring / z_sun, efficiency=basic)
    s = sr.System(m)
    i = 1.0 + z_ring / z_sun
    for way in (1.0, -1.0):
        v = way * np.array([i, 1.0])
        driving = s.forward_dynamics([0, 0], v, way * np.array([1.0, -(1.0 + basic * z_ring / z_sun)]))
        assert np.abs(driving.a).max() < 1e-9  # sun drives: η = (1 + η₀ z_r/z_s) / (1 + z_r/z_s)
        driven = s.forward_dynamics([0, 0], -v, way * np.array([1.0, -(1.0 + z_ring / z_sun / basic)]))
        assert np.abs(driven.a).max() < 1e-9


def test_a_rack_loses_its_part_and_its_static_efficiency_holds():
    m = sr.Mechanism("rack", gravity=(0, 0, 0))
    m.add_body("pinion", 1.0, inertia=(0.01, 0.01, 0.01))
    m.add_joint("pinion", "revolute", "world", "pinion", axis=(0, 1, 0))
    m.add_body("rack", 3.0, inertia=(1, 1, 1))
    m.add_joint("rack", "prismatic", "world", "rack", axis=(1, 0, 0))
    m.add_rack("mesh", "rack", "pinion", 0.05, efficiency=0.9, static_efficiency=0.8)
    for name in ("pinion", "rack"):
        m.add_actuator(name, {name: 1.0})
    s = sr.System(m)
    assert np.abs(s.forward_dynamics([0, 0], [20, 1.0], [1.0, -0.9 / 0.05]).a).max() < 1e-9
    assert np.abs(s.forward_dynamics([0, 0], [-20, -1.0], [1.0, -1.0 / 0.9 / 0.05]).a).max() < 1e-9
    assert np.abs(s.forward_dynamics([0, 0], [0, 0], [1.0, -0.8001 / 0.05]).a).max() < 1e-9
    loose = s.forward_dynamics([0, 0], [0, 0], [1.0, -0.7999 / 0.05]).a
    assert loose[1] == pytest.approx((0.9 / 0.05 - 0.7999 / 0.05) / (3.0 + 0.9 * 0.01 / 0.05**2), rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_flanks_hit_across_the_backlash_and_create_no_energy(seed):
    rng = np.random.default_rng(seed)
    ratio, e, play = rng.uniform(0.5, 3.0), rng.uniform(0.3, 0.8), 0.02
    inertias = rng.uniform(0.1, 1.0, 2)
    s = train([1.0], [ratio], inertias, backlash=play, restitution=e)
    run = sr.simulate(s, [0, 0], [2.0, 0.0], duration=0.5)
    # relative speed c = ω₀ − n ω₁ reverses with e at every hit, momentum I₀ ω₀ + I₁ ω₁ / n stays
    hits = np.array([switch.time for switch in run.switches if switch.bounced])
    times = 0.5 * play / 2.0 + np.concatenate([[0.0], np.cumsum(play / (2.0 * e ** np.arange(1, 40)))])
    times = times[times < 0.5]
    assert np.allclose(hits, times, atol=1e-8)
    momentum = inertias[0] * run.v[:, 0] + inertias[1] * run.v[:, 1] / ratio
    assert np.allclose(momentum, 2.0 * inertias[0], rtol=1e-9)
    closing = run.v[-1, 0] - ratio * run.v[-1, 1]
    assert abs(closing) == pytest.approx(2.0 * e ** len(times), rel=1e-8)
    reduced = 1.0 / (1.0 / inertias[0] + ratio**2 / inertias[1])
    lost = 0.5 * reduced * 4.0 * (1.0 - e ** (2 * len(times)))
    assert run.energy[0] - run.energy[-1] == pytest.approx(lost, rel=1e-8)
    assert np.abs(run.q[:, 0] - ratio * run.q[:, 1]).max() < 0.5 * play + 1e-9


@pytest.mark.parametrize("dt", [None, 1e-3])
def test_rattling_gears_lose_energy_and_never_gain_it(dt):
    s = train([0.9], [2.0], [0.1, 0.3], backlash=0.01, restitution=0.4)
    given = {} if dt is None else {"dt": dt}
    run = sr.simulate(
        s, [0, 0], [3.0, -1.0], duration=1.0, control=lambda q, v, t: [np.cos(30 * t), 0.0], **given
    )
    balance = sr.energy_balance(run)
    lost = balance.work[:, [k for k, name in enumerate(balance.kinds) if name in ("contact", "impact")]].sum(
        axis=1
    )
    assert np.diff(lost).max() < 1e-9
    assert lost[-1] < -0.1
    assert np.abs(run.q[:, 0] - 2.0 * run.q[:, 1]).max() < 0.005 + (1e-9 if dt is None else 1e-2)


LEG, TABLE, PITCH, RADIUS = 0.5, 20.0, 0.004, 0.007


def scissor(friction: float) -> sr.System:
    """A scissor jack: two legs crossed at their middles, and a screw that draws their lower ends together."""
    m = sr.Mechanism("scissor jack", gravity=(0, 0, -G))
    inertia = (1e-3, 1e-3, 1e-3)
    m.add_body("leg", 1.0, (LEG / 2, 0, 0), inertia)
    m.add_joint("leg", "revolute", "world", "leg", axis=(0, -1, 0))
    m.add_body("slider", 1.0, inertia=inertia)
    m.add_joint("slider", "prismatic", "world", "slider", axis=(1, 0, 0))
    m.add_body("other", 1.0, (LEG / 2, 0, 0), inertia)
    m.add_joint("other", "revolute", "slider", "other", axis=(0, -1, 0))
    m.add_body("table", TABLE, inertia=inertia)
    m.add_joint("table", "prismatic", "world", "table", axis=(0, 0, 1))
    m.add_body("screw", 0.1, inertia=inertia)
    m.add_joint("screw", "revolute", "world", "screw", axis=(1, 0, 0))
    # written in space, and held at both ends: rows are redundant
    middle = (LEG / 2, 0, 0)
    m.add_closure("middle", "revolute", "leg", "other", pose1=middle, pose2=middle, axis=(0, 1, 0))
    for leg in ("leg", "other"):
        m.add_closure(f"top of {leg}", "point_on_plane", "table", leg, pose2=(LEG, 0, 0), axis=(0, 0, 1))
    m.add_lead_screw("thread", "slider", "screw", -PITCH, diameter=2 * RADIUS, friction_coefficient=friction)
    m.add_actuator("crank", {"screw": 1.0})
    return sr.System(m)


def lifted(s: sr.System, height: float) -> np.ndarray:
    """Return coordinates of the scissor jack with its table at a height."""
    tilt = np.arcsin(height / LEG)
    width = LEG * np.cos(tilt)
    values = {
        "leg": tilt,
        "slider": width,
        "other": np.pi - tilt,
        "table": height,
        "screw": -width * 2 * np.pi / PITCH,
    }
    return np.array([values[name] for name in s.coordinate_names])


@pytest.mark.parametrize("height", [0.1, 0.25, 0.4])
def test_a_screw_in_a_closed_loop_with_redundant_rows(height):
    s = scissor(0.12)
    q = lifted(s, height)
    assert np.abs(s.constraint_residual(q)).max() < 1e-12
    found = sr.mobility(s, q)
    assert found.dof == 2
    assert found.redundant
    lead, angle = np.arctan(PITCH / (2 * np.pi * RADIUS)), np.arctan(0.12)
    weight = (TABLE + 1.0) * G  # of the table, and of half of two legs
    thrust = weight * np.sqrt(LEG**2 - height**2) / height
    low, high = (thrust * RADIUS * np.tan(lead + way * angle) for way in (-1.0, 1.0))
    assert low < 0.0  # it locks by itself
    rest = sr.equilibrium(s, q)
    assert rest.contacts.friction_needed == pytest.approx(np.tan(lead) / 0.12, rel=1e-6)
    for torque, holds in ((low, True), (high, True), (low, False), (high, False)):
        inside = 0.5 * (low + high) + (torque - 0.5 * (low + high)) * (1.0 + (-1e-6 if holds else 1e-6))
        rest = sr.equilibrium(s, q, [inside], throw=False)
        assert (rest.status.ok and np.abs(rest.q - q).max() < 1e-9) == holds  # else it goes to where it rests
        moves = np.abs(s.forward_dynamics(q, np.zeros(s.nv), [inside]).a).max() > 1e-7
        assert moves != holds


def test_a_scissor_jack_goes_up_and_its_losses_are_all_that_is_lost():
    s = scissor(0.12)
    q, rate = lifted(s, 0.2), 2 * np.pi / PITCH
    lead, angle = np.arctan(PITCH / (2 * np.pi * RADIUS)), np.arctan(0.12)
    drive = 1.1 * (TABLE + 1.0) * G * np.sqrt(LEG**2 - 0.2**2) / 0.2 * RADIUS * np.tan(lead + angle)
    run = sr.simulate(s, q, duration=0.5, control=lambda q, v, t: [drive], dt=1e-3, method="rk4")
    names = list(s.coordinate_names)
    slide, turn, table = (run.q[:, names.index(name)] for name in ("slider", "screw", "table"))
    assert table[-1] > 0.201
    assert run.residual.max() < 1e-10
    assert np.abs(turn + slide * rate).max() < 1e-4
    balance = sr.energy_balance(run)
    assert np.abs(balance.residual).max() < 1e-6 * np.abs(balance.work).max()
    work = dict(zip(balance.names, balance.work[-1]))
    lost = 1.0 - np.tan(lead) / np.tan(
        lead + angle
    )  # of what reaches the thread: the screw gathers speed, too
    turning = 0.5e-3 * run.v[-1, names.index("screw")] ** 2
    assert work["thread.up"] + work["thread.down"] == pytest.approx(
        -lost * (work["crank"] - turning), rel=1e-5
    )
