"""Exponential, logarithm and derived functions as straight-line code: the same bits on every processor.

Errors are below one unit in the last place (measured by `tests/test_elementary.py`); values at zeros, infinities and
outside of the domain are those of C99, annex F. Arguments and results are pairs of numbers where one rounding would
matter. The coefficients are those of near-minimax polynomials (Chebyshev's expansion, in 300 bits).

Source of the reductions: Tang, ACM Trans. Math. Software 15 (1989) and 16 (1990), without his tables; Muller,
Elementary Functions, 3rd ed. (2016), chapters 5 and 11.
"""

from __future__ import annotations

import math

from sarrus.codegen.exact.straight_line import (
    Pair,
    Value,
    exact_product,
    exact_sum,
    fast_sum,
    fma,
    over,
    polynomial,
    times,
)

# Adding it rounds to an integer, which is then the difference of the bits.
ROUND = 1.5 * 2.0**52
_ROUND_BITS = 0x4338000000000000

# ln 2 in two parts; products of the first with integers of 11 bits are exact.
_LN2 = (0.6931471805598903, 5.497923018708371e-14)
_LOG2_E = 1.4426950408889634
_THIRD = (0.3333333333333333, 1.850371707708594e-17)
_ROOT_HALF_BITS = 0x3FE6A09E667F3BCD

# (eˣ − 1 − x)/x² for |x| ≤ ln(2)/2, error 2⁻⁵⁸
_EXPONENTIAL = (
    2.09147553258932e-09,
    2.5105312729622103e-08,
    2.755727347871858e-07,
    2.755725517000089e-06,
    2.480158732567746e-05,
    0.0001984126987500228,
    0.0013888888888883711,
    0.008333333333326084,
    0.04166666666666667,
    0.1666666666666667,
    0.5,
)
# ((artanh(s)/s − 1)/s² − 1/3)/s² as a function of s², |s| ≤ (√2 − 1)/(√2 + 1), error 2⁻⁵²; its weight is 2⁻¹²
_LOGARITHM = (
    0.06457356091967545,
    0.06642934418772871,
    0.07692788731654072,
    0.09090904105460941,
    0.11111111135663404,
    0.14285714285669004,
    0.20000000000000015,
)
# Arguments beyond which eˣ is infinite, or zero.
_HIGHEST, _LOWEST = 711.0, -746.0


def power_of_two(k: Value) -> Value:
    """Return 2ᵏ for −1022 ≤ k ≤ 1023."""
    return ((k + 1023) << 52).as_real()


def _reduced(x: Pair) -> tuple[Value, Pair]:
    """Return k and a pair with eˣ = 2ᵏ (1 + high + low) for a pair x, |high| ≤ 0.35."""
    turns = fma(x.high, _LOG2_E, ROUND)
    whole = turns - ROUND
    rest = fast_sum(fma(-whole, _LN2[0], x.high), -(whole * _LN2[1]))
    near = exact_sum(rest.high, x.low)
    low, high = near.low + rest.low, near.high
    return turns.bits() - _ROUND_BITS, Pair(
        high, fma(high * high, polynomial(high, _EXPONENTIAL), fma(low, high, low))
    )


def exponential_of(x: Pair, halvings: int = 0) -> Value:
    """Return exp(x) / 2^halvings, rounded."""
    lines = x.high.lines
    above, below = x.high.is_(">", _HIGHEST), x.high.is_("<", _LOWEST)
    high = below.where(_LOWEST, above.where(_HIGHEST, x.high))
    low = above.where(0.0, below.where(lines.number(0.0), x.low))
    k, part = _reduced(Pair(high, low))
    near = fast_sum(1.0, part.high)
    # in two steps, the first exact, because results may be subnormal
    first = k >> 1
    second = k - first - halvings
    return (near.high + (near.low + part.low)) * power_of_two(first) * power_of_two(second)


def exponential_less_one(x: Value) -> Pair:
    """Return eˣ − 1 as a pair for −45 ≤ x ≤ 45."""
    k, part = _reduced(Pair(x, x.lines.number(0.0)))
    scale = power_of_two(k)
    less = exact_sum(scale, -1.0)
    near = exact_sum(less.high, scale * part.high)
    return fast_sum(near.high, fma(scale, part.low, near.low + less.low))


