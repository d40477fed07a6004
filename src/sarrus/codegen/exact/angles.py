"""Trigonometric functions and their inverses as straight-line code: the same bits on every processor.

Angles below `LARGEST_ANGLE` are reduced by multiples of π/2 in three parts with fused products (Cody and
Waite, Software Manual for the Elementary Functions, 1980), larger ones by as many digits of 2/π as they need
(Payne and Hanek, SIGNUM Newsletter 18, 1983). Sine and cosine then are the minimax polynomials of fdlibm.
Errors are below one unit in the last place; values at zeros, infinities and outside of the domain are those of
C99, annex F.
"""

from __future__ import annotations

import math
from itertools import pairwise

from sarrus.codegen.exact.exponentials import ROUND
from sarrus.codegen.exact.straight_line import (
    INTEGER,
    REAL,
    TRUTH,
    Pair,
    Value,
    exact_product,
    exact_sum,
    fast_sum,
    fma,
    over,
    own_name,
    polynomial,
)

# Largest angle [rad] that a reduction by three parts of π/2 keeps to full accuracy.
LARGEST_ANGLE = 2.0**20

_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
_TWO_OVER_PI = 0.6366197723675814
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
# (arctan(t)/t − 1)/t² as a function of t², |t| ≤ √2 − 1; its error times t² is below 2⁻⁵⁸
_ARCTANGENT = (
    0.01627194475162406,
    -0.034558092551413795,
    0.04551108126325172,
    -0.052303478730160745,
    0.058789145444006215,
    -0.06666423628069258,
    0.0769229630497447,
    -0.09090908751076636,
    0.11111111105106705,
    -0.14285714285659326,
    0.199999999999998,
    -0.3333333333333333,
)
# (arcsin(t)/t − 1)/t² as a function of t², |t| ≤ 1/2; its error times t² is below 2⁻⁵⁷
_ARCSINE = (
    0.028757851367421566,
    -0.014851887071247204,
    0.01740087944269402,
    0.005457506718640358,
    0.01032281435018578,
    0.011479177415184906,
    0.013971212973552933,
    0.017352392720869973,
    0.02237217294214989,
    0.030381944138531247,
    0.04464285714635543,
    0.07499999999998433,
    0.16666666666666669,
)

# Bits of 2/π after the point, with 64 zeros before them.
_DIGITS = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
)  # fmt: skip

_TABLE = "@sarrus_two_over_pi"
_WIDE = "i128"
DIGITS_OF_TWO_OVER_PI = (
    f"{_TABLE} = internal constant [{len(_DIGITS)} x i64] [{', '.join(f'i64 {d}' for d in _DIGITS)}], align 8\n"
    "declare i64 @llvm.fshl.i64(i64, i64, i64)\n"
    "declare i128 @llvm.ctlz.i128(i128, i1)\n"
)


def reduce_large_angle(x: Value) -> tuple[Value, Value, Value]:
    """Return the two parts of r and k with x = r + k π/2, |r| ≤ π/4, of one number above `LARGEST_ANGLE`.

    x = m 2ᵉ. Bits of 2/π whose product with x is a multiple of four are skipped, the next 192 are used. The product has
    two bits of quadrant and a fraction of 190 bits, which is shifted to the range −1/2 to 1/2, split into two numbers
    of 53 bits (no float64 is closer to a multiple of π/2 than 2⁻⁶²) and multiplied by π/2.
    """
    lines, bits = x.lines, x.bits()
    below = bits.is_("<", 0)
    leading = ((bits >> 52) & 2047) - (1075 - 62)
    outside = leading.is_("<", 0) | leading.is_(">", 64 * (len(_DIGITS) - 4) + 63)
    first = outside.where(0, leading)
    start = lines.let(f"getelementptr inbounds i64, ptr {_TABLE}, i64 {(first >> 6).name}", INTEGER)
    digits = []
    for place in range(4):
        at = lines.let(f"getelementptr inbounds i64, ptr {start.name}, i64 {place}", INTEGER)
        digits.append(lines.let(f"load i64, ptr {at.name}, align 8", INTEGER))
    m = ((bits & (2**52 - 1)) | 2**52).to(_WIDE, "zext")
    words = [lines.call("llvm.fshl.i64", a, b, first & 63, scalar=INTEGER) for a, b in pairwise(digits)]
    upper, middle, lower = (m * word.to(_WIDE, "zext") for word in words)
    product = (upper << 64) + middle + lower.shifted_down(64)
    signed = (product << 2) | lower.to(INTEGER, "trunc").shifted_down(62).to(_WIDE, "zext")
    negative = signed.is_("<", 0)
    k = product.shifted_down(126).to(INTEGER, "trunc") + negative.to(INTEGER, "zext")
    size = negative.where(-signed, signed)
    zeros = lines.let(f"call i128 @llvm.ctlz.i128(i128 {size.name}, i1 false)", _WIDE) & 127
    normal, shift = lines.let(f"shl i128 {size.name}, {zeros.name}", _WIDE), zeros.to(INTEGER, "trunc")
    high = normal.shifted_down(75).to(INTEGER, "trunc").to(REAL, "uitofp")
    low = (normal.shifted_down(22).to(INTEGER, "trunc") & (2**53 - 1)).to(REAL, "uitofp")
    a, b = (part * ((1023 - n - shift) << 52).as_real() for part, n in ((high, 53), (low, 106)))
    r = exact_product(a, _HALF_PI[0])
    rest = fma(a, _HALF_PI[1], fma(b, _HALF_PI[0], r.low))
    sign = negative ^ below
    return sign.where(-r.high, r.high), sign.where(-rest, rest), below.where(-k, k)


