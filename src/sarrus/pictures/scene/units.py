"""Prefixes of units."""

from __future__ import annotations

# [1] Prefix M.
MEGA = 1e6

# [1] Prefix k.
KILO = 1e3