def logarithm_of(x: Pair, doublings: int = 0) -> Pair:
    """Return ln(2^doublings x) as a pair; valid for finite x ≥ 2⁻¹⁰²²."""
    shifted = x.high.bits() - _ROOT_HALF_BITS
    k = shifted >> 52
    m = (x.high.bits() - (k << 52)).as_real()
    # the second part of a large number is negligible, and its scaling would not be finite
    down = (k.is_("<", 1000)).where(-k, x.high.lines.integer(-1000))
    f = fast_sum(m - 1.0, x.low * power_of_two(down))
    d = fast_sum(2.0, f.high)
    s = over(f, Pair(d.high, d.low + f.low))
    z = times(s, s)
    third = fast_sum(_THIRD[0], z.high * polynomial(z.high, _LOGARITHM))
    w = times(s, times(z, Pair(third.high, third.low + _THIRD[1])))
    half = fast_sum(s.high, w.high)
    low = half.low + (w.low + s.low)
    whole = (k + (_ROUND_BITS + doublings)).as_real() - ROUND
    main = fast_sum(whole * _LN2[0], half.high * 2.0)
    return fast_sum(main.high, fma(whole, _LN2[1], low * 2.0) + main.low)


def _normal(x: Value) -> tuple[Value, Value]:
    """Return x times 2⁵⁴ if it is subnormal, and the logarithm of this factor in units of ln 2."""
    tiny = x.is_("<", 2.0**-1022)
    return tiny.where(x * 2.0**54, x), tiny.where(x.lines.number(54.0), 0.0)


def _full_logarithm(x: Value) -> Pair:
    """Return ln x as a pair for every positive x; −∞ at zero, infinity at infinity, NaN otherwise."""
    normal, shift = _normal(x)
    found = logarithm_of(Pair(normal, x.lines.number(0.0)))
    main = exact_sum(found.high, -(shift * _LN2[0]))
    value = fast_sum(main.high, main.low + (found.low - shift * _LN2[1]))
    special = _logarithm_outside(x)
    usual = x.is_(">", 0.0) & x.is_("<", math.inf)
    return Pair(usual.where(value.high, special), usual.where(value.low, 0.0))


def _logarithm_outside(x: Value) -> Value:
    """Return ln x for x that is no positive finite number."""
    outside = x.is_("==", math.inf).where(math.inf, (x - x) / (x - x))
    return x.is_("==", 0.0).where(-math.inf, outside)


def exp(x: Value) -> Value:
    """Return eˣ."""
    return exponential_of(Pair(x, x.lines.number(0.0)))


def expm1(x: Value) -> Value:
    """Return eˣ − 1."""
    inner = x.is_("<", -45.0).where(-45.0, x.is_(">", 45.0).where(45.0, x))
    near = exponential_less_one(inner).total()
    value = x.is_(">", 45.0).where(exp(x), near)
    return x.is_("==", 0.0).where(x, value)


def log(x: Value) -> Value:
    """Return ln x: −∞ at zero, NaN below."""
    return _full_logarithm(x).high


def log1p(x: Value) -> Value:
    """Return ln(1 + x): −∞ at −1, NaN below."""
    one = exact_sum(x, 1.0)
    inside = x.is_(">", -1.0) & x.is_("<", math.inf)
    value = inside.where(logarithm_of(one).high, _logarithm_outside(one.high))
    return abs(x).is_("<", 2.0**-54).where(x, value)


def power(x: Value, y: Value) -> Value:
    """Return x to the power y, with all the special values of C99 (F.9.4.4)."""
    size = abs(x)
    logarithm = _full_logarithm(size)
    product = exact_product(y, logarithm.high)
    usual = abs(product.high).is_("<", 1e3)
    low = usual.where(fma(y, logarithm.low, product.low), 0.0)
    value = exponential_of(Pair(product.high, low))
    integer = y.floor().is_("==", y)
    half = y * 0.5
    odd = integer & half.floor().is_("!=", half) & abs(y).is_("<", math.inf)
    negative = x.bits().is_("<", 0)
    value = (negative & odd).where(-value, value)
    nothing = (x - x) / (x - x)
    fractional = x.is_("<", 0.0) & abs(x).is_("<", math.inf) & y.floor().is_("!=", y) & y.is_("==", y)
    value = fractional.where(nothing, value)
    one = x.is_("==", 1.0) | y.is_("==", 0.0) | (size.is_("==", 1.0) & abs(y).is_("==", math.inf))
    return one.where(1.0, value)


