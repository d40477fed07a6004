"""`LawLimits`: the limits of a law for the kernel, and their report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.control.laws.demands import Demand, ForceDemand
from sarrus.control.laws.explanation import LimitUse
from sarrus.control.laws.infeasible_limits import smallest_infeasible
from sarrus.control.laws.law_arrays import LawArrays
from sarrus.control.laws.tolerances import LIMIT_MULTIPLIER
from sarrus.dynamics.optimize.cone_rows import ConeRows
from sarrus.kernels.memory import cone_layout as cl
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory.record import view_fields

OUTCOMES = {
    cn.EXACT: "exact",
    cn.RELAXED: "relaxed",
    cn.JUMPED: "jumped",
    cn.DAMPED: "damped",
    cn.FAILED: "infeasible",
}


class LawLimits:
    """Table and arrays of the limits and contacts of one law; a copy of a law has its own.

    Parameters
    ----------
    law : name of the law.
    table : of the law; it points to this object's table from now on.
    levels : of the law.
    places : for each contact, first unknown and number of rows.
    unknowns : names of the actuators and of the contacts.
    physics : see `sarrus.control.laws.law_options`.
    first_soft : number of the first of the final soft levels; the number of levels if there are none.
    """

    def __init__(
        self,
        law: str,
        table: ll.LawTable,
        levels: Sequence[Demand | ForceDemand],
        physics: Array,
        *,
        actuators: Sequence[str],
        contacts: Sequence[str] = (),
        places: Sequence[tuple[int, int]] = (),
        friction: int = cn.NO_LIMITS,
        constraints: ConeRows | None = None,
        hold: bool = False,
        first_soft: int,
    ) -> None:
        n, count, nu = int(table.nu), len(contacts), len(actuators)
        extra = constraints or ConeRows(np.zeros((0, n)), np.zeros(0), 0)
        if extra.G.shape[1] != n:
            forces = f" and the forces {', '.join(contacts)}" if contacts else ""
            raise ArgumentError(
                f"{law}: constraints must be over {n} unknowns, {nu} controls{forces}, got {extra.G.shape[1]}",
                element="constraints",
            )
        unequal = [level for level in levels if isinstance(level, Demand) and level.at_most]
        longest = max((len(level.rows) for level in unequal), default=0)
        more = sum(len(level.rows) for level in unequal)
        rows = cn.most_rows(nu, count, len(extra.h) + more)
        total = sum(len(level.rows) if isinstance(level, Demand) else int(table.nv) for level in levels)
        width = n + longest
        own = cn.ContactTable.zeros(3 * count + 3 * len(extra.cones) + 2 * rows + width + 1 + count + total)
        own.friction, own.hold, own.first_soft = friction, hold, first_soft
        own.extra_linear, own.extra_cones, own.extra_rows = extra.linear, len(extra.cones), len(extra.h)
        own.unequal, own.slack = more, longest
        flat = [number for place in places for number in place]
        own[cn.PLACES : cn.PLACES + 2 * count + len(extra.cones)] = [*flat, *extra.cones]
        program = sum(cl.cone_sizes(width, rows))
        memory, report = cn.memory(n, rows, len(levels)), cn.report(nu, count, len(extra.h) + more)
        self.table, self.arrays = (
            own,
            {
                "physics": physics,
                "extra": np.concatenate([extra.G.ravel(), extra.h, [0.0]]),
                "memory": np.zeros(sum(memory)),
                "work": np.zeros(sum(cn.distribution_sizes(n, total, len(levels), rows, program))),
                "report": np.zeros(sum(report)),
            },
        )
        self.memory, self.report = view_fields(0, memory), view_fields(0, report)
        self._slots = 2 * len(levels)
        self._kinds, self._most_rows = (nu, count, len(extra.h), more), rows
        self._names = [f"actuator {name!r}" for name in actuators]
        self._names += [f"contact {name!r}" for name in contacts]
        self._names += [f"constraint {k}" for k in range(len(extra.h))]
        self._names += [f"{row!r} of {level.name!r}" for level in unequal for row in level.rows]
        self.attach(table)
        self.forget()

    def attach(self, table: ll.LawTable) -> None:
        """Let the table of a law point to this one, and this one to its arrays."""
        for entry, array in self.arrays.items():
            setattr(self.table, entry, array)
        table.contacts = self.table

    def copy(self, table: ll.LawTable) -> LawLimits:
        """Return a copy with arrays of its own, for the table of another law."""
        duplicate = copy(self)
        duplicate.table = self.table.copy()
        duplicate.arrays = {entry: array.copy() for entry, array in self.arrays.items()}
        duplicate.attach(table)
        return duplicate

    def name_contacts(self, names: Sequence[str]) -> None:
        """Let reports be about contacts with these names, as many as there were at the last call."""
        nu, count, extra, more = self._kinds
        self._names = [*self._names[:nu], *names, *self._names[nu + count :]]
        self._kinds = nu, len(names), extra, more
        self._most_rows = cn.most_rows(nu, len(names), extra + more)

    @property
    def slots(self) -> list[int]:
        """Return where the memories of programs begin, each with its validity; −1 marks an invalid one."""
        size = (len(self.arrays["memory"]) - self.memory.relaxed) // self._slots
        return [self.memory.exact, *(self.memory.relaxed + k * size for k in range(self._slots))]

    def forget(self) -> None:
        """Forget the last controls, forces and programs."""
        kept = self.arrays["memory"]
        kept[:] = 0.0
        kept[self.slots] = -1.0

    @property
    def outcome(self) -> str:
        """Outcome of the last call, see `sarrus.control.Command`."""
        return OUTCOMES[int(self.arrays["report"][self.report.outcome])]

    @property
    def first_missed(self) -> int:
        """The first level that the limits do not allow, if levels give way one after the other; else 0."""
        return max(int(self.arrays["memory"][self.memory.missing]) - 1, 0)

    def begin(self) -> None:
        """Clear the owners in conflict."""
        self.arrays["report"][self.report.conflict :] = 0.0

    @property
    def facts(self) -> Array:
        """Certificate of the last program, see `sarrus.kernels.memory.cone_layout`."""
        return self.arrays["report"][self.report.facts :]

    def uses(
        self, law: LawArrays, levels: Sequence[Demand | ForceDemand], rank: int, wanted: Array
    ) -> tuple[LimitUse, ...]:
        """Return the limits of the controls and the inequalities J a + E λ + F u ≤ ``wanted``, with their values at the
        last answer.
        """
        nu, physics, first = self._kinds[0], self.arrays["physics"], 0
        bounds = zip(self._names, law.answer.tolist(), physics[:nu].tolist(), physics[nu : 2 * nu].tolist())
        found = [LimitUse(*bound) for bound in bounds]
        for level, left in zip(levels, self._left_of_levels(law, levels, rank)):
            if isinstance(level, Demand):
                scale = 1.0 if level.scale is None else level.scale
                most, left = wanted[first : first + len(level.rows)] / scale, left / scale
                first += len(level.rows)
                if level.at_most:
                    names = [f"{name!r} of {level.name!r}" for name in level.rows]
                    values = zip(names, (most + left).tolist(), most.tolist())
                    found += [LimitUse(name, value, -np.inf, upper) for name, value, upper in values]
        return tuple(found)

    def _counts(self, law: LawArrays, levels: Sequence[Demand | ForceDemand], rank: int) -> list[int]:
        """Return the number of rows of each level."""
        free = int(law.table.nv) - rank
        return [len(level.rows) if isinstance(level, Demand) else free for level in levels]

    def _room(
        self, law: LawArrays, levels: Sequence[Demand | ForceDemand], rank: int
    ) -> cn.DistributionWorkspace:
        """Return the kernel's workspace with the last answer."""
        total, rows = sum(self._counts(law, levels, rank)), self._most_rows
        sizes = cn.distribution_sizes(int(law.table.nu), total, len(levels), rows, 0)
        return cn.DistributionWorkspace(*view_fields(self.arrays["work"], sizes))

    def _left_of_levels(
        self, law: LawArrays, levels: Sequence[Demand | ForceDemand], rank: int
    ) -> list[Array]:
        """Return the residuals T y − d of the rows of each level at the last answer."""
        n, room = int(law.table.nu), self._room(law, levels, rank)
        roots = law.roots[:n]
        used = roots > 0.0
        counts = self._counts(law, levels, rank)
        y = np.where(used, law.answer[:n] - law.preferred[:n], 0.0) / np.where(used, roots, 1.0)
        left = room.rows.reshape(-1, n) @ y - room.right
        return np.split(left, np.cumsum(counts)[:-1])

    def conflict(self, law: LawArrays, levels: Sequence[Demand | ForceDemand], rank: int) -> tuple[str, ...]:
        """Return the owners of the limits in conflict at the last answer, the most important first.

        For relaxed tasks these are the limits that are reached. Without a solution they are a smallest infeasible set
        (`sarrus.control.laws.infeasible_limits`); () if infeasibility could not be proven.
        """
        if self.outcome == "exact":
            return ()
        report = self.arrays["report"][self.report.conflict :][: len(self._names)]
        order = np.argsort(-report, kind="stable")
        if self.outcome in ("damped", "infeasible"):
            return tuple(self._names[k] for k in self._contradicting(law, levels, rank, order.tolist()))
        least = LIMIT_MULTIPLIER * float(report.max(initial=0.0))
        return tuple(self._names[k] for k in order if report[k] > least)

    def _contradicting(
        self, law: LawArrays, levels: Sequence[Demand | ForceDemand], rank: int, order: Sequence[int]
    ) -> tuple[int, ...]:
        """Return the places of limits that contradict each other, with closed contacts and no other level."""
        n, room = int(law.table.nu), self._room(law, levels, rank)
        lines, cones = (int(count) for count in self.arrays["report"][self.report.counts :][:2])
        first = cn.PLACES + 3 * self._kinds[1] + 2 * int(self.table.extra_cones)
        sizes = [int(size) for size in self.table[first : first + cones]]
        total = lines + sum(sizes)
        owners = np.abs(room.owners[:total]).astype(int) - 1
        owners[:lines][room.belongs[:lines] >= 0.0] = -1
        held = len(levels[0].rows) if self._kinds[1] and isinstance(levels[0], Demand) else 0
        known = [k for k in reversed(order) if k in owners]
        return smallest_infeasible(
            room.rows.reshape(-1, n)[:held], room.right[:held], room.limits.reshape(-1, n)[:total],
            room.most[:total], lines, sizes, owners, known,
        )  # fmt: skip


@contextmanager
def damped_where_refused(limits: LawLimits | None) -> Iterator[bool]:
    """Context in which calls damp the joints if no solution lies within all limits; yields whether they do so
    anyway.
    """
    if limits is None:
        yield False
        return
    limits.begin()
    held = bool(limits.table.hold)
    limits.table.hold = 1
    try:
        yield held
    finally:
        limits.table.hold = held
