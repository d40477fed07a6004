"""Modes of a lane: it steps, waits for the others, has ended, leaves for a stretch by the kernel of single runs, or
leaves for a step that this kernel divides.
"""

from __future__ import annotations

AWAKE, ASLEEP, ENDED, LEAVES, DIVIDES = 0.0, 1.0, 2.0, 3.0, 4.0
