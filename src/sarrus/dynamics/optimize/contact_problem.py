"""`solve_contact_problem`: contact with exact Coulomb friction: Signorini's and Coulomb's laws without relaxation.

Forces r and velocities u = H Hᵀ r + b of every contact, with normal n and tangential part t, satisfy

    K ∋ r  ⊥  u + μ ‖u_t‖ n ∈ K*,    K = {‖r_t‖ ≤ μ r_n}

(De Saxcé and Feng, Mathematical and Computer Modelling 28, 1998): it is open, or sticks, or slips against its friction
with zero normal velocity. The convex relaxation, without the shift μ ‖u_t‖, lets slipping contacts open. With a given
shift it is a cone program. Solved repeatedly with the shift of its last answer (Acary, Cadoux, Lemaréchal and Malick,
ZAMM 91, 2011) it comes near the solution, and a semismooth Newton method on r = P_K(r − u − μ ‖u_t‖ n) (Alart and
Curnier, Computer Methods in Applied Mechanics and Engineering 92, 1991) converges to rounding in a few steps.

The same problem holds for accelerations in place of u, and for impulses in place of r. It includes dry friction of
joints, a force ‖r‖ ≤ limit against the velocity, and joint stops and cables, contacts of one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.dynamics.contacts.contact_state import Mode
from sarrus.dynamics.optimize.cone_program import solve_cone_program
from sarrus.dynamics.optimize.friction_blocks import Blocks, allowed_rows
from sarrus.dynamics.optimize.shifted_program import ShiftedProgram
from sarrus.dynamics.optimize.tolerances import (
    LEAST_FORCES_ACCEPTED,
    LEAST_FORCES_MET,
    LEAST_FORCES_TARGET,
    NO_ANSWER_PROVED,
    UNLOADED_OR_STILL,
    UNMOVED_FORCE,
)
from sarrus.kernels.contact.tolerances import UNBOUNDED_FORCE, VANISHING_VELOCITY
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.platform.c_function import contact_problem

# Counts: starts by sweeps before cone programs; largest number of cone programs; residual of a good answer with forces
# of size one, and of any accepted answer; number of cone programs without progress that ends; number from which on the
# shift is the mean of the last two.
BEGINNINGS, ROUNDS, ENOUGH, MANY, PATIENCE, TURNS = 4, 100, 4, 60, 15, 10


@dataclass(frozen=True, eq=False)
class ContactSolution(Answer):
    """The answer to a contact problem with its certificate.

    Attributes
    ----------
    forces : (m,) r; if not unique the least ones, see ``determined``. If infeasible a certificate.
    velocities : (m,) u = H Hᵀ r + b.
    change : (k,) Hᵀ r, the change of the generalized velocity.
    modes : of every contact, then of every dry friction. A contact without force is open if its normal velocity is not
        zero.
    determined : (m,) mask of the forces that are unique for these velocities and modes.
    residual : largest entry of r − P_K(r − u − μ ‖u_t‖ n) relative to the largest of b and r, each contact in units in
        which its rows of H have size one. 1e-14 is rounding.
    programs, steps : numbers of cone programs and Newton steps.
    status : OK; INFEASIBLE, no motion keeps all contacts from closing further: ``forces`` are then r_n ≥ 0 with
        Hᵀ r = 0 and rᵀ b < 0; NOT_CONVERGED.
    """

    forces: Array
    velocities: Array
    change: Array
    modes: tuple[Mode, ...]
    determined: np.ndarray
    residual: float
    programs: int
    steps: int
    status: Status

    def __repr__(self) -> str:
        names = ", ".join(f"{self.modes.count(mode)} {mode.name.lower()}" for mode in Mode)
        return f"ContactSolution({self.status}, {names}, residual {self.residual:.2g}, {self.programs} cone programs)"


def solve_contact_problem(
    rows: ArrayLike,
    velocities: ArrayLike,
    contacts: Sequence[tuple[int, float]],
    dry: Sequence[tuple[int, float]] = (),
    *,
    start: ArrayLike | None = None,
    throw: bool = True,
) -> ContactSolution:
    """Return forces and velocities of contacts with Coulomb friction, and of dry friction.

    Parameters
    ----------
    rows : (m, k) H, the rows of the contacts in coordinates in which the kinetic metric is the identity, such as J L⁻ᵀ
        for M = L Lᵀ on the motions that loops allow. Each contact has its normal row first, then its tangential ones.
    velocities : (m,) b, the velocities without forces; positive normal velocities open.
    contacts : (number of rows, μ ≥ 0) of every contact: (1, 0) is a stop, (2, μ) a point in a plane, (3, μ) in space;
        with one row more, scaled by the radius of the patch, torsional friction.
    dry : (number of rows, limit ≥ 0) of every dry friction, after the contacts.
    start : initial forces, such as those of a moment ago.

    Redundant rows are legal: velocities and Hᵀ r are found, and the forces are the least ones. A b outside the range of
    H may be INFEASIBLE. With friction the solution need not be unique; one is returned.

    Raises
    ------
    ArgumentError
        Wrong shapes, numbers that are not finite, μ or limits below zero or infinite.
    SolveError
        No solution was found, unless ``throw`` is False; its ``result`` is the `ContactSolution`.
    """
    H, b = real_array(rows), real_array(velocities)
    blocks = _checked(H, b, contacts, dry)
    problem = _Scaled(H, b, blocks)
    given = np.zeros(len(b)) if start is None else real_array(start)
    if given.shape != b.shape or not np.isfinite(given).all():
        raise ArgumentError(f"start must be finite and of the shape {b.shape}", element="start")
    found = problem.solution(*problem.solve(given))
    if throw and not found.status.ok:
        raise found.status.error("contact problem", result=found)
    return found


def _checked(
    H: Array, b: Array, contacts: Sequence[tuple[int, float]], dry: Sequence[tuple[int, float]]
) -> Blocks:
    """Return the blocks of checked arguments."""
    for what, sizes in (("contacts", contacts), ("dry", dry)):
        for k, (size, number) in enumerate(sizes):
            if size < 1 or size != int(size) or not 0.0 <= number < np.inf:
                raise ArgumentError(
                    f"{what}[{k}] must be (number of rows, {'μ' if what == 'contacts' else 'limit'}), at least one row "
                    f"and a finite number of at least 0, got {(size, number)}",
                    element=what,
                )
    m = sum(int(size) for size, _ in (*contacts, *dry))
    if H.ndim != 2 or len(H) != m or b.shape != (m,):
        raise ArgumentError(
            f"{m} rows of contacts need rows (m, k) and velocities (m,), got {H.shape} and {b.shape}",
            element="rows",
        )
    if not (np.isfinite(H).all() and np.isfinite(b).all()):
        raise ArgumentError("rows and velocities must be finite", element="rows")
    return Blocks.of(contacts, dry)


class _Scaled:
    """The problem with every block of rows and b scaled to about size one, which preserves the cones."""

    def __init__(self, H: Array, b: Array, blocks: Blocks) -> None:
        self.given, self.b_given = H, b
        sizes = np.sqrt(np.bincount(blocks.owner, (H * H).sum(axis=1), blocks.count))
        sizes = np.exp2(np.rint(np.log2(np.where(sizes > 0.0, sizes, 1.0))))  # powers of two: no rounding
        self.factors = 1.0 / sizes[blocks.owner]
        self.H = H * self.factors[:, None]
        size = float(np.abs(b * self.factors).max(initial=0.0))
        self.size = float(np.exp2(np.rint(np.log2(size)))) if size > VANISHING_VELOCITY else 1.0
        self.b = b * self.factors / self.size
        self.W = dense.product(self.H, self.H.T)
        self.blocks = replace(blocks, limit=blocks.limit * sizes / self.size)
        self.program = ShiftedProgram(self.H, self.W, self.blocks)

    # --- the solution --------------------------------------------------------------------------------

    def solve(self, given: Array) -> tuple[Array, float, int, int]:
        """Return forces, their residual, and the numbers of cone programs and Newton steps."""
        m = len(self.b)
        if m == 0:
            return given, 0.0, 0, 0
        best, least, steps = self.newton(given / (self.factors * self.size), BEGINNINGS)
        programs, found, shifted = 0, 0, self.b
        while least > LEAST_FORCES_TARGET and programs < ROUNDS:
            r = self.program.solve(shifted)
            programs += 1
            if not np.isfinite(r).all() or (programs == ENOUGH and self.proof is not None):
                break
            ended, left, more = self.newton(r, -(programs % 2) * (programs % 7))
            steps += more
            if left < least:
                best, least, found = ended, left, programs
            if least <= LEAST_FORCES_ACCEPTED and programs > found + PATIENCE:
                break
            size = 1.0 if programs >= MANY else max(1.0, np.abs(best).max(initial=0.0))
            if least * size <= LEAST_FORCES_MET and programs >= ENOUGH:
                break
            u = dense.product(self.W, r) + self.b
            ahead = self.b + (self.blocks.shift(u) - u)
            shifted = ahead if programs < TURNS else 0.5 * (shifted + ahead)
        # from the best forces, at which no program started
        if least > LEAST_FORCES_ACCEPTED and np.isfinite(best).all():
            ended, left, more = self.newton(best, BEGINNINGS)
            best, least, steps = (ended, left, steps + more) if left < least else (best, least, steps + more)
        return best, least, programs, steps

    def newton(self, r: Array, beginnings: int) -> tuple[Array, float, int]:
        """Return the best forces of Newton's method, their residual, and the number of steps."""
        m, blocks = len(r), self.blocks
        table, best = cp.ContactProblem.zeros(), np.array(r)
        work = np.zeros(sum(cp.contact_sizes(m, blocks.count, m * m)))
        sizes = np.bincount(blocks.owner, minlength=blocks.count)
        numbers = np.where(blocks.cone, blocks.friction, blocks.limit)
        table.rows, table.blocks, table.contacts = m, blocks.count, int(blocks.cone.sum())
        table.sizes, table.numbers, table.delassus, table.velocities = sizes, numbers, self.W, self.b
        table.forces, table.work = best, work
        contact_problem.entry(table.ctypes.data, best.ctypes.data, beginnings)
        facts = work.view(cp.ContactFacts)
        return best, facts.residual, int(facts.steps)

    # --- the result ----------------------------------------------------------------------------------

    def solution(self, r: Array, residual: float, programs: int, steps: int) -> ContactSolution:
        """Return the result for the best forces, or the certificate of infeasibility."""
        modes, determined, status = self.modes(r), np.zeros(len(r), dtype=bool), Status.OK
        huge = np.abs(r).max(initial=0.0) >= UNBOUNDED_FORCE
        if residual <= LEAST_FORCES_ACCEPTED and not (huge and self.proof is not None):
            r, residual, determined = self.least(r, residual, modes)
        elif self.proof is None:
            status = Status.NOT_CONVERGED
        else:
            r, status = self.proof, Status.INFEASIBLE
        forces = r * self.factors * self.size
        change = dense.product(self.given.T, forces)
        return ContactSolution(
            forces=read_only(forces),
            velocities=read_only(dense.product(self.given, change) + self.b_given),
            change=read_only(change),
            modes=modes,
            determined=read_only(determined),
            residual=residual,
            programs=programs,
            steps=steps,
            status=status,
        )

    def modes(self, r: Array) -> tuple[Mode, ...]:
        """Return the mode of every block."""
        blocks, u = self.blocks, dense.product(self.W, r) + self.b
        force, speed = (
            UNLOADED_OR_STILL * np.abs(r).max(initial=1.0),
            UNLOADED_OR_STILL * np.abs(u).max(initial=1.0),
        )
        opens = blocks.cone & (blocks.heads(u) > speed) & (blocks.heads(r) <= force)
        slides = blocks.lengths(u) > speed
        return tuple(
            Mode.OPEN if opened else Mode.SLIDING if slid else Mode.STICKING
            for opened, slid in zip(opens, slides)
        )

    def least(self, r: Array, residual: float, modes: tuple[Mode, ...]) -> tuple[Array, float, np.ndarray]:
        """Return the least forces of these velocities and modes, their residual, and a mask of the unique ones."""
        ways = self.free_forces(r, modes)
        null = (
            ranked(dense.product(self.H.T, ways), relative=FINE_RANK_CUT).null
            if ways.size
            else np.zeros((0, 0))
        )
        if null.shape[1] == 0:
            return r, residual, np.ones(len(r), dtype=bool)
        along = ranked(dense.product(ways, null)).left
        rows = allowed_rows(along, r, self.blocks)
        found = solve_cone_program(
            np.eye(along.shape[1]), dense.product(along.T, r), rows.G, rows.h, cones=rows.cones, throw=False
        )
        determined = np.asarray(np.abs(along).max(axis=1) < UNMOVED_FORCE)
        if found.status.ok:
            least = r + dense.product(along, found.x)
            least, left, _ = self.newton(least, 0)
            if left <= max(10.0 * residual, LEAST_FORCES_MET):
                return least, left, determined
        return r, residual, determined

    def free_forces(self, r: Array, modes: tuple[Mode, ...]) -> Array:
        """Return directions (columns) in which forces may change at constant velocities and modes."""
        blocks, u = self.blocks, dense.product(self.W, r) + self.b
        d = blocks.directions(u, blocks.lengths(u))
        columns: list[Array] = []
        for k, mode in enumerate(modes):
            mine = np.flatnonzero((blocks.owner == k) & ~blocks.idle)
            if mode is Mode.STICKING:
                columns.extend(np.eye(len(r))[mine])
            elif mode is Mode.SLIDING and blocks.cone[k]:
                column = np.where(blocks.owner == k, -blocks.friction[k] * d, 0.0)
                column[mine[0]] = 1.0
                columns.append(column)
        return np.array(columns).reshape(len(columns), len(r)).T

    @cached_property
    def proof(self) -> Array | None:
        """Forces that prove that no motion keeps all contacts from closing further, None if one does.

        z ≥ 0 on normal rows with Hᵀz = 0 and bᵀz < 0 (Farkas): a motion with u ≥ 0 would give bᵀz = uᵀz ≥ 0.
        """
        from scipy.optimize import nnls  # here, because its import takes a third of a second

        normal = self.blocks.head
        if not (self.b[normal] < 0.0).any():
            return None
        rows = np.column_stack([self.H[normal], self.b[normal]]).T
        found, left = nnls(rows, np.append(np.zeros(len(rows) - 1), -1.0))
        if left > NO_ANSWER_PROVED:
            return None
        forces = np.zeros(len(self.b))
        forces[normal] = found
        return forces
