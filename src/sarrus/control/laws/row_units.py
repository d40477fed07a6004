"""Rows of one level in different units: their weights if they cannot all be met.

Least squares of a level add the squares of its rows. If some rows are lengths and others angles or forces, they are
first multiplied by numbers that convert to characteristic units (`sarrus.dynamics.model.characteristic`): a length
counts as an angle of length / κ, a force as F / (m κ), a torque as T / (m κ²), m the mass of the mechanism. Rows of
one unit are not changed, nor levels with a row of unknown unit, such as that of a user's function.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from sarrus.control.laws.demands import UNITS, Demand, ForceDemand
from sarrus.dynamics.closing.levenberg_marquardt import data_of
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.units import velocity_units
from sarrus.dynamics.system import System

# Of a row over velocities of one unit alone, with constant coefficients.
_OF_VELOCITIES = {"m/s": "m", "rad/s": "rad"}


def in_characteristic_units(system: System, demand: Demand | ForceDemand) -> Demand | ForceDemand:
    """Return a demand with its rows multiplied by the numbers ``scale``, in characteristic units."""
    if not isinstance(demand, Demand) or len(set(demand.units)) < 2 or "" in demand.units:
        return demand
    size = system.characteristic
    factors = np.array(
        [size.length ** -UNITS[unit][0] * size.mass ** -UNITS[unit][1] for unit in demand.units]
    )
    rows = ca.diag(ca.DM(factors))

    def scaled(part: ca.SX | None) -> ca.SX | None:
        return None if part is None else rows @ part

    return replace(
        demand, jacobian=rows @ demand.jacobian, wanted=rows @ demand.wanted, multipliers=scaled(demand.multipliers),
        unknowns=scaled(demand.unknowns), scale=factors,
    )  # fmt: skip


def units_of_rows(system: System, jacobian: ca.SX) -> tuple[str, ...]:
    """Return the unit of each row J (m, nv): m or rad if it combines velocities of that unit with constant
    coefficients, else "".
    """
    units, found = velocity_units(system), []
    for k in range(jacobian.shape[0]):
        row = jacobian[k, :]
        kinds = {units[i] for i in range(system.nv) if not row[i].is_zero()}
        constant = not ca.symvar(row)
        found.append(_OF_VELOCITIES.get(kinds.pop(), "") if constant and len(kinds) == 1 else "")
    return tuple(found)


def times_rows(system: Evaluations, by_row: ca.SX) -> ca.SX:
    """Return columns that belong to rows of A, multiplied by the characteristic factors of these rows if the model has
    digits.

    Redundant rows of rounded data contradict each other, and their weights must not depend on units. For exact data the
    columns are unchanged.
    """
    return by_row if data_of(system).exact else by_row @ ca.diag(ca.DM(system.characteristic.rows))
