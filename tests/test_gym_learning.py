"""Environments with the interfaces of Stable-Baselines3 and rsl_rl, and what is learnt with each in a minute at most.

They need the extra ``learn``; without it only the advice to install it is tested.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import sarrus as sr
from conftest import load_example
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status

ROUNDS, STEPS = 20, 120
# Mean height of the tip after learning, over that of the policy at the start.
GAIN = 10.0


@pytest.fixture(scope="module")
def pendulum() -> sr.System:
    mechanism = sr.Mechanism("pendulum")
    mechanism.add_body("rod", 1.0, inertia=(0.1, 0.1, 0.1), com=(0.0, 0.0, -0.5))
    mechanism.add_joint("hinge", "revolute", "world", "rod", axis=(0, 1, 0))
    mechanism.add_actuator("motor", "hinge")
    return sr.System(mechanism)


def task(**more: Any) -> dict[str, Any]:
    """Random starts; ends by an angle and by time; an infinite torque fails."""
    return {
        "reset": lambda rng, n: (0.3 * rng.standard_normal((n, 1)), rng.standard_normal((n, 1))),
        "reward": lambda q, v, u, t: q[:, 0] - 0.1 * u[:, 0],
        "terminated": lambda q, v, u, t: q[:, 0] > 0.8, "sample_time": 0.1, "dt": 0.05, "duration": 0.6,
        "dtype": np.float32,
    } | more  # fmt: skip


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [("sb3", "stable_baselines", "stable-baselines3"), ("rsl_rl", "rsl", "rsl-rl-lib")],
)
def test_what_is_missing_is_named(pendulum, monkeypatch, name, module, package):
    monkeypatch.setitem(sys.modules, f"sarrus.runs.gym.{module}", None)  # an import of it fails
    with pytest.raises(ArgumentError, match=rf"sr\.gym\.{name} needs .*pip install {package}"):
        getattr(sr.gym, name)(sr.gym.make(pendulum, num_envs=2, **task()))
    with pytest.raises(ArgumentError, match=rf"sr\.gym\.{name} needs a vector environment"):
        getattr(sr.gym, name)(sr.gym.make(pendulum, **task()))


def test_nothing_of_theirs_is_imported_before_it_is_asked_for():
    code = "import sys, sarrus as sr; sr.gym.make; sr.gym.sb3; print({'torch', 'stable_baselines3'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_a_single_environment_passes_the_checks_of_stable_baselines3(pendulum):
    checker = pytest.importorskip("stable_baselines3.common.env_checker", reason="extra learn")
    with warnings.catch_warnings(action="error"):
        checker.check_env(sr.gym.make(pendulum, limits=(-2.0, 2.0), normalized_actions=True, **task()))


def test_stable_baselines3_sees_what_single_environments_in_a_row_show(pendulum):
    """Observations, rewards, ends and infos are those of its DummyVecEnv, bit for bit."""
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env", reason="extra learn")
    ours = sr.gym.sb3(sr.gym.make(pendulum, num_envs=5, **task()))
    theirs = vec_env.DummyVecEnv([lambda: sr.gym.make(pendulum, **task())] * 5)
    assert isinstance(ours, vec_env.VecEnv)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    for made in (ours, theirs):
        made.seed(4)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    assert ours.reset_infos == theirs.reset_infos
    ends, rng = [], np.random.default_rng(0)
    for _ in range(60):
        actions = rng.uniform(-20.0, 20.0, (5, 1))
        actions[rng.integers(5)] *= rng.choice([1.0, np.inf], p=[0.9, 0.1])
        (*one, infos), (*other, known) = ours.step(actions), theirs.step(actions)
        for mine, yours in zip(one, other, strict=True):
            assert mine.dtype == yours.dtype
            np.testing.assert_array_equal(mine, yours)
        for mine, yours in zip(infos, known, strict=True):
            last, first = mine.pop("terminal_observation", None), yours.pop("terminal_observation", None)
            np.testing.assert_array_equal(last, first)
            assert mine == yours
            ends.append((last is not None, mine["TimeLimit.truncated"], mine.get("status", Status.OK).ok))
    assert {(True, True, True), (True, False, True), (True, False, False), (False, False, True)} == set(ends)
    ours.set_options({"q": np.full(1, 0.1), "v": np.zeros(1)})
    np.testing.assert_allclose(ours.reset(), [[0.1, 0.0]] * 5, atol=1e-7)
    assert ours.get_attr("num_envs", [0, 3]) == [5, 5]
    assert not any(ours.env_is_wrapped(vec_env.VecEnvWrapper))
    with pytest.raises(ArgumentError, match="no methods of their own"):
        ours.env_method("step")


def test_rsl_rl_sees_the_same_as_gymnasium(pendulum):
    torch = pytest.importorskip("torch", reason="extra learn")
    environment = pytest.importorskip("rsl_rl.env", reason="extra learn")
    ours = sr.gym.rsl_rl(sr.gym.make(pendulum, num_envs=5, **task()), seed=3)
    theirs = sr.gym.make(pendulum, num_envs=5, autoreset_mode="SameStep", **task())
    assert isinstance(ours, environment.VecEnv)
    assert (ours.num_envs, ours.num_actions, ours.max_episode_length) == (5, 1, 6)
    seen, _ = theirs.reset(seed=3)
    late = 0
    for _ in range(30):
        np.testing.assert_array_equal(ours.get_observations()["policy"].numpy(), seen)
        np.testing.assert_array_equal(ours.episode_length_buf.numpy(), np.rint(theirs.task.stepper.t / 0.1))
        actions = 5.0 * np.random.default_rng(late).standard_normal((5, 1)).astype(np.float32)
        observed, reward, done, extras = ours.step(torch.as_tensor(actions))
        seen, expected, ended, truncated, _ = theirs.step(actions)
        np.testing.assert_array_equal(observed["policy"].numpy(), seen)
        np.testing.assert_array_equal(reward.numpy(), expected.astype(np.float32))
        np.testing.assert_array_equal(done.numpy(), ended | truncated)
        np.testing.assert_array_equal(extras["time_outs"].numpy(), truncated & ~ended)
        late += int(truncated.sum())
    assert late > 5
    assert observed["policy"].dtype == torch.float32
    ours.reset()
    ours.episode_length_buf = torch.tensor([0, 1, 5, 4, 0])
    done = ours.step(torch.zeros(5, 1))[2]
    np.testing.assert_array_equal(done.numpy()[[0, 1, 3, 4]], 0)
    assert done[2] == 1
    np.testing.assert_array_equal(ours.episode_length_buf.numpy(), [1, 2, 0, 5, 1])


def test_stable_baselines3_learns():
    sb3 = pytest.importorskip("stable_baselines3", reason="extra learn")
    torch = pytest.importorskip("torch", reason="extra learn")
    torch.set_num_threads(1)
    many = sr.gym.sb3(load_example("gym_ppo").environments())
    model = sb3.PPO(
        "MlpPolicy", many, n_steps=STEPS, batch_size=960, n_epochs=8, learning_rate=1e-3, seed=0, device="cpu",
        policy_kwargs={"log_std_init": -0.5},
    )  # fmt: skip

    def height() -> float:
        seen, total = many.reset(), 0.0
        for _ in range(STEPS):
            seen, reward, _, _ = many.step(model.predict(seen)[0])
            total += float(reward.mean())
        return total / STEPS

    before = height()
    model.learn(ROUNDS * STEPS * many.num_envs)
    after = height()
    many.close()
    print(f"mean height {before:.4f} m, learnt {after:.4f} m")
    assert after > GAIN * before


def test_rsl_rl_learns():
    torch = pytest.importorskip("torch", reason="extra learn")
    runners = pytest.importorskip("rsl_rl.runners", reason="extra learn")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    many = sr.gym.rsl_rl(load_example("gym_ppo").environments(), seed=0)
    network = {"class_name": "MLPModel", "hidden_dims": [64, 64], "activation": "tanh"}
    noise = {"class_name": "GaussianDistribution", "init_std": 0.6}
    settings = {
        "num_steps_per_env": STEPS, "save_interval": 1000, "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": network | {"distribution_cfg": noise}, "critic": network,
        "algorithm": {"class_name": "PPO", "num_learning_epochs": 8, "num_mini_batches": 8, "entropy_coef": 0.0},
    }  # fmt: skip
    runner = runners.OnPolicyRunner(many, settings, device="cpu")

    def height() -> float:
        policy, total = runner.get_inference_policy(), 0.0
        many.reset()
        with torch.inference_mode():
            for _ in range(STEPS):
                total += float(many.step(policy(many.get_observations()))[1].mean())
        return total / STEPS

    before = height()
    runner.learn(ROUNDS)
    after = height()
    print(f"mean height {before:.4f} m, learnt {after:.4f} m")
    assert after > GAIN * before


def test_ppo_in_one_file_learns(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch", reason="extra learn")
    monkeypatch.chdir(tmp_path)
    load_example("gym_ppo").main(rounds=ROUNDS)
    out = capsys.readouterr().out
    figures = json.loads(out.strip().splitlines()[-1])
    assert (tmp_path / "gym_ppo.png").stat().st_size > 1000
    assert figures["last"] > GAIN * figures["first"]
