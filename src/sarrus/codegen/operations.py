"""The scalar operations of CasADi as LLVM instructions.

Every entry of `TEMPLATES` is the text of one operation: ``{r}`` names the result, ``{a}`` and ``{b}`` the
operands; intermediate results are called ``{r}.1``, ``{r}.2``. Values are those of CasADi's own evaluation,
NaN and infinity included, with two exceptions: the sign of ``fmin(0, -0)`` is not specified (nor is it in C),
and ``erfinv`` is exact to a few units in the last place where CasADi's formula is off by up to 4e-7.

Additions, subtractions and products carry the flag ``contract``, which lets the compiler fuse a product and
a sum into one instruction with one rounding; ``a*b - c*d`` of equal products may then be the rounding error
of one of them instead of zero. No other liberty is given: no reassociation, and NaN and infinity are kept.
"""

from __future__ import annotations

import casadi as ca

OPERATION_NAMES = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}

# Operations whose value is that of their first operand. OP_PRINTME prints in CasADi; native code does not.
IDENTITIES = frozenset({ca.OP_ASSIGN, ca.OP_LIFT, ca.OP_PRINTME})

ERFINV = "sarrus_erfinv"

_ARITHMETIC = {
    ca.OP_ADD: "fadd contract double {a}, {b}",
    ca.OP_SUB: "fsub contract double {a}, {b}",
    ca.OP_MUL: "fmul contract double {a}, {b}",
    ca.OP_DIV: "fdiv double {a}, {b}",
    ca.OP_NEG: "fneg double {a}",
    ca.OP_SQ: "fmul contract double {a}, {a}",
    ca.OP_TWICE: "fadd contract double {a}, {a}",
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
    ca.OP_SIN: "llvm.sin.f64",
    ca.OP_COS: "llvm.cos.f64",
    ca.OP_EXP: "llvm.exp.f64",
    ca.OP_LOG: "llvm.log.f64",
    ca.OP_TAN: "tan",
    ca.OP_ASIN: "asin",
    ca.OP_ACOS: "acos",
    ca.OP_ATAN: "atan",
    ca.OP_SINH: "sinh",
    ca.OP_COSH: "cosh",
    ca.OP_TANH: "tanh",
    ca.OP_ASINH: "asinh",
    ca.OP_ACOSH: "acosh",
    ca.OP_ATANH: "atanh",
    ca.OP_LOG1P: "log1p",
    ca.OP_EXPM1: "expm1",
    ca.OP_ERF: "erf",
    ca.OP_ERFINV: ERFINV,
}

_FUNCTIONS_OF_TWO = {
    ca.OP_POW: "llvm.pow.f64",
    ca.OP_CONSTPOW: "llvm.pow.f64",
    ca.OP_COPYSIGN: "llvm.copysign.f64",
    ca.OP_ATAN2: "atan2",
    ca.OP_FMOD: "fmod",
    ca.OP_REMAINDER: "remainder",
    ca.OP_HYPOT: "hypot",
}

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
    **{op: f"  {{r}} = call double @{name}(double {{a}})\n" for op, name in _FUNCTIONS.items()},
    **{
        op: f"  {{r}} = call double @{name}(double {{a}}, double {{b}})\n"
        for op, name in _FUNCTIONS_OF_TWO.items()
    },
}

_UNARY_NAMES = sorted((set(_FUNCTIONS.values()) | {"erfc"}) - {ERFINV})
_BINARY_NAMES = sorted(set(_FUNCTIONS_OF_TWO.values()))

# Functions of the C library that the machine code may call: those named above, and what intrinsics without an
# instruction become.
LIBM_SYMBOLS = tuple(name.removeprefix("llvm.").removesuffix(".f64") for name in _UNARY_NAMES + _BINARY_NAMES)
# Sine and cosine of one argument in one call: LLVM uses what the platform has.
PLATFORM_SYMBOLS = ("sincos", "__sincos_stret")

_PURE = "nounwind willreturn memory(none)"

DECLARATIONS = "".join(
    [f"declare double @{name}(double) {_PURE}\n" for name in _UNARY_NAMES]
    + [f"declare double @{name}(double, double) {_PURE}\n" for name in _BINARY_NAMES]
)

_HALLEY_STEP = """\
  %q{k} = fmul double %z{k}, %z{k}
  %m{k} = fneg double %q{k}
  %g{k} = call double @llvm.exp.f64(double %m{k})
  %p{k} = fmul double %g{k}, 0x3FF20DD750429B6D
  %erf{k} = call double @erf(double %z{k})
  %erfc{k} = call double @erfc(double %z{k})
  %body{k} = fsub double %erf{k}, %y
  %end{k} = fsub double %rest, %erfc{k}
  %f{k} = select i1 %tail, double %end{k}, double %body{k}
  %u{k} = fdiv double %f{k}, %p{k}
  %zu{k} = fmul double %z{k}, %u{k}
  %w{k} = fadd double %zu{k}, 1.0
  %v{k} = fdiv double %u{k}, %w{k}
  %z{next} = fsub double %z{k}, %v{k}
"""

# Start: Winitzki's closed form ("A handy approximation for the error function and its inverse", 2008, with
# a = 0.147), relative error 2e-3. Then three Halley steps on erf, or, where erf is near one and 1 - |x| is
# exact, on erfc. The fabs under the second root catches a difference that rounding made negative.
ERFINV_DEFINITION = (
    f"""define internal double @{ERFINV}(double %x) noinline nounwind {{
  %y = call double @llvm.fabs.f64(double %x)
  %yy = fmul double %y, %y
  %n = fneg double %yy
  %l = call double @log1p(double %n)
  %h = fmul double %l, 0.5
  %c = fadd double %h, 0x401152AF46B7C65E
  %cc = fmul double %c, %c
  %la = fdiv double %l, 0x3FC2D0E560418937
  %d = fsub double %cc, %la
  %s = call double @llvm.sqrt.f64(double %d)
  %e = fsub double %s, %c
  %start = call double @llvm.fabs.f64(double %e)
  %z0 = call double @llvm.sqrt.f64(double %start)
  %rest = fsub double 1.0, %y
  %tail = fcmp ogt double %y, 0.5
"""
    + "".join(_HALLEY_STEP.format(k=k, next=k + 1) for k in range(3))
    + """  %one = fcmp oeq double %y, 1.0
  %z = select i1 %one, double 0x7FF0000000000000, double %z3
  %r = call double @llvm.copysign.f64(double %z, double %x)
  ret double %r
}
"""
)
