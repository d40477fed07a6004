"""`study`: a parameter study or Monte Carlo simulation of one system, on this machine or on a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base import interrupts
from sarrus.base.arrays import Array
from sarrus.base.errors import check_is
from sarrus.base.files.netcdf import Variable
from sarrus.base.progress import ProgressBar, progress_bar
from sarrus.base.version import __version__
from sarrus.dynamics.system import System
from sarrus.motion.inputs.run_options import check_count
from sarrus.runs.studies.axes import Axes, read_axes
from sarrus.runs.studies.dataset import in_memory
from sarrus.runs.studies.identity import describe, digest
from sarrus.runs.studies.quantities import DEFAULT, OutputFunction, check_outputs
from sarrus.runs.studies.remote import remotely
from sarrus.runs.studies.specification import Study, controls, shared_options
from sarrus.runs.studies.store import Store

if TYPE_CHECKING:
    import xarray as xr

Part = tuple[int, dict[str, Variable]]


def study(
    system: System,
    grid: Mapping[str, ArrayLike] | None = None,
    samples: Mapping[str, ArrayLike] | None = None,
    *,
    duration: float,
    outputs: Sequence[str | OutputFunction] = DEFAULT,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    u: ArrayLike | None = None,
    store: str | Path | None = None,
    chunk: int | None = None,
    client: Any = None,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> xr.Dataset:
    """Return an `xarray.Dataset` with the results of a run for each point of a grid, or for each of many samples.

    Parameters
    ----------
    grid : values by name of an axis; all combinations are run, and the result has a dimension for each axis.
    samples : values by name of an axis, all of one length, a run for each (see `sarrus.studies.draw`); the
        result has the dimension run, with the values as its coordinates. Axes are parameters by their names in
        ``system.parameters``, initial coordinates "q.NAME", initial velocities "v.NAME" and controls "u.NAME". The
        loops of each start are closed by changing coordinates that are not axes; its velocity is then made admissible
        by changing velocities that are not axes. If this is impossible the run has the status NOT_CLOSED, or
        INCONSISTENT for a velocity that contradicts the constraints.
    outputs : quantities to keep, by name: "q", "v", "a", "u", "multipliers", "energy", "residual", "rank", "condition"
        at the end (with ``every`` at all samples); "energy.max" and so on with min, max, mean and rms over all steps or
        samples, as ``reduce`` of `rollout`; "final_q" and "final_v" at the time reached; "steps", "rejected". Also
        functions f(rollout) of the runs of a chunk, which return a mapping of names to arrays (runs, …), or to pairs of
        the names of the dimensions after the runs and an array. Status and time reached are always kept.
    q, v : start of all runs, except for axes. Default: the reference pose, at rest.
    u : (nu,) controls, or (intervals, nu), each held for its part of the duration.
    duration, threads : as in `rollout`.
    store : folder for finished chunks. The same call with the same folder does the missing ones; a folder with another
        study is an `ArgumentError` that lists the differences. Several processes may make the same call at the same
        time and share the chunks. A damaged file is a `StoreWarning`, and its runs are repeated. None: all in memory.
    chunk : number of runs that are done, stored and sent at a time; default: some megabytes, about a second.
    client : a `dask.distributed.Client`; the chunks then run on its workers, each of which compiles the model once.
        Needs a system made from a `Mechanism`. Chunks of a worker that dies are repeated by others.
    progress : bar on stderr; default: for long calls in a terminal.
    options : options of `rollout` for every run: dt, t0, control, method, rtol, atol, stabilization, every, switching,
        side_by_side.

    Returns
    -------
    xarray.Dataset With a ``store`` it is read from disk on access. A run that fails has its ``status``, NaN for missing
        numbers (−1 for integers), and the time ``reached``. An interrupt (Ctrl-C) leaves the finished chunks in the
        store and is raised; without a store the result is returned with the other runs INTERRUPTED.

    Results have the same bits for the same ``chunk``, after interrupts and kills, on one thread or many, on one machine
    or several with the same instruction set.
    """
    check_is("study", system, System)
    axes = read_axes(system, grid, samples)
    if chunk is not None:
        check_count("chunk", chunk, " of runs")
    study = Study(
        system=system,
        axes=axes.axes,
        q=np.array(system.normalized(system.neutral() if q is None else q)),
        v=np.zeros(system.nv) if v is None else np.array(system.checked(v, system.nv, "v")),
        u=controls(system, u, axes.axes),
        options=shared_options(duration, options),
        outputs=check_outputs(outputs),
    )
    return _results(study, axes, store, chunk, client, threads, progress)


def _results(
    study: Study,
    axes: Axes,
    store: str | Path | None,
    chunk: int | None,
    client: Any,
    threads: int | None,
    progress: bool | None,
) -> xr.Dataset:
    """Do the runs, in memory or in a store, and return the dataset."""
    identity, usual = describe(study, axes), study.chunk(axes.runs)
    attributes = {"name": study.system.name, "sarrus_version": __version__, "study": json.dumps(identity)}
    size = usual if chunk is None else int(chunk)
    do = partial(_parts, study, axes, identity, client, threads)
    with progress_bar(axes.runs, progress, "runs") as bar:
        if store is None:
            with interrupts.held():
                parts = _until_interrupted(do(size, range(0, axes.runs, size)), bar)
                return in_memory(study, axes, attributes, parts)
        with interrupts.allowed(), Store(store, identity, size, axes.runs, requested=chunk) as kept:
            while (result := kept.open()) is None:
                waiting = True
                for first, columns in do(kept.chunk, kept.claims()):
                    kept.keep(first // kept.chunk, columns)
                    bar.update(kept.done)
                    waiting = False
                if waiting and not kept.merge(study, axes, attributes):
                    kept.wait()
            kept.tidy()
            return result


def _parts(
    study: Study,
    axes: Axes,
    identity: dict[str, Any],
    client: Any,
    threads: int | None,
    size: int,
    todo: Iterable[int],
) -> Iterator[Part]:
    """Do the chunks of ``size`` that begin at the runs ``todo``; yield the first run of each, and its columns."""

    def values(first: int) -> dict[str, Array]:
        return axes.part(first, min(first + size, axes.runs))

    if client is None:
        return ((first, study.run(values(first), threads)) for first in todo)
    return remotely(client, study, digest(identity), todo, values)


def _until_interrupted(parts: Iterator[Part], bar: ProgressBar) -> Iterator[Part]:
    """Yield the parts done before an interrupt, which is raised if there are none."""
    done = 0
    while True:
        try:
            with interrupts.allowed():
                part = next(parts, None)
        except KeyboardInterrupt:
            if not done:
                raise
            part = None
        if part is None:
            return
        yield part
        done += len(part[1]["status"].values)
        bar.update(done)
