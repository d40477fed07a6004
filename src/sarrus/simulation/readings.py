"""What the sensors of a system read along a run."""

from __future__ import annotations

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.sensing import Readings, native_readings, push_count
from sarrus.mechanism.sensor import REACTION_KINDS
from sarrus.simulation.recorded_motion import RecordedMotion


def read_run(trajectory: RecordedMotion) -> Readings:
    """Return the readings along a run, evaluated once; see `Trajectory.sensors`."""
    found: Readings | None = vars(trajectory).get("_sensors")
    if found is None:
        found = vars(trajectory)["_sensors"] = _read(trajectory)
    return found


def _read(trajectory: RecordedMotion) -> Readings:
    if trajectory.readings is not None and trajectory.mechanism is not None:
        return Readings(trajectory.mechanism.sensors, np.array(trajectory.readings))
    system = trajectory.moved_system()
    if system is None or system.mechanism is None:
        raise ArgumentError(
            f"trajectory {trajectory.name!r}: no mechanism is known that has sensors", element="mechanism"
        )
    sensors = system.mechanism.sensors
    count = len(trajectory.t)
    if not sensors:
        return Readings({}, np.zeros((count, 0)))
    if fails := unknown_reactions(trajectory):
        raise ArgumentError(
            f"trajectory {trajectory.name!r}: sensor {fails!r} measures forces through a joint, where contacts between "
            "geometries push, which sensors do not know",
            element=fails,
        )
    native, pushes = native_readings(system), np.zeros((count, push_count(system)))
    if trajectory.contact_forces.shape[1]:
        pushes = trajectory.contact_forces[:, : pushes.shape[1]]
    values = {**system.parameters, **trajectory.parameters}
    p = np.tile(list(values.values()), (count, 1)).reshape(count, -1)
    parts = (
        trajectory.q,
        trajectory.v,
        trajectory.u,
        trajectory.t[:, None],
        p,
        np.zeros_like(trajectory.v),
        trajectory.a,
        trajectory.multipliers,
        pushes,
    )
    rows = np.ascontiguousarray(np.hstack(parts))
    return Readings(sensors, np.array([native(row) for row in rows]).reshape(count, native.n_out))


def unknown_reactions(trajectory: RecordedMotion) -> str | None:
    """Return the name of a sensor that measures forces through a joint in a run where geometries push, if any."""
    if trajectory.mechanism is None or not (
        trajectory.mechanism.colliding_pairs and len(trajectory.meetings.table)
    ):
        return None
    found = trajectory.mechanism.sensors.values()
    return next((sensor.name for sensor in found if sensor.kind in REACTION_KINDS), None)
