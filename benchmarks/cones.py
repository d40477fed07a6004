"""Cone programs: answers on random force distributions against Clarabel, and times of a standing quadruped's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from benchmarks.clarabel_peer import clarabel_solver
from benchmarks.cone_instances import FAMILIES, Instance, instance
from benchmarks.cone_speed import speed_rows
from benchmarks.rows import Row, conditions
from benchmarks.timing import summarize
from sarrus.base.status import Status
from sarrus.dynamics.optimize import ConeSolution, solve_cone_program

TOLERANCE = 1e-12
# Differences above which the benchmark fails, relative to 1 + |cost| and 1 + |u|.
COST, CONTROLS = 1e-7, 1e-6
# What Clarabel's words say about the program.
VERDICTS = {
    "Solved": Status.OK,
    "AlmostSolved": Status.OK,
    "PrimalInfeasible": Status.INFEASIBLE,
    "AlmostPrimalInfeasible": Status.INFEASIBLE,
}


@dataclass(frozen=True)
class Outcome:
    """One instance: both times [s], Clarabel's status, differences where it gives an answer, our own error bound."""

    seed: int
    ours: float
    theirs: float
    status: str
    finite: bool
    agree: bool
    cost: float = 0.0
    controls: float = 0.0
    bound: float = 0.0


def rows(quick: bool) -> list[Row]:
    """Return a row for each family of instances, then the times of the quadruped's forces."""
    outcomes = [compare(seed) for seed in range(500 if quick else 10_000)]
    return [_family(name, outcomes[k :: len(FAMILIES)]) for k, name in enumerate(FAMILIES)] + speed_rows(
        quick
    )


def compare(seed: int) -> Outcome:
    """Solve an instance with both, each from its data in NumPy."""
    program = instance(seed)
    P, q, A, b, r = program.P, program.q, program.A, program.b, program.rows
    began = perf_counter()
    ours = solve_cone_program(P, q, r.G, r.h, A, b, linear=r.linear, cones=r.cones, throw=False)
    between = perf_counter()
    theirs = clarabel_solver(program, TOLERANCE).solve()
    ended = perf_counter()
    status = str(theirs.status)
    finite = bool(
        np.isfinite(np.concatenate([ours.x, ours.slack, ours.dual, ours.multipliers, [ours.gap]])).all()
    )
    wanted = VERDICTS.get(status, ours.status if ours.status.ok else None)
    found = seed, between - began, ended - between, status, finite, ours.status is wanted
    if ours.status is not Status.OK or wanted is not Status.OK:
        return Outcome(*found)
    u, other = ours.x[: program.controls], np.array(theirs.x[: program.controls])
    size = 1.0 + np.abs(u).max()
    return Outcome(
        *found,
        abs(ours.cost - theirs.obj_val) / (1.0 + abs(ours.cost)),
        float(np.abs(u - other).max() / size),
        error_bound(program, ours) / size,
    )


def error_bound(program: Instance, s: ConeSolution) -> float:
    """Return how far the controls can be from the optimal ones, by the certificate of the answer.

    For a feasible x* that costs no more than x, ½ (x* − x)ᵀP (x* − x) ≤ zᵀ(h − G x) + yᵀ(b − A x) − rᵀ(x* − x), where
    r = P x + q + Gᵀz + Aᵀy; here with |x* − x| ≤ 2 max |x| at the residuals, which are of the order of rounding.
    """
    r = program.P @ s.x + program.q + program.rows.G.T @ s.dual + program.A.T @ s.multipliers
    closed = np.abs(s.multipliers) @ np.abs(program.A @ s.x - program.b)
    opened = abs(s.dual @ (program.rows.h - program.rows.G @ s.x))
    total = opened + closed + 2.0 * np.abs(r).sum() * np.abs(s.x).max()
    softest = np.diag(program.P)[: program.controls].min()
    return float(np.sqrt(2.0 * total / softest))


def _family(name: str, outcomes: list[Outcome]) -> Row:
    wrong = [o.seed for o in outcomes if not (o.agree and o.finite)]
    if wrong:
        raise RuntimeError(f"{name}: statuses differ or numbers are not finite for the seeds {wrong[:10]}")
    solved = [o for o in outcomes if o.status == "Solved"]
    rest = [o for o in outcomes if o.status != "Solved"]
    far = [o.seed for o in solved if o.cost > COST or o.controls > max(CONTROLS, 2.0 * o.bound)]
    if far:
        raise RuntimeError(f"{name}: answers differ for the seeds {far[:10]}")
    counts = Counter(o.status for o in outcomes)
    result = summarize([o.ours for o in outcomes], [o.theirs for o in outcomes])
    told = ", ".join(f"{number} {status}" for status, number in counts.most_common())
    note = f"{len(outcomes)} instances, from the call to the answer, storage made anew; Clarabel says {told}"
    return Row(
        name=name,
        model="random",
        ours_us=result.ours_us,
        peer=f"Clarabel, {TOLERANCE:g}",
        peer_us=result.peer_us,
        ratio=result.ratio,
        conditions=conditions("clarabel", note=note),
        extra={
            "instances": len(outcomes),
            "peer_statuses": dict(counts),
            "cost_difference": max((o.cost for o in solved), default=0.0),
            "control_difference": max((o.controls for o in solved), default=0.0),
            "unsolved_control_difference": max((o.controls for o in rest), default=0.0),
            "control_bound": max(o.bound for o in outcomes),
        },
    )
