"""Contact problems: how far the laws of Signorini and Coulomb are broken, over time, by our solver and by others.

Random problems and those of robots that fall on their feet (`contact_files`), each from zero forces. The judge is
`contact_instances.broken`, which knows neither solver. A method that goes round by round is stopped after 1, 2, 4, …
rounds, and the time from the data to the forces is that of a run of so many rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from benchmarks import contact_files
from benchmarks.clarabel_peer import clarabel_solver
from benchmarks.cone_instances import Instance
from benchmarks.contact_instances import Guess, Problem, broken
from benchmarks.contact_solvers import LOCAL, POWER, Scaled, admm, gauss_seidel, scaled
from benchmarks.friction_blocks import Blocks, allowed_rows
from benchmarks.models import ROOT
from benchmarks.rows import Row, conditions
from sarrus.base.arrays import Array
from sarrus.dynamics.optimize import solve_contact_problem
from sarrus.kernels.contact.islands import BEGINNINGS
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.platform.c_function import contact_problem

FILE = ROOT / "build" / "contact_problems.h5"
KERNEL, PYTHON, SWEEPS, ADMM, RELAXED = (
    "sarrus, kernel",
    "sarrus, Python",
    "Gauss–Seidel",
    "ADMM",
    "Clarabel, relaxed",
)
# Rounds of Gauss–Seidel and ADMM, iterations of Clarabel; a run that takes longer than this [s] is the last and is
# timed once; short ones are repeated for so long [s].
ROUNDS = tuple(2**k for k in range(13))
ITERATIONS, LONGEST, SHORTEST = (4, 6, 8, 10, 15, 200), 0.02, 1e-4
# From which residual on a problem is solved; what is below the other counts as this.
SOLVED, FLOOR = 1e-8, 1e-17
CLARABEL = 1e-10
# Times of the picture [s], and the numbers of contacts that it leaves out.
TIMES, LEFT_OUT = np.geomspace(1e-6, 0.1, 121), (1, 2, 4, 16)


@dataclass(frozen=True)
class Run:
    """One problem and one solver: times [s], and how far the laws are broken by then; ``begun``: without forces."""

    times: list[float]
    broken: list[float]
    begun: float

    def at(self, time: float) -> float:
        """Return how far they are broken by the best forces that there are at a time."""
        return min((left for t, left in zip(self.times, self.broken) if t <= time), default=self.begun)

    @property
    def solved(self) -> float:
        """Time after which the laws hold."""
        return min((t for t, left in zip(self.times, self.broken) if left <= SOLVED), default=np.inf)


def kernel(problem: Problem) -> Callable[[], Array]:
    """Return a call of the kernel, as a step of a simulation makes it, W included."""
    blocks = [*problem.contacts, *problem.dry]
    m, table, forces = len(problem.velocities), cp.ContactProblem.zeros(), np.zeros(len(problem.velocities))
    sizes, numbers = np.array([size for size, _ in blocks]), np.array([float(number) for _, number in blocks])
    work, operator = np.zeros(sum(cp.contact_sizes(m, len(blocks), m * m))), np.zeros((m, m))
    table.rows, table.blocks, table.contacts = m, len(blocks), len(problem.contacts)
    table.sizes, table.numbers, table.delassus = sizes, numbers, operator
    table.velocities, table.forces, table.work = problem.velocities, forces, work

    entry, place, other = contact_problem.entry, table.ctypes.data, forces.ctypes.data

    def run(*_: Array) -> Array:
        forces[:] = 0.0
        np.dot(problem.rows, problem.rows.T, out=operator)
        entry(place, other, BEGINNINGS)
        return forces

    return partial(run, table, sizes, numbers, work)  # the kernel has their addresses alone


def relaxed(problem: Problem, units: Array, iterations: int) -> Array:
    """Return the forces of the convex relaxation by Clarabel, rows scaled as for the others."""
    m, H = len(problem.velocities), problem.rows / units[:, None]
    blocks = [*problem.contacts, *problem.dry]
    firsts = np.cumsum([0, *(size for size, _ in blocks)])[len(problem.contacts) : -1]
    dry = [(size, limit * units[at]) for at, (size, limit) in zip(firsts, problem.dry)]
    found = Blocks.of(problem.contacts, dry)
    rows, idle = allowed_rows(np.eye(m), np.zeros(m), found), np.eye(m)[found.idle]
    program = Instance("contacts", 0, H @ H.T, problem.velocities / units, idle, np.zeros(len(idle)), rows)
    return np.array(clarabel_solver(program, CLARABEL, iterations=iterations).solve().x) / units


def calls(problem: Problem) -> dict[str, Iterable[Callable[[], Array]]]:
    """Return every solver as calls that go further and further."""
    data = scaled(problem)

    def public() -> Array:
        return solve_contact_problem(
            problem.rows, problem.velocities, problem.contacts, problem.dry, throw=False
        ).forces

    def rounds(solver: Callable[[Scaled, int], Array]) -> Iterable[Callable[[], Array]]:
        return (partial(solver, data, number) for number in ROUNDS)

    return {
        KERNEL: [kernel(problem)],
        PYTHON: [public],
        SWEEPS: rounds(gauss_seidel),
        ADMM: rounds(admm),
        RELAXED: (partial(relaxed, problem, data.units, number) for number in ITERATIONS),
    }


def race(problem: Problem, repeats: int) -> dict[str, Run]:
    """Return what all solvers make of a problem: times are medians of repeats, the solvers in turns."""
    chosen: dict[str, list[tuple[Callable[[], Array], int]]] = {}
    left: dict[str, list[float]] = {}
    for name, ways in calls(problem).items():
        chosen[name], left[name] = [], []
        for call in ways:
            forces, began = np.array(call()), perf_counter()
            call()
            ended = perf_counter() - began
            chosen[name].append((call, max(1, round(SHORTEST / ended))))
            change = problem.rows.T @ forces
            left[name].append(broken(problem, Guess(forces, problem.rows @ change + problem.velocities)))
            if ended > LONGEST:
                break
    spent: dict[str, list[list[float]]] = {name: [[] for _ in ways] for name, ways in chosen.items()}
    for _ in range(repeats):
        for k in range(max(map(len, chosen.values()))):
            for name, ways in chosen.items():
                if k < len(ways) and not (spent[name][k] and spent[name][k][0] > LONGEST):
                    call, number = ways[k]
                    began = perf_counter()
                    for _ in range(number):
                        call()
                    spent[name][k].append((perf_counter() - began) / number)
    begun = broken(problem, Guess(np.zeros_like(problem.velocities), problem.velocities))
    return {name: Run([float(np.median(t)) for t in spent[name]], left[name], begun) for name in chosen}


def rows(quick: bool) -> list[Row]:
    """Return a row for every family of problems of the file, which is written where there is none."""
    if not FILE.exists():
        contact_files.make(FILE)
    families: dict[str, list[Problem]] = {}
    for name, problem in contact_files.read(FILE):
        families.setdefault(name, []).append(problem)
    step, repeats = (5, 1) if quick else (2, 3)
    found = [row(name, [race(p, repeats) for p in some[::step]], repeats) for name, some in families.items()]
    for kind, slopes in exponents(found):
        last = max(k for k, row in enumerate(found) if row.name.startswith(kind))
        found[last] = replace(
            found[last], extra=dict(found[last].extra) | {"kind": kind, "exponents": slopes}
        )
    return found


def row(name: str, runs: Sequence[dict[str, Run]], repeats: int) -> Row:
    """Return medians over the problems of a family; times of solvers that solve less than half of them are none."""
    figures: dict[str, dict[str, Any]] = {}
    for solver in runs[0]:
        own = [run[solver] for run in runs]
        times = np.array([run.solved for run in own])
        median = float(np.median(times))
        ends = np.maximum([min(run.broken) for run in own], FLOOR)
        figures[solver] = {
            "us": 1e6 * (median if median < np.inf else float(np.median([run.times[-1] for run in own]))),
            "solves_half": median < np.inf,
            "solved": float(np.isfinite(times).mean()),
            "broken": np.quantile(ends, (0.25, 0.5, 0.75)).tolist(),
            "curve": _curve(own),
        }
    ours = figures[KERNEL]["us"]
    peers = {solver: figures[solver]["us"] for solver in (SWEEPS, ADMM) if figures[solver]["solves_half"]}
    best = min(peers, key=peers.__getitem__, default=None)
    note = (
        f"{len(runs)} problems from zero, solved where the laws are broken by {SOLVED:g} at most; Gauss–Seidel: "
        f"sparse, {LOCAL} projections at a visit; ADMM: proximal, ρ adapted from the power {POWER:g}; both compiled, "
        f"rows scaled, up to {ROUNDS[-1]} rounds; Clarabel {CLARABEL:g}"
    )
    return Row(
        name=name,
        model="contact problems",
        ours_us=ours,
        conditions=conditions("clarabel", note=note, repeats=repeats),
        peer=best,
        peer_us=peers[best] if best else None,
        ratio=peers[best] / ours if best else None,
        extra={"solvers": figures, "contacts": len(runs)},
    )


def _curve(runs: Sequence[Run]) -> list[list[float]]:
    """Return times [µs] and the quartiles of how far the laws are broken by then."""
    found = []
    for time in TIMES:
        left = [max(run.at(time), FLOOR) for run in runs]
        found.append([1e6 * time, *np.quantile(left, (0.25, 0.5, 0.75), method="lower").tolist()])
    return found


def exponents(found: Sequence[Row]) -> list[tuple[str, dict[str, float | None]]]:
    """Return by kind of random problems the exponents with which times grow with the number of contacts, from 4 on.

    None for a solver that does not solve half of the problems of some size.
    """
    kinds: dict[str, dict[str, list[tuple[int, float | None]]]] = {}
    for row in found:
        kind, _, size = row.name.removesuffix(" contacts").rpartition(", ")
        if not kind or int(size) < 4:
            continue
        for solver, figures in row.extra["solvers"].items():
            time = figures["us"] if figures["solves_half"] or solver == RELAXED else None
            kinds.setdefault(kind, {}).setdefault(solver, []).append((int(size), time))

    def slope(points: list[tuple[int, float | None]]) -> float | None:
        if any(time is None for _, time in points):
            return None
        sizes, times = np.log(np.array(points, dtype=float)).T
        return float(np.polyfit(sizes, times, 1)[0])

    return [(kind, {s: slope(points) for s, points in solvers.items()}) for kind, solvers in kinds.items()]


def draw(found: Sequence[Row], path: Path) -> None:
    """Draw how far the laws are broken over time: medians, and what is between the quartiles, as a PNG file."""
    wanted = [row for row in found if not row.name.endswith(tuple(f" {n} contacts" for n in LEFT_OUT))]
    columns = -(-len(wanted) // 2)
    figure, panels = plt.subplots(
        2, columns, figsize=(3.6 * columns, 6.4), layout="constrained", sharey=True, squeeze=False
    )
    for panel, row in zip(panels.flat, wanted):
        for colour, (solver, figures) in zip(("C0", "C9", "C1", "C2", "C3"), row.extra["solvers"].items()):
            times, low, middle, high = np.array(figures["curve"]).T
            panel.loglog(times, middle, color=colour, linewidth=1.5, label=solver)
            panel.fill_between(times, low, high, color=colour, alpha=0.15)
        panel.set(title=row.name, xlabel="µs", xlim=(1.0, 1e5), ylim=(FLOOR, 3.0))
        panel.title.set_fontsize(9)
        panel.grid(True, which="major", alpha=0.3)
    for panel in panels[:, 0]:
        panel.set_ylabel("laws broken by")
    told = panels[0, 0].get_legend_handles_labels()
    figure.legend(*told, loc="outside lower center", ncols=5, fontsize=8)
    for panel in panels.flat[len(wanted) :]:
        panel.set_axis_off()
    figure.savefig(path, dpi=150)
    plt.close(figure)
