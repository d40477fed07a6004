"""What a simulation notes beside the motion: singular passages, limit crossings and events."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Passage:
    """A passage at or near a singular configuration.

    Attributes
    ----------
    time : time of the smallest singular value [s], located within the step to 1e-10 s, whatever was recorded.
    smallest_singular_value : the smallest singular value of A then that is not zero at generic configurations, in
        characteristic units as `Trajectory.smallest_singular_value`; zero where it was crossed.
    closures : names of the closures whose rows become dependent.
    crossed : True where the singular set was crossed, False where the motion came near and went away.
    digits_lost : decimal digits by which the passage amplified rounding of the positions: it makes velocities behind
        uncertain by about 10^digits_lost × 1e-16 of their size. That is −2 log₁₀ of the smallest pivot of A at the
        nearest state or stage of the step across, relative to its largest value in the run: accelerations there divide
        rounding by its square.
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
    """A joint coordinate that met a limit, or left it where limits do not act (``switching=False``).

    Attributes
    ----------
    name : coordinate name.
    time : when it did [s].
    value, limit : coordinate then, and the limit [m, rad]; the same where the limit stopped it.
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
    """What came and went at one instant of a run.

    Attributes
    ----------
    time : the instant [s].
    closed, opened : names of contacts, closures and couplings that hold from then on, and that hold no longer; a
        contact that stays in place without load has opened.
    bounced : names of contacts that hit and do not stay.
    slipping : names of closed contacts that slide from then on, without friction if they are constraints (see
        `sarrus.dynamics.impacts.complementarity`), and of joints with dry friction that begin to move.
    sticking : names of contacts and joints with dry friction that slide no longer.
    energy_loss : kinetic energy that the impact took [J], zero where nothing hit.
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
    """An event that happened: its name, its time [s], and whether it ended the run."""

    name: str
    time: float
    terminal: bool = False

    def __str__(self) -> str:
        return f"{self.time:.6g} s: {self.name}" + (" (end of the run)" if self.terminal else "")
