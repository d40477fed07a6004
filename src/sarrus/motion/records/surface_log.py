"""Contacts of geometries in closed form as `ContactLog`, from the recorded forces of their rows."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import read_only
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.motion.records.geometry_log import COLUMNS, NONE, ContactLog
from sarrus.motion.records.recorded_motion import RecordedMotion
from sarrus.symbolic.rows.contacts import surface_frames


def meetings_in_closed_form(system: Evaluations, motion: RecordedMotion) -> ContactLog:
    """Return the contacts of geometries in closed form with a force at the samples of a run."""
    mechanism, equations = system.mechanism, system.equations
    if mechanism is None or not system.surface_contacts:
        return NONE
    places, names = system.surface_contacts, tuple(mechanism.geometry_contacts)
    starts = [motion.contact_row_names.index(place.row_names[0]) for place in places]
    if any(place.feature is not None for place in places):  # there are many of these, and few of them push
        chosen = np.flatnonzero((motion.contact_forces[:, starts] > 0.0).any(axis=0)).tolist()
        places, starts = tuple(places[j] for j in chosen), [starts[j] for j in chosen]
    if not places:
        return ContactLog(names, read_only(np.zeros((0, len(COLUMNS)))))
    frames = system.compiled.named(
        "surface frames of " + ", ".join(place.name for place in places),
        lambda: {"frames": surface_frames(mechanism, equations, places)},
    )
    pushing = np.argwhere(motion.contact_forces[:, starts] > 0.0)
    table, sample = np.zeros((len(pushing), len(COLUMNS))), -1
    for row, (k, j) in zip(table, pushing):
        if k != sample:
            sample = k
            seen = frames(system.pack(motion.q[k], t=float(motion.t[k]))).reshape(-1, 13)
        place, axes = places[j], seen[j, 4:].reshape(3, 3)
        forces, found = motion.contact_forces[k, starts[j] :][: place.pair.width], np.zeros(6)
        found[: len(forces[:3])] = forces[:3]
        for (axis, length), force in zip(place.pair.turns, forces[3:]):
            found[3 + axis] = length * force
        sign = 1.0 if place.geom.name == place.pair.geom2 else -1.0
        row[:3] = k, names.index(place.pair.name), seen[j, 0]
        row[3:6], row[6:9] = seen[j, 1:4], sign * axes[0]
        row[9:12], row[12:] = sign * found[:3] @ axes, sign * found[3:] @ axes
    return ContactLog(names, read_only(table))
