"""References of laws: functions of time with their derivatives by CasADi, held numbers, or streamed values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.numbers import real_array
from sarrus.control.laws.demands import DERIVATIVES, Settings
from sarrus.dynamics.system import System
from sarrus.symbolic.equations.symbolic import traced

# Numbers that are held, a function of the symbol t that returns CasADi expressions, or what is streamed.
Reference = Callable[[Any], Any] | Any


@dataclass(frozen=True, eq=False)
class Streamed:
    """A reference given from outside sample by sample; made by `streamed`."""

    start: ArrayLike


def streamed(start: ArrayLike) -> Streamed:
    """Return a reference that is assigned while the law runs, by a planner, a pilot or another controller.

    It begins at ``start``, a number or one for each row, at rest. ``law.settings.set_reference(NAME, x, rate,
    acceleration)`` sets NAME.reference, NAME.reference_rate and NAME.reference_acceleration of the task NAME in one
    call.
    """
    return Streamed(start)


def trace_reference(
    system: System, reference: Reference, size: int, settings: Settings, what: str
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return x_d(t), its first and its second derivative, columns of ``size`` entries over the system's time.

    Numbers become settings named ``what`` (with [k]), which may be changed between calls; a streamed reference has
    settings of its derivatives too. A function is called with the symbol t and must be twice differentiable.
    """
    if isinstance(reference, Streamed):
        value = settings.add(what, np.squeeze(real_array(reference.start)), size, what)
        rate, acceleration = (settings.add(f"{what}_{part}", 0.0, size, what) for part in DERIVATIVES)
        return value, rate, acceleration
    if not callable(reference):
        zero = ca.SX.zeros(size)
        return settings.add(what, np.squeeze(real_array(reference)), size, what), zero, zero
    t = system.equations.t
    remedy = "Write it with CasADi operations of t; sarrus.control.references has ready ones"
    value = traced(reference, (t,), what, remedy, size)
    rate = ca.jtimes(value, t, ca.SX(1))
    return value, rate, ca.jtimes(rate, t, ca.SX(1))
