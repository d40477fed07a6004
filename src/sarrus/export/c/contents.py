"""The parts of an exported system or law: tables for the kernels, native functions, and the workspace in C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from sarrus.codegen.c_source import INVERSE_ERF, c_number, emit_c
from sarrus.codegen.compiler import trace_program
from sarrus.codegen.program import Program
from sarrus.dynamics.closing.closed_state import gap_expression, largest_opening
from sarrus.dynamics.model.compiled import CompiledEquations
from sarrus.dynamics.model.inertia import may_lose_inertia
from sarrus.dynamics.solve.ranks import look_around
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.export.c.identifiers import wrapped
from sarrus.export.c.values import DOUBLE, INT, Address, KernelCode, Native, Table, Term, Value, View
from sarrus.export.topologies import Topologies, topologies
from sarrus.kernels.integrate.tableau import tableau
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.record import Record
from sarrus.kernels.solve.acceleration import acceleration
from sarrus.kernels.solve.null_space import null_space_acceleration
from sarrus.kernels.solve.projection import projection
from sarrus.symbolic.equations.least_norm import Basis

T = TypeVar("T", bound=Record)
_SCALES = [place for name, place in la.Settings.places.items() if name.startswith("scale_of_")]
# Members of the workspace that depend on the active set.
TOPOLOGY = ("W->rank", "W->holonomic_rank", *(f"W->settings[{place}]" for place in _SCALES))


@dataclass(frozen=True)
class Member:
    """A member of the workspace: an array, or a number if ``size`` is zero.

    ``start`` are its initial values, zeros if empty.
    """

    name: str
    size: int
    note: str
    start: np.ndarray | None = None
    type: str = DOUBLE


def array(name: str, note: str, start: np.ndarray) -> Member:
    """Return an array member with these initial values."""
    return Member(name, len(start), note, start)


@dataclass
class Natives:
    """Native functions of an export by their names in C, traced at their first use."""

    outputs: dict[str, Callable[[], tuple[list[ca.SX], Mapping[str, ca.SX]]]] = field(default_factory=dict)
    programs: dict[str, Program] = field(default_factory=dict)

    def add(self, name: str, trace: Callable[[], tuple[list[ca.SX], Mapping[str, ca.SX]]]) -> Native:
        """Register a function: ``trace`` returns its inputs and outputs."""
        self.outputs[name] = trace
        return Native(name)

    def texts(self, names: Iterable[str]) -> list[str]:
        """Return the C definitions of the native functions among ``names``."""
        found = []
        for name in names:
            if name in self.outputs:
                self.programs[name], _, _ = trace_program(name, *self.outputs[name]())
                found.append(emit_c(self.programs[name], name))
        if any(op == ca.OP_ERFINV for p in self.programs.values() for op, _, _ in p.instructions):
            found.insert(0, INVERSE_ERF)
        return found

    @property
    def count(self) -> int:
        """The number of scalar instructions of all written functions."""
        return sum(len(program.instructions) for program in self.programs.values())


class SystemPlan:
    """A system in C: its table, its members of the workspace, and its native functions."""

    def __init__(self, system: System, natives: Natives) -> None:
        self.system, self.work = system, system.workspace()
        table = self.work.table.copy()
        scheme = tableau("rk4")
        table.n_stages, table.n_errors = len(scheme.b), 0
        kernel = null_space_acceleration if system.compiled.mass_is_singular else acceleration
        entries: dict[str, Value] = {
            "acceleration": Address(KernelCode(kernel)),
            "projection": Address(KernelCode(projection)),
            **{name: Address(View(f"W->{name}", DOUBLE)) for name in ("settings", "x", "work")},
            "generic_rank": Term("W->rank", INT, counts=True),
            "holonomic_rank": Term("W->holonomic_rank", INT, counts=True),
        }
        names = ["dynamics", "position", "velocity", "rate", *system.compiled.projecting, "non_ideal"]
        if table.whole != 0 or (not system.compiled.mass_is_singular and may_lose_inertia(system.mechanism)):
            names.append("whole")
            entries["null_space_solve"] = Address(KernelCode(null_space_acceleration))
        for name in names:
            self._native(natives, name)
        basis, compiled = self.work.basis, system.compiled
        if system.nh > 0:
            natives.add("model_gap", lambda: (compiled.inputs, {"gap": gap_expression(system.workspace())}))
        table.direct_rank, table.n_dependent = -1, 0
        # steps solve with "checked" and project with "closed"
        table.direct = table.residuals = table.nearest = table.unsatisfied = table.measure = table.stage = 0
        table.response = 0
        if basis is not None:
            table.direct_rank, table.n_dependent = len(basis.independent), len(basis.dependent)
            for name in ("checked", "closed") if 0 < system.nc == system.nh else ("checked",):
                natives.add(f"model_{name}", partial(_straight_line, compiled, name, basis))
        for name in la.FUNCTIONS:
            if f"model_{name}" in natives.outputs:
                entries[name] = Address(Native(f"model_{name}"))
        self.constants = {"stage_weights": scheme.a.ravel(), "end_weights": scheme.b, "nodes": scheme.c}
        for name in self.constants:
            entries[name] = Address(View(name, DOUBLE, constant=True))
        room = la.QUATERNIONS + int(table.n_quaternions)
        self.table = Table("the system", clean(table, entries), entries, room, "W->order", "system_table")
        self._entries = entries

    def where_open(self, answer: str) -> list[str]:
        """Return C lines that return ``answer`` if the loops are open at W->x by more than runs accept."""
        if self.system.nh == 0:
            return []
        allowed = largest_opening(self.work)
        return [
            "    model_gap(W->x, W->gap);",
            f"    if (!(W->gap[0] <= {allowed!r}))\n        return {answer};",
        ]

    def enter(self, more: Mapping[str, Value]) -> None:
        """Add entries to the table, for kernels translated from now on."""
        self._entries.update(more)

    def _native(self, natives: Natives, name: str) -> None:
        compiled = self.system.compiled
        natives.add(f"model_{name}", lambda: (compiled.inputs, compiled.outputs(name)))

    def parameters(self) -> list[Member]:
        """Return the member of the workspace for the parameters, if there are any."""
        values = np.array(list(self.system.parameters.values()))
        return [array("parameters", "that may be changed", values)] if len(values) else []

    def topologies(self, q: np.ndarray) -> Topologies | None:
        """Return ranks and scales for each active set, in the order of `TOPOLOGY`."""
        system, now = self.system, self.work.settings()

        def look(work: Workspace, near: np.ndarray) -> tuple[float, ...]:
            found, _, tolerances = look_around(work, near)
            return found.rank, found.holonomic_rank, *(tolerances[place] for place in _SCALES)

        otherwise = (min(system.nc, system.nv), min(system.nh, system.nv), *(now[place] for place in _SCALES))
        return topologies(system, q, system.equations.shaping_parameters, look, otherwise, 2)

    def members(self, stepping: bool) -> list[Member]:
        """Return the members of the workspace; with ``stepping`` including memory for steps."""
        table = self.table.numbers  # including the stages of the exported method
        ranks = self.work.table
        work = la.run_storage(table) if stepping else sum(la.workspace_sizes(table))
        generic, holonomic = np.array([ranks.generic_rank]), np.array([ranks.holonomic_rank])
        return [
            Member("x", la.input_size(table), "q, v, u, t, parameters, tau"),
            array("settings", "tolerances", self.work.settings()),
            Member("rank", 0, "of A at ordinary closed configurations", generic, INT),
            Member("holonomic_rank", 0, "of its holonomic rows", holonomic, INT),
            Member("order", len(table) - self.table.entry_count, "permutation of the rows", type=INT),
            Member("work", int(work), "room to compute in"),
            Member("gap", 1, "by how much the loops are open"),
        ]


def _straight_line(
    compiled: CompiledEquations, name: str, basis: Basis
) -> tuple[list[ca.SX], Mapping[str, ca.SX]]:
    """Return inputs and outputs of straight-line code for the rows of a basis."""
    return compiled.inputs, compiled.direct_outputs(name, basis)


def clean(table: T, entries: Mapping[str, Value]) -> T:
    """Return a copy of a table without addresses."""
    numbers = table.copy()
    for name, value in entries.items():
        if isinstance(value, Address):
            setattr(numbers, name, 0)
    return numbers


def constant_array(type_: str, name: str, values: Any) -> str:
    """Return the definition of an array of constants."""
    texts = [str(int(v)) if type_ == "int" else c_number(float(v)) for v in np.ravel(values)] or ["0"]
    body = wrapped(", ".join(texts) + ",", 102, "    ")
    return f"static const {type_} {name}[{len(texts)}] = {{\n{body}\n}};\n"
