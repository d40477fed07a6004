"""`Gearing`: a pair of toothed or threaded parts with friction between their flanks, and with backlash."""

from __future__ import annotations

from dataclasses import dataclass

# Backlash along the normal [m] of a gearing without backlash: smaller than any tolerance on lengths.
from sarrus.model.mechanism.tolerances import LEAST_PLAY


@dataclass(frozen=True)
class Gearing:
    """Coordinates tied by two opposite flanks with Coulomb friction: gears, racks, worms, screws.

    c = Σ ``approach`` · (q − ``references``) is the approach along the normal of the flanks [m], Σ ``sliding`` · q̇ the
    slip velocity [m/s]. The two flanks are unilateral contacts: c ≥ −``play`` / 2 and c ≤ ``play`` / 2 [m]. Friction is
    at most ``friction_coefficient`` × normal force, against the slip, and at most ``static_coefficient`` × normal force
    while sticking (None: the same). ``restitution`` is Newton's coefficient.

    ``approach``, ``sliding`` and ``references`` are pairs of a coordinate and a number. ``kind`` is gear pair, rack,
    lead screw, worm gear or gearing.
    """

    name: str
    kind: str
    approach: tuple[tuple[str, float], ...]
    sliding: tuple[tuple[str, float], ...]
    references: tuple[tuple[str, float], ...]
    friction_coefficient: float
    static_coefficient: float | None = None
    play: float = LEAST_PLAY
    restitution: float = 0.0

    @property
    def flanks(self) -> tuple[Flank, Flank]:
        """The flank with the gap c + play / 2, and the flank with the gap play / 2 − c."""
        return Flank(f"{self.name}.up", self, 1.0), Flank(f"{self.name}.down", self, -1.0)


@dataclass(frozen=True)
class Flank:
    """One of the two flanks of a gearing, a unilateral contact with the gap ``sign`` × c + play / 2 ≥ 0 [m]."""

    name: str
    gearing: Gearing
    sign: float

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of its rows: the normal force and, with friction, the force along the slip."""
        rows = ("n", "t") if self.gearing.friction_coefficient or self.gearing.static_coefficient else ("n",)
        return tuple(f"{self.name}.{row}" for row in rows)
