"""`solve_contact_problem`: contact with Coulomb friction, exactly: Signorini's and Coulomb's laws, without relaxation.

Forces r and velocities u = H Hᵀ r + b of every contact, its normal n and its tangent t, meet

    K ∋ r  ⊥  u + μ ‖u_t‖ n ∈ K*,    K = {‖r_t‖ ≤ μ r_n}

(De Saxcé and Feng, Mathematical and Computer Modelling 28, 1998): it opens, or sticks, or slides against its friction
without leaving. The convex relaxation, without the shift μ ‖u_t‖, lifts off what slides. With a given shift this is a
cone program; solved again and again with the shift of its last answer (Acary, Cadoux, Lemaréchal and Malick, ZAMM 91,
2011) it comes near, and a semismooth Newton method on r = P_K(r − u − μ ‖u_t‖ n) (Alart and Curnier, Computer Methods
in Applied Mechanics and Engineering 92, 1991) ends it in a few steps, to rounding.

The same problem has accelerations in place of u, and impulses in place of r. Dry friction in joints is in it: a force
‖r‖ ≤ limit, against the velocity where that is not zero. So are one-sided stops and cables: contacts of one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.linalg.ranked import ranked
from sarrus.optimize.cone_program import ConeProgram
from sarrus.optimize.friction_blocks import Blocks

# Relative residual that is aimed at, and that is accepted where rounding ends the iterations.
TARGET, ACCEPTED = 1e-14, 1e-10
# Cone programs, at most, and where an accepted answer will do; Newton steps after each; halvings of one, in turn,
# and the decrease that is asked of it; whole steps without one.
ROUNDS, ENOUGH, STEPS, HALVINGS, DECREASE, CROSSINGS = 100, 4, 60, (8, 4), 1e-4, 6
# Singular values below this part of the largest one are zero in a Newton step, and where it is asked what is unique.
FLAT, DEPENDENT = 1e-12, 1e-9
# Forces and velocities below this part of the largest ones are zero where it is asked what a contact does.
NOTHING = 1e-9
# A proof that there is no answer holds to this.
PROVED = 1e-10


class Mode(IntEnum):
    """What a contact does: it is open, it sticks, it slides."""

    OPEN = 0
    STICKING = 1
    SLIDING = 2


@dataclass(frozen=True, eq=False)
class ContactSolution(Answer):
    """The answer to a contact problem, with what proves it.

    Attributes
    ----------
    forces : (m,) r; of several that do the same the least ones, see ``determined``. Where infeasible a proof of that.
    velocities : (m,) u = H Hᵀ r + b.
    change : (k,) Hᵀ r, what the forces do to the whole.
    modes : of every contact, then of every dry friction. One without force counts as open where its normal velocity is
        not zero.
    determined : (m,) which forces are the same in all answers with these velocities and modes.
    residual : largest entry of r − P_K(r − u − μ ‖u_t‖ n) over the largest of b and r, each contact in units in which
        its rows of H are of size one. Exact but for rounding where it is 1e-14.
    programs, steps : cone programs and Newton steps that it took.
    status : OK; INFEASIBLE where no motion keeps all contacts from closing further: ``forces`` are then r_n ≥ 0 with
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
    rows : (m, k) H, the rows of the contacts in coordinates in which the kinetic metric is one, such as J L⁻ᵀ for
        M = L Lᵀ, with the motions that loops leave. Each contact has its normal row first, then its tangential ones.
    velocities : (m,) b, those without forces; positive normal ones open.
    contacts : (number of rows, μ ≥ 0) of every contact: (1, 0) is a stop, (2, μ) a point in a plane, (3, μ) in space;
        with one row more, scaled by the radius of the patch, torsional friction.
    dry : (number of rows, limit ≥ 0) of every dry friction, behind the contacts.
    start : forces to begin with, such as those of a moment ago.

    Redundant rows are allowed: velocities, and what the forces do together, are found as well, and the forces are the
    least. b that no motion has may be INFEASIBLE. With friction the answer need not be unique; this is one.

    Raises
    ------
    ArgumentError
        Wrong shapes, numbers that are not finite, μ or limits below zero or infinite.
    SolveError
        There is no answer, unless ``throw`` is False; its ``result`` is the `ContactSolution`.
    """
    H, b = real_array(rows), real_array(velocities)
    blocks = _checked(H, b, contacts, dry)
    problem = _Scaled(H, b, blocks)
    given = np.zeros(len(b)) if start is None else real_array(start)
    if given.shape != b.shape or not np.isfinite(given).all():
        raise ArgumentError(f"start must be finite and of the shape {b.shape}", element="start")
    r, residual, programs, steps = problem.solve(given)
    if residual <= ACCEPTED:
        found = problem.solution(r, residual, programs, steps)
    else:
        found = problem.failure(r, residual, programs, steps)
    if throw and not found.status.ok:
        raise found.status.error("contact problem", result=found)
    return found


def _checked(
    H: Array, b: Array, contacts: Sequence[tuple[int, float]], dry: Sequence[tuple[int, float]]
) -> Blocks:
    """Return the blocks of arguments that make sense."""
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
    """The problem with every block of rows of size one and b of size one, which keeps cones as they are."""

    def __init__(self, H: Array, b: Array, blocks: Blocks) -> None:
        self.given, self.b_given = H, b
        sizes = np.sqrt(np.bincount(blocks.owner, (H * H).sum(axis=1), blocks.count))
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        self.factors = 1.0 / sizes[blocks.owner]
        self.H = H * self.factors[:, None]
        self.size = float(np.abs(b * self.factors).max(initial=0.0)) or 1.0
        self.b = b * self.factors / self.size
        self.W = self.H @ self.H.T
        self.blocks = replace(blocks, limit=blocks.limit * sizes / self.size)

    # --- the solution --------------------------------------------------------------------------------

    def solve(self, given: Array) -> tuple[Array, float, int, int]:
        """Return forces, their residual, and the numbers of cone programs and Newton steps."""
        m = len(self.b)
        if m == 0:
            return given, 0.0, 0, 0
        best, least, steps = self.newton(given / (self.factors * self.size))
        programs, shift = 0, np.zeros(m)
        program = None
        while least > TARGET and programs < ROUNDS:
            program = program or _ShiftedProgram(self.W, self.blocks)
            r, status = program.solve(self.b + shift)
            programs += 1
            if not np.isfinite(r).all() or (status is Status.UNBOUNDED and self.proof() is not None):
                break
            ended, left, more = self.newton(r, HALVINGS[programs % 2])
            steps += more
            if left < least:
                best, least = ended, left
            if least <= ACCEPTED and programs >= ENOUGH:
                break
            shift = self.blocks.shift(self.W @ r + self.b)[0] - (self.W @ r + self.b)
        return best, least, programs, steps

    def natural_map(self, r: Array) -> tuple[Array, Array]:
        """Return r − P_K(r − u − μ ‖u_t‖ n), zero where r solves, and its derivative."""
        shifted, by_velocity = self.blocks.shift(self.W @ r + self.b)
        nearest, slope = self.blocks.project(r - shifted)
        one = np.eye(len(r))
        return r - nearest, one - slope @ (one - by_velocity @ self.W)

    def newton(self, r: Array, halvings: int = HALVINGS[0]) -> tuple[Array, float, int]:
        """Return the best that Newton's method comes by, the residual there, and the number of steps.

        Steps are halved until F falls. Where that ends at a kink of F some whole steps lead across.
        """
        F, slope = self.natural_map(r)
        best, least, crossings, step = r, self.residual(F, r), CROSSINGS, 0
        while step < STEPS and least > TARGET:
            way = np.linalg.lstsq(slope, -F, rcond=FLAT)[0]
            for halving in range(halvings):
                part = 0.5**halving
                ahead = r + part * way
                F_ahead, slope_ahead = self.natural_map(ahead)
                if F_ahead @ F_ahead < (1.0 - DECREASE * part) * (F @ F):
                    break
            else:
                if crossings == 0:
                    break
                crossings -= 1
                ahead = r + way
                F_ahead, slope_ahead = self.natural_map(ahead)
            r, F, slope, step = ahead, F_ahead, slope_ahead, step + 1
            left = self.residual(F, r)
            if left < least:
                best, least = r, left
        return best, least, step

    def residual(self, F: Array, r: Array) -> float:
        """Return the relative residual."""
        return float(np.abs(F).max(initial=0.0) / max(1.0, np.abs(r).max(initial=0.0)))

    # --- what it says --------------------------------------------------------------------------------

    def solution(self, r: Array, residual: float, programs: int, steps: int) -> ContactSolution:
        """Return the answer for forces of a small residual."""
        modes = self.modes(r)
        r, determined = self.least(r, modes)
        forces = r * self.factors * self.size
        change = self.given.T @ forces
        return ContactSolution(
            forces=read_only(forces),
            velocities=read_only(self.given @ change + self.b_given),
            change=read_only(change),
            modes=modes,
            determined=read_only(determined),
            residual=max(residual, self.residual(self.natural_map(r)[0], r)) if len(r) else residual,
            programs=programs,
            steps=steps,
            status=Status.OK,
        )

    def modes(self, r: Array) -> tuple[Mode, ...]:
        """Return what every block does."""
        blocks, u = self.blocks, self.W @ r + self.b
        force, speed = NOTHING * np.abs(r).max(initial=1.0), NOTHING * np.abs(u).max(initial=1.0)
        opens = blocks.cone & (blocks.heads(u) > speed) & (blocks.heads(r) <= force)
        slides = blocks.lengths(u) > speed
        return tuple(
            Mode.OPEN if opened else Mode.SLIDING if slid else Mode.STICKING
            for opened, slid in zip(opens, slides)
        )

    def least(self, r: Array, modes: tuple[Mode, ...]) -> tuple[Array, np.ndarray]:
        """Return the least forces of these velocities and modes, and which entries are the same in all of them."""
        blocks, m = self.blocks, len(r)
        ways = self.free_forces(r, modes)
        null = ranked(self.H.T @ ways, relative=DEPENDENT).null if ways.size else np.zeros((0, 0))
        if null.shape[1] == 0:
            return r, np.ones(m, dtype=bool)
        along = ways @ null
        along, _ = np.linalg.qr(along)
        program = _LeastProgram(along, blocks)
        least = r + along @ program.solve(r)
        F, _ = self.natural_map(least)
        kept = (
            least if self.residual(F, least) <= max(ACCEPTED, self.residual(self.natural_map(r)[0], r)) else r
        )
        return kept, np.asarray(np.abs(along).max(axis=1) < 1e-7)

    def free_forces(self, r: Array, modes: tuple[Mode, ...]) -> Array:
        """Return directions in which forces may change without another velocity or mode, by columns."""
        blocks, u = self.blocks, self.W @ r + self.b
        d = blocks.directions(u, blocks.lengths(u))
        columns = []
        for k, mode in enumerate(modes):
            mine = np.flatnonzero((blocks.owner == k) & ~blocks.idle)
            if mode is Mode.STICKING:
                columns += [np.eye(len(r))[i] for i in mine]
            elif mode is Mode.SLIDING and blocks.cone[k]:
                column = np.where(blocks.owner == k, -blocks.friction[k] * d, 0.0)
                column[mine[0]] = 1.0
                columns.append(column)
        return np.array(columns).reshape(len(columns), len(r)).T

    def proof(self) -> Array | None:
        """Return forces that prove that no motion keeps all contacts from closing further, None where one does.

        They are z ≥ 0 on heads with Hᵀz = 0 and bᵀz < 0 (Farkas): a motion with u ≥ 0 would give bᵀz = uᵀz ≥ 0.
        """
        from scipy.optimize import nnls  # here, because its import takes a third of a second

        normal = self.blocks.head
        if not (self.b[normal] < 0.0).any():
            return None
        rows = np.column_stack([self.H[normal], self.b[normal]]).T
        found, left = nnls(rows, np.append(np.zeros(len(rows) - 1), -1.0))
        if left > PROVED:
            return None
        forces = np.zeros(len(self.b))
        forces[normal] = found
        return forces

    def failure(self, r: Array, residual: float, programs: int, steps: int) -> ContactSolution:
        """Return what is known where no answer was found: a proof that there is none, if there is one."""
        proof = self.proof()
        forces, status = (r, Status.NOT_CONVERGED) if proof is None else (proof, Status.INFEASIBLE)
        forces = forces * self.factors * self.size
        change = self.given.T @ forces
        return ContactSolution(
            forces=read_only(forces),
            velocities=read_only(self.given @ change + self.b_given),
            change=read_only(change),
            modes=self.modes(r) if np.isfinite(r).all() else (),
            determined=read_only(np.zeros(len(r), dtype=bool)),
            residual=residual,
            programs=programs,
            steps=steps,
            status=status,
        )


class _Rows:
    """The rows h − G x of the cones of forces ``base`` + ``along`` x."""

    def __init__(self, along: Array, blocks: Blocks) -> None:
        """Put half-lines first, then cones of contacts, then balls."""
        owner, mu = blocks.owner, blocks.friction
        halves = [
            i for i in np.flatnonzero(blocks.head) if (owner == owner[i]).sum() == 1 or mu[owner[i]] == 0.0
        ]
        taken: list[Array] = [along[i] for i in halves]
        self.places: list[tuple[int, float]] = [(int(i), 1.0) for i in halves]
        self.cones: list[int] = []
        self.heights: list[float] = [0.0] * len(halves)
        for k in range(blocks.count):
            rows = np.flatnonzero(owner == k)
            if blocks.cone[k] and (len(rows) == 1 or mu[k] == 0.0):
                continue
            if not blocks.cone[k]:
                if blocks.limit[k] == 0.0:
                    continue
                self.heights.append(float(blocks.limit[k]))
                self.places.append((-1, 0.0))
                taken.append(np.zeros(along.shape[1]))
            for i in rows:
                weight = float(mu[k]) if blocks.head[i] else 1.0
                self.heights.append(0.0)
                self.places.append((int(i), weight))
                taken.append(weight * along[i])
            self.cones.append(len(rows) + (0 if blocks.cone[k] else 1))
        self.G, self.linear = -np.array(taken).reshape(-1, along.shape[1]), len(halves)

    def h(self, base: Array) -> Array:
        """Return h for a base."""
        return np.array(self.heights) + np.array(
            [weight * base[i] if i >= 0 else 0.0 for i, weight in self.places]
        )


class _ShiftedProgram:
    """min ½ rᵀW r + (b + s)ᵀr over the forces that are allowed, for one shift s after the other."""

    def __init__(self, W: Array, blocks: Blocks) -> None:
        self.busy = np.flatnonzero(~blocks.idle)
        self.rows = _Rows(np.eye(len(W))[:, self.busy], blocks)
        self.W, self.m = W[np.ix_(self.busy, self.busy)], len(W)
        self.program = (
            ConeProgram(len(self.busy), linear=self.rows.linear, cones=self.rows.cones)
            if len(self.busy)
            else None
        )

    def solve(self, shifted: Array) -> tuple[Array, Status]:
        """Return the forces, or the last iterate, and what became of the program."""
        out = np.zeros(self.m)
        if self.program is None:
            return out, Status.OK
        found = self.program.solve(self.W, shifted[self.busy], self.rows.G, self.rows.h(out), throw=False)
        out[self.busy] = found.x
        return out, found.status


class _LeastProgram:
    """min ½ |r + N z|² with r + N z allowed."""

    def __init__(self, along: Array, blocks: Blocks) -> None:
        self.along, self.rows = along, _Rows(along, blocks)
        self.program = ConeProgram(along.shape[1], linear=self.rows.linear, cones=self.rows.cones)

    def solve(self, r: Array) -> Array:
        """Return z, zero where none is found."""
        n = self.along.shape[1]
        answer = self.program.solve(np.eye(n), self.along.T @ r, self.rows.G, self.rows.h(r), throw=False)
        return answer.x if answer.status.ok else np.zeros(n)
