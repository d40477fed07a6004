"""Time stepping of runs side by side: contact problems in slots, and runs that do not depend on their neighbours."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.codegen import compile_function
from sarrus.codegen.native import NativeFunction
from sarrus.dynamics.impacts.activity import gaps
from sarrus.kernels.memory.batch_layout import LANES
from sarrus.motion.loop.contact_lane_functions import suits_contact_lanes
from sarrus.symbolic.equations.contact_lanes import Slots, closing, newton, push, scaled, sharing, sweep
from test_time_stepping import body, point

G = 9.81


# --- the contact problem ------------------------------------------------------------------------------


@cache
def function(part: object, *size: object) -> NativeFunction:
    x, outputs = part(*size)  # type: ignore[operator]
    return compile_function(f"{part.__name__} in a test", [x], outputs, lanes=LANES)  # type: ignore[attr-defined]


def violated(W: Array, b: Array, mu: Array, r: Array, dry: int = 0) -> float:
    """Return by how much forces r break Signorini's and Coulomb's laws, written without a projection.

    The last ``dry`` numbers are limits of dry friction.
    """
    u, worst, c = W @ r + b, 0.0, len(mu) - dry
    size = max(1.0, np.abs(r).max(), np.abs(u).max())
    for k in range(c):
        (n, *t), (un, *ut) = r[3 * k : 3 * k + 3], u[3 * k : 3 * k + 3]
        tangent, slip = np.hypot(*t), np.hypot(*ut)
        worst = max(worst, -n, -un, abs(n * un), tangent - mu[k] * n)
        worst = max(
            worst, abs(slip * mu[k] * n + np.dot(t, ut))
        )  # slides against the friction, with all of it
    single = len(r) - dry
    for n, un in zip(r[3 * c : single], u[3 * c : single]):
        worst = max(worst, -n, -un, abs(n * un))
    for limit, n, un in zip(mu[c:], r[single:], u[single:]):
        worst = max(worst, abs(n) - limit, abs(limit * abs(un) + n * un))  # all of it, against the motion
    return float(worst / size**2)


def problem(rng: np.random.Generator, used: Slots, rank: int) -> tuple[Array, Array, Array]:
    """Return W of a rank, b that some forces and velocities allow, and friction coefficients and limits."""
    H = rng.normal(size=(used.rows, rank))
    return H @ H.T, H @ rng.normal(size=rank), rng.uniform(0.1, 1.0, used.contacts + used.dry)


def solve(slots: Slots, problems: list[tuple[Array, Array, Array]], used: Slots) -> tuple[Array, Array]:
    """Return forces and residuals of problems with ``used`` slots, in the first of these slots, one in each lane."""
    m, first = slots.rows, 3 * slots.contacts
    own = [*range(3 * used.contacts), *range(first, first + used.single), *range(m - used.dry, m)]
    given = np.zeros((slots.packed + 2 * m + slots.contacts + slots.dry, LANES))
    for k, (W, b, mu) in enumerate(problems):
        whole = np.zeros((m, m))
        whole[np.ix_(own, own)] = W
        given[: slots.packed, k] = whole[np.tril_indices(m)]
        given[[slots.packed + i for i in own], k] = b
        numbers = slots.packed + m
        given[numbers : numbers + used.contacts, k] = mu[: used.contacts]
        given[numbers + slots.contacts : numbers + slots.contacts + slots.dry, k] = mu[used.contacts :]
    found = function(scaled, slots)(given)
    units, x = found[:m], found[m:]
    for _ in range(10):
        x[-m:] = function(sweep, slots)(x)
    residual, best = np.full(LANES, np.inf), x[-m:].copy()
    for _ in range(12):
        left, *ahead = function(newton, slots)(x)
        better = left < residual
        residual[better], best[:, better] = left[better], x[-m:][:, better]
        x[-m:] = np.array(ahead)
    return (best * units)[own], residual


@pytest.mark.parametrize(
    ("used", "rank"),
    [
        (Slots(0, 3), 3),
        (Slots(2, 2), 8),
        (Slots(4, 0), 12),
        (Slots(4, 0), 9),
        (Slots(0, 0, 3), 3),
        (Slots(2, 2, 3), 11),
        (Slots(2, 1, 3), 8),
    ],
)
def test_forces_obey_the_laws(used: Slots, rank: int) -> None:
    """Residuals written from the laws; with rank 9 of 12 rows, and 8 of 10, the forces are not unique."""
    rng, solved = np.random.default_rng(7), 0
    for _ in range(6):
        problems = [problem(rng, used, rank) for _ in range(LANES)]
        forces, residual = solve(used, problems, used)
        for k, (W, b, mu) in enumerate(problems):
            if residual[k] <= 1e-13:
                solved += 1
                assert violated(W, b, mu, forces[:, k], used.dry) <= 1e-12
            else:
                assert not residual[k] <= 2e-11  # it is left to the kernel of single runs
    assert solved >= 40


@pytest.mark.parametrize("dry", [0, 2])
def test_unused_slots_change_no_bit(dry: int) -> None:
    rng, used = np.random.default_rng(3), Slots(1, 2, dry)
    problems = [problem(rng, used, 5 + dry) for _ in range(LANES)]
    forces, residual = solve(used, problems, used)
    for slots in (Slots(2, 2, dry), Slots(2, 4, dry), Slots(4, 4, dry)):
        others, left = solve(slots, problems, used)
        np.testing.assert_array_equal(others, forces)
        np.testing.assert_array_equal(left, residual)


def test_loads_that_are_shared_in_any_way() -> None:
    """A sledge on two contacts, or on one and a joint that sticks: the motion depends on the share where one slides."""
    slots = Slots(2, 0, 1)
    W = np.zeros((7, 7))
    W[np.ix_([0, 3, 6], [0, 3, 6])] = 1.0  # one motion that both normal rows and the joint stop
    W[[1, 2, 4, 5], [1, 2, 4, 5]] = 1.0
    numbers, limit = [0.5, 0.3], 0.5
    cases = [  # forces, whether velocities slide, and the answer
        ([0.5, -0.25, 0, 0.5, -0.15, 0, 0], 1, True),  # two coefficients
        ([0.5, -0.25, 0, 0.5, -0.15, 0, 0.5], 1, True),
        ([0.5, 0, 0, 0.5, 0, 0, 0], 0, False),  # both stick
        ([1.0, -0.5, 0, 0, 0, 0, 0.2], 1, True),  # the joint takes a part
    ]
    for forces, slide, answer in cases:
        r, b = np.array(forces), np.zeros(7)
        b[[0, 3, 6]] = -(r[0] + r[3] + r[6])
        b[[1, 4]] = slide - r[[1, 4]]
        x = np.concatenate([W[np.tril_indices(7)], b, numbers, [limit], r])
        assert function(sharing, slots)(np.tile(x[:, None], LANES)).ravel()[0] == answer
        W_apart = W + 0.5 * np.diag([1, 0, 0, 1, 0, 0, 1])
        x[: slots.packed] = W_apart[np.tril_indices(7)]
        assert function(sharing, slots)(np.tile(x[:, None], LANES)).ravel()[0] == 0


def test_normal_forces_that_close_gaps() -> None:
    slots, rng = Slots(2, 2), np.random.default_rng(5)
    given, on = np.zeros((slots.packed + 2 * 4, LANES)), rng.random((4, LANES)) < 0.6
    H, g = rng.normal(size=(8, 8)), rng.normal(size=(4, LANES))
    W = H @ H.T
    given[: slots.packed] = W[np.tril_indices(8)][:, None]
    given[slots.packed :] = np.vstack([g, on])
    found = function(closing, slots)(given)
    normal = W[np.ix_(slots.heads, slots.heads)]
    for k in range(LANES):
        chosen = on[:, k]
        assert not found[~chosen, k].any()
        left = normal[np.ix_(chosen, chosen)] @ found[chosen, k] + g[chosen, k]
        np.testing.assert_allclose(left, 0.0, atol=1e-10 * np.abs(W).max() * np.abs(found).max())


def test_sums_over_slots() -> None:
    slots, nv, rng = Slots(1, 1), 3, np.random.default_rng(6)
    J = rng.normal(size=(4, nv, LANES))
    r = rng.normal(size=(4, LANES))
    sums = function(push, slots, nv)(np.vstack([r, J.reshape(-1, LANES)]))
    np.testing.assert_allclose(sums, np.einsum("sik,sk->ik", J, r), rtol=1e-13, atol=1e-13)


# --- runs ---------------------------------------------------------------------------------------------


ARM = """<mujoco><worldbody>
  <body pos="0 0 1"><joint name="one" type="hinge" axis="0 1 0" frictionloss="0.05"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/>
    <body pos="0.3 0 0"><joint name="two" type="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/>
      <site name="tip" pos="0.3 0 0.02"/></body></body>
  <site name="wall" pos="0.5 0 1.6"/></worldbody>
