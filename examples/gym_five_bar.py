"""A five-bar that learns to swing up: random search on 64 copies of an environment that step as one.

The mechanism hangs at rest and its motors are weak: pushed with all they have, the tip of the long links rises by 14
centimetres. The search finds a policy that pumps, u = tanh(K observation) times the limit. It is the cross-entropy
method: draw gains, keep the best, fit the next draw to them.
(Rubinstein and Kroese, The cross-entropy method, 2004.)
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import sarrus as sr

MODEL = Path(__file__).resolve().parent.parent / "models" / "five_bar.xml"
COPIES, GENERATIONS, ELITE = 64, 12, 8
EPISODE, SAMPLE_TIME, TORQUE = 6.0, 0.05, 8.0  # [s, s, N m]


def height(q: np.ndarray) -> np.ndarray:
    """Return the height of the tip of the left long link above the left pivot [m], for each row of q."""
    return np.sin(q[:, 0]) + 1.5 * np.sin(q[:, 0] + q[:, 1])


class SwingUp:
    """The environments, their observation (n, 7), and the returns of policies."""

    def __init__(self, system: sr.System, rest: np.ndarray) -> None:
        self.rest, self.bottom = rest, float(height(rest[None])[0])
        self.environments = sr.gym.make(
            system, q=rest, num_envs=COPIES, sample_time=SAMPLE_TIME, dt=2e-3, duration=EPISODE, limits=(-TORQUE,
            TORQUE), observation=self.observation, reward=lambda q, v, u, t: height(q) - self.bottom,
        )  # fmt: skip

    def observation(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return the driven angles from rest, as sine and cosine, and their speeds."""
        driven = q[:, ::2] - self.rest[::2]
        return np.hstack([np.sin(driven), np.cos(driven) - 1.0, v[:, ::2], np.ones((len(q), 1))])

    def heights(self, gains: np.ndarray) -> np.ndarray:
        """Return how high above rest each copy gets in an episode; gains (copies, 2, 7)."""
        seen, _ = self.environments.reset(seed=0)
        best = np.zeros(COPIES)
        done = np.zeros(COPIES, dtype=bool)
        while not done.all():
            actions = TORQUE * np.tanh((gains @ seen[:, :, None])[:, :, 0])
            seen, reward, ended, truncated, _ = self.environments.step(actions)
            best = np.where(done, best, np.maximum(best, reward))
            done |= ended | truncated
        return best


def main() -> None:
    """Search, and compare with a constant push."""
    system = sr.System(sr.load(MODEL))
    guess = -np.array(system.mechanism.keyframes["symmetric"].q)  # the mirror image hangs
    rest = sr.equilibrium(system, guess).q
    task = SwingUp(system, rest)

    push = np.zeros((COPIES, 2, 7))
    push[:, :, -1] = 20.0 * np.where(np.arange(2 * COPIES).reshape(COPIES, 2) // [2, 1] % 2, 1.0, -1.0)
    pushed = float(task.heights(push).max())

    rng = np.random.default_rng(0)
    mean, spread = np.zeros((2, 7)), np.ones((2, 7))
    progress = []
    for _ in range(GENERATIONS):
        gains = mean + spread * rng.standard_normal((COPIES, 2, 7))
        reached = task.heights(gains)
        elite = gains[np.argsort(reached)[-ELITE:]]
        mean, spread = elite.mean(axis=0), elite.std(axis=0) + 0.02
        progress.append(float(reached.max()))
    learnt = float(task.heights(np.tile(mean, (COPIES, 1, 1)))[0])
    print(
        f"constant push {pushed:.3f} m, learnt {learnt:.3f} m; best of each generation:",
        np.round(progress, 3),
    )
    assert pushed < 0.2
    assert learnt > 10 * pushed
    print(json.dumps({"pushed": pushed, "learnt": learnt, "first_generation": progress[0]}))


if __name__ == "__main__":
    main()
