"""Mobility: rank, redundancy and degrees of freedom at a configuration, and which of them are lasting."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.mobility.contact_freedoms import ContactFreedoms, contact_freedoms
from sarrus.analysis.mobility.free_carriers import FreeCarrier, free_carriers, internal_rows, motion_rows
from sarrus.analysis.mobility.internal_motions import InternalMotion, internal_motions
from sarrus.analysis.mobility.joint_exchanges import JointExchange
from sarrus.analysis.mobility.motion_text import describe, describe_branch, shared_independent
from sarrus.analysis.mobility.reduction import Exchange, Reduction, reduction
from sarrus.analysis.mobility.removable_rows import Place, places, removable_rows
from sarrus.analysis.mobility.tolerances import NO_MOTION_ENTRY
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import check_is
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.dynamics.closing.assembly import survey
from sarrus.dynamics.closing.branches import Branch, find_branches, goes_on, tangents
from sarrus.dynamics.closing.levenberg_marquardt import data_of
from sarrus.dynamics.closing.manifold import closed_start, comparable, typical_size
from sarrus.dynamics.contacts.contact_state import takes_part
from sarrus.dynamics.model.measures import open_by
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import Ranked, beyond, independent_rows, ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT


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
    _system: System = field(kw_only=True, repr=False)
    _t: float = field(kw_only=True, repr=False)

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

    @cached_property
    def free_carriers(self) -> tuple[FreeCarrier, ...]:
        """Bodies that move freely with all that hangs on them, such as a robot in the air; one line each in a table."""
        jacobian = self._system.constraint_jacobian(self.q, t=self._t)
        return free_carriers(self._system.mechanism, jacobian)

    @cached_property
    def internal_rows(self) -> list[tuple[str, str]]:
        """What a table says of the internal motions, those of free carriers left out."""
        mechanism = self._system.mechanism
        return internal_rows(self.velocity_names, self.internal_motions, self.free_carriers, mechanism)

    @property
    def branch_descriptions(self) -> tuple[str, ...]:
        """The branches in words: kind, freedom, rank, and how the velocities go together at the start of each.

        Curves by the velocities of their tangent, surfaces by the velocities that follow from independent ones,
        which are the same for all branches where this is possible.
        """
        shared = shared_independent(self.branches)
        return tuple(describe_branch(self.velocity_names, branch, shared) for branch in self.branches)

    @cached_property
    def removable(self) -> tuple[str, ...]:
        """Names of rows that can go, all at once, while rank and motion stay as they are; no other row can then.

        Full rank: (). Redundant: nc − rank of the rows in ``redundant``, chosen alike on every machine, by preference a
        whole constraint (the last first), rows whose closure is of another kind without them, and rows (the last
        first). Singular: rows that no branch needs, and whose curvature nothing else has; the same rows elsewhere on
        the motion may be fewer or more. Rigid and shaky: rows that neither the first nor the second order needs, nor
        steps of a twentieth of a characteristic length. Constraints that come and go count as they are now, what is off
        is not listed, and nothing goes on their word that holds always. With rows that contradict each other the
        compromise may change by as much as they do. Found when it is first asked for.
        """
        names = self._system.constraint_names
        return tuple(name for name, gone in zip(names, self._removal[1]) if gone)

    @cached_property
    def reduction(self) -> Reduction:
        """The same mechanism without redundant rows, by closures of other kinds; see `sarrus.without_redundancy`."""
        return reduction(self._system, self._t, *self._removal, self._is_smooth)

    @property
    def suggestions(self) -> tuple[Exchange | JointExchange, ...]:
        """Closures of other kinds that together leave independent rows and the same motion; () where there are none."""
        return self.reduction.exchanges

    @cached_property
    def _removal(self) -> tuple[tuple[Place, ...], np.ndarray]:
        """Configurations where rows were compared, and which ones can go (bool (nc,))."""
        found = places(self._system, self.q, self._t, self.branches, bent=not self._is_smooth)
        return found, removable_rows(self._system, self._t, found, self._is_smooth)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy holds: without equations of one's own, which cannot be copied, but with what can go."""
        if self._system.mechanism is not None:
            return vars(self)
        for name in ("free_carriers", "internal_rows", "removable", "reduction"):
            getattr(self, name)  # which keeps it
        return {**vars(self), "_system": None}

    @property
    def _is_smooth(self) -> bool:
        return self.status is Status.OK and not self.shaky

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
            if self.redundant and self.removable:
                rows.append(
                    ("removable rows", f"{', '.join(self.removable)}: {len(self.removable)} of them together")
                )
            rows.append(("gap", f"{self.gap:.3g}; singular values up to {self.tolerance:.2g} count as zero"))
            rows.append(("closure residual", f"{self.residual:.3g}"))
        rows += motion_rows(self.velocity_names, self.motions, self.free_carriers)
        rows += self.internal_rows
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


