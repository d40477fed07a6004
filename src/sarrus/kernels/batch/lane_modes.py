"""Modes of a lane: it steps, waits for the others, has ended, or leaves for a stretch by the kernel of single runs."""

from __future__ import annotations

AWAKE, ASLEEP, ENDED, LEAVES = 0.0, 1.0, 2.0, 3.0
