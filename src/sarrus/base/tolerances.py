"""Tolerances of the wing ``base``: times."""

from __future__ import annotations

# [s] A shorter run shows no progress bar.
PROGRESS_DELAY = 1.0
