"""`LawOptions`: limits, metric and relaxation of every law, and their numbers for the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arguments import flag, pair
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import real_array
from sarrus.control.laws.demands import Demand, ForceDemand, Settings
from sarrus.control.laws.hand_over import HandOver
from sarrus.dynamics.model.control_limits import control_bounds, limited_by_state
from sarrus.dynamics.optimize.cone_program import ITERATIONS
from sarrus.dynamics.optimize.cone_rows import ConeRows
from sarrus.dynamics.optimize.tolerances import PROGRAM_ACCEPTED, PROGRAM_TARGET, WARM_SHIFT
from sarrus.dynamics.system import System
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory.record import view_fields

# The last level of a law whose norm is no matter of weights.
LEAST_NORM = "least norm"


class Traced(Protocol):
    """A task with a name, such as `sarrus.control.Bound`, that returns its level."""

    name: str

    def demand(self, system: System, settings: Settings, name: str) -> Demand:
        """Return the level."""


@dataclass(frozen=True, eq=False)
class LawOptions:
    """Limits, metric and relaxation of a law, given as a whole (``options=``), by name, or both.

    If no limit is reached the controls are those without limits, at the same cost. If one is reached, levels give way
    from the last one on, each with the least residual that limits and levels before it allow.

    Parameters
    ----------
    limits : (lower, upper) of the controls, numbers or one for each (nu,); default: those of the mechanism, for servos
        with force limits those of their controls. (-inf, inf) for none.
    largest_rate : of the controls [1/s], from sample to sample; 0 for no limit.
    bounds : tasks that precede all others, such as limits of joints: `sarrus.control.Bound`.
    hand_overs : closures and contacts that switch without a jump of the controls: `sarrus.control.HandOver`.
    constraints : further rows over the unknowns, u and then, in laws with contacts, the forces of all contacts (n, t1,
        t2): G x ≤ h by inequalities and second-order cones.
    singular_damping : ε [1], relative to the largest row of a level (its acceleration by unit controls, in the
        minimised norm): directions with smaller singular values are damped, so that a level takes at most 1.16 / ε
        times its demand over that row in any configuration; it is then missed in part. 0: directions below 1e-8 are
        dropped, no other.
    relaxation : treatment of levels that limits prevent. None: lexicographic, one after the other, as above, rows of
        different units in characteristic units. Numbers, ρ of each level, or one for all: weights of the squared
        residuals of all levels in one cost, rows as they are.
    metric : norm of u that is minimised, if ``weights`` of the law are not given:
        `sarrus.formulations.actuator_metric`, `sarrus.formulations.characteristic_metric` and so on, of velocities or
        controls, see `sarrus.dynamics.model.control_metric.control_norm`. A metric that is not diagonal and constant,
        because motors share joints or their lever arms change, becomes a last level "least norm". Default: motors are
        weighted by the limits of the mechanism, or else by the forces they exert in characteristic units.
    soft_share : part of each limit, of the controls from their preferred values, of friction and normal forces of
        contacts, that the final soft levels may use (the rest of a `TaskHierarchy`, `Regulation`, a ``soft`` demand),
        unless the levels above need more. 0.9 leaves a tenth for feedback and model errors; 1 is the whole limit, as it
        is if ``relaxation`` has numbers.
    hold : True damps the joints, within the limits of the actuators, if no solution lies within all limits (outcome
        "damped"); False raises an error.
    contacts : whether contacts with Coulomb friction, contacts between geometries, ropes, transmissions with losses,
        limits of joints and dry friction of the model act. False leaves them out of the model of the law.
    """

    limits: tuple[ArrayLike, ArrayLike] | None = None
    largest_rate: float = 0.0
    bounds: Sequence[Traced] = ()
    hand_overs: Sequence[HandOver] = ()
    constraints: ConeRows | None = None
    singular_damping: float = 0.0
    relaxation: ArrayLike | None = None
    metric: ArrayLike | None = None
    soft_share: float = 0.9
    hold: bool = False
    contacts: bool = True

    def __post_init__(self) -> None:
        flag("hold", self.hold)
        flag("contacts", self.contacts)
        if self.limits is not None:
            pair("limits", self.limits)
        if isinstance(self.hand_overs, HandOver):
            object.__setattr__(self, "hand_overs", (self.hand_overs,))
        given = self.hand_overs
        if not isinstance(given, Sequence) or not all(isinstance(one, HandOver) for one in given):
            raise ArgumentError(f"hand_overs must be a list of HandOver, got {given!r}", element="hand_overs")

    def physics(
        self,
        law: str,
        system: System,
        unknowns: int,
        levels: int,
        contacts: int = 0,
        reflexes: int = 0,
        unit: float = 1.0,
    ) -> Array:
        """Return limits and weights in the form of the kernel, without friction and normal forces.

        The kernel minimises the cost divided by the square of ``unit``. ``levels`` may be missed, and ``reflexes`` too,
        after bounds and as little as possible. Raises `ArgumentError` for invalid values.
        """
        first = 1 if contacts else 0
        sizes = cn.physics(system.nu, contacts, unknowns, first + reflexes + levels)
        data = np.zeros(sum(sizes))
        parts = view_fields(data, sizes)
        parts.lower[:], parts.upper[:] = self.controls(law, system)
        parts.weights[:] = 1.0
        if self.relaxation is not None:
            rho = real_array(self.relaxation)
            if rho.shape not in ((), (levels,)) or not np.all(rho > 0.0):
                raise ArgumentError(
                    f"{law}: relaxation must be None, a positive number or {levels} of them, got {self.relaxation!r}",
                    element="relaxation",
                )
            own = np.broadcast_to(rho, levels)
            parts.relaxation[first:] = np.insert(own, [len(self.bounds)] * reflexes, rho.max(initial=0.0))
            parts.relaxation[:] /= unit**2
        if not self.largest_rate >= 0.0:
            raise ArgumentError(
                f"{law}: largest_rate must be at least 0 [1/s], got {self.largest_rate!r}",
                element="largest_rate",
            )
        parts.rate[:] = self.largest_rate
        parts.soft_share[:] = self.checked_share(law)
        parts.solver[:] = PROGRAM_TARGET, PROGRAM_ACCEPTED, ITERATIONS, WARM_SHIFT
        return data

    def controls(self, law: str, system: System) -> Array:
        """Return lower and upper limits of the controls (2, nu)."""
        bounds = np.full((2, system.nu), np.nan)
        try:
            bounds[0], bounds[1] = control_bounds(system) if self.limits is None else self.limits
        except ValueError:
            bounds[:] = np.nan
        if not np.all(bounds[0] < bounds[1]):
            raise ArgumentError(
                f"{law}: limits must be numbers or {system.nu} of them, lower < upper for every actuator",
                element="limits",
            )
        return bounds

    def checked_damping(self, law: str) -> float:
        """Return the damping; raises `ArgumentError` unless it is from 0 to 1."""
        if not 0.0 <= self.singular_damping < 1.0:
            raise ArgumentError(
                f"{law}: singular_damping is relative and must be from 0 to 1, got {self.singular_damping!r}",
                element="singular_damping",
            )
        return float(self.singular_damping)

    def checked_share(self, law: str) -> float:
        """Return ``soft_share``; raises `ArgumentError` unless it is above 0 and at most 1."""
        share = real_array(self.soft_share)
        if share.shape != () or not 0.0 < share <= 1.0:
            raise ArgumentError(
                f"{law}: soft_share is a part of each limit and must be above 0 and at most 1, got {self.soft_share!r}",
                element="soft_share",
            )
        return float(share)

    def first_soft(self, law: str, levels: Sequence[Demand | ForceDemand], least: int = 0) -> int:
        """Return the number of the first of the final soft levels, from ``least`` on; the number of levels if there are
        none. A level "least norm" does not count.
        """
        soft = [level.soft for level in levels if level.name != LEAST_NORM]
        first = len(soft)
        while first > least and soft[first - 1]:
            first -= 1
        whole = self.relaxation is not None or self.checked_share(law) == 1.0
        return len(levels) if whole or first == len(soft) else first

    def refuse_servos(self, law: str, system: System) -> None:
        """Raise `ArgumentError` if force limits depend on the state, which laws with contact forces cannot take."""
        servos = limited_by_state(system) if self.limits is None else ()
        if servos:
            raise ArgumentError(
                f"{law}: limits of the force of {', '.join(servos)} depend on the state, and this law needs constant "
                "ones. Give limits=(lower, upper) of the controls, or drive these joints by motors without bias",
                element=servos[0],
            )

    def traced_bounds(self, system: System, settings: Settings) -> list[Demand]:
        """Return the levels of ``bounds``."""
        return [
            bound.demand(system, settings, bound.name or f"bound{k + 1}")
            for k, bound in enumerate(self.bounds)
        ]


def chosen(options: Any, default: type[Any], by_name: dict[str, Any]) -> Any:
    """Return options with those given by name; raises `ArgumentError` for an unknown name."""
    given = options or default()
    for name in by_name:
        check_known("option", name, [entry.name for entry in fields(given)])
    return replace(given, **by_name)


def hard_levels(levels: Sequence[Demand | ForceDemand]) -> int:
    """Return the number of levels before the final soft ones and a level "least norm"."""
    count = len(levels)
    while count > 0 and (levels[count - 1].soft or levels[count - 1].name == LEAST_NORM):
        count -= 1
    return count
