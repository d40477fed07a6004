"""`reactions_along`: force and couple in every joint, closure and contact along a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarrus.analysis.loads.reaction_loads import (
    Loads,
    Viewpoint,
    bearing,
    connections_of,
    evaluated,
    viewpoint,
)
from sarrus.analysis.loads.reaction_maxima import ReactionMaxima, maxima_of
from sarrus.analysis.loads.reaction_shares import Sharing, Stiffness, sharing
from sarrus.analysis.loads.reactions import Reaction
from sarrus.analysis.loads.shared_load import shared_load
from sarrus.analysis.loads.tolerances import MEANS_MISS
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is, check_known
from sarrus.base.files.atomic import checked_path
from sarrus.base.files.netcdf import Dataset, Variable
from sarrus.base.lazy_import import lazy_import
from sarrus.base.status import Answer, Status
from sarrus.dynamics.contacts.contact_elements import Mode
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.contacts.geometry_state import generalized
from sarrus.dynamics.contacts.open_forces import push_count, row_count
from sarrus.dynamics.impacts.activity import active
from sarrus.dynamics.solve.support import contact_modes
from sarrus.dynamics.system import System
from sarrus.motion.records.closed_constraints import as_in_run
from sarrus.motion.records.readings import rows_of
from sarrus.motion.records.trajectory import Trajectory
from sarrus.symbolic.multibody.connections import Connection

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

PARTS = ("full", "bearing", "drive")
_COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")


@dataclass(frozen=True, eq=False, repr=False)
class ReactionsAlong(Answer):
    """Reactions along a run: the entries of `Reactions`, time on the leading axis; arrays are read-only.

    Attributes
    ----------
    name, names : name of the system; names of joints, closures and contacts (n).
    t : (T,) [s].
    force, couple : (T, n, 3) total loads on the child, or on body 2 [N, N m], in the requested frame.
    bearing_force, bearing_couple : (T, n, 3) the parts carried by the bearings.
    determined, settled : (T, n, 6) unique by the equations of motion, and by these and the given stiffness.
    points : (T, n, 3) points of application, in the world [m]. frame : the frame of the components.
    multipliers : (T, nc) λ that belongs to these loads.
    left_out : (T,) samples of time stepping whose mean contact forces do not match the acceleration, as at impacts;
        forces and couples are NaN there.
    status : status of the run.
    """

    name: str
    names: tuple[str, ...]
    t: Array
    force: Array
    couple: Array
    bearing_force: Array
    bearing_couple: Array
    determined: NDArray[np.bool_]
    settled: NDArray[np.bool_]
    points: Array
    axes: Array
    frame: str
    multipliers: Array
    left_out: NDArray[np.bool_]
    constraint_names: tuple[str, ...]
    status: Status
    connections: tuple[Connection, ...] = field(repr=False)
    length: float = field(repr=False)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Names of the connections with a component that the equations of motion do not determine at all times."""
        return tuple(n for k, n in enumerate(self.names) if not self.determined[:, k].all())

    def __getitem__(self, name: str) -> Reaction:
        """Return the reaction of one joint, closure or contact, with time as leading axis of its arrays."""
        check_known("joint", name, self.names, self.name)
        k, one = self.names.index(name), self.connections[self.names.index(name)]
        return Reaction.of(one, name, self, (slice(None), k))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def part(self, part: str) -> tuple[Array, Array]:
        """Return force and couple (T, n, 3) [N, N m] of a part: "full", "bearing" or "drive"."""
        check_known("part", part, PARTS, self.name, element="part")
        if part == "full":
            return self.force, self.couple
        if part == "bearing":
            return self.bearing_force, self.bearing_couple
        return self.force - self.bearing_force, self.couple - self.bearing_couple

    def maxima(self, part: str = "full") -> ReactionMaxima:
        """Return the `ReactionMaxima`: the largest force and couple of each connection and their times; ``print`` shows
        a table.

        ``part`` is "full", "bearing" or "drive". Of times with equal values (to 1e-9) the first is returned.
        """
        return maxima_of(
            self.name, part, self.connections, self.t, *self.part(part), self.settled, self.length
        )

    def to_xarray(self) -> xr.Dataset:
        """Return an `xarray.Dataset`: forces and couples along time, joint and axis, and which components are
        unique.
        """
        return self._contents().to_xarray()

    def save(self, path: str | Path) -> Path:
        """Write a NetCDF file (.nc), whole or not at all; `xarray.open_dataset` reads it."""
        path = checked_path(path, (".nc",), "reactions are saved as NetCDF")
        self._contents().save(path, kept="the reactions are still in memory")
        return path

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Return a figure of the magnitudes of forces and couples over time; options:
        `sarrus.plot.reaction_history`.
        """
        return lazy_import("pictures.plots.plot", "reaction_history")(self, path, **options)

    def hodograph(self, name: str, path: str | Path | None = None, **options: Any) -> Figure:
        """Return a figure of the curve that the tip of a force vector traces; options: `sarrus.plot.hodograph`."""
        return lazy_import("pictures.plots.plot", "hodograph")(self, name, path, **options)

    def _contents(self) -> Dataset:
        along, what = ("time", "joint", "axis"), "axes of " + self.frame
        newtons, moments = {"units": "N", "comment": what}, {"units": "N m", "comment": what}
        found = {
            "force": Variable(along, self.force, newtons),
            "couple": Variable(along, self.couple, moments),
            "bearing_force": Variable(along, self.bearing_force, newtons),
            "bearing_couple": Variable(along, self.bearing_couple, moments),
            "point": Variable(along, self.points, {"units": "m"}),
            "left_out": Variable(("time",), self.left_out.astype(np.int8)),
            "determined": Variable(("time", "joint", "component"), self.determined.astype(np.int8)),
            "settled": Variable(("time", "joint", "component"), self.settled.astype(np.int8)),
            "multipliers": Variable(("time", "constraint"), self.multipliers),
        }
        ones = self.connections
        labels = {
            "time": Variable(("time",), self.t, {"units": "s"}),
            "joint": Variable(("joint",), np.array(self.names, dtype=str)),
            "body": Variable(("joint",), np.array([one.body for one in ones], dtype=str)),
            "kind": Variable(("joint",), np.array([one.kind for one in ones], dtype=str)),
            "axis": Variable(("axis",), np.array(["x", "y", "z"])),
            "component": Variable(("component",), np.array(_COMPONENTS)),
            "constraint": Variable(("constraint",), np.array(self.constraint_names, dtype=str)),
        }
        facts = {
            "format": "sarrus reactions 1",
            "name": self.name,
            "frame": self.frame,
            "status": self.status.name,
        }
        return Dataset(found, labels, facts)

    def __repr__(self) -> str:
        left = f", without {self.left_out.sum()} samples at impacts" if self.left_out.any() else ""
        return f"ReactionsAlong({self.name!r}: {len(self)} joints, {len(self.t)} times{left}, status {self.status})"


@described()
def reactions_along(
    trajectory: Trajectory,
    *,
    frame: str = "world",
    points: Mapping[str, ArrayLike] | None = None,
    stiffness: Stiffness | None = None,
) -> ReactionsAlong:
    """Return the `ReactionsAlong` of a trajectory: force and couple in every joint, closure and contact at all samples.

    Definition, uniqueness and distribution over redundant bearings are those of `sarrus.reactions`, with the same
    ``frame``, ``points`` and ``stiffness``. Accelerations, multipliers and contact forces are those of the run; a
    generalized force from outside (``force=`` of the run) passes through the joints. Impulses of impacts are not
    included: at a located impact the reactions are those right after it. In time stepping (method "moreau-jean")
    contact forces are means over the step that ends at the sample, and reactions follow from them to first order in dt;
    steps with an impact, or with an external force while contacts push, are ``left_out``.

    Raises `ArgumentError` for a run without a mechanism, and for the arguments that `sarrus.reactions` refuses.
    """
    check_is("reactions_along", trajectory, Trajectory)
    system = trajectory.moved_system()
    if system is None:
        raise ArgumentError(
            f"trajectory {trajectory.name!r}: no mechanism is known that has joints", element="mechanism"
        )
    run = RunReactions(trajectory, system, frame=frame, points=points, stiffness=stiffness)
    return run.at(np.arange(len(trajectory.t)))


class RunReactions:
    """The reactions of a run at selected samples; `reactions_along` returns them at all samples.

    ``system`` is the system that moved, or a copy of it.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        system: System,
        *,
        frame: str = "world",
        points: Mapping[str, ArrayLike] | None = None,
        stiffness: Stiffness | None = None,
    ) -> None:
        self.run, self.frame, self.places = trajectory, frame, points
        self.system = system.with_parameters(trajectory.parameters) if trajectory.parameters else system
        self.connections = connections_of(self.system)
        self._sharing = sharing(self.system, self.connections, stiffness)
        self._rows = rows_of(trajectory, self.system)

    def at(self, samples: Sequence[int] | NDArray[np.int64]) -> ReactionsAlong:
        """Return the reactions at samples, by their numbers from the start of the run."""
        run, system, found = self.run, self.system, self.connections
        samples = np.asarray(samples, dtype=int)
        rows = self._rows[samples]
        loads = evaluated(system, rows)
        seen = viewpoint(system, found, loads, self.frame, self.places)
        wrench, multipliers, determined, settled = _shared(
            system, run, self._sharing, loads, seen, rows, samples
        )
        left_out = _left_out(system, run, rows, samples)
        wrench[left_out] = np.nan
        full, carried = seen.of(wrench), seen.of(bearing(found, wrench))
        return ReactionsAlong(
            name=run.name,
            names=tuple(one.label for one in found),
            t=read_only(run.t[samples].copy()),
            force=read_only(full[..., :3].copy()),
            couple=read_only(full[..., 3:].copy()),
            bearing_force=read_only(carried[..., :3].copy()),
            bearing_couple=read_only(carried[..., 3:].copy()),
            determined=determined,
            settled=settled,
            points=read_only(seen.point.copy()),
            axes=read_only(seen.axes.copy()),
            frame=self.frame,
            multipliers=read_only(multipliers),
            left_out=left_out,
            constraint_names=tuple(system.constraint_names),
            status=run.status,
            connections=found,
            length=self._sharing.length,
        )


