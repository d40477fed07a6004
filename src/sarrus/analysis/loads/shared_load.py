"""The wrenches of all connections at one state, distributed over redundant bearings, with their uniqueness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.analysis.loads.reaction_loads import Loads, Viewpoint, bearing, changed
from sarrus.analysis.loads.reaction_shares import Sharing
from sarrus.base.arrays import Array, read_only
from sarrus.dynamics.contacts.open_forces import open_forces
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.dense import product


@dataclass(frozen=True, eq=False)
class SharedLoad:
    """Wrenches of all connections (n, 6) along own axes, the λ (nc,) that belongs to them, and which components are
    unique.

    ``determined`` by the equations of motion, ``settled`` by these and stiffness: (n, 6) in the requested axes;
    ``couplings``: which multipliers of couplings are unique. ``open``: number of states of self-stress.
    """

    wrench: Array
    multipliers: Array
    determined: np.ndarray
    settled: np.ndarray
    couplings: np.ndarray
    open: int


def shared_load(
    system: System,
    shared: Sharing,
    loads: Loads,
    seen: Viewpoint,
    x: Array,
    multipliers: Array,
    rank: int,
    ways: Array | None,
    when: str = "",
) -> SharedLoad:
    """Return the distributed load of one state with these multipliers, A having the given rank.

    ``ways`` are directions in which contact forces may change; None without contacts. ``when`` is for errors.
    """
    found, wrench = shared.connections, loads.wrench[0]
    q, v, t = x[system.parts.q], x[system.parts.v], float(x[system.parts.t])
    rows = [system.closure_rows[name].start for name in shared.couplings]
    own = every = open_forces(system, q, v, t, rank)
    if ways is not None:
        every = open_forces(system, q, v, t, rank, ways)
    moved = changed(system, x, own, loads.axes[0])
    carried = _columns(bearing(found, wrench[None]), multipliers[None, rows])[:, 0]
    y, left = shared.share(carried, _columns(bearing(found, moved), own[rows].T), when)
    wrench = wrench + np.einsum("k,kni->ni", y, moved)

    def sure(changes: Array, forces: Array) -> np.ndarray:
        entries = _columns(seen.of(changes[:, None])[:, 0], forces[rows].T)
        return shared.determined(entries, _columns(changes, forces[rows].T))

    more = every.shape[1] > own.shape[1]  # contacts share with the bearings
    determined = sure(changed(system, x, every, loads.axes[0]) if more else moved, every if more else own)
    settled = determined
    if shared.by_stiffness and not more:
        settled = sure(np.einsum("kj,kni->jni", left, moved), product(own, left))
    count = 6 * len(found)
    return SharedLoad(
        wrench=wrench,
        multipliers=multipliers + product(own[: system.nc], y),
        determined=read_only(determined[:count].reshape(-1, 6)),
        settled=read_only(settled[:count].reshape(-1, 6)),
        couplings=determined[count:],
        open=every.shape[1] if more else own.shape[1],
    )


def _columns(wrenches: Array, ties: Array) -> Array:
    """Return wrenches (k, n, 6) and multipliers of couplings (k, c) as columns (6 n + c, k)."""
    return np.concatenate([wrenches.reshape(len(wrenches), 6 * wrenches.shape[1]), ties], axis=1).T
