"""Forward dynamics at one state: the answer of the kernel, and a closer look if its status is not OK."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from numpy import empty, ndarray
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.base.status import Status
from sarrus.dynamics.closing.assembly import kinetic_rank
from sarrus.dynamics.closing.closed_state import what_is_open
from sarrus.dynamics.closing.rigidity import held, is_blocked
from sarrus.dynamics.model.inertia import ill_posed, is_singular_at
from sarrus.dynamics.model.rounding import only_rounding
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.solve.tolerances import CONTRADICTED_ROWS
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.memory import layout as la
from sarrus.kernels.solve.forward import MAYBE_OPEN

_OK, _NOT_ARRAYS = Status.OK, la.NOT_ARRAYS  # looked up once: a call takes about a microsecond


def forward_dynamics(
    work: Workspace,
    q: ArrayLike,
    v: ArrayLike,
    u: ArrayLike | None = None,
    t: float = 0.0,
    tau: ArrayLike | None = None,
    throw: bool = True,
    may_be_open: bool = False,
) -> ForwardDynamics:
    """Return acceleration, constraint force, multipliers, rank and status; see `sarrus.System.forward_dynamics`.

    ``may_be_open``: open loops are not an error, as in runs without projection.
    """
    parameters = work.parameters
    if not work.is_ready or work.switched != parameters.switched:
        _prepare(work, q, v, t)
    if u is not None or work.has_controls:
        work.x[work.parts.u] = 0.0 if u is None else work.checked(u, work.nu, "u")
        work.has_controls = u is not None
    if parameters:
        work.x[work.parts.p] = list(parameters.values())
    work.is_plain = work.is_ready and not (parameters or work.has_controls)
    return solved(work, q, v, t, tau, throw, may_be_open)


def solved(
    work: Workspace,
    q: ArrayLike,
    v: ArrayLike,
    t: float,
    tau: ArrayLike | None,
    throw: bool,
    may_be_open: bool = False,
) -> ForwardDynamics:
    """Return the answer for the controls and parameters in the workspace, which is prepared."""
    out, code = empty(work.output_size), _NOT_ARRAYS
    if type(t) is not float:
        t = work.checked_time(t)
    if type(q) is type(v) is ndarray and (tau is None or type(tau) is ndarray):
        # arrays of another type or length: convert them, or raise the error about them
        code = work.forward(q, v, work.no_force if tau is None else tau, t, out)
    if code == work.ordinary:
        return ForwardDynamics(work, out, code, _OK, t)
    return _second_look(work, out, code, q, v, t, tau, throw, may_be_open)


def _prepare(work: Workspace, q: ArrayLike, v: ArrayLike, t: float) -> None:
    """Compile the functions for forward dynamics and find the generic rank."""
    work.load_forward()
    x = work.pack(q, v, None, t)
    try:
        generic_rank(work, x[work.parts.q], float(x[work.parts.t]), x[work.parts.v])
    except SolveError:
        return  # the constraints are not finite here: the status of the solve reports it
    finally:
        work.load_functions("dynamics", "checked", "position", "velocity")
    # Code of an OK answer; with a non-ideal force, or at a rigid q, every answer gets the closer look.
    second_look = not work.model.is_ideal or work.motions_left is not None
    work.ordinary = -2 if second_look else int(work.table.generic_rank)
    work.is_ready = True


def _second_look(
    work: Workspace,
    out: Array,
    code: int,
    q: ArrayLike,
    v: ArrayLike,
    t: float,
    tau: ArrayLike | None,
    throw: bool,
    may_be_open: bool,
) -> ForwardDynamics:
    """Return the answer of a solve whose status is not OK, or raise if there is none."""
    x = work.pack(q, v, None, t)
    x[work.parts.u] = work.x[work.parts.u]
    tau = work.no_force if tau is None else work.checked(tau, work.nv, "tau")
    t = float(x[work.parts.t])
    q, v, facts = x[work.parts.q], x[work.parts.v], out[2 * work.nv + work.nc :].view(la.Facts)
    again = partial(work.forward, q, v, tau, t, out)
    outcome, rank = _read(again() if code in (la.NOT_ARRAYS, la.NOT_UNIT) else code)
    if outcome >= 0 and not may_be_open and (reason := what_is_open(work, work.normalized(q), t)):
        return ForwardDynamics(work, out, rank, Status.NOT_CLOSED, t, reason=reason)
    if (
        outcome == la.SINGULAR_ANSWER
        or (outcome == la.INCONSISTENT_ANSWER and facts.beyond > CONTRADICTED_ROWS * facts.largest)
        or (outcome == la.INCONSISTENT_ANSWER and rank < work.table.generic_rank)
        or (outcome >= 0 and work.motions_left is not None)
    ):
        # The rank nearby may differ from where it was found: determine it again here.
        generic_rank(work, work.normalized(q), t, v, renew=True)
        outcome, rank = _read(again())
        _prepare(work, q, v, t)
    if outcome == la.NO_ANSWER and is_singular_at(work, q, t) and work.expect_singular_mass():
        outcome, rank = _read(again())
        _prepare(work, q, v, t)
    if outcome == la.INCONSISTENT_ANSWER:
        outcome, rank = _with_more_rows(work, q, v, t, out, again) or (outcome, rank)
    if not work.model.is_ideal:
        out[work.nv + work.nc : 2 * work.nv + work.nc] += work.compiled.function("non_ideal")(x)
    motions = work.motions_left
    if outcome >= 0 and motions is not None and is_blocked(work, q, v, t, out[: work.nv], motions):
        x[work.parts.tau] = tau
        a, multipliers, unbalanced, facts.residual = held(work, x, motions)
        force = out[work.nv + work.nc : 2 * work.nv + work.nc]
        force += work.constraint_jacobian(q, v, t).T @ (multipliers - out[work.nv : work.nv + work.nc])
        out[: work.nv], out[work.nv : work.nv + work.nc] = a, multipliers
        return ForwardDynamics(work, out, rank, Status.RIGID, t, unbalanced)
    if outcome < 0:
        status = work.diagnose(x)
        if throw:
            raise status.error(work.name, ill_posed(work, q, v, t) if status is Status.ILL_POSED else "")
        return ForwardDynamics(work, out, rank, status, t)
    if outcome == la.INCONSISTENT_ANSWER and only_rounding(work, x, out[: work.nv], rank):
        outcome = la.SINGULAR_ANSWER if rank < work.table.generic_rank else la.COMPLETE_ANSWER
    return ForwardDynamics(work, out, rank, Status(outcome), t)


def _read(code: int) -> tuple[int, int]:
    """Return the outcome and the rank from a code of the kernel; rank −1 without an answer."""
    if code <= MAYBE_OPEN:
        code = MAYBE_OPEN - code
    return divmod(code, la.STRIDE) if code >= 0 else (code, -1)


def _with_more_rows(
    work: Workspace, q: Array, v: Array, t: float, out: Array, again: Callable[[], int]
) -> tuple[int, int] | None:
    """Solve again with the rank of A in the kinetic metric if it is higher and removes a contradiction; else None.

    Velocities in units that differ by many decades can hide rank in characteristic units.
    """
    known, found = int(work.table.generic_rank), kinetic_rank(work, q, t, v)
    if found <= known:
        return None
    kept, work.table.generic_rank = out.copy(), found
    outcome, rank = _read(int(again()))
    if outcome == la.COMPLETE_ANSWER and rank == found:
        work.is_ready = work.is_plain = False
        return outcome, rank
    work.table.generic_rank, out[:] = known, kept
    return None
