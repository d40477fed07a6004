"""Checks of the numbers that describe a mechanism; every error names the element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import Activation, Function, Winding
from sarrus.model.mechanism.faults import Label, fault
from sarrus.model.mechanism.pose import check_range, numbers, scalar, vector
from sarrus.model.mechanism.spline import Spline
from sarrus.model.mechanism.tolerances import NEGATIVE_MOMENT, SYMMETRIC_INERTIA, TRIANGLE_PART, TRIANGLE_REST


def nonnegative(value: Any, what: str, label: str) -> float:
    """Return a finite number ≥ 0."""
    out = scalar(value, what, label)
    if out < 0.0:
        raise fault(label, f"{what} must not be negative, got {out}")
    return out


def positive(value: Any, what: str, label: Label) -> float:
    """Return a finite number above zero."""
    out = scalar(value, what, label)
    if out <= 0.0:
        raise fault(label, f"{what} must be positive, got {out:g}")
    return out


def nonzero(value: Any, what: str, label: Label) -> float:
    """Return a finite number that is not zero."""
    out = scalar(value, what, label)
    if out == 0.0:
        raise fault(label, f"{what} must not be zero")
    return out


def fraction(value: Any, what: str, label: str) -> float:
    """Return a number from 0 to 1."""
    out = scalar(value, what, label)
    if not 0.0 <= out <= 1.0:
        raise fault(label, f"{what} must be between 0 and 1, got {out}")
    return out


def activity(value: Any, label: str) -> bool | None:
    """Return the state of a constraint at the start: True (active), False (inactive), None (a permanent constraint)."""
    if value is not None and not isinstance(value, (bool, np.bool_)):
        raise fault(label, f"active must be True, False or None, got {value!r}")
    return None if value is None else bool(value)


def flag(value: Any, what: str, label: str) -> bool:
    """Return True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise fault(label, f"{what} must be True or False, got {value!r}")
    return bool(value)


def inertia(value: ArrayLike, label: str) -> Array:
    """Return a finite, symmetric 3×3 inertia matrix [kg m²]; `impossible` tests whether a rigid body can have it."""
    given = numbers(value)
    if given.shape == (3,):
        matrix = np.diag(given)
    elif given.shape == (6,):
        xx, yy, zz, xy, xz, yz = given
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    elif given.shape == (3, 3):
        matrix = given
    else:
        raise fault(
            label, "inertia must be 3 principal moments, 6 numbers (xx, yy, zz, xy, xz, yz) or a 3×3 matrix"
        )
    check_range(matrix, value, "inertia", label)
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=SYMMETRIC_INERTIA * float(np.abs(matrix).max())):
        raise fault(label, "inertia must be symmetric")
    return 0.5 * (matrix + matrix.T)


def impossible(mass: float, inertia: Array) -> str:
    """Return why no rigid body has this mass [kg] and inertia about its centre [kg m²], or an empty text.

    The mass is not negative, the inertia positive semidefinite, and each principal moment at most the sum of the other
    two, up to rounding. Zero mass with an inertia is allowed: a rotor whose mass is part of another body.
    """
    if mass < 0.0:
        return f"mass must not be negative, got {mass}"
    moments = np.linalg.eigvalsh(inertia)
    shown = ", ".join(f"{m:.6g}" for m in moments)
    if moments[0] < -NEGATIVE_MOMENT * float(np.abs(inertia).max()):
        return f"inertia must not have a negative principal moment; got {shown}"
    if moments[2] > (moments[0] + moments[1]) * (1 + TRIANGLE_PART) + TRIANGLE_REST:
        return (
            f"principal moments {shown} break the triangle inequality (each at most the sum of the "
            "other two); no rigid body has them"
        )
    return ""


def function(value: Any, what: str, label: str) -> Function:
    """Return a function of one expression: something to call, or a `Spline` of one row."""
    if not callable(value):
        raise fault(label, f"{what} must be a function or a Spline, got {value!r}")
    if isinstance(value, Spline) and value.rows != 1:
        raise fault(label, f"{what} must be a Spline of one row, got one of {value.rows}")
    return value


def motion(value: Any, label: str, what: str = "motion") -> Function:
    """Return a prescribed motion, a function of time. A jump of its velocity is an impact."""
    if not callable(value):
        raise fault(label, f"{what} must be a function of time or a Spline, got {value!r}")
    if isinstance(value, Spline) and value.coefficients.shape[1] < 2:
        raise fault(label, f"{what} must be a Spline of degree 1 or more: a position cannot jump")
    return value


def per_dof(
    value: Any, nv: int, what: str, label: str, check: Callable[[Any, str, str], float] = nonnegative
) -> tuple[float, ...]:
    """Return ``nv`` numbers, each accepted by ``check`` (by default ≥ 0), from one number or a sequence of ``nv``."""
    return tuple(check(v, what, label) for v in _one_or_several(value, nv, what, label))


def reference(value: Any, kind: str, nq: int, label: str, what: str = "reference") -> tuple[float, ...]:
    """Return the coordinates of the reference placement; the identity for spherical and free joints."""
    if kind in ("spherical", "free"):
        identity = (0.0,) * (nq - 4) + (1.0, 0.0, 0.0, 0.0)
        values = identity if np.isscalar(value) else tuple(float(x) for x in vector(value, nq, what, label))
        if not any(values[-4:]):
            raise fault(label, f"{what} has a quaternion of zero length")
        return values
    return tuple(scalar(v, what, label) for v in _one_or_several(value, nq, what, label))


