"""Readings of the sensors of a system along a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.contacts.geometry_state import add_wrench, body_names, body_origins
from sarrus.dynamics.contacts.open_forces import push_count, row_count
from sarrus.dynamics.contacts.rope_tensions import rope_tensions
from sarrus.dynamics.solve.sensing import Readings, native_readings
from sarrus.dynamics.system import System
from sarrus.model.mechanism.elements import WORLD
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
    native = native_readings(system)
    return Readings(sensors, native.each(rows_of(trajectory, system)))


def rows_of(trajectory: RecordedMotion, system: System) -> Array:
    """Return [x | a | λ | r] of all samples of a run, the arguments of sensors; r are the forces of contacts as of
    `sarrus.dynamics.contacts.open_forces.push_count`.
    """
    count, rows = len(trajectory.t), row_count(system)
    pushes = np.zeros((count, push_count(system)))
    if trajectory.contact_forces.shape[1]:
        pushes[:, :rows] = trajectory.contact_forces[:, :rows]
    pushes[:, rows:] = wrenches_of(trajectory, system)
    values = {**system.parameters, **trajectory.parameters}
    x = states_of(trajectory, system, values)
    return np.ascontiguousarray(np.hstack((x, trajectory.a, trajectory.multipliers, pushes)))


def tensions_along(trajectory: RecordedMotion) -> dict[str, Array]:
    """Return the tensions (T,) [N] of ropes and of their parts along a run, see `Trajectory.tensions`."""
    system = trajectory.moved_system()
    if system is None:
        text = f"trajectory {trajectory.name!r}: no mechanism is known that has ropes"
        raise ArgumentError(text, element="mechanism")
    x = states_of(trajectory, system, {**system.parameters, **trajectory.parameters})
    found = rope_tensions(system, x, trajectory.contact_forces)
    return {name: tension for name, tension in found.items() if not name.endswith(".lower")}


def states_of(
    trajectory: RecordedMotion, system: System, values: Mapping[str, float], part: slice = slice(None)
) -> Array:
    """Return x = [q | v | u | t | p | τ = 0] of the samples in ``part`` of a run, with these values of the
    parameters.
    """
    q, v, u, t = (array[part] for array in (trajectory.q, trajectory.v, trajectory.u, trajectory.t))
    p = np.tile(list(values.values()), (len(t), 1)).reshape(len(t), len(values))
    return np.hstack((q, v, u, t[:, None], p, np.zeros_like(v)))


def wrenches_of(trajectory: RecordedMotion, system: System) -> Array:
    """Return the wrenches (T, 6 n) by contacts that a narrow phase has found in a run, on the bodies with geometries.

    Force and moment about the origin of each of the n bodies of
    `sarrus.dynamics.contacts.geometry_state.body_names`, in world axes.
    """
    bodies, mechanism = body_names(system), system.mechanism
    total = np.zeros((len(trajectory.t), len(bodies), 6))
    if not bodies or mechanism is None:
        return total.reshape(len(total), -1)
    places, sample = {WORLD: -1} | {body: k for k, body in enumerate(bodies)}, -1
    pairs = {
        pair.name: [places.get(mechanism.geoms[name].body, -1) for name in (pair.geom1, pair.geom2)]
        for pair in mechanism.geometry_pairs
    }
    contact_log = trajectory.contact_log
    for row in contact_log.table:
        pair = pairs.get(contact_log.names[int(row[1])])
        if pair is None:
            continue
        if (k := int(row[0])) != sample:
            sample, origins = k, body_origins(system, trajectory.q[k], float(trajectory.t[k]))
        add_wrench(total[k], pair, [origins[body] for body in pair], row[3:6], row[9:12], row[12:15])
    return total.reshape(len(total), -1)
