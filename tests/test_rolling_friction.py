"""Rolling friction of contacts: one cone for force and moments, with 5 or 6 rows; closed forms and other programs.

A ball (k = m r²/I = 5/2) that rolls along a line has the slips x = (v − r ω, l ω). With N = m g, the friction
−μ N x/‖x‖ and ε = l/r,

    dx/dt = −μ g B x/‖x‖,    B = [[1 + k, −k ε], [−k ε, k ε²]].

In the time τ with dt = ‖x‖/(μ g) dτ this is linear. On the slow eigenvector of B, with the eigenvalue λ, the
deceleration is constant and the ball stops at ‖x‖/(μ g λ). For small ε it is k/(1 + k) μ l g/r.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import NamedTuple

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import brentq

import sarrus as sr
from c_code import Compiled
from contact_phases import rolling as rolling_scene
from sarrus.base.arrays import Array
from sarrus.base.errors import ModelError
from sarrus.dynamics.closing.manifold import difference
from sarrus.dynamics.contacts.contact_elements import Mode, contact_elements
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.system import System
from sarrus.motion.loop.contact_lane_functions import suits_contact_lanes
from test_steps_in_time_derivatives import along_planes, one_step

G, MU, RADIUS = 9.81, 0.5, 0.1
K = 2.5


@cache
def ball(
    rolling: float = 0.02,
    torsion: float = 0.0,
    mu: float = MU,
    slope: float = 0.0,
    unit: float = 1.0,
    **more: float,
) -> System:
    """Return a ball of 1 kg on a plane with a slope along x; ``unit`` is the length of a unit of length in m."""
    r, weight = RADIUS / unit, G / unit
    mechanism = sr.Mechanism("ball", gravity=(weight * np.sin(slope), 0, -weight * np.cos(slope)))
    mechanism.add_body("ball", 1.0, inertia=(r * r / K,) * 3)
    mechanism.add_joint("free", "free", "world", "ball", parent_pose=(0, 0, r))
    mechanism.add_contact(
        "c", "ball", radius=r, friction="coulomb", friction_coefficient=mu, rolling=rolling / unit,
        torsion=torsion / unit, **more,
    )  # fmt: skip
    return System(mechanism)


class Line(NamedTuple):
    """The motion along a line: eigenvalues and eigenvectors of B, and l."""

    values: Array
    vectors: Array
    length: float

    @classmethod
    def of(cls, length: float) -> Line:
        e = length / RADIUS
        return cls(*np.linalg.eigh([[1.0 + K, -K * e], [-K * e, K * e * e]]), length)

    def steady(self, speed: float) -> tuple[Array, float]:
        """Return v (6,) of a ball that rolls with a constant deceleration, and the time to its stop [s]."""
        slip, turn = self.vectors[:, 0] * np.sign(self.vectors[1, 0])
        spin = speed / (RADIUS + self.length * slip / turn)
        return np.array([speed, 0, 0, 0, spin, 0]), self.length * spin / turn / (MU * G * self.values[0])

    def stop(self, speed: float, spin: float) -> tuple[float, float]:
        """Return time and way to the stop from any state, by quadrature over z = exp(−λ τ)."""
        parts = self.vectors.T @ [speed - RADIUS * spin, self.length * spin]
        decay, pace = self.values / self.values[0], MU * G * self.values[0]

        def slips(z: float) -> Array:
            return self.vectors @ (parts * z**decay)

        def way(z: float) -> float:
            slip, turn = slips(z)
            return float(np.hypot(slip, turn) * (slip + turn * RADIUS / self.length)) / (pace * z)

        exact = {"epsabs": 1e-13, "epsrel": 1e-13, "limit": 500}
        time = quad(lambda z: float(np.hypot(*slips(z))) / (pace * z), 0.0, 1.0, **exact)[0]
        return time, quad(way, 0.0, 1.0, **exact)[0]


START = [0, 0, RADIUS, 1, 0, 0, 0]


def stopped(motion: sr.Trajectory) -> float:
    """Return when the ball stopped."""
    return [switch.time for switch in motion.switches if switch.sticking and switch.time > 0.0][-1]


# --- one ball -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [None, "dop853", "rodas4", "rodas5p"])
@pytest.mark.parametrize("length", [0.02, 0.005])
def test_a_ball_stops_where_and_when_the_cone_says(length: float, method: str | None) -> None:
    """Rolling without slip first, and on the slow eigenvector, where the deceleration is constant."""
    line, system = Line.of(length), ball(length)
    steady, time = line.steady(1.0)
    for v, end, way in (
        (np.array([1.0, 0, 0, 0, 1.0 / RADIUS, 0]), *line.stop(1.0, 1.0 / RADIUS)),
        (steady, time, 0.5 * time),
    ):
        motion = sr.simulate(
            system, START, v, duration=1.1 * end, method=method, rtol=1e-10, error_estimate=False
        )
        assert abs(stopped(motion) - end) < 1e-9
        assert abs(motion.q[-1, 0] - way) < 1e-9
        assert np.abs(motion.v[-1]).max() < 1e-12
        assert np.abs(motion.q[motion.t > end + 1e-6, 0] - motion.q[-1, 0]).max() < 1e-14
        assert np.abs(sr.energy_balance(motion).residual).max() < 1e-9
    moving = motion.t < 0.99 * end
    assert_allclose(motion.v[moving, 0], 1.0 - motion.t[moving] / time, rtol=0, atol=1e-8)
    assert motion.contact_row_names == ("c.n", "c.t1", "c.t2", "c.roll1", "c.roll2")


def test_short_lengths_are_rolling_resistance_of_the_textbooks() -> None:
    """M = μ l N, and a deceleration of 5/7 μ l g/r; the slip is of the order ε²."""
    length = 1e-4
    system, (v, time) = ball(length), Line.of(length).steady(1.0)
    found = system.forward_dynamics(START, v)
    assert found.a[0] == pytest.approx(-5.0 / 7.0 * MU * length * G / RADIUS, rel=1e-5)
    assert found.contacts["c"][-1] * length == pytest.approx(-MU * length * G, rel=1e-5)
    assert found.a[0] == pytest.approx(-1.0 / time, rel=1e-9)


def test_steps_in_time_stop_there_with_order_one_and_rest() -> None:
    line, system = Line.of(0.02), ball()
    end, way = line.stop(1.0, 10.0)
    errors = []
    for dt in (4e-3, 2e-3, 1e-3, 5e-4):
        motion = sr.simulate(
            system,
            START,
            [1, 0, 0, 0, 10, 0],
            duration=1.6,
            dt=dt,
            error_estimate=False,
            method="moreau-jean",
        )
        errors.append(abs(motion.q[-1, 0] - way))
        assert np.abs(motion.v[-1]).max() < 1e-12
        assert np.abs(np.diff(motion.q[motion.t > end + 2.0 * dt], axis=0)).max() < 1e-14
    assert errors[-1] < 1e-4
    assert np.log2(errors[0] / errors[-1]) / 3.0 > 0.8


@pytest.mark.parametrize("over", [0.999, 1.001, 1.5])
def test_a_slope_holds_a_ball_up_to_a_limit(over: float) -> None:
    """‖(m g sin α, m g sin α r/l)‖ = μ m g cos α at the limit, tan α = μ l/√(l² + r²); beyond it x = t y."""
    length = 0.02
    limit = np.arctan(MU * length / np.hypot(length, RADIUS))
    slope = over * limit
    system, (low, high) = ball(slope=slope), Line.of(length).values
    rest = system.forward_dynamics(START, np.zeros(6))
    motion = sr.simulate(system, START, duration=1.0, rtol=1e-10)
    if over < 1.0:
        assert rest.contacts.modes["c"] is Mode.STICKING
        assert_allclose(rest.contacts["c"], G * np.array([
            np.cos(slope), -np.sin(slope), 0.0, 0.0, -np.sin(slope) * RADIUS / length
        ]), rtol=0, atol=1e-9)  # fmt: skip
        assert np.abs(motion.q - START).max() < 1e-13
        balance = sr.equilibrium(system, START)
        assert balance.status.ok
        return
    # y = (g sin α, 0) − μ g cos α B d with y ∥ d: s (B + p) d = (1, 0), ‖d‖ = 1, in the eigenvectors
    vectors, push = Line.of(length).vectors, np.tan(slope) / MU

    def size(p: float) -> float:
        return float(np.hypot(vectors[0, 0] / (low + p), vectors[0, 1] / (high + p))) * push - 1.0

    p = brentq(size, 0.0, 1e3, xtol=1e-15, rtol=1e-14)
    slip, turn = MU * G * np.cos(slope) * p * push * (vectors @ (vectors[0] / (np.array([low, high]) + p)))
    wanted = slip + turn * RADIUS / length
    assert rest.contacts.modes["c"] is Mode.SLIDING
    assert rest.a[0] == pytest.approx(wanted, rel=1e-8)
    assert motion.q[-1, 0] == pytest.approx(0.5 * wanted, rel=1e-7)
    assert np.abs(sr.energy_balance(motion).residual).max() < 1e-9


def test_six_rows_stop_a_ball_that_also_spins() -> None:
    """Torsion alone takes the spin as before; with both the ball rests in the end, in any direction alike."""
    alone = ball(rolling=0.0, torsion=0.03)
    motion = sr.simulate(alone, START, [0, 0, 0, 0, 0, 5.0], duration=1.0, rtol=1e-10)
    assert motion.contact_row_names == ("c.n", "c.t1", "c.t2", "c.torsion")
    slows = MU * G * 0.03 / (RADIUS**2 / K)
    assert stopped(motion) == pytest.approx(5.0 / slows, abs=1e-9)
    system, ways = ball(torsion=0.03), []
    assert system.mechanism.contacts["c"].row_names[3:] == ("c.torsion", "c.roll1", "c.roll2")
    for angle in (0.0, 1.0):
        c, s = np.cos(angle), np.sin(angle)
        motion = sr.simulate(system, START, [c, s, 0, -10.0 * s, 10.0 * c, 5.0], duration=2.0, rtol=1e-10)
        assert np.abs(motion.v[-1]).max() < 1e-12
        assert np.abs(sr.energy_balance(motion).residual).max() < 1e-9
        ways.append(np.array([[c, s], [-s, c]]) @ motion.q[-1, :2])
    assert_allclose(ways[0], ways[1], rtol=0, atol=1e-9)
    rolled = sr.simulate(ball(), START, [1, 0, 0, 0, 10, 0], duration=2.0, rtol=1e-10)
    assert ways[0][0] > rolled.q[-1, 0]  # the spin takes a part of the cone


def test_millimetres_move_as_metres() -> None:
    metres, small = ball(torsion=0.03), ball(torsion=0.03, unit=1e-3)
    factor = np.array([1e3, 1e3, 1e3, 1, 1, 1])
    v = np.array([1.0, 0.3, 0, 2.0, 8.0, 5.0])
    for options in ({"rtol": 1e-10}, {"dt": 1e-3}):
        long = sr.simulate(metres, START, v, duration=2.0, error_estimate=False, **options)
        short = sr.simulate(
            small, [0, 0, 1e3 * RADIUS, 1, 0, 0, 0], v * factor, duration=2.0, error_estimate=False, **options
        )
        assert_allclose(short.q[-1, :3] / 1e3, long.q[-1, :3], rtol=0, atol=1e-8)
        assert_allclose(short.q[-1, 3:], long.q[-1, 3:], rtol=0, atol=1e-7)


def test_impacts_roll_within_the_cone() -> None:
    """A ball falls at a spin: its impulses are on the cone, opposite to (v_t, l ω) after the impact, or hold it."""
    system, v = ball(torsion=0.03), np.array([0.5, 0.2, -1.0, 1.0, 30.0, 4.0])
    hit = sr.impact(system, START, v)
    impulse, after = np.array(hit.contacts["c"]), np.array(hit.v)
    slip = np.array([after[0] - RADIUS * after[4], after[1] + RADIUS * after[3]])
    slips = np.array([*slip, 0.03 * after[5], 0.02 * after[3], 0.02 * after[4]])
    assert impulse[0] == pytest.approx(1.0, rel=1e-12)
    assert_allclose(impulse[1:], -MU * impulse[0] * slips / np.linalg.norm(slips), rtol=0, atol=1e-12)
    inertia = np.array([1.0, 1.0, 1.0, *[RADIUS**2 / K] * 3])
    assert hit.energy_loss == pytest.approx(0.5 * inertia @ (v**2 - after**2), abs=1e-13)
    held = sr.impact(system, START, [0.01, 0, -1.0, 0, 0.1, 0])
    assert np.abs(held.v).max() < 1e-14


def test_wrenches_have_the_moments() -> None:
    system, v = ball(torsion=0.03), np.array([0.5, 0.2, 0.0, 1.0, 30.0, 4.0])
    found = system.forward_dynamics(START, v)
    wrench, r = sr.contact_wrench(system, START, found, "c"), found.contacts["c"]
    assert_allclose(wrench.moment, [0.03 * r[3], 0.02 * r[4], 0.02 * r[5]], rtol=0, atol=1e-13)
    # Newton and Euler about the centre, 0.1 m above
    couple = np.array([wrench.moment[1], wrench.moment[2], wrench.moment[0]])
    arm = np.cross([0, 0, -RADIUS], [wrench.force[1], wrench.force[2], wrench.force[0]])
    assert_allclose(couple + arm, RADIUS**2 / K * found.a[3:], rtol=0, atol=1e-12)
    at_rest = sr.reactions(ball(slope=0.05), START)
    assert_allclose(at_rest["c"].couple[1], -G * np.sin(0.05) * RADIUS, rtol=1e-9)


def test_lanes_leave_many_runs_to_the_kernels() -> None:
    v = np.array([[1.0, 0, 0, 0, 10, 0], [0.5, 0.3, 0, 1, 2, 0], [0.0, 0, 0, 0, 0, 5]])
    many = sr.rollout(ball(), np.tile(START, (3, 1)), v, duration=0.5, dt=1e-3)
    for k in range(3):
        alone = sr.simulate(ball(), START, v[k], duration=0.5, dt=1e-3, error_estimate=False)
        assert np.array_equal(many.q[k, -1], alone.q[-1])


def test_several_balls_share_an_axle() -> None:
    """Two equal balls on one axle have redundant rows; they roll as one ball of half the load each, to a stop."""
    mechanism = sr.Mechanism("axle")
    mechanism.add_body("axle", 1.0, inertia=(RADIUS**2 / K,) * 3)
    mechanism.add_joint("free", "free", "world", "axle", parent_pose=(0, 0, RADIUS))
    for name, y in (("left", 0.2), ("right", -0.2)):
        mechanism.add_contact(
            name, "axle", (0, y, 0), radius=RADIUS, friction="coulomb", friction_coefficient=MU, rolling=0.02
        )
    system, (v, end) = System(mechanism), Line.of(0.02).steady(1.0)
    found = system.forward_dynamics(START, v)
    assert found.a[0] == pytest.approx(-1.0 / end, rel=1e-9)
    motion = sr.simulate(system, START, v, duration=1.2 * end, rtol=1e-10)
    assert motion.status.ok
    assert abs(motion.q[-1, 0] - 0.5 * end) < 1e-8
    assert np.abs(motion.v[-1]).max() < 1e-12


def test_a_ball_held_by_a_huge_length_does_not_roll() -> None:
    """l ≫ r: rolling is stiffer than sliding, and a ball that is pushed slides with a = −μ g and turns no more."""
    system = ball(rolling=1e3)
    motion = sr.simulate(system, START, [1.0, 0, 0, 0, 0, 0], duration=0.5)
    assert motion.status.ok
    assert motion.q[-1, 0] == pytest.approx(0.5 / (MU * G), rel=1e-4)
    assert np.abs(motion.v[-1]).max() < 1e-12


@pytest.mark.parametrize("slides", [False, True])
def test_steps_in_time_have_derivatives(slides: bool) -> None:
    """Against differences of steps from states that keep contacts closed (nothing approaches), extrapolated."""
    rng, dt = np.random.default_rng([3, 1]), 2e-3
    scene = rolling_scene(rng, slides)
    system, way, more = scene.system, along_planes(scene, rng), along_planes(scene, rng)
    found = sr.sensitivity.step_derivatives(system, scene.q, scene.v, dt=dt, method="moreau-jean")
    heads = [one.rows.start for one in contact_elements(system)]

    def differences(eps: float) -> tuple[Array, Array]:
        """Return the change of v at the start, and of (q, v) at the end, over eps."""
        starts, ends = list[Array](), list[tuple[Array, Array]]()
        for sign in (eps, -eps):
            q = system.move(scene.q, sign * way)
            rows = contact_row_state(system, q, scene.v, 0.0).rows[heads]
            v = scene.v + sign * more
            starts.append(v - np.linalg.pinv(rows) @ (rows @ v))
            ends.append(one_step(scene, q, starts[-1], scene.u, dt))
        change = [difference(system, ends[1][0], ends[0][0]), ends[0][1] - ends[1][1]]
        return (starts[0] - starts[1]) / (2.0 * eps), np.concatenate(change) / (2.0 * eps)

    far, near = differences(1e-5), differences(5e-6)
    start, exact = ((4.0 * b - a) / 3.0 for a, b in zip(far, near))
    ours = found.F @ np.concatenate([way, start])
    assert np.abs(ours - exact).max() < 1e-8 * np.abs(exact).max()


@pytest.mark.parametrize("slides", [False, True])
def test_all_ways_to_move_agree(slides: bool) -> None:
    """Local coordinates, a published formulation, implicit methods, and steps in time with their order."""
    scene = rolling_scene(np.random.default_rng([3, 1]), slides)
    system, q, v = scene.system, scene.q, scene.v
    how = {"duration": 0.2, "error_estimate": False}
    base = sr.simulate(system, q, v, rtol=1e-10, **how)
    for options in (
        {"coordinates": "null-space"}, {"formulation": "udwadia-kalaba"}, {"method": "rodas5p"},
    ):  # fmt: skip
        other = sr.simulate(system, q, v, rtol=1e-10, **how, **options)
        assert_allclose(other.q[-1], base.q[-1], rtol=0, atol=1e-9)
    errors = []
    for dt in (1e-3, 5e-4):
        steps = sr.simulate(system, q, v, method="moreau-jean", dt=dt, **how)
        errors.append(np.abs(steps.q[-1] - base.q[-1]).max())
    assert errors[1] < 1e-3
    assert np.log2(errors[0] / errors[1]) > 0.8


def test_steps_in_c_are_those_of_the_library(tmp_path) -> None:
    system, v = ball(torsion=0.03), [1.0, 0.3, 0.0, 1.0, 8.0, 5.0]
    code = Compiled(sr.export.c_code(system, tmp_path, ("contact_step", "contacts"), name="plant"), system)
    motion = sr.simulate(system, START, v, duration=0.2, dt=1e-3, error_estimate=False)
    q, speed, t, forces = np.array(START, float), np.array(v), np.zeros(1), np.zeros(6)
    for k in range(200):
        assert code.call("contact_step", q, speed, None, t, None, 1e-3, forces) == 0
        assert_allclose(q, motion.q[k + 1], rtol=0, atol=1e-12)
        assert_allclose(forces, motion.contact_forces[k + 1], rtol=0, atol=1e-9)
    assert "PLANT_TOUCH_C_ROLL2 = 5" in (tmp_path / "plant.h").read_text()


def test_environments_and_studies_step_alike() -> None:
    """Lanes have no rows of rolling friction: environments and many runs go on with the kernels of single runs."""
    mechanism = deepcopy(ball(torsion=0.03).mechanism)
    mechanism.add_actuator("push", "free.vx")
    system, v = System(mechanism), [1.0, 0.3, 0.0, 1.0, 8.0, 5.0]
    env = sr.gym.make(system, q=START, v=v, sample_time=0.02, dt=1e-3, num_envs=9)
    seen, _ = env.reset(seed=0)
    for _ in range(5):
        seen, *_ = env.step(np.full((9, 1), 0.5, dtype=np.float32))
    alone = sr.simulate(
        system, START, v, duration=0.1, dt=1e-3, control=lambda q, v, t: [0.5], error_estimate=False
    )
    assert_allclose(seen, np.tile([*alone.q[-1], *alone.v[-1]], (9, 1)), rtol=0, atol=1e-12)
    assert not suits_contact_lanes(system, 0)


# --- what is wrong ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"friction": "coulomb", "friction_coefficient": 0.0},
            "contact 'c'.*times a length, which is 0 here",
        ),
        ({"friction": "stick"}, "torsion, rolling and static_coefficient are for friction='coulomb'"),
        (
            {"friction": "coulomb", "friction_coefficient": 0.5, "rolling": -1.0},
            "rolling must not be negative",
        ),
    ],
)
def test_lengths_without_a_cone_are_an_error(wrong: dict[str, object], said: str) -> None:
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", 1.0, inertia=(0.1,) * 3)
    mechanism.add_joint("free", "free", "world", "ball")
    with pytest.raises(ModelError, match=said):
        mechanism.add_contact("c", "ball", **({"rolling": 0.1} | wrong))
    assert not mechanism.contacts


# --- files --------------------------------------------------------------------------------------------

FILE = """
<mujoco>
  <option cone="elliptic" timestep="1e-4" integrator="implicitfast" impratio="10"/>
  <default><geom solref="4e-4 1" solimp="0.9999 0.9999 1e-6"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" condim="{condim}" friction="0.5 0.015 0.01" priority="{priority}"/>
    <body name="ball" pos="0 0 0.1"><freejoint/>
      <geom name="ball" type="sphere" size="0.1" mass="1" condim="3" friction="0.5 0.003 {rolling}"/></body>
  </worldbody>
