"""`write_model_contacts`: the part of a table of contacts that follows from the model, for runs and for states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.joint_limits import dry_friction, joint_limits
from sarrus.kernels.contact.tolerances import LIFT, STILL
from sarrus.kernels.memory.contact_layout import ContactSettings, ContactTable


def write_model_contacts(
    system: Evaluations, table: ContactTable, settings: ContactSettings, widths: Sequence[int]
) -> dict[str, Any]:
    """Write numbers, coordinates, signs, scales and limits to a table, for contacts with ``widths`` rows each.

    Returns the arrays by name; they must live as long as the table.
    """
    limits, dry, lengths = joint_limits(system), dry_friction(system), system.equations.dry_lengths
    size = system.characteristic
    table.contacts, table.contact_rows = len(widths), sum(widths) + len(lengths)
    table.stops, table.dry = len(limits.names), len(lengths) + len(dry.names)
    table.dry_lengths = len(lengths)
    settings.stick_speed, settings.force = STILL * size.length, LIFT * size.mass
    speeds = np.array([*limits.rates, *dry.rates], dtype=np.int64)
    rows = [*(n - k for n in widths for k in range(n)), *[1] * (table.stops + table.dry)]
    arrays: dict[str, Any] = {
        "coordinates": limits.places.astype(np.int64),
        "speeds": speeds,
        "widths": np.array(rows, dtype=np.int64),
        "signs": -limits.signs,
        "scales": np.where(size.columns[speeds] == 1.0, 1.0 / size.length, 1.0),
        "limits": np.array([*(one.limit for one in lengths), *dry.limits], dtype=float),
    }
    for name, array in arrays.items():
        setattr(table, name, array)
    return arrays
