"""`ContactFreedoms`: the velocities that closed contacts and stops allow; form closure and force closure.

Velocities that A allows and that no contact forbids form a cone, {A v = 0, J_n v ≥ 0}. A contact is locked if no
velocity of the cone opens it. By Farkas' lemma this is so if and only if there are normal forces r ≥ 0 with J_nᵀ r = 0
along the motions of A and r_i > 0 at this contact. Nonnegative least squares of row i by the other rows finds either r
or a motion that opens contact i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.analysis.mobility.tolerances import LOCKED_ROW, SQUEEZED
from sarrus.base.arrays import Array, read_only
from sarrus.dynamics.contacts.contact_elements import ContactElement
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.optimize.cone_program import solve_cone_program
from sarrus.dynamics.optimize.cone_rows import ConeRows, stack
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT


@dataclass(frozen=True, eq=False)
class ContactFreedoms:
    """The motions that closed contacts allow, to first order.

    Attributes
    ----------
    closed : names of the closed contacts with Coulomb friction, and of the stops that are reached.
    locked : names of the closed contacts that no velocity opens.
    opening : (nv,) a velocity that opens all other closed contacts and penetrates none, the proof that they are not
        locked; zero if all are locked.
    squeeze : normal forces by name, positive for ``locked``, that balance each other along the motions of A: the proof
        that these are locked.
    kept : (nv, k) basis of the velocities that keep all contacts closed, sliding or rolling.
    form_closure : whether only the zero velocity is left, for any friction. If False, curvature may still hold the
        mechanism (to second order), which is not examined.
    force_closure : whether forces within the friction cones balance any load along the motions of A.
    spare : with form closure, names of the contacts each of which could be removed without losing it.
    """

    closed: tuple[str, ...]
    locked: tuple[str, ...]
    opening: Array
    squeeze: dict[str, float]
    kept: Array
    form_closure: bool
    force_closure: bool
    spare: tuple[str, ...]

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Return the lines (label, text) of a table."""
        if not self.closed:
            return [("contacts", "none is closed, and no stop is reached")]
        held = (
            "form closure" if self.form_closure else "force closure by friction" if self.force_closure else ""
        )
        left = self.kept.shape[1]
        degrees = f"{left} degree{'s' * (left != 1)} of freedom keep{'s' * (left == 1)} them closed"
        free = degrees if left else "no motion keeps all of them closed"
        if not left and len(self.locked) == len(self.closed):
            free = "no motion is left"
        out = [("contacts", f"{len(self.closed)} closed; {free}{f'; {held}' if held else ''}")]
        if self.locked and left + len(self.closed) > len(self.locked):
            out.append(("locked", ", ".join(self.locked)))
        if self.spare:
            out.append(("spare", f"form closure remains without any single one of {', '.join(self.spare)}"))
        return out


def contact_freedoms(system: Evaluations, q: Array, free: Array, t: float = 0.0) -> ContactFreedoms:
    """Return the `ContactFreedoms` of the contacts closed at q to 1e-6 characteristic lengths, ``free`` (nv, dof) a
    basis.

    ``free`` spans the motions that A allows.
    """
    size = system.characteristic
    found = contact_row_state(system, q, np.zeros(system.nv), t)
    closed = [found.elements[k] for k in found.closed]
    scaled = np.linalg.qr(size.columns[:, None] * free)[0]
    along = scaled / size.columns[:, None]
    units = np.array([one.unit for one in closed])
    heads = found.rows[[one.rows.start for one in closed]].reshape(len(closed), system.nv)
    rows = heads @ along / units[:, None]
    lengths = np.linalg.norm(rows, axis=1)
    still = lengths <= FINE_RANK_CUT * max(float(lengths.max(initial=0.0)), 1.0)
    rows = rows / np.where(still, 1.0, lengths)[:, None]
    rows[still] = 0.0
    motion, forces, locked = _opened(rows)
    kept = ranked(rows, relative=FINE_RANK_CUT).null
    form = bool(locked.all()) and kept.shape[1] == 0
    spare = [k for k in range(len(closed)) if form and _closes(np.delete(rows, k, axis=0))]
    names = [one.name for one in closed]
    return ContactFreedoms(
        closed=tuple(names),
        locked=tuple(name for name, held in zip(names, locked) if held),
        opening=read_only(along @ motion),
        squeeze={name: float(r) for name, r in zip(names, forces / np.where(still, 1.0, lengths) / units)},
        kept=read_only(along @ kept),
        form_closure=form,
        force_closure=form or _force_closure(closed, found.rows @ along),
        spare=tuple(names[k] for k in spare),
    )


def _opened(rows: Array) -> tuple[Array, Array, np.ndarray]:
    """Return (motion that opens all rows that can open, forces that squeeze the locked ones, mask of locked rows)."""
    from scipy.optimize import nnls  # here, because its import takes a third of a second

    motion, forces = np.zeros(rows.shape[1]), np.zeros(len(rows))
    locked = np.ones(len(rows), dtype=bool)
    for k, row in enumerate(rows):
        others = np.delete(np.arange(len(rows)), k)
        push = nnls(rows[others].T, -row)[0] if len(others) and rows.shape[1] else np.zeros(len(others))
        left = row + rows[others].T @ push
        length = float(np.linalg.norm(left))
        locked[k] = length <= LOCKED_ROW * (1.0 + push.sum())
        if locked[k]:
            forces[k] += 1.0
            forces[others] += push
        else:
            motion += left / length
    return motion, forces, locked


def _closes(rows: Array) -> bool:
    """Return whether v = 0 is the only velocity with rows · v ≥ 0."""
    return ranked(rows, relative=FINE_RANK_CUT).rank == rows.shape[1] and bool(_opened(rows)[2].all())


def _force_closure(closed: list[ContactElement], rows: Array) -> bool:
    """Return whether forces inside the friction cones balance each other and span all loads.

    Maximises s with (μ n − s, r_t) in the cone, n ≤ 1, and no resultant along the motions; s > 0 is the proof.
    """
    used = [
        np.arange(
            one.rows.start,
            one.rows.stop if one.static > 0.0 and one.opposite_flank < 0 else one.rows.start + 1,
        )
        for one in closed
    ]
    matrix = rows[np.concatenate(used)].T if used else np.zeros((rows.shape[1], 0))
    parts = ranked(matrix, relative=FINE_RANK_CUT)
    if not used or parts.rank < rows.shape[1]:
        return False
    n, start, cones = matrix.shape[1], 0, []
    for one, mine in zip(closed, used):
        place = slice(start, start := start + len(mine))
        head = np.zeros((1, n + 1))
        head[0, place.start] = 1.0
        cones.append(ConeRows(head, np.ones(1), 1))
        G = np.zeros((len(mine), n + 1))
        G[:, place] = -np.eye(len(mine))
        G[0, place.start], G[0, n] = -(one.static if len(mine) > 1 else 1.0), 1.0
        cones.append(ConeRows(G, np.zeros(len(mine)), *((1, ()) if len(mine) == 1 else (0, (len(mine),)))))
    program = stack(cones)
    equal = np.hstack([parts.kept[:, None] * parts.right.T, np.zeros((parts.rank, 1))])
    cost = np.append(np.zeros(n), -1.0)
    found = solve_cone_program(
        np.zeros((n + 1, n + 1)), cost, program.G, program.h, equal, np.zeros(parts.rank),
        cones=program.cones, throw=False,
    )  # fmt: skip
    return bool(found.status.ok and found.x[n] > SQUEEZED)
