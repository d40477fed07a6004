"""Environments: the interface of Gymnasium, and steps that are those of a rollout."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import sarrus as sr
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.impacts.activity import gaps

FIVE_BAR = Path(__file__).parent.parent / "models" / "five_bar.xml"


@pytest.fixture(scope="module")
def system() -> sr.System:
    return sr.System(sr.load(FIVE_BAR), parameters={"m": "link1.mass"})


@pytest.fixture(scope="module")
def start(system: sr.System) -> np.ndarray:
    return np.array(system.mechanism.keyframes["symmetric"].q)


def scattered(start: np.ndarray):
    """Starts near one, with masses of their own."""

    def reset(rng: np.random.Generator, n: int):
        q = start + 0.1 * rng.standard_normal((n, 4))
        return q, 0.1 * rng.standard_normal((n, 4)), {"m": rng.uniform(1.0, 3.0, n)}

    return reset


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gymnasium_finds_nothing_wrong(system, start):
    environment = sr.gym.make(system, q=start, limits=(-20.0, 20.0), reset=scattered(start), duration=0.5)
    assert isinstance(environment, gymnasium.Env)
    check_env(environment)
    assert environment.action_space == gymnasium.spaces.Box(-20.0, 20.0, (2,), np.float32)
    assert environment.observation_space.shape == (8,)


def test_steps_are_those_of_a_rollout(system, start):
    rng = np.random.default_rng(0)
    n, steps = 11, 25
    actions = rng.uniform(-15, 15, (n, steps, 2)).astype(np.float32)
    many = sr.gym.make(
        system, q=start, num_envs=n, reset=scattered(start), limits=([-10.0, -20.0], [10.0, 20.0])
    )
    seen, _ = many.reset(seed=3)
    q, v, _ = scattered(start)(gymnasium.utils.seeding.np_random(3)[0], n)
    masses = many.task.stepper.parameters[:, 0].copy()
    clipped = np.clip(actions.astype(float), [-10.0, -20.0], [10.0, 20.0])
    expected = sr.rollout(
        system,
        q,
        v,
        duration=0.02 * steps,
        dt=1e-3,
        u=clipped,
        parameters={"m": masses},
        every=20,
        assemble=True,
    )
    np.testing.assert_allclose(seen, np.hstack([expected.q[:, 0], expected.v[:, 0]]), atol=1e-12)
    assert np.ptp(masses) > 0.5
    for k in range(steps):
        seen, reward, terminated, truncated, info = many.step(actions[:, k])
        np.testing.assert_allclose(seen[:, :4], expected.q[:, k + 1], atol=1e-10)
        np.testing.assert_allclose(seen[:, 4:], expected.v[:, k + 1], atol=1e-9)
        assert not (np.any(reward) | np.any(terminated) | np.any(truncated))
        assert info == {}


def test_one_copy_is_one_of_many_bit_for_bit(system, start):
    actions = np.random.default_rng(1).uniform(-15, 15, (30, 2)).astype(np.float32)
    one = sr.gym.make(system, q=start)
    many = sr.gym.make(system, q=start, num_envs=70, threads=2)
    few = sr.gym.make(system, q=start, num_envs=3, threads=1)
    for environment in (one, many, few):
        environment.reset(seed=0)
    other = np.random.default_rng(2)
    for action in actions:
        rows = other.uniform(-15, 15, (70, 2)).astype(np.float32)
        rows[66] = action
        single = one.step(action)[0]
        np.testing.assert_array_equal(many.step(rows)[0][66], single)
        np.testing.assert_array_equal(few.step(np.array([action] * 3))[0], [single] * 3)
    many.close()


def test_functions_and_autoreset(system, start):
    def ends(q, v, u, t):
        return (t > 0.1 - 1e-9) & (u[:, 0] > 0)

    many = sr.gym.make(
        system,
        q=start,
        num_envs=4,
        sample_time=0.05,
        duration=0.2,
        observation=lambda q, v, u, t: np.column_stack([t, q[:, 0], u]),
        reward=lambda q, v, u, t: 10 * t + u[:, 1],
        terminated=ends,
    )
    assert many.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP
    seen, _ = many.reset(seed=0)
    np.testing.assert_array_equal(seen[:, 0], 0.0)
    actions = np.zeros((4, 2), np.float32)
    actions[0, 0], actions[:, 1] = 1.0, 0.5
    history = [many.step(actions) for _ in range(6)]
    # Copy 0 terminates at 0.1 s, and begins anew in the step after; the others are truncated at 0.2 s.
    np.testing.assert_allclose([s[0][0, 0] for s in history], [0.05, 0.1, 0.0, 0.05, 0.1, 0.0], atol=1e-12)
    np.testing.assert_array_equal([s[2][0] for s in history], [False, True, False, False, True, False])
    np.testing.assert_allclose([s[1][0] for s in history], [1.0, 1.5, 0.0, 1.0, 1.5, 0.0], atol=1e-12)
    np.testing.assert_allclose([s[0][1, 0] for s in history], [0.05, 0.1, 0.15, 0.2, 0.0, 0.05], atol=1e-12)
    np.testing.assert_array_equal([s[3][1] for s in history], [False, False, False, True, False, False])
    np.testing.assert_array_equal(history[2][0][0], seen[0])


def test_seeds_repeat_episodes(system, start):
    many = sr.gym.make(system, q=start, num_envs=5, reset=scattered(start), duration=0.04)

    def run() -> list[np.ndarray]:
        return [many.reset(seed=4)[0], *(many.step(np.ones((5, 2)))[0] for _ in range(6))]

    first, second = run(), run()
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[3])  # new starts after the truncation
    assert np.abs([system.constraint_residual(row[:4]) for row in first[3]]).max() < 1e-13


def test_failed_step_ends_the_episode(system, start):
    one = sr.gym.make(system, q=start, sample_time=0.5, dt=0.1)
    before, _ = one.reset(seed=0)
    seen, _, terminated, _, info = one.step(np.array([1e9, 0.0]))
    assert terminated
    assert info["status"] in (sr.Status.PROJECTION_FAILED, sr.Status.NOT_FINITE, sr.Status.ILL_POSED)
    assert info["status"].remedy in info["message"]
    np.testing.assert_array_equal(seen, before)
    many = sr.gym.make(system, q=start, num_envs=3, sample_time=0.5, dt=0.1)
    many.reset(seed=0)
    wild = np.array([[0, 0], [1e9, 0], [0, 0]])
    seen, _, terminated, _, info = many.step(wild)
    np.testing.assert_array_equal(terminated, [False, True, False])
    np.testing.assert_array_equal(info["_status"], terminated)
    seen, _, terminated, _, info = many.step(wild)  # begins anew, whatever the action
    np.testing.assert_array_equal(seen[1], before)
    assert not terminated.any()
    assert not info


def test_time_of_each_copy_is_its_own():
    """A force cos 5t: copies that began at different times do what `simulate` does from t = 0."""
    pushed = sr.System.from_lagrangian(
        1,
        lambda q, v, t: 0.5 * v[0] ** 2 + ca.cos(q[0]),
        generalized_force=lambda q, v, t: ca.cos(5 * t),
        inputs=lambda q: ca.DM([[1.0]]),
    )
    single = sr.simulate(pushed, [0.0], [0.0], duration=0.4, dt=1e-3, control=lambda q, v, t: [0.5])
    many = sr.gym.make(
        pushed,
        num_envs=3,
        sample_time=0.1,
        duration=0.4,
        terminated=lambda q, v, u, t: (t > 0.15) & (u[:, 0] > 0.6),
    )
    many.reset(seed=0)
    actions = np.full((3, 1), 0.5, np.float32)
    actions[0] = 0.7
    many.step(actions)
    many.step(actions)
    actions[0] = 0.5
    for k in range(3):  # copy 0 begins anew now; the others end at 0.4 s and then do
        seen, *_ = many.step(actions)
        place = [100 * k, *[(100 * (k + 3)) % 500] * 2]
        np.testing.assert_allclose(seen[:, 0], single.q[place, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_time": 0.0015}, "not a whole number of steps"),
        ({"num_envs": 0}, "num_envs must be a whole number"),
        ({"limits": (1.0, -1.0)}, r"limits must be \(lower, upper\), each a number or 2 of them"),
        ({"observation": lambda q, v, u, t: 1.0}, "observation must return an array with a row for each"),
        ({"q": [0.0, 0.0, 0.0, 0.0]}, "loops cannot be closed"),
        ({"duration": -1.0}, "duration must be positive"),
    ],
)
def test_errors_of_make(system, start, options, message):
    with pytest.raises(ArgumentError, match=message):
        sr.gym.make(system, **{"q": start, **options})


def test_errors_of_functions(system, start):
    bad = sr.gym.make(system, q=start, num_envs=2, reward=lambda q, v, u, t: 1.0)
    bad.reset(seed=0)
    with pytest.raises(ArgumentError, match="reward must return one number for each of the 2 copies"):
        bad.step(np.zeros((2, 2)))
    circle = sr.System.from_lagrangian(
        2,
        lambda q, v, t, p: 0.5 * ca.sumsqr(v),
        holonomic=lambda q, t, p: ca.sumsqr(q) - p["square"],
        inputs=lambda q, p: ca.DM([[1.0], [0.0]]),
        parameters={"square": 1.0},
    )
    far = sr.gym.make(circle, q=[1.0, 0.0], reset=lambda rng, n: (None, None, {"square": -np.ones(n)}))
    with pytest.raises(ArgumentError, match="reset: the loops of copy 0 cannot be closed"):
        far.reset(seed=0)
    unknown = sr.gym.make(system, q=start, reset=lambda rng, n: (None, None, {"mass": np.ones(n)}))
    with pytest.raises(ArgumentError, match="unknown parameter 'mass'"):
        unknown.reset(seed=0)


def test_methods_without_contacts_and_systems_without_actuators_are_refused():
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("ball", "free", "world", "ball")
    with pytest.raises(ArgumentError, match="no actuators"):
        sr.gym.make(sr.System(mechanism))
    mechanism.add_actuator("push", "ball.vz")
    mechanism.add_contact("floor", "ball", active=False)
    with pytest.raises(ArgumentError, match="contact 'floor' opens and closes, which in environments only"):
        sr.gym.make(sr.System(mechanism), method="rk4")


def test_a_foot_that_lands_and_pushes_on_a_floor_with_friction():
    """Copies that hop: each is what `simulate` makes of it, from action to action; one that is too deep is named."""
    mechanism = sr.Mechanism("hopper")
    mechanism.add_body("trunk", 5.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("root", "planar", "world", "trunk", axis=(0, -1, 0), axis2=(1, 0, 0))
    mechanism.add_body("foot", 0.5, inertia=(0.01, 0.01, 0.01))
    mechanism.add_joint("leg", "prismatic", "trunk", "foot", axis=(0, 0, 1), parent_pose=(0, 0, -0.5))
    mechanism.add_actuator("leg", "leg")
    mechanism.add_contact("floor", "foot", friction="coulomb", friction_coefficient=0.6)
    system = sr.System(mechanism)
    q = system.neutral().copy()
    up = int(
        np.argmax([gaps(system, q + 0.1 * way)["floor"] - gaps(system, q)["floor"] for way in np.eye(4)[:3]])
    )
    q[up] -= gaps(system, q)["floor"] - 0.02
    deep = q.copy()
    deep[up] -= 0.1
    actions = np.array([[-60.0], [-40.0], [-90.0], [0.0], [-55.0], [-55.0]])
    many = sr.gym.make(system, q=q, num_envs=3, sample_time=0.02, dt=1e-3, limits=(-100.0, 100.0))
    many.reset(seed=0)
    for action in actions:
        seen, _, _, _, _ = many.step(np.tile(action, (3, 1)).astype(np.float32))
    alone, speed = q, np.zeros(4)
    for action in actions:
        motion = sr.simulate(
            system, alone, speed, duration=0.02, dt=1e-3, error_estimate=False, control=lambda *_, u=action: u
        )
        alone, speed = motion.q[-1], motion.v[-1]
    np.testing.assert_allclose(many.task.stepper.q, [alone] * 3, atol=1e-12)
    np.testing.assert_allclose(seen[:, 4:], [speed] * 3, atol=1e-6)
    assert gaps(system, alone)["floor"] < 0.02
    with pytest.raises(ArgumentError, match=r"contact 'floor' begins 0\.08 m below its plane"):
        sr.gym.make(system, q=deep)


def test_options_of_a_reset_are_the_start_of_the_episode(system, start):
    environment = sr.gym.make(system, q=start, limits=(-20.0, 20.0), reset=scattered(start))
    observed, _ = environment.reset(seed=1, options={"q": start, "v": np.zeros(4), "parameters": {"m": 2.0}})
    np.testing.assert_allclose(observed, [*start, 0, 0, 0, 0], atol=1e-12)
    with pytest.raises(ArgumentError, match="unknown option 'p'"):
        environment.reset(options={"p": 1})
    many = sr.gym.make(system, q=start, limits=(-20.0, 20.0), num_envs=3)
    observed, _ = many.reset(options={"v": np.zeros(4)})
    np.testing.assert_allclose(observed, [[*start, 0, 0, 0, 0]] * 3, atol=1e-12)


def test_actions_of_another_shape_are_refused(system, start):
    one, many = (sr.gym.make(system, q=start, limits=(-20.0, 20.0), num_envs=n) for n in (None, 3))
    one.reset()
    many.reset()
    for environment, actions in (
        (one, np.zeros(3)),
        (one, 0.0),
        (many, np.zeros(6)),
        (many, np.zeros((2, 3))),
    ):
        with pytest.raises(ArgumentError, match="actions must be"):
            environment.step(actions)
