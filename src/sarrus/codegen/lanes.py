"""The scalar operations on several numbers at once: `Arithmetic` of one width, and what LLVM has no instruction for.

Straight-line code without branches runs on W states as well as on one: every number becomes a vector of W, the state k
in lane k. What one lane holds never depends on the others.

Sine and cosine, which a mechanism is full of, are our own: an argument is reduced by multiples of π/2 in three parts
with fused products (Cody and Waite, Software Manual for the Elementary Functions, 1980), then come the minimax
polynomials of fdlibm; the result is within 1.5 units in the last place. Arguments beyond `LARGEST_ANGLE` and all other
functions are those of the C library, lane by lane.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca

from sarrus.codegen.operations import TEMPLATES

# Largest angle that three parts of π/2 reduce to full accuracy.
LARGEST_ANGLE = 2.0**20

_VECTOR_INTRINSICS = ("sqrt", "fabs", "floor", "ceil", "copysign")
_SINCOS = "sarrus_lanes_sincos"
_PARTS_OF_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
_TWO_OVER_PI = 0.6366197723675814
_ROUND = 1.5 * 2.0**52  # adding it rounds to an integer, whose last bits are then those of the sum
_SINE = (
    1.58969099521155010221e-10,
    -2.50507602534068634195e-08,
    2.75573137070700676789e-06,
    -1.98412698298579493134e-04,
    8.33333333332248946124e-03,
    -1.66666666666666324348e-01,
)
_COSINE = (
    -1.13596475577881948265e-11,
    2.08757232129817482790e-09,
    -2.75573143513906633035e-07,
    2.48015872894767294178e-05,
    -1.38888888888741095749e-03,
    4.16666666666666019037e-02,
)


@dataclass(frozen=True)
class Arithmetic:
    """Text of the operations on ``width`` numbers: the type of a value and the templates of all operations."""

    width: int
    kind: str
    templates: dict[int, str]

    def constant(self, value: float) -> str:
        """Return a number, in every lane."""
        return _constant(value, self.width)

    def definitions(self, text: str) -> str:
        """Return what a module with this text must define and declare besides the scalar functions."""
        if self.width == 1:
            return ""
        names = sorted(set(re.findall(r"@sarrus_lanes_([\w.]+)\(", text)))
        made = [
            _sincos(self.width) if name == "sincos" else _lane_by_lane(name, self.width) for name in names
        ]
        return "".join([*_declarations(self.width), *made])


@lru_cache(maxsize=8)
def arithmetic(width: int) -> Arithmetic:
    """Return the operations on ``width`` numbers at once."""
    if width == 1:
        return Arithmetic(1, "double", TEMPLATES)
    kind = f"<{width} x double>"
    templates = {op: _widened(template, width) for op, template in TEMPLATES.items()}
    pair = f"{{{{ {kind}, {kind} }}}}"  # in a template
    for op, place in ((ca.OP_SIN, 0), (ca.OP_COS, 1)):
        call = f"  {{r}}.1 = call {pair} @{_SINCOS}({kind} {{a}})\n"
        templates[op] = call + f"  {{r}} = extractvalue {pair} {{r}}.1, {place}\n"
    return Arithmetic(width, kind, templates)


def _widened(template: str, width: int) -> str:
    """Return the template of a scalar operation for vectors."""
    number = re.compile(r"(?<=[ ])(-?\d+\.\d+)(?=[,\n])")
    text = number.sub(lambda found: _constant(float(found[1]), width), template)
    text = re.sub(r"\bdouble\b(?! 0x)", f"<{width} x double>", text)
    text = re.sub(r"\bi1\b", f"<{width} x i1>", text)
    return re.sub(r"@([\w.]+)\(", lambda found: f"@{_vector_name(found[1], width)}(", text)


def _vector_name(name: str, width: int) -> str:
    plain = name.removeprefix("llvm.").removesuffix(".f64")
    if plain in _VECTOR_INTRINSICS:
        return f"llvm.{plain}.v{width}f64"
    return f"sarrus_lanes_{name}"


def _declarations(width: int) -> list[str]:
    kind = f"<{width} x double>"
    lines = [
        f"declare {kind} @llvm.{name}.v{width}f64({kind}{f', {kind}' if name == 'copysign' else ''})\n"
        for name in _VECTOR_INTRINSICS
    ]
    lines.append(f"declare {kind} @llvm.fma.v{width}f64({kind}, {kind}, {kind})\n")
    lines.append(f"declare i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)\n")
    return lines


def _hexadecimal(value: float) -> str:
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def _constant(value: float, width: int) -> str:
    if width == 1:
        return _hexadecimal(value)
    return "<" + ", ".join([f"double {_hexadecimal(value)}"] * width) + ">"


def _lane_by_lane(name: str, width: int) -> str:
    """Define a function of one or two vectors by calls of the scalar function."""
    count = 2 if name in _OF_TWO else 1
    kind, letters = f"<{width} x double>", "ab"[:count]
    lines = [f"define internal {kind} @sarrus_lanes_{name}({', '.join(f'{kind} %{x}' for x in letters)})"]
    lines.append(" noinline nounwind {\n")
    result = "poison"
    for k in range(width):
        lines += [f"  %{x}{k} = extractelement {kind} %{x}, i32 {k}\n" for x in letters]
        arguments = ", ".join(f"double %{x}{k}" for x in letters)
        lines.append(f"  %y{k} = call double @{name}({arguments})\n")
        lines.append(f"  %r{k} = insertelement {kind} {result}, double %y{k}, i32 {k}\n")
        result = f"%r{k}"
    return "".join([*lines, f"  ret {kind} {result}\n}}\n"])


_OF_TWO = {
    found[1]
    for template in TEMPLATES.values()
    for found in re.finditer(r"@([\w.]+)\(double \{a\}, double \{b\}\)", template)
}


def _sincos(width: int) -> str:
    """Define sine and cosine of a vector."""
    d, b, i = f"<{width} x double>", f"<{width} x i1>", f"<{width} x i64>"
    lines: list[str] = []

    def let(name: str, text: str) -> None:
        lines.append(f"  %{name} = {text}\n")

    def number(value: float) -> str:
        return _constant(value, width)

    def integer(value: int) -> str:
        return "<" + ", ".join([f"i64 {value}"] * width) + ">"

    def fma(name: str, x: str, y: str, z: str) -> None:
        let(name, f"call {d} @llvm.fma.v{width}f64({d} {x}, {d} {y}, {d} {z})")

    let("size", f"call {d} @llvm.fabs.v{width}f64({d} %x)")
    let("far", f"fcmp uge {d} %size, {number(LARGEST_ANGLE)}")
    let("turns", f"fmul {d} %x, {number(_TWO_OVER_PI)}")
    let("sum", f"fadd {d} %turns, {number(_ROUND)}")
    let("whole", f"fsub {d} %sum, {number(_ROUND)}")
    let("bits", f"bitcast {d} %sum to {i}")
    let("minus", f"fneg {d} %whole")
    rest = "%x"
    for k, part in enumerate(_PARTS_OF_HALF_PI):
        fma(f"rest{k}", "%minus", number(part), rest)
        rest = f"%rest{k}"
    let("z", f"fmul {d} {rest}, {rest}")
    for name, coefficients in (("s", _SINE), ("c", _COSINE)):
        value = number(coefficients[0])
        for k, coefficient in enumerate(coefficients[1:]):
            fma(f"{name}{k}", value, "%z", number(coefficient))
            value = f"%{name}{k}"
    let("cube", f"fmul {d} %z, {rest}")
    fma("sine", "%cube", "%s4", rest)
    # cos r = 1 − z/2 + z² p(z), with the rounding error of 1 − z/2 added again
    let("half", f"fmul {d} %z, {number(0.5)}")
    let("main", f"fsub {d} {number(1.0)}, %half")
    let("lost", f"fsub {d} {number(1.0)}, %main")
    let("error", f"fsub {d} %lost, %half")
    let("square", f"fmul {d} %z, %z")
    fma("tail", "%square", "%c4", "%error")
    let("cosine", f"fadd {d} %main, %tail")
    let("odd", f"and {i} %bits, {integer(1)}")
    let("swap", f"icmp ne {i} %odd, {integer(0)}")
    let("next", f"add {i} %bits, {integer(1)}")
    for name, first, second, quadrant in (
        ("sin", "%cosine", "%sine", "%bits"),
        ("cos", "%sine", "%cosine", "%next"),
    ):
        let(f"{name}.value", f"select {b} %swap, {d} {first}, {d} {second}")
        let(f"{name}.half", f"and {i} {quadrant}, {integer(2)}")
        let(f"{name}.sign", f"shl {i} %{name}.half, {integer(62)}")
        let(f"{name}.bits", f"bitcast {d} %{name}.value to {i}")
        let(f"{name}.turned", f"xor {i} %{name}.bits, %{name}.sign")
        let(f"{name}.near", f"bitcast {i} %{name}.turned to {d}")
    let("any", f"call i1 @llvm.vector.reduce.or.v{width}i1({b} %far)")
    lines.append("  br i1 %any, label %beyond, label %done\nbeyond:\n")
    for name in ("sin", "cos"):
        value = f"%{name}.near"
        for k in range(width):
            let(f"{name}.x{k}", f"extractelement {d} %x, i32 {k}")
            let(f"{name}.y{k}", f"call double @llvm.{name}.f64(double %{name}.x{k})")
            before = "poison" if k == 0 else f"%{name}.far{k - 1}"
            let(f"{name}.far{k}", f"insertelement {d} {before}, double %{name}.y{k}, i32 {k}")
        let(f"{name}.chosen", f"select {b} %far, {d} %{name}.far{width - 1}, {d} {value}")
    lines.append("  br label %done\ndone:\n")
    for name in ("sin", "cos"):
        let(f"{name}.end", f"phi {d} [ %{name}.near, %entry ], [ %{name}.chosen, %beyond ]")
    pair = f"{{ {d}, {d} }}"
    let("first", f"insertvalue {pair} poison, {d} %sin.end, 0")
    let("both", f"insertvalue {pair} %first, {d} %cos.end, 1")
    head = f"define internal {pair} @{_SINCOS}({d} %x) noinline nounwind {{\nentry:\n"
    return head + "".join(lines) + f"  ret {pair} %both\n}}\n"
