"""Tolerances of the room ``export/c``: until when drives must not jump."""

from __future__ import annotations

# [s] Steps in C are refused if a drive jumps before this time. It is longer than a cycle of a machine.
EXPORTED_TIME = 1e3
