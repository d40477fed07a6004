"""`check_invariants`: whether functions of the state are invariants of a motion, and independent of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is
from sarrus.base.status import Answer, Status
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.solve.forward_dynamics import forward_dynamics
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT
from sarrus.kernels.solve.tolerances import INVARIANT_CHANGED
from sarrus.motion.inputs.invariants import (
    ENERGY,
    Invariant,
    InvariantFunctions,
    TracedInvariants,
    checked_invariants,
)
from sarrus.motion.loop.tolerances import DEPENDENT_GRADIENT

# Velocities beside that of a start at which gradients are looked at where they depend on each other there.
_OTHERS = 2


@dataclass(frozen=True, eq=False)
class InvariantCheck(Answer):
    """The result of `check_invariants` at one state.

    Attributes
    ----------
    names : of the rows (k).
    values : I (k). rates : dI/dt (k) of the motion at this state [1/s times the unit of I]. sizes : (k,) scale of a
        value that is small: its change by velocities of one characteristic unit per second.
    rank : rank of the gradients on the null space of the constraints at this state, the number of invariants that a
        projection can keep at once. It is lower at relative equilibria, such as a steady turn about a principal axis.
    redundant : names of the rows whose gradients depend on the constraints and on the rows before them, at generic
        states.
    changed : names of the rows that the motion changes, which are not invariants. The status is then NOT_INVARIANT.
    """

    names: tuple[str, ...]
    values: Array
    rates: Array
    sizes: Array
    rank: int
    redundant: tuple[str, ...]
    changed: tuple[str, ...]
    status: Status

    @property
    def message(self) -> str:
        """Return the sentence that names the rows that change, and the redundant ones."""
        told = [
            f"{name!r} changes by {rate:.4g} a second"
            for name, rate in zip(self.names, self.rates)
            if name in self.changed
        ]
        if self.redundant:
            told.append(redundancy(self.names, self.redundant))
        return "; ".join(told) or self.status.diagnosis


def check_invariants(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    u: ArrayLike | None = None,
    t: float = 0.0,
    *,
    invariants: Sequence[str | Invariant],
) -> InvariantCheck:
    """Return an `InvariantCheck`: whether functions of the state stay constant in the motion from (q, v) at time t.

    q (nq,), v (nv,; default zero), controls u (nu,; default zero). ``invariants`` as in `sarrus.Stabilization`. The
    state is projected on the constraints first. A rate of zero at one state is necessary, not sufficient: runs check
    the rate along the whole motion and end with NOT_INVARIANT.
    """
    check_is("check_invariants", system, System)
    s = system.workspace().copy()
    traced = TracedInvariants.of(system, checked_invariants(invariants))
    functions = traced.functions(s.compiled)
    x = s.pack(s.normalized(q), v, u, t)
    if s.nc:
        s.load_functions("dynamics", "position", "velocity", "rate")
        s.project(x)
    a = forward_dynamics(s, x[s.parts.q], x[s.parts.v], x[s.parts.u], t, throw=False).a
    values, rates = functions.values(x), functions.rates(np.concatenate([x, a]))
    rank, redundant = ranks(s, functions, traced.names, x)
    sizes = np.maximum(traced.sizes, np.abs(values))
    changed = tuple(np.array(traced.names)[np.abs(rates) > INVARIANT_CHANGED * sizes].tolist())
    return InvariantCheck(
        traced.names, read_only(values), read_only(rates), read_only(traced.sizes), rank, redundant, changed,
        Status.NOT_INVARIANT if changed else Status.OK,
    )  # fmt: skip


def ranks(
    system: Evaluations, functions: InvariantFunctions, names: Sequence[str], x: Array
) -> tuple[int, tuple[str, ...]]:
    """Return (rank of the gradients on the null space of A at x, names of the redundant rows).

    A row is redundant if its gradient depends on the constraints and the rows before it at x and at the same q with
    other velocities. Raises `ArgumentError` if a value or a gradient is not finite.
    """
    values = functions.projected(x)
    for k, name in enumerate(names):
        own = system.equations.nh + system.nc + k
        gradient = functions.projected.outputs["jacobian"]
        row = values[gradient[0]].reshape(gradient[1])[own]
        if not (np.isfinite(values[own]) and np.isfinite(row).all()):
            raise ArgumentError(
                f"{system.name}: the invariant {name!r} or its gradient is not a number at q = {x[system.parts.q]}, "
                f"v = {x[system.parts.v]}",
                element=name,
            )
    here = _dependent(system, functions, x)
    rng, found = np.random.default_rng(5), here
    for _ in range(_OTHERS if here else 0):
        other = x.copy()
        signs = rng.choice([-1.0, 1.0], system.nv)
        other[system.parts.v] += rng.uniform(0.5, 1.5, system.nv) * signs / system.characteristic.columns
        there = _dependent(system, functions, other)
        found = there if len(there) <= len(found) else found
    return len(names) - len(here), tuple(names[k] for k in found)


def _dependent(system: Evaluations, functions: InvariantFunctions, x: Array) -> list[int]:
    """Return the numbers of the gradients that depend, at x, on the constraints and the gradients before them."""
    size, own = system.characteristic, system.equations.nh + system.nc
    start = functions.projected.outputs["jacobian"]
    jacobian = functions.projected(x)[start[0]].reshape(start[1]) / np.tile(size.columns, 2)
    held, gradients = jacobian[:own], jacobian[own:]
    if own:
        factors = np.concatenate([size.rows[: system.equations.nh], size.rows])
        motions = ranked(held * factors[:, None], relative=RANK_CUT).null
    else:
        motions = np.eye(jacobian.shape[1])
    lengths = np.linalg.norm(gradients, axis=1)
    rows = gradients @ motions / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    kept, found = list[int](), list[int]()
    for k in range(len(rows)):
        tried = rows[[*kept, k]]
        least = np.linalg.svd(tried, compute_uv=False)[-1] if tried.size else 0.0
        full = len(kept) < motions.shape[1] and least > DEPENDENT_GRADIENT
        (kept if full else found).append(k)
    return found


def redundancy_at(system: Workspace, traced: TracedInvariants, x: Array) -> str:
    """Return the sentence that names redundant invariants at the start of a run; "" if there are none.

    The energy alone is never checked.
    """
    if traced.names == (ENERGY,):
        return ""
    _, redundant = ranks(system, traced.functions(system.compiled), traced.names, x)
    return redundancy(traced.names, redundant) if redundant else ""


def redundancy(names: Sequence[str], redundant: Sequence[str]) -> str:
    """Return the sentence that names redundant invariants and gives their rank."""
    told, rank = ", ".join(map(repr, redundant)), len(names) - len(redundant)
    return f"invariants of rank {rank}, of {len(names)}: the constraints and those before fix {told}"
