"""`LeggedController`: tasks of legged robots and grippers by contact forces inside their friction cones."""

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
from sarrus.control.motion.joint_bounds import JointLimits
from sarrus.control.motion.regulator import Regulation
from sarrus.control.motion.tasks import Task
from sarrus.dynamics.system import System

_One = (
    Task
    | Bound
    | JointLimits
    | ContactForce
    | CentreOfPressure
    | SwingFeet
    | Travel
    | Balance
    | Height
    | Regulation
)


class LeggedController(ContactLaw):
    """Fulfil tasks by priority with the controls of least loss, contact forces inside their true friction cones.

    At every call it takes the closed contacts as they are then, so contacts may come and go; nothing of its structure
    or size changes. Exact are: the equations of motion with all loops and passive joints, closed contacts at rest, no
    force where contacts are open, √(λ_t1² + λ_t2²) ≤ μ λ_n, and the limits of the actuators. Tasks are fulfilled level
    by level, and given up only for these (Aghili 2022, Optimal control of legged robots subject to friction cone
    constraints; the hierarchy as in `TaskHierarchy`). What remains free minimises uᵀW u, the power that motors lose as
    heat.

    Parameters
    ----------
    system : the model, with contacts (`Mechanism.add_contact`, `add_contact_patch`). Closures and passive joints are
        ordinary; redundant contacts too: see ``determined`` of `Distribution`.
    tasks : levels, the most important first; each a `Task`, `Bound`, `JointLimits`, `ContactForce`,
        `CentreOfPressure`, `SwingFeet`, `Travel`, `Balance`, `Height`, `Regulation`, or a list of them at the same
        level; inequalities and regulation are at levels of their own.
    gait : which contacts are closed when. Without one all are, and the settings NAME.closed (1 or 0) open and close
        them: measured contacts, or a schedule of the user's own. From sample to sample the share of ``largest_force``
        that a contact may have then goes to 1 or 0 within ``hand_over`` [s]; it is open when its share is used up.
    hand_over : 0 for contacts that switch at once.
    release : with 1 (the default) a contact whose NAME.closed becomes 0 keeps its falling share; with 0 it is open at
        once, as a foot is that has lost the ground. A setting, "release".
    sense : `ContactSense`: contacts that carry nothing, or slide, are noticed at samples, and taken for what they are
        until they do again; ``contact_states`` tells. False: closed is what the gait or the settings call so. By
        default on where settings open and close contacts. A gait finds the ground by itself, and feet that strike it,
        pivot on edges or slip for a moment are what it lives with; give ``sense=True`` where ground may be missing.
    options : `ContactOptions`, or each of them by its name; shares need a ``largest_force``.

    For infeasible limits `solve` and the error name contacts and actuators that contradict each other, all but any one
    of which do not; ``hold=True`` damps the joints instead, within the limits of the actuators.
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
        """What the law took each contact for at its last sample: "closed", "open", "lost" or "sliding"."""
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
    """Return closed and share of contacts that settings open and close."""
    if not hand_over >= 0.0 or (hand_over > 0.0 and not np.isfinite(largest_force)):
        raise ArgumentError(
            f"hand_over must be a time [s], and needs a finite largest_force to hand over, got {hand_over} s and "
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
    """Return a level of tasks as one demand."""
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
    if isinstance(task, Task | Bound | JointLimits | Regulation):
        return task.demand(system, settings, name)
    if isinstance(task, ContactForce | CentreOfPressure):
        return task.demand(system, terms, closed, settings, name)
    if not isinstance(task, SwingFeet | Travel | Balance | Height):
        raise ArgumentError(
            f"{system.name}: a task must be a Task, Bound, JointLimits, ContactForce, CentreOfPressure, SwingFeet, "
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
