"""Records of a simulation besides the motion: singular passages, limit crossings, switches and events."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Passage:
    """A passage through or near a singular configuration.

    Attributes
    ----------
    time : time of the smallest singular value [s], located within the step to 1e-10 s, independent of the records.
    smallest_singular_value : singular value number r of A at that time, r the generic rank, in characteristic units as
        in `Trajectory.smallest_singular_value`; zero if the singular configuration was crossed.
    closures : names of the closures whose rows become dependent.
    crossed : True if the motion went through the singular configuration, False if it came near and turned away.
    digits_lost : decimal digits by which the passage amplified rounding of the positions. Velocities after it are
        uncertain by about 10^digits_lost × 1e-16 of their size. It is −2 log₁₀ of the smallest pivot of A at the
        nearest state or stage, relative to the largest pivot in the run, because accelerations divide rounding by the
        square of the pivot.
    """

    time: float
    smallest_singular_value: float
    closures: tuple[str, ...] = ()
    crossed: bool = False
    digits_lost: float = 0.0

    def __str__(self) -> str:
        lost = f"{self.digits_lost:.1f} digits lost"
        if self.crossed:
            return f"{self.time:.4g} s: through a singular configuration ({lost})"
        return f"{self.time:.4g} s: near a singular configuration (σ = {self.smallest_singular_value:.2g}, {lost})"


@dataclass(frozen=True)
class LimitCrossing:
    """A joint coordinate that reached a limit, or passed it where limits do not act (``switching=False``).

    Attributes
    ----------
    name : coordinate name.
    time : time at which it did [s].
    value, limit : the coordinate at that time, and the limit [m, rad]; equal if the limit stopped the coordinate.
    """

    name: str
    time: float
    value: float
    limit: float

    def __str__(self) -> str:
        what = "is at its limit" if self.value == self.limit else "is beyond its limit"
        return f"{self.time:.4g} s: {self.name} = {self.value:.4g} {what} {self.limit:.4g}"


@dataclass(frozen=True)
class SwitchRecord:
    """Contacts, closures and joints whose mode changed at one instant of a run.

    Attributes
    ----------
    time : the instant [s].
    closed, opened : names of contacts, closures and couplings that are active from then on, and inactive from then on.
        A contact that stays in place without load has opened. A rope closes when it becomes taut, and opens when it
        becomes slack.
    bounced : names of contacts that hit and left again.
    slipping : names of closed contacts that slide from then on (without friction if they are constraints, see
        `sarrus.dynamics.impacts.complementarity`), and of joints with dry friction that begin to move.
    sticking : names of contacts and joints with dry friction that stop sliding.
    energy_loss : kinetic energy lost in the impact [J], zero without an impact.
    """

    time: float
    closed: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    bounced: tuple[str, ...] = ()
    slipping: tuple[str, ...] = ()
    sticking: tuple[str, ...] = ()
    energy_loss: float = 0.0

    def __str__(self) -> str:
        kinds = ("closed", "opened", "bounced", "slipping", "sticking")
        said = [f"{', '.join(names)} {kind}" for kind in kinds if (names := getattr(self, kind))]
        return f"{self.time:.6g} s: {'; '.join(said)} ({self.energy_loss:.4g} J lost)"


@dataclass(frozen=True)
class EventRecord:
    """An event that occurred: its name, its time [s], and whether it ended the run."""

    name: str
    time: float
    terminal: bool = False

    def __str__(self) -> str:
        return f"{self.time:.6g} s: {self.name}" + (" (end of the run)" if self.terminal else "")
