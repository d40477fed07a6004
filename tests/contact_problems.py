"""Random contact problems, judged by the laws alone.

``python tests/contact_problems.py 10000 0`` (number, seed) says how they went; with ``rolling`` as a third argument,
contacts have up to six rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from sarrus.dynamics.optimize import solve_contact_problem

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.contact_instances import ROLLING, USUAL, Problem, broken, random_problem

__all__ = ["ROLLING", "USUAL", "Problem", "broken", "random_problem"]


def main(count: int, seed: int = 0, sizes: str = "usual") -> None:
    """Judge so many."""
    rng, worst, steps, bad = np.random.default_rng(seed), 0.0, 0, 0
    for k in range(count):
        problem = random_problem(rng, sizes=ROLLING if sizes == "rolling" else USUAL)
        found = solve_contact_problem(
            problem.rows, problem.velocities, problem.contacts, problem.dry, throw=False
        )
        left = broken(problem, found)
        worst, steps = max(worst, left), steps + found.steps
        if not found.status.ok or left > 1e-10:
            bad += 1
            print(k, found, left, flush=True)
    print(f"{count} problems, {bad} without an answer, laws broken by {worst:.1e}")
    print(f"{steps / count:.1f} factorizations each")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
