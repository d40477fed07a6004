"""`linearize_along`: linear models at many states of a motion, in the same independent coordinates."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarrus.analysis.linear.code import StraightLine
from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.analysis.linear.linearize_at import linearize_at
from sarrus.base.arguments import described, unchecked
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_is
from sarrus.base.numbers import real_array
from sarrus.dynamics.contacts.contact_elements import Mode
from sarrus.dynamics.contacts.contact_state import (
    all_open,
    between_stops,
    takes_part,
)
from sarrus.dynamics.coordinates.choices import PARTITION, Coordinates
from sarrus.dynamics.coordinates.relation import Relation
from sarrus.dynamics.coordinates.tolerances import WORST_COORDINATES
from sarrus.dynamics.model.derivatives import Derivatives, native_derivatives
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.quaternions import normalize
from sarrus.kernels.memory.models_layout import ModelsTable, models_sizes
from sarrus.kernels.platform import c_function


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Linear models along a motion, time on the leading axis: A (N, n, n), B (N, n, nu), E and affine (N, n).

    Each is the model of `LinearSystem` about one state. ``names`` are the names of x.
    """

    A: Array
    B: Array
    E: Array
    affine: Array
    t: Array
    names: tuple[str, ...]
    input_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.t)


@described(t=unchecked)
def linearize_along(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    u: ArrayLike | None = None,
    *,
    t: ArrayLike | None = None,
    coordinates: Coordinates = PARTITION,
    contacts: bool = True,
) -> LinearModels:
    """Return the `LinearModels` at the states q (N, nq), v (N, nv), u (N, nu), t (N,), in one compiled loop.

    The coordinates y = R q are chosen at the first state and kept, so that the models fit together, as a regulator
    along a motion or an implicit method needs. Redundant rows and massless bodies as in `linearize_at`. If rows are
    clearly independent a model costs a few evaluations of forward dynamics, by code that is compiled once for these
    coordinates; other states use the general algebra, with the same result. With activations of actuators (also
    currents of windings), in coordinates of a `sarrus.coordinates.Relation`, with nonholonomic rows, and where
    contacts, stops or dry friction act at a state, the models are computed one by one as in `linearize_at`, at its
    cost. ``contacts`` as in `linearize_at`: models are those of the smooth phase at each state. What is closed or
    sticks leaves fewer coordinates, so that all states must be of phases with as many.

    Raises
    ------
    ArgumentError
        The first state is not on the constraints; arrays do not fit; with activations, nonholonomic rows or contacts
        that act, coordinates that are mixtures ("tangent-space", "null-space").
    SolveError
        A state is at a border of modes, see `linearize_at`, or of a phase with other coordinates; it is singular,
        inconsistent or without acceleration; the coordinates become dependent there; with nonholonomic rows, other
        entries of q are independent. Index and time of the state are given.
    """
    check_is("linearize_along", system, System)
    given = real_array(q)
    if given.ndim != 2 or len(given) == 0:
        raise ArgumentError(
            f"{system.name}: q must have shape (N, {system.nq}), got {given.shape}", element="q"
        )
    count = len(given)
    places = _with_unit_quaternions(system, _states(system, given, "q", count, system.nq))
    velocities = _states(system, v, "v", count, system.nv)
    controls = _states(system, np.zeros((count, system.nu)) if u is None else u, "u", count, system.nu)
    times = _states(system, np.zeros(count) if t is None else t, "t", count, None)
    states = places, velocities, controls, times
    acts = takes_part(system, contacts)
    if acts:
        acts = not _are_all_open(system, states)
    first = linearize_at(
        system,
        places[0],
        velocities[0],
        controls[0],
        t=float(times[0]),
        coordinates=coordinates,
        contacts=acts,
    )
    if isinstance(coordinates, Relation):
        return _one_by_one(system, first, coordinates, states, acts)
    if acts or system.equations.activations or system.nc > system.nh:
        return _one_by_one(system, first, _names_of(system, first), states, acts)
    n, nu = first.B.shape
    out, clear = StraightLine(system, first)(*states)
    left = np.flatnonzero(~clear)
    if len(left):
        out[left] = general_models(system, first, [np.ascontiguousarray(part[left]) for part in states], left)
    return LinearModels(
        A=read_only(out[:, :, :n].copy()),
        B=read_only(out[:, :, n : n + nu].copy()),
        E=read_only(out[:, :, n + nu].copy()),
        affine=read_only(out[:, :, n + nu + 1].copy()),
        t=read_only(times.copy()),
        names=first.names,
        input_names=first.input_names,
    )


def _names_of(system: System, first: LinearSystem) -> list[str]:
    """Return the names that select the coordinates of a model again; with nonholonomic rows those of velocities."""
    rolls = first.velocity_rows is not None
    if first.names and not (first.velocity_indices if rolls else first.coordinate_indices):
        raise ArgumentError(
            f"{system.name}: models along a motion with activations, nonholonomic rows or contacts need coordinates of "
            "the mechanism: give their names, or 'partition'",
            element="coordinates",
        )
    return list(first.velocities if rolls else first.coordinates)


