"""Arrays of real numbers from user input; text, imaginary parts and masked entries are errors."""

from __future__ import annotations

import operator
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError

# Largest number of entries for which a loop in Python is faster than a NumPy operation.
_FEW = 32


def real_array(value: ArrayLike) -> NDArray[np.float64]:
    """Return a contiguous float array, the value itself if it is one; NaN and infinity are accepted.

    Raises `ArgumentError` for text, imaginary parts, masked entries, and values that are no array; the caller adds the
    name of the argument.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        return np.ascontiguousarray(value) if value.ndim else value
    if np.ma.is_masked(value):
        raise ArgumentError(f"numbers are needed, got masked entries: {value!r}")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"{array.dtype}")
        floats = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"real numbers are needed, got {value!r}") from error
    return np.ascontiguousarray(floats) if floats.ndim else floats


def number_between(value: ArrayLike, least: float, most: float, what: str) -> float:
    """Return one finite number from ``least`` to ``most``; raises `ArgumentError` about ``what`` for anything else."""
    number = finite_array(value)
    if number is None or number.shape != () or not least <= number <= most:
        span = f"from {least:g} to {most:g}" if isfinite(most) else f"of at least {least:g}"
        raise ArgumentError(f"{what} must be a number {span}, got {value!r}", element=what)
    return float(number)


def positive_number(value: ArrayLike, what: str, *, unit: str = "", element: str | None = None) -> float:
    """Return one positive, finite number; raises `ArgumentError` about ``element``, by default ``what``, else."""
    number = finite_array(value)
    if number is None or number.shape != () or not number > 0.0:
        raise ArgumentError(f"{what} must be a positive number{unit}, got {value!r}", element=element or what)
    return float(number)


def three_numbers(value: ArrayLike, what: str, *, unit: str = "", element: str | None = None) -> Array:
    """Return a vector of three finite numbers; raises `ArgumentError` about ``element``, by default ``what``, else."""
    vector = finite_array(value)
    if vector is None or vector.shape != (3,):
        raise ArgumentError(
            f"{what} must be three finite numbers{unit}, got {value!r}", element=element or what
        )
    return vector


def whole_number(value: object, least: int, what: str) -> int:
    """Return a whole number of at least ``least``; raises `ArgumentError` about ``what`` for anything else."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise ArgumentError(f"{what} must be a whole number, at least {least}, got {value!r}", element=what)
    return number


def is_finite(array: NDArray[np.float64]) -> bool:
    """Tell whether all entries of a vector are finite; short vectors in a Python loop, which is faster than NumPy."""
    if array.size <= _FEW:
        return all(map(isfinite, array.tolist()))
    return bool(np.isfinite(array).all())


def finite_array(value: ArrayLike) -> NDArray[np.float64] | None:
    """Return a finite float array, or None if the value is none."""
    try:
        array = real_array(value)
    except ArgumentError:
        return None
    return array if np.isfinite(array).all() else None
