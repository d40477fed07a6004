"""Threads that do the runs of a batch: each has arrays of its own, and no Python runs between the steps."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from sarrus.base.arrays import Array
from sarrus.control.laws.law import Law
from sarrus.dynamics.model.joint_limits import bounds_at, joint_limits
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.lane_layout import contact_lane_sizes, lane_sizes
from sarrus.kernels.platform.c_function import Kernel, advance, batch, lanes, prepare
from sarrus.motion.loop.contact_lane_functions import ContactLanes
from sarrus.motion.loop.integration import Integration
from sarrus.motion.loop.lane_functions import Lanes

# Steps of all runs that take less than a tenth of a second, so that an interrupt can wait for their end.
_SOON = 10_000
FOLDS = {"min": "least", "max": "greatest", "mean": "total", "rms": "squares"}


def default_threads() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


@dataclass(eq=False)
class Batch:
    """The arrays that all threads share, with a row for each run.

    ``bounds`` (runs, stops) are the joint limits in effect (`sarrus.dynamics.model.joint_limits`); ``begun`` (runs,
    nq) are the initial coordinates, NaN if no limits act.
    """

    states: Array
    inputs: Array | None
    samples: Array
    folds: dict[str, Array]
    times: bl.Times
    steps: int
    steps_held: int
    every: int
    bounds: Array
    begun: Array
    outcomes: Array = field(init=False)
    stop: Array = field(init=False)

    def __post_init__(self) -> None:
        self.outcomes = np.zeros((len(self.states), bl.N_OUTCOME))
        self.stop = np.zeros(1)

    def select(self, runs: np.ndarray) -> Batch:
        """Return a batch of some of the runs, with arrays of its own; `put_back` returns its results."""
        inputs = None if self.inputs is None else self.inputs[runs]
        folds = {name: fold[runs] for name, fold in self.folds.items()}
        return replace(
            self, states=self.states[runs], inputs=inputs, samples=self.samples[runs], folds=folds,
            bounds=self.bounds[runs], begun=self.begun[runs],
        )  # fmt: skip

    def put_back(self, runs: np.ndarray, part: Batch) -> None:
        """Write the results of a batch made by `select` to its rows of this one."""
        self.states[runs], self.outcomes[runs], self.samples[runs] = part.states, part.outcomes, part.samples
        self.bounds[runs], self.begun[runs] = part.bounds, part.begun
        for name, fold in self.folds.items():
            fold[runs] = part.folds[name]


class Worker:
    """The table, workspace and record buffer of one thread, over the shared arrays of a batch."""

    def __init__(
        self,
        loop: Integration,
        todo: Batch,
        functions: Lanes | None,
        contacts: ContactLanes | None,
        room: int,
    ) -> None:
        self.loop, self.shared, self.functions, self.contacts = loop, todo, functions, contacts  # kept alive
        table = loop.table
        self.x = np.zeros(la.input_size(table))
        self.table = own = bl.BatchTable.zeros()
        self.template = loop.state.copy()
        room = max(room, bl.STRETCH + 4)
        self.block = np.zeros((room, bl.record_width(table)))
        table.batch = own
        own.template, own.block, own.room, own.advance = self.template, self.block, room, advance.address
        shared = ("times", "states", "outcomes", "samples", "bounds", "steps", "steps_held", "every", "stop")
        for name in shared:
            setattr(own, name, getattr(todo, name))
        if todo.inputs is not None:
            own.inputs, own.n_intervals = todo.inputs, todo.inputs.shape[1]
        for name, fold in todo.folds.items():
            setattr(own, FOLDS[name], fold)
        if functions is not None:
            self.lanes = np.zeros(sum(lane_sizes(table)))
            own.work = self.lanes
            for name, function in functions.items():
                setattr(own, name, function.address)
        if contacts is not None:
            self._attach_contacts(contacts)
        own.n_samples = todo.samples.shape[1]
        self.kernel = batch if functions is None else lanes

    def _attach_contacts(self, contacts: ContactLanes) -> None:
        """Put the functions of time stepping in lanes into the table, with room for a step."""
        own, contact_run = self.table, self.loop.contact_run
        assert contact_run is not None
        for name, function in contacts.functions.items():
            setattr(own, name, function.address)
        self._slots, self._addresses = contacts.slots, contacts.addresses
        own.slots, own.problems, own.n_sizes = self._slots, self._addresses, len(contacts.sizes)
        own.most_contacts = max(size.contacts for size in contacts.sizes)
        own.most_single = max(size.single for size in contacts.sizes)
        own.dry = contacts.sizes[0].dry
        factors, _ = contacts.functions["stage"].outputs["factors"]
        own.n_factors = factors.stop - factors.start
        self.contact_lanes = np.zeros(
            sum(contact_lane_sizes(contact_run.contact_table, self.loop.table, own))
        )
        own.contact_work = self.contact_lanes

    def leave_out_samples(self) -> None:
        """Record nothing of runs with contacts in lanes, whose steps check their accelerations themselves."""
        if self.contacts is not None:
            self.table.n_samples = 0

    def run(self, first: int, last: int) -> None:
        """Do the runs from number ``first`` to before ``last``; a law starts anew in each."""
        law = getattr(self.loop, "law", None)
        if isinstance(law, Law):
            for run in range(first, last):
                law.reset()
                self.do(self.kernel, run, run + 1)
                if law.plant is not None:
                    law.plant.raise_error()
        else:
            self.do(self.kernel, first, last)

    def do(self, kernel: Kernel, first: int, last: int) -> None:
        """Call a kernel for the runs from number ``first`` to before ``last``."""
        self.table.first, self.table.last = first, last
        kernel(self.loop.table, self.x, 0)


def prepare_starts(worker: Worker, runs: int) -> Array:
    """Project the starts on the constraints; return the facts (runs, 5) of `sarrus.kernels.batch.batch.prepare`."""
    worker.do(prepare, 0, runs)
    begin_bounds(worker, slice(0, runs))
    return worker.shared.outcomes.copy()


def begin_bounds(worker: Worker, runs: slice | np.ndarray) -> None:
    """Widen the joint limits of runs that begin beyond them to their initial coordinates."""
    contact_run, shared = worker.loop.contact_run, worker.shared
    if contact_run is not None:
        system = worker.loop.system
        shared.begun[runs] = q = shared.states[runs][:, system.parts.q]
        shared.bounds[runs] = bounds_at(joint_limits(system), q, contact_run.settings.closed)


def do_runs(workers: list[Worker], runs: int, update: Callable[[float], None]) -> None:
    """Distribute the runs over the workers, a few at a time; ``update`` gets the number of finished runs.

    Long batches run beside the main thread, so that an interrupt reaches it and stops the workers.
    """
    portions, shared = count(0, bl.LANES), workers[0].shared
    done = count(1)

    def work(worker: Worker) -> None:
        while not shared.stop[0] and (first := next(portions)) < runs:
            worker.run(first, min(first + bl.LANES, runs))
            update(float(min(next(done) * bl.LANES, runs)))

    for worker in workers:
        worker.kernel.address  # noqa: B018  compiled before the threads start
    if len(workers) == 1 and 0 < shared.steps * runs <= _SOON:
        work(workers[0])
        return
    with ThreadPoolExecutor(len(workers)) as pool:
        try:
            for future in [pool.submit(work, worker) for worker in workers]:
                future.result()
        finally:
            shared.stop[0] = 1.0
