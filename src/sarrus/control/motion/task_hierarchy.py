"""Prioritised tasks by mass-weighted orthogonal decomposition (De Sapio and Park 2010)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError, check_is
from sarrus.control.laws.demands import Demand, ForceDemand, Settings
from sarrus.control.laws.law import Law
from sarrus.control.motion.bounds import Bound
from sarrus.control.motion.joint_bounds import JointLimitBound
from sarrus.control.motion.tasks import Task
from sarrus.dynamics.model.state_functions import trace_function
from sarrus.dynamics.system import System


class TaskHierarchy(Law):
    """Tasks in order of priority: a lower one never disturbs those above it.

    Every task acts in the null space of those above it, in the metric of M, under the constraints and without torque in
    passive joints (De Sapio and Park 2010, algorithms 1 and 2). The remaining motion is the one without actuators (the
    control of least acceleration energy, eq. (71) there with τ* = 0), or follows ``rest``.

    Parameters
    ----------
    system : the model of the law.
    tasks : list of `Task`, `Bound`, `JointLimitBound` of `sarrus.control`, the most important first. Their ``name``
        names levels and settings.
    rest : function g(q, v, t) of CasADi vectors, a generalized force (nv,) for the motions that no task uses, such as
        damping; default: zero.
    weights : (nu,) of the norm of u that selects among controls with the same motion.
    limits : `LawOptions`, each by its name, or all as options=.

    Tasks that depend on tasks above them, or become singular, lose rank and are met in the least-squares sense; no
    other task is affected. `solve` returns rank and residual of each by name.
    """

    def __init__(
        self,
        system: System,
        tasks: Sequence[Task | Bound | JointLimitBound],
        *,
        rest: Callable[..., Any] | None = None,
        weights: ArrayLike | None = None,
        **limits: Any,
    ) -> None:
        check_is(type(self).__name__, system, System)
        if not tasks:
            raise ArgumentError(f"{system.name}: a TaskHierarchy needs at least one task", element="tasks")
        settings = Settings()
        names = [task.name or f"task{k + 1}" for k, task in enumerate(tasks)]
        if len(set(names)) != len(names):
            raise ArgumentError(f"{system.name}: names of tasks must differ, got {names}", element="tasks")
        levels: list[Demand | ForceDemand] = [
            task.demand(system, settings, name) for task, name in zip(tasks, names)
        ]
        force: ca.SX | None = None if rest is None else trace_function(system, rest, system.nv, "rest")
        super().__init__(
            system, [*levels, ForceDemand("rest", force, soft=True)], settings, weights=weights, **limits
        )
