"""The error function, its complement and its inverse as straight-line code: the same bits on every processor.

erf is a polynomial near zero, else 1 − erfc; erfc x = e^(−x²)/(1 + 2x) times a smooth function of (x −
3.75)/(x + 3.75) (Shepherd and Laframboise, Math. Comp. 36, 1981), with a newly fitted polynomial.
"""

from __future__ import annotations

from sarrus.codegen.exact.exponentials import exponential_of, log1p
from sarrus.codegen.exact.straight_line import Pair, Value, exact_product, fast_sum, fma, over, polynomial

_SLOPE = (1.1283791670955126, 1.533545961316588e-17)  # 2/√π
_BEND = 3.75
_NEAR = 0.84
# (erf(x)/x − 2/√π)/x² as a function of x² below 0.71, error 2⁻⁵⁵
_ERROR = (
    6.972843931891307e-11,
    -1.1857840680109302e-09,
    1.4762087210636527e-08,
    -1.6362830104403372e-07,
    1.6461980553303385e-06,
    -1.4925646383517776e-05,
    0.00012055332903909649,
    -0.0008548327022482238,
    0.005223977625435073,
    -0.02686617064513098,
    0.11283791670955125,
    -0.37612638903183754,
)
# erfc(x) e^(x²) (1 + 2x) between 0.8 and 28, relative error 2⁻⁵²
_COMPLEMENT = (
    4.2588223639758697e-08,
    -1.951021277585692e-07,
    -1.0509641383612768e-07,
    1.7038409612527353e-06,
    -9.299016021584598e-07,
    -1.1424382848589575e-05,
    2.236300408783191e-05,
    5.164435122062799e-05,
    -0.0002901479802375421,
    0.0002937143178039306,
    0.0017556247937142789,
    -0.009746579604096271,
    0.028362277527291396,
    -0.05869339858857332,
    0.09230432115434867,
    -0.10880393014171592,
    0.08227673849029854,
    0.003585415485463089,
    -0.1402405985855481,
    1.2375126308378275,
)


def _near(x: Value) -> Pair:
    """Return erf x for |x| ≤ 0.84 as a pair."""
    z = x * x
    product = exact_product(x, _SLOPE[0])
    return fast_sum(product.high, fma(z * x, polynomial(z, _ERROR), fma(x, _SLOPE[1], product.low)))


def _tail(x: Value) -> Value:
    """Return erfc x for x ≥ 0.8."""
    lines = x.lines
    t = (x - _BEND) / (x + _BEND)
    square = exact_product(x, x)
    low = square.high.is_("<", 1e3).where(-square.low, 0.0)
    high = x * 2.0 + 1.0
    divisor = Pair(high, (x * 2.0 - high) + 1.0)  # 1 + 2x
    share = over(Pair(polynomial(t, _COMPLEMENT), lines.number(0.0)), divisor)
    return exponential_of(Pair(-square.high, low)) * share.total()


def erf(x: Value) -> Value:
    """Return the error function."""
    size = abs(x)
    near = size.is_("<", _NEAR)
    far = 1.0 - _tail(near.where(1.0, size.is_(">", 6.5).where(6.5, size)))
    value = near.where(_near(near.where(size, 0.0)).total(), far)
    value = (x.is_("==", x)).where(value, x)
    return (x.is_("==", 0.0)).where(x, value.signed_as(x))


def erfc(x: Value) -> Value:
    """Return 1 − erf x for x ≥ 0."""
    near = x.is_("<", _NEAR)
    small = _near(near.where(x, 0.0))
    main = fast_sum(1.0, -small.high)
    far = _tail(near.where(1.0, x.is_(">", 28.0).where(28.0, x)))
    value = near.where(main.high + (main.low - small.low), far)
    return x.is_("==", x).where(value, x)


def erfinv(x: Value) -> Value:
    """Return the inverse of the error function: infinite at ±1, NaN beyond.

    Winitzki's closed form ("A handy approximation for the error function and its inverse", 2008, with a = 0.147),
    relative error 2e-3, followed by three Halley steps on erf, or on erfc if erf is near one and 1 − |x| is
    exact.
    """
    y = abs(x)
    logarithm = log1p(-(y * y))
    half = logarithm * 0.5 + 4.330746750799873
    # rounding may make the difference under the second root negative
    z = abs((half * half - logarithm / 0.147).root() - half).root()
    rest, tail = 1.0 - y, y.is_(">", 0.5)
    for _ in range(3):
        slope = z.lines.own("exp", -(z * z)) * _SLOPE[0]
        body = z.lines.own("erf", z) - y
        end = rest - z.lines.own("erfc", z)
        step = tail.where(end, body) / slope
        z = z - step / (z * step + 1.0)
    return y.is_("==", 1.0).where(float("inf"), z).signed_as(x)
