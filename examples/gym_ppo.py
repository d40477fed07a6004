"""A five-bar that learns to swing up: PPO in one file, on 64 copies that step as one. Needs torch.

The mechanism hangs at rest and its motors are weak: pushed with all they have, the tip of the long links rises by 14
centimetres. The policy has to pump. Observation and reward are compiled; ended episodes begin anew in the same step,
and the value of their last observation, "final_obs", stands for the rewards that time cut off.
(Schulman et al., Proximal policy optimization algorithms, 2017; in the steps of CleanRL's ppo_continuous_action.)
"""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import nn

import sarrus as sr

MODEL = Path(__file__).resolve().parent.parent / "models" / "five_bar.xml"
COPIES, STEPS, ROUNDS = 64, 120, 60  # steps of a round: one episode
EPISODE, SAMPLE_TIME, TORQUE = 6.0, 0.05, 8.0  # [s, s, N m]
DISCOUNT, TRACE, CLIP, EPOCHS, MINIBATCHES, RATE = 0.99, 0.95, 0.2, 8, 8, 1e-3
ENTROPY, VALUE_WEIGHT, LARGEST_GRADIENT = 0.0, 0.5, 0.5


class Agent(nn.Module):
    """A Gaussian policy and the value of an observation."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.mean, self.critic = network(inputs, actions, 0.01), network(inputs, 1, 1.0)
        self.log_deviation = nn.Parameter(torch.full((actions,), -0.5))

    def policy(self, seen: torch.Tensor) -> torch.distributions.Independent:
        """Return the distribution of actions (n, nu) at observations (n, …)."""
        normal = torch.distributions.Normal(self.mean(seen), self.log_deviation.exp())
        return torch.distributions.Independent(normal, 1)

    def value(self, seen: torch.Tensor) -> torch.Tensor:
        """Return the expected discounted sum of rewards (n,) from observations (n, …) on."""
        return self.critic(seen).squeeze(-1)


def network(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Return two hidden layers of 64, with orthogonal weights."""
    layers = [nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)]
    for layer, size in ((layers[0], 2**0.5), (layers[2], 2**0.5), (layers[4], gain)):
        nn.init.orthogonal_(layer.weight, size)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


def environments() -> VectorEnv:
    """Return the copies; a reward is the height of the tip above its place at rest [m]."""
    system = sr.System(sr.load(MODEL))
    guess = -np.array(system.mechanism.keyframes["symmetric"].q)  # the mirror image hangs
    rest = sr.equilibrium(system, guess).q

    def height(q: ca.SX) -> ca.SX:
        return ca.sin(q[0]) + 1.5 * ca.sin(q[0] + q[1])

    return sr.gym.make(
        system, q=rest, num_envs=COPIES, sample_time=SAMPLE_TIME, dt=2e-3, duration=EPISODE, limits=(-TORQUE, TORQUE),
        normalized_actions=True, autoreset_mode="SameStep", dtype=np.float32, traced=True,
        reset=lambda rng, n: rest + rng.normal(0.0, 0.02, (n, len(rest))),
        observation=lambda q, v, u, t: [ca.sin(q - rest), ca.cos(q - rest) - 1.0, 0.2 * v],
        reward=lambda q, v, u, t: height(q) - height(ca.DM(rest)),
    )  # fmt: skip


def advantages(
    reward: torch.Tensor, value: torch.Tensor, after: torch.Tensor, ended: torch.Tensor, done: torch.Tensor
) -> torch.Tensor:
    """Return the generalized advantages; ``after`` is the value of the observation after a step, before a restart."""
    error = reward + DISCOUNT * after * ~ended - value
    found, last = torch.zeros_like(error), torch.zeros_like(error[0])
    for k in reversed(range(len(error))):
        last = found[k] = error[k] + DISCOUNT * TRACE * last * ~done[k]
    return found


def collect(agent: Agent, many: VectorEnv, seen: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Take `STEPS` steps from the observations ``seen``; return what is learnt from, and the last observations."""
    steps = []
    for _ in range(STEPS):
        with torch.no_grad():
            policy = agent.policy(seen)
            action = policy.sample()
            now, reward, ended, late, infos = many.step(action.numpy())
            last = now.copy()
            if "final_obs" in infos:
                over = infos["_final_obs"]
                last[over] = np.stack(infos["final_obs"][over])
            value, after = agent.value(seen), agent.value(torch.as_tensor(last))
        facts = (torch.as_tensor(x) for x in (reward.astype(np.float32), ended, ended | late))
        steps.append((seen, action, policy.log_prob(action), value, after, *facts))
        seen = torch.as_tensor(now)
    return [torch.stack(column) for column in zip(*steps)], seen


def main(rounds: int = ROUNDS) -> None:
    """Learn, print the mean height of the tip of some rounds, and draw that of all."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    many = environments()
    agent = Agent(many.single_observation_space.shape[0], many.single_action_space.shape[0])
    optimizer = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-5)
    seen = torch.as_tensor(many.reset(seed=0)[0])
    progress, began = [], perf_counter()
    for number in range(rounds):
        optimizer.param_groups[0]["lr"] = RATE * (1.0 - number / rounds)
        (before, action, log_probability, value, after, reward, ended, done), seen = collect(
            agent, many, seen
        )
        advantage = advantages(reward, value, after, ended, done)
        batch = before, action, log_probability, advantage, advantage + value
        learn(agent, optimizer, [column.flatten(0, 1) for column in batch])
        progress.append(float(reward.mean()))
        if number % 10 == 9:
            print(f"round {number + 1}: mean height {progress[-1]:.3f} m, {perf_counter() - began:.0f} s")
    many.close()
    draw(progress)
    assert rounds < ROUNDS or progress[-1] > 0.35
    print(json.dumps({"first": progress[0], "last": progress[-1], "best": max(progress)}))


def learn(agent: Agent, optimizer: torch.optim.Optimizer, batch: list[torch.Tensor]) -> None:
    """Improve the agent by steps of gradients on the clipped objective."""
    for _ in range(EPOCHS):
        for part in torch.randperm(len(batch[0])).chunk(MINIBATCHES):
            seen, action, before, advantage, target = (x[part] for x in batch)
            policy = agent.policy(seen)
            ratio = (policy.log_prob(action) - before).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gain = torch.minimum(ratio * advantage, ratio.clamp(1.0 - CLIP, 1.0 + CLIP) * advantage).mean()
            loss = VALUE_WEIGHT * (agent.value(seen) - target).square().mean() - gain
            optimizer.zero_grad()
            (loss - ENTROPY * policy.entropy().mean()).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), LARGEST_GRADIENT)
            optimizer.step()


def draw(progress: list[float]) -> None:
    """Draw the mean height of each round to gym_ppo.png."""
    figure, axes = plt.subplots(figsize=(6.0, 3.2), layout="constrained")
    axes.plot(np.arange(1, len(progress) + 1) * COPIES * STEPS / 1e3, progress)
    axes.set(xlabel="steps of all copies [thousands]", ylabel="mean height of the tip [m]")
    figure.savefig("gym_ppo.png", dpi=120)


if __name__ == "__main__":
    main()
