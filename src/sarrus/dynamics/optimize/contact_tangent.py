"""`contact_tangent`: derivatives of the answer to a contact problem, with the modes of contacts held.

With the velocities u = W r + b, a change c of u at constant r (c = δb + δW r) changes forces and velocities by

    δu = W δr + c,    δr = B y + T δu,    δu = 0 on held rows.

The normal rows of closed contacts and all rows of what sticks are held; y are the forces on them and B adds the
friction of sliding contacts, r_t = −μ r_n d with d = u_t/‖u_t‖. T is the turn of this friction,
−μ r_n (1 − d dᵀ)/‖u_t‖, so that 1 − W T is regular. So the semismooth Newton matrix without its ridge (Alart and
Curnier 1991) is solved for other right-hand sides. Redundant rows: y of least norm, δu unique.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.dynamics.contacts.row_derivatives import friction_turn
from sarrus.dynamics.contacts.tolerances import BORDER_OF_MODES, SHARES_FELT
from sarrus.dynamics.optimize.contact_problem import ContactSolution
from sarrus.dynamics.optimize.contact_rows import ContactRows
from sarrus.dynamics.optimize.tolerances import UNHELD_CHANGE
from sarrus.kernels.contact.tolerances import DEPENDENT_CONTACT_PIVOT
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.ranked import ranked


@dataclass(frozen=True, eq=False)
class ContactTangent(Answer):
    """Derivatives of forces and velocities of a contact problem.

    Attributes
    ----------
    velocities, forces : (m, k) δu and δr for the k changes; δr of least norm on redundant rows. Zero if the status is
        not OK.
    border : numbers of the contacts, then dry frictions, at a border of modes, or whose shares of redundant forces
        change δu.
    reason : why there is no derivative, in words; "".
    shares : (m, k) changes of the forces that change no velocity, with the modes held: redundant rows leave them open.
    is_shared : whether ``border`` are sliding contacts whose shares of the load are open, and count.
    status : OK; NOT_ACHIEVABLE, derivatives are one-sided or not unique (``border``); INCONSISTENT, rows that are
        redundant here are not with this change.
    """

    velocities: Array
    forces: Array
    border: tuple[int, ...]
    reason: str
    status: Status
    shares: Array
    is_shared: bool = False

    @property
    def message(self) -> str:
        """The reason, or the diagnosis of the status."""
        return self.reason or self.status.diagnosis


def contact_tangent(
    found: ContactSolution,
    changes: ArrayLike,
    rows: Any,
    contacts: Sequence[tuple[int, float]],
    dry: Sequence[tuple[int, float]] = (),
    *,
    delassus: Any = None,
    throw: bool = True,
) -> ContactTangent:
    """Return the `ContactTangent`: derivatives of the answer to `solve_contact_problem` along changes of its data.

    Parameters
    ----------
    found : the solution, with status OK.
    changes : (m,) or (m, k) changes of the velocities at constant forces, δb + δW r: with W = H Hᵀ and a change of
        rows, δb + δH Hᵀr + H δHᵀr.
    rows, contacts, dry, delassus : those of the problem.

    Modes are held. At a border of modes (a contact with neither force nor velocity, a sticking contact with all the
    friction that it can have; below 1e-7 of what the rates of the contact are summed of) the derivative is one-sided,
    and the status NOT_ACHIEVABLE; so it is if the velocities depend on shares of the load that redundant rows leave
    open. Forces that are not unique are at a border only if those with the least friction where it sticks are. Work
    grows with m³.

    Raises
    ------
    ArgumentError
        Shapes that do not fit, or a solution whose status is not OK.
    SolveError
        There is no derivative, unless ``throw`` is False; its ``result`` is the `ContactTangent`.
    """
    if not found.status.ok:
        raise ArgumentError(
            f"only a solution has derivatives, and the status is {found.status}", element="found"
        )
    c = real_array(changes)
    columns = c[:, None] if c.ndim == 1 else c
    if columns.shape[0] != len(found.forces) or columns.ndim != 2 or not np.isfinite(columns).all():
        raise ArgumentError(
            f"changes must be finite, with {len(found.forces)} rows, got shape {c.shape}", element="changes"
        )
    sizes = np.array([size for size, _ in (*contacts, *dry)], dtype=np.int64)
    factor = ContactRows(rows, delassus, sizes).factored()
    tangent = mode_tangent(factor, found.forces, found.velocities, columns, contacts, dry)
    if throw and not tangent.status.ok:
        raise SolveError(f"contact problem: no derivatives: {tangent.reason}", result=tangent)
    return tangent


def mode_tangent(
    rows: Array,
    forces: Array,
    velocities: Array,
    changes: Array,
    contacts: Sequence[tuple[int, float]],
    dry: Sequence[tuple[int, float]],
) -> ContactTangent:
    """Return `contact_tangent` of forces and velocities (m,), for rows H with W = H Hᵀ and changes (m, k)."""
    equations = _ModeEquations(rows, forces, velocities, contacts, dry)
    if equations.border:  # forces that are not unique may be at a border by chance
        equations = _ModeEquations(rows, equations.least_friction(), velocities, contacts, dry)
    return equations.along(changes)


def with_least_friction(forces: Array, ways: Array, rows: Sequence[int] | np.ndarray, limits: Array) -> Array:
    """Return forces (m,) changed along ways (m × k) so that those of ``rows`` are least relative to their limits."""
    by = 1.0 / limits
    return forces - product(ways, ranked(by[:, None] * ways[rows]).solve(by * forces[rows]))


class _ModeEquations:
    """The linear equations of the held modes; rows of each contact in units in which they have size one."""

    def __init__(
        self,
        rows: Array,
        forces: Array,
        velocities: Array,
        contacts: Sequence[tuple[int, float]],
        dry: Sequence[tuple[int, float]],
    ) -> None:
        blocks = [*contacts, *dry]
        ends = np.cumsum([0, *(size for size, _ in blocks)]).tolist()
        self.parts = [slice(i, j) for i, j in pairwise(ends)]
        self.units = np.ones(len(rows))
        for part in self.parts:
            self.units[part] = float(np.sqrt((rows[part] ** 2).sum())) or 1.0
        self.rows = rows / self.units[:, None]
        self.r, self.u = forces * self.units, velocities / self.units
        pushed = product(self.rows.T, self.r)
        free = self.u - product(self.rows, pushed)
        self.sizes = np.abs(free) + product(np.abs(self.rows), np.abs(pushed))
        m = len(rows)
        self.columns, self.turn, self.limits = list[Array](), np.zeros((m, m)), np.full(m, np.inf)
        self.held, self.border = list[int](), list[int]()
        for k, (part, (_, number)) in enumerate(zip(self.parts, blocks)):
            least = BORDER_OF_MODES * float(self.sizes[part].max(initial=0.0))
            self._add(k, part, number, least, k >= len(contacts))

    def _add(self, k: int, part: slice, number: float, least: float, is_dry: bool) -> None:
        """Add a contact, or a dry friction, with its coefficient or limit; what is below ``least`` is zero."""
        head, tails, most = (
            part.start,
            slice(part.start + (not is_dry), part.stop),
            number * self.units[part.start],
        )
        if not is_dry:
            is_loose = self.r[head] <= least
            if is_loose and self.u[head] <= least:
                self.border.append(k)
            if is_loose and (self.u[head] > least or not self.r[head] > 0.0):
                return
            most = number * self.r[head]
        slip = self.u[tails]
        speed, way = float(np.linalg.norm(slip)), np.zeros(len(self.r))
        sticks = speed <= least and most > 0.0
        if sticks and float(np.linalg.norm(self.r[tails])) >= most - max(BORDER_OF_MODES * most, least):
            self.border.append(k)
        if not is_dry:
            way[head] = 1.0
            self.held.append(head)
            if not sticks and most > 0.0:
                way[tails] = -number * slip / speed
            self.columns.append(way)
        if sticks:
            self.limits[tails] = most
            for row in range(tails.start, tails.stop):
                self.held.append(row)
                self.columns.append(np.eye(len(self.r))[row])
        elif most > 0.0 and tails.stop > tails.start:
            self.turn[tails, tails] = friction_turn(slip, most)

    @property
    def _ways(self) -> Array:
        """B (m × n): the forces by unit forces on the held rows."""
        return np.array(self.columns).reshape(len(self.columns), len(self.r)).T

    def least_friction(self) -> Array:
        """Return the forces (m,) with the same velocities and the least friction, relative to its limits, where it
        sticks.
        """
        ways, sticks = self._ways, np.flatnonzero(np.isfinite(self.limits))
        free = ranked(product(self.rows, self.rows.T, ways), relative=DEPENDENT_CONTACT_PIVOT).null
        if not free.shape[1] or not len(sticks):
            return self.r / self.units
        return with_least_friction(self.r, product(ways, free), sticks, self.limits[sticks]) / self.units

    def along(self, changes: Array) -> ContactTangent:
        """Return the derivatives for columns of changes."""
        c = changes / self.units[:, None]
        if self.border:
            return self._none(c, self.border, f"at a border of modes: contacts {_listed(self.border)}")
        m = len(self.r)
        W = product(self.rows, self.rows.T)
        ways = self._ways
        moved = dense.solve(np.eye(m) - product(W, self.turn), np.hstack([c, product(W, ways)]))
        free, response = moved[:, : c.shape[1]], moved[:, c.shape[1] :]
        parts = ranked(response[self.held], relative=DEPENDENT_CONTACT_PIVOT)
        y = -parts.solve(free[self.held])
        velocities = free + product(response, y)
        left = np.abs(velocities[self.held]).max(axis=0, initial=0.0)
        if np.any(left > UNHELD_CHANGE * np.abs(c).max(axis=0, initial=0.0)):
            return self._none(
                c, (), "redundant rows do not stay redundant along this change", Status.INCONSISTENT
            )
        shares = product(ways, parts.null)
        felt = self._moving(product(response, parts.null), shares, response)
        felt = felt or self._shares(shares, W, velocities)
        if felt:
            return self._none(
                c,
                felt,
                f"redundant rows leave the load on {_listed(felt)} open, and some of these slide",
                is_shared=True,
            )
        velocities[self.held] = 0.0
        forces = product(ways, y) + product(self.turn, velocities)
        return ContactTangent(
            read_only(velocities * self.units[:, None]),
            read_only(forces / self.units[:, None]),
            (),
            "",
            Status.OK,
            read_only(shares / self.units[:, None]),
        )

    def _moving(self, moved: Array, free: Array, response: Array) -> list[int]:
        """Return the contacts and dry frictions with shares ``free`` that leave held rows at rest and move others.

        The normal force of a sliding contact may be open: its friction then moves what nothing holds.
        """
        if np.abs(moved).max(initial=0.0) <= UNHELD_CHANGE * np.abs(response).max(initial=0.0):
            return []
        return [k for k, part in enumerate(self.parts) if np.abs(free[part]).max(initial=0.0) > SHARES_FELT]

    def _shares(self, free: Array, W: Array, velocities: Array) -> list[int]:
        """Return the sliding contacts whose shares along ``free``, forces without effect, change δu by their turns."""
        size, largest = np.abs(velocities).max(initial=0.0), np.abs(self.r).max(initial=0.0)
        felt = np.zeros(len(self.parts), dtype=bool)
        for share in free.T:
            by, turned = dict[int, float](), np.zeros_like(velocities)
            for k, part in enumerate(self.parts):
                tails = slice(part.start + 1, part.stop)
                if share[part.start] != 0.0 and part.start in self.held and self.turn[tails, tails].any():
                    by[k] = float(share[part.start] * largest / self.r[part.start])
                    turned[tails] = by[k] * product(self.turn[tails, tails], velocities[tails])
            if np.abs(product(W, turned)).max(initial=0.0) > SHARES_FELT * size:
                felt[[k for k, part in by.items() if abs(part) > SHARES_FELT]] = True
        return np.flatnonzero(felt).tolist()

    def _none(
        self,
        c: Array,
        border: Sequence[int],
        reason: str,
        status: Status = Status.NOT_ACHIEVABLE,
        *,
        is_shared: bool = False,
    ) -> ContactTangent:
        none = read_only(np.zeros_like(c))
        return ContactTangent(none, none, tuple(border), reason, status, none[:, :0], is_shared)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
