"""A program as C99: one function, or an entry that calls chunks in order.

The operations are those of `sarrus.codegen.operations`, in the same order. Products and sums are fused only if the C
compiler does it (``-ffp-contract=off`` forbids it). Elementary functions are those of the C library, and so are their
last bits.
"""

from __future__ import annotations

import math
import re

import casadi as ca

from sarrus.codegen.emit import assign_slots
from sarrus.codegen.operations import ELEMENTARY
from sarrus.codegen.program import Program

CHUNK = 500  # largest number of instructions of a chunk, or of a function that is not split

_FUNCTIONS = ("sqrt", "fabs", "floor", "ceil", "sin", "cos", *ELEMENTARY)
_FUNCTIONS_OF_TWO = ("pow", "copysign", "atan2", "fmod", "remainder", "hypot", "fmin", "fmax")

# ``{a}`` and ``{b}`` are names or numbers in parentheses.
EXPRESSIONS: dict[int, str] = {
    ca.OP_ADD: "{a} + {b}",
    ca.OP_SUB: "{a} - {b}",
    ca.OP_MUL: "{a} * {b}",
    ca.OP_DIV: "{a} / {b}",
    ca.OP_NEG: "-{a}",
    ca.OP_SQ: "{a} * {a}",
    ca.OP_TWICE: "{a} + {a}",
    ca.OP_INV: "1.0 / {a}",
    ca.OP_LT: "(double)({a} < {b})",
    ca.OP_LE: "(double)({a} <= {b})",
    ca.OP_EQ: "(double)({a} == {b})",
    ca.OP_NE: "(double)({a} != {b})",
    ca.OP_NOT: "(double)({a} == 0.0)",
    ca.OP_AND: "(double)({a} != 0.0 && {b} != 0.0)",
    ca.OP_OR: "(double)({a} != 0.0 || {b} != 0.0)",
    ca.OP_IF_ELSE_ZERO: "{a} == 0.0 ? 0.0 : {b}",
    ca.OP_SIGN: "{a} < 0.0 ? -1.0 : {a} > 0.0 ? 1.0 : {a}",
    ca.OP_ERFINV: "inverse_erf({a})",
    **{getattr(ca, f"OP_{name.upper()}"): f"{name}({{a}})" for name in _FUNCTIONS},
    **{getattr(ca, f"OP_{name.upper()}"): f"{name}({{a}}, {{b}})" for name in _FUNCTIONS_OF_TWO},
    ca.OP_CONSTPOW: "pow({a}, {b})",
}

# As `sarrus.codegen.exact.error_functions.erfinv`: Winitzki's closed form, then three Halley steps.
INVERSE_ERF = """\
static double inverse_erf(double x)
{
    const double y = fabs(x), l = log1p(-y * y), c = 0.5 * l + 4.330746750799873;
    double z = sqrt(fabs(sqrt(c * c - l / 0.147) - c));
    for (int k = 0; k < 3; k++) {
        const double slope = 1.1283791670955126 * exp(-z * z);
        const double u = (y > 0.5 ? (1.0 - y) - erfc(z) : erf(z) - y) / slope;
        z -= u / (1.0 + z * u);
    }
    return copysign(y == 1.0 ? HUGE_VAL : z, x);
}
"""


def c_number(value: float) -> str:
    """Return a C expression for exactly this float64."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "HUGE_VAL" if value > 0 else "(-HUGE_VAL)"
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text


def emit_c(program: Program, name: str, chunk: int = CHUNK) -> str:
    """Return the definition of ``static void name(const double *in, double *out)``; the arrays must not overlap.

    Above ``chunk`` instructions the code is split into functions of this length; values used by a later function are
    stored in an array on the stack of the entry.
    """
    size = len(program.instructions)
    step = chunk if size > chunk else max(size, 1)
    starts = range(0, max(size, 1), step)
    slots, n_slots = assign_slots(program, step) if len(starts) > 1 else ({}, 0)
    bodies = [_body(program, start, min(start + step, size), slots) for start in starts]
    if len(bodies) == 1:
        return _function(name, bodies[0])
    pieces = [f"{_function(f'{name}_{k}', body, 'slots')}\n" for k, body in enumerate(bodies)]
    calls = "".join(f"    {name}_{k}(in, out, slots);\n" for k in range(len(bodies)))
    return "".join(pieces) + _function(name, f"    double slots[{max(n_slots, 1)}];\n{calls}")


def _function(name: str, body: str, *more: str) -> str:
    """Return the definition of a function of ``in``, ``out`` and ``more`` output arrays."""
    arguments = ", ".join(["const double *restrict in", *(f"double *restrict {a}" for a in ("out", *more))])
    unused = "".join(f"    (void){a};\n" for a in ("in", "out", *more) if not re.search(rf"\b{a}\b", body))
    return f"static void {name}({arguments})\n{{\n{unused}{body}}}\n"


def _body(program: Program, start: int, stop: int, slots: dict[int, int]) -> str:
    """Text of the instructions from ``start`` to ``stop``."""
    instructions = program.instructions
    text: list[str] = []

    def name_of(value: int) -> str:
        op, a, _ = instructions[value]
        if op == ca.OP_CONST:
            return c_number(float(a))
        if op == ca.OP_INPUT:
            return f"in[{a}]"
        return f"v{value}" if value >= start else f"slots[{slots[value]}]"

    for index in range(start, stop):
        op, a, b = instructions[index]
        if op in (ca.OP_INPUT, ca.OP_CONST):
            continue
        if op == ca.OP_OUTPUT:
            text.append(f"    out[{a}] = {name_of(b)};\n")
            continue
        value = EXPRESSIONS[op].format(a=name_of(int(a)), b=name_of(b))
        text.append(f"    const double v{index} = {value};\n")
        if index in slots:
            text.append(f"    slots[{slots[index]}] = v{index};\n")
    return "".join(text)
