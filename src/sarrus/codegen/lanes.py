"""The scalar operations on several numbers at once: `Arithmetic` of one width, and what LLVM has no
instruction for.

Straight-line code without branches runs on W states as well as on one: every number becomes a vector of W,
the state k in lane k. What one lane holds never depends on the others, and is what the code for one number
would give, in every bit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from sarrus.codegen import elementary
from sarrus.codegen.operations import DECLARATIONS, TEMPLATES
from sarrus.codegen.straight_line import constant

_VECTOR_INTRINSICS = ("sqrt", "fabs", "floor", "ceil", "copysign")


@dataclass(frozen=True)
class Arithmetic:
    """Text of the operations on ``width`` numbers: the type of a value and the templates of all
    operations."""

    width: int
    kind: str
    templates: dict[int, str]

    def constant(self, value: float) -> str:
        """Return a number, in every lane."""
        return constant(value, self.width)

    def definitions(self, text: str) -> str:
        """Return what a module with this text must define and declare."""
        own = elementary.definitions(text, self.width)
        if self.width == 1:
            return DECLARATIONS + own
        exact = sorted(set(re.findall(r"@exact_lanes_([a-z]+)\(", text)))
        made = [_lane_by_lane(name, self.width) for name in exact]
        return "".join([DECLARATIONS, *_declarations(self.width), own, *made])


@lru_cache(maxsize=8)
def arithmetic(width: int) -> Arithmetic:
    """Return the operations on ``width`` numbers at once."""
    if width == 1:
        return Arithmetic(1, "double", TEMPLATES)
    templates = {op: _widened(template, width) for op, template in TEMPLATES.items()}
    return Arithmetic(width, f"<{width} x double>", templates)


def _widened(template: str, width: int) -> str:
    """Return the template of a scalar operation for vectors."""
    number = re.compile(r"(?<=[ ])(-?\d+\.\d+)(?=[,\n])")
    text = number.sub(lambda found: constant(float(found[1]), width), template)
    text = re.sub(r"\bdouble\b(?! 0x)", f"<{width} x double>", text)
    text = re.sub(r"\bi1\b", f"<{width} x i1>", text)
    return re.sub(r"@([\w.]+)\(", lambda found: f"@{_vector_name(found[1], width)}(", text)


def _vector_name(name: str, width: int) -> str:
    plain = name.removeprefix("llvm.").removesuffix(".f64")
    if plain in _VECTOR_INTRINSICS:
        return f"llvm.{plain}.v{width}f64"
    if name.startswith("sarrus_"):
        return f"{name}.{width}"
    return f"exact_lanes_{name}"


def _declarations(width: int) -> list[str]:
    kind = f"<{width} x double>"
    lines = [
        f"declare {kind} @llvm.{name}.v{width}f64({kind}{f', {kind}' if name == 'copysign' else ''})\n"
        for name in _VECTOR_INTRINSICS
    ]
    lines.append(f"declare {kind} @llvm.fma.v{width}f64({kind}, {kind}, {kind})\n")
    lines.append(f"declare i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)\n")
    return lines


def _lane_by_lane(name: str, width: int) -> str:
    """Define an exact function of two vectors by calls of that of the C library."""
    kind = f"<{width} x double>"
    lines = [f"define internal {kind} @exact_lanes_{name}({kind} %a, {kind} %b) noinline nounwind {{\n"]
    result = "poison"
    for k in range(width):
        lines += [f"  %{x}{k} = extractelement {kind} %{x}, i32 {k}\n" for x in "ab"]
        lines.append(f"  %y{k} = call double @{name}(double %a{k}, double %b{k})\n")
        lines.append(f"  %r{k} = insertelement {kind} {result}, double %y{k}, i32 {k}\n")
        result = f"%r{k}"
    return "".join([*lines, f"  ret {kind} {result}\n}}\n"])
