"""The last level of a law that minimises a norm of the controls which is not diagonal."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.control.laws.demands import Demand
from sarrus.control.laws.law_options import LEAST_NORM, LawOptions
from sarrus.dynamics.model.control_metric import ControlNorm
from sarrus.dynamics.system import System


def constant_norm(system: System, norm: ControlNorm) -> ControlNorm:
    """Return the norm as constant weights if it is one for every state."""
    if norm.root is None or not norm.of_velocities:
        return norm if norm.root is None else norm.at(np.eye(system.nu))
    actuation = system.equations.actuation
    return norm if ca.symvar(actuation) else norm.at(np.array(ca.DM(actuation)))


def least_norm(system: System, norm: ControlNorm, nearest: ca.SX | Array, more: int, name: str) -> Demand:
    """Return the level that brings u as near to ``nearest`` (nu,) as the levels above allow; ``more`` unknowns follow
    u.
    """
    if norm.root is None:
        names, rows = system.actuator_names, ca.SX(ca.diag(ca.DM(np.sqrt(norm.weights))))
    else:
        root = ca.SX(ca.DM(norm.root))
        rows = root @ system.equations.actuation if norm.of_velocities else root
        names = tuple(f"norm[{k}]" for k in range(rows.shape[0]))
    still, wanted = ca.SX.zeros(len(names), system.nv), rows @ ca.SX(nearest)
    unknowns = ca.horzcat(rows, ca.SX.zeros(len(names), more))
    return Demand(name, names, still, wanted, unknowns=unknowns, soft=True)


def norm_levels(law: Any, options: LawOptions, nearest: Array) -> tuple[Demand, ...]:
    """Return the level "least norm" of a `Law` if its norm is not one of weights; else ()."""
    if law.norm.root is None:
        return ()
    if options.relaxation is not None:
        raise ArgumentError(
            f"{law.name}: relaxation needs a norm of weights, and this metric couples controls; give weights=",
            element="metric",
        )
    return (least_norm(law.system, law.norm, nearest, law.unknowns - law.system.nu, LEAST_NORM),)
