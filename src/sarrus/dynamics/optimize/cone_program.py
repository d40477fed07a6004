"""`solve_cone_program`: quadratic costs, equalities, half-lines and second-order cones, with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.dynamics.optimize.tolerances import PROGRAM_ACCEPTED, PROGRAM_TARGET, WARM_SHIFT
from sarrus.kernels.memory import cone_layout as cl
from sarrus.kernels.platform.c_function import cone_program

ITERATIONS = 60

_STATUS = {
    cl.SOLVED: Status.OK,
    cl.INFEASIBLE: Status.INFEASIBLE,
    cl.UNBOUNDED: Status.UNBOUNDED,
    cl.STALLED: Status.NOT_CONVERGED,
    cl.CONTRADICTING: Status.INFEASIBLE,
    cl.NOT_FINITE: Status.NOT_FINITE,
}
_NOTHING = np.empty(0)
_FAULTS = {
    cl.BAD_DATA: "finite",
    cl.ASYMMETRIC: "symmetric",
    cl.INDEFINITE: "positive semidefinite, at least along the x that A x = 0 leaves free",
}


@dataclass(frozen=True, eq=False)
class ConeSolution(Answer):
    """The answer to a cone program with its certificate.

    Attributes
    ----------
    x : (n,) the variables; if infeasible the last iterate, if unbounded a direction: P x = 0, A x = 0, −G x ∈ K
        and qᵀx = −1.
    slack : (m,) s = h − G x ∈ K; if unbounded −G x.
    dual : (m,) z ∈ K, the multipliers of the rows: P x + q + Gᵀz + Aᵀy = 0, sᵀz = 0. If infeasible a certificate:
        Gᵀz + Aᵀy = 0 and hᵀz + bᵀy = −1; its large entries belong to the contradictory rows.
    multipliers : (e,) y of the equalities. If these are redundant, the one of minimum norm for rows of length one, in
        units in which the columns of A and G have size one.
    cost, dual_cost : ½ xᵀP x + qᵀx, and the lower bound −½ xᵀP x − hᵀz − bᵀy that z and y prove.
    gap : cost − dual_cost.
    primal_residual, dual_residual : largest entry of h − G x − s and A x − b, and of P x + q + Gᵀz + Aᵀy. If
        infeasible the latter of Gᵀz + Aᵀy; if unbounded of G x + s and A x, and of P x.
    rank : of A.
    iterations : of the interior-point method.
    status : OK, INFEASIBLE, UNBOUNDED, NOT_CONVERGED or NOT_FINITE.
    """

    x: Array
    slack: Array
    dual: Array
    multipliers: Array
    cost: float
    dual_cost: float
    gap: float
    primal_residual: float
    dual_residual: float
    rank: int
    iterations: int
    status: Status

    def __repr__(self) -> str:
        return (
            f"ConeSolution({self.status}, cost {self.cost:.9g}, gap {self.gap:.2g}, "
            f"residuals {self.primal_residual:.2g}, {self.dual_residual:.2g}, {self.iterations} iterations)"
        )


class ConeProgram:
    """Minimise ½ xᵀP x + qᵀx subject to A x = b and h − G x ∈ K, for a sequence of programs of equal sizes.

    K is the product of ``linear`` half-lines s ≥ 0 and then second-order cones ‖(s₁, s₂, …)‖ ≤ s₀ of the sizes
    ``cones``. Redundant equalities are found and count once; contradictory ones are INFEASIBLE. The cost need not be
    strictly convex: the minimum is then unique, x need not be.

    Parameters
    ----------
    variables, equalities : n and e.
    linear, cones : the parts of K.
    target : relative gap and residuals at which the iterations end; they end earlier if rounding allows no more, with
        OK if 1e-8 is reached.
    """

    def __init__(
        self,
        variables: int,
        *,
        equalities: int = 0,
        linear: int = 0,
        cones: Sequence[int] = (),
        target: float = PROGRAM_TARGET,
        iterations: int = ITERATIONS,
    ) -> None:
        sizes = [int(size) for size in cones]
        if variables < 1 or equalities < 0 or linear < 0 or any(size < 1 for size in sizes):
            raise ArgumentError(
                f"a cone program needs variables ≥ 1, equalities and linear ≥ 0 and cones of 1 row or more, got "
                f"{variables}, {equalities}, {linear}, {sizes}",
                element="cones",
            )
        # a cone of one row is a half-line too
        n, e, m = int(variables), int(equalities), int(linear) + sum(sizes)
        self.variables, self.equalities, self.rows = n, e, m
        self._table = table = cl.ConeTable.zeros(len(sizes) + e + m + n)
        table.variables, table.equalities, table.linear, table.cones = n, e, linear, len(sizes)
        table[cl.SIZES : cl.SIZES + len(sizes)] = sizes
        data, work, answer = cl.program_storage(table)
        self._data, self._work, self._answer = np.zeros(data), np.zeros(work), np.zeros(answer)
        self._limits = limits = cl.Limits.zeros()
        limits.target, limits.accepted = target, max(PROGRAM_ACCEPTED, target)
        limits.iterations, limits.warm_shift = iterations, WARM_SHIFT
        table.program, table.work, table.answer, table.limits = self._data, self._work, self._answer, limits
        shapes = {"P": (n, n), "q": (n,), "A": (e, n), "b": (e,), "G": (m, n), "h": (m,)}
        ends = [*accumulate(map(prod, shapes.values()), initial=0)]
        flat = (self._data[first:end] for first, end in pairwise(ends))
        self._parts = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), flat)}
        self._addresses = self._table.ctypes.data, self._data.ctypes.data
        self._solved = False

    def solve(
        self,
        P: ArrayLike,
        q: ArrayLike,
        G: ArrayLike | None = None,
        h: ArrayLike | None = None,
        A: ArrayLike | None = None,
        b: ArrayLike | None = None,
        *,
        warm: bool = False,
        throw: bool = True,
    ) -> ConeSolution:
        """Return the solution for these data; ``warm`` starts from the last solution, faster if the data change little.

        Raises `ArgumentError` for data of the wrong shape or not finite and for a P that is not symmetric or not
        positive semidefinite; `SolveError` if there is no solution, unless ``throw`` is False; its ``result`` is
        the `ConeSolution`.
        """
        for (name, part), value in zip(self._parts.items(), (P, q, A, b, G, h)):
            array = _NOTHING if value is None else real_array(value)
            if array.shape == part.shape:
                part[...] = array
            elif array.size or part.size:
                got = "None" if value is None else array.shape
                raise ArgumentError(f"{name} must have the shape {part.shape}, got {got}", element=name)
        verdict = cone_program.entry(*self._addresses, cl.WARM if warm and self._solved else cl.COLD)
        self._solved = verdict == cl.SOLVED
        if verdict in _FAULTS:
            faulty = (name for name, part in self._parts.items() if not np.isfinite(part).all())
            name = next(faulty) if verdict == cl.BAD_DATA else "P"
            raise ArgumentError(f"{name} must be {_FAULTS[verdict]}", element=name)
        solution = self._solution(_STATUS[verdict])
        if throw and not solution.status.ok:
            raise solution.status.error("cone program", result=solution)
        return solution

    def _solution(self, status: Status) -> ConeSolution:
        n, m, e = self.variables, self.rows, self.equalities
        answer = read_only(self._answer.copy())
        facts = answer[n + 2 * m + e :].tolist()
        return ConeSolution(
            answer[:n],
            answer[n : n + m],
            answer[n + m : n + 2 * m],
            answer[n + 2 * m : n + 2 * m + e],
            facts[cl.COST],
            facts[cl.DUAL_COST],
            facts[cl.GAP],
            facts[cl.PRIMAL],
            facts[cl.DUAL],
            int(facts[cl.RANK]),
            int(facts[cl.COUNT]),
            status,
        )


def solve_cone_program(
    P: ArrayLike,
    q: ArrayLike,
    G: ArrayLike | None = None,
    h: ArrayLike | None = None,
    A: ArrayLike | None = None,
    b: ArrayLike | None = None,
    *,
    linear: int | None = None,
    cones: Sequence[int] = (),
    target: float = PROGRAM_TARGET,
    throw: bool = True,
) -> ConeSolution:
    """Return the minimum of ½ xᵀP x + qᵀx subject to A x = b and h − G x ∈ K.

    Parameters
    ----------
    P, q : (n, n) symmetric positive semidefinite, (n,).
    G, h : (m, n), (m,): the rows, first ``linear`` half-lines h − G x ≥ 0 (by default all rows outside of cones),
        then second-order cones ‖(s₁, s₂, …)‖ ≤ s₀ of the sizes ``cones``. `sarrus.optimize.stack` builds them.
    A, b : (e, n), (e,): equalities, which may be redundant.
    target : relative gap and residuals to reach.
    throw : raise `SolveError` if there is no solution, instead of returning the status.

    Returns
    -------
    ConeSolution
        With residuals, gap and dual: the certificate of the answer, or of infeasibility.

    Source: a homogeneous embedding for quadratic costs (Goulart and Chen, 2024); see
    `sarrus.kernels.cones.interior_point`. Made for some tens of variables: dense, without a factorisation of more
    than n × n.
    """
    q = real_array(q)
    if q.ndim != 1 or q.size == 0:
        raise ArgumentError(f"q must be a vector, got shape {q.shape}", element="q")
    rows = 0 if h is None else real_array(h).size
    equalities = 0 if b is None else real_array(b).size
    rest = rows - sum(cones)
    if (rest if linear is None else linear) != rest or rest < 0:
        raise ArgumentError(
            f"linear and cones must add up to the {rows} rows of G, got {linear} and {tuple(cones)}",
            element="cones",
        )
    program = ConeProgram(q.size, equalities=equalities, linear=rest, cones=cones, target=target)
    return program.solve(P, q, G, h, A, b, throw=throw)
