"""Outputs of a study: quantities by name, their reductions, and user functions.

Columns are variables with an entry for each run; their dimensions follow the run dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.files.netcdf import Variable
from sarrus.base.status import Status
from sarrus.motion.inputs.run_options import REDUCTIONS, RunOptions
from sarrus.motion.many.result import FACTS, Rollout, variable
from sarrus.motion.records.quantities import QUANTITIES
from sarrus.motion.records.recorded_motion import RECORDED

OutputFunction = Callable[[Rollout], Mapping[str, Any]]

DEFAULT = ("q", "v", "energy", "residual")


def output_names() -> list[str]:
    """Return all names that an output can have."""
    return [*RECORDED, *FACTS, *(f"{name}.{how}" for name in QUANTITIES for how in REDUCTIONS)]


def check_outputs(outputs: Any) -> tuple[str | OutputFunction, ...]:
    """Return names and functions; other types are an `ArgumentError`."""
    if isinstance(outputs, str) or not isinstance(outputs, Sequence):
        raise ArgumentError(
            f"outputs must be a sequence of names and functions, such as ['q', 'energy.max'], got {outputs!r}",
            element="outputs",
        )
    valid = output_names()
    for output in outputs:
        if not callable(output):
            check_known("output", output, valid, "outputs")
    return tuple(dict.fromkeys(outputs))


def reductions(outputs: Iterable[str | OutputFunction]) -> tuple[str, ...]:
    """Return the reductions that the outputs need, for `sarrus.rollout`."""
    wanted = {name.rpartition(".")[2] for name in outputs if isinstance(name, str)}
    return tuple(name for name in REDUCTIONS if name in wanted)


def collect(
    rollout: Rollout, outputs: Iterable[str | OutputFunction], status: Array, options: RunOptions
) -> dict[str, Variable]:
    """Return the columns of a batch of runs; ``status`` (runs,) are those of their starts.

    A run that could not start has NaN in arrays of floats and −1 in arrays of integers. If only the end was recorded
    there is no time dimension.
    """
    sampled = options.recording.every is not None
    started = np.isin(status, [s for s in Status if s.ok])
    codes = np.where(started, rollout.status, status).astype(np.int8)
    reached = np.where(started, rollout.reached, options.t0)
    facts = {
        "status": Variable((), codes),
        "reached": Variable((), reached, {"units": "s", "long_name": "time reached"}),
    }
    columns: dict[str, Variable] = {}
    for output in outputs:
        own = {output: _named(rollout, output, sampled)} if isinstance(output, str) else _own(rollout, output)
        for name in own:
            if name in columns or name in facts:
                raise ArgumentError(f"outputs: there are two outputs {name!r}", element=name)
        columns |= own
    return facts | {name: _blank(column, ~started) for name, column in columns.items()}


def _named(rollout: Rollout, name: str, sampled: bool) -> Variable:
    found = variable(rollout, name)
    dimensions, values = found.dimensions[1:], found.values
    if dimensions[:1] == ("time",) and not sampled:
        dimensions, values = dimensions[1:], values[:, 0]
    return Variable(dimensions, values, found.attributes)


def _own(rollout: Rollout, function: OutputFunction) -> dict[str, Variable]:
    """Return the arrays (runs, …) of a user's function, or pairs (dimensions after the runs, array)."""
    label = getattr(function, "__name__", repr(function))
    given = function(rollout)
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"outputs: {label} must return a mapping of names to arrays, got {type(given).__name__}",
            element=label,
        )
    columns = {}
    for name, value in given.items():
        paired = isinstance(value, tuple) and len(value) == 2
        values = np.asarray(value[1] if paired else value)
        if values.ndim < 1 or len(values) != len(rollout) or values.dtype.kind not in "fiub":
            raise ArgumentError(
                f"outputs: {label}: {name!r} must be an array of numbers with an entry for each of the "
                f"{len(rollout)} runs, got shape {values.shape} of {values.dtype}",
                element=name,
            )
        dimensions = tuple(value[0]) if paired else tuple(f"{name}_{k}" for k in range(values.ndim - 1))
        if len(dimensions) != values.ndim - 1:
            raise ArgumentError(
                f"outputs: {label}: {name!r} has {values.ndim - 1} dimensions after the runs, but the names "
                f"{dimensions}",
                element=name,
            )
        columns[name] = Variable(dimensions, values)
    return columns


def _blank(column: Variable, rows: np.ndarray) -> Variable:
    if not rows.any():
        return column
    values = column.values.astype(np.int64 if column.values.dtype.kind in "bu" else column.values.dtype)
    values[rows] = np.nan if values.dtype.kind == "f" else -1
    return Variable(column.dimensions, values, column.attributes)
