"""`ContactLaw`: laws whose unknowns are the controls and the contact forces, inside friction cones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_is
from sarrus.control.laws.demands import Command, Demand, ForceDemand, Settings
from sarrus.control.laws.explanation import LimitUse
from sarrus.control.laws.hand_over import ContactUnknowns
from sarrus.control.laws.law import Law
from sarrus.control.laws.law_limits import LawLimits
from sarrus.control.laws.law_options import LawOptions, chosen
from sarrus.control.legged.contact_options import ContactOptions
from sarrus.dynamics.impacts.activity import active, contact_names, switch_off
from sarrus.dynamics.model.control_metric import force_weight
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT
from sarrus.kernels.memory import cone_layout as cl
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory.record import view_fields
from sarrus.symbolic.equations.equations import activity_parameter, stick_parameter


@dataclass(frozen=True, eq=False)
class ContactTerms:
    """The contacts of a system over its symbols, active or not: rows A, γ, rates and gaps.

    ``rows`` (m, nv), ``bias`` and ``rate`` (m), in the order (n, t1, t2) of each contact; ``gap`` [m] of each contact;
    ``places``: slice of each contact among the rows.
    """

    names: tuple[str, ...]
    rows: ca.SX
    bias: ca.SX
    rate: ca.SX
    gap: ca.SX
    places: tuple[slice, ...]

    @classmethod
    def of(cls, system: System) -> ContactTerms:
        """Return the contacts of a system; raises `ArgumentError` if it has none."""
        e = system.equations
        if not e.contacts:
            plants = (
                "; friction='coulomb' is for plants, a law needs a mechanism of its own"
                if e.friction_contacts
                else ""
            )
            raise ArgumentError(
                f"{system.name} has no contacts; add them with Mechanism.add_contact or add_contact_patch{plants}",
                element=system.name,
            )
        rows_of = [[contact.normal, *contact.tangential] for contact in e.contacts]
        order = [row for rows in rows_of for row in rows]
        ends = np.cumsum([0, *map(len, rows_of)]).tolist()
        places = tuple(map(slice, ends[:-1], ends[1:]))
        on = [
            k
            for k, name in enumerate(e.parameter_values)
            if name.startswith((activity_parameter(""), stick_parameter("")))
        ]
        gaps = [order[place.start] for place in places]
        parts = [
            e.jacobian[order, :],
            e.constraint_bias[order],
            e.velocity_residual[order],
            e.position_residual[gaps],
        ]
        rows, bias, rate, gap = ca.substitute(parts, [e.p[on]], [ca.SX.ones(len(on))])
        return cls(contact_names(system), rows, bias, rate, gap, places)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows: contact and number."""
        return tuple(
            f"{name}.{k}" for name, p in zip(self.names, self.places) for k in range(p.stop - p.start)
        )

    def per_row(self, values: ca.SX) -> ca.SX:
        """Return a column with the entry of its contact for each row."""
        return ca.vertcat(*[values[k] for k, p in enumerate(self.places) for _ in range(p.stop - p.start)])


@dataclass(frozen=True, eq=False, kw_only=True)
class ContactCommand(Command):
    """The controls of a law with contacts, their contact forces, and the certificate of the cone program.

    Attributes
    ----------
    contact_forces : by contact, the force of the ground on the robot (n, t1, t2) [N] in the frame of the contact.
    determined : by contact, which components motion and controls determine; the other ones are chosen by least cost,
        then by least norm.
    cost : uᵀW u.
    gap, primal_residual, dual_residual, iterations : of the cone program (duality gap and residuals); see
        `sarrus.optimize.ConeSolution`.
    """

    contact_forces: dict[str, Array]
    determined: dict[str, np.ndarray]
    cost: float
    gap: float
    primal_residual: float
    dual_residual: float
    iterations: int

    @property
    def message(self) -> str:
        """The outcome as a sentence: which demands are missed, and because of which limits."""
        if self.success:
            return self.gives_way or self.status.diagnosis
        limits, missed = ", ".join(self.conflict), ", ".join(self.missed)
        if self.outcome == "damped":
            return f"damped joints, because of {limits}"
        return f"{self.outcome}: {missed}" + (f", because of the limits of {limits}" if limits else "")


