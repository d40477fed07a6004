"""`Gait`: schedule of stance and swing, and footholds; `SwingFeet` and `Travel`, the tasks that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.control.laws.activation import smooth_step
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.legged.capture_steps import Balance, CaptureSteps, Stride, TracedSteps
from sarrus.control.legged.contact_law import ContactTerms
from sarrus.control.legged.footholds import heading, reference_footholds
from sarrus.control.legged.terrain import Height, TracedGround
from sarrus.control.legged.tolerances import (
    LEAST_SHARE,
    LEAST_SWING,
    NO_HEADING,
    PERIODS_AHEAD,
    RETURN_SPEED,
    STOOD_BEFORE,
)
from sarrus.control.legged.touchdown import Stance
from sarrus.control.motion.tasks import Quantity, centre_of_mass, point, quantity
from sarrus.dynamics.system import System


@dataclass(frozen=True, eq=False)
class Gait:
    """A periodic gait. Its numbers are settings of the law, gait.period and so on.

    The phase of a foot is the fractional part of (t − start) / period + offset; the foot stands while its phase is
    below ``duty``. Before ``start`` and with duty ≥ 1 all feet stand, and the velocity of travel is zero.

    The ground need not be known. A foot that meets it early, in the second half of its swing, stands from then on; a
    foot that is late continues downwards. The places of stance feet determine the slope, which gives the directions of
    contact forces, and the height above which feet are lifted and at which `Height` carries the robot. All of this is
    remembered from sample to sample; a law without samples takes the contact planes of the mechanism as the ground.

    Parameters
    ----------
    base : body that carries the legs; footholds turn with its heading.
    offsets : phase offset of each contact, 0 to 1.
    period : of the gait [s]. duty : part of the period in which a foot stands.
    velocity : of travel along and across ``heading`` [m/s].
    heading : direction of travel, about the world's z [rad].
    line : a point (x, y) of the line of travel [m]; the centre of mass returns to it at ``pull`` [1/s] times its
        distance, at most 0.15 m/s.
    ramp : time [s] in which the allowed part of the largest force rises after touchdown, and falls before lift-off.
    apex : height to which a foot is lifted [m]. touchdown : depth below the ground at which it aims [m].
    gain : step [m] per m/s of excess velocity (Raibert, Legged robots that balance, 1986).
    reach : largest step from below the hip [m].
    search : gap from the ground [m] below which a foot that should stand does so; above, it does once it is stopped on
        its way down.
    descent : velocity of a late foot downwards [m/s].
    learning : time constant with which slope and height of the ground follow the stance feet [s].
    shortest : remaining time [s] below which the feedback of the swing does not become stiffer.
    settling : rate at which the velocity of stance feet decays [1/s], if the law has no ``contact_damping``: the ankle
        keeps a sole level that stands on an edge.
    footholds : by contact, (x, y) from the centre of mass [m]; default: as in ``pose``.
    pose : q (nq,) or the name of a keyframe in which the robot stands. Default: the reference pose of the mechanism, or
        the first of its keyframes, in which the feet are below the robot and on one plane.
    steps : `CaptureSteps` for footholds by the divergent component of motion; ``gain`` is then unused.
    """

    base: str
    offsets: Mapping[str, float]
    period: float = 0.4
    duty: float = 0.6
    velocity: ArrayLike = (0.0, 0.0)
    heading: float = 0.0
    line: ArrayLike = (0.0, 0.0)
    pull: float = 0.5
    start: float = 0.0
    ramp: float = 0.03
    apex: float = 0.06
    touchdown: float = 0.003
    gain: float = 0.1
    reach: float = 0.15
    search: float = 0.01
    descent: float = 0.4
    learning: float = 0.2
    shortest: float = 0.06
    settling: float = 60.0
    footholds: Mapping[str, ArrayLike] = field(default_factory=dict)
    pose: ArrayLike | str | None = None
    steps: CaptureSteps | None = None


# The settings of a gait, and how many numbers each of them is.
_NUMBERS = {
    entry.name: np.size(getattr(Gait, entry.name))
    for entry in fields(Gait)
    if entry.name not in ("base", "offsets", "footholds", "pose", "settling", "steps")
}


@dataclass(frozen=True, eq=False)
class SwingFeet:
    """Level of tasks: the open feet of a gait move to their next footholds."""

    name: str = "swing feet"


@dataclass(frozen=True, eq=False)
class Travel:
    """Task: the centre of mass moves at the velocity v_d of a gait, ẍ = ``rate`` (v_d − v), x and y, ``rate`` [1/s]."""

    rate: float = 5.0
    name: str = "travel"


class TracedGait:
    """A gait over the symbols of a system: closed contacts, allowed parts of their forces, and its demands.

    ``terms`` are the contacts on the ground as the gait has estimated it.
    """

    def __init__(
        self,
        gait: Gait,
        system: System,
        terms: ContactTerms,
        settings: Settings,
        lost: ca.SX | None = None,
    ) -> None:
        for name in ("period", "duty", "ramp", "reach", "shortest", "descent", "learning"):
            if not np.all(np.asarray(getattr(gait, name)) > 0.0):
                raise ArgumentError(
                    f"gait: {name} must be positive, got {getattr(gait, name)!r}", element=name
                )
        unknown = [name for name in (*gait.offsets, *gait.footholds) if name not in terms.names]
        missing = [name for name in terms.names if name not in gait.offsets]
        if unknown or missing:
            name = (unknown or missing)[0]
            raise ArgumentError(
                f"gait: offsets must have the contacts {', '.join(terms.names)}, "
                f"{'not' if unknown else 'also'} {name!r}",
                element=name,
                valid=terms.names,
            )
        self.system, self._names, t = system, terms.names, system.equations.t
        self._n = n = {
            name: settings.add(f"gait.{name}", getattr(gait, name), size, "gait")
            for name, size in _NUMBERS.items()
        }
        offsets = [settings.add(f"gait.offset.{k}", gait.offsets[k], 1, "gait") for k in terms.names]
        self._ground = TracedGround(system, terms, settings, n["learning"])
        places = reference_footholds(system, gait.base, gait.pose, terms.names, gait.footholds)
        self._spots = [settings.add(f"gait.foothold.{k}", places[k], 2, "gait") for k in terms.names]
        self._walking = walking = ca.logic_and(t >= n["start"], n["duty"] < 1.0)
        begun = ca.fmax(t - n["start"], 0.0) / n["period"]
        self._phase = phase = [ca.fmod(begun + o + PERIODS_AHEAD, 1.0) for o in offsets]
        self._scheduled = [ca.if_else(walking, ca.if_else(p < n["duty"], 1.0, 0.0), 1.0) for p in phase]
        stance = self._touchdowns(settings)
        self.closed = ca.vertcat(*[ca.if_else(walking, stance.stands[k], 1.0) for k in range(len(phase))])
        self.terms = self._ground.stand_on(
            self.closed if lost is None else self.closed * (1.0 - lost), stance.stood
        )
        share = []
        for k, p in enumerate(phase):
            since = p * n["period"]
            # a foot that has stood since before the start has nothing to take over
            since = ca.if_else(t - since <= n["start"] + STOOD_BEFORE, n["ramp"], since)
            since = ca.if_else(settings.period > 0.0, stance.since[k], since)
            lasts = (ca.if_else(p < n["duty"], n["duty"], 1.0 + n["duty"]) - p) * n["period"]
            ends = ca.fmin(since, lasts) / n["ramp"]
            risen = smooth_step(ends) * (1.0 - 2.0 * LEAST_SHARE) + 2.0 * LEAST_SHARE
            share.append(ca.if_else(walking, risen, 1.0))
        self.share = ca.vertcat(*share)
        self._centre = quantity(system, centre_of_mass("xy"))
        self._turn = _turning(heading(system, gait.base))
        self._steps = None
        if gait.steps is not None:
            if not gait.duty >= 0.5:
                raise ArgumentError(
                    f"gait: capture steps need a duty of at least 0.5, so that a foot always stands, got {gait.duty}",
                    element="duty",
                )
            stride = Stride(
                phase, self._spots, self.closed, walking, n["period"], n["duty"], self._turn,
                self.desired_velocity(), n["reach"],
            )  # fmt: skip
            self._steps = TracedSteps(gait.steps, system, terms, settings, gait.offsets, stride)

    def _touchdowns(self, settings: Settings) -> Stance:
        """Return the `Stance`: which feet stand."""
        n, terms = self._n, self._ground.terms
        contacts = self.system.mechanism.contacts if self.system.mechanism else {}
        stance = Stance({name: contacts[name].body for name in terms.names}, settings, n["search"])
        falling, down = [], []
        half = 0.5 * ca.fmax(1.0 - n["duty"], LEAST_SWING) * n["period"]
        for k, late in enumerate(self._scheduled):
            part = 2.0 * self._progress(k) - 1.0
            falls = (1.0 - late) * ca.if_else(part > 0.0, 1.0, 0.0)
            falling.append(falls)
            swings = 6.0 * part * (1.0 - part) * (n["apex"] + n["touchdown"]) / half
            down.append(late * n["descent"] + falls * swings)
        rate = [terms.rate[place.start] for place in terms.places]
        stance.find(
            [ca.if_else(self._walking, s, 1.0) for s in self._scheduled], falling, down, rate, terms.gap
        )
        return stance

    def _progress(self, k: int) -> ca.SX:
        """Return the completed part of the swing of a foot, 0 to 1."""
        n = self._n
        swing = ca.fmax(1.0 - n["duty"], LEAST_SWING)
        return ca.fmin(ca.fmax((self._phase[k] - n["duty"]) / swing, 0.0), 1.0)

    def desired_velocity(self) -> ca.SX:
        """Return the desired velocity of the centre of mass in the world [m/s]."""
        n, across = self._n, ca.vertcat(-ca.sin(self._n["heading"]), ca.cos(self._n["heading"]))
        way = _turning(ca.vertcat(ca.cos(n["heading"]), ca.sin(n["heading"])))
        back = n["pull"] * ca.dot(across, n["line"] - self._centre.value)
        return ca.if_else(self._walking, way @ n["velocity"], 0.0) + across * ca.fmin(
            ca.fmax(back, -RETURN_SPEED), RETURN_SPEED
        )

    def travel(self, task: Travel, settings: Settings) -> Demand:
        """Return the demand of `Travel`."""
        x, rate = self._centre, settings.add(f"{task.name}.rate", task.rate, 1, task.name)
        wanted = rate * (self.desired_velocity() - x.rate) - x.bias
        return Demand(task.name, x.rows, x.jacobian, wanted, units=x.units)

    def balance(self, task: Balance) -> Demand:
        """Return the demand of `Balance`."""
        if self._steps is None:
            raise ArgumentError(
                f"gait: {task.name!r} needs steps=CaptureSteps(height), got None", element=task.name
            )
        return self._steps.balance(task)

    def height(self, task: Height, settings: Settings) -> Demand:
        """Return the demand of `Height`."""
        return self._ground.above(task, settings)

    def swing(self, task: SwingFeet) -> Demand:
        """Return the demand of `SwingFeet`.

        Along the ground ẍ = 6 (x_T − x) / T² − 4 ẋ / T with the remaining time T, the acceleration of least square that
        arrives at rest; vertically the same towards the apex, then towards the ground. A late foot goes straight down.
        """
        terms, blocks, wanted = self.terms, [], []
        contacts = self.system.mechanism.contacts if self.system.mechanism else {}
        for k, name in enumerate(terms.names):
            place, contact = terms.places[k], contacts[name]
            foot = quantity(self.system, point(contact.body, contact.point))
            open_ = 1.0 - self.closed[k]
            rows = ca.vertcat(terms.rows[place.start, :], foot.jacobian[:2, :])
            bias = ca.vertcat(terms.bias[place.start], foot.bias[:2])
            blocks.append(open_ * rows)
            wanted.append(open_ * (self._swing(k, foot, terms.gap[k], terms.rate[place.start]) - bias))
        names = tuple(f"{name}.{row}" for name in terms.names for row in ("n", "x", "y"))
        units = ("m",) * len(names)
        return Demand(task.name, names, ca.vertcat(*blocks), ca.vertcat(*wanted), units=units)

    def _swing(self, k: int, foot: Quantity, gap: ca.SX, rate: ca.SX) -> ca.SX:
        """Return the acceleration of a foot: along the normal of the ground, and along x and y."""
        n, late = self._n, self._scheduled[k]
        swing = ca.fmax(1.0 - n["duty"], LEAST_SWING)
        progress = ca.if_else(late > 0.5, 1.0, self._progress(k))
        lasts, stands = swing * n["period"], ca.fmin(n["duty"], 1.0) * n["period"]
        to_go = ca.fmax((1.0 - progress) * lasts, n["shortest"])
        target = self._foothold(k, (1.0 - progress) * lasts, stands)
        away = ca.if_else(late > 0.5, 0.0, 1.0) * 6.0 * (target - foot.value[:2]) / to_go**2
        level = away - 4.0 * foot.rate[:2] / to_go
        rising = progress < 0.5
        upward = ca.if_else(rising, ca.fmax((0.5 - progress) * lasts, n["shortest"]), to_go)
        height = ca.if_else(rising, n["apex"], -n["touchdown"])
        lift = 6.0 * (height - gap) / upward**2 - 4.0 * rate / upward
        lift = ca.if_else(late > 0.5, -2.0 * (n["descent"] + rate) / n["shortest"], lift)
        return ca.vertcat(lift, level)

    def _foothold(self, k: int, left: ca.SX, stands: ca.SX) -> ca.SX:
        """Return the place (x, y) of the next touchdown of a contact in ``left`` seconds, for a stance of ``stands``
        seconds.
        """
        if self._steps is not None:
            return self._steps.target(k)
        n, speed = self._n, self._centre.rate
        step = 0.5 * stands * speed + n["gain"] * (speed - self.desired_velocity())
        step = step * ca.fmin(1.0, n["reach"] / ca.fmax(ca.norm_2(step), NO_HEADING))
        return self._centre.value + self._turn @ self._spots[k] + speed * left + step


def _turning(direction: ca.SX) -> ca.SX:
    """Return the rotation in the plane that turns the x axis to a direction."""
    c, s = direction[0], direction[1]
    return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))
