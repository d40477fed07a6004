"""The scalar operations of CasADi as LLVM instructions.

Every entry of `TEMPLATES` is the text of one operation: ``{r}`` names the result, ``{a}`` and ``{b}`` the
operands; intermediate results are called ``{r}.1``, ``{r}.2``. Values are those of CasADi's own evaluation,
NaN and infinity included, with two exceptions: the sign of ``fmin(0, -0)`` is not specified (nor is it in C),
and ``erfinv`` is exact to a few units in the last place where CasADi's formula is off by up to 4e-7.

Sums, differences and products are rounded one by one: no instruction carries a flag that would let the
compiler fuse or reorder them, and elementary functions are our own (`sarrus.codegen.elementary`). So the same
program gives the same bits on every processor. See docs/decisions/0014.
"""

from __future__ import annotations

import casadi as ca

OPERATION_NAMES = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}

# Operations whose value is that of their first operand. OP_PRINTME prints in CasADi; native code does not.
IDENTITIES = frozenset({ca.OP_ASSIGN, ca.OP_LIFT, ca.OP_PRINTME})

_ARITHMETIC = {
    ca.OP_ADD: "fadd double {a}, {b}",
    ca.OP_SUB: "fsub double {a}, {b}",
    ca.OP_MUL: "fmul double {a}, {b}",
    ca.OP_DIV: "fdiv double {a}, {b}",
    ca.OP_NEG: "fneg double {a}",
    ca.OP_SQ: "fmul double {a}, {a}",
    ca.OP_TWICE: "fadd double {a}, {a}",
    ca.OP_INV: "fdiv double 1.0, {a}",
}

_COMPARISONS = {
    ca.OP_LT: "olt double {a}, {b}",
    ca.OP_LE: "ole double {a}, {b}",
    ca.OP_EQ: "oeq double {a}, {b}",
    ca.OP_NE: "une double {a}, {b}",
    ca.OP_NOT: "oeq double {a}, 0.0",
}

_CONNECTIVES = {ca.OP_AND: "and", ca.OP_OR: "or"}

_EXTREMA = {ca.OP_FMIN: "olt", ca.OP_FMAX: "ogt"}  # a NaN loses against a number

_FUNCTIONS = {
    ca.OP_SQRT: "llvm.sqrt.f64",
    ca.OP_FABS: "llvm.fabs.f64",
    ca.OP_FLOOR: "llvm.floor.f64",
    ca.OP_CEIL: "llvm.ceil.f64",
    ca.OP_EXP: "sarrus_exp",
    ca.OP_LOG: "sarrus_log",
    ca.OP_TAN: "sarrus_tan",
    ca.OP_ASIN: "sarrus_asin",
    ca.OP_ACOS: "sarrus_acos",
    ca.OP_ATAN: "sarrus_atan",
    ca.OP_SINH: "sarrus_sinh",
    ca.OP_COSH: "sarrus_cosh",
    ca.OP_TANH: "sarrus_tanh",
    ca.OP_ASINH: "sarrus_asinh",
    ca.OP_ACOSH: "sarrus_acosh",
    ca.OP_ATANH: "sarrus_atanh",
    ca.OP_LOG1P: "sarrus_log1p",
    ca.OP_EXPM1: "sarrus_expm1",
    ca.OP_ERF: "sarrus_erf",
    ca.OP_ERFINV: "sarrus_erfinv",
}

_FUNCTIONS_OF_TWO = {
    ca.OP_POW: "sarrus_pow",
    ca.OP_CONSTPOW: "sarrus_pow",
    ca.OP_COPYSIGN: "llvm.copysign.f64",
    ca.OP_ATAN2: "sarrus_atan2",
    ca.OP_FMOD: "fmod",
    ca.OP_REMAINDER: "remainder",
    ca.OP_HYPOT: "sarrus_hypot",
}

# Place of these among what `sarrus_sincos` returns; whoever emits calls it once for both.
SINE_AND_COSINE = {ca.OP_SIN: 0, ca.OP_COS: 1}

TEMPLATES: dict[int, str] = {
    **{op: f"  {{r}} = {text}\n" for op, text in _ARITHMETIC.items()},
    **{
        op: f"  {{r}}.1 = fcmp {text}\n  {{r}} = uitofp i1 {{r}}.1 to double\n"
        for op, text in _COMPARISONS.items()
    },
    **{
        op: "  {r}.1 = fcmp une double {a}, 0.0\n"
        "  {r}.2 = fcmp une double {b}, 0.0\n"
        f"  {{r}}.3 = {word} i1 {{r}}.1, {{r}}.2\n"
        "  {r} = uitofp i1 {r}.3 to double\n"
        for op, word in _CONNECTIVES.items()
    },
    **{
        op: f"  {{r}}.1 = fcmp {test} double {{a}}, {{b}}\n"
        "  {r}.2 = select i1 {r}.1, double {a}, double {b}\n"
        "  {r}.3 = fcmp uno double {b}, 0.0\n"
        "  {r} = select i1 {r}.3, double {a}, double {r}.2\n"
        for op, test in _EXTREMA.items()
    },
    ca.OP_IF_ELSE_ZERO: (
        "  {r}.1 = fcmp oeq double {a}, 0.0\n  {r} = select i1 {r}.1, double 0.0, double {b}\n"
    ),
    ca.OP_SIGN: (
        "  {r}.1 = fcmp olt double {a}, 0.0\n"
        "  {r}.2 = fcmp ogt double {a}, 0.0\n"
        "  {r}.3 = select i1 {r}.2, double 1.0, double {a}\n"
        "  {r} = select i1 {r}.1, double -1.0, double {r}.3\n"
    ),
    **{
        op: "  {r}.1 = call {{ double, double }} @sarrus_sincos(double {a})\n"
        f"  {{r}} = extractvalue {{{{ double, double }}}} {{r}}.1, {place}\n"
        for op, place in SINE_AND_COSINE.items()
    },
    **{op: f"  {{r}} = call double @{name}(double {{a}})\n" for op, name in _FUNCTIONS.items()},
    **{
        op: f"  {{r}} = call double @{name}(double {{a}}, double {{b}})\n"
        for op, name in _FUNCTIONS_OF_TWO.items()
    },
}

# Functions of the C library that the machine code may call: those that are exact, and what intrinsics become
# on processors that have no instruction for them. Code that calls any other does not link.
LIBM_SYMBOLS = ("ceil", "copysign", "fabs", "floor", "fma", "fmod", "remainder", "sqrt")

_PURE = "nounwind willreturn memory(none)"

DECLARATIONS = "".join(
    [
        f"declare double @{name}(double) {_PURE}\n"
        for name in ("llvm.sqrt.f64", "llvm.fabs.f64", "llvm.floor.f64", "llvm.ceil.f64")
    ]
    + [
        f"declare double @{name}(double, double) {_PURE}\n"
        for name in ("llvm.copysign.f64", "fmod", "remainder")
    ]
    + [f"declare double @llvm.fma.f64(double, double, double) {_PURE}\n"]
)
