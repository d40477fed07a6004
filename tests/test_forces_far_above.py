"""OK is said of accelerations that are right where forces alone would do 1e7 times and more as much."""

from __future__ import annotations

from families.forces_far_above import run


def test_accelerations_are_those_of_80_digits() -> None:
    """Twelve rows of rank ten on ten coordinates and others, light and ill-conditioned masses, large h."""
    found = run(60)
    assert [one for one in found if one.wrong] == []
    assert sum(one.status != "OK" for one in found) <= 1
