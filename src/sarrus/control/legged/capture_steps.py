"""`CaptureSteps`: footholds of a gait from the divergent component of motion, so that steps recover from pushes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.legged.capture_point import DivergentSteps
from sarrus.control.legged.contact_law import ContactTerms
from sarrus.control.legged.tolerances import NO_HEADING, OPPOSITE_PHASE
from sarrus.control.motion.tasks import centre_of_mass, point, quantity
from sarrus.dynamics.system import System


@dataclass(frozen=True, eq=False)
class CaptureSteps:
    """Footholds of a `Gait` by the divergent component of motion ξ = x + ẋ/ω; used with the task `Balance`.

    Contacts with the same offset step as one foot: the corners of a flat foot, or two legs of a trot (Raibert's virtual
    legs). There are two such feet, half a period apart, and the duty is at least 0.5; above 0.5 there is double
    support. A foot steps to where ξ, predicted for its touchdown, requires it for the course after that, so that one
    step recovers from a push within reach. Before the start the centre of mass moves to where the walk begins.

    Parameters
    ----------
    height : of the centre of mass above the ground [m], to be kept by another task.
    play : distance, along and across, of the centre of pressure from the middle of a foot [m] that is used to correct ξ
        between two steps; with 0 only steps correct it.
    rate : rate of this correction [1/s].
    inwards : how far a foot may step towards the other one [m], from its place beside it; other directions are limited
        by the ``reach`` of the gait.

    These numbers are settings of the law: gait.height and so on.
    """

    height: float
    play: ArrayLike = (0.0, 0.0)
    rate: float = 3.0
    inwards: float = 0.05


@dataclass(frozen=True, eq=False)
class Balance:
    """Task: the centre of mass moves as a linear inverted pendulum on the feet of a gait with `CaptureSteps`.

    ẍ = ω² (x − p), x and y in the world, with ω² = g / height and the centre of pressure p in the standing foot, or on
    its way from foot to foot. On two point feet the direction across the line between them is missed where tasks of
    higher priority need it.
    """

    name: str = "balance"


@dataclass(frozen=True, eq=False)
class Stride:
    """Inputs of the steps from their gait, as expressions of the symbols.

    For each contact its phase and its nominal place from the centre of mass in axes of the base; which contacts are
    closed; whether the gait walks, its period and duty; the rotation of the base in the plane; the desired velocity in
    the world; the reach.
    """

    phase: list[ca.SX]
    spots: list[ca.SX]
    closed: ca.SX
    walking: ca.SX
    period: ca.SX
    duty: ca.SX
    turn: ca.SX
    velocity: ca.SX
    reach: ca.SX


class TracedSteps:
    """Footholds and the acceleration of the centre of mass, as expressions of the symbols of a system."""

    def __init__(
        self,
        steps: CaptureSteps,
        system: System,
        terms: ContactTerms,
        settings: Settings,
        offsets: Mapping[str, float],
        stride: Stride,
    ) -> None:
        mechanism = system.mechanism
        assert mechanism is not None
        gravity = mechanism.gravity
        if not gravity[2] < 0.0 or any(gravity[:2]):
            raise ArgumentError(
                f"gait: capture steps need gravity along -z, not {list(gravity)}", element="gravity"
            )
        wrong = [
            name for name in ("height", "play", "rate") if not np.all(real_array(getattr(steps, name)) >= 0.0)
        ]
        if wrong or not steps.height > 0.0:
            name = (wrong or ["height"])[0]
            raise ArgumentError(
                f"gait: height must be positive, play and rate at least 0, got {name}={getattr(steps, name)!r}",
                element=name,
            )
        height = settings.add("gait.height", steps.height, 1, "gait")
        self._play = settings.add("gait.play", steps.play, 2, "gait")
        self._gain = settings.add("gait.rate", steps.rate, 1, "gait")
        self._inwards = settings.add("gait.inwards", steps.inwards, 1, "gait")
        self._omega, self._stride = ca.sqrt(-gravity[2] / height), stride
        self._feet = _feet(offsets, terms)
        self._centre = quantity(system, centre_of_mass("xy"))
        contacts = [mechanism.contacts[name] for name in terms.names]
        self._plan([quantity(system, point(c.body, c.point, "xy")).value for c in contacts])

    def _plan(self, places: list[ca.SX]) -> None:
        """Trace the course from the new foot, the one that touched down last, for contacts at these places."""
        s, feet = self._stride, self._feet
        newer = s.phase[feet[0][0]] < 0.5

        def of_new(values: list[ca.SX]) -> ca.SX:
            return ca.if_else(newer, values[0], values[1])

        lasts, double = 0.5 * s.period, ca.fmin(ca.fmax(s.duty - 0.5, 0.0), 0.5) * s.period
        self._steps = DivergentSteps(self._omega, lasts - double, double)
        self._since = of_new([s.phase[foot[0]] for foot in feet]) * s.period
        self._to_go = lasts - self._since
        middles = [_mean(places, foot) for foot in feet]
        self._new, old = of_new(middles), of_new(middles[::-1])
        self._step = self._new - old
        self._found = of_new([ca.sum1(s.closed[foot]) for foot in feet]) > 0.5
        beside = _mean(s.spots, feet[1]) - _mean(s.spots, feet[0])
        # from the new foot to where the other one is to be, without travel, in axes of the base
        self._beside = of_new([beside, -beside])
        travel, across = s.velocity * lasts, s.turn @ self._beside
        self._following = self._steps.offset(travel, across)
        self._after = self._steps.offset(travel, -across)
        self._divergent = self._centre.value + self._centre.rate / self._omega - self._new

    def balance(self, task: Balance) -> Demand:
        """Return the demand on the centre of mass."""
        s, x = self._stride, self._centre
        course, pressure = self._steps.course(self._step, self._following, self._since)
        pressure = ca.if_else(self._found, pressure, -self._step)
        # on two feet that stay it goes to between them, or to where the walk is to begin
        course = ca.if_else(s.duty < 1.0, course, -0.5 * self._step)
        back = (1.0 + self._gain / self._omega) * (self._divergent - course)
        within = s.turn @ ca.fmin(ca.fmax(s.turn.T @ back, -self._play), self._play)
        pressure = self._new + ca.if_else(s.walking, pressure + within, course + back)
        return Demand(
            task.name, x.rows, x.jacobian, self._omega**2 * (x.value - pressure) - x.bias, units=x.units
        )

    def target(self, k: int) -> ca.SX:
        """Return the place (x, y) [m] at which a contact of the swinging foot is to touch down."""
        s = self._stride
        offset = self._steps.grown(self._divergent, ca.fmax(self._to_go, 0.0))
        aside = s.turn.T @ self._steps.step(offset, self._after) - self._beside
        aside = aside * ca.fmin(1.0, s.reach / ca.fmax(ca.norm_2(aside), NO_HEADING))
        outwards = self._beside / ca.fmax(ca.norm_2(self._beside), NO_HEADING)
        aside = aside + outwards * ca.fmax(0.0, -self._inwards - ca.dot(outwards, aside))
        foot = next(foot for foot in self._feet if k in foot)
        return self._new + s.turn @ (self._beside + aside + s.spots[k] - _mean(s.spots, foot))


def _mean(columns: list[ca.SX], chosen: list[int]) -> ca.SX:
    return sum((columns[k] for k in chosen), ca.SX.zeros(2)) / len(chosen)


def _feet(offsets: Mapping[str, float], terms: ContactTerms) -> list[list[int]]:
    """Return the contacts of the two feet."""
    values = [round(float(offsets[name]) % 1.0, 9) for name in terms.names]
    feet = [[k for k, value in enumerate(values) if value == own] for own in dict.fromkeys(values)]
    if len(feet) != 2 or abs(abs(values[feet[0][0]] - values[feet[1][0]]) - 0.5) > OPPOSITE_PHASE:
        raise ArgumentError(
            "gait: capture steps need two feet half a period apart, each of contacts with one offset, got offsets "
            f"{dict(offsets)}",
            element="offsets",
        )
    return feet
