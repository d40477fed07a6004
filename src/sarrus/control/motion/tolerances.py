"""Tolerances of the room ``control/motion``: how fast bounds are approached."""

from __future__ import annotations

# [1, of the rate on the bound] Far from a bound the rate of a quantity with a ``fade`` is at most this
# multiple. A bound that is 7 fades away then limits nothing, and exponentials stay finite.
LOOSEST = 1000.0