class ContactLaw(Law):
    """Base class of laws with contacts, such as `LeggedController`; the unknowns are controls and contact forces.

    The first level is physics: closed contacts do not accelerate, open ones have no force. Then come ``tasks``, in
    order of priority. See `sarrus.kernels.laws.hierarchy_in_cones` for the programs solved.

    Parameters
    ----------
    system : the model, with contacts; the limits of its actuators hold.
    tasks : demands in order of priority.
    closed, share : columns with an entry for each contact, over the symbols of the system and the settings: 1 if it is
        closed, and the allowed part of its largest normal force, 0 to 1.
    sliding : column with 1 for each closed contact that slides: it has no friction and is not held along its plane.
    reflexes : levels before the tasks. ``relaxation`` has no number for them; they get the largest one.
        `ContactCommand` has no `Level` of them.
    options : `ContactOptions`; each of them may be given by its name instead.
    """

    def __init__(
        self,
        system: System,
        tasks: Sequence[Demand | ForceDemand],
        closed: ca.SX,
        share: ca.SX,
        settings: Settings,
        *,
        sliding: ca.SX | None = None,
        reflexes: Sequence[Demand] = (),
        terms: ContactTerms | None = None,
        options: ContactOptions | None = None,
        **by_name: Any,
    ) -> None:
        check_is(type(self).__name__, system, System)
        options = chosen(options, ContactOptions, by_name)
        self.system, self.terms = system, terms or ContactTerms.of(system)
        self._closed, self._share, self.reflexes = closed, share, len(reflexes)
        self._held = self.terms.per_row(closed)
        if sliding is not None:
            for k, p in enumerate(self.terms.places):
                if p.stop > p.start + 1:
                    self._held[p.start + 1 : p.stop] *= 1.0 - sliding[k]
        name = type(self).__name__
        friction = options.kind_of_friction(name)
        damping = settings.add("contact_damping", options.contact_damping, 1, name)
        self._friction = friction
        super().__init__(
            system,
            [self._physics(damping), *reflexes, *tasks],
            settings,
            weights=options.weights,
            options=options,
        )

    def _roots(self) -> Array:
        force = self.unit / np.sqrt(force_weight(self.system, self.norm.weights))
        return np.append(super()._roots(), np.full(self.unknowns - self.system.nu, force))

    def _in_order(
        self, levels: Sequence[Demand | ForceDemand], bounds: Sequence[Demand]
    ) -> tuple[Demand | ForceDemand, ...]:
        physics, *others = levels
        self._reflexes = slice(1 + len(bounds), 1 + len(bounds) + self.reflexes)
        return physics, *bounds, *others

    @property
    def own_contacts(self) -> ContactUnknowns:
        """The contacts whose forces are unknowns of the law."""
        terms = self.terms
        return ContactUnknowns(terms.names, terms.rows, terms.bias, terms.rate, terms.places, self._closed)

    @property
    def first_task(self) -> int:
        """Number of the first level that is a task, after physics and reflexes."""
        return 1 + self.reflexes

    def _limits(self, options: LawOptions) -> LawLimits:
        nu, places = self.system.nu, self.terms.places
        physics = options.physics(
            self.name, self.system, self.unknowns, len(self.levels) - 1 - self.reflexes,
            reflexes=self.reflexes, unit=self.unit,
        )  # fmt: skip
        return LawLimits(
            self.name, self.table, self.levels, physics,
            actuators=self.system.actuator_names, contacts=self.terms.names, friction=self._friction,
            places=[(nu + p.start, p.stop - p.start) for p in places],
            constraints=options.constraints, hold=options.hold,
            first_soft=options.first_soft(self.name, self.levels, self._reflexes.stop),
        )  # fmt: skip

    # --- what is compiled -------------------------------------------------------------------------------

    def _dimensions(self) -> tuple[int, int]:
        forces = self.terms.rows.shape[0]
        return self.system.nu + forces, self.system.nc - forces

    @property
    def contact_count(self) -> int:
        return len(self.terms.names)

    @property
    def shaping_parameters(self) -> tuple[str, ...]:
        """Names of the parameters on which the rank of A depends, without those of contacts; see
        `Law.shaping_parameters`.
        """
        own = {of(name) for name in self.terms.names for of in (activity_parameter, stick_parameter)}
        return tuple(name for name in super().shaping_parameters if name not in own)

    def rank_near(self, work: Workspace, q: ArrayLike, v: ArrayLike, t: float) -> tuple[int, Array]:
        """Return the rank of the constraint rows that are not contacts, and the cut and scale of their pivots."""
        loops = work.copy()
        switch_off(loops, [name for name in self.terms.names if active(loops)[name]])
        return super().rank_near(loops, q, v, t)

    def _physics(self, damping: ca.SX) -> Demand:
        """Return the first level: A_c a = −γ − damping ċ for closed contacts, λ = 0 for open ones."""
        terms, nu, shut = self.terms, self.system.nu, self._held
        unknowns = ca.horzcat(ca.SX(shut.numel(), nu), ca.diag(1.0 - shut))
        wanted = shut * (-terms.bias - damping * terms.rate)
        return Demand("contacts", terms.row_names, ca.diag(shut) @ terms.rows, wanted, unknowns=unknowns)

    def outputs(self) -> dict[str, ca.SX]:
        """Return the outputs of the native function, with those of the contacts."""
        outputs = super().outputs()
        count = self.constraint_rows
        outputs["rows"], outputs["bias"] = outputs["rows"][:count, :], outputs["bias"][:count]
        if "couplings" in outputs:
            outputs["couplings"] = outputs["couplings"][:, :count]
        pushing = ca.diag(self._held) @ self.terms.rows
        outputs["actuation"] = ca.vertcat(outputs["actuation"], pushing)
        outputs["contacts"] = ca.vertcat(self._closed, self._share)
        return outputs

    def _limits_in_use(self) -> tuple[LimitUse, ...]:
        """Return all limits with their values, also normal force [N] and tangential over normal force of each closed
        contact.
        """
        assert self.limits is not None
        count, found = len(self.terms.names), list(super()._limits_in_use())
        physics = view_fields(
            self.limits.arrays["physics"], cn.physics(self.system.nu, count, self.unknowns, len(self.levels))
        )
        shares = view_fields(self.arrays.work, ll.law_sizes(self.table)).contacts[count:]
        for k, (name, force) in enumerate(self.contact_forces.items()):
            if self.closed[k] and self._friction != cn.NO_LIMITS:
                most = float(shares[k] * physics.largest[k])
                found.append(LimitUse(f"contact {name!r}, normal force", float(force[0]), 0.0, most))
                if len(force) > 1 and force[0] > 0.0:
                    ratio = float(np.linalg.norm(force[1:]) / force[0])
                    found.append(
                        LimitUse(f"contact {name!r}, friction", ratio, -np.inf, float(physics.friction[k]))
                    )
        return tuple(found)

    # --- what it tells ----------------------------------------------------------------------------------

    @property
    def contact_forces(self) -> dict[str, Array]:
        """Contact forces (n, t1, t2) [N] that belong to the last controls, by contact."""
        forces = self.arrays.answer[self.system.nu : self.unknowns]
        return {name: forces[p].copy() for name, p in zip(self.terms.names, self.terms.places)}

    def solve(self, q: ArrayLike, v: ArrayLike, t: float = 0.0, *, throw: bool = True) -> ContactCommand:
        """Return a `ContactCommand`: u with contact forces, certificate, and a `Level` for each demand.

        Raises `SolveError` if a demand is missed, unless ``throw`` is False. If limits are the reason the error names
        the contacts and actuators in conflict.
        """
        result = super().solve(q, v, t, throw=throw)
        assert isinstance(result, ContactCommand)
        return result

    def _command(self, q: ArrayLike, v: ArrayLike, t: float) -> ContactCommand:
        found = super()._command(q, v, t)
        assert self.limits is not None
        told = {entry.name: getattr(found, entry.name) for entry in fields(found)}
        told["levels"] = found.levels[: self._reflexes.start] + found.levels[self._reflexes.stop :]
        facts = self.limits.facts
        return ContactCommand(
            **told,
            contact_forces=self.contact_forces,
            determined=self._determined(q, v, t),
            cost=float(found.u @ (self.cost_weights * found.u)),
            gap=float(facts[cl.GAP]),
            primal_residual=float(facts[cl.PRIMAL]),
            dual_residual=float(facts[cl.DUAL]),
            iterations=int(facts[cl.COUNT]),
        )

    def _determined(self, q: ArrayLike, v: ArrayLike, t: float) -> dict[str, np.ndarray]:
        """Return which contact forces the motion determines: those whose rows have no part in a dependent combination
        of rows.
        """
        s = self.system
        native = s.compiled.named(f"{self.name} contact rows", lambda: {"rows": ContactTerms.of(s).rows})
        rows = native.evaluate(s.pack(q, v, None, t))["rows"]
        shut = np.repeat(self.closed, [p.stop - p.start for p in self.terms.places])
        loops = s.constraint_jacobian(q, v, t)[: self.constraint_rows]
        both = np.vstack([loops, shut[:, None] * rows])
        own = ranked(both, relative=FINE_RANK_CUT).determined[self.constraint_rows :]
        return {name: own[p] for name, p in zip(self.terms.names, self.terms.places)}

    @property
    def closed(self) -> np.ndarray:
        """Mask of the contacts that the law took as closed at its last call."""
        closed = view_fields(self.arrays.work, ll.law_sizes(self.table)).contacts
        return np.asarray(closed[: len(self.terms.names)] != 0.0)