def _reduced(x: Value) -> tuple[Pair, Value]:
    """Return r and k with x = r + k π/2, |r| ≤ π/4, k up to a multiple of four; NaN for infinite x."""
    lines = x.lines
    width = lines.width
    far = abs(x).is_(">=", LARGEST_ANGLE)
    turns = x * _TWO_OVER_PI + ROUND
    minus = -(turns - ROUND)
    second = exact_product(minus, _HALF_PI[1])
    rest = exact_sum(fma(minus, _HALF_PI[0], x), second.high)  # the product with the first part is exact
    r = fast_sum(rest.high, fma(minus, _HALF_PI[2], rest.low + second.low))
    near = (r.high, r.low, turns.bits())
    any_far = far
    if width > 1:
        any_far = lines.let(f"call i1 @llvm.vector.reduce.or.v{width}i1({far.kind} {far.name})", TRUTH)
    lines.branch(any_far, "beyond", "join")
    lines.label("beyond")
    found = lines.by_lane(own_name(reduce_large_angle.__name__, 1), x, scalars=(REAL, REAL, INTEGER))
    nothing = x - x  # NaN for infinite x, else zero
    chosen = [far.where(value, usual) for value, usual in zip(found, near)]
    chosen[0] = chosen[0] + far.where(nothing, 0.0)
    lines.jump("join")
    lines.label("join")
    high, low, quadrant = (
        lines.let(f"phi {usual.kind} [ {usual.name}, %entry ], [ {value.name}, %beyond ]", usual.scalar)
        for usual, value in zip(near, chosen)
    )
    return Pair(high, low), quadrant


def _sine(r: Pair) -> Pair:
    """Return sin r for |r| ≤ π/4 as a pair."""
    z = r.high * r.high
    # sin(r + δ) = sin r + δ (1 − r²/2)
    low = fma(z * r.high, polynomial(z, _SINE), fma(z * -0.5, r.low, r.low))
    return fast_sum(r.high, low)


def _cosine(r: Pair) -> Pair:
    """Return cos r for |r| ≤ π/4 as a pair."""
    z = r.high * r.high
    half = z * 0.5
    main = 1.0 - half
    lost = (1.0 - main) - half
    lost = fma(r.high, -r.low, lost)
    return Pair(main, fma(z * z, polynomial(z, _COSINE), lost))


def _turned(value: Value, quadrant: Value) -> Value:
    """Return the value with its sign changed in quadrants 2 and 3."""
    return (value.bits() ^ ((quadrant & 2) << 62)).as_real()


def sincos(x: Value) -> tuple[Value, Value]:
    """Return sine and cosine; NaN for infinite x."""
    r, k = _reduced(x)
    sine, cosine = _sine(r).high, _cosine(r).total()
    odd = (k & 1).is_("==", 1)
    first = _turned(odd.where(cosine, sine), k)
    # sin(−0) = −0
    return x.is_("==", 0.0).where(x, first), _turned(odd.where(sine, cosine), k + 1)


def tan(x: Value) -> Value:
    """Return the tangent; NaN for infinite x."""
    r, k = _reduced(x)
    sine, cosine = _sine(r), _cosine(r)
    cosine = fast_sum(cosine.high, cosine.low)
    odd = (k & 1).is_("==", 1)
    above = Pair(odd.where(-cosine.high, sine.high), odd.where(-cosine.low, sine.low))
    below = Pair(odd.where(sine.high, cosine.high), odd.where(sine.low, cosine.low))
    value = over(above, below).total()
    return x.is_("==", 0.0).where(x, value)


def asin(x: Value) -> Value:
    """Return the arcsine; NaN beyond ±1."""
    beyond, arc = _arc(abs(x))
    low = fast_sum(arc.high, arc.low)
    rest = fast_sum(_HALF_PI[0], low.high * -2.0)
    far = rest.high + (rest.low + fma(low.low, -2.0, _HALF_PI[1]))
    return beyond.where(far, low.total()).signed_as(x)


