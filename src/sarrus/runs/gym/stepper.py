"""`Stepper`: many copies of a system that advance together, from one control to the next."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.model.control_limits import control_bounds
from sarrus.dynamics.system import System
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory import run_state as rs
from sarrus.kernels.platform.c_function import prepare
from sarrus.motion.inputs.run_options import RunOptions
from sarrus.motion.many.one_by_one import do_alone, find_jumps
from sarrus.motion.many.plan import Plan, groups
from sarrus.motion.many.starts import pack_states, warn_of_runs
from sarrus.motion.many.tolerances import GENERIC_PIVOT
from sarrus.motion.many.workers import Worker, begin_bounds, default_threads

# Fewer copies than this for each thread are not worth a thread.
_SHARE = 32


class Stepper:
    """The states of ``count`` copies, and the arrays that `sarrus.rollout` would build anew for every interval.

    ``q``, ``v``, ``parameters`` are views into ``states``, x = [q | v | u | t | p | τ] with a row for each copy:
    assigned values take effect at the next step. ``u`` are the controls of the last one, ``t`` the times [s], up to
    ``horizon``. All copies have the generic ranks of A near the initial configuration.
    """

    def __init__(
        self,
        system: System,
        count: int,
        q: Array,
        v: Array,
        options: RunOptions,
        threads: int | None,
        horizon: float,
    ) -> None:
        s = self.system = system.workspace().copy()
        e = system.equations
        expressions = [value for value in vars(e).values() if isinstance(value, ca.SX) and value is not e.t]
        self.driven_by_time = bool(ca.depends_on(ca.veccat(*expressions), e.t))
        most = 1 if self.driven_by_time else max(1, min(threads or default_threads(), count // _SHARE))
        plan = Plan(s, options, control=None, threads=most, side_by_side=not self.driven_by_time)
        states = pack_states(s, count, q, v, 0.0, {})
        todo = plan.batch(states, np.zeros((count, 1, s.nu)))
        self._plan, self._jumps = plan, find_jumps(plan, todo, horizon)
        group = next(groups(plan, todo, True), None)
        if group is None:
            raise ArgumentError(f"{s.name}: the loops cannot be closed from the initial q", element="q")
        self._batch = group.todo
        self._workers = plan.workers(group)
        self._pool = ThreadPoolExecutor(len(self._workers)) if len(self._workers) > 1 else None
        for worker in self._workers:
            worker.kernel.address  # noqa: B018  compiled before the threads start
            worker.leave_out_samples()
        self.count, self.interval = count, options.duration
        self.bounds = control_bounds(system)
        self.t = np.zeros(count)
        x = self.states = self._batch.states
        self.q, self.v, self.parameters = x[:, s.parts.q], x[:, s.parts.v], x[:, s.parts.p]
        self.u = self._batch.inputs[:, 0, :]  # type: ignore[index]
        self._start, self._warned = x.copy(), False
        self._warn(np.arange(count))

    def place(self, rows: np.ndarray) -> np.ndarray:
        """Project copies, whose q, v and parameters were assigned, on the constraints, and set their time to 0.

        Returns the rows of copies whose loops cannot be closed, or where A has a higher rank than at the initial
        configuration.
        """
        batch, worker = self._batch, self._workers[0]
        batch.states[rows, self.system.parts.t] = 0.0
        self.t[rows] = 0.0
        for row in rows:
            self._go_beside(row)
            worker.do(prepare, int(row), int(row) + 1)
            if worker.loop.contact_run is not None:
                worker.loop.contact_run.refuse_depth(batch.states[row], f"copy {row}: ")
        begin_bounds(worker, rows)
        self._warn(rows)
        outcomes = batch.outcomes[rows]
        return np.asarray(rows[(outcomes[:, bl.PROJECTED] != 1.0) | (outcomes[:, bl.BEYOND] > GENERIC_PIVOT)])

    def back(self, rows: np.ndarray) -> None:
        """Set copies to the initial state and parameters."""
        self._batch.states[rows] = self._start[rows]
        begin_bounds(self._workers[0], rows)
        self.t[rows] = 0.0

    def advance(self, u: Array) -> np.ndarray:
        """Advance all copies by an interval with the controls u (count, nu) held, within the actuators' limits.

        Returns the rows of copies that failed, whose status is in `failure`; their state is that before the interval.
        """
        batch = self._batch
        np.clip(u, self.bounds[0], self.bounds[1], out=self.u)
        before, bounds = batch.states.copy(), batch.bounds.copy()
        if self.driven_by_time:
            for row in range(self.count):
                self._row(row)
        else:
            batch.states[:, self.system.parts.t] = 0.0
            self._all()
        self.t += self.interval
        codes = batch.outcomes[:, bl.CODE]
        if not codes.any():  # rs.DONE is 0
            return _NONE
        failed = np.flatnonzero(codes != rs.DONE)
        batch.states[failed], batch.bounds[failed] = before[failed], bounds[failed]
        self.t[failed] -= self.interval
        return failed

    def _warn(self, rows: np.ndarray) -> None:
        """Warn once if copies begin beyond limits of their joints."""
        if not self._warned and self._workers[0].loop.contact_run is not None:
            self._warned = warn_of_runs(self.system, self._batch.begun, rows, "copy", stacklevel=4)

    def failure(self, rows: np.ndarray) -> np.ndarray:
        """Return the status of the last interval of copies, numbers of `sarrus.Status`."""
        return self._batch.outcomes[rows, bl.CODE].astype(np.int64)

    def _all(self) -> None:
        if self._pool is None:
            self._portions(self._workers[0], 0)
            return
        for future in [self._pool.submit(self._portions, w, k) for k, w in enumerate(self._workers)]:
            future.result()

    def _portions(self, worker: Worker, number: int) -> None:
        """Do the copies of worker ``number``: of n workers each has about 1/n of them, in whole portions of LANES."""
        share = -(-self.count // (bl.LANES * len(self._workers))) * bl.LANES
        first = min(number * share, self.count)
        worker.do(worker.kernel, first, min(first + share, self.count))

    def _row(self, row: int) -> None:
        """Advance one copy at its own time."""
        worker, t = self._workers[0], self.t[row]
        self._batch.times.begin, self._batch.times.end = t, t + self.interval
        worker.template.start = worker.template.grid_start = t
        self._batch.states[row, self.system.parts.t] = t
        self._go_beside(row)
        now, end = float(self._batch.states[row, self.system.parts.t]), t + self.interval
        if self._jumps is not None and self._jumps.next(now, end) is not None:
            plan = replace(self._plan, options=replace(self._plan.options, t0=float(t)))
            do_alone(plan, self._batch, row, self._jumps)
        else:
            worker.do(worker.kernel, row, row + 1)

    def _go_beside(self, row: int) -> None:
        """Move the time of a copy to one side of the jump of a drive, if it is at one."""
        if self._jumps is not None:
            s, x = self.system, self._batch.states[row]
            x[s.parts.t] = self._jumps.beginning(s, x[s.parts.q], x[s.parts.v], float(x[s.parts.t]))

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown()


_NONE = np.zeros(0, dtype=np.int64)
