"""The initial state of the command line: a keyframe or the reference pose, changed by options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.dynamics.closing.closed_state import require_closed
from sarrus.runs.cli.tolerances import MOVED_BY_ASSEMBLY, VELOCITY_CUT, VELOCITY_MET

if TYPE_CHECKING:
    from sarrus.dynamics.system import System

_REMEDY = "add --assemble to close them, or give other coordinates with --set"


@dataclass(frozen=True, eq=False)
class Start:
    """Initial state of a run: coordinates, velocities, constant controls, time [s], and remarks for the user."""

    q: Array
    v: Array
    u: Array
    t: float
    remarks: list[str]

    @property
    def control(self) -> Callable[..., list[float]] | None:
        """A law of constant controls; None if they are zero."""
        held = self.u.tolist()
        return (lambda q, v, t: held) if any(held) else None


def initial_state(
    system: System,
    keyframe: str | None,
    coordinates: Sequence[str],
    velocities: Sequence[str],
    assemble: bool,
) -> Start:
    """Return the initial state that the options define.

    It begins at the keyframe, or at rest in the reference pose; ``coordinates`` ("name=value") change q; with
    ``assemble`` the loops are closed, with the changed coordinates kept if possible. ``velocities`` are kept exactly;
    all others are nearest to those of the start among those that the constraints allow. Velocities that contradict the
    constraints are an error, or with ``assemble`` projected.
    """
    q, v, u, t = np.array(system.neutral()), np.zeros(system.nv), np.zeros(system.nu), 0.0
    if keyframe is not None:
        key = system.keyframe(keyframe)
        q, v, u, t = np.array(key.q), np.array(key.v, dtype=float), np.array(key.u, dtype=float), key.t
    given = _assignments(coordinates, "coordinate", system.coordinate_names)
    for k, value in given.items():
        q[k] = value
    remarks: list[str] = []
    if assemble:
        q, remarks = _assembled(system, q, t, list(given))
    require_closed(system, q, t, "the start", _REMEDY)
    if u.any():
        remarks = [*remarks, f"the controls of keyframe {keyframe!r} are held"]
    wanted = _assignments(velocities, "velocity", system.velocity_names)
    if not wanted:
        return Start(q, v, u, t, remarks)
    v, remark = _completed(system, q, v, t, wanted, assemble)
    return Start(q, v, u, t, [*remarks, *remark])


def _assignments(texts: Sequence[str], kind: str, names: Sequence[str]) -> dict[int, float]:
    """Return index → value from texts such as ``crank=0.5``."""
    values = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = np.nan
        if not equals or not np.isfinite(value):
            raise ArgumentError(
                f"{text!r}: write NAME=VALUE with a finite number, such as {names[0]}=0.5", element=text
            )
        check_known(kind, name, names)
        values[list(names).index(name)] = value
    return values


def _assembled(system: System, q: Array, t: float, held: list[int]) -> tuple[Array, list[str]]:
    names = [system.coordinate_names[k] for k in held]
    locked = [name if system.velocity_indices(name) else name.rpartition(".")[0] for name in names]
    closed = system.assemble(q, locked=locked, t=t, throw=not locked)
    if closed.status.ok:
        return np.array(closed.q), []
    if locked:
        closed = system.assemble(q, t=t)
    moved = [
        f"assembly moved {name} from {q[k]:.6g} to {closed.q[k]:.6g}"
        for k, name in zip(held, names)
        if abs(closed.q[k] - q[k]) > MOVED_BY_ASSEMBLY
    ]
    return np.array(closed.q), moved


def _completed(
    system: System, q: Array, near: Array, t: float, wanted: dict[int, float], assemble: bool
) -> tuple[Array, list[str]]:
    """Return the velocity nearest to ``near`` that has the wanted components and satisfies A v = b."""
    indices, values = list(wanted), np.array(list(wanted.values()))
    zero, v = np.zeros((2, system.nv))
    v[indices] = values
    rows = np.concatenate([system.constraint_jacobian(q, v, t), np.eye(system.nv)[indices]])
    target = np.concatenate([-system.velocity_residual(q, zero, t), values])
    v = near + np.linalg.lstsq(rows, target - rows @ near, rcond=VELOCITY_CUT)[0]
    worst = int(np.argmax(np.abs(v[indices] - values)))
    miss = np.abs(rows @ v - target).max()
    if miss < VELOCITY_MET * (1.0 + np.abs(values).max()):
        return v, []
    name = system.velocity_names[indices[worst]]
    if not assemble:
        raise ArgumentError(
            f"velocity {name}={values[worst]:g}: the constraints do not allow these velocities together; "
            "give fewer, or --assemble to take the nearest ones that they allow",
            element=name,
        )
    v = np.array(system.project_velocity(q, v, t))
    return v, [f"the constraints changed velocity {name} from {values[worst]:g} to {v[indices[worst]]:.6g}"]
