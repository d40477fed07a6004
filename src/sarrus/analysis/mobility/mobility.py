"""Mobility: rank of A, redundant rows and degrees of freedom at a configuration, and nearby."""

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
from sarrus.dynamics.closing.assembly import rank_analysis
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
    """Degrees of freedom and redundancy at a configuration; ``print`` shows them as a table.

    Attributes
    ----------
    name : name of the system.
    q : (nq,) the configuration, its loops closed to rounding. residual : largest entry of φ [m, rad].
    status : OK if the closed configurations around q are one smooth surface with constant rank; SINGULAR if the rank is
        higher nearby or branches meet; RIGID if q is isolated: no finite motion starts here, although A allows
        velocities (second-order rigid).
    rank, dof : rank of A, and nv − rank, the number of instantaneous degrees of freedom.
    generic_rank, generic_dof : largest rank on the branches through q, and nv − generic_rank.
    finite_dof : dimension of the configuration space here, of its largest branch; 0 if q is isolated. With nonholonomic
        rows it is larger than ``dof``: they forbid velocities, not configurations.
    shaky : True if the rank is constant nearby and yet some motions are infinitesimal, here and all along the surface:
        no closed configurations lie in their direction.
    singular_values : all singular values of A, descending; rows in characteristic units if the digits of the model
        matter (`sarrus.dynamics.model.model_precision`), else in m and rad.
    tolerance : singular values up to this one count as zero.
    gap : ratio of the smallest nonzero singular value to the largest one that counts as zero; infinite if the latter
        are exactly zero or there are none.
    determined : (nc,) bool, which multipliers are unique here, by row.
    redundant : names of the rows whose multipliers are not unique, here and on every branch nearby;
        ``redundant_closures``: names of their closures.
    singular_closures : closures that are dependent here and independent nearby.
    motions : (nv, dof) basis of the motions that A allows; in each column one velocity of ``independent`` is one and
        the other independent velocities are zero. ``descriptions`` are the columns in words.
    independent : names of dof velocities that determine all other velocities.
    internal_motions : motions of a single part while all other bodies rest, unrestricted by any closure.
    branches : the branches through a singular or shaky configuration; () at a regular or isolated one.
    complete : False if the search for branches stopped at its limit.
    contacts : motions that closed contacts with Coulomb friction and stops allow; None without them. All other
        attributes concern the constraints alone.
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
        """True if the search was complete (``complete``); the status describes the configuration."""
        return self.complete

    @property
    def generic_dof(self) -> int:
        """Degrees of freedom nearby, nv − generic_rank."""
        return len(self.velocity_names) - self.generic_rank

    @property
    def descriptions(self) -> tuple[str, ...]:
        """The motions in words, one text for each column of ``motions``."""
        return tuple(describe(self.velocity_names, motion) for motion in self.motions.T)

    @cached_property
    def free_carriers(self) -> tuple[FreeCarrier, ...]:
        """Floating bases: bodies that no joint or closure ties to the ground, with all bodies on them; one table line
        each.
        """
        jacobian = self._system.constraint_jacobian(self.q, t=self._t)
        return free_carriers(self._system.mechanism, jacobian)

    @cached_property
    def internal_rows(self) -> list[tuple[str, str]]:
        """Table lines (label, text) on internal motions, without those of free carriers."""
        mechanism = self._system.mechanism
        return internal_rows(self.velocity_names, self.internal_motions, self.free_carriers, mechanism)

    @property
    def branch_descriptions(self) -> tuple[str, ...]:
        """The branches in words: kind, degrees of freedom, rank, and relations of the velocities at the start of each.

        For a curve the velocities of its tangent; for a surface the velocities as functions of independent ones, the
        same ones for all branches if possible.
        """
        shared = shared_independent(self.branches)
        return tuple(describe_branch(self.velocity_names, branch, shared) for branch in self.branches)

    @cached_property
    def removable(self) -> tuple[str, ...]:
        """Names of rows that can be removed together while rank and motion stay the same; no further row can be removed
        then.

        Full rank: (). Redundant: nc − rank of the rows in ``redundant``, the same on every machine, preferably a whole
        constraint (the last first), then rows whose closure is of another kind without them, then single rows (the last
        first). Singular: rows that no branch needs, and whose curvature is not unique to them; elsewhere on the motion
        the set may be different. Rigid and shaky: rows that neither the first nor the second order needs, nor finite
        steps of a twentieth of a characteristic length. Switched constraints count in their present state: inactive
        ones are not listed, and a permanent row is not removed because of a switched one. With inconsistent rows the
        least-squares compromise may change by the amount of the inconsistency. Evaluated at the first access.
        """
        names = self._system.constraint_names
        return tuple(name for name, gone in zip(names, self._removal[1]) if gone)

    @cached_property
    def reduction(self) -> Reduction:
        """The same mechanism without redundant rows, by closures of other kinds; see `sarrus.without_redundancy`."""
        return reduction(self._system, self._t, *self._removal, self._is_smooth)

    @property
    def suggestions(self) -> tuple[Exchange | JointExchange, ...]:
        """Closures of other kinds that together give independent rows and the same motion; () if there are none."""
        return self.reduction.exchanges

    @cached_property
    def _removal(self) -> tuple[tuple[Place, ...], np.ndarray]:
        """Configurations at which rows were compared, and the mask of removable rows (nc,)."""
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
                    ("removable rows", f"{', '.join(self.removable)}: these {len(self.removable)} together")
                )
            text = f"up to {self.tolerance:.2g} count as zero"
            if np.isfinite(self.gap):
                text += f"; the smallest other one is {self.gap:.3g} times the largest of these"
            rows.append(("singular values", text))
            rows.append(("closure residual", f"{self.residual:.3g}"))
        rows += motion_rows(self.velocity_names, self.motions, self.free_carriers)
        rows += self.internal_rows
        if self.shaky:
            rows.append(
                (
                    "shaky",
                    f"{self.finite_dof} finite, {self.dof - self.finite_dof} infinitesimal, here and nearby",
                )
            )
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
            rows.append(("", "and perhaps more branches"))
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
    """Return the `Mobility` at q: rank, redundant rows, degrees of freedom and branches.

    Full rank: dof = nv − rank, no redundant rows. Redundant rows (permanent, as in a planar loop closed in space, or
    Bricard's linkage): status OK, names in ``redundant``. Singular (the rank drops here but not nearby): status
    SINGULAR, with the branches of motion, found from the quadratic forms uᵀγ(x) on the null space and confirmed by
    short steps; see `sarrus.dynamics.closing.branches`. Isolated: status RIGID, no branch, and ``motions`` are
    infinitesimal. Inconsistent by up to 1e-5: the loops are first closed in the least-squares sense, with the error
    ``residual``. Loops open by more, and q that is not finite, are an `ArgumentError`.

    Parameters
    ----------
    q : (nq,) configuration. t : time [s] of constraints that depend on it.
    tolerance : singular values below this multiple of the largest one nearby count as zero; default 1e-6, or more if
        the digits of the model require it (`sarrus.dynamics.model.model_precision`). Metres and radians weigh the same.
    contacts : True examines contacts with Coulomb friction and stops of joints, see
        `sarrus.analysis.mobility.contact_freedoms.ContactFreedoms`. The dry friction of joints is left out: it bounds
        a force and forbids no velocity; the modes of ``forward_dynamics`` at rest say which joints it holds under a
        load.
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
        generic = max(parts.rank, rank_analysis(system, q, t).rank)
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
    """Return a `Reduction`: the mechanism of a system with closures of other kinds, so that its rows are independent.

    Motion and coordinates are the same on all branches nearby. Far from q the motion may meet singular configurations
    that the removed rows prevented, as a third crank does in a parallelogram that flattens. A closure is replaced by a
    kind with fewer rows, with a suitable axis, or removed: one closure if that is enough, else several. If closures are
    not enough, joints of the tree without actuators, springs, limits or sensors get further freedoms, which the
    closures hold; the coordinates then change, and ``Reduction.q`` is q in the new ones. The result is built, and its
    rank, row space and second order are compared with the original at q and at closed configurations nearby. Its
    closure forces are unique: one of the many possible distributions of forces over the redundant bearings.

    Full rank: the mechanism unchanged. Redundant: OK with the exchanges, or NOT_ACHIEVABLE without a mechanism if no
    kinds are suitable, for instance if couplings, contacts or switched constraints are redundant; ``message`` says so,
    and ``removable`` names rows that could be removed one by one. Singular, rigid, inconsistent and invalid input: as
    in `mobility`. The parameters of the system become numbers in the mechanism.
    """
    check_is("without_redundancy", system, System)
    return mobility(system, q, t, contacts=False).reduction


def _rows(system: System, q: Array, t: float, cut: float) -> Ranked:
    return ranked(comparable(system, system.constraint_jacobian(q, t=t)), cut)


def _closures(system: System, rows: np.ndarray) -> tuple[str, ...]:
    return tuple(name for name, part in system.closure_rows.items() if rows[part].any())


def weightiest_closures(system: System, left: Array) -> tuple[str, ...]:
    """Return the closures with the largest coefficients in combinations of rows (columns of ``left``)."""
    weight = {name: float(np.linalg.norm(left[part])) for name, part in system.closure_rows.items()}
    largest = max(weight.values(), default=0.0)
    return tuple(name for name, size in weight.items() if size > 0.3 * largest and size > 0.0)


def _lost(
    system: System, t: float, cut: float, left_null: Array, branches: tuple[Branch, ...]
) -> tuple[str, ...]:
    """Return the closures in the dependencies of rows that do not exist nearby."""
    names: set[str] = set()
    for branch in branches:
        names |= set(
            weightiest_closures(system, beyond(left_null, _rows(system, branch.q, t, cut).left_null))
        )
    return tuple(name for name in system.closure_rows if name in names)
