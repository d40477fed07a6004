"""What is done where the first solve of forward dynamics has no ordinary answer: look for the rank again, here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.base.status import Status
from sarrus.dynamics import assembly
from sarrus.dynamics.inertia import ill_posed, is_singular_at
from sarrus.dynamics.rigidity import held, is_blocked
from sarrus.dynamics.rounding import only_rounding
from sarrus.dynamics.solves import ForwardDynamics
from sarrus.kernels import layout as la

if TYPE_CHECKING:
    from sarrus.dynamics.system import System


def incomplete(
    system: System,
    out: Array,
    code: int,
    q: ArrayLike,
    v: ArrayLike,
    t: float,
    tau: ArrayLike | None,
    throw: bool,
) -> ForwardDynamics:
    """Return the answer of a solve that is not an ordinary one, or raise where there is none."""
    x = system.pack(q, v, None, t)
    x[system._u_part] = system._x[system._u_part]
    tau = system._no_force if tau is None else system.checked(tau, system.nv, "tau")
    t = float(x[system._t_index])
    q, v, facts = x[system._q_part], x[system._v_part], out[2 * system.nv + system.nc :]
    if code in (la.NOT_ARRAYS, la.NOT_UNIT):
        code = system._forward(system.table, q, v, tau, t, out)
    outcome, rank = divmod(code, la.STRIDE) if code >= 0 else (code, -1)
    if (
        outcome == la.SINGULAR_ANSWER
        or (outcome == la.INCONSISTENT_ANSWER and facts[la.BEYOND] > 1e-3 * facts[la.LARGEST])
        or (outcome == la.INCONSISTENT_ANSWER and rank < system.table[la.GENERIC_RANK])
        or (outcome >= 0 and system.motions_left is not None)
    ):
        # The rank nearby may differ from where it was found: look again, here.
        system.ensure_generic_rank(system.normalized(q), t, v, renew=True)
        code = system._forward(system.table, q, v, tau, t, out)
        outcome, rank = divmod(code, la.STRIDE) if code >= 0 else (code, -1)
        system._prepare(q, v, t)
    if outcome == la.NO_ANSWER and is_singular_at(system, q, t) and system.expect_singular_mass():
        code = system._forward(system.table, q, v, tau, t, out)
        outcome, rank = divmod(code, la.STRIDE) if code >= 0 else (code, -1)
        system._prepare(q, v, t)
    if outcome == la.INCONSISTENT_ANSWER:
        code = _with_more_rows(system, q, v, tau, t, out, code)
        outcome, rank = divmod(code, la.STRIDE)
    if system._non_ideal:
        out[system.nv + system.nc : 2 * system.nv + system.nc] += system.compiled.function("non_ideal")(x)
    motions = system.motions_left
    if outcome >= 0 and motions is not None and is_blocked(system, q, v, t, out[: system.nv], motions):
        x[system._tau_part] = tau
        answer = held(system, x, motions)
        force = out[system.nv + system.nc : 2 * system.nv + system.nc]
        force += system.constraint_jacobian(q, v, t).T @ (
            answer.multipliers - out[system.nv : system.nv + system.nc]
        )
        out[: system.nv], out[system.nv : system.nv + system.nc] = answer.a, answer.multipliers
        facts[la.RESIDUAL] = answer.residual
        return ForwardDynamics(system, out, rank, Status.RIGID, t, answer.unbalanced)
    if outcome < 0:
        status = system.diagnose(x)
        if throw:
            what = ill_posed(system, q, v, t) if status is Status.ILL_POSED else status.diagnosis
            raise SolveError(f"{system.name}: {what}. {status.remedy}")
        return ForwardDynamics(system, out, rank, status, t)
    if outcome == la.INCONSISTENT_ANSWER and only_rounding(system, x, out[: system.nv], rank):
        outcome = la.SINGULAR_ANSWER if rank < system.table[la.GENERIC_RANK] else la.COMPLETE_ANSWER
    return ForwardDynamics(system, out, rank, Status(outcome), t)


def _with_more_rows(system: System, q: Array, v: Array, tau: Array, t: float, out: Array, code: int) -> int:
    """Solve once more with the rank that A has in the kinetic metric, if that is more, and it ends a contradiction.

    Velocities in units that are many decades apart may hide it where it was found.
    """
    known, found = int(system.table[la.GENERIC_RANK]), assembly.kinetic_rank(system, q, t, v)
    if found <= known:
        return code
    kept, system.table[la.GENERIC_RANK] = out.copy(), found
    system._plain_ready = False
    again = int(system._forward(system.table, q, v, tau, t, out))
    if again == found:
        system._ready = False
        return again
    system.table[la.GENERIC_RANK], out[:] = known, kept
    return code
