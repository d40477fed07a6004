"""Which contacts and stops act in a step of time stepping, and the velocities of their rows, without a branch.

The laws are those of `sarrus.kernels.integrate.time_stepping`, for all contacts and stops at once, stops behind
contacts. Inputs are x in the middle of the step (x at its start for `gaps_at_start`), and what `StepFields` names, in
this order.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.sparse import Column, largest


@dataclass(frozen=True)
class Stops:
    """Limits of coordinates: number of coordinate and velocity, sign (1: from below) and bound in the model of each.

    ``dry`` are the numbers of the velocities of joints with dry friction, whose rows are behind those of stops.
    """

    places: list[int]
    speeds: list[int]
    signs: list[float]
    bounds: list[float]
    dry: list[int]


@dataclass(frozen=True)
class StepFields:
    """Inputs behind x, by names and lengths, and outputs of a step in lanes."""

    equations: Equations
    stops: Stops

    @property
    def count(self) -> int:
        """Number of contacts and stops."""
        return len(self.equations.friction_contacts) + len(self.stops.places)

    @property
    def start(self) -> dict[str, int]:
        """Lengths of the inputs of `gaps_at_start`: bounds in effect, tolerances of gaps and speeds, units of v."""
        nv, k = self.equations.nv, self.count
        facts = {"h": 1, "again": 1, "bounds": len(self.stops.places)}
        return {"displacement": nv} | facts | dict.fromkeys(("closed", "reach", "still"), k) | {"factors": nv}

    @property
    def all(self) -> dict[str, int]:
        """Lengths of the inputs of the other functions."""
        e, k = self.equations, self.count
        nv, x = e.nv, e.nq + 2 * e.nv + e.nu + 1 + e.p.numel()
        contacts = dict.fromkeys(("gap", "active", "delay", "ahead_gap"), k)
        velocities = dict.fromkeys(("free", "way", "ahead", "first", "smooth", "a"), nv)
        return {"start": x} | self.start | contacts | velocities

    def gaps_at_start(self, *parts: ca.SX) -> dict[str, ca.SX]:
        """Return the gaps; and whether a bound in effect is not that of the model.

        A gap that is closed to the digits of a file, at rest, is zero.
        """
        e, given = self.equations, dict(zip(self.start, parts))
        bounds = ca.vertsplit(given["bounds"]) if self.stops.places else []
        gaps = [contact.gap for contact in e.friction_contacts]
        rates = [contact.rates[0] for contact in e.friction_contacts]
        for place, speed, sign, bound in zip(self.stops.places, self.stops.speeds, self.stops.signs, bounds):
            gaps.append(sign * (e.q[place] - bound))
            rates.append(sign * e.v[speed])
        longest = largest([ca.fabs(e.v[i]) * given["factors"][i] for i in range(e.nv)])
        for k, (gap, rate) in enumerate(zip(gaps, rates)):
            small = ca.logic_and(gap > given["closed"][k], gap <= given["reach"][k])
            rests = ca.logic_and(small, ca.fabs(rate) <= given["still"][k] * (1 + longest))
            gaps[k] = ca.if_else(rests, 0, gap)
        beyond = [ca.SX(0), *(bound != own for bound, own in zip(bounds, self.stops.bounds))]
        return {"gap": ca.vertcat(*gaps), "beyond": largest(beyond)}

    def forecast(self, *parts: ca.SX) -> dict[str, ca.SX]:
        """Return which contacts and stops are active, their delays, the gaps at the end without contact forces, the
        numbers of active ones, the velocity at the end without contact forces, and that by which gaps are forecast.

        In the second pass those that the impulses of the first pass would close are active, too.
        """
        given = dict(zip(self.all, parts))
        h, nq, nv = given["h"], self.equations.nq, self.equations.nv
        free = given["start"][nq : nq + nv] + h * given["a"]
        way = free - 0.5 * h * ca.if_else(given["again"] > 0, given["smooth"], given["a"])
        active, delay, ahead = [list[ca.SX]() for _ in range(3)]
        for k, rate in enumerate(self._rates(way)):
            gap = given["gap"][k]
            left, closed = gap + h * rate, gap <= given["closed"][k]
            opens = ca.logic_and(ca.logic_not(closed), left >= 0)
            kept = ca.logic_and(given["active"][k] == 1, given["ahead_gap"][k] >= 0)
            stays = ca.logic_and(kept, given["again"] > 0)
            active.append(ca.logic_or(ca.logic_not(opens), stays))
            own = ca.if_else(closed, 0, h * gap / (gap - left))
            delay.append(ca.if_else(opens, ca.if_else(stays, given["delay"][k], 0), own))
            ahead.append(left)
        parts_of_end = {"free": free, "way": way}
        return {
            **_columns(active=active, delay=delay, ahead=ahead),
            "counts": self._counts(active),
            **parts_of_end,
        }

    def more(self, *parts: ca.SX) -> dict[str, ca.SX]:
        """Return which contacts and stops are active, and their delays, where the contact forces close further ones.

        Also the numbers of active ones, whether there are more than before, the largest velocity at the end, and the
        largest difference of both passes.
        """
        given = dict(zip(self.all, parts))
        h, ahead, count = given["h"], given["ahead"], self.equations.nv
        active, delay, found = [list[ca.SX]() for _ in range(3)]
        for k, rate in enumerate(self._rates(given["way"] + (ahead - given["free"]))):
            gap, before = given["gap"][k], given["active"][k]
            left = gap + h * rate
            found.append(ca.logic_and(left < 0, before == 0))
            active.append(ca.if_else(found[k], 1, before))
            delay.append(ca.if_else(found[k], h * gap / (gap - left), given["delay"][k]))
        by = [given["factors"][i] for i in range(count)]
        speeds = [by[i] * (ca.fabs(ahead[i]) + h * ca.fabs(given["a"][i])) for i in range(count)]
        apart = [by[i] * ca.fabs(ahead[i] - given["first"][i]) for i in range(count)]
        return {
            **_columns(active=active, delay=delay), "counts": self._counts([value > 0 for value in active]),
            "found": largest(found), "largest": largest(speeds), "apart": largest(apart),
        }  # fmt: skip

    def rows(self, *parts: ca.SX) -> dict[str, ca.SX]:
        """Return the velocities of all rows at the end without contact forces and at the start, with rows as in the
        middle, and by how much rows turn up to the end.
        """
        e, given = self.equations, dict(zip(self.all, parts))
        turn = 0.5 * given["h"] * e.row_bias
        start = given["start"][e.nq : e.nq + e.nv]
        ahead, before = (ca.substitute(e.row_rates, e.v, v) for v in (given["free"], start))
        stops = [*zip(self.stops.speeds, self.stops.signs), *((i, 1.0) for i in self.stops.dry)]
        return {
            "ahead": ca.vertcat(ahead, *(sign * given["free"][i] for i, sign in stops)),
            "before": ca.vertcat(before - turn, *(sign * start[i] for i, sign in stops)),
            "turn": ca.vertcat(turn, ca.SX.zeros(len(stops))),
        }

    def rows_and_jacobian(self, *parts: ca.SX) -> dict[str, ca.SX]:
        """Return `rows`, and the rows J of contacts."""
        e = self.equations
        return {**self.rows(*parts), "J": ca.jacobian(e.row_rates, e.v)}

    def _rates(self, velocity: ca.SX) -> Column:
        """Return the rates of all gaps in the middle of the step with a velocity."""
        e = self.equations
        rates = ca.vertcat(ca.SX(0, 1), *(contact.rates[0] for contact in e.friction_contacts))
        found = ca.substitute(rates, e.v, velocity)
        stops = zip(self.stops.speeds, self.stops.signs)
        return [*(found[k] for k in range(found.numel())), *(sign * velocity[i] for i, sign in stops)]

    def _counts(self, active: Column) -> ca.SX:
        """Return the numbers of active contacts with friction, of active unilateral rows, and of active contacts."""
        contacts = self.equations.friction_contacts
        wide = [len(contact.row_names) > 1 for contact in contacts]
        friction = sum((own for own, has in zip(active, wide) if has), ca.SX(0))
        whole, planes = sum(active, ca.SX(0)), sum(active[: len(contacts)], ca.SX(0))
        return ca.vertcat(friction, whole - friction, planes)


def _columns(**lists: Column) -> dict[str, ca.SX]:
    return {name: ca.vertcat(*values) for name, values in lists.items()}
