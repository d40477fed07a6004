"""`TimeProgram`: the sub-expressions of the equations that are functions of time alone, with their conditions.

CasADi's list of instructions shows which values depend on t and on no state. A *signal* is such a value that enters a
value which depends on the state, or the equations directly: a force, a prescribed motion, a gain. A *condition* is an
operation whose result may jump or have a kink: a comparison, min, max, sign, floor and similar ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.codegen.program import Program, read_program
from sarrus.symbolic.equations.equations import Equations

# Operations of which one operand, the difference of both, or a quotient decides by its sign or its integer part.
BY_DIFFERENCE = frozenset((ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_FMIN, ca.OP_FMAX))
BY_FIRST = frozenset((ca.OP_SIGN, ca.OP_FABS, ca.OP_NOT, ca.OP_IF_ELSE_ZERO))
BY_SECOND = frozenset((ca.OP_COPYSIGN, ca.OP_DIV))
BY_INTEGER = frozenset((ca.OP_FLOOR, ca.OP_CEIL, ca.OP_FMOD, ca.OP_REMAINDER, ca.OP_TAN))
OTHER = frozenset((ca.OP_AND, ca.OP_OR, ca.OP_ATAN2, ca.OP_INV))
CONDITIONS = BY_DIFFERENCE | BY_FIRST | BY_SECOND | BY_INTEGER | OTHER
# Operations of one operand, for which the list of instructions repeats it.
_UNARY = frozenset(
    getattr(ca, f"OP_{name}")
    for name in (
        *(
            "NEG",
            "EXP",
            "LOG",
            "LOG1P",
            "EXPM1",
            "SQRT",
            "SQ",
            "TWICE",
            "INV",
            "NOT",
            "FLOOR",
            "CEIL",
            "FABS",
        ),
        *(
            "SIGN",
            "SIN",
            "COS",
            "TAN",
            "ASIN",
            "ACOS",
            "ATAN",
            "SINH",
            "COSH",
            "TANH",
            "ASINH",
            "ACOSH",
            "ATANH",
        ),
        *("ERF", "ERFINV"),
    )
)
# A value depends on neither, on time, or on the state.
_CONSTANT, _OF_TIME, _OF_STATE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class TimeProgram:
    """Values that depend on t and on constants p alone, in order of evaluation.

    ``instructions``: (operation, a, b) with the places a and b of the operands among the values. ``constant`` (n,)
    marks values that do not depend on t. ``signals``, ``terms`` (the summands of signals) and ``conditions`` are
    places. ``values`` is the function of (t, p) for all values, ``derivatives`` the one for the signals with their
    first and second derivatives.
    """

    instructions: tuple[tuple[int, int, int], ...]
    constant: np.ndarray
    signals: tuple[int, ...]
    terms: tuple[int, ...]
    values: ca.Function
    derivatives: ca.Function
    courses: dict[Any, Any] = field(
        default_factory=dict
    )  # see `sarrus.motion.inputs.time_course.known_course`

    @cached_property
    def conditions(self) -> tuple[int, ...]:
        """Places of conditions whose operands depend on t."""
        return tuple(
            k
            for k, (op, a, b) in enumerate(self.instructions)
            if op in CONDITIONS and not self.constant[k] and not self.constant[_decides(op, a, b)].all()
        )

    @cached_property
    def uses(self) -> list[int]:
        """Places of the constants that enter the values."""
        return sorted({a - 1 for op, a, _ in self.instructions if op == ca.OP_INPUT and a > 0})

    def ancestors(self, places: Iterable[int]) -> list[int]:
        """Return the places of all time-dependent values from which the given ones are computed, themselves
        included.
        """
        found: set[int] = set()
        todo = list(places)
        while todo:
            k = todo.pop()
            if k in found or self.constant[k]:
                continue
            found.add(k)
            op, a, b = self.instructions[k]
            if op != ca.OP_INPUT:
                todo += [a, b]
        return sorted(found)

    def at(self, times: Array, constants: Array) -> Array:
        """Return all values (n, times) at the given times."""
        return np.array(self.values(times[None, :], constants)).reshape(len(self.instructions), len(times))

    def signals_at(self, times: Array, constants: Array) -> Array:
        """Return the signals with their first and second derivatives (3, signals, times) at the given times."""
        found = np.array(self.derivatives(times[None, :], constants))
        return found.reshape(3, len(self.signals), len(times))


def _decides(op: int, a: int, b: int) -> list[int]:
    """Return the operands whose sign or integer part decides a condition."""
    if op in BY_SECOND:
        return [b]
    return [a] if op in BY_FIRST or op in _UNARY else [a, b]


def expressions_of(equations: Equations) -> list[ca.SX]:
    """Return the expressions of the equations of motion that depend on t."""
    e = equations
    found = [
        e.passive_force, e.input_force, e.bias_force, e.non_ideal, e.mass_matrix, e.rate, e.position_residual,
        e.velocity_residual, e.jacobian, e.constraint_bias,
    ]  # fmt: skip
    if e.drift is not None:
        found.append(e.drift)
    found += [e.row_rates, e.row_bias, *(contact.gap for contact in e.friction_contacts)]
    return [expression for expression in found if expression.nnz() and ca.depends_on(expression, e.t)]


def time_program(
    expressions: Sequence[ca.SX], t: ca.SX, constants: ca.SX, states: Sequence[ca.SX], name: str
) -> TimeProgram | None:
    """Return the part of expressions that depends on t and ``constants`` alone as a `TimeProgram`; None if there is
    none.
    """
    if not expressions:
        return None
    entries = ca.vertcat(*(ca.vec(ca.densify(expression)) for expression in expressions))
    inputs = ca.vertcat(t, constants, *states)
    function = ca.Function("time", [inputs], [entries])
    return _reduced(read_program(function, name), t, constants)


def _reduced(program: Program, t: ca.SX, constants: ca.SX) -> TimeProgram | None:
    """Return the instructions that depend on t and constants alone; input 0 is t, the further inputs are the
    constants.
    """
    instructions, count = program.instructions, constants.numel()
    kinds, used, signals = np.zeros(len(instructions), dtype=int), set[int](), set[int]()
    for k, (op, a, _) in enumerate(instructions):
        if op == ca.OP_INPUT:
            kinds[k] = _OF_TIME if a == 0 else _CONSTANT if a <= count else _OF_STATE
        elif op != ca.OP_CONST:
            operands = program.operands(k)
            kinds[k] = max(kinds[i] for i in operands)
            if kinds[k] == _OF_STATE or op == ca.OP_OUTPUT:
                signals.update(i for i in operands if kinds[i] == _OF_TIME)
    if not signals:
        return None
    todo = list(signals)
    while todo:
        k = todo.pop()
        if k not in used:
            used.add(k)
            todo += program.operands(k)
    order = sorted(used)
    place, values, reduced = {k: i for i, k in enumerate(order)}, dict[int, ca.SX](), []
    for k in order:
        op, a, b = instructions[k]
        if op == ca.OP_INPUT:
            values[k] = t if a == 0 else constants[int(a) - 1]
            reduced.append((op, int(a), 0))
        elif op == ca.OP_CONST:
            values[k] = ca.SX(a)
            reduced.append((op, 0, 0))
        else:
            one = values[int(a)]
            values[k] = ca.SX.unary(op, one) if op in _UNARY else ca.SX.binary(op, one, values[b])
            reduced.append((op, place[int(a)], place[b]))
    own, constant = sorted(place[k] for k in signals), kinds[order] == _CONSTANT
    column = ca.vertcat(*(values[order[i]] for i in own))
    slope = ca.jacobian(column, t)
    return TimeProgram(
        tuple(reduced),
        constant,
        tuple(own),
        tuple(_terms(reduced, own, constant)),
        ca.Function("values", [t, constants], [ca.densify(ca.vertcat(*(values[k] for k in order)))]),
        ca.Function(
            "signals",
            [t, constants],
            [ca.vertcat(*map(ca.densify, (column, slope, ca.jacobian(slope, t))))],
        ),
    )


def _terms(
    instructions: Sequence[tuple[int, int, int]], signals: Iterable[int], constant: Array
) -> list[int]:
    """Return the summands of signals, so that no small term is lost beside a large one."""
    sums = (ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE)
    found, todo, seen = set[int](), list(signals), set[int]()
    while todo:
        k = todo.pop()
        if k in seen or constant[k]:
            continue
        seen.add(k)
        op, a, b = instructions[k]
        if op in sums or (op == ca.OP_MUL and (constant[a] or constant[b])):
            todo += [a, b]
        else:
            found.add(k)
    return sorted(found)
