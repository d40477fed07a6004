"""`LawArrays`: the arrays that the kernel of one law works on."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.control.laws.demands import Demand
from sarrus.kernels.memory import law_layout as ll


@dataclass(eq=False)
class LawArrays:
    """The table of a law and the arrays it points to; a copy is another law with the same compiled code.

    Attributes
    ----------
    input : [q | v | u | t | p | τ], the settings of the law and the period: the input of its native function.
    roots, preferred : 1/√weights and the preferred controls (unknowns,).
    state : [q | v | u | t] at a call. answer : the unknowns, the rank of A, and the results of all levels.
    """

    table: ll.LawTable
    input: Array
    tolerances: ll.LawSettings
    roots: Array
    preferred: Array
    state: Array
    answer: Array
    work: Array

    def __post_init__(self) -> None:
        self.table.own, self.table.work, self.table.settings = self.input, self.work, self.tolerances
        self.table.roots, self.table.preferred, self.table.answer = self.roots, self.preferred, self.answer
        self.addresses = self.table.ctypes.data, self.state.ctypes.data

    def copy(self) -> LawArrays:
        """Return new arrays with the same numbers."""
        return LawArrays(*(getattr(self, entry.name).copy() for entry in fields(self)))


def law_table(law: Any, measured_at: int) -> ll.LawTable:
    """Return the table of a `Law` for the kernel; see `sarrus.kernels.memory.law_layout`."""
    system, levels = law.system, []
    row = force = 0
    for level in law.levels:
        if isinstance(level, Demand):
            count = level.wanted.numel()
            levels.append((ll.AT_MOST if level.at_most else ll.ROWS, row, count))
            row += count
        else:
            levels.append((ll.FORCE, -1 if level.force is None else force, 0))
            force += level.force is not None
    own = system.parts.tau.stop
    states = [own + state.place + k for state in law.states for k in range(len(state.start))]
    tail = [*np.ravel(levels), *law.measured, *states]
    table = ll.LawTable.zeros(len(tail) + system.nc + system.nv + law.unknowns + row + 1)
    table.nq, table.nv, table.nu, table.nc = system.nq, system.nv, law.unknowns, law.constraint_rows
    table.actuators, table.own_unknowns = system.nu, law.unknowns
    table.n_demands, table.n_forces = row, force
    table.n_levels = table.n_used = len(levels)
    outputs = law.native.outputs
    table.on_multipliers, table.on_unknowns = "couplings" in outputs, "selections" in outputs
    table.on_activity, table.on_gap = "active" in outputs, system.nh > 0
    table.n_contacts = law.contact_count
    table[ll.LEVELS : ll.LEVELS + len(tail)] = tail
    table.n_measured, table.n_states = len(law.measured), len(states)
    table.measured, table.period = own + measured_at, law.native.n_in - 1
    table.native = law.native.address
    return table
