"""Identity of a study for its store: hashes of its model, options, axes and functions."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import partial
from types import CodeType
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.version import __version__
from sarrus.control.laws.law import Law
from sarrus.dynamics.model.state_functions import trace_function
from sarrus.dynamics.system import System
from sarrus.motion.inputs.run_options import Stabilization
from sarrus.runs.studies.axes import Axes
from sarrus.runs.studies.specification import Study


def describe(study: Study, axes: Axes) -> dict[str, Any]:
    """Return the identity of a study by name: numbers and words literally, the rest as hashes; JSON-compatible."""
    s, options = study.system, dict(study.options)
    control, stepping = options.pop("control"), options.pop("method")
    parts: dict[str, Any] = {
        "sarrus": __version__,
        "model": model_hash(s),
        "parameters": dict(s.parameters),
        "tolerances": asdict(s.options),
        "q": study.q.tolist(),
        "v": study.v.tolist(),
        "u": None if study.u is None else study.u.tolist(),
        "control": None if control is None else control_hash(s, control),
        **asdict(stepping),
        **options,
        "kind": "grid" if axes.is_grid else "samples",
        "axes": {axis.name: _digest(values.tobytes()) for axis, values in zip(axes.axes, axes.values)},
        "order": [axis.name for axis in axes.axes],
        "outputs": [output if isinstance(output, str) else function_hash(output) for output in study.outputs],
    }
    return {name: _plain(value) for name, value in parts.items()}


def digest(description: Any) -> str:
    """Return a hash of a JSON-compatible description."""
    return _digest(json.dumps(description, sort_keys=True).encode())


def model_hash(system: System) -> str:
    """Return a hash of the expressions of the equations and of all names."""
    e = system.equations
    expressions = [value for value in vars(e).values() if isinstance(value, ca.SX)]
    function = ca.Function("model", [ca.veccat(e.q, e.v, e.u, e.t, e.p)], [ca.veccat(*expressions)])
    names = (e.coordinate_names, e.velocity_names, e.constraint_names, e.actuator_names, e.quaternions)
    return _digest(function.serialize().encode(), repr((names, list(e.parameter_values))).encode())


def control_hash(system: System, control: Any) -> str:
    """Return a hash of a traced control, or of a law's demands and settings."""
    e = system.equations
    if not isinstance(control, Law):
        u = trace_function(system, control, system.nu, "control")
        return _digest(ca.Function("control", [ca.veccat(e.q, e.v, e.t, e.p)], [u]).serialize().encode())
    numbers = [
        control.norm.weights.tolist(),
        list(control.settings.items()),
        control.arrays.preferred.tolist(),
    ]
    demands = [
        str(value) if isinstance(value, ca.SX) else repr(value)
        for level in control.levels
        for value in vars(level).values()
    ]
    return _digest(control.name.encode(), repr(numbers).encode(), *(text.encode() for text in demands))


def function_hash(function: Any) -> str:
    """Return the name of a user's function and a hash of its code, defaults and closure variables.

    The code of functions that it calls is not included.
    """
    if isinstance(function, partial):
        own = (*function.args, *sorted(function.keywords.items()))
        return f"partial:{_digest(function_hash(function.func).encode(), *map(_value, own))}"
    name = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(function, "__code__", None)
    if code is None:
        return str(name)
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    parts = [_code(code), *(_value(x) for x in (*held, *(function.__defaults__ or ())))]
    return f"{name}:{_digest(*parts)}"


def differences(here: dict[str, Any], there: dict[str, Any]) -> list[str]:
    """Return the differences of two descriptions in words."""
    said = []
    for name in dict.fromkeys([*there, *here]):
        old, new = there.get(name), here.get(name)
        if old == new:
            continue
        if name == "axes" and isinstance(old, dict) and isinstance(new, dict) and set(old) == set(new):
            said.append("the values of " + ", ".join(repr(axis) for axis in new if old[axis] != new[axis]))
        elif name in ("model", "control", "axes", "outputs", "order", "tolerances"):
            said.append(name)
        else:
            said.append(f"{name} ({old} there, {new} here)")
    return said


def _code(code: CodeType) -> bytes:
    inner = [_code(x) if isinstance(x, CodeType) else _value(x) for x in code.co_consts]
    return b"\0".join([code.co_code, repr((code.co_names, code.co_varnames)).encode(), *inner])


def _value(value: Any) -> bytes:
    """Return bytes of a value that are the same in every process."""
    if isinstance(value, np.ndarray):
        return repr((value.shape, value.dtype)).encode() + value.tobytes()
    if isinstance(value, (set, frozenset)):
        return b"\0".join(sorted(map(_value, value)))
    if isinstance(value, (tuple, list)):
        return b"\0".join(map(_value, value))
    if isinstance(value, System):
        return model_hash(value).encode()
    if callable(value):
        return function_hash(value).encode()
    text = repr(value)
    return (type(value).__qualname__ if " at 0x" in text else text).encode()


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _plain(value: Any) -> Any:
    """Return a value as it is read back from JSON."""
    if isinstance(value, Stabilization):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if callable(value):
        return function_hash(value)
    if isinstance(value, (np.floating, np.integer, np.bool_)):
        value = value.item()
    return repr(value) if isinstance(value, float) and not np.isfinite(value) else value
