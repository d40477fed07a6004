"""Readings of the sensors of a system along a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.contacts.open_forces import push_count
from sarrus.dynamics.solve.sensing import Readings, native_readings
from sarrus.dynamics.system import System
from sarrus.model.mechanism.sensor import REACTION_KINDS
from sarrus.motion.records.recorded_motion import RecordedMotion


def read_run(trajectory: RecordedMotion) -> Readings:
    """Return the sensor readings along a run, evaluated once; see `Trajectory.sensors`."""
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
            f"trajectory {trajectory.name!r}: sensor {fails!r} measures the force in a joint, and contacts between "
            "geometries push on bodies behind it. Sensors do not include these forces",
            element=fails,
        )
    native = native_readings(system)
    return Readings(sensors, native.each(rows_of(trajectory, system)))


def rows_of(trajectory: RecordedMotion, system: System) -> Array:
    """Return [x | a | λ | r] of all samples of a run, the arguments of sensors; r are the forces of friction
    contacts.
    """
    count = len(trajectory.t)
    pushes = np.zeros((count, push_count(system)))
    if trajectory.contact_forces.shape[1]:
        pushes = trajectory.contact_forces[:, : pushes.shape[1]]
    values = {**system.parameters, **trajectory.parameters}
    x = states_of(trajectory, system, values)
    return np.ascontiguousarray(np.hstack((x, trajectory.a, trajectory.multipliers, pushes)))


def states_of(
    trajectory: RecordedMotion, system: System, values: Mapping[str, float], part: slice = slice(None)
) -> Array:
    """Return x = [q | v | u | t | p | τ = 0] of the samples in ``part`` of a run, with these values of the
    parameters.
    """
    q, v, u, t = (array[part] for array in (trajectory.q, trajectory.v, trajectory.u, trajectory.t))
    p = np.tile(list(values.values()), (len(t), 1)).reshape(len(t), len(values))
    return np.hstack((q, v, u, t[:, None], p, np.zeros_like(v)))


def unknown_reactions(trajectory: RecordedMotion) -> str | None:
    """Return the name of a force sensor whose joint carries a body with contacts between geometries; None
    without one.
    """
    mechanism = trajectory.mechanism or (trajectory.system.mechanism if trajectory.system else None)
    if mechanism is None or not len(trajectory.contact_log.table):
        return None
    contact_log, geoms = trajectory.contact_log, mechanism.geoms
    pushing = {contact_log.names[int(k)] for k in np.unique(contact_log.table[:, 1])}
    colliding = [pair for pair in mechanism.geometry_pairs if pair.name in pushing]
    pairs = [(geoms[pair.geom1].body, geoms[pair.geom2].body) for pair in colliding]
    for sensor in mechanism.sensors.values():
        if sensor.kind in REACTION_KINDS:
            below = {sensor.target}
            for name, body in mechanism.bodies.items():  # parents come first
                below |= {name} if body.parent in below else set()
            if any((one in below) != (other in below) for one, other in pairs):
                return sensor.name
    return None
