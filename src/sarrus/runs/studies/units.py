"""Units in which figures of a machine are written."""

from __future__ import annotations

# [1/s, of a second] Milliseconds in a second.
MILLISECONDS = 1e3

# [1/s, of a second] Microseconds in a second.
MICROSECONDS = 1e6