def interval(value: Any, what: str, label: str) -> tuple[float, float]:
    """Return (lower, upper) from a pair; infinite bounds are legal."""
    try:
        lower, upper = (float(x) for x in value)
    except (TypeError, ValueError):
        lower = upper = np.nan
    if np.isnan(lower) or np.isnan(upper):
        raise fault(label, f"{what} must be (lower, upper), got {value!r}")
    if lower > upper:
        raise fault(label, f"{what} has lower {lower} above upper {upper}")
    return lower, upper


def bounds(value: Any, what: str, label: str) -> tuple[float, float] | None:
    """Return (lower, upper) from a pair, None where nothing is given."""
    return None if value is None else interval(value, what, label)


def length_limits(value: Any, label: Label) -> tuple[float | Function, float | Function] | None:
    """Return (lower, upper), each a number or a function of time; equal numbers are refused: they are a coupling."""
    pair = list(value) if np.iterable(value) else [value]
    if value is None or len(pair) != 2 or not any(map(callable, pair)):
        found = bounds(value, "limits", label)
        if found is not None and found[0] == found[1]:
            raise fault(
                label,
                f"both limits of its length are {found[0]:g}, which is an equation and no rope; add a coupling of "
                f"'tendon:{label.name}' with add_coupling or add_motion",
            )
        return found
    lower, upper = (
        motion(bound, label, "a limit of the length")
        if callable(bound)
        else interval((bound, bound), "limits", label)[0]
        for bound in pair
    )
    return lower, upper


def rest_length(value: Any, label: str) -> tuple[float, float]:
    """Return the interval (lower, upper) of lengths without spring force; one finite number stands for both bounds."""
    if np.isscalar(value):
        return (scalar(value, "rest_length", label),) * 2
    return interval(value, "rest_length", label)


def mapping(value: Any, what: str, label: str) -> None:
    """Raise unless ``value`` is a mapping with at least one coordinate name as key."""
    if not isinstance(value, Mapping):
        raise fault(label, f"{what} must map coordinate names to numbers, got {value!r}")
    if not value:
        raise fault(label, "needs at least one coordinate")


def limits(value: Any, nv: int, label: str) -> tuple[tuple[float, float] | None, ...]:
    """Return one (lower, upper) or None per degree of freedom."""
    if value is None:
        return (None,) * nv
    pairs = [] if np.isscalar(value) else list(value)
    if nv == 1 and len(pairs) == 2:
        pairs = [value]
    if len(pairs) != nv or any(np.isscalar(pair) for pair in pairs):
        raise fault(label, f"limits must be one pair per degree of freedom ({nv}), got {value!r}")
    return tuple(bounds(pair, "limits", label) for pair in pairs)


def _one_or_several(value: Any, count: int, what: str, label: str) -> list[Any]:
    """Return ``count`` values from one value or from a sequence of ``count``."""
    values = [value] * count if np.isscalar(value) else list(value) if np.iterable(value) else None
    if values is None or len(values) != count:
        got = value if values is None else len(values)
        raise fault(label, f"{what} must be one number or {count}, got {got}")
    return values


def activation(given: Any, label: str) -> Activation | Winding:
    """Return checked activation dynamics: kind known, time constant of a filter > 0, limits in order; or a winding."""
    if isinstance(given, Winding):
        return winding(given.inductance, given.resistance, given.limits, label)
    if not isinstance(given, Activation) or given.kind not in ("filter", "integrator"):
        kinds = 'Activation("filter", time_constant) or Activation("integrator") or a Winding'
        raise fault(label, f"activation must be {kinds}, got {given!r}")
    time = nonnegative(given.time_constant, "the time constant of its activation", label)
    if time == 0.0 and given.kind == "filter":
        raise fault(label, "the time constant of its activation must be positive, got 0")
    return Activation(given.kind, time, bounds(given.limits, "limits of its activation", label))


def winding(inductance: Any, resistance: Any, limits: Any, label: str) -> Winding:
    """Return a winding with positive inductance [H] and resistance [Ω], limits of the current in order."""
    numbers = {"inductance": inductance, "resistance": resistance}
    henry, ohm = (nonnegative(value, name, label) for name, value in numbers.items())
    if henry == 0.0 or ohm == 0.0:
        raise fault(
            label, f"{'resistance' if henry else 'inductance'} of its winding must be positive, got 0"
        )
    return Winding(henry, ohm, bounds(limits, "current_limits", label))


def static_coefficient(given: float | None, sliding: float, label: Label) -> float | None:
    """Return the coefficient of static friction, ≥ ``sliding``; None if none is given.

    inf beside 0 is a contact that sticks while it pushes, of the systems of steps in time
    (`sarrus.motion.inputs.contacts_of_steps`).
    """
    if given is None or (given == float("inf") and sliding == 0.0):
        return given
    static = nonnegative(given, "static_coefficient", label)
    if static < sliding:
        raise fault(
            label, f"static_coefficient must be at least friction_coefficient {sliding:g}, got {static:g}"
        )
    return static
