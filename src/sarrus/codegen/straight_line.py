"""Straight-line code on W numbers at once, written as formulas: `Value` has the operators of numbers.

One description of a function gives its text for every W, and in every lane the same bits: each operation is
one instruction of IEEE 754 with one rounding, and none is left to the compiler. Products and sums are fused
where `fma` says so and nowhere else.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

# Types of the numbers in a lane: float64, int64, truth values.
REAL, INTEGER, TRUTH = "double", "i64", "i1"

_TESTS = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}


def kind(scalar: str, width: int) -> str:
    """Return the type of ``width`` numbers."""
    return scalar if width == 1 else f"<{width} x {scalar}>"


def constant(value: float, width: int) -> str:
    """Return a float64, in every lane, bit for bit."""
    text = f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
    return text if width == 1 else "<" + ", ".join([f"double {text}"] * width) + ">"


class Lines:
    """The lines of one function of ``width`` lanes, in the order in which values were asked for."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.text: list[str] = []
        self._count = 0

    def argument(self, name: str) -> Value:
        """Return an argument of the function, a float64."""
        return Value(self, f"%{name}", REAL)

    def let(self, text: str, scalar: str) -> Value:
        """Add an instruction and return its value."""
        self._count += 1
        name = f"%t{self._count}"
        self.text.append(f"  {name} = {text}\n")
        return Value(self, name, scalar)

    def label(self, name: str) -> None:
        """Begin a block."""
        self.text.append(f"{name}:\n")

    def branch(self, test: Value, yes: str, no: str) -> None:
        """Go to one block or the other."""
        self.text.append(f"  br i1 {test.name}, label %{yes}, label %{no}\n")

    def jump(self, to: str) -> None:
        """Go to a block."""
        self.text.append(f"  br label %{to}\n")

    def number(self, value: float) -> Value:
        """Return a number, in every lane."""
        return Value(self, constant(value, self.width), REAL)

    def integer(self, value: int) -> Value:
        """Return an int64, in every lane."""
        value = (value + 2**63) % 2**64 - 2**63
        text = str(value) if self.width == 1 else "<" + ", ".join([f"i64 {value}"] * self.width) + ">"
        return Value(self, text, INTEGER)

    def call(self, function: str, *arguments: Value, scalar: str = REAL) -> Value:
        """Call a function that takes and returns numbers of ``width`` lanes."""
        given = ", ".join(f"{a.kind} {a.name}" for a in arguments)
        return self.let(f"call {kind(scalar, self.width)} @{function}({given})", scalar)

    def intrinsic(self, name: str, *arguments: Value) -> Value:
        """Call an operation on float64 that LLVM has by name."""
        suffix = "f64" if self.width == 1 else f"v{self.width}f64"
        return self.call(f"llvm.{name}.{suffix}", *arguments)


@dataclass(frozen=True, eq=False)
class Value:
    """A value of each lane, by its name in the text."""

    lines: Lines
    name: str
    scalar: str

    @property
    def kind(self) -> str:
        """Its type in LLVM."""
        return kind(self.scalar, self.lines.width)

    def operand(self, other: Value | float) -> Value:
        if isinstance(other, Value):
            return other
        return self.lines.integer(int(other)) if self.scalar == INTEGER else self.lines.number(other)

    def _apply(self, real: str, integer: str, other: Value | float, swapped: bool = False) -> Value:
        a, b = (self.operand(other), self) if swapped else (self, self.operand(other))
        operation = integer if self.scalar == INTEGER else real
        return self.lines.let(f"{operation} {self.kind} {a.name}, {b.name}", self.scalar)

    def __add__(self, other: Value | float) -> Value:
        return self._apply("fadd", "add", other)

    def __radd__(self, other: Value | float) -> Value:
        return self._apply("fadd", "add", other, swapped=True)

    def __sub__(self, other: Value | float) -> Value:
        return self._apply("fsub", "sub", other)

    def __rsub__(self, other: Value | float) -> Value:
        return self._apply("fsub", "sub", other, swapped=True)

    def __mul__(self, other: Value | float) -> Value:
        return self._apply("fmul", "mul", other)

    def __rmul__(self, other: Value | float) -> Value:
        return self._apply("fmul", "mul", other, swapped=True)

    def __truediv__(self, other: Value | float) -> Value:
        return self._apply("fdiv", "", other)

    def __rtruediv__(self, other: Value | float) -> Value:
        return self._apply("fdiv", "", other, swapped=True)

    def __neg__(self) -> Value:
        if self.scalar == INTEGER:
            return self.lines.integer(0) - self
        return self.lines.let(f"fneg {self.kind} {self.name}", REAL)

    def __abs__(self) -> Value:
        return self.lines.intrinsic("fabs", self)

    def __and__(self, other: Value | int) -> Value:
        return self._apply("and", "and", other)

    def __or__(self, other: Value | int) -> Value:
        return self._apply("or", "or", other)

    def __xor__(self, other: Value | int) -> Value:
        return self._apply("xor", "xor", other)

    def __lshift__(self, other: Value | int) -> Value:
        return self._apply("", "shl", other)

    def __rshift__(self, other: Value | int) -> Value:
        return self._apply("", "ashr", other)

    def is_(self, test: str, other: Value | float) -> Value:
        """Compare: ``<``, ``<=``, ``>``, ``>=``, ``==`` are false and ``!=`` is true where one is not a
        number."""
        b = self.operand(other)
        word = f"fcmp {_TESTS[test]}" if self.scalar == REAL else f"icmp {_TESTS[test].replace('o', 's', 1)}"
        word = word.replace("icmp seq", "icmp eq").replace("icmp une", "icmp ne")
        return self.lines.let(f"{word} {self.kind} {self.name}, {b.name}", TRUTH)

    def where(self, yes: Value | float, no: Value | float) -> Value:
        """Return ``yes`` in lanes where this truth value holds, else ``no``."""
        model = yes if isinstance(yes, Value) else no
        assert isinstance(model, Value)
        a, b = model.operand(yes), model.operand(no)
        return self.lines.let(
            f"select {self.kind} {self.name}, {a.kind} {a.name}, {b.kind} {b.name}", a.scalar
        )

    def bits(self) -> Value:
        """Return the 64 bits of a float64 as an integer."""
        return self.lines.let(
            f"bitcast {self.kind} {self.name} to {kind(INTEGER, self.lines.width)}", INTEGER
        )

    def as_real(self) -> Value:
        """Return the float64 with these 64 bits."""
        return self.lines.let(f"bitcast {self.kind} {self.name} to {kind(REAL, self.lines.width)}", REAL)

    def signed_as(self, other: Value) -> Value:
        """Return the number with the sign of another."""
        return self.lines.intrinsic("copysign", self, other)

    def root(self) -> Value:
        """Return the square root."""
        return self.lines.intrinsic("sqrt", self)

    def floor(self) -> Value:
        """Return the largest integer that is not larger."""
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
    """An unevaluated sum of a number and what rounding lost of it (Dekker, Numer. Math. 18, 1971)."""

    high: Value
    low: Value

    def total(self) -> Value:
        """Return the sum, rounded."""
        return self.high + self.low


def fast_sum(a: Value | float, b: Value) -> Pair:
    """Return a + b without error, where a = 0 or |a| ≥ |b|."""
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
