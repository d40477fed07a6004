"""What a law is to follow: a function of time, with its derivatives by CasADi."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.numbers import real_array
from sarrus.control.demands import Settings
from sarrus.dynamics.system import System
from sarrus.equations.symbolic import traced

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
        return settings.add(what, np.squeeze(real_array(reference)), size, what), zero, zero
    t = system.equations.t
    remedy = "Write it with CasADi operations of t; sarrus.control.references has ready ones"
    value = traced(reference, (t,), what, remedy, size)
    rate = ca.jtimes(value, t, ca.SX(1))
    return value, rate, ca.jtimes(rate, t, ca.SX(1))
