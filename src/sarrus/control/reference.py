"""What a law is to follow: a function of time, with its derivatives by CasADi."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from sarrus.errors import ArgumentError
from sarrus.symbolic import holds_nan, stacked

if TYPE_CHECKING:
    from sarrus.control.law import Settings
    from sarrus.system import System

# Numbers that are held, or a function of the symbol t that returns CasADi expressions.
Reference = Callable[[Any], Any] | Any


def trace_reference(
    system: System, reference: Reference, size: int, settings: Settings, what: str
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return x_d(t), its first and its second derivative, columns of ``size`` entries over the system's time.

    Numbers become settings named ``what`` (with [k]), which may be changed between calls. A function is called with
    the symbol t and must be twice differentiable where it is used.
    """
    if not callable(reference):
        zero = ca.SX.zeros(size)
        return settings.add(what, np.squeeze(np.asarray(reference, dtype=float)), size, what), zero, zero
    t = system.equations.t
    try:
        value = ca.SX(ca.densify(stacked(reference(t))))
    except Exception as error:
        raise ArgumentError(
            f"{what}: the reference could not be traced over the symbol t ({type(error).__name__}: {error}). "
            "Write it with CasADi operations; sarrus.trajectories has ready ones",
            element=what,
        ) from error
    if value.numel() != size:
        raise ArgumentError(
            f"{what}: the reference must have {size} entries, has {value.numel()}", element=what
        )
    if holds_nan(value):
        raise ArgumentError(f"{what}: the reference gives NaN over the symbol t", element=what)
    value = ca.reshape(value, size, 1)
    rate = ca.jtimes(value, t, ca.SX(1))
    return value, rate, ca.jtimes(rate, t, ca.SX(1))