</mujoco>
"""


def test_floor_contacts_have_the_friction_of_the_file(tmp_path) -> None:
    file = tmp_path / "ball.xml"
    for condim, priority, rolling, lengths in (
        (3, 0, 0.02, (0.0, 0.0)), (4, 0, 0.02, (0.03, 0.0)), (6, 0, 0.02, (0.03, 0.04)), (6, 1, 0.02, (0.03, 0.02)),
        (6, 0, 0.0, (0.03, 0.02)),
    ):  # fmt: skip
        file.write_text(FILE.format(condim=condim, priority=priority, rolling=rolling))
        mechanism = sr.load(file)
        (contact,) = mechanism.add_floor_contacts()
        assert (contact.torsion, contact.rolling) == pytest.approx(lengths)
        (pair,) = mechanism.add_geometry_contacts()
        assert (pair.torsion, pair.rolling) == pytest.approx(lengths)
        assert pair.rows == tuple(row.partition(".")[2] for row in contact.row_names)
        (again,) = sr.load(file).add_floor_contacts(friction_coefficient=0.25)
        assert again.rolling == pytest.approx(2.0 * lengths[1])


def test_files_bring_rolling_friction_back(tmp_path) -> None:
    """Five and six rows through to_mjcf; a file has no length without its coefficient, so condim 6 has both."""
    for k, (rolling, torsion) in enumerate([(0.02, 0.0), (0.02, 0.03), (0.0, 0.03), (0.0, 0.0)]):
        mechanism = ball(rolling, torsion).mechanism
        file = tmp_path / f"ball{k}.xml"
        mechanism.to_mjcf(file, contacts="geoms")
        model = mujoco.MjModel.from_xml_path(str(file))
        assert model.pair_dim[0] == {5: 6, 6: 6, 4: 4, 3: 3}[mechanism.contacts["c"].friction_rows]
        (contact,) = sr.load(file).add_floor_contacts()
        assert (contact.rolling, contact.torsion) == pytest.approx((rolling, torsion))
        assert len(contact.row_names) == len(mechanism.contacts["c"].row_names)


def test_mujoco_with_hard_contacts_stops_alike(tmp_path) -> None:
    """Elliptic cones of condim 6, steps of 0.1 ms: what rolls to 2e-3, the spin to 1e-2.

    A contact of MuJoCo that slides is in the air most of the time (μ ‖slip‖ lifts it), and its impulses have the
    direction of a slip extrapolated by a part of their own change, whatever the step and the softness.
    """
    file = tmp_path / "ball.xml"
    file.write_text(FILE.format(condim=6, priority=1, rolling=0.0))
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    v = np.array([1.0, 0.0, 0.0, 0.0, 10.0, 5.0])
    data.qvel[:] = v

    def seen(q: Array, v: Array) -> Array:
        """Return position and velocities, angular ones in world axes and times the radius."""
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, np.array(q[3:]))
        return np.array([*q[:2], *v[:2], *RADIUS * turn.reshape(3, 3) @ v[3:]])

    mechanism = sr.load(file)
    for add in (mechanism.add_floor_contacts, mechanism.add_geometry_contacts):
        mechanism.contacts.clear()
        add()
        system = System(mechanism)
        times = (0.2, 0.4, 0.6, 0.8, 1.0)
        ours = sr.simulate(system, system.neutral(), v, duration=1.0, every=sr.Recording(at=times))
        mujoco.mj_resetData(model, data)
        data.qvel[:] = v
        for q, speeds in zip(ours.q[1:], ours.v[1:]):
            mujoco.mj_step(model, data, 2000)
            apart = np.abs(seen(q, speeds) - seen(data.qpos, data.qvel))
            assert apart[:6].max() < 2e-3
            assert apart[6] < 1e-2
