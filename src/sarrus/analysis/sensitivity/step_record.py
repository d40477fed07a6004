"""`StepRecord`: one step of the time-stepping kernel, with the impulses and active contacts of both passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.dynamics.contacts.contact_elements import contact_elements
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.contact.tolerances import SAME_TIME
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory.local_layout import local_sizes
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.c_function import time_step
from sarrus.motion.inputs.run_options import Recording, Stepping, run_options
from sarrus.motion.loop.time_loop import TimeLoop


@dataclass(frozen=True, eq=False)
class StepRecord:
    """A step from x to ``end``, which is not projected yet (both [q | v | u | t | p | τ]).

    Attributes
    ----------
    gaps : (unilateral,) [m, rad] at the start. bounds : of the stops [m, rad].
    active, rebounds : (unilateral,) masks. rest : (unilateral,) speeds below which they do not rebound [m/s, rad/s].
    closed : (unilateral,) gaps up to which they are closed [m, rad].
    restitution : (unilateral,) coefficients.
    rows : (m,) numbers of the active rows among all rows. owners : (m,) the element of each row.
    first, impulses : (m,) impulses of both passes [N s, N m s].
    ahead : (2, nv) velocities at the end by both passes.
    lasts : (m,) mask of rows that were closed at the start, and without an impact.
    contacts, dry : (number of rows, coefficient or limit [N s, N m s]) of the blocks of rows.
    """

    x: Array
    end: Array
    gaps: Array
    bounds: Array
    active: np.ndarray
    rebounds: np.ndarray
    rest: Array
    closed: Array
    restitution: Array
    rows: np.ndarray
    owners: np.ndarray
    first: Array
    impulses: Array
    ahead: Array
    lasts: np.ndarray
    contacts: list[tuple[int, float]]
    dry: list[tuple[int, float]]


def record_step(work: Workspace, x: Array, h: float, *, near: bool) -> StepRecord:
    """Return the `StepRecord` of the first step of a run from x; ``near``: with the middle projected.

    Raises `SolveError` if the kernel divides the step, or does not solve its contact problem.
    """
    stepping = Stepping.of(TIME_STEPPING, h, None, None)
    t = float(x[work.parts.t])
    options = run_options(work, stepping, "projection", Recording(), t0=t, duration=h, driven=False)
    loop = TimeLoop(work.copy(), options)
    loop.begin(x.copy())
    run = loop.contact_run
    assert run is not None
    run.refuse_depth(loop.x)
    loop.find_first_forces()
    loop.acceleration(
        loop.v.copy()
    )  # a run records its start, with the forces with which its first step begins
    start, room, local = loop.x.copy(), run.work, view_fields(run.local, local_sizes(loop.table))
    room.begin[:] = 0.0
    local.header.length = h
    if time_step(loop.table, loop.x, int(near)) < 0:
        raise SolveError(
            f"{work.name}: no derivatives of a step of {h:g} s from t = {t:g} s: its contact problem is not solved"
        )
    if abs(float(run.settings.length) - h) > SAME_TIME * h:
        raise SolveError(
            f"{work.name}: no derivatives of a step of {h:g} s from t = {t:g} s, which is taken in parts, because "
            "impulses change the velocities much. Take a smaller dt"
        )
    table, problem = run.contact_table, run.problem
    count, m = tl.unilateral_count(table), int(problem.rows)
    which = room.which[:m].astype(int)
    elements, blocks = contact_elements(work), run.problem_blocks
    owner = {row: k for k, one in enumerate(elements) for row in range(one.rows.start, one.rows.stop)}
    scales = np.array([one.unit / work.characteristic.length for one in elements[:count]])
    return StepRecord(
        x=start,
        end=local.state.copy(),
        gaps=room.gap[:count].copy(),
        bounds=run.bounds.copy(),
        active=room.active[:count] > 0.0,
        rebounds=room.active[:count] == tl.REBOUNDS,
        rest=np.where(scales == 1.0, float(run.settings.rest_speed), float(run.settings.rest_turn)),
        closed=float(run.settings.closed) * scales,
        restitution=run.restitution[:count].copy(),
        rows=which,
        owners=np.array([owner[row] for row in which.tolist()], dtype=int),
        first=room.begin[which],
        impulses=room.impulses[:m].copy(),
        ahead=np.array([room.first, room.ahead]),
        lasts=room.lasts[:m] > 0.0,
        contacts=blocks[: int(problem.contacts)],
        dry=blocks[int(problem.contacts) :],
    )
