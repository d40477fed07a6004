"""Units of the constraint rows that a control law solves with."""

from __future__ import annotations

import casadi as ca

from sarrus.dynamics.descent import data_of
from sarrus.dynamics.evaluations import Evaluations


def times_rows(system: Evaluations, by_row: ca.SX) -> ca.SX:
    """Return columns that belong to rows of A times the factors of these rows, where digits make their units matter.

    Rows that depend on others contradict them then, and which of them count must not depend on units. As they are else.
    """
    return by_row if data_of(system).exact else by_row @ ca.diag(ca.DM(system.characteristic.rows))
