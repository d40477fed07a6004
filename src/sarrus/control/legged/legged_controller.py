"""`LeggedController`: tasks of legged robots and grippers, with contact forces inside their friction cones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.errors import ArgumentError, check_is
from sarrus.control.laws.demands import Demand, ForceDemand, Settings, stacked
from sarrus.control.laws.law_options import chosen
from sarrus.control.legged.capture_steps import Balance
from sarrus.control.legged.centre_of_pressure import CentreOfPressure
from sarrus.control.legged.contact_force import ContactForce
from sarrus.control.legged.contact_law import ContactLaw, ContactTerms
from sarrus.control.legged.contact_options import ContactOptions
from sarrus.control.legged.contact_sense import ContactSense, TracedSense, remember_lost
from sarrus.control.legged.gait import Gait, SwingFeet, TracedGait, Travel
from sarrus.control.legged.terrain import Height
from sarrus.control.legged.tolerances import LEAST_SHARE
from sarrus.control.motion.bounds import Bound
from sarrus.control.motion.joint_bounds import JointLimitBound
from sarrus.control.motion.regulator import Regulation
from sarrus.control.motion.tasks import Task
from sarrus.dynamics.system import System

_One = (
    Task
    | Bound
    | JointLimitBound
    | ContactForce
    | CentreOfPressure
    | SwingFeet
    | Travel
    | Balance
    | Height
    | Regulation
)


class LeggedController(ContactLaw):
    """Prioritised tasks with least motor loss uᵀW u, contact forces inside exact friction cones.

    Every call takes the contacts that are closed then; contacts may open and close without a change of structure or
    size. Exact constraints: equations of motion with all loops and passive joints, closed contacts at rest, no force at
    open contacts, √(λ_t1² + λ_t2²) ≤ μ λ_n, and the limits of the actuators. Tasks are met level by level, and relaxed
    only because of these (Aghili 2022, Optimal control of legged robots subject to friction cone constraints; hierarchy
    as in `TaskHierarchy`). Remaining freedom minimises uᵀW u, the heat loss of the motors.

    Parameters
    ----------
    system : the model, with contacts (`Mechanism.add_contact`, `add_contact_patch`). Closures and passive joints are
        allowed; redundant contacts too: see ``determined`` of `ContactCommand`.
    tasks : levels, the most important first; each a `Task`, `Bound`, `JointLimitBound`, `ContactForce`,
        `CentreOfPressure`, `SwingFeet`, `Travel`, `Balance`, `Height`, `Regulation`, or a list of tasks of one level;
        inequalities and regulation are levels of their own.
    gait : schedule of the contacts. Without one all are closed, and the settings NAME.closed (1 or 0) switch them:
        measured contacts, or a schedule of the user's own. In sampled laws the allowed part of ``largest_force`` of a
        contact then goes to 1 or 0 within ``hand_over`` [s]; the contact is open when it is zero.
    hand_over : ramp [s]; 0 for contacts that switch at once.
    release : 1 (default): a contact whose NAME.closed becomes 0 keeps its falling share of force; 0: it is open at
        once, as for a foot that has lost the ground. A setting, "release".
    sense : `ContactSense`: lost and sliding contacts are detected at samples and treated as such until they hold again;
        ``contact_states`` returns the states. False: closed contacts are those of the gait or the settings. Default: on
        if settings switch the contacts. A gait finds the ground itself and tolerates feet that strike, pivot on edges
        or slip for a moment; give ``sense=True`` with a gait if ground may be missing.
    options : `ContactOptions`, or each of them by its name; ``hand_over`` and gaits need a ``largest_force``.

    If limits are infeasible, `solve` and the error name contacts and actuators that contradict each other, any one less
    of which does not; ``hold=True`` damps the joints instead, within the limits of the actuators.
    """

    def __init__(
        self,
        system: System,
        tasks: Sequence[_One | Sequence[_One]],
        *,
        gait: Gait | None = None,
        hand_over: float = 0.0,
        sense: ContactSense | bool | None = None,
        options: ContactOptions | None = None,
        **by_name: Any,
    ) -> None:
        check_is(type(self).__name__, system, System)
        options = chosen(options, ContactOptions, by_name)
        terms, settings = ContactTerms.of(system), Settings()
        if sense is None:
            sense = gait is None
        traced, lost = None, None if sense is False else remember_lost(terms, settings)
        if gait is not None:
            # where a foot is that has lost the ground, there is none
            carried = None if lost is None else ca.vertcat(*[state.value for state in lost])
            traced = TracedGait(gait, system, terms, settings, carried)
            terms, closed, share = traced.terms, traced.closed, traced.share
            if options.contact_damping == 0.0:
                options = replace(options, contact_damping=gait.settling)
        else:
            closed, share = _commanded(terms, settings, hand_over, options.largest_force)
        sensed, reflexes = None, []
        if sense is not False and lost is not None:
            sense = ContactSense() if sense is True else sense
            sensed = TracedSense(sense, system, terms, closed, share, settings, lost)
            closed, share, reflexes = sensed.closed, sensed.share, [sensed.search()]
        demand = partial(_demand, system, settings, traced, terms, closed)
        levels = [_level(system, level, k, demand) for k, level in enumerate(tasks)]
        names = [level.name for level in levels]
        if len(set(names)) != len(names):
            raise ArgumentError(f"{system.name}: names of levels must differ, got {names}", element="tasks")
        super().__init__(
            system, levels, closed, share, settings, terms=terms, options=options, reflexes=reflexes,
            sliding=None if sensed is None else sensed.sliding,
        )  # fmt: skip
        self._senses = sensed is not None

    @property
    def contact_states(self) -> dict[str, str]:
        """State of each contact at the last sample: "closed", "open", "lost" or "sliding"."""
        told = {}
        for name, closed in zip(self.terms.names, self.closed):
            told[name] = "closed" if closed else "open"
            for what, word in (("lost", "lost"), ("slides", "sliding")):
                if self._senses and self.settings[f"{name}.{what}"]:
                    told[name] = word
        return told


def _commanded(
    terms: ContactTerms, settings: Settings, hand_over: float, largest_force: float
) -> tuple[ca.SX, ca.SX]:
    """Return (closed, allowed part of the largest force) of contacts that settings switch."""
    if not hand_over >= 0.0 or (hand_over > 0.0 and not np.isfinite(largest_force)):
        raise ArgumentError(
            f"hand_over must be a time ≥ 0 [s] and needs a finite largest_force, got {hand_over} s and "
            f"{largest_force} N",
            element="hand_over",
        )
    wanted = ca.vertcat(*[settings.add(f"{name}.closed", 1.0, 1, name) for name in terms.names])
    if hand_over == 0.0:
        return ca.if_else(wanted > 0.5, 1.0, 0.0), ca.SX.ones(len(terms.names))
    release = settings.add("release", 1.0, 1, "release")
    shares = [settings.remember(f"{n}.share", 1.0, 1, n, like=f"{n}.closed") for n in terms.names]
    states = ca.vertcat(*[share.value for share in shares])
    on = ca.if_else(wanted > 0.5, 1.0, 0.0)
    closed = ca.if_else(ca.logic_or(on > 0.5, ca.logic_and(states > LEAST_SHARE, release > 0.5)), 1.0, 0.0)
    for k, share in enumerate(shares):
        share.next = ca.fmin(
            ca.fmax(share.value + settings.period * (2.0 * on[k] - 1.0) / hand_over, 0.0), 1.0
        )
    return closed, ca.fmax(states, LEAST_SHARE)


def _level(
    system: System,
    level: _One | Sequence[_One],
    place: int,
    demand: Callable[[_One, str], Demand | ForceDemand],
) -> Demand | ForceDemand:
    """Return the tasks of a level as one demand."""
    if not isinstance(level, Sequence):
        return demand(level, getattr(level, "name", "") or f"task{place + 1}")
    named = [(task, getattr(task, "name", "") or f"task{place + 1}.{k + 1}") for k, task in enumerate(level)]
    found = [demand(task, name) for task, name in named]
    parts = [part for part in found if isinstance(part, Demand)]
    if not parts or len(parts) < len(found):
        what = "a level needs at least one task" if not found else "a Regulation is a level of its own"
        raise ArgumentError(f"{system.name}: {what}", element="tasks")
    if len({part.at_most for part in parts}) > 1:
        names = ", ".join(part.name for part in parts if part.at_most)
        raise ArgumentError(
            f"{system.name}: inequalities have levels of their own: take {names} out of the list of task{place + 1}",
            element="tasks",
        )
    active = None
    if any(part.active is not None for part in parts):
        active = ca.vertcat(*[ca.SX.ones(len(p.rows)) if p.active is None else p.active for p in parts])
    widths = [part.unknowns.shape[1] for part in parts if part.unknowns is not None]
    return Demand(
        ", ".join(part.name for part in parts),
        tuple(row for part in parts for row in part.rows),
        ca.vertcat(*[part.jacobian for part in parts]),
        ca.vertcat(*[part.wanted for part in parts]),
        unknowns=stacked(parts, "unknowns", widths[0]) if widths else None,
        at_most=parts[0].at_most,
        active=active,
        units=tuple(unit for part in parts for unit in part.units or ("",) * len(part.rows)),
    )


def _demand(
    system: System,
    settings: Settings,
    gait: TracedGait | None,
    terms: ContactTerms,
    closed: ca.SX,
    task: _One,
    name: str,
) -> Demand | ForceDemand:
    if isinstance(task, Task | Bound | JointLimitBound | Regulation):
        return task.demand(system, settings, name)
    if isinstance(task, ContactForce | CentreOfPressure):
        return task.demand(system, terms, closed, settings, name)
    if not isinstance(task, SwingFeet | Travel | Balance | Height):
        raise ArgumentError(
            f"{system.name}: a task must be a Task, Bound, JointLimitBound, ContactForce, CentreOfPressure, SwingFeet, "
            f"Travel, Balance, Height or Regulation, or a list of them, got {task!r}",
            element="tasks",
        )
    if gait is None:
        raise ArgumentError(f"{system.name}: {name!r} needs a gait; give gait=", element=name)
    if isinstance(task, Travel):
        return gait.travel(task, settings)
    if isinstance(task, Height):
        return gait.height(task, settings)
    return gait.swing(task) if isinstance(task, SwingFeet) else gait.balance(task)
