"""A program as LLVM IR: one function, or an entry that calls chunks in order."""

from __future__ import annotations

import math

import casadi as ca

from sarrus.codegen.exact.elementary import definitions
from sarrus.codegen.exact.straight_line import REAL, constant, kind, own_name
from sarrus.codegen.machine import ENTRY
from sarrus.codegen.operations import SINE_AND_COSINE, declarations, pair_of, templates
from sarrus.codegen.program import Program

_ADDRESS = "  %{name}.p = getelementptr inbounds {kind}, ptr %{base}, i64 {place}\n"
_LOAD = _ADDRESS + "  %{name} = load {kind}, ptr %{name}.p, align 8\n"
_STORE = _ADDRESS + "  store {kind} {value}, ptr %{name}.p, align 8\n"
_FILL = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
_CLEAR = "  call void @llvm.memset.p0.i64(ptr align 8 %out, i8 0, i64 {bytes}, i1 false)\n"
# Number of angles whose sines and cosines are computed at once in code on single numbers.
TOGETHER = 4
# Number of constant zero outputs, as in large sparse matrices, above which all outputs are cleared at once.
MANY_ZEROS = 64
_ARGUMENTS = "ptr noalias nocapture readonly %in, ptr noalias nocapture %out"


def emit(program: Program, chunk: int, lanes: int = 1) -> tuple[str, int]:
    """Return the text of a module that defines ``void sarrus_entry(const double *in, double *out)``.

    With several ``lanes`` every input and output consists of ``lanes`` consecutive numbers.

    Parameters
    ----------
    program : Program
        The instructions.
    chunk : int
        Number of instructions of one chunk; 0 makes one function. Values used by a later chunk are stored in an array
        on the stack of the entry, whose slots are reused.

    Returns
    -------
    str, int
        The text and the number of chunks.
    """
    size = len(program.instructions)
    blank = _zeros(program)
    clear = _CLEAR.format(bytes=8 * lanes * program.n_out) if blank else ""
    step = chunk or max(size, 1)
    starts = range(0, max(size, 1), step)
    slots, n_slots = assign_slots(program, step) if len(starts) > 1 else ({}, 0)
    bodies = [_body(program, start, min(start + step, size), slots, lanes, blank) for start in starts]
    if len(bodies) == 1:
        functions = [f"define void @{ENTRY}({_ARGUMENTS}) nounwind {{\n", clear, bodies[0], "  ret void\n}\n"]
    else:
        functions = []
        for k, body in enumerate(bodies):
            head = f"define internal void @chunk{k}({_ARGUMENTS}, ptr noalias nocapture %slots)"
            functions += [head, " noinline nounwind {\n", body, "  ret void\n}\n"]
        functions += [f"define void @{ENTRY}({_ARGUMENTS}) nounwind {{\n", clear]
        functions.append(f"  %slots = alloca [{max(n_slots, 1)} x {kind(REAL, lanes)}], align 64\n")
        functions += [f"  call void @chunk{k}(ptr %in, ptr %out, ptr %slots)\n" for k in range(len(bodies))]
        functions.append("  ret void\n}\n")
    text = "".join(functions)
    return declarations((lanes, TOGETHER)) + (_FILL if blank else "") + definitions(text) + text, len(bodies)


def _zeros(program: Program) -> frozenset[int]:
    """Return the instructions with constant zero outputs, if they are many: the output is then cleared first."""
    instructions = program.instructions
    zeros = frozenset(
        index
        for index, (op, _, b) in enumerate(instructions)
        if op == ca.OP_OUTPUT and instructions[b][0] == ca.OP_CONST and _is_zero(float(instructions[b][1]))
    )
    return zeros if len(zeros) >= MANY_ZEROS else frozenset()


def _is_zero(value: float) -> bool:
    return value == 0.0 and math.copysign(1.0, value) > 0.0


def assign_slots(program: Program, step: int) -> tuple[dict[int, int], int]:
    """Return a slot for every value used after its chunk of ``step`` instructions; dead slots are reused.

    Returns the slot of each such value and the number of slots.
    """
    last_chunk: dict[int, int] = {}
    for index in range(len(program.instructions)):
        for value in program.operands(index):
            last_chunk[value] = index // step
    slots: dict[int, int] = {}
    free: list[int] = []
    dying: dict[int, list[int]] = {}
    n_slots = 0
    for index, (op, _, _) in enumerate(program.instructions):
        here, offset = divmod(index, step)
        if offset == 0:
            free += dying.pop(here - 1, [])
        last = last_chunk.get(index, here)
        if op in (ca.OP_INPUT, ca.OP_CONST) or last == here:
            continue
        if free:
            slots[index] = free.pop()
        else:
            slots[index] = n_slots
            n_slots += 1
        dying.setdefault(last, []).append(slots[index])
    return slots, n_slots


