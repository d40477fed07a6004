"""Reasons why a control law has no answer: values that are not finite, open loops, missing inertia."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError
from sarrus.base.status import Status
from sarrus.codegen.native import NativeFunction
from sarrus.control.laws.demands import Demand
from sarrus.control.laws.tolerances import OVERFLOWING
from sarrus.dynamics.closing.closed_state import what_is_open
from sarrus.dynamics.model.inertia import ill_posed

# Outputs of the native function of a law in words.
_OUTPUTS = {
    "mass": "mass matrix",
    "rows": "constraint Jacobian",
    "bias": "constraint bias",
    "actuation": "actuation matrix",
    "forces": "generalized force that is demanded",
    "memory": "memory of the law",
    "contacts": "state of the contacts",
}


def gap_place(native: NativeFunction) -> int:
    """Return the place at which the function of a law writes the largest gap of the loops; 0 without loops."""
    return int(native.outputs["gap"][0].start) if "gap" in native.outputs else 0


def what_was_open(law: Any, q: ArrayLike, t: float) -> str:
    """Return the text that names a row open by more than runs accept at the last call of a law; "" if there
    was none.
    """
    if not law.arrays.work[law.gap_place] > law.opening:
        return ""
    return what_is_open(law.workspace(), law.system.normalized(q), t)


def is_too_large(law: Any) -> bool:
    """Return whether a number of the last call is not finite, or its square would not be."""
    with np.errstate(all="ignore"):
        return bool((~(np.abs(law.native(law.arrays.input)) < OVERFLOWING)).any())


def no_answer(law: Any, q: ArrayLike, v: ArrayLike, t: float) -> SarrusError:
    """Return the error of a call without controls; invalid arguments are raised directly."""
    s, who = law.system, f"{law.name} of {law.system.name}"
    x = s.pack(q, v, None, t)
    with np.errstate(all="ignore"):
        values = law.native(law.arrays.input)
    for name, (place, _) in law.native.outputs.items():
        if not np.isfinite(values[place]).all():
            return Status.NOT_FINITE.error(who, f"{_what(law, name, values[place])} is infinite or NaN")
    if is_open := what_is_open(law.workspace(), x[s.parts.q], t):
        return Status.NOT_CLOSED.error(who, is_open)
    found = law.workspace().diagnose(x)
    beyond = is_too_large(law) or not np.isfinite(law.arrays.answer[: law.unknowns]).all()
    if found is Status.ILL_POSED and beyond:
        return Status.NOT_FINITE.error(who, "the controls that meet the demands are not finite")
    told = ill_posed(s, x[s.parts.q], x[s.parts.v], t) if found is Status.ILL_POSED else ""
    reason: SarrusError = found.error(who, told)
    return reason


def refusal(conflict: tuple[str, ...], has_contacts: bool) -> str:
    """Return the reason why a law with limits has no answer: no forces or controls lie within all limits."""
    what = "forces" if has_contacts else "controls"
    if not conflict:
        return f"no {what} were found inside all limits, and no set of limits was proven infeasible"
    pair = "contradict each other" if len(conflict) > 1 else "cannot be kept"
    return f"no {what} lie inside all limits: {', '.join(conflict)} {pair}"


def _what(law: Any, output: str, values: Array) -> str:
    """Return the name of an output of the native function that is not finite."""
    if output in ("wanted", "demands", "couplings", "selections", "active"):
        rows = [(level.name, row) for level in law.levels if isinstance(level, Demand) for row in level.rows]
        wrong = np.flatnonzero(~np.isfinite(values.reshape(len(rows), -1)).all(axis=1))
        level, row = rows[int(wrong[0])]
        return f"the demand of level {level!r} on {row!r}"
    return f"the {_OUTPUTS.get(output, output)}"
