"""Starts of many runs: states, controls and parameters, broadcast to a common number of runs and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, place_of
from sarrus.base.numbers import real_array
from sarrus.dynamics.model.control_limits import control_bounds
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.joint_limits import beyond_limits, sides_beyond, warn_beyond
from sarrus.kernels.linalg.quaternions import normalize


def count_runs(
    system: Evaluations, arrays: Mapping[str, tuple[Any, int]], parameters: Mapping[str, Any]
) -> int:
    """Return the number of runs, the common length of all arguments; ``arrays``: (value, dimensions of one run) by
    name.

    Raises `ArgumentError` if lengths differ or the number is zero.
    """
    given = {name: (value, own) for name, (value, own) in arrays.items() if value is not None}
    given |= {f"parameters[{name!r}]": (value, 0) for name, value in parameters.items()}
    lengths = {}
    for name, (value, own) in given.items():
        try:
            if np.ndim(value) == own + 1:
                lengths[name] = len(value)
        except ValueError as error:  # rows of different lengths
            raise ArgumentError(
                f"{system.name}: {name} must be an array, got {value!r}", element=name
            ) from error
    counts = {name: length for name, length in lengths.items() if length != 1} or lengths
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in counts.items())
        raise ArgumentError(
            f"{system.name}: the number of runs is not the same everywhere: {told}",
            element=next(iter(counts)),
        )
    count = next(iter(counts.values()), 1)
    if count == 0:
        raise ArgumentError(
            f"{system.name}: {next(iter(counts))} has no rows; give at least one run",
            element=next(iter(counts)),
        )
    return count


def pack_states(
    system: Evaluations,
    count: int,
    q: ArrayLike,
    v: ArrayLike | None,
    t0: float,
    parameters: Mapping[str, Any],
) -> Array:
    """Return the inputs x = [q | v | u | t | p | τ] of all runs (count, size), with unit quaternions."""
    s = system
    states = np.zeros((count, s.parts.tau.stop))
    states[:, s.parts.q] = _rows(system, q, s.nq, count, "q")
    if v is not None:
        states[:, s.parts.v] = _rows(system, v, s.nv, count, "v")
    states[:, s.parts.t] = t0
    start = normalize(states, s.equations.quaternions)
    if start is not None:
        run = int(np.abs(states[:, start : start + 4]).max(axis=1).argmin())
        raise ArgumentError(f"{s.name}: run {run}: a quaternion in q has no length", element="q")
    _pack_parameters(system, states[:, s.parts.p], count, parameters)
    return states


def _pack_parameters(system: Evaluations, columns: Array, count: int, given: Mapping[str, Any]) -> None:
    """Write the parameters of all runs; the extreme values of each parameter get the checks of
    ``system.parameters``.
    """
    names = list(system.parameters)
    columns[:] = list(system.parameters.values())
    extremes: set[int] = set()
    for name, values in given.items():
        place = place_of("parameter", name, names, system.name)
        if name.startswith(("active.", "stick.", "anchor.")):
            raise ArgumentError(
                f"{system.name}: parameter {name!r} switches constraints, which all runs of one call share. Set it in "
                "system.parameters, and call rollout once for each value",
                element=name,
            )
        column = real_array(values)
        if column.shape not in ((), (1,), (count,)) or not np.isfinite(column).all():
            raise ArgumentError(
                f"{system.name}: parameters[{name!r}] must be a finite number or {count} of them, one per run",
                element=name,
            )
        columns[:, place] = column
        extremes |= {int(np.argmin(columns[:, place])), int(np.argmax(columns[:, place]))}
    for run in sorted(extremes):
        try:
            system.parameters.own().update(dict(zip(names, columns[run].tolist())))
        except ArgumentError as error:
            raise ArgumentError(f"run {run}: {error}", element=error.element) from error


def pack_inputs(system: Evaluations, count: int, u: ArrayLike | None) -> Array | None:
    """Return the controls (count, intervals, nu) within the actuators' limits; None without u."""
    if u is None:
        return None
    try:
        given = real_array(u)
    except (TypeError, ValueError):
        given = np.empty((0, 0, 0, 0))
    if given.ndim == 1:
        given = given[None]
    if given.ndim == 2:
        given = given[:, None, :]
    if (
        given.ndim != 3
        or given.shape[0] not in (1, count)
        or given.shape[1] < 1
        or given.shape[2] != system.nu
    ):
        raise ArgumentError(
            f"{system.name}: u must be ({system.nu},), (runs, {system.nu}) or (runs, intervals, {system.nu}) for "
            f"{count} runs and the actuators {', '.join(system.actuator_names) or 'none'}, got shape {np.shape(u)}",
            element="u",
        )
    if not np.isfinite(given).all():
        raise ArgumentError(f"{system.name}: u has entries that are not finite", element="u")
    lower, upper = control_bounds(system)
    clipped = np.clip(given, lower, upper)
    return np.ascontiguousarray(np.broadcast_to(clipped, (count, *given.shape[1:])))


def warn_of_runs(system: Evaluations, q: Array, runs: np.ndarray, what: str, *, stacklevel: int) -> bool:
    """Warn if some of the runs begin beyond joint limits, q (runs, nq); return whether one does. The first one is
    named.
    """
    found = runs[beyond_limits(system, q[runs]).any(axis=1)]
    if not found.size:
        return False
    texts = sides_beyond(system, q[found[0]])
    texts[0] = f"{what} {found[0]}: {texts[0]}"
    if found.size > 1:
        texts.append(f"{found.size} of {len(runs)} starts are beyond limits")
    warn_beyond(system.name, texts, stacklevel=stacklevel + 1)
    return True


def _rows(system: Evaluations, value: ArrayLike, size: int, count: int, what: str) -> Array:
    """Return q or v of all runs (count, size), from one array per run or one for all."""
    try:
        array = real_array(value)
    except (TypeError, ValueError):
        array = np.empty((0, 0, 0))
    if array.ndim == 1:
        return np.array(system.checked(array, size, what))
    if array.ndim != 2 or array.shape[0] not in (1, count) or array.shape[1] != size:
        raise ArgumentError(
            f"{system.name}: {what} must be ({size},) or (runs, {size}) for {count} runs, got shape {np.shape(value)}",
            element=what,
        )
    wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if wrong.size:
        raise ArgumentError(
            f"{system.name}: run {wrong[0]}: {what} has entries that are not finite: {array[wrong[0]]}",
            element=what,
        )
    return array
