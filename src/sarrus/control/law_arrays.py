"""`LawArrays`: what the kernel of one law works on."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sarrus.base.arrays import Array
from sarrus.kernels import law_layout as ll


@dataclass(eq=False)
class LawArrays:
    """The table of a law and what it points to; a copy is another law with the same compiled code.

    Attributes
    ----------
    input : x = [q | v | u | t | p | τ] the settings of the law and the period, for its native function.
    roots, preferred : 1/√weights and the controls to be near to (unknowns,).
    state : [q | v | u | t] at a call. answer : the unknowns, the rank of A, and what became of each level.
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
        """Return arrays of one's own with the same numbers."""
        return LawArrays(*(getattr(self, entry.name).copy() for entry in fields(self)))
