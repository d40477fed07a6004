"""When ended episodes begin anew: the same as in Gymnasium's `SyncVectorEnv` of single environments, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers

import sarrus as sr
from sarrus.base.errors import ArgumentError

FIVE_BAR = Path(__file__).parent.parent / "models" / "five_bar.xml"
COPIES, STEPS, WILD = 11, 60, 1e9


@pytest.fixture(scope="module")
def system() -> sr.System:
    return sr.System(sr.load(FIVE_BAR), parameters={"m": "link1.mass"})


def task(system: sr.System) -> dict[str, Any]:
    """Random starts and masses; ends of three kinds: by an angle, by time, and by a step that fails."""
    start = np.array(system.mechanism.keyframes["symmetric"].q)

    def reset(rng: np.random.Generator, n: int):
        q = start + 0.1 * rng.standard_normal((n, 4))
        return q, 0.1 * rng.standard_normal((n, 4)), {"m": rng.uniform(1.0, 3.0, n)}

    return {
        "reset": reset, "q": start, "sample_time": 0.1, "dt": 0.02, "duration": 0.5, "dtype": np.float32,
        "reward": lambda q, v, u, t: np.cos(q[:, 0]) - 0.01 * u[:, 1] + t,
        "terminated": lambda q, v, u, t: np.abs(q[:, 0] - start[0]) > 0.5,
    }  # fmt: skip


def assert_same(ours: Any, theirs: Any, what: str = "") -> None:
    """Compare bits, types and structure of observations, rewards, ends and infos."""
    assert type(ours) is type(theirs), what
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs), what
        for name, value in theirs.items():
            assert_same(ours[name], value, f"{what} {name}")
    elif isinstance(theirs, (list, tuple)):
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other, what)
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype, what
        if theirs.dtype == object:
            assert_same(list(ours), list(theirs), what)
        else:
            np.testing.assert_array_equal(ours, theirs, what)
    else:
        assert ours == theirs, what


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
def test_same_as_single_environments_in_a_row(system, mode):
    """Observations, rewards, both ends and infos; starts by generators of the copies, some steps that fail."""
    ours = sr.gym.make(system, num_envs=COPIES, autoreset_mode=mode, **task(system))
    theirs = SyncVectorEnv([lambda: sr.gym.make(system, **task(system))] * COPIES, autoreset_mode=mode)
    assert ours.metadata == theirs.metadata
    for space in ("single_observation_space", "single_action_space", "observation_space", "action_space"):
        assert getattr(ours, space) == getattr(theirs, space)
    seeds = list(range(7, 7 + COPIES))
    assert_same(ours.reset(seed=seeds), theirs.reset(seed=7))
    rng, counted = np.random.default_rng(0), np.zeros(4, dtype=int)
    for _ in range(STEPS):
        actions = rng.uniform(-15.0, 15.0, (COPIES, 2))
        actions[rng.integers(COPIES), 0] *= rng.choice([1.0, WILD], p=[0.7, 0.3])
        one, other = ours.step(actions), theirs.step(actions)
        assert_same(one, other)
        ended, late, infos = one[2:]
        failed = infos.get("final_info", infos).get("_status", np.zeros(1, dtype=bool))
        counted += [ended.sum(), late.sum(), failed.sum(), (ended & late).sum()]
        if mode is AutoresetMode.DISABLED and (ended | late).any():
            mask, more = ended | late, {"parameters": {"m": 2.0}}
            assert_same(*(made.reset(options={"reset_mask": mask, **more}) for made in (ours, theirs)))
    assert (counted > [STEPS // 8, STEPS // 8, 5, -1]).all(), "the episodes end for every reason"


def test_the_last_observation_is_of_the_episode_that_ended(system):
    still = task(system) | {"reset": None, "terminated": None}
    same = sr.gym.make(system, num_envs=3, autoreset_mode="SameStep", **still)
    first, _ = same.reset(seed=0)
    for _ in range(5):
        seen, _, ended, late, infos = same.step(np.zeros((3, 2)))
    assert late.all()
    assert not ended.any()
    np.testing.assert_array_equal(seen, first)
    assert all(np.abs(last - row).max() > 0.01 for last, row in zip(infos["final_obs"], first))
    assert infos["final_info"] == {}


def test_one_stream_of_starts_for_all_copies(system):
    """A number as seed: the starts of copies that end together come from one call of reset=."""
    calls = []

    def reset(rng: np.random.Generator, n: int) -> np.ndarray:
        calls.append(n)
        return task(system)["q"] + 0.05 * rng.standard_normal((n, 4))

    many = sr.gym.make(
        system, num_envs=5, autoreset_mode="SameStep", **(task(system) | {"reset": reset, "duration": 0.1})
    )
    first, _ = many.reset(seed=3)
    then = many.step(np.zeros((5, 2)))[0]
    assert calls == [5, 5]
    again, _ = many.reset(seed=3)
    np.testing.assert_array_equal(again, first)
    assert not np.array_equal(then, first)
    mixed, _ = many.reset(seed=[1, None, 1, 2, None])
    np.testing.assert_array_equal(mixed[0], mixed[2])
    assert calls[-5:] == [1] * 5


def test_masked_copies_alone_begin_anew(system):
    many = sr.gym.make(system, num_envs=4, autoreset_mode="Disabled", **task(system))
    many.reset(seed=0)
    before = many.step(np.ones((4, 2)))[0]
    mask = np.array([False, True, True, False])
    q = np.tile(task(system)["q"], (2, 1))
    after, infos = many.reset(options={"reset_mask": mask, "q": q, "v": np.zeros(4)})
    np.testing.assert_array_equal(after[~mask], before[~mask])
    np.testing.assert_allclose(after[mask], np.hstack([q, 0 * q]), atol=1e-6)
    assert infos == {}
    assert (many.task.stepper.t == [0.1, 0.0, 0.0, 0.1]).all()


def test_errors_of_modes_and_masks(system):
    options = task(system) | {"duration": 0.1}
    many = sr.gym.make(system, num_envs=3, autoreset_mode="Disabled", **options)
    many.reset(seed=0)
    many.step(np.zeros((3, 2)))
    with pytest.raises(
        ArgumentError, match=r"episode of copy 0 has ended, and with autoreset DISABLED .*reset_mask"
    ):
        many.step(np.zeros((3, 2)))
    for mask in (np.ones(2, dtype=bool), np.ones(3), np.zeros(3, dtype=bool)):
        with pytest.raises(
            ArgumentError, match=r"reset_mask must be \(3,\) booleans, at least one of them True"
        ):
            many.reset(options={"reset_mask": mask})
    with pytest.raises(ArgumentError, match="seed must be a number or 3 of them, got 2"):
        many.reset(seed=[1, 2])
    with pytest.raises(ArgumentError, match=r"one of 'NextStep', 'SameStep', 'Disabled', got 'same'"):
        sr.gym.make(system, num_envs=3, autoreset_mode="same", **options)
    with pytest.raises(ArgumentError, match="autoreset_mode is of vector environments"):
        sr.gym.make(system, autoreset_mode="SameStep", **options)
    with pytest.raises(ArgumentError, match="dtype must be float64 or float32"):
        sr.gym.make(system, num_envs=3, **(options | {"dtype": int}))


@pytest.mark.parametrize(
    "mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value
)
def test_wrappers_of_gymnasium_act(system, mode):
    """Statistics of episodes and normalized observations are those that they give for single environments."""
    made: list[gymnasium.vector.VectorEnv] = [
        sr.gym.make(system, num_envs=3, autoreset_mode=mode, **task(system)),
        SyncVectorEnv([lambda: sr.gym.make(system, **task(system))] * 3, autoreset_mode=mode),
    ]
    wrapped = [wrappers.NormalizeReward(wrappers.RecordEpisodeStatistics(one)) for one in made]
    ours, theirs = wrapped
    ours.reset(seed=[0, 1, 2])
    theirs.reset(seed=0)
    episodes = 0
    for actions in np.random.default_rng(1).uniform(-10.0, 10.0, (20, 3, 2)):
        (*one, info), (*other, known) = ours.step(actions), theirs.step(actions)
        assert_same(one, other)
        if "episode" in known:
            del info["episode"]["t"], known["episode"]["t"]  # seconds
            assert_same(info["episode"], known["episode"])
            episodes += 1
    assert episodes > 1
