"""Environments for reinforcement learning with the interface of Gymnasium; see `make`."""

from sarrus.runs.gym.make import make

__all__ = ["make"]