def _shared(
    system: System,
    run: Trajectory,
    shared: Sharing,
    loads: Loads,
    seen: Viewpoint,
    rows: Array,
    samples: NDArray[np.int64],
) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return (wrenches (T, n, 6) along own axes, λ, masks of determined and of settled components)."""
    wrench, multipliers = loads.wrench.copy(), run.multipliers[samples]
    determined = np.ones(wrench.shape, dtype=bool)
    settled = np.ones(wrench.shape, dtype=bool)
    pushed = _pushing(system, run, rows, samples)
    comes = bool(active(system))
    size = system.parts.tau.stop
    for place, k in enumerate(samples.tolist()):
        acts = bool(pushed[place])
        if run.rank[k] == system.nc and not acts and not shared.loose.any():
            continue
        own = as_in_run(system, run, k) if comes else system
        x, t = rows[place, :size], float(run.t[k])
        if comes:
            x = own.pack(run.q[k], run.v[k], run.u[k], t)
        ways = _ways(own, run, k) if acts else None
        here = replace(
            loads,
            wrench=loads.wrench[place : place + 1],
            point=loads.point[place : place + 1],
            axes=loads.axes[place : place + 1],
        )
        view = Viewpoint(seen.axes[place : place + 1], seen.point[place : place + 1], here)
        when = f" at t = {t:g} s"
        load = shared_load(own, shared, here, view, x, run.multipliers[k], int(run.rank[k]), ways, when)
        wrench[place], multipliers[place] = load.wrench, load.multipliers
        determined[place], settled[place] = load.determined, load.settled
    determined.flags.writeable = settled.flags.writeable = False
    return wrench, multipliers, determined, settled


def _pushing(system: System, run: Trajectory, rows: Array, samples: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return at which samples contacts, stops or dry friction exert forces; ``rows`` are those of `rows_of`."""
    wrenches = rows[:, rows.shape[1] - push_count(system) + row_count(system) :]
    return np.asarray(run.contact_forces[samples].any(axis=1) | wrenches.any(axis=1))


