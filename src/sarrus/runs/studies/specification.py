"""`Study`: the options that all runs of a study share, and the execution of some of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.files.netcdf import Variable
from sarrus.base.numbers import finite_array
from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.kernels.memory import batch_layout as bl
from sarrus.motion.inputs.run_options import Recording, RunOptions, Stabilization, Stepping
from sarrus.motion.many.rollout import many_options, rollout
from sarrus.runs.studies.axes import Axis
from sarrus.runs.studies.initial_states import Closer
from sarrus.runs.studies.quantities import OutputFunction, collect, reductions
from sarrus.runs.studies.tolerances import CHUNK_BYTES, CHUNK_STEPS, CHUNKS

# Options of `sarrus.rollout` that all runs of a study share, with their defaults; the others are the study's own.
SHARED = {
    name: option.default
    for name, option in signature(rollout).parameters.items()
    if name not in ("system", "q", "v", "u", "parameters", "reduce", "assemble", "threads", "progress")
}


def shared_options(duration: float, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that all runs share, short forms as the whole; an unknown one is an `ArgumentError`."""
    for name in given:
        check_known("option", name, SHARED)
    options = {**SHARED, **given, "duration": duration}
    return options | {
        "method": Stepping.of(*(options.pop(name) for name in ("method", "dt", "rtol", "atol"))),
        "stabilization": Stabilization.of(options["stabilization"]),
        "every": Recording.of(options["every"]).every,
    }


@dataclass(frozen=True, eq=False)
class Study:
    """A study without the values of its axes. ``options`` are those of `sarrus.rollout`; it pickles if they do."""

    system: System
    axes: tuple[Axis, ...]
    q: Array
    v: Array
    u: Array | None
    options: dict[str, Any]
    outputs: tuple[str | OutputFunction, ...]

    @cached_property
    def course(self) -> RunOptions:
        """The checked options of each run; `ArgumentError` if they do not fit the system."""
        o, recording = self.options, Recording(self.options["every"], reduce=reductions(self.outputs))
        driven = self.u is not None or o["control"] is not None
        return many_options(
            self.system, o["method"], o["stabilization"], recording,
            t0=o["t0"], duration=o["duration"], driven=driven,
        )  # fmt: skip

    @cached_property
    def _closer(self) -> Closer | None:
        """The `Closer` that keeps initial values that are axes; None if the constraints do not affect them."""
        held_q, held_v = ([axis.index for axis in self.axes if axis.kind == kind] for kind in "qv")
        if self.system.nc == 0 or not (held_q or held_v):
            return None
        return Closer(self.system, held_q, held_v)

    def chunk(self, runs: int) -> int:
        """Return the default number of runs of a chunk: some megabytes, about a second, not too many files."""
        s, recording = self.system, self.course.recording
        steps = max(1.0, self.course.duration / self.course.step)
        width = 8 * (1 + s.nq + 2 * s.nv + s.nu + s.nc + 6)
        records = (steps / recording.every + 2 if recording.every else 1) + len(recording.reduce)
        most = max(bl.LANES, min(CHUNK_STEPS / steps, CHUNK_BYTES / (width * records), runs))
        return int(bl.LANES * np.ceil(max(most, runs / CHUNKS) / bl.LANES))

    def run(self, values: Mapping[str, Array], threads: int | None = None) -> dict[str, Variable]:
        """Return the columns of the runs with these values of the axes, arrays of one length by name."""
        s, course = self.system, self.course
        runs = len(next(iter(values.values())))
        q, v = np.tile(self.q, (runs, 1)), np.tile(self.v, (runs, 1))
        u = None if self.u is None else np.tile(self.u, (runs, *[1] * self.u.ndim))
        p, parameters = np.tile(np.array([*s.parameters.values()], dtype=float), (runs, 1)), {}
        for axis in self.axes:
            match axis.kind:
                case "p":
                    parameters[axis.name] = p[:, axis.index] = values[axis.name]
                case "u":
                    assert u is not None
                    u[..., axis.index] = values[axis.name].reshape(-1, *[1] * (u.ndim - 2))
                case kind:
                    (q if kind == "q" else v)[:, axis.index] = values[axis.name]
        status = np.full(runs, Status.OK)
        if self._closer is not None:
            q, v, status = self._closer.close(q, v, course.t0, p)
        done = rollout(
            s,
            q,
            v,
            u=u,
            parameters=parameters,
            reduce=course.recording.reduce,
            assemble=True,
            threads=threads,
            progress=False,
            **self.options,
        )
        columns = collect(done, self.outputs, status, course)
        taken = {"run", *columns, *(name for column in columns.values() for name in column.dimensions)}
        for axis in self.axes:
            if axis.name in taken:
                raise ArgumentError(
                    f"the result has an output or a dimension {axis.name!r}: give the parameter another name",
                    element=axis.name,
                )
        return columns


def controls(system: System, u: Any, axes: tuple[Axis, ...]) -> Array | None:
    """Return the controls (nu,) or (intervals, nu) that all runs share; None without any."""
    if u is None:
        return np.zeros(system.nu) if any(axis.kind == "u" for axis in axes) else None
    given = finite_array(u)
    if given is None or given.ndim not in (1, 2) or given.shape[-1] != system.nu:
        raise ArgumentError(
            f"{system.name}: u must be ({system.nu},) or (intervals, {system.nu}) finite numbers, the same for all "
            "runs; a control that differs from run to run is an axis 'u.NAME'",
            element="u",
        )
    return given.copy()