def _body(
    program: Program, start: int, stop: int, slots: dict[int, int], lanes: int, blank: frozenset[int]
) -> str:
    """Return the text of instructions ``start`` to ``stop`` without ``blank`` ones.

    Values of other chunks are loaded.
    """
    instructions = program.instructions
    text: list[str] = []
    names: dict[int, str] = {}
    angles: dict[str, str] = {}  # the call that computes sine and cosine of a value
    wide: dict[int, tuple[int, int]] = {}  # for an angle computed with others: its evaluation and lane
    real, texts = kind(REAL, lanes), templates(lanes)

    def name_of(value: int) -> str:
        if value in names:
            return names[value]
        op, a, _ = instructions[value]
        if op == ca.OP_CONST:
            name = constant(float(a), lanes)
        else:
            base, place = ("in", a) if op == ca.OP_INPUT else ("slots", slots[value])
            text.append(_LOAD.format(kind=real, name=f"v{value}", base=base, place=place))
            name = f"%v{value}"
        names[value] = name
        return name

    together = _together(program, start, stop) if lanes == 1 else {}
    for index in range(start, stop):
        op, a, b = instructions[index]
        if op in (ca.OP_INPUT, ca.OP_CONST) or index in blank:
            continue
        if index in together:
            text.append(_sines_and_cosines(index, [name_of(angle) for angle in together[index]]))
            for lane, angle in enumerate(together[index]):
                wide[angle] = index, lane
        if op == ca.OP_OUTPUT:
            text.append(_STORE.format(kind=real, name=f"o{a}", base="out", place=a, value=name_of(b)))
            continue
        left, right = name_of(int(a)), name_of(b)
        name = names[index] = f"%v{index}"
        if op in SINE_AND_COSINE and a in wide:
            first, lane = wide[int(a)]
            part = f"<{TOGETHER} x {REAL}> %w{first}.{SINE_AND_COSINE[op]}"
            text.append(f"  {name} = extractelement {part}, i32 {lane}\n")
        elif op in SINE_AND_COSINE and left in angles:
            pair, place = pair_of(lanes), SINE_AND_COSINE[op]
            text.append(f"  {name} = extractvalue {pair} {angles[left]}, {place}\n")
        else:
            text.append(texts[op].format(r=name, a=left, b=right))
            if op in SINE_AND_COSINE:
                angles[left] = f"{name}.1"
        if index in slots:
            text.append(
                _STORE.format(kind=real, name=f"s{index}", base="slots", place=slots[index], value=name)
            )
    return "".join(text)


def _together(program: Program, start: int, stop: int) -> dict[int, list[int]]:
    """Return the angles whose sines and cosines are computed at once, by the instruction before which this is done.

    They are the first consecutive sines and cosines of the program, see `Program.angles_first`.
    """
    instructions = program.instructions
    while start < stop and instructions[start][0] not in SINE_AND_COSINE:
        start += 1
    end = start
    while end < stop and instructions[end][0] in SINE_AND_COSINE:
        end += 1
    first: dict[int, int] = {}
    for index in range(start, end):
        first.setdefault(int(instructions[index][1]), index)
    angles = list(first)
    groups = [angles[k : k + TOGETHER] for k in range(0, len(angles), TOGETHER)]
    return {first[group[0]]: group for group in groups if len(group) > 1}


def _sines_and_cosines(index: int, angles: list[str]) -> str:
    """Return the text for sines and cosines of some angles, the last one repeated in unused lanes."""
    lanes, pair, text, before = kind(REAL, TOGETHER), pair_of(TOGETHER), [], "poison"
    for lane in range(TOGETHER):
        name = angles[min(lane, len(angles) - 1)]
        text.append(f"  %w{index}.a{lane} = insertelement {lanes} {before}, {REAL} {name}, i32 {lane}\n")
        before = f"%w{index}.a{lane}"
    text.append(f"  %w{index} = call {pair} @{own_name('sincos', TOGETHER)}({lanes} {before})\n")
    text += [f"  %w{index}.{part} = extractvalue {pair} %w{index}, {part}\n" for part in (0, 1)]
    return "".join(text)
