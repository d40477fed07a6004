"""Derivatives of random contact problems against differences in forty digits.

``python tests/contact_tangents.py 2000`` says how so many went. The laws with the modes of the answer are solved for
neighbouring data by chord iterations whose residuals have fifty digits. Nothing of the library's tangent is used.
"""

from __future__ import annotations

import sys
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from contact_problems import Problem, random_problem
from sarrus.base.arrays import Array
from sarrus.dynamics.optimize import ContactSolution, Mode, contact_tangent, solve_contact_problem

DIGITS, STEP, ITERATIONS = 50, Decimal("1e-16"), 40
Exact = np.ndarray  # of Decimal


class Change(NamedTuple):
    """A change of the data: δb = H δv, and rows whose columns are scaled by 1 + s."""

    dv: Array
    scales: Array


def exact(values: Array) -> Exact:
    flat = np.asarray(values, dtype=float)
    return np.array([Decimal(float(x)) for x in flat.flat], dtype=object).reshape(flat.shape)


class HeldModes:
    """The equations of a problem with the modes of its answer: forces on held rows, and slips, are the unknowns."""

    def __init__(self, problem: Problem, found: ContactSolution) -> None:
        blocks = [*problem.contacts, *problem.dry]
        ends = np.cumsum([0, *(size for size, _ in blocks)]).tolist()
        self.problem, self.found = problem, found
        self.parts = [slice(i, j) for i, j in pairwise(ends)]
        self.units = np.array(
            [
                float(np.sqrt((problem.rows[part] ** 2).sum())) or 1.0
                for part in self.parts
                for _ in range(part.stop - part.start)
            ]
        )
        self.sliding, held = list[tuple[slice, float, int]](), list[int]()
        for k, (part, (_, number), mode) in enumerate(zip(self.parts, blocks, found.modes)):
            is_dry = k >= len(problem.contacts)
            head, tails = part.start, slice(part.start + (not is_dry), part.stop)
            if mode is Mode.OPEN or (not is_dry and found.forces[head] <= 0.0):
                continue
            if not is_dry:
                held.append(head)
            if number == 0.0 or tails.stop == tails.start:
                continue
            if mode is Mode.SLIDING:
                self.sliding.append((tails, number, -1 if is_dry else head))
            else:
                held += range(tails.start, tails.stop)
        self.slips = [row for tails, _, _ in self.sliding for row in range(tails.start, tails.stop)]
        self.held = self._independent(held)

    def _independent(self, held: list[int]) -> list[int]:
        """Return held rows that span all of them with the friction of sliding contacts; others keep their forces."""
        if not held:
            return held
        H = self.problem.rows / self.units[:, None]
        ways = np.eye(len(H))
        for tails, mu, head in self.sliding:
            if head >= 0:
                slip = self.found.velocities[tails]
                ways[tails, head] = -mu * slip / np.linalg.norm(slip)
        turned = self._turned(ways[:, held])
        response = H[held] @ (H.T @ turned)
        _, upper, order = qr(response, pivoting=True)
        sizes = np.abs(np.diag(upper))
        rank = int((sizes > 1e-8 * sizes.max(initial=0.0)).sum())
        return sorted(held[k] for k in order[:rank])

    def _turned(self, columns: Array) -> Array:
        """Return columns of forces with the slips that they cause, and friction that turns with these."""
        H, m = self.problem.rows / self.units[:, None], len(self.units)
        T, u, r = np.zeros((m, m)), self.found.velocities / self.units, self.found.forces * self.units
        for tails, number, head in self.sliding:
            slip = u[tails]
            speed = np.linalg.norm(slip)
            most = number * (r[head] if head >= 0 else self.units[tails.start])
            T[tails, tails] = -most / speed * (np.eye(len(slip)) - np.outer(slip, slip) / speed**2)
        W = H @ H.T
        return columns + T @ np.linalg.solve(np.eye(m) - W @ T, W @ columns)

    def residual(self, x: Exact, H: Exact, b: Exact) -> tuple[Exact, Exact, Exact]:
        """Return the residuals, forces and velocities for the unknowns; all in units of rows of size one."""
        r, n = exact(self.found.forces * self.units), len(self.held)
        r[self.held] = x[:n]
        slips = x[n:]
        for tails, number, head in self.sliding:
            count = tails.stop - tails.start
            slip, slips = slips[:count], slips[count:]
            speed = sum(slip * slip).sqrt()
            most = r[head] if head >= 0 else Decimal(float(self.units[tails.start]))
            r[tails] = -Decimal(number) * most * slip / speed
        for part, mode in zip(self.parts, self.found.modes):
            if mode is Mode.OPEN:
                r[part] = Decimal(0)
        u = H @ (H.T @ r) + b
        return np.concatenate([u[self.held], u[self.slips] - x[n:]]), r, u

    def solve(self, change: Change | None, by: Decimal) -> Exact | None:
        """Return the velocities for data changed ``by`` a part; None without convergence."""
        H, b = exact(self.problem.rows / self.units[:, None]), exact(self.problem.velocities / self.units)
        if change is not None:
            b = b + by * (H @ exact(change.dv))
            H = H * (1 + by * exact(change.scales))
        u = self.found.velocities / self.units
        x = np.concatenate([exact((self.found.forces * self.units)[self.held]), exact(u[self.slips])])
        if not len(x):
            return self.residual(x, H, b)[2]
        chord = self._inverse()
        for _ in range(ITERATIONS):
            left, _, u = self.residual(x, H, b)
            size = max(abs(value) for value in left)
            if size < Decimal("1e-40") * max(abs(value) for value in b):
                return u
            scale = float(size)
            step = chord @ np.array([float(value / Decimal(scale)) for value in left])
            x = x - exact(step) * Decimal(scale)
        return None

    def _inverse(self) -> Array:
        """Return the inverse of the derivative of the residual, in double precision."""
        H, m, n = self.problem.rows / self.units[:, None], len(self.units), len(self.held)
        by = np.zeros((m, n + len(self.slips)))
        by[self.held, range(n)] = 1.0
        r, u = self.found.forces * self.units, self.found.velocities / self.units
        at = n
        for tails, number, head in self.sliding:
            slip, count = u[tails], tails.stop - tails.start
            speed = np.linalg.norm(slip)
            most = r[head] if head >= 0 else self.units[tails.start]
            by[tails, at : at + count] = (
                -number * most / speed * (np.eye(count) - np.outer(slip, slip) / speed**2)
            )
            if head in self.held:
                by[tails, self.held.index(head)] = -number * slip / speed
            at += count
        whole = H @ (H.T @ by)
        jacobian = np.vstack([whole[self.held], whole[self.slips] - np.eye(n + len(self.slips))[n:]])
        return np.linalg.inv(jacobian)


