"""Compiled observations, rewards and ends, float32 observations and normalized actions of environments."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.utils.env_checker import check_env

import sarrus as sr
from sarrus.base.errors import ArgumentError

FIVE_BAR = Path(__file__).parent.parent / "models" / "five_bar.xml"
COPIES = 21  # two blocks of eight lanes, and five
OPTIONS = {"limits": (-20.0, 20.0), "sample_time": 0.05, "dt": 5e-3, "duration": 0.4}


@pytest.fixture(scope="module")
def system() -> sr.System:
    return sr.System(sr.load(FIVE_BAR), parameters={"m": "link1.mass"})


def reset(rng: np.random.Generator, n: int):
    start = np.array([2.0, -1.0, 1.1, 1.0])
    q = start + 0.2 * rng.standard_normal((n, 4))
    return q, rng.standard_normal((n, 4)), {"m": rng.uniform(1.0, 3.0, n)}


# The same for all copies, and for one.
IN_ROWS = {
    "observation": lambda q, v, u, t: np.column_stack([q[:, 0] * v[:, 1], q + 2.0 * v, u, t]),
    "reward": lambda q, v, u, t: q[:, 0] * v[:, 3] - 0.25 * u[:, 1] ** 2 + np.sqrt(1.0 + v[:, 0] ** 2) - t,
    "terminated": lambda q, v, u, t: (np.abs(v[:, 0]) > 4.0) | (q[:, 2] < 0.2),
}
TRACED = {
    "observation": lambda q, v, u, t: [q[0] * v[1], q + 2.0 * v, u, t],
    "reward": lambda q, v, u, t: q[0] * v[3] - 0.25 * u[1] ** 2 + ca.sqrt(1.0 + v[0] ** 2) - t,
    "terminated": lambda q, v, u, t: ca.logic_or(ca.fabs(v[0]) > 4.0, q[2] < 0.2),
}


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("names", [True, "reward", ("terminated", "observation")], ids=str)
def test_compiled_functions_are_the_functions_in_numpy_bit_for_bit(system, mode, names):
    """+, ·, √ and comparisons are rounded as IEEE 754 says in both."""
    chosen = TRACED if names is True else {name: TRACED[name] for name in TRACED if name in names}
    options = OPTIONS | {"reset": reset, "num_envs": COPIES, "autoreset_mode": mode}
    python = sr.gym.make(system, **IN_ROWS, **options)
    compiled = sr.gym.make(system, **(IN_ROWS | chosen), traced=names, **options)
    assert compiled.observation_space == python.observation_space
    np.testing.assert_array_equal(compiled.reset(seed=3)[0], python.reset(seed=3)[0])
    ended = 0
    for actions in np.random.default_rng(0).uniform(-20, 20, (40, COPIES, 2)).astype(np.float32):
        one, other = compiled.step(actions), python.step(actions)
        for ours, theirs in zip(one[:4], other[:4], strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
        if "final_obs" in other[4]:
            for ours, theirs in zip(one[4]["final_obs"], other[4]["final_obs"], strict=True):
                np.testing.assert_array_equal(ours, theirs)
        ended += int(other[2].sum())
    assert ended > COPIES


def test_elementary_functions_and_parameters_of_each_copy(system):
    """Sine and the like to rounding; a fifth argument has the parameters, each copy its own."""
    seen = []

    def observe(q, v, u, t):
        seen.append(masses := many.task.stepper.parameters[:, 0].copy())
        return masses[:, None] * np.hstack([np.sin(q), np.exp(-(v**2)), np.arctan2(q, 1.0 + v**2)])

    many = sr.gym.make(
        system, num_envs=COPIES, reset=reset, traced=True, **OPTIONS,
        observation=lambda q, v, u, t, p: p.m * ca.vertcat(ca.sin(q), ca.exp(-(v**2)), ca.atan2(q, 1.0 + v**2)),
        reward=lambda q, v, u, t, p: p["m"],
    )  # fmt: skip
    found, _ = many.reset(seed=0)
    for _ in range(3):
        s = many.task.stepper
        np.testing.assert_allclose(found, observe(s.q, s.v, s.u, s.t), rtol=1e-14, atol=1e-15)
        found, reward, *_ = many.step(np.ones((COPIES, 2)))
        np.testing.assert_array_equal(reward, s.parameters[:, 0])
    assert np.ptp(seen[-1]) > 0.5


def test_traced_quantities_of_the_mechanism(system):
    """Functions of `to_casadi` can be part of a reward: kinetic energy."""
    energy = system.to_casadi("mass_matrix")
    arguments = [energy.name_in(k) for k in range(energy.n_in())]

    def reward(q, v, u, t, p):
        known = {"q": q, "v": v, "u": u, "t": t, "p": ca.vertcat(p.m)}
        return 0.5 * v.T @ energy(*(known[name] for name in arguments)) @ v

    one = sr.gym.make(
        system, q=[2.0, -1.0, 1.1, 1.0], v=np.zeros(4), reward=reward, traced="reward", **OPTIONS
    )
    one.reset(seed=0)
    for _ in range(3):
        _, got, *_ = one.step(np.array([5.0, -3.0]))
        q, v = one.task.stepper.q[0], one.task.stepper.v[0]
        assert got > 0.0
        np.testing.assert_allclose(got, system.kinetic_energy(q, v), rtol=1e-13)


def test_values_do_not_depend_on_company(system):
    """A copy among one, nine and 21 has the same bits, and so has a single environment."""
    actions = np.random.default_rng(5).uniform(-20, 20, (6, 2)).astype(np.float32)
    functions = TRACED | {"observation": lambda q, v, u, t: ca.sin(q) / (2.0 + ca.cos(v)), "terminated": None}
    start = {"q": [2.0, -1.0, 1.1, 1.0], "v": np.zeros(4)}
    single = sr.gym.make(system, **functions, **start, **OPTIONS, traced=True)
    single.reset(seed=0)
    alone = [single.step(action) for action in actions]
    for count in (1, 9, COPIES):
        many = sr.gym.make(system, **functions, **start, **OPTIONS, traced=True, num_envs=count)
        many.reset(seed=0)
        other = np.random.default_rng(count)
        for action, (seen, reward, *_) in zip(actions, alone, strict=True):
            rows = other.uniform(-20, 20, (count, 2)).astype(np.float32)
            rows[-1] = action
            found = many.step(rows)
            np.testing.assert_array_equal(found[0][-1], seen)
            assert found[1][-1] == reward


@pytest.mark.parametrize("compiled", [False, True])
def test_float32_observations_are_the_rounded_ones(system, compiled):
    functions = TRACED if compiled else IN_ROWS
    double, single = (
        sr.gym.make(
            system, num_envs=9, reset=reset, traced=compiled, dtype=kind, autoreset_mode="SameStep", **functions,
            **OPTIONS,
        )
        for kind in (np.float64, "float32")
    )  # fmt: skip
    assert single.single_observation_space.dtype == np.float32
    pairs = [(double.reset(seed=1)[0], single.reset(seed=1)[0])]
    for actions in np.random.default_rng(0).uniform(-20, 20, (12, 9, 2)).astype(np.float32):
        (seen, reward, *_, info), (small, same, *_, other) = double.step(actions), single.step(actions)
        pairs.append((seen, small))
        if "final_obs" in info:
            chosen = np.flatnonzero(info["_final_obs"])
            pairs += [(info["final_obs"][k], other["final_obs"][k]) for k in chosen]
        np.testing.assert_array_equal(reward, same)
        assert same.dtype == np.float64
    assert len(pairs) > 20
    for wide, small in pairs:
        assert small.dtype == np.float32
        np.testing.assert_array_equal(small, wide.astype(np.float32))


def test_normalized_actions_are_parts_of_the_range(system):
    limits = (np.array([-4.0, 1.0]), np.array([8.0, 3.0]))
    same = {"sample_time": 0.05, "dt": 5e-3, "q": [2.0, -1.0, 1.1, 1.0], "limits": limits}
    controls = sr.gym.make(system, num_envs=5, **same)
    parts = sr.gym.make(system, num_envs=5, normalized_actions=True, **same)
    assert parts.single_action_space == Box(-1.0, 1.0, (2,), np.float32)
    for made in (controls, parts):
        made.reset(seed=0)
    actions = np.array([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.5], [0.25, -0.5], [-3.0, 9.0]])
    meant = np.array([[-4.0, 1.0], [8.0, 3.0], [2.0, 2.5], [3.5, 1.5], [-4.0, 3.0]])
    np.testing.assert_array_equal(parts.step(actions)[0], controls.step(meant)[0])
    np.testing.assert_array_equal(parts.task.stepper.u, meant)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gymnasium_finds_nothing_wrong(system):
    check_env(
        sr.gym.make(
            system, reset=reset, traced=True, dtype="float32", normalized_actions=True, **TRACED, **OPTIONS
        )
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": lambda q, v, u, t: q, "traced": True}, "reward: must return 1 entries, got 4"),
        ({"reward": lambda q, v, u, t: float(q[0]), "traced": True}, "reward: .*Write it with CasADi operations"),
        ({"reward": IN_ROWS["reward"], "traced": "reward"}, "reward: the function could not be traced"),
        ({"traced": "rewards"}, "unknown function 'rewards'.*observation.*reward.*terminated"),
        ({"traced": 3}, "traced must be a sequence of names"),
        ({"normalized_actions": 2}, "normalized_actions must be True or False"),
        ({"normalized_actions": True, "limits": None}, "actuator '.*' has no limits, which normalized_actions need"),
    ],
)  # fmt: skip
def test_errors(system, options, message):
    with pytest.raises(ArgumentError, match=message):
        sr.gym.make(system, num_envs=2, **(OPTIONS | options))