def acos(x: Value) -> Value:
    """Return the arccosine; NaN beyond ±1."""
    steep, arc = _arc(abs(x))
    negative = x.is_("<", 0.0)
    signed = Pair(negative.where(-arc.high, arc.high), negative.where(-arc.low, arc.low))
    middle = fast_sum(_HALF_PI[0], -signed.high)
    near = middle.high + (middle.low + (_HALF_PI[1] - signed.low))
    opposite = fast_sum(math.pi, arc.high * -2.0)
    beyond = opposite.high + (opposite.low + fma(arc.low, -2.0, 2.0 * _HALF_PI[1] + arc.high * 0.0))
    far = negative.where(beyond, (arc.high + arc.low) * 2.0)
    return steep.where(far, near)


def _arc(size: Value) -> tuple[Value, Pair]:
    """Return whether x is beyond 1/2, and the arcsine of t as a pair.

    t = x for x ≤ 1/2, else t = √((1 − x)/2), the sine of half the angle to the pole.
    """
    far = size.is_(">", 0.5)
    half = (1.0 - size) * 0.5
    root = half.root()
    lost = fma(-root, root, half) / (root * 2.0)
    t = far.where(root, size)
    low = far.where(root.is_("==", 0.0).where(0.0, lost), 0.0 * root)
    z = t * t
    return far, fast_sum(t, fma(z * t, polynomial(z, _ARCSINE), low))


def atan(x: Value) -> Value:
    """Return the arctangent."""
    return _angle(x, x.lines.number(1.0))


def atan2(y: Value, x: Value) -> Value:
    """Return the angle of the point (x, y), from −π to π, with the signs of zeros as in C99."""
    return _angle(y, x)


def _angle(y: Value, x: Value) -> Value:
    lines = x.lines
    across, along = abs(y), abs(x)
    steep = across.is_(">", along)
    a, b = steep.where(along, across), steep.where(across, along)
    infinite = b.is_("==", math.inf)
    a = infinite.where(a.is_("==", math.inf).where(lines.number(1.0), 0.0), a)
    b = (infinite | b.is_("==", 0.0)).where(1.0, b)
    scale = b.is_(">", 2.0**1000).where(0.25, b.is_("<", 2.0**-500).where(lines.number(2.0**500), 1.0))
    a, b = a * scale, b * scale
    # beyond π/8: arctan(a/b) = π/4 + arctan((a − b)/(a + b))
    zero = lines.number(0.0)
    turned = a.is_(">", b * 0.41421356237309503)
    less, more = exact_sum(a, -b), exact_sum(a, b)
    above = Pair(turned.where(less.high, a), turned.where(less.low, zero))
    below = Pair(turned.where(more.high, b), turned.where(more.low, zero))
    t = over(above, below)
    z = t.high * t.high
    arc = fast_sum(t.high, fma(z * t.high, polynomial(z, _ARCTANGENT), t.low))
    near = fast_sum(turned.where(lines.number(_HALF_PI[0] / 2), 0.0), arc.high)
    low = near.low + (arc.low + turned.where(lines.number(_HALF_PI[1] / 2), 0.0))
    angle = fast_sum(near.high, low)
    # beyond the diagonal: π/2 − angle; on the left: π − angle
    for test, whole, lost in (
        (steep, _HALF_PI[0], _HALF_PI[1]),
        (x.bits().is_("<", 0), math.pi, 2.0 * _HALF_PI[1]),
    ):
        other = fast_sum(whole, -angle.high)
        rest = fast_sum(other.high, other.low + (lost - angle.low))
        angle = Pair(test.where(rest.high, angle.high), test.where(rest.low, angle.low))
    value = angle.total().signed_as(y)
    return (y.is_("==", y) & x.is_("==", x)).where(value, x + y)


def hypot(x: Value, y: Value) -> Value:
    """Return √(x² + y²) (Borges, ACM Trans. Math. Software 47, 2021); infinite if x or y is, even beside NaN."""
    lines = x.lines
    p, q = abs(x), abs(y)
    swap = p.is_("<", q)
    a, b = swap.where(q, p), swap.where(p, q)
    scale = a.is_("<", 2.0**-450).where(lines.number(2.0**600), 1.0)
    scale = a.is_(">", 2.0**500).where(2.0**-600, scale)
    c, d = a * scale, b * scale
    h = fma(c, c, d * d).root()
    h2, c2 = h * h, c * c
    lost = fma(-d, d, h2 - c2) + (fma(h, h, -h2) - fma(c, c, -c2))
    value = (h - lost / (h * 2.0)) * (1.0 / scale)  # powers of two
    value = a.is_("==", 0.0).where(0.0, value)
    value = (p.is_("==", p) & q.is_("==", q)).where(value, p + q)
    return (p.is_("==", math.inf) | q.is_("==", math.inf)).where(math.inf, value)