def judge(problem: Problem, rng: np.random.Generator) -> tuple[str, float]:
    """Return the status of the derivative of a problem along a random change, and its error if it is OK.

    The error is relative to the largest velocity among change and derivative, in units in which rows have size one.
    """
    found = solve_contact_problem(
        problem.rows, problem.velocities, problem.contacts, problem.dry, throw=False
    )
    if not found.status.ok:
        return found.status.name, 0.0
    width = problem.rows.shape[1]
    held = HeldModes(problem, found)
    change = Change(
        rng.normal(size=width) / np.maximum(np.abs(problem.rows).max(axis=0), 1e-3),
        0.3 * rng.normal(size=width),
    )
    H, r = problem.rows, found.forces
    # b does not change with the scales of columns here
    c = H @ change.dv + 2.0 * H @ (change.scales * (H.T @ r))
    tangent = contact_tangent(found, c, H, problem.contacts, problem.dry, throw=False)
    if not tangent.status.ok:
        return tangent.status.name, 0.0
    with localcontext() as context:
        context.prec = DIGITS
        scaled = Change(change.dv, change.scales)
        ends = [held.solve(scaled, sign * STEP) for sign in (1, -1)]
        if ends[0] is None or ends[1] is None:
            return "no reference", 0.0
        reference = np.array([float(value / (2 * STEP)) for value in ends[0] - ends[1]])
    ours = tangent.velocities[:, 0] / held.units
    size = max(float(np.abs(reference).max()), float(np.abs(c / held.units).max()))
    return "OK", float(np.abs(ours - reference).max()) / size


def main(count: int) -> None:
    rng, worst, seen = np.random.default_rng(0), list[float](), dict[str, int]()
    for k in range(count):
        status, error = judge(random_problem(rng, most=8), rng)
        seen[status] = seen.get(status, 0) + 1
        worst.append(error)
        if error > 1e-8:
            print(k, status, error, flush=True)
    print(
        f"{count} problems: {seen}, errors up to {max(worst):.1e}, {sum(e > 1e-8 for e in worst)} above 1e-8"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
