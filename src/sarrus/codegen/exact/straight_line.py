"""Straight-line code on W numbers at once, written as formulas: `Value` has the operators of numbers.

One definition of a function gives its text for every W, with the same bits in every lane: each operation is one
instruction of IEEE 754 with one rounding, and the compiler may not change it. Products and sums are fused in `fma`
only.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Types of the numbers in a lane: float64, int64, truth value.
REAL, INTEGER, TRUTH = "double", "i64", "i1"

# Comparisons of float64 and of integers.
_TESTS = {
    "<": ("olt", "slt"),
    "<=": ("ole", "sle"),
    ">": ("ogt", "sgt"),
    ">=": ("oge", "sge"),
    "==": ("oeq", "eq"),
    "!=": ("une", "ne"),
}


def kind(scalar: str, width: int) -> str:
    """Return the type of ``width`` numbers."""
    return scalar if width == 1 else f"<{width} x {scalar}>"


def own_name(function: str, width: int) -> str:
    """Return the name of a function of `sarrus.codegen.exact.elementary` on ``width`` numbers."""
    return f"sarrus_{function}" if width == 1 else f"sarrus_{function}.{width}"


def structure(kinds: Sequence[str]) -> str:
    """Return the type of a structure of several values."""
    return f"{{ {', '.join(kinds)} }}"


def constant(value: float, width: int) -> str:
    """Return a float64 constant in every lane, exact to the bit."""
    text = f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
    return text if width == 1 else "<" + ", ".join([f"double {text}"] * width) + ">"


class Lines:
    """The lines of one function of ``width`` lanes, in the order in which its values are defined.

    Values are named ``prefix`` and a number.
    """

    def __init__(self, width: int, prefix: str = "%t") -> None:
        self.width = width
        self.text: list[str] = []
        self._prefix, self._count = prefix, 0

    def argument(self, name: str) -> Value:
        """Return an argument of the function, a float64."""
        return Value(self, f"%{name}", REAL)

    def let(self, text: str, scalar: str) -> Value:
        """Add an instruction and return its value."""
        self._count += 1
        name = f"{self._prefix}{self._count}"
        self.text.append(f"  {name} = {text}\n")
        return Value(self, name, scalar)

    def label(self, name: str) -> None:
        """Begin a block."""
        self.text.append(f"{name}:\n")

    def branch(self, test: Value, yes: str, no: str) -> None:
        """Branch to one of two blocks."""
        self.text.append(f"  br i1 {test.name}, label %{yes}, label %{no}\n")

    def jump(self, to: str) -> None:
        """Jump to a block."""
        self.text.append(f"  br label %{to}\n")

    def number(self, value: float) -> Value:
        """Return a constant number in every lane."""
        return Value(self, constant(value, self.width), REAL)

    def integer(self, value: int, scalar: str = INTEGER) -> Value:
        """Return a constant integer of at most 64 bits in every lane."""
        value = (value + 2**63) % 2**64 - 2**63
        text = str(value) if self.width == 1 else "<" + ", ".join([f"{scalar} {value}"] * self.width) + ">"
        return Value(self, text, scalar)

    def call(self, function: str, *arguments: Value, scalar: str = REAL) -> Value:
        """Call a function of vectors of ``width`` lanes."""
        given = ", ".join(f"{a.kind} {a.name}" for a in arguments)
        return self.let(f"call {kind(scalar, self.width)} @{function}({given})", scalar)

    def intrinsic(self, name: str, *arguments: Value) -> Value:
        """Call an LLVM intrinsic on float64."""
        return self.call(self.intrinsic_name(name), *arguments)

    def intrinsic_name(self, name: str) -> str:
        """Return the full name of an LLVM intrinsic."""
        return f"llvm.{name}.f64" if self.width == 1 else f"llvm.{name}.v{self.width}f64"

    def own(self, function: str, *arguments: Value) -> Value:
        """Call a function of `sarrus.codegen.exact.elementary`."""
        return self.call(own_name(function, self.width), *arguments)

    def by_lane(self, function: str, *arguments: Value, scalars: Sequence[str] = (REAL,)) -> list[Value]:
        """Call a function of single float64 for each lane, and return its values of these types."""
        single = len(scalars) == 1
        result, found = scalars[0] if single else structure(scalars), ["poison"] * len(scalars)
        for lane in range(self.width):
            given = ", ".join(f"double {self._in_lane(argument, lane)}" for argument in arguments)
            answer = self.let(f"call {result} @{function}({given})", REAL).name
            for part, scalar in enumerate(scalars):
                name = answer
                if not single:
                    name = self.let(f"extractvalue {result} {answer}, {part}", scalar).name
                if self.width > 1:
                    wide = f"{kind(scalar, self.width)} {found[part]}"
                    name = self.let(f"insertelement {wide}, {scalar} {name}, i32 {lane}", scalar).name
                found[part] = name
        return [Value(self, name, scalar) for name, scalar in zip(found, scalars)]

    def _in_lane(self, value: Value, lane: int) -> str:
        """Return the name of the value in one lane."""
        if self.width == 1:
            return value.name
        return self.let(f"extractelement {value.kind} {value.name}, i32 {lane}", value.scalar).name

    def together(self, values: Sequence[Value]) -> tuple[str, str]:
        """Return type and name of all values as one structure."""
        kinds = [value.kind for value in values]
        if len(values) == 1:
            return kinds[0], values[0].name
        whole, name = structure(kinds), "poison"
        for place, value in enumerate(values):
            name = self.let(f"insertvalue {whole} {name}, {value.kind} {value.name}, {place}", REAL).name
        return whole, name


def _operator(real: str, integer: str, *, swapped: bool = False) -> Callable[[Value, Value | float], Value]:
    """Return an operator as a method: an instruction on float64, and the one on integers and truth values."""

    def apply(self: Value, other: Value | float) -> Value:
        a, b = (self.operand(other), self) if swapped else (self, self.operand(other))
        operation = real if self.scalar == REAL else integer
        return self.lines.let(f"{operation} {self.kind} {a.name}, {b.name}", self.scalar)

    return apply


@dataclass(frozen=True, eq=False)
class Value:
    """A value in each lane, by its name in the text."""

    lines: Lines
    name: str
    scalar: str

    @property
    def kind(self) -> str:
        """Its type in LLVM."""
        return kind(self.scalar, self.lines.width)

    def operand(self, other: Value | float) -> Value:
        """Return the operand of an operator: a value, or a number as a constant of the same type."""
        if isinstance(other, Value):
            return other
        return (
            self.lines.number(other) if self.scalar == REAL else self.lines.integer(int(other), self.scalar)
        )

    __add__ = _operator("fadd", "add")
    __radd__ = _operator("fadd", "add", swapped=True)
    __sub__ = _operator("fsub", "sub")
    __rsub__ = _operator("fsub", "sub", swapped=True)
    __mul__ = _operator("fmul", "mul")
    __rmul__ = _operator("fmul", "mul", swapped=True)
    __truediv__ = _operator("fdiv", "")
    __rtruediv__ = _operator("fdiv", "", swapped=True)
    __and__ = _operator("", "and")
    __or__ = _operator("", "or")
    __xor__ = _operator("", "xor")
    __lshift__ = _operator("", "shl")
    __rshift__ = _operator("", "ashr")

    def __neg__(self) -> Value:
        if self.scalar != REAL:
            return 0 - self
        return self.lines.let(f"fneg {self.kind} {self.name}", REAL)

    def __abs__(self) -> Value:
        return self.lines.intrinsic("fabs", self)

    def is_(self, test: str, other: Value | float) -> Value:
        """Return a comparison: ``<``, ``<=``, ``>``, ``>=``, ``==`` are false and ``!=`` is true if an operand is
        NaN."""
        b, (real, integer) = self.operand(other), _TESTS[test]
        word = f"fcmp {real}" if self.scalar == REAL else f"icmp {integer}"
        return self.lines.let(f"{word} {self.kind} {self.name}, {b.name}", TRUTH)

    def where(self, yes: Value | float, no: Value | float) -> Value:
        """Return ``yes`` in lanes in which this truth value is true, else ``no``."""
        model = yes if isinstance(yes, Value) else no
        assert isinstance(model, Value)
        a, b = model.operand(yes), model.operand(no)
        return self.lines.let(
            f"select {self.kind} {self.name}, {a.kind} {a.name}, {b.kind} {b.name}", a.scalar
        )

    def to(self, scalar: str, how: str) -> Value:
        """Return the number converted to another type by an instruction such as ``zext``."""
        wide = kind(scalar, self.lines.width)
        return self.lines.let(f"{how} {self.kind} {self.name} to {wide}", scalar)

    def bits(self) -> Value:
        """Return the 64 bits of a float64 as an integer."""
        return self.to(INTEGER, "bitcast")

    def as_real(self) -> Value:
        """Return the float64 with these 64 bits."""
        return self.to(REAL, "bitcast")

    def as_number(self) -> Value:
        """Return a truth value as one or zero."""
        return self.to(REAL, "uitofp")

    def shifted_down(self, count: int) -> Value:
        """Return an integer shifted right by ``count`` bits, zeros above."""
        return self.lines.let(f"lshr {self.kind} {self.name}, {count}", self.scalar)

    def signed_as(self, other: Value) -> Value:
        """Return the number with the sign of another."""
        return self.lines.intrinsic("copysign", self, other)

    def root(self) -> Value:
        """Return the square root."""
        return self.lines.intrinsic("sqrt", self)

    def floor(self) -> Value:
        """Return the largest integer ≤ the number."""
        return self.lines.intrinsic("floor", self)


def fma(a: Value, b: Value | float, c: Value | float) -> Value:
    """Return a b + c, rounded once."""
    return a.lines.intrinsic("fma", a, a.operand(b), a.operand(c))


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Return a polynomial by Horner's scheme, the highest power first."""
    value: Value | float = coefficients[0]
    for coefficient in coefficients[1:]:
        value = fma(x, value, coefficient)
    assert isinstance(value, Value)
    return value


