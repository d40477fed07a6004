"""Tolerances of the room ``runs/gym``: samples and steps."""

from __future__ import annotations

# [s] Step of an environment that is given none. Legged robots on hard contacts run well with it.
ENVIRONMENT_STEP = 1e-3

# [1, steps] A sample time is a whole number of steps if it is off by less. Decimal fractions round at 1e-13.
SAMPLE_OF_STEPS = 1e-6

# [1, of a sample time] An episode ends this much early. Rounding then adds no step.
END_EARLY = 1e-6