def _one_by_one(
    system: System,
    first: LinearSystem,
    coordinates: Coordinates,
    states: tuple[Array, Array, Array, Array],
    contacts: bool,
) -> LinearModels:
    """Return the models of `linearize_at` at every state, in the coordinates of the first."""
    found = [first]
    for k, (q, v, u, t) in enumerate(zip(*(part[1:] for part in states)), start=1):
        try:
            model = linearize_at(system, q, v, u, t=float(t), coordinates=coordinates, contacts=contacts)
        except (SolveError, ArgumentError) as error:
            where = f"state {k} (t = {t:g})"
            other = _other_phase(system, first, q, v, u, float(t)) if contacts else ""
            if other:
                raise SolveError(
                    f"{system.name}: at {where} {other}, unlike at the first state, so that other coordinates are "
                    "independent. Take the part of the motion within one phase",
                    element=error.element,
                ) from error
            raise SolveError(f"{where}: {error}", element=error.element) from error
        if model.names != first.names:
            raise SolveError(
                f"{system.name}: at state {k} (t = {t:g}) {', '.join(model.names)} are independent, not "
                f"{', '.join(first.names)} as at the first state. Take a shorter part of the motion"
            )
        found.append(model)
    return LinearModels(
        **{
            name: read_only(np.array([getattr(one, name) for one in found]))
            for name in ("A", "B", "E", "affine")
        },
        t=read_only(states[3].copy()),
        names=first.names,
        input_names=first.input_names,
    )


def _are_all_open(system: System, states: tuple[Array, Array, Array, Array]) -> bool:
    """Tell whether no contact, stop or dry friction acts at any of the states."""
    stops = between_stops(system)
    inside = np.zeros(states[0].shape, dtype=bool)
    if stops is not None:
        inside = (states[0] > stops[0]) & (states[0] < stops[1])
    return all(
        all_open(system, states[0][k], float(states[3][k])) for k in np.flatnonzero(~inside.all(axis=1))
    )


def _other_phase(system: System, first: LinearSystem, q: Array, v: Array, u: Array, t: float) -> str:
    """Return which contact, stop or joint has another mode than at the first state, in words; "" for none."""
    before, found = first.contacts, system.forward_dynamics(q, v, u, t, throw=False).contacts
    if found is None or not found.status.ok:
        return "" if before is None else "all contacts are open"
    for name, mode in found.modes.items():
        if mode is not (Mode.OPEN if before is None else before.modes.get(name, Mode.OPEN)):
            return f"the mode of {name!r} is {mode.name}"
    return ""


def general_models(
    system: System, first: LinearSystem, states: list[Array], indices: NDArray[np.int64]
) -> Array:
    """Return [A | B | E | affine] by the general algebra, for any states; ``indices`` are for messages."""
    native = native_derivatives(system)
    at = np.array(
        [native.outputs[k.name][0].start if k.name in native.outputs else -1 for k in fields(Derivatives)],
        dtype=np.int64,
    )
    n, nu = first.B.shape
    out, pivots = np.empty((len(indices), n, n + nu + 2)), np.empty(len(indices))
    rows = first.coordinate_rows.flatten()
    order = np.zeros(system.nc + 1, dtype=np.int64)
    q, v, u, t = states
    work = system.workspace()
    table = ModelsTable.zeros()
    table.native, table.count, table.rank, table.n_out = native.address, len(q), first.rank, native.n_out
    table.nq, table.nv, table.nu, table.dof = system.nq, system.nv, nu, n // 2
    table.q, table.v, table.u, table.t, table.good, table.out = q, v, u, t, pivots, out
    table.system, table.at, table.rows, table.order = work.table, at, rows, order
    room = np.empty(sum(models_sizes(table, work.table)))
    table.work = room
    done = c_function.general_models(table, pivots, 0)
    work.has_controls = True  # the loop left its controls in the system's own x
    failed, poor = -1 - done, ~(pivots >= 1.0 / WORST_COORDINATES)
    if done >= 0 and poor.any():
        failed = int(poor.argmax())
    if failed < 0:
        return out
    solved = system.forward_dynamics(
        q[failed], v[failed], u[failed], float(t[failed]), contacts=False, throw=False
    )
    reason = solved.status.diagnosis
    if done >= 0:
        reason = f"{', '.join(first.coordinates)} do not determine the others there"
    raise SolveError(
        f"{system.name}: no linear model at state {indices[failed]} (t = {t[failed]:g}): {reason}",
        result=solved,
    )


def _with_unit_quaternions(system: System, q: Array) -> Array:
    """Return configurations (N, nq) with unit quaternions."""
    out = q.copy()
    start = normalize(out, system.model.quaternions)
    if start is not None:
        shortest = np.abs(q[:, start : start + 4]).max(axis=1).argmin()
        system.normalized(q[shortest])  # says which one has no length
    return out


def _states(system: System, value: ArrayLike, what: str, count: int, size: int | None) -> Array:
    """Return an argument as a finite C-contiguous array with ``count`` rows."""
    array = real_array(value)
    shape = (count,) if size is None else (count, size)
    if array.shape != shape or not np.isfinite(array).all():
        raise ArgumentError(
            f"{system.name}: {what} must be finite numbers of shape {shape}, got shape {array.shape}",
            element=what,
        )
    return array
