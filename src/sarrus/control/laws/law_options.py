"""`LawOptions`: limits and metric of every law, and the numbers its kernel takes for that."""

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
from sarrus.kernels.memory.record import laid

# The last level of a law whose norm is no matter of weights.
LEAST_NORM = "least norm"


class Traced(Protocol):
    """A task of its own name, such as `sarrus.control.Bound`: it gives the level that it is."""

    name: str

    def demand(self, system: System, settings: Settings, name: str) -> Demand:
        """Return the level."""


@dataclass(frozen=True, eq=False)
class LawOptions:
    """Limits and metric of a law; laws take them as a whole, ``options=``, by name, or both.

    Where no limit is reached controls are those without limits, and cost what those cost. Where one is, levels are
    given up from the last one on, each as near to what it wants as limits and those before it allow.

    Parameters
    ----------
    limits : (lower, upper) of the controls, numbers or one for each (nu,); by default those of the mechanism, whose
        servos with limits of force have that of their controls. (-inf, inf) for none.
    largest_rate : of the controls [1/s], from sample to sample; 0 for any.
    bounds : tasks that come before all others, such as limits of joints: `sarrus.control.Bound`.
    hand_overs : closures and contacts that switch without a jump of the controls: `sarrus.control.HandOver`.
    constraints : further rows over the unknowns, u and then, of laws with contacts, forces of all contacts (n, t1, t2):
        G x ≤ h by half-lines and second-order cones.
    singular_damping : ε, relative to the largest row of a level (its acceleration by unit controls, in the norm that
        the law minimises): directions with smaller singular values are damped, so that a level takes no more than
        1.16 / ε times what it demands over that row, whatever the configuration; it is then missed in part. 0: only
        directions below 1e-8 are given up.
    relaxation : what becomes of levels that the limits do not allow. None: one after the other, as above
        (lexicographic), rows of different units in characteristic ones. Numbers, ρ of each level, or one for all: the
        costs of the squared accelerations that they miss, all at once, rows as they are.
    metric : in which u is the least of those that do the same, where ``weights`` of the law do not say it:
        `sarrus.formulations.actuator_metric`, `sarrus.formulations.characteristic_metric` and the like, of the
        velocities or of the controls, see `sarrus.dynamics.model.control_metric.control_norm`. Where this is no
        matter of weights alone, because motors share joints or their arms change, it is a last level of its own,
        "least norm". By default motors are compared by the limits that the mechanism gives them, or else by what they
        exert in characteristic units.
    soft_share : part of each limit, of the controls from their preferred values, of the friction and the normal forces
        of contacts, that the last levels may use up of which coming close is enough (the rest of a `TaskHierarchy`,
        `Regulation`, a ``soft`` demand): no motor goes farther for these, except where the levels above need it
        anyway, and they give way before. 0.9 leaves a tenth to feedback and to errors of the model; 1 is the whole
        limit, as it is where ``relaxation`` has numbers.
    hold : where there is nothing inside all limits, joints lose their velocities, within the limits of the actuators,
        instead of an error (outcome "damped").
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

    def __post_init__(self) -> None:
        flag("hold", self.hold)
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
        """Return limits and weights as the kernel of a law takes them, friction and normal forces not yet.

        The kernel minimises the cost divided by the square of ``unit``.

        ``levels`` may be missed, and so may ``reflexes``, after those of bounds and as little as any. Raises
        `ArgumentError` for what cannot be meant.
        """
        first = 1 if contacts else 0
        sizes = cn.physics(system.nu, contacts, unknowns, first + reflexes + levels)
        data = np.zeros(sum(sizes))
        parts = laid(data, sizes)
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
                f"{law}: needs largest_rate at least 0, got {self.largest_rate!r}", element="largest_rate"
            )
        parts.rate[:] = self.largest_rate
        parts.soft_share[:] = self.checked_share(law)
        parts.solver[:] = PROGRAM_TARGET, PROGRAM_ACCEPTED, ITERATIONS, WARM_SHIFT
        return data

    def controls(self, law: str, system: System) -> Array:
        """Return lower and upper limits of the controls (2 × nu)."""
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
        """Return the damping; raises `ArgumentError` where it is none."""
        if not 0.0 <= self.singular_damping < 1.0:
            raise ArgumentError(
                f"{law}: singular_damping is relative, from 0 to 1, got {self.singular_damping!r}",
                element="singular_damping",
            )
        return float(self.singular_damping)

    def checked_share(self, law: str) -> float:
        """Return ``soft_share``; raises `ArgumentError` where it is no part of a limit."""
        share = real_array(self.soft_share)
        if share.shape != () or not 0.0 < share <= 1.0:
            raise ArgumentError(
                f"{law}: soft_share is a part of each limit, above 0 and at most 1, got {self.soft_share!r}",
                element="soft_share",
            )
        return float(share)

    def first_soft(self, law: str, levels: Sequence[Demand | ForceDemand], least: int = 0) -> int:
        """Return the first of the last levels, from ``least`` on, that have but a share of the limits; their number for
        none. A level that is the norm of the controls is none of its own."""
        soft = [level.soft for level in levels if level.name != LEAST_NORM]
        first = len(soft)
        while first > least and soft[first - 1]:
            first -= 1
        whole = self.relaxation is not None or self.checked_share(law) == 1.0
        return len(levels) if whole or first == len(soft) else first

    def refuse_servos(self, law: str, system: System) -> None:
        """Raise `ArgumentError` where limits of force depend on the state: those of forces of contacts need them."""
        servos = limited_by_state(system) if self.limits is None else ()
        if servos:
            raise ArgumentError(
                f"{law}: limits of the force of {', '.join(servos)} depend on the state, those of this law are "
                "numbers: give limits=(lower, upper) of the controls, or drive these joints by motors without bias",
                element=servos[0],
            )

    def traced_bounds(self, system: System, settings: Settings) -> list[Demand]:
        """Return the levels of ``bounds``."""
        return [
            bound.demand(system, settings, bound.name or f"bound{k + 1}")
            for k, bound in enumerate(self.bounds)
        ]


def chosen(options: Any, default: type[Any], by_name: dict[str, Any]) -> Any:
    """Return options with those given by name; raises `ArgumentError` for a name that is none."""
    given = options or default()
    for name in by_name:
        check_known("option", name, [entry.name for entry in fields(given)])
    return replace(given, **by_name)
