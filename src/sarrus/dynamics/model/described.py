"""`Described`: equations, dimensions and names common to models, systems and workspaces."""

from __future__ import annotations

from typing import Any, NamedTuple

from sarrus.model.builders.mechanism import Mechanism
from sarrus.symbolic.equations.equations import Equations


class Parts(NamedTuple):
    """Slices of x = [q | v | u | t | p | τ], the input of the native functions."""

    q: slice
    v: slice
    u: slice
    t: int
    p: slice
    tau: slice


class Described:
    """Base of objects with named coordinates, velocities and rows."""

    equations: Equations  #: the symbolic equations
    mechanism: Mechanism | None  #: the mechanism as it was given, None for the user's own equations
    name: str  #: name of the mechanism or of the equations
    nq: int  #: number of coordinates
    nv: int  #: number of velocities
    nu: int  #: number of controls
    nc: int  #: number of constraint rows
    nh: int  #: number of holonomic rows, which come first
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    constraint_names: tuple[str, ...]
    actuator_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    closure_rows: dict[str, slice]  #: rows of each closure, coupling or constraint by its name
    parts: Parts  #: places of q, v, u, t, p and τ in the input of the native functions


def description(e: Equations, mechanism: Mechanism | None) -> dict[str, Any]:
    """Return the attributes of `Described`."""
    out = {name: getattr(e, name, None) for name in Described.__annotations__}
    rows, start = {}, 0
    elements = {c.name: len(c.row_names) for c in mechanism.constraints()} if mechanism else {}
    for name, count in (elements if mechanism else dict.fromkeys(e.constraint_names, 1)).items():
        rows[name] = slice(start, start := start + count)
    v, u, t = e.nq, e.nq + e.nv, e.nq + e.nv + e.nu
    tau = t + 1 + e.p.shape[0]
    return out | {
        "equations": e,
        "mechanism": mechanism,
        "joint_names": tuple(j.name for j in mechanism.joints()) if mechanism else e.velocity_names,
        "closure_rows": rows,
        "parts": Parts(slice(0, v), slice(v, u), slice(u, t), t, slice(t + 1, tau), slice(tau, tau + e.nv)),
    }