def _left_out(system: System, run: Trajectory, rows: Array, samples: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return at which samples contact forces are means that do not match the recorded acceleration."""
    found = np.zeros(len(samples), dtype=bool)
    pushing = _pushing(system, run, rows, samples)
    bodies = push_count(system) - row_count(system)
    for place in np.flatnonzero(pushing) if run.mean_contacts else ():
        k = int(samples[place])
        q, v, u, a, t = run.q[k], run.v[k], run.u[k], run.a[k], float(run.t[k])
        needed = system.mass_matrix(q, t) @ a + system.bias_force(q, v, t)
        given = system.passive_force(q, v, t) + system.input_force(q, v, u, t)
        given = given + system.constraint_jacobian(q, v, t).T @ run.multipliers[k]
        pushed = (
            contact_row_state(system, q, v, t).rows[: run.contact_forces.shape[1]].T @ run.contact_forces[k]
        )
        if bodies:
            pushed = pushed + generalized(system, q, t, rows[place, -bodies:])
        size = np.abs(needed) + np.abs(given) + np.abs(pushed)
        found[place] = np.abs(needed - given - pushed).max() > MEANS_MISS * size.max()
    return found


def _ways(system: System, run: Trajectory, k: int) -> Array:
    """Return directions (m, ways) in which forces of contacts, stops and dry friction may change at a sample.

    A block with a force at an impact may have any force, even if it is open right before or after the impact.
    """
    state, modes, ways = contact_modes(system.workspace(), run.q[k], run.v[k], run.a[k], float(run.t[k]))
    more, lasting = np.zeros(len(state.names), dtype=bool), run.contact_forces.shape[1]
    pushing = {meeting.contact for meeting in run.contact_log.at(k)}
    for one, mode in zip(state.elements, modes):
        pushed = one.name.rpartition(".")[0] in pushing
        if one.rows.stop <= lasting:
            pushed = bool(np.any(run.contact_forces[k, one.rows] != 0.0))
        more[one.rows] = mode is Mode.OPEN and pushed
    return np.hstack([ways, np.eye(len(more))[:, more]])


def names_of(found: ReactionsAlong, names: Sequence[str] | None) -> list[int]:
    """Return the indices of the named connections; without names, of all except free joints."""
    if names is None:
        return [k for k, one in enumerate(found.connections) if one.kind != "free"]
    for name in names:
        check_known("joint", name, found.names, found.name)
    return [found.names.index(name) for name in names]
