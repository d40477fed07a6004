"""Readings of the sensors of a system, at a state and along a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_known
from sarrus.codegen import NativeFunction
from sarrus.dynamics.contacts.open_forces import open_forces, push_count, pushes_of
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.accelerate import with_contact_forces
from sarrus.dynamics.solve.forward_dynamics import forward_dynamics
from sarrus.dynamics.solve.tolerances import READING_CHANGED
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.model.mechanism.sensor import ACCELERATION_KINDS, REACTION_KINDS, Sensor
from sarrus.symbolic.multibody.sensors import sensor_values


class Readings(Mapping[str, Array]):
    """Readings by the names of the sensors: arrays (size,) at a state, (time, size) along a run; read-only.

    ``array`` has all entries side by side, (entries,) or (time, entries), in the order of the sensors: for an MJCF file
    MuJoCo's ``mjData.sensordata``, without the sensors that were left out. ``labels`` are names of the entries, such as
    "imu.x", ``units`` their units, empty if they depend on the target.
    """

    def __init__(
        self,
        sensors: Mapping[str, Sensor],
        array: Array,
        free: Callable[[], Array] | None = None,
    ) -> None:
        self.array = read_only(array)
        self.labels = tuple(label for s in sensors.values() for label in s.labels)
        self.units = tuple(s.unit for s in sensors.values() for _ in s.labels)
        self._places, start, self._free = {}, 0, free
        for name, sensor in sensors.items():
            self._places[name] = slice(start, start + sensor.size)
            start += sensor.size

    @cached_property
    def undetermined(self) -> tuple[str, ...]:
        """Force and torque sensors whose readings are not unique, because constraints are redundant.

        Their readings use the multipliers of least norm. Known at a state only; () along a run.
        """
        if self._free is None:
            return ()
        loose = self._free()
        return tuple(name for name, place in self._places.items() if loose[place].any())

    def __getitem__(self, name: str) -> Array:
        check_known("sensor", name, self._places)
        return self.array[..., self._places[name]]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        if self.array.ndim > 1:
            return f"Readings({len(self.array)} samples of {', '.join(self) or 'no sensors'})"
        return "Readings(" + ", ".join(f"{name}={value}" for name, value in self.items()) + ")"


def sensors_of(system: Evaluations) -> dict[str, Sensor]:
    """Return the sensors of a system; a system from the user's own equations is an `ArgumentError`."""
    if system.mechanism is None:
        raise ArgumentError(
            f"{system.name}: only a system made from a Mechanism has sensors", element="mechanism"
        )
    return system.mechanism.sensors


def needs_accelerations(sensors: Mapping[str, Sensor]) -> bool:
    """Tell whether a sensor measures accelerations or forces, which need forward dynamics."""
    return any(sensor.kind in ACCELERATION_KINDS for sensor in sensors.values())


def sensor_expressions(
    system: Evaluations, a: ca.SX, multipliers: ca.SX, pushes: ca.SX | None = None
) -> dict[str, ca.SX]:
    """Return the entries of all sensors over the symbols of the equations, accelerations, multipliers and ``pushes``.

    ``pushes`` are the forces of contacts as of `push_count`, zero by default.
    """
    mechanism = system.model.symbolic_mechanism()
    values = sensor_values(mechanism, system.equations, a, multipliers, pushes)
    return {"readings": ca.vertcat(ca.SX(0, 1), *values.values())}


def native_readings(system: Evaluations) -> NativeFunction:
    """Return the function of [x | a | λ | r] for all sensor entries, compiled at its first use.

    r are the forces of contacts as of `push_count`.
    """
    sizes = {"a": system.nv, "multipliers": system.nc, "pushes": push_count(system)}
    return system.compiled.named("sensors", partial(sensor_expressions, system), sizes)


def sensors(
    system: Workspace,
    q: ArrayLike,
    v: ArrayLike | None = None,
    u: ArrayLike | None = None,
    t: float = 0.0,
    tau: ArrayLike | None = None,
    *,
    contacts: bool = True,
) -> Readings:
    """Return the readings of the sensors of the mechanism at a state, by name; `Mechanism.add_sensor` lists the kinds.

    If a sensor measures accelerations or forces, forward dynamics is solved, with ``contacts`` as in
    `System.forward_dynamics`, and its errors are raised. With redundant constraints or contacts, ``undetermined`` names
    the force sensors whose readings are not unique.
    """
    asked = sensors_of(system)
    x = system.pack(q, v, u, t)
    if not asked:
        return Readings({}, np.zeros(0))
    speed, t = x[system.parts.v], float(x[system.parts.t])
    a, multipliers, found = np.zeros(system.nv), np.zeros(system.nc), None
    pushes = np.zeros(push_count(system))
    if needs_accelerations(asked):
        found = forward_dynamics(system, x[system.parts.q], speed, x[system.parts.u], t, tau)
        if contacts:
            found = with_contact_forces(system, found, x[system.parts.q], tau, True)
        a, multipliers = found.a, found.multipliers
        if found.contacts is not None:
            pushes = pushes_of(system, x[system.parts.q], t, found.contacts.forces)
    native = native_readings(system)
    at = np.concatenate([x, a, multipliers, pushes])
    values = native(at)
    reacting = any(s.kind in REACTION_KINDS for s in asked.values())
    if found is None or not reacting or (found.rank == system.nc and found.contacts is None):
        return Readings(asked, values)
    return Readings(asked, values, lambda: _loose(system, native, at, found))


def _loose(system: Evaluations, native: NativeFunction, at: Array, found: ForwardDynamics) -> np.ndarray:
    """Return a mask of the entries that change with forces that the equations do not determine."""
    q, v, t = at[system.parts.q], at[system.parts.v], float(at[system.parts.t])
    ways = None if found.contacts is None else found.contacts.ways
    base, changes = native(at), []
    for way in open_forces(system, q, v, t, found.rank, ways).T:
        there = at.copy()
        there[len(at) - len(way) :] += way
        changes.append(native(there) - base)
    return np.asarray(np.abs(np.reshape(changes, (-1, len(base)))).max(axis=0, initial=0.0) > READING_CHANGED)
