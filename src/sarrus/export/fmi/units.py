"""Units of variables by SI base units, as FMI defines them."""

from __future__ import annotations

import re

# Exponents of kg, m, s, A, K, mol, cd, rad.
BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
_KNOWN: dict[str, dict[str, int]] = {
    **{name: {name: 1} for name in BASE},
    "1": {},
    "N": {"kg": 1, "m": 1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "T": {"kg": 1, "s": -2, "A": -1},
}
_POWERS = str.maketrans("⁰¹²³⁴⁻", "01234-")
_FACTOR = re.compile(r"([A-Za-z]+|1)(?:\^?(-?\d+))?$")


def base_units(unit: str) -> dict[str, int] | None:
    """Return the exponents of a unit such as ``N m`` or ``m/s²``; None for an unknown unit."""
    found: dict[str, int] = {}
    above, *below = unit.translate(_POWERS).replace("·", " ").split("/")
    for sign, text in ((1, above), *((-1, part) for part in below)):
        for word in text.split() or [""]:
            factor = _FACTOR.match(word)
            if factor is None or factor[1] not in _KNOWN:
                return None
            for name, power in _KNOWN[factor[1]].items():
                found[name] = found.get(name, 0) + sign * power * int(factor[2] or 1)
    return {name: found[name] for name in BASE if found.get(name)}


def derived(unit: str) -> str:
    """Return the unit of the time derivative of a quantity."""
    return {"m": "m/s", "rad": "rad/s", "1": "1/s", "m/s": "m/s²", "rad/s": "rad/s²", "A": "A/s"}.get(
        unit, ""
    )


def of_force(unit: str) -> str:
    """Return the unit of the force conjugate to a velocity (power in watts)."""
    return {"m/s": "N", "rad/s": "N m"}.get(unit, "")