<tendon><spatial name="rope" frictionloss="0.8"><site site="wall"/><site site="tip"/></spatial>
  <fixed name="coupling" frictionloss="0.1"><joint joint="one" coef="1"/><joint joint="two" coef="-0.5"/></fixed>
</tendon></mujoco>"""


def falling(runs: int, dry: float = 0.0, folder: Path = Path()) -> tuple[sr.System, Array, Array]:
    """Return the quadruped above a floor, with scattered velocities, and with dry friction [N m] in all joints."""
    file = Path("models/quadruped.xml")
    if dry > 0.0:
        text = file.read_text().replace('type="hinge"', f'type="hinge" frictionloss="{dry}"')
        file = folder / "quadruped.xml"
        file.write_text(text)
    mechanism = sr.load(file)
    mechanism.add_floor_contacts()
    system = sr.System(mechanism)
    q = np.array(mechanism.keyframes["stand"].q)
    q[2] += 2e-3 - min(gaps(system, q).values())
    rng = np.random.default_rng(1)
    v = np.zeros((runs, system.nv))
    v[:, :3] = rng.normal(0.0, 0.3, (runs, 3))
    return system, np.tile(q, (runs, 1)), v


def test_blocks_stop_where_friction_has_taken_their_energy() -> None:
    """v²/(2 μ g) for nine speeds; one block is in the air, and one stays there."""
    system, speeds = point(0.3), np.linspace(0.4, 1.2, 9)
    q, v = np.tile(system.neutral(), (9, 1)), np.zeros((9, 6))
    v[:, 0], q[8, 2], v[8, 2] = speeds, 5.0, 1.0
    runs = sr.rollout(system, q, v, duration=0.5, dt=1e-3, progress=False)
    assert runs.side_by_side
    np.testing.assert_allclose(runs.final_q[:8, 0], speeds[:8] ** 2 / (2 * 0.3 * G), rtol=1e-5)
    assert np.abs(runs.final_q[:8, 2]).max() < 1e-14
    assert np.abs(runs.final_v[:8]).max() < 1e-13
    np.testing.assert_allclose(runs.final_q[8, 2], 5.0 + 0.5 - G * 0.125, rtol=1e-13)


def sledges() -> tuple[sr.System, Array, Array]:
    """Return a sledge on a rail with dry friction [2 N] and a stop at 1 m, with nine speeds; one stands, pushed."""
    sledge = sr.Mechanism("sledge")
    sledge.add_body("sledge", 4.0)
    sledge.add_joint("rail", "prismatic", "world", "sledge", axis=(1, 0, 0), friction=2.0, limits=(-1.0, 1.0))
    sledge.add_actuator("push", "rail")
    v = np.linspace(0.2, 0.9, 9)[:, None]
    v[8], u = 0.0, np.zeros((9, 1, 1))
    u[8] = 1.9
    return sr.System(sledge), v, u


def test_dry_friction_stops_where_it_has_taken_the_energy() -> None:
    """m v²/(2 l); to rounding, as dry friction is constant; one that is pushed by less than l stands."""
    system, v, u = sledges()
    runs = sr.rollout(
        system, np.zeros((9, 1)), v, u=u, duration=2.0, dt=1e-3, method="moreau-jean", progress=False
    )
    alone = sr.rollout(
        system,
        np.zeros((9, 1)),
        v,
        u=u,
        duration=2.0,
        dt=1e-3,
        method="moreau-jean",
        progress=False,
        side_by_side=False,
    )
    assert (runs.side_by_side, alone.side_by_side) == (True, False)
    np.testing.assert_allclose(runs.final_q, 4.0 * v**2 / (2 * 2.0), rtol=1e-5, atol=0)
    np.testing.assert_array_equal(runs.final_q[8], 0.0)
    assert not runs.final_v.any()
    np.testing.assert_allclose(runs.final_q, alone.final_q, rtol=0, atol=1e-14)


def test_dry_friction_of_a_joint_at_its_stop() -> None:
    """Sledges that meet the stop, one pushed against it: the same places and forces as in single runs."""
    system, v, _ = sledges()
    v, u = v + 2.0, np.zeros((9, 1, 1))
    u[::2] = 5.0
    options = {"u": u, "duration": 1.0, "dt": 1e-2, "every": 1, "method": "moreau-jean", "progress": False}
    runs = sr.rollout(system, np.zeros((9, 1)), v, **options)
    alone = sr.rollout(system, np.zeros((9, 1)), v, side_by_side=False, **options)
    np.testing.assert_allclose(runs.final_q, 1.0, rtol=0, atol=1e-12)
    for name in ("q", "v", "a"):
        np.testing.assert_allclose(getattr(runs, name), getattr(alone, name), rtol=0, atol=1e-11)


def test_dry_friction_along_tendons(tmp_path: Path) -> None:
    """An arm that swings with a tendon and a coupling that rub: states, and accelerations from the first sample."""
    file = tmp_path / "arm.xml"
    file.write_text(ARM)
    system = sr.System(sr.load(file))
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-0.5, 0.5, (9, 2)), rng.normal(0.0, 2.0, (9, 2))
    options = {"duration": 0.3, "dt": 2e-3, "every": 15, "progress": False}
    lanes = sr.rollout(system, q, v, **options)
    alone = sr.rollout(system, q, v, side_by_side=False, **options)
    assert (lanes.side_by_side, alone.side_by_side) == (True, False)
    for name in ("q", "v", "a"):
        np.testing.assert_allclose(getattr(lanes, name), getattr(alone, name), rtol=0, atol=1e-9)


def test_a_robot_with_dry_friction_in_all_joints(tmp_path: Path) -> None:
    """A quadruped that falls on its feet: as single runs to rounding, and bits that do not depend on neighbours."""
    system, q, v = falling(11, 0.1, tmp_path)
    options = {"duration": 0.06, "dt": 1e-3, "every": 10, "progress": False}
    lanes = sr.rollout(system, q, v, **options)
    alone = sr.rollout(system, q, v, side_by_side=False, **options)
    assert (lanes.side_by_side, alone.side_by_side) == (True, False)
    np.testing.assert_allclose(lanes.q, alone.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(lanes.v, alone.v, rtol=0, atol=1e-8)
    np.testing.assert_allclose(lanes.a, alone.a, rtol=0, atol=1e-5 * np.abs(alone.a).max())
    order = np.random.default_rng(2).permutation(11)
    mixed = sr.rollout(system, q[order], v[order], threads=2, **options)
    for name in ("q", "v", "a"):
        np.testing.assert_array_equal(getattr(mixed, name), getattr(lanes, name)[order])


def test_dry_friction_of_redundant_joints_of_a_loop(tmp_path: Path) -> None:
    """A five-bar with dry friction in four joints, which has two motions, swings: as in single runs."""
    file = tmp_path / "five_bar.xml"
    text = Path("models/five_bar.xml").read_text()
    text = text.replace('type="hinge"', 'type="hinge" frictionloss="2"')
    file.write_text(text)
    system = sr.System(sr.load(file))
    q = system.keyframe("symmetric").q
    speeds = np.random.default_rng(8).normal(0, 0.5, (9, system.nv))
    v = np.array([system.project_velocity(q, speed) for speed in speeds])
    options = {"duration": 0.6, "dt": 2e-3, "every": 30, "method": "moreau-jean", "progress": False}
    lanes = sr.rollout(system, np.tile(q, (9, 1)), v, **options)
    alone = sr.rollout(system, np.tile(q, (9, 1)), v, side_by_side=False, **options)
    assert (lanes.side_by_side, alone.side_by_side) == (True, False)
    np.testing.assert_allclose(lanes.q, alone.q, rtol=0, atol=1e-9)


@pytest.mark.parametrize("loss", [0.02, 2.0, 2e3, 2e6])
def test_redundant_dry_friction_stops_a_loop(tmp_path: Path, loss: float) -> None:
    """A five-bar without gravity comes to rest by its four joints, whose limits are small or large, and stays there.

    Dry friction only takes energy: v = 0 to rounding as soon as the limits can take the momentum.
    """
    file = tmp_path / "five_bar.xml"
    text = Path("models/five_bar.xml").read_text().replace("<option ", '<option gravity="0 0 0" ')
    file.write_text(text.replace('type="hinge"', f'type="hinge" frictionloss="{loss}"'))
    system = sr.System(sr.load(file))
    q = system.keyframe("symmetric").q
    speeds = np.random.default_rng(8).normal(0, 0.5, (8, system.nv))
    v = np.array([system.project_velocity(q, speed) for speed in speeds])
    v[0] = 0.0
    v[1] *= 1e-12
    runs = sr.rollout(
        system, np.tile(q, (8, 1)), v, duration=1.0, dt=2e-3, every=50, method="moreau-jean",
        side_by_side=False, progress=False,
    )  # fmt: skip
    assert all(status.ok for status in runs.status)
    energy = [[state_v @ system.mass_matrix(state_q) @ state_v for state_q, state_v in zip(*run)]
              for run in zip(runs.q, runs.v)]  # fmt: skip
    assert (np.diff(energy, axis=1) <= 1e-12).all()
    assert np.abs(runs.final_v[:2]).max() <= 1e-20
    if loss >= 2e3:
        assert np.abs(runs.final_v).max() <= 1e-20


def test_a_quadruped_with_dry_friction_that_needs_another_unit_of_forces(tmp_path: Path) -> None:
    """Driven hard: the contact problem of one step has no answer from any start in the usual unit of forces."""
    system, q, v = falling(64, 0.1, tmp_path)
    u = np.random.default_rng(2).normal(0, 1.0, (64, 200, len(system.mechanism.actuators)))[32:33, :130]
    run = sr.rollout(
        system, q[32:33], v[32:33], u=u, duration=0.26, dt=2e-3, every=130, method="moreau-jean",
        side_by_side=False, progress=False,
    )  # fmt: skip
    assert run.status[0].ok


def test_rebounds_have_the_height_of_newtons_law() -> None:
    """A step tells the time of a hit by its length, so speeds before and after it by g dt."""
    system, dt = point(0.4, restitution=0.5), 1e-4
    q, v = np.tile(system.neutral(), (8, 1)), np.zeros((8, 6))
    q[:, 2] = np.linspace(0.05, 0.2, 8)
    runs = sr.rollout(system, q, v, duration=0.6, dt=dt, every=10, progress=False)
    assert runs.side_by_side
    for k in range(8):
        fall = np.sqrt(2 * q[k, 2] / G)
        first = runs.q[k, (runs.t > fall) & (runs.t < 2 * fall), 2].max()
        off = G * dt * (1.0 + 1.0 / 0.5) / np.sqrt(2 * G * q[k, 2])
        np.testing.assert_allclose(first, 0.25 * q[k, 2], rtol=2 * off)


def test_a_coordinate_that_begins_beyond_its_limit_comes_back() -> None:
    """It leaves the lanes until it is inside; the others swing against a stop that holds."""
    arm = sr.Mechanism("arm")
    arm.add_body("arm", 1.0, com=(0.5, 0, 0), inertia=(0.01, 0.01, 0.01))
    arm.add_joint("hinge", "revolute", "world", "arm", axis=(0, 1, 0), limits=(-0.5, 0.6))
    system = sr.System(arm)
    q = np.linspace(-0.4, 0.5, 10)[:, None]
    q[3] = 0.9
    with pytest.warns(sr.LimitWarning):
        runs = sr.rollout(system, q, duration=2.0, dt=1e-3, every=20, method="moreau-jean", progress=False)
    assert runs.side_by_side
    assert runs.success.all()
    np.testing.assert_allclose(np.delete(runs.final_q, 3, axis=0), 0.6, rtol=0, atol=1e-12)
    assert np.abs(runs.q[3]).max() <= 0.9 + 1e-12


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_does_not_depend_on_its_neighbours(threads: int) -> None:
    """Bit for bit, whatever runs are beside it, in which order, and in how many threads."""
    system, q, v = falling(11)
    options = {"duration": 0.08, "dt": 1e-3, "every": 40, "progress": False}
    whole = sr.rollout(system, q, v, threads=1, **options)
    assert whole.side_by_side
    assert whole.success.all()
    order = np.random.default_rng(2).permutation(11)
    mixed = sr.rollout(system, q[order], v[order], threads=threads, **options)
    some = sr.rollout(system, q[order[:3]], v[order[:3]], threads=threads, **options)
    for name in ("q", "v", "a"):
        np.testing.assert_array_equal(getattr(mixed, name), getattr(whole, name)[order])
        np.testing.assert_array_equal(getattr(some, name), getattr(whole, name)[order[:3]])


def test_runs_are_those_of_single_runs_to_rounding() -> None:
    """A quadruped that falls on its feet, slides and sags: states, and accelerations with contact forces."""
    system, q, v = falling(5)
    options = {"duration": 0.06, "dt": 1e-3, "every": 10, "progress": False}
    lanes = sr.rollout(system, q, v, **options)
    alone = sr.rollout(system, q, v, side_by_side=False, **options)
    assert (lanes.side_by_side, alone.side_by_side) == (True, False)
    assert (np.abs(alone.q[:, -1, 2] - q[:, 2]) > 1e-4).all()
    np.testing.assert_allclose(lanes.q, alone.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(lanes.v, alone.v, rtol=0, atol=1e-8)
    np.testing.assert_allclose(lanes.a, alone.a, rtol=0, atol=1e-5 * np.abs(alone.a).max())


def test_a_loop_falls_on_a_floor() -> None:
    """The tip of a five-bar, closed by redundant rows, meets a floor and slides; loops stay closed."""
    mechanism = sr.load("models/five_bar.xml")
    q = sr.System(mechanism).keyframe("symmetric").q
    tip, height = list(mechanism.bodies)[1], sr.System(mechanism).body_placements(q)[0][1][2]
    mechanism.add_contact(
        "tip", tip, friction="coulomb", friction_coefficient=0.3, offset=float(height) - 0.05
    )
    system = sr.System(mechanism)
    v = np.array(
        [system.project_velocity(q, speed) for speed in np.random.default_rng(8).normal(0, 0.1, (9, 4))]
    )
    options = {"duration": 0.3, "dt": 1e-3, "every": 30, "progress": False}
    lanes = sr.rollout(system, np.tile(q, (9, 1)), v, **options)
    alone = sr.rollout(system, np.tile(q, (9, 1)), v, side_by_side=False, **options)
    assert lanes.side_by_side
    heights = [system.body_placements(x)[0][1][2] - height + 0.05 for x in lanes.final_q]
    assert min(heights) > -1e-12
    assert sum(gap < 1e-9 for gap in heights) >= 3  # these lie on the floor
    assert max(np.abs(system.constraint_residual(x)).max() for x in lanes.final_q) < 1e-12
    np.testing.assert_allclose(lanes.q, alone.q, rtol=0, atol=1e-9)


def test_what_does_not_step_in_lanes() -> None:
    """Static friction above sliding friction, torsional friction, dry friction of more joints than slots."""
    block = body()
    block.add_contact("c", "block", friction="coulomb", friction_coefficient=0.3, torsion=0.1)
    dry = sr.Mechanism("dry")
    for k in range(25):
        dry.add_body(f"b{k}", 1.0)
        dry.add_joint(f"slide {k}", "prismatic", "world", f"b{k}", axis=(1, 0, 0), friction=0.5)
    for system in (point(0.3, static_coefficient=0.4), sr.System(block), sr.System(dry)):
        assert not suits_contact_lanes(system.workspace(), 0)
    assert suits_contact_lanes(point(0.3).workspace(), 0)


def test_contacts_that_share_a_load_in_different_ways_share_it_as_in_single_runs() -> None:
    """Four corners that turn: how they share the weight decides the motion, so these runs leave the lanes."""
    mechanism = sr.Mechanism("crate")
    mechanism.add_body("crate", mass=2.0, inertia=(0.1, 0.1, 0.1), com=(0.03, 0.01, 0.0))
    mechanism.add_joint("float", "free", "world", "crate")
    for k, (x, y) in enumerate([(0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2)]):
        mechanism.add_contact(
            f"c{k}", "crate", (x, y, -0.1), friction="coulomb", friction_coefficient=0.2 + 0.1 * k
        )
    system = sr.System(mechanism)
    assert suits_contact_lanes(system, 0)
    q = np.tile([0, 0, 0.1, 1, 0, 0, 0], (9, 1))
    v = np.random.default_rng(4).uniform(-1.0, 1.0, (9, 6)) * [1, 1, 0, 0, 0, 3]
    many = sr.rollout(system, q, v, duration=0.2, dt=2e-3)
    alone = sr.rollout(system, q, v, duration=0.2, dt=2e-3, side_by_side=False)
    np.testing.assert_allclose(many.final_q, alone.final_q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(many.final_v, alone.final_v, rtol=0, atol=1e-11)


def test_environments_of_one_step_a_call() -> None:
    """With feet on the floor they move as a rollout does, and each as with other neighbours, bit for bit."""
    system, q, v = falling(11)
    u = np.random.default_rng(9).uniform(-1.0, 1.0, (11, 30, system.nu))
    runs = sr.rollout(system, q, v, u=u, duration=0.03, dt=1e-3, progress=False)
    order, found = np.random.default_rng(2).permutation(11), {}
    for chosen in (np.arange(11), order):
        environments = sr.gym.make(system, q=q[0], num_envs=11, dt=1e-3, sample_time=1e-3, threads=1)
        environments.reset(options={"q": q[chosen], "v": v[chosen]})
        for step in range(30):
            environments.step(u[chosen, step])
        found[chosen[0]] = environments.task.stepper.q.copy()
    assert runs.side_by_side
    np.testing.assert_array_equal(found[order[0]], found[0][order])
    np.testing.assert_allclose(found[0], runs.final_q, rtol=0, atol=1e-10)
    assert sum(min(gaps(system, place).values()) < 1e-9 for place in found[0]) > 5


def test_runs_that_leave_the_lanes_do_not_depend_on_their_neighbours() -> None:
    """Legs that are driven hard: steps that are divided leave, and contacts close in the second pass of a step."""
    system, q, v = falling(16)
    u = np.random.default_rng(0).uniform(-5.0, 5.0, (16, 40, system.nu))
    order = np.random.default_rng(1).permutation(16)
    options = {"duration": 0.4, "dt": 2e-3, "progress": False}
    whole = sr.rollout(system, q, v, u=u, threads=1, **options)
    mixed = sr.rollout(system, q[order], v[order], u=u[order], threads=2, **options)
    np.testing.assert_array_equal(mixed.final_q, whole.final_q[order])
    np.testing.assert_array_equal(mixed.final_v, whole.final_v[order])