def sinh(x: Value) -> Value:
    """Return (eˣ − e⁻ˣ)/2."""
    size = abs(x)
    e = exponential_less_one(size.is_("<", 40.0).where(size, 40.0))
    value = _half_sum(e, over(e, _one_more(e)), size)
    return size.is_("<", 2.0**-28).where(x, value.signed_as(x))


def cosh(x: Value) -> Value:
    """Return (eˣ + e⁻ˣ)/2."""
    size = abs(x)
    e = _one_more(exponential_less_one(size.is_("<", 40.0).where(size, 40.0)))
    return _half_sum(e, over(Pair(x.lines.number(1.0), x.lines.number(0.0)), e), size)


def _half_sum(a: Pair, b: Pair, size: Value) -> Value:
    """Return (a + b)/2 for |x| below 40, else e^|x| / 2."""
    near = exact_sum(a.high, b.high)
    value = (near.high + (near.low + (a.low + b.low))) * 0.5
    far = exponential_of(Pair(size, size.lines.number(0.0)), halvings=1)
    return size.is_("<", 40.0).where(value, far)


def _one_more(e: Pair) -> Pair:
    """Return 1 + e for e ≥ 0."""
    main = exact_sum(e.high, 1.0)
    return fast_sum(main.high, main.low + e.low)


def tanh(x: Value) -> Value:
    """Return sinh x / cosh x."""
    size = abs(x)
    twice = size * 2.0
    e = exponential_less_one(twice.is_(">", 44.0).where(44.0, twice))
    more = exact_sum(e.high, 2.0)
    value = over(e, fast_sum(more.high, more.low + e.low)).high
    return size.is_("<", 2.0**-28).where(x, value.signed_as(x))


def asinh(x: Value) -> Value:
    """Return ln(x + √(x² + 1))."""
    size = abs(x)
    value = _area(size, 1.0)
    value = size.is_("<", 2.0**-20).where(fma(size * size, size * (-1.0 / 6.0), size), value)
    return size.is_("<", math.inf).where(value.signed_as(x), x)


def acosh(x: Value) -> Value:
    """Return ln(x + √(x² − 1)): NaN below one."""
    value = x.is_("==", 1.0).where(0.0, _area(x, -1.0))
    nothing = (x - x) / (x - x)
    value = x.is_(">=", 1.0).where(value, nothing)
    return x.is_("==", math.inf).where(x, value)


def _area(x: Value, side: float) -> Value:
    """Return ln(x + √(x² ± 1)) for positive x."""
    inner = x.is_(">", 2.0**30).where(2.0, x)
    square = exact_product(inner, inner)
    more = exact_sum(square.high, side)
    root = _root(fast_sum(more.high, more.low + square.low))
    total = exact_sum(inner, root.high)
    near = logarithm_of(fast_sum(total.high, total.low + root.low)).high
    far = logarithm_of(Pair(x, x.lines.number(0.0)), doublings=1).high
    return x.is_(">", 2.0**30).where(far, near)


def _root(x: Pair) -> Pair:
    """Return the square root as a pair."""
    high = x.high.root()
    return fast_sum(high, (fma(-high, high, x.high) + x.low) / (high * 2.0))


def atanh(x: Value) -> Value:
    """Return ½ ln((1 + x)/(1 − x)): infinite at ±1, NaN beyond."""
    size = abs(x)
    less = exact_sum(-size, 1.0)
    share = over(Pair(size * 2.0, x.lines.number(0.0)), less)
    one = exact_sum(share.high, 1.0)
    value = logarithm_of(fast_sum(one.high, one.low + share.low)).high * 0.5
    outside = size.is_("==", 1.0).where(math.inf, (x - x) / (x - x))
    value = size.is_("<", 1.0).where(value, outside)
    return size.is_("<", 2.0**-28).where(x, value.signed_as(x))
