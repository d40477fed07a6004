"""A CasADi function as a list of scalar instructions in static single assignment form."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.base.errors import UnsupportedOperationError
from sarrus.codegen.operations import IDENTITIES, OPERATION_NAMES, OPERATIONS, SINE_AND_COSINE

# Operations that are moved to the beginning together with the sine of their result.
_SIMPLE = frozenset((ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_NEG))


@dataclass(frozen=True)
class Program:
    """Straight-line code. Instruction ``i`` is ``(operation, a, b)`` and defines the value ``i``.

    ``a`` and ``b`` are the operands (earlier instructions); a unary operation has ``b = a``. For
    ``OP_INPUT``, ``a`` is the index in the input vector; for ``OP_CONST``, the number itself; ``OP_OUTPUT``
    stores the value ``b`` at index ``a`` of the output vector.
    """

    instructions: list[tuple[int, int | float, int]]

    @property
    def n_out(self) -> int:
        """Length of the output vector."""
        return 1 + max((int(a) for op, a, _ in self.instructions if op == ca.OP_OUTPUT), default=-1)

    def operands(self, index: int) -> tuple[int, ...]:
        """Operands of instruction ``index``."""
        op, a, b = self.instructions[index]
        if op in (ca.OP_INPUT, ca.OP_CONST):
            return ()
        if op == ca.OP_OUTPUT:
            return (b,)
        return (int(a), b)

    def angles_first(self) -> Program:
        """Return the same program with sines and cosines of inputs and constants moved to the beginning.

        Several of them can be evaluated at once there. More values live longer, but each costs one load.
        """
        early: set[int] = set()
        first: list[int] = []
        for index, (op, _, _) in enumerate(self.instructions):
            if op in (ca.OP_INPUT, ca.OP_CONST) or (op in _SIMPLE and early.issuperset(self.operands(index))):
                early.add(index)
            elif op in SINE_AND_COSINE and early.issuperset(self.operands(index)):
                first.append(index)
        if len({self.operands(index) for index in first}) < 2:
            return self
        needed: set[int] = set()
        for index in first:
            _collect(self, index, needed)
        front = [*sorted(needed), *sorted(first, key=lambda index: (self.operands(index), index))]
        moved_there = set(front)
        order = [*front, *(k for k in range(len(self.instructions)) if k not in moved_there)]
        place = {index: k for k, index in enumerate(order)}
        moved = []
        for index in order:
            op, a, b = self.instructions[index]
            if op == ca.OP_OUTPUT:
                moved.append((op, a, place[b]))
            elif op in (ca.OP_INPUT, ca.OP_CONST):
                moved.append((op, a, b))
            else:
                moved.append((op, place[int(a)], place[b]))
        return Program(moved)


def _collect(program: Program, index: int, found: set[int]) -> None:
    """Add the instructions on which an instruction depends."""
    for value in program.operands(index):
        if value not in found:
            found.add(value)
            _collect(program, value, found)


def read_program(function: ca.Function, name: str) -> Program:
    """Read the instruction list of an SX function of one input column and one output column.

    CasADi's list uses registers that are overwritten; here every value has a number of its own. The list has no dead
    code, because CasADi collects it from the outputs backwards. ``name`` is for
    messages.

    Raises
    ------
    UnsupportedOperationError
        The list has an operation without native code, such as a call of another function.
    """
    instructions: list[tuple[int, int | float, int]] = []
    register: dict[int, int] = {}
    entry: tuple[int, int | float, int]
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        if op == ca.OP_OUTPUT:
            place = function.instruction_output(k)[1]
            instructions.append((op, place, register[function.instruction_input(k)[0]]))
            continue
        if op in IDENTITIES:
            register[function.instruction_output(k)[0]] = register[function.instruction_input(k)[0]]
            continue
        if op == ca.OP_INPUT:
            entry = (op, function.instruction_input(k)[1], 0)
        elif op == ca.OP_CONST:
            entry = (op, function.instruction_constant(k), 0)
        elif op in OPERATIONS:
            used = function.instruction_input(k)
            entry = (op, register[used[0]], register[used[-1]])
        else:
            operation = OPERATION_NAMES.get(op, f"operation {op}")
            raise UnsupportedOperationError(
                f"{name}: instruction {k} is {operation}, which has no native form; "
                "write the expression with elementary scalar operations (inline the functions that it calls)",
                element=operation,
            )
        register[function.instruction_output(k)[0]] = len(instructions)
        instructions.append(entry)
    return Program(instructions)
