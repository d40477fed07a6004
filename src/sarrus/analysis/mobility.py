"""Mobility: rank, redundancy and degrees of freedom at a configuration, and which of them are lasting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.contact_freedoms import ContactFreedoms, contact_freedoms
from sarrus.analysis.internal_motions import InternalMotion, internal_motions
from sarrus.base.arrays import Array, read_only
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.dynamics.assembly import survey
from sarrus.dynamics.branches import Branch, find_branches, goes_on, tangents
from sarrus.dynamics.contact_state import takes_part
from sarrus.dynamics.descent import data_of
from sarrus.dynamics.manifold import closed_start, typical_size
from sarrus.dynamics.measures import open_by
from sarrus.dynamics.system import System
from sarrus.linalg.ranked import CUT, Ranked, beyond, independent_rows, ranked

# Entries of a motion that are written out, and relative size below which they are left out.
_WRITTEN, _SMALL = 8, 1e-5
# Independent velocities serve for a branch where their rows of its tangents have a smaller condition number.
_CLEAR = 100.0


@dataclass(frozen=True, eq=False)
class Mobility(Answer):
    """What can move at a configuration; ``print`` shows it as a table.

    Attributes
    ----------
    name : name of the system.
    q : (nq,) the configuration, its loops closed to rounding; ``residual`` the largest entry of φ left.
    status : OK where the closed configurations around q are one smooth surface with the same rank all over;
        SINGULAR where the rank is higher nearby or branches meet; RIGID where q is isolated: no motion goes on,
        although A allows velocities (second-order rigid).
    rank, dof : rank of A, and nv − rank, the number of instantaneous motions (velocities).
    generic_rank, generic_dof : the largest rank on the branches through q, and nv less it.
    finite_dof : dimension of the configuration space here, that of the largest branch; 0 where q is isolated.
        With nonholonomic rows it is larger than ``dof``: they take away velocities, not configurations.
    shaky : True where the rank is the same nearby, and yet some motions are infinitesimal: no configurations lie
        in their direction, here and all along the surface.
    singular_values : all singular values of A, the largest first.
    tolerance : singular values up to this count as zero.
    gap : ratio of the smallest value kept to the largest one dropped.
    determined : (nc,) bool, which multipliers are unique here, by row.
    redundant : names of the rows whose multipliers are not unique, here and on every branch nearby;
        ``redundant_closures`` those of their closures.
    singular_closures : closures that become dependent here and are not nearby.
    motions : (nv × dof) basis of the motions that A allows: in each one of ``independent`` has rate one and
        the others rest. ``descriptions`` say the same in words.
    independent : names of dof velocities that determine all others.
    internal_motions : motions of single pieces while all other bodies rest, which no closure notices.
    branches : where motion goes on from a singular or shaky configuration; () in regular ones, and where q is
        isolated.
    complete : False where the search for branches stopped at its limit.
    contacts : what closed contacts with Coulomb friction and stops leave of the motions, None where none act. All else
        is about the constraints alone.
    """

    name: str
    q: Array
    residual: float
    status: Status
    rank: int
    dof: int
    generic_rank: int
    finite_dof: int
    shaky: bool
    singular_values: Array
    tolerance: float
    gap: float
    determined: np.ndarray
    redundant: tuple[str, ...]
    redundant_closures: tuple[str, ...]
    singular_closures: tuple[str, ...]
    motions: Array
    independent: tuple[str, ...]
    internal_motions: tuple[InternalMotion, ...]
    branches: tuple[Branch, ...]
    complete: bool
    velocity_names: tuple[str, ...] = field(repr=False)
    contacts: ContactFreedoms | None = None

    @property
    def success(self) -> bool:
        """True where all was found: ``complete``. The status is that of the configuration."""
        return self.complete

    @property
    def generic_dof(self) -> int:
        """Degrees of freedom nearby, nv − generic_rank."""
        return len(self.velocity_names) - self.generic_rank

    @property
    def descriptions(self) -> tuple[str, ...]:
        """The motions in words, one for each column."""
        return tuple(describe(self.velocity_names, motion) for motion in self.motions.T)

    @property
    def branch_descriptions(self) -> tuple[str, ...]:
        """The branches in words: kind, freedom, rank, and how the velocities go together at the start of each.

        Curves by the velocities of their tangent, surfaces by the velocities that follow from independent ones,
        which are the same for all branches where this is possible.
        """
        shared = _shared_independent(self.branches)
        out = []
        for branch in self.branches:
            kind = "cone" if branch.cone else "curve" if branch.dof == 1 else "surface"
            end = " that ends here" if branch.sides == 1 else ""
            text = f"{kind}{end}, {branch.dof} of freedom, rank {branch.rank}"
            if branch.dof == 1:
                tangent = branch.tangents[:, 0]
                size = np.abs(tangent)
                first = int(
                    np.argmax(size > 0.99 * size.max())
                )  # of equal ones the first, not the one rounding prefers
                text += ": " + describe(self.velocity_names, tangent / tangent[first])
            elif not branch.cone:
                independent = shared or independent_rows(branch.tangents, branch.dof)
                text += ": " + relations(self.velocity_names, branch.tangents, independent)
            out.append(text)
        return tuple(out)

    def __str__(self) -> str:
        nv, nc = len(self.velocity_names), len(self.determined)
        rows = [
            ("mobility", self.name),
            ("status", str(self.status)),
            ("degrees of freedom", f"{self.dof} of {nv} velocities"),
            ("rows", f"{nc} of rank {self.rank}"),
        ]
        if nc:
            rows.append(("redundant rows", ", ".join(self.redundant) or "none"))
            rows.append(("gap", f"{self.gap:.3g}; singular values up to {self.tolerance:.2g} count as zero"))
            rows.append(("closure residual", f"{self.residual:.3g}"))
        rows += zip(("motion", *[""] * self.dof), self.descriptions)
        rows += zip(("internal", *[""] * len(self.internal_motions)), map(str, self.internal_motions))
        if self.shaky:
            rows.append(("shaky", f"{self.finite_dof} finite, the others are infinitesimal, here and nearby"))
        if self.status in (Status.SINGULAR, Status.RIGID):
            rows += self._singular_rows()
        if self.contacts is not None:
            rows += self.contacts.rows
        width = max(len(label) for label, _ in rows) + 2
        return "\n".join(f"{label:<{width}}{text}".rstrip() for label, text in rows)

    def _singular_rows(self) -> list[tuple[str, str]]:
        rows = []
        if self.singular_closures:
            rows.append(("dependent here", ", ".join(self.singular_closures)))
        if not self.branches:
            rows.append(("branches", "none: the configuration is isolated, its motions are infinitesimal"))
        rows += zip(("branches", *[""] * len(self.branches)), self.branch_descriptions)
        if not self.complete:
            rows.append(("", "and perhaps more"))
        return rows


def describe(names: Iterable[str], motion: Array) -> str:
    """Return a motion as names and rates, without those that are next to nothing."""
    entries = [(n, x) for n, x in zip(names, motion) if abs(x) > _SMALL * float(np.abs(motion).max())]
    more = f" and {len(entries) - _WRITTEN} more" if len(entries) > _WRITTEN else ""
    return ", ".join(f"{n} {x:.3g}" for n, x in entries[:_WRITTEN]) + more


def relations(names: Sequence[str], motions: Array, independent: Sequence[int]) -> str:
    """Return how velocities of motions (nv × dof) follow from independent ones, such as "b = 2 a − c"."""
    ratios = motions @ np.linalg.inv(motions[list(independent)])
    dependent = [i for i in range(len(names)) if i not in independent]
    texts = []
    for i in dependent[:_WRITTEN]:
        total = ""
        for k, x in zip(independent, ratios[i]):
            if abs(x) > _SMALL:
                sign = (" − " if total else "−") if x < 0.0 else (" + " if total else "")
                total += sign + ("" if abs(abs(x) - 1.0) < _SMALL else f"{abs(x):.3g} ") + names[k]
        texts.append(f"{names[i]} = {total or 0}")
    more = len(dependent) - _WRITTEN
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _shared_independent(branches: Sequence[Branch]) -> list[int]:
    """Return velocities that determine the others on every branch that is a surface; [] where there are none.

    The first ones that do so in the order of coordinates, whatever the order in which branches were found.
    """
    surfaces = [branch for branch in branches if not branch.cone]
    for candidate in sorted(independent_rows(branch.tangents, branch.dof) for branch in surfaces):
        parts = [branch.tangents[candidate] for branch in surfaces]
        if all(part.shape[0] == part.shape[1] and np.linalg.cond(part) < _CLEAR for part in parts):
            return candidate
    return []


def mobility(
    system: System,
    q: ArrayLike,
    t: float = 0.0,
    *,
    tolerance: float | None = None,
    contacts: bool = True,
) -> Mobility:
    """Return what the constraints leave free at q, and which of it is lasting.

    Full rank: dof = nv − rank, nothing redundant. Redundant rows (permanently, as in a planar loop closed in
    space, or Bricard's linkage): status OK, their names in ``redundant``. Singular (the rank drops here but
    not nearby): status SINGULAR, with the branches along which motion goes on, found from the quadratic forms
    uᵀγ(x) on the kernel and tried by short steps; see `sarrus.dynamics.branches`. Isolated: status RIGID, no branch;
    ``motions`` are infinitesimal then. Inconsistent by up to 1e-5:
    the loops are closed first as well as they can be, ``residual`` says how well. Loops open by more, and
    q that is no number, are an `ArgumentError`.

    Parameters
    ----------
    q : (nq,) configuration. t : time [s], for constraints that depend on it; it is held fixed.
    tolerance : singular values below this multiple of the largest one nearby count as zero, by default 1e-6, or more
        where the digits of the model leave more (`sarrus.dynamics.data_tolerance`). Metres and radians are weighed
        alike.
    contacts : whether contacts with Coulomb friction and stops of joints are looked at, where there are any; see
        `sarrus.analysis.contact_freedoms.ContactFreedoms`; dry friction of joints is left out. Contacts between
        geometries without closed form, which runs alone know, are an `ArgumentError`, unless False leaves all of them
        out.
    """
    acting = takes_part(system, contacts)
    q = closed_start(system, real_array(q), t)
    cut = (data_of(system).rank_cut(CUT) if tolerance is None else tolerance) * typical_size(system, q, t)
    parts = _rows(system, q, t, cut)
    here = tangents(system, q, t, cut)
    branches: tuple[Branch, ...] = ()
    complete = True
    generic = parts.rank
    finite = here.rows.null.shape[1]
    regular = goes_on(system, q, t, here)
    if not regular:
        branches, complete = find_branches(system, q, t, here)
        finite = max((branch.dof for branch in branches), default=0)
        generic = max([parts.rank, *(_rows(system, branch.q, t, cut).rank for branch in branches)])
    elif system.nc > system.nh:
        generic = max(parts.rank, survey(system, q, t).rank)
    sure = parts.determined.copy()
    for branch in branches:
        sure |= _rows(system, branch.q, t, cut).determined
    redundant = tuple(n for n, unique in zip(system.constraint_names, sure) if not unique)
    independent = independent_rows(parts.null, parts.null.shape[1])
    motions = parts.null @ np.linalg.inv(parts.null[independent])
    motions[np.abs(motions) < 1e-14] = 0.0
    lasting = generic == parts.rank and (regular or len(branches) == 1)
    status = Status.OK if lasting else Status.SINGULAR
    if not regular and not branches and complete:
        status = Status.RIGID
    return Mobility(
        name=system.name,
        q=read_only(q),
        residual=open_by(system, q, t),
        status=status,
        rank=parts.rank,
        dof=system.nv - parts.rank,
        generic_rank=generic,
        finite_dof=finite,
        shaky=lasting and finite < here.rows.null.shape[1],
        singular_values=read_only(parts.values),
        tolerance=cut,
        gap=parts.gap,
        determined=parts.determined,
        redundant=redundant,
        redundant_closures=_closures(system, ~sure),
        singular_closures=_lost(system, t, cut, parts.left_null, branches),
        motions=read_only(motions),
        independent=tuple(system.velocity_names[i] for i in independent),
        internal_motions=internal_motions(system, q, t, cut),
        branches=branches,
        complete=complete,
        velocity_names=tuple(system.velocity_names),
        contacts=contact_freedoms(system, q, parts.null, t) if acting else None,
    )


def _rows(system: System, q: Array, t: float, cut: float) -> Ranked:
    return ranked(system.constraint_jacobian(q, t=t), cut)


def _closures(system: System, rows: np.ndarray) -> tuple[str, ...]:
    return tuple(name for name, part in system.closure_rows.items() if rows[part].any())


def weightiest_closures(system: System, left: Array) -> tuple[str, ...]:
    """Return the closures that matter in combinations of rows (by columns of ``left``)."""
    weight = {name: float(np.linalg.norm(left[part])) for name, part in system.closure_rows.items()}
    largest = max(weight.values(), default=0.0)
    return tuple(name for name, size in weight.items() if size > 0.3 * largest and size > 0.0)


def _lost(
    system: System, t: float, cut: float, left_null: Array, branches: tuple[Branch, ...]
) -> tuple[str, ...]:
    """Return the closures in those dependencies of the rows that are not there nearby."""
    names: set[str] = set()
    for branch in branches:
        names |= set(
            weightiest_closures(system, beyond(left_null, _rows(system, branch.q, t, cut).left_null))
        )
    return tuple(name for name in system.closure_rows if name in names)
