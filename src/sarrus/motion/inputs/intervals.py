"""Interval arithmetic for arrays: enclosures of CasADi's operations, widened by more than their rounding.

An interval is a pair (low, high) of arrays. An operation without an enclosure here gives (−∞, ∞).
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from sarrus.base.arrays import Array
from sarrus.motion.inputs.tolerances import OUTWARD, OUTWARD_COSINE

Interval = tuple[Array, Array]
Truths = NDArray[np.bool_]


def operate(op: int, a: Interval, b: Interval) -> Interval:
    """Return an enclosure of the result of an operation for operands in a and b (b = a for operations of one
    operand).
    """
    with np.errstate(all="ignore"):
        known = _OPERATIONS.get(op)
        if known is None:
            return np.full_like(a[0], -np.inf), np.full_like(a[0], np.inf)
        low, high = known(a, b)
        if op in _EXACT:
            return low, high
        low, high = low - OUTWARD * np.abs(low), high + OUTWARD * np.abs(high)
        return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _of_products(products: tuple[Array, ...]) -> Interval:
    stacked = np.stack([np.where(np.isnan(p), 0.0, p) for p in products])  # 0 times infinity, of an end
    return stacked.min(axis=0), stacked.max(axis=0)


def _multiply(a: Interval, b: Interval) -> Interval:
    if a is b:
        return _square(a)
    return _of_products((a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]))


def _square(a: Interval) -> Interval:
    low, high = a[0] * a[0], a[1] * a[1]
    return np.where((a[0] < 0.0) & (a[1] > 0.0), 0.0, np.minimum(low, high)), np.maximum(low, high)


def _divide(a: Interval, b: Interval) -> Interval:
    low, high = _of_products((a[0] / b[0], a[0] / b[1], a[1] / b[0], a[1] / b[1]))
    pole = (b[0] <= 0.0) & (b[1] >= 0.0)
    return np.where(pole, -np.inf, low), np.where(pole, np.inf, high)


def _absolute(a: Interval) -> Interval:
    low, high = np.abs(a[0]), np.abs(a[1])
    return np.where((a[0] < 0.0) & (a[1] > 0.0), 0.0, np.minimum(low, high)), np.maximum(low, high)


def _rising(function: Callable[[Array], Array], lowest: float = -np.inf, highest: float = np.inf):
    def enclosed(a: Interval, _: Interval) -> Interval:
        return function(np.clip(a[0], lowest, highest)), function(np.clip(a[1], lowest, highest))

    return enclosed


def _cosine(a: Interval) -> Interval:
    turns = 2.0 * np.pi
    ends = np.cos(a[0]), np.cos(a[1])
    top = np.floor(a[1] / turns) >= np.ceil(a[0] / turns)
    bottom = np.floor((a[1] - np.pi) / turns) >= np.ceil((a[0] - np.pi) / turns)
    wide = ~(a[1] - a[0] < turns)
    rounding = OUTWARD_COSINE * (1.0 + np.maximum(np.abs(a[0]), np.abs(a[1])))
    low = np.maximum(np.minimum(*ends) - rounding, -1.0)
    high = np.minimum(np.maximum(*ends) + rounding, 1.0)
    return np.where(bottom | wide, -1.0, low), np.where(top | wide, 1.0, high)


def _sine(a: Interval) -> Interval:
    quarter = 0.5 * np.pi
    low, high = _cosine((a[0] - quarter, a[1] - quarter))
    exact = a[0] == a[1]
    return np.where(exact, np.sin(a[0]), low), np.where(exact, np.sin(a[0]), high)


def _hyperbolic_cosine(a: Interval) -> Interval:
    low, high = np.cosh(a[0]), np.cosh(a[1])
    return np.where((a[0] < 0.0) & (a[1] > 0.0), 1.0, np.minimum(low, high)), np.maximum(low, high)


def _tangent(a: Interval) -> Interval:
    pole = np.floor(a[0] / np.pi + 0.5) != np.floor(a[1] / np.pi + 0.5)
    return np.where(pole, -np.inf, np.tan(a[0])), np.where(pole, np.inf, np.tan(a[1]))


def _truth(sure: Truths, never: Truths) -> Interval:
    return np.where(sure, 1.0, 0.0), np.where(never, 0.0, 1.0)


def _is_false(a: Interval) -> Truths:
    return (a[0] == 0.0) & (a[1] == 0.0)


def _is_true(a: Interval) -> Truths:
    return (a[0] > 0.0) | (a[1] < 0.0)


def _gated(a: Interval, b: Interval) -> Interval:
    on, off = _is_true(a), _is_false(a)
    low, high = np.minimum(b[0], 0.0), np.maximum(b[1], 0.0)
    return np.where(off, 0.0, np.where(on, b[0], low)), np.where(off, 0.0, np.where(on, b[1], high))


def _remains(a: Interval, b: Interval, whole: Callable[[Array], Array]) -> Interval:
    """Return a − b whole(a / b): fmod, remainder."""
    quotient = _divide(a, b)
    first, last = whole(quotient[0]), whole(quotient[1])
    same = first == last
    low, high = _of_products((first * b[0], first * b[1]))
    size = np.maximum(np.abs(b[0]), np.abs(b[1]))
    least = np.where(a[0] < 0.0, -size, 0.0) if whole is np.trunc else -0.5 * size
    most = np.where(a[1] > 0.0, size, 0.0) if whole is np.trunc else 0.5 * size
    return np.where(same, a[0] - high, least), np.where(same, a[1] - low, most)


def _power(a: Interval, b: Interval) -> Interval:
    """Return an enclosure of a^b for a constant b; for a < 0 only whole numbers b give a finite one."""
    n = b[0]
    fixed, whole, even = b[0] == b[1], n == np.floor(n), np.mod(n, 2.0) == 0.0
    ends = a[0] ** n, a[1] ** n
    low, high = np.minimum(*ends), np.maximum(*ends)
    low = np.where(even & (a[0] < 0.0) & (a[1] > 0.0), 0.0, low)
    other = np.log(np.maximum(a[0], 0.0)), np.log(np.maximum(a[1], 0.0))
    varied = _multiply(other, b)
    known = fixed & ((a[0] >= 0.0) | whole) & ~((n < 0.0) & (a[0] <= 0.0) & (a[1] >= 0.0))
    positive = ~fixed & (a[0] > 0.0)
    return (
        np.where(known, low, np.where(positive, np.exp(varied[0]), -np.inf)),
        np.where(known, high, np.where(positive, np.exp(varied[1]), np.inf)),
    )


def _angle(a: Interval, b: Interval) -> Interval:
    corners = [np.arctan2(y, x) for y in a for x in b]
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    jumps = (b[0] <= 0.0) & (a[0] <= 0.0) & (a[1] >= 0.0)
    return np.where(jumps, -np.pi, low), np.where(jumps, np.pi, high)


def _hypotenuse(a: Interval, b: Interval) -> Interval:
    one, two = _absolute(a), _absolute(b)
    return np.hypot(one[0], two[0]), np.hypot(one[1], two[1])


def _error_function(a: Interval, _: Interval) -> Interval:
    from scipy.special import erf  # for start-up time

    return erf(a[0]), erf(a[1])


def _signed(a: Interval, b: Interval) -> Interval:
    size = _absolute(a)
    low = np.where(b[0] >= 0.0, size[0], -size[1])
    high = np.where(b[1] < 0.0, -size[0], size[1])
    return low, high


_OPERATIONS: dict[int, Callable[[Interval, Interval], Interval]] = {
    ca.OP_ADD: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    ca.OP_SUB: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    ca.OP_MUL: _multiply,
    ca.OP_DIV: _divide,
    ca.OP_NEG: lambda a, _: (-a[1], -a[0]),
    ca.OP_SQ: lambda a, _: _square(a),
    ca.OP_TWICE: lambda a, _: (2.0 * a[0], 2.0 * a[1]),
    ca.OP_INV: lambda a, _: _divide((np.ones_like(a[0]), np.ones_like(a[0])), a),
    ca.OP_LT: lambda a, b: _truth(a[1] < b[0], a[0] >= b[1]),
    ca.OP_LE: lambda a, b: _truth(a[1] <= b[0], a[0] > b[1]),
    ca.OP_EQ: lambda a, b: _truth((a[0] == b[1]) & (a[1] == b[0]), (a[1] < b[0]) | (a[0] > b[1])),
    ca.OP_NE: lambda a, b: _truth((a[1] < b[0]) | (a[0] > b[1]), (a[0] == b[1]) & (a[1] == b[0])),
    ca.OP_NOT: lambda a, _: _truth(_is_false(a), _is_true(a)),
    ca.OP_AND: lambda a, b: _truth(_is_true(a) & _is_true(b), _is_false(a) | _is_false(b)),
    ca.OP_OR: lambda a, b: _truth(_is_true(a) | _is_true(b), _is_false(a) & _is_false(b)),
    ca.OP_FMIN: lambda a, b: (np.fmin(a[0], b[0]), np.fmin(a[1], b[1])),
    ca.OP_FMAX: lambda a, b: (np.fmax(a[0], b[0]), np.fmax(a[1], b[1])),
    ca.OP_IF_ELSE_ZERO: _gated,
    ca.OP_SIGN: lambda a, _: (np.sign(a[0]), np.sign(a[1])),
    ca.OP_SQRT: _rising(np.sqrt, 0.0),
    ca.OP_FABS: lambda a, _: _absolute(a),
    ca.OP_FLOOR: lambda a, _: (np.floor(a[0]), np.floor(a[1])),
    ca.OP_CEIL: lambda a, _: (np.ceil(a[0]), np.ceil(a[1])),
    ca.OP_COPYSIGN: _signed,
    ca.OP_FMOD: lambda a, b: _remains(a, b, np.trunc),
    ca.OP_REMAINDER: lambda a, b: _remains(a, b, np.round),
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_ATAN2: _angle,
    ca.OP_HYPOT: _hypotenuse,
    ca.OP_SIN: lambda a, _: _sine(a),
    ca.OP_COS: lambda a, _: _cosine(a),
    ca.OP_TAN: lambda a, _: _tangent(a),
    ca.OP_EXP: _rising(np.exp),
    ca.OP_EXPM1: _rising(np.expm1),
    ca.OP_LOG: _rising(np.log, 0.0),
    ca.OP_LOG1P: _rising(np.log1p, -1.0),
    ca.OP_ASIN: _rising(np.arcsin, -1.0, 1.0),
    ca.OP_ACOS: lambda a, _: (np.arccos(np.clip(a[1], -1.0, 1.0)), np.arccos(np.clip(a[0], -1.0, 1.0))),
    ca.OP_ATAN: _rising(np.arctan),
    ca.OP_SINH: _rising(np.sinh),
    ca.OP_COSH: lambda a, _: _hyperbolic_cosine(a),
    ca.OP_TANH: _rising(np.tanh),
    ca.OP_ASINH: _rising(np.arcsinh),
    ca.OP_ACOSH: _rising(np.arccosh, 1.0),
    ca.OP_ATANH: _rising(np.arctanh, -1.0, 1.0),
    ca.OP_ERF: _error_function,
}
# Operations whose value is rounded by none, or a truth.
_EXACT = frozenset((
    ca.OP_NEG, ca.OP_TWICE, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR, ca.OP_FMIN,
    ca.OP_FMAX, ca.OP_IF_ELSE_ZERO, ca.OP_SIGN, ca.OP_FABS, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_COPYSIGN,
))  # fmt: skip
