"""`Gearing`: a pair of toothed or threaded parts whose flanks rub, and may have play between them."""

from __future__ import annotations

from dataclasses import dataclass

from sarrus.model.mechanism.tolerances import LEAST_PLAY


@dataclass(frozen=True)
class Gearing:
    """Coordinates that two opposite flanks tie, with Coulomb friction: gears, racks, worms, screws.

    c = Σ ``approach`` · (q − ``references``) is the way along the normal of the flanks [m], Σ ``sliding`` · q̇ their
    slip [m/s]. One flank keeps c from falling below −``play`` / 2, the other from rising above ``play`` / 2 [m];
    either only pushes, with friction up to ``friction_coefficient`` times its push against the slip, and what sticks
    does so up to the ``static_coefficient``, None: the same. ``restitution`` is Newton's.

    All are pairs of a coordinate and a number. ``kind`` says what it was added as.
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
        """The flank that pushes c up, and the one that pushes it down."""
        return Flank(f"{self.name}.up", self, 1.0), Flank(f"{self.name}.down", self, -1.0)


@dataclass(frozen=True)
class Flank:
    """One of the two flanks of a gearing: it keeps ``sign`` · c + play / 2 from falling below zero."""

    name: str
    gearing: Gearing
    sign: float

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of its rows: its push along the normal, and where there is friction that along the slip."""
        rows = ("n", "t") if self.gearing.friction_coefficient or self.gearing.static_coefficient else ("n",)
        return tuple(f"{self.name}.{row}" for row in rows)
