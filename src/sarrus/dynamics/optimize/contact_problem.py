"""`solve_contact_problem`: contact with exact Coulomb friction: Signorini's and Coulomb's laws without relaxation.

Forces r and velocities u = W r + b of every contact, with normal n and tangential part t, satisfy

    K ∋ r  ⊥  u + μ ‖u_t‖ n ∈ K*,    K = {‖r_t‖ ≤ μ r_n}

(De Saxcé and Feng, Mathematical and Computer Modelling 28, 1998): a contact is open, or sticks, or slips against its
friction with zero normal velocity. The convex relaxation, without the shift μ ‖u_t‖, lets slipping contacts open.

The solver is the kernel of time stepping (`sarrus.kernels.contact.contact_problem`): sweeps of projections, a
semismooth Newton method on r = P_K(r − u − μ ‖u_t‖ n) (Alart and Curnier, Computer Methods in Applied Mechanics and
Engineering 92, 1991), and where this fails an interior-point method with the shift in its equations, from which
Newton's method converges to rounding. The rest, one problem in two hundred of
`tests/contact_problems.py`, is solved in other units of forces.

The same problem holds for accelerations in place of u, and for impulses in place of r. It includes dry friction of
joints, a force ‖r‖ ≤ limit against the velocity, and joint stops and cables, contacts of one row.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.dynamics.contacts.contact_elements import Mode
from sarrus.dynamics.optimize.contact_rows import ContactRows
from sarrus.dynamics.optimize.tolerances import DOUBTED_RESIDUAL
from sarrus.kernels.contact.tolerances import (
    FURTHER_STRETCHES,
    NO_ANSWER_PROVED,
    RESIDUAL_ACCEPTED,
    UNBOUNDED_FORCE,
)
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.platform.c_function import PROTOTYPE, contact_problem

# Largest number of units of forces in which Newton's method is tried.
MOST_UNITS = 1 + 2 * len(FURTHER_STRETCHES)
_MODES = tuple(Mode)


class SolverStage(IntEnum):
    """The last stage of the solver that found better forces."""

    START = 0
    SWEEPS = 1
    NEWTON = 2
    INTERIOR = 3


@dataclass(frozen=True, eq=False)
class ContactSolution(Answer):
    """The answer to a contact problem with its certificate.

    Attributes
    ----------
    forces : (m,) r; if not unique the least ones, see ``determined``. If infeasible a certificate.
    velocities : (m,) u = W r + b.
    change : (k,) change of the generalized velocity, Hᵀ r or M⁻¹ Hᵀ r; empty if W is given.
    modes : of every contact, then of every dry friction. A contact without force is open if its normal velocity is not
        zero.
    determined : (m,) mask of the forces that are unique for these velocities and modes.
    residual : largest entry of r − P_K(r − u − μ ‖u_t‖ n) relative to the largest of b and r, each contact in units in
        which its rows of H have size one. 1e-14 is rounding.
    stage : `SolverStage` of the solver.
    steps : number of factorizations.
    status : OK: the residual is at most 1e-10, or ``enough``; INFEASIBLE, no motion keeps all contacts from closing
        further: ``forces`` are then r_n ≥ 0 with Hᵀ r = 0 and rᵀ b < 0; NOT_CONVERGED.
    """

    forces: Array
    velocities: Array
    change: Array
    modes: tuple[Mode, ...]
    determined: np.ndarray
    residual: float
    stage: SolverStage
    steps: int
    status: Status

    def __repr__(self) -> str:
        names = ", ".join(f"{self.modes.count(mode)} {mode.name.lower()}" for mode in Mode)
        return f"ContactSolution({self.status}, {names}, residual {self.residual:.2g}, {self.steps} steps)"


def solve_contact_problem(
    rows: Any,
    velocities: ArrayLike,
    contacts: Sequence[tuple[int, float]],
    dry: Sequence[tuple[int, float]] = (),
    *,
    delassus: Any = None,
    start: ArrayLike | None = None,
    enough: float = 0.0,
    budget: float | None = None,
    least: bool = True,
    throw: bool = True,
) -> ContactSolution:
    """Return forces and velocities of contacts with Coulomb friction, and of dry friction.

    Parameters
    ----------
    rows : (m, k) H, dense or of `scipy.sparse`: the rows of the contacts in coordinates in which the kinetic metric is
        the identity, such as J L⁻ᵀ for M = L Lᵀ on the motions that loops allow. Or a pair (M, H): inertia (k, k), and
        rows (m, k). Each contact has its normal row first, then its tangential ones. None with ``delassus``.
    velocities : (m,) b, the velocities without forces; positive normal velocities open.
    contacts : (number of rows, μ ≥ 0) of every contact: (1, 0) is a stop, (2, μ) a point in a plane, (3, μ) in space;
        with one row more, scaled by the radius of the patch, torsional friction.
    dry : (number of rows, limit ≥ 0) of every dry friction, after the contacts.
    delassus : (m, m) W in place of ``rows``, dense or sparse, symmetric; with ``rows`` None.
    start : initial forces, such as those of a moment ago.
    enough : residual that is good enough, 0: rounding. 1e-4 takes some sweeps alone.
    budget : time [s] after which the best answer so far is returned, as NOT_CONVERGED if it is not good enough.
    least : False leaves forces that are not unique as they were found, which takes half the time.

    Bodies that no contact joins are not coupled: work grows with the pattern of ``rows``, M and W, not with m³.
    Redundant rows are legal: velocities and Hᵀ r are found, and the forces are the least ones. A b outside the range of
    H may be INFEASIBLE. With friction the solution need not be unique; one is returned.

    Raises
    ------
    ArgumentError
        Wrong shapes, numbers that are not finite, μ or limits below zero or infinite, M or W that is not symmetric, M
        that is not positive definite.
    SolveError
        No solution was found, unless ``throw`` is False; its ``result`` is the `ContactSolution`.
    """
    b = real_array(velocities)
    sizes, numbers = _checked(b, contacts, dry)
    if (rows is None) == (delassus is None):
        raise ArgumentError(
            "either rows or delassus is needed, and the other one must be None", element="rows"
        )
    if not (np.isfinite(enough) and enough >= 0.0):
        raise ArgumentError(f"enough must be finite and at least 0, got {enough}", element="enough")
    if budget is not None and not budget >= 0.0:
        raise ArgumentError(f"budget must be at least 0 s, got {budget}", element="budget")
    end = None if budget is None else perf_counter() + budget
    problem = _Problem(ContactRows(rows, delassus, sizes), b, numbers, len(contacts))
    if start is not None:
        given = real_array(start)
        if given.shape != b.shape or not np.isfinite(given).all():
            raise ArgumentError(f"start must be finite and of the shape {b.shape}", element="start")
        problem.forces[:] = given
    found = problem.solve(enough, end, least)
    if throw and not found.status.ok:
        raise found.status.error("contact problem", result=found)
    return found


def powers_of_two(sizes: ArrayLike) -> Array:
    """Return the nearest powers of two, 1 for zero: division by them costs no digit."""
    return np.asarray(np.exp2(np.rint(np.log2(np.where(np.greater(sizes, 0.0), sizes, 1.0)))))


def _checked(
    b: Array, contacts: Sequence[tuple[int, float]], dry: Sequence[tuple[int, float]]
) -> tuple[np.ndarray, Array]:
    """Return sizes and coefficients or limits of all blocks of checked arguments."""
    for what, blocks in (("contacts", contacts), ("dry", dry)):
        for k, (size, number) in enumerate(blocks):
            if not 1 <= size <= cp.WIDEST or size != int(size) or not 0.0 <= number < np.inf:
                raise ArgumentError(
                    f"{what}[{k}] must be (number of rows, {'μ' if what == 'contacts' else 'limit'}), at least one row "
                    f"and at most {cp.WIDEST}, and a finite number of at least 0, got {(size, number)}",
                    element=what,
                )
    sizes = np.array([size for size, _ in (*contacts, *dry)], dtype=np.int64)
    m = int(sizes.sum())
    if b.shape != (m,):
        raise ArgumentError(
            f"{m} rows of contacts need velocities ({m},), got {b.shape}", element="velocities"
        )
    if not np.isfinite(b).all():
        raise ArgumentError("velocities must be finite", element="velocities")
    return sizes, np.array([number for _, number in (*contacts, *dry)], dtype=np.float64)


class _Problem:
    """The table of the kernel and its arrays."""

    def __init__(self, rows: ContactRows, b: Array, numbers: Array, contacts: int) -> None:
        m, blocks, dense = rows.count, len(rows.sizes), rows.dense
        self.rows, self.b, self.contacts = rows, np.ascontiguousarray(b), contacts
        self.forces, self.modes, self.free = np.zeros(m), np.zeros(blocks), np.zeros(m)
        self._diagonal, self._change, self._speeds = np.zeros(m), np.zeros(rows.parts.velocities), np.zeros(m)
        self._work = np.zeros(sum(cp.contact_sizes(m, blocks, 0 if dense is None else m * m)))
        self._dense, self._numbers, self._ask = dense, numbers, cp.ContactAsk.zeros()
        table = self.table = cp.ContactProblem.zeros()
        table.rows, table.blocks, table.contacts, table.sizes = m, blocks, contacts, rows.sizes
        table.numbers, table.delassus, table.velocities, table.forces = (
            numbers,
            self._diagonal,
            self.b,
            self.forces,
        )
        table.sparse, table.parts, table.work, table.ask = (
            int(dense is None),
            rows.parts,
            self._work,
            self._ask,
        )
        table.modes, table.free, table.change, table.speeds = (
            self.modes,
            self.free,
            self._change,
            self._speeds,
        )
        if dense is not None:
            table.dense = dense

    def solve(self, enough: float, end: float | None, least: bool) -> ContactSolution:
        """Return the solution, or the certificate of infeasibility."""
        self._ask.enough, self._ask.least = enough, float(least and enough <= RESIDUAL_ACCEPTED)
        if end is not None:
            over = PROTOTYPE(lambda *_: int(perf_counter() >= end))
            self.table.interrupt = ctypes.cast(over, ctypes.c_void_p).value or 0
        facts, accepted, proof = self._facts, max(RESIDUAL_ACCEPTED, enough), None
        self._call(1)
        if facts.indefinite:
            raise ArgumentError("M must be positive definite", element="rows")
        if not facts.residual <= accepted or facts.largest >= UNBOUNDED_FORCE:
            proof = self._proof() if end is None or perf_counter() < end else None
        if not facts.residual <= max(DOUBTED_RESIDUAL, enough) and proof is None:
            self._call(MOST_UNITS)
        residual = float(facts.residual)
        status = Status.OK if residual <= accepted else Status.NOT_CONVERGED
        if proof is not None:
            status = Status.INFEASIBLE
        forces = self.forces if proof is None else proof
        velocities, change = self._speeds, self.rows.change(forces, self._change)
        if proof is not None:
            velocities, change = self.b, np.zeros_like(change)
        return ContactSolution(
            forces=read_only(forces),
            velocities=read_only(velocities),
            change=read_only(change),
            modes=tuple(_MODES[int(mode)] for mode in self.modes),
            determined=read_only(self.free == 0.0 if status.ok else np.zeros(len(forces), dtype=bool)),
            residual=residual,
            stage=SolverStage(int(facts.stage)),
            steps=int(facts.steps),
            status=status,
        )

    def _call(self, units: int) -> None:
        """Solve from ``self.forces``, in up to so many units of forces."""
        contact_problem.entry(self.table.ctypes.data, self.forces.ctypes.data, units)

    @property
    def _facts(self) -> cp.ContactFacts:
        return self._work.view(cp.ContactFacts)

    def _proof(self) -> Array | None:
        """Return forces that prove that no motion keeps all contacts from closing further, None if one does.

        z ≥ 0 on normal rows with Hᵀz = 0 and bᵀz < 0 (Farkas): a motion with u ≥ 0 would give bᵀz = uᵀz ≥ 0.
        """
        from scipy.optimize import nnls  # here, because its import takes a third of a second

        normal = np.cumsum([0, *self.rows.sizes])[: self.contacts]
        if not (self.b[normal] < 0.0).any():
            return None
        rows = self.rows.normal_rows(normal)
        sizes = powers_of_two(np.sqrt((rows * rows).sum(axis=1)))
        b = self.b[normal] / sizes
        b /= powers_of_two(np.abs(b).max())
        table = np.column_stack([rows / sizes[:, None], b]).T
        found, left = nnls(table, np.append(np.zeros(len(table) - 1), -1.0))
        if left > NO_ANSWER_PROVED:
            return None
        forces = np.zeros(len(self.b))
        forces[normal] = found / sizes
        return forces