@dataclass(frozen=True)
class Pair:
    """An unevaluated sum of a number and its rounding error (Dekker, Numer. Math. 18, 1971)."""

    high: Value
    low: Value

    def total(self) -> Value:
        """Return the sum, rounded."""
        return self.high + self.low


def fast_sum(a: Value | float, b: Value) -> Pair:
    """Return a + b without error, for a = 0 or |a| ≥ |b|."""
    high = a + b
    return Pair(high, b - (high - a))


def exact_sum(a: Value, b: Value | float) -> Pair:
    """Return a + b without error (Knuth)."""
    high = a + b
    part = high - a
    return Pair(high, (a - (high - part)) + (b - part))


def exact_product(a: Value, b: Value | float) -> Pair:
    """Return a b without error."""
    high = a * b
    return Pair(high, fma(a, b, -high))


def times(a: Pair, b: Pair) -> Pair:
    """Return the product, to about twice the precision of its parts."""
    product = exact_product(a.high, b.high)
    return fast_sum(product.high, fma(a.high, b.low, fma(a.low, b.high, product.low)))


def over(a: Pair, b: Pair) -> Pair:
    """Return the quotient, to about twice the precision of its parts."""
    high = a.high / b.high
    rest = fma(-high, b.high, a.high) + fma(-high, b.low, a.low)
    return fast_sum(high, rest / b.high)
