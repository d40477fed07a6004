"""The scalar operations of CasADi as LLVM instructions.

Every entry of `OPERATIONS` is a function of the operands a and b; operations of one operand ignore b. Values are
those of CasADi's own evaluation, NaN and infinity included, with two exceptions: the sign of ``fmin(0, -0)`` is not
specified (as in C), and ``erfinv`` has errors of a few units in the last place, CasADi's formula of up to 4e-7.

The same formulas serve one number and W numbers, with state k in lane k of a vector. The result in a lane never
depends on the other lanes, and equals the result of the code for one number in every bit.

Sums, differences and products are rounded one by one: no instruction has a flag that allows the compiler to fuse or
reorder them, and elementary functions are those of `sarrus.codegen.exact.elementary`. The same program therefore
gives the same bits on every processor. See docs/decisions/0014.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import casadi as ca

from sarrus.codegen.exact.straight_line import REAL, Lines, Value, kind, own_name, structure

OPERATION_NAMES = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}

# Operations whose value is their first operand. OP_PRINTME prints in CasADi; native code does not.
IDENTITIES = frozenset({ca.OP_ASSIGN, ca.OP_LIFT, ca.OP_PRINTME})

# Elementary functions of one operand defined in this package, by their names in the C library.
ELEMENTARY = (
    *("exp", "log", "log1p", "expm1", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf"),
)

# Index of sine and cosine in the result of `sarrus_sincos`, which is called once for both.
SINE_AND_COSINE = {ca.OP_SIN: 0, ca.OP_COS: 1}


Operation = Callable[[Value, Value], Value]


def pair_of(width: int) -> str:
    """Return the type of the result of `sarrus_sincos`."""
    return structure([kind(REAL, width)] * 2)


def _own(name: str) -> Operation:
    return lambda a, _: a.lines.own(name, a)


def _own_of_two(name: str) -> Operation:
    return lambda a, b: a.lines.own(name, a, b)


def _of_c_library(name: str) -> Operation:
    return lambda a, b: a.lines.by_lane(name, a, b)[0]


def _compared(test: str) -> Operation:
    return lambda a, b: a.is_(test, b).as_number()


def _extremum(test: str) -> Operation:
    """Return one of the operands; of a NaN and a number the number."""

    def chosen(a: Value, b: Value) -> Value:
        best = a.is_(test, b).where(a, b)
        return b.is_("!=", b).where(a, best)

    return chosen


def _sine_or_cosine(place: int) -> Operation:
    def one_of_both(a: Value, _: Value) -> Value:
        lines, pair = a.lines, pair_of(a.lines.width)
        both = lines.let(f"call {pair} @{own_name('sincos', lines.width)}({a.kind} {a.name})", REAL)
        return lines.let(f"extractvalue {pair} {both.name}, {place}", REAL)

    return one_of_both


OPERATIONS: dict[int, Operation] = {
    ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b,
    ca.OP_MUL: lambda a, b: a * b,
    ca.OP_DIV: lambda a, b: a / b,
    ca.OP_NEG: lambda a, _: -a,
    ca.OP_SQ: lambda a, _: a * a,
    ca.OP_TWICE: lambda a, _: a + a,
    ca.OP_INV: lambda a, _: 1.0 / a,
    ca.OP_LT: _compared("<"),
    ca.OP_LE: _compared("<="),
    ca.OP_EQ: _compared("=="),
    ca.OP_NE: _compared("!="),
    ca.OP_NOT: lambda a, _: a.is_("==", 0.0).as_number(),
    ca.OP_AND: lambda a, b: (a.is_("!=", 0.0) & b.is_("!=", 0.0)).as_number(),
    ca.OP_OR: lambda a, b: (a.is_("!=", 0.0) | b.is_("!=", 0.0)).as_number(),
    ca.OP_FMIN: _extremum("<"),
    ca.OP_FMAX: _extremum(">"),
    ca.OP_IF_ELSE_ZERO: lambda a, b: a.is_("==", 0.0).where(0.0, b),
    ca.OP_SIGN: lambda a, _: a.is_("<", 0.0).where(-1.0, a.is_(">", 0.0).where(1.0, a)),
    ca.OP_SQRT: lambda a, _: a.root(),
    ca.OP_FABS: lambda a, _: abs(a),
    ca.OP_FLOOR: lambda a, _: a.floor(),
    ca.OP_CEIL: lambda a, _: a.lines.intrinsic("ceil", a),
    ca.OP_COPYSIGN: lambda a, b: a.signed_as(b),
    ca.OP_FMOD: _of_c_library("fmod"),
    ca.OP_REMAINDER: _of_c_library("remainder"),
    ca.OP_ERFINV: _own("erfinv"),
    ca.OP_POW: _own_of_two("pow"),
    ca.OP_CONSTPOW: _own_of_two("pow"),
    ca.OP_ATAN2: _own_of_two("atan2"),
    ca.OP_HYPOT: _own_of_two("hypot"),
    **{getattr(ca, f"OP_{name.upper()}"): _own(name) for name in ELEMENTARY},
    **{op: _sine_or_cosine(place) for op, place in SINE_AND_COSINE.items()},
}


@lru_cache(maxsize=8)
def templates(width: int) -> dict[int, str]:
    """Return the text of all operations on ``width`` numbers.

    ``{r}`` names the result, ``{a}`` and ``{b}`` the operands; intermediate results are called ``{r}.1``, ``{r}.2``.
    """
    return {op: _template(operation, width) for op, operation in OPERATIONS.items()}


def _template(operation: Operation, width: int) -> str:
    lines = Lines(width, "{r}.")
    result = operation(Value(lines, "{a}", REAL), Value(lines, "{b}", REAL))
    *before, last = lines.text
    text = "".join([*before, last.replace(f"{result.name} =", "{r} =")])
    return text.replace("{ ", "{{ ").replace(" }", " }}")  # structures, not names


_PURE = "nounwind willreturn memory(none)"
# LLVM intrinsics, and their numbers of operands.
_INTRINSICS = {"sqrt": 1, "fabs": 1, "floor": 1, "ceil": 1, "copysign": 2, "fma": 3}


def declarations(widths: Iterable[int]) -> str:
    """Return the declarations of the functions called in code on one number and on vectors of these widths."""
    text = [f"declare double @{name}(double, double) {_PURE}\n" for name in ("fmod", "remainder")]
    for width in sorted({1, *widths}):
        lines, real = Lines(width), kind(REAL, width)
        for name, count in _INTRINSICS.items():
            text.append(
                f"declare {real} @{lines.intrinsic_name(name)}({', '.join([real] * count)}) {_PURE}\n"
            )
        if width > 1:
            text.append(f"declare i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)\n")
    return "".join(text)