@described()
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
    uᵀγ(x) on the kernel and tried by short steps; see `sarrus.dynamics.closing.branches`. Isolated: status RIGID, no
    branch; ``motions`` are infinitesimal then. Inconsistent by up to 1e-5: the loops are closed first as well as they
    can be, ``residual`` says how well. Loops open by more, and q that is no number, are an `ArgumentError`.

    Parameters
    ----------
    q : (nq,) configuration. t : time [s], for constraints that depend on it; it is held fixed.
    tolerance : singular values below this multiple of the largest one nearby count as zero, by default 1e-6, or more
        where the digits of the model leave more (`sarrus.dynamics.model.model_precision`). Metres and radians are
        weighed alike.
    contacts : whether contacts with Coulomb friction and stops of joints are looked at, where there are any; see
        `sarrus.analysis.mobility.contact_freedoms.ContactFreedoms`; dry friction of joints is left out. Contacts
        between geometries without closed form, which runs alone know, are an `ArgumentError`, unless False leaves all
        of them out.
    """
    check_is("mobility", system, System)
    acting = takes_part(system, contacts)
    q = closed_start(system, real_array(q), t)
    cut = (data_of(system).rank_cut(RANK_CUT) if tolerance is None else tolerance) * typical_size(
        system, q, t
    )
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
    motions[np.abs(motions) < NO_MOTION_ENTRY] = 0.0
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
        _system=system.with_parameters(),
        _t=t,
    )


def without_redundancy(system: System, q: ArrayLike, t: float = 0.0) -> Reduction:
    """Return the mechanism of a system with closures of other kinds, so that its rows are independent.

    Motion and coordinates are the same, on all branches nearby; far from q the motion may meet singular configurations
    that the other rows kept away, as a third crank does of a parallelogram that flattens. A closure is exchanged for a
    kind that allows all that it does and more, with the axis that this takes, or left out; one alone where that is
    enough, else several. Where closures alone cannot, joints of the tree that nothing else refers to get further
    freedoms, which the closures hold; then the coordinates are others, and ``Reduction.q`` is q in them. It is
    built, and its rank, its span and its second order compared with those of the other one at q and at closed
    configurations nearby, before it is returned. Forces of its closures are unique: those that the bearings of the
    other one share as their stiffness and fits have it are one of many with the same sum.

    Full rank: the mechanism as it is. Redundant: OK and the exchanges, or NOT_ACHIEVABLE and no mechanism where no
    kinds do it, as where couplings, contacts, or constraints that come and go are among the redundant ones: ``message``
    says so, and ``removable`` names rows that could go one by one. Singular, rigid, inconsistent and bad input: as
    `mobility` says. The parameters of the system are numbers in the mechanism.
    """
    check_is("without_redundancy", system, System)
    return mobility(system, q, t, contacts=False).reduction


def _rows(system: System, q: Array, t: float, cut: float) -> Ranked:
    return ranked(comparable(system, system.constraint_jacobian(q, t=t)), cut)


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
