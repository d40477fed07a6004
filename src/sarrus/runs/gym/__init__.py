"""Environments for reinforcement learning with the interface of Gymnasium; see `make`, `sb3` and `rsl_rl`."""

from sarrus.runs.gym.learning import rsl_rl, sb3
from sarrus.runs.gym.make import make

__all__ = ["make", "rsl_rl", "sb3"]
