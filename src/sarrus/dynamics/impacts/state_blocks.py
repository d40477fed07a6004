"""`StateBlocks`: contacts with Coulomb friction and stops at a state, for `sarrus.impact`, and `ContactImpulses`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_elements import Mode, contact_elements
from sarrus.dynamics.contacts.contact_state import below_its_plane, contact_row_state
from sarrus.dynamics.contacts.support_reactions import ContactReactions
from sarrus.dynamics.impacts.collisions import Collisions, ImpactBlocks, no_answer
from sarrus.dynamics.impacts.tolerances import IMPULSE_ROUNDING
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.inertia import lightness
from sarrus.dynamics.model.joint_limits import joint_limits
from sarrus.dynamics.optimize.contact_problem import ContactSolution, solve_contact_problem
from sarrus.kernels.contact.tolerances import HELD_BY_CONSTRAINTS
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.ranked import ranked


@dataclass(frozen=True, eq=False, repr=False)
class ContactImpulses(ContactReactions):
    """Impulses of contacts with Coulomb friction and of joint stops in an impact.

    ``forces`` are impulses [N s, N m s], ``force`` their generalized impulse Jᵀ r, ``modes`` those after the impact:
    open if the contact leaves or has not touched. ``determined`` marks the impulses that the laws and the velocity
    after the impact make unique. Dry friction has no impulse.

    Attributes
    ----------
    touching : names of the contacts and stops that touch, which take part.
    hitting : names of those that approached before the impact.
    """

    touching: tuple[str, ...]
    hitting: tuple[str, ...]

    def followed_by(self, other: ContactImpulses) -> ContactImpulses:
        """Return the impulses of this impact and of one right after it."""
        return replace(
            other,
            forces=read_only(self.forces + other.forces),
            force=read_only(self.force + other.force),
            determined=read_only(self.determined & other.determined),
            carrying=tuple(n for n in self.modes if n in (*self.carrying, *other.carrying)),
            hitting=tuple(n for n in self.modes if n in (*self.hitting, *other.hitting)),
        )


def coefficients(system: Evaluations) -> dict[str, float]:
    """Return the coefficients of restitution of contacts with Coulomb friction and of stops, by name.

    Contacts between geometries that a narrow phase finds have the name of their pair.
    """
    own = [contact.restitution for contact in system.equations.friction_contacts]
    own += joint_limits(system).restitution.tolist()
    pairs = [] if system.mechanism is None else system.mechanism.geometry_pairs
    return dict(zip((one.name for one in contact_elements(system)), own)) | {
        pair.name: pair.restitution for pair in pairs
    }


class StateBlocks(ImpactBlocks):
    """Contacts, stops and dry frictions at (q, v, t); impulses change the velocity ``v`` (nv,).

    ``motions`` (nv × k) are velocities that the constraints allow, with Zᵀ M Z = 1, so that an impulse p changes the
    velocity by Z Zᵀ p. ``own`` are the coefficients of restitution, by name.
    """

    def __init__(
        self, system: Evaluations, q: Array, v: Array, t: float, motions: Array, own: Mapping[str, float]
    ) -> None:
        found = contact_row_state(system, q, v, t)
        points = () if found.geometry is None else found.geometry.points
        super().__init__(
            system, found.elements, [one.name for one in points if one.pair.impact_law == "poisson"]
        )
        own = {**own, **{one.name: own[one.pair.name] for one in points}}
        self.system, self.elements, self.names, self.v = system, found.elements, found.names, v.copy()
        self.state, self.jacobian, self._bias = found, found.rows, found.rates - product(found.rows, v)
        self._restitution = np.array([own[one.name] for one in self.elements[: self.unilateral]])
        self._motions = motions
        self._free = (found.rows**2 * lightness(system, q, t)).sum(axis=1)

    @property
    def restitution(self) -> Array:
        """Coefficients of restitution of the unilateral blocks."""
        return self._restitution

    @property
    def velocity(self) -> Array:
        """Velocities of all rows."""
        return product(self.jacobian, self.v) + self._bias

    def touching(self) -> list[int]:
        """Return the numbers of the contacts and stops that touch; `ArgumentError` for one deep below its plane.

        Of two flanks with next to no backlash the one that opens is left out.
        """
        if deep := self.state.deep:
            raise below_its_plane(self.system, self.elements[deep[0]], float(self.state.gaps[deep[0]]))
        velocity = self.velocity

        def opens(k: int) -> bool:
            one = self.elements[k]
            return one.opposite_flank >= 0 and bool(velocity[one.rows.start] > self.still(k))

        return [k for k in self.state.closed if not opens(k)]

    def look(self, rows: list[int]) -> int:
        """Evaluate W of ``rows``; rows that the constraints hold but for rounding have zeros."""
        self.note_speed(self.v)
        along = product(self.jacobian[rows], self._motions)
        along[(along**2).sum(axis=1) <= HELD_BY_CONSTRAINTS * self._free[rows]] = 0.0
        self._along = along
        return 0 if np.isfinite(along).all() else -1

    def delassus(self, m: int) -> Array:
        """Return the Delassus matrix W (m, m) of the m rows of the last `look`."""
        return product(self._along[:m], self._along[:m].T)

    def friction(self, k: int) -> float:
        """Return the coefficient of sliding friction of a unilateral block."""
        return self.elements[k].friction

    def answer(
        self,
        delassus: Array,
        which: Sequence[int],
        given: Array,
        contacts: list[tuple[int, float]],
        dry: list[tuple[int, float]],
    ) -> ContactSolution:
        """Return the answer to the contact problem of the rows ``which``; raises `SolveError` if there is none."""
        found = solve_contact_problem(None, given, contacts, dry, delassus=delassus, throw=False)
        if not found.status.ok:
            names = [one.name for one in self.elements for _ in range(one.rows.start, one.rows.stop)]
            raise no_answer(self.name, [names[row] for row in which], found)
        return found

    def change(self, rows: list[int], found: Array) -> Array:
        """Return the change of velocity (nv,) by impulses on rows of the last `look`."""
        return product(self._motions, product(self._along[: len(rows)].T, found))

    def push(self, change: Array) -> None:
        """Add a change (nv,) to the velocity."""
        self.v += change

    def move(self, change: Array) -> None:
        """Do nothing: positions do not change in the impact of a state."""

    def strike(self) -> tuple[float, ContactImpulses]:
        """Let all that touches collide if something approaches; return the kinetic energy lost [J] and the impulses."""
        self.look([])
        closed = self.touching()
        rates = self.rates()
        hits = [k for k in closed if rates[k] < -self.still(k)]
        impulses, loss, rows = np.zeros(len(self.jacobian)), 0.0, self.rows(closed)
        if hits:
            loss, impulses[rows] = Collisions(self, np.zeros(len(self.sizes))).strike(closed, rates)
        return loss, self._result(closed, hits, impulses, rows)

    def _result(
        self, closed: list[int], hits: list[int], impulses: Array, rows: list[int]
    ) -> ContactImpulses:
        """Return the impulses with their modes after the impact."""
        velocity, modes = self.velocity, dict[str, Mode]()
        least, ways = IMPULSE_ROUNDING * float(np.abs(impulses).max(initial=0.0)), list[Array]()
        self.look(rows)
        for k, one in enumerate(self.elements):
            slides = self.slip(velocity, k) > self.still(k)
            mode = Mode.SLIDING if slides else Mode.STICKING
            if k < self.unilateral and (k not in closed or velocity[one.rows.start] > self.still(k)):
                mode = Mode.OPEN
            modes[one.name] = mode
            if k < self.unilateral and impulses[one.rows.start] > least:
                own = np.eye(len(impulses))[one.rows]
                part = np.zeros((1, len(impulses)))
                part[0, one.rows] = impulses[one.rows] / impulses[one.rows.start]
                ways += [*(part if slides or self.friction(k) == 0.0 else own)]
        columns = np.array(ways).reshape(len(ways), len(impulses)).T
        null = ranked(product(self._along.T, columns[rows])).null if ways else np.zeros((0, 0))
        loose = np.abs(product(columns, null)).max(axis=1, initial=0.0) > IMPULSE_ROUNDING
        return ContactImpulses(
            names=self.names,
            forces=read_only(impulses),
            force=read_only(product(self.jacobian.T, impulses)),
            determined=read_only(~loose),
            modes=modes,
            carrying=tuple(one.name for one in self.elements if np.abs(impulses[one.rows]).max() > least),
            reason="",
            status=Status.OK,
            touching=tuple(self.elements[k].name for k in closed),
            hitting=tuple(self.elements[k].name for k in hits),
        )
