"""Crates that begin to slide, creep, turn and stop: a part of the family in ``families/sliding_crates.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import sarrus as sr
from sarrus.base.status import Status

sys.path.insert(0, str(Path(__file__).parent / "families"))
from sliding_crates import RIGHT, outcome, random_crate


@pytest.mark.parametrize("seed", [4, 12, 14, 16, 21, 24, 31, 37, 38, 40, 43, 44, 47, 140, 187])
def test_crates_slide_as_their_references_do(seed: int) -> None:
    """Pushes that grow, through the middle and off it, pushes and slopes within 1e-10 of the limit, and stops."""
    word, worst, run, _ = outcome(random_crate(seed))
    assert word == "right", (run.status, worst)
    assert worst <= RIGHT
    assert len(run.t) < 600


def test_chattering_does_not_advise_another_law() -> None:
    """What jumps is not to be smoothed: dry friction has elements of its own."""
    assert Status.CHATTERING is sr.Status.CHATTERING
    assert "tanh" not in Status.CHATTERING.remedy
