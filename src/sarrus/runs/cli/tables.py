"""Tables of a model and of a run on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sarrus.analysis.configurations.equilibrium import equilibrium
from sarrus.analysis.mobility.mobility import mobility
from sarrus.analysis.mobility.reduction import Reduction
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.model.activations import driving_matrix
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.report import Outcome

if TYPE_CHECKING:
    import xarray as xr

    from sarrus.dynamics.system import System
    from sarrus.motion.records.trajectory import Trajectory
    from sarrus.runs.studies.machine_figures import Figure

_PIPE_WIDTH = 120  # columns where stdout is no terminal


def console() -> Console:
    """Return a console on stdout that does not wrap lines early in a pipe."""
    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, highlight=False)


def print_run(
    trajectory: Trajectory, remarks: Sequence[str], written: Sequence[Path], singularity: bool = False
) -> None:
    """Print the summary of a run: steps, speed, energy, closure, passages, status, files.

    ``singularity``: also the smallest singular value and the largest spike.
    """
    out = console()
    table = run_table(trajectory)
    for row in _singularity_rows(trajectory) if singularity else ():
        table.add_row(*row)
    out.print(table)
    print_remarks(remarks)
    for crossing in trajectory.limit_crossings:
        out.print(f"[yellow]limit[/]    {escape(str(crossing))}")
    print_written(*written)


def _singularity_rows(trajectory: Trajectory) -> list[tuple[str, str]]:
    """Return rows on the channels of singularity; [] without constraints."""
    value, spike = trajectory.smallest_singular_value, trajectory.spike_acceleration
    rows = []
    if np.isfinite(value).any():
        k = int(np.nanargmin(value))
        rows.append(("smallest σ", f"{value[k]:.3g} at {trajectory.t[k]:.4g} s"))
    if (spike > 0.0).any():
        k = int(np.nanargmax(spike))
        rows.append(("largest spike", f"{spike[k]:.3g} 1/s² at {trajectory.t[k]:.4g} s"))
    return rows


def print_remarks(remarks: Sequence[str]) -> None:
    """Print remarks on a start."""
    for line in remarks:
        console().print(f"[dim]note[/]     {escape(line)}")


def print_written(*paths: str | Path) -> None:
    """Print the names of files that were written."""
    for path in paths:
        console().print(f"[dim]written[/]  {escape(str(path))}", soft_wrap=True)


def print_figures(about: Mapping[str, str], figures: Sequence[Figure]) -> None:
    """Print timings and the machine on which they were measured."""
    out = console()
    out.print("  ".join(f"[dim]{key}[/] {escape(value)}" for key, value in about.items()))
    table = Table(box=None, padding=(0, 2))
    for title in ("figure", "", "unit", "of what"):
        table.add_column(title, justify="right" if not title else "left")
    for figure in figures:
        value = "none" if np.isnan(figure.value) else f"{figure.value:,.4g}"
        table.add_row(escape(figure.what), value, figure.unit, escape(figure.note))
    out.print(table)


def study_table(result: xr.Dataset, seconds: float) -> Table:
    """Return axes, runs by status, time and throughput of a study as a two-column table."""
    table = _facts("system", result.attrs["name"])
    shape = result.status.dims
    if shape == ("run",):
        axes = [str(name) for name in result.coords if result[name].dims == ("run",) and name != "run"]
        table.add_row("samples of", escape(", ".join(axes)))
    else:
        table.add_row("grid", escape(" × ".join(f"{name} ({result.sizes[name]})" for name in shape)))
    names, counts = np.unique(result.status.values, return_counts=True)
    runs = int(counts.sum())
    table.add_row("runs", f"{runs}")
    for name, count in zip(names, counts):
        colour = "green" if name == "OK" else "red"
        table.add_row(f"  [{colour}]{name}[/]", f"{count}")
    table.add_row("time", f"{seconds:.3g} s, {runs / seconds:,.0f} runs per second")
    return table


def run_table(trajectory: Trajectory) -> Table:
    """Return the figures of a run as a two-column table."""
    table = _facts("system", trajectory.name)
    steps = f"{trajectory.steps}" + (f" ({trajectory.rejected} rejected)" if trajectory.rejected else "")
    rate = trajectory.steps / trajectory.wall_seconds if trajectory.wall_seconds > 0 else float("nan")
    table.add_row("time", f"{trajectory.duration:.6g} s in {trajectory.wall_seconds:.3g} s")
    table.add_row("steps", f"{steps}, {rate:,.0f} per second")
    conserved = trajectory.system is None or trajectory.system.equations.conservative
    table.add_row("energy drift" if conserved else "energy change", f"{trajectory.energy_drift:.3g} J")
    for name, drift in trajectory.invariant_drift.items():
        if name != "energy":
            table.add_row(f"{escape(name)} drift", f"{drift:.3g}")
    if trajectory.constraint_names:
        table.add_row("closure residual", f"{np.max(trajectory.residual, initial=0.0):.3g} m or rad")
        table.add_row("passages", _passages(trajectory))
    if trajectory.determined_until < np.inf:
        table.add_row(
            "determined",
            f"[yellow]until {trajectory.determined_until:.4g} s[/], then rounding decides the motion",
        )
    colour = "green" if trajectory.status.ok else "red"
    table.add_row("status", f"[{colour}]{trajectory.status}[/]")
    return table


def _passages(trajectory: Trajectory, most: int = 8) -> str:
    times = [f"{passage.time:.3f}" for passage in trajectory.passages]
    if not times:
        return "none"
    more = f" and {len(times) - most} more" if len(times) > most else ""
    return f"{len(times)} singular, at {', '.join(times[:most])} s{more}"


def print_info(system: System, path: Path) -> None:
    """Print bodies, joints, closures, contacts, mobility at the reference pose, and the import report."""
    out = console()
    mechanism = system.mechanism
    assert mechanism is not None
    out.print(f"[bold]{escape(mechanism.name)}[/]  [dim]{escape(str(path))}[/]", soft_wrap=True)
    tables = [_bodies(mechanism), _joints(mechanism)]
    if mechanism.closures or mechanism.couplings or mechanism.rollings or mechanism.gearings:
        tables.append(_closures(mechanism))
    if mechanism.contacts:
        tables.append(_contacts(mechanism))
    for table in (*tables, _mobility(system)):
        out.print()
        out.print(table)
    out.print()
    if mechanism.geoms:
        touching = len(mechanism.geometry_contacts) or sum(1 for _ in mechanism.contact_geoms())
        how = "touch" if mechanism.geometry_contacts else "may touch (--geoms)"
        out.print(f"{len(mechanism.geoms)} geometries collide, {touching} pairs {how}", highlight=False)
    for what in ("actuators", "sensors", "keyframes"):
        if names := getattr(mechanism, what):
            out.print(f"{what:<11}{escape(', '.join(names))}")
    out.print(f"[bold]import[/]  {escape(mechanism.report.headline())}")
    for entry in mechanism.report:
        if entry.outcome is not Outcome.ACTS or entry.reason:
            out.print(f"  {escape(str(entry))}", soft_wrap=True)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(escape(column))
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def _facts(what: str, name: str) -> Table:
    """Return a two-column table with a heading."""
    table = Table.grid(padding=(0, 2))
    table.add_row(f"[bold]{what}[/]", f"[bold]{escape(name)}[/]")
    return table


def _bodies(mechanism: Mechanism) -> Table:
    rows = ((body.name, body.parent, f"{body.mass:.6g}") for body in mechanism.bodies.values())
    return _table(("body", "parent", "mass [kg]"), rows)


def _joints(mechanism: Mechanism) -> Table:
    rows = (
        (joint.name, joint.kind, f"{body.parent}, {body.name}", _limits(joint))
        for body in mechanism.bodies.values()
        for joint in body.joints
    )
    return _table(("joint", "kind", "between", "limits [rad, m]"), rows)


def _limits(joint: Joint) -> str:
    restitution = joint.limit_restitution or (0.0,) * joint.nv
    return ", ".join(
        "free" if limit is None else f"{limit[0]:.4g} … {limit[1]:.4g}" + (f", e = {e:.4g}" if e else "")
        for limit, e in zip(joint.limits, restitution)
    )


def _closures(mechanism: Mechanism) -> Table:
    rows = [(c.name, c.kind, f"{c.body1}, {c.body2}", c.row_names) for c in mechanism.closures.values()]
    rows += [
        (c.name, "coupling", ", ".join(term.coordinate for term in c.terms), c.row_names)
        for c in mechanism.couplings.values()
    ]
    rows += [
        (g.name, g.kind, ", ".join(coordinate for coordinate, _ in g.approach), ())
        for g in mechanism.gearings.values()
    ]
    rows += [
        (
            r.name,
            f"rolling {r.kind}" + (f" on {type(r.surface).__name__.lower()}" if r.surface else ""),
            f"{r.ground}, {r.body}",
            r.row_names,
        )
        for r in mechanism.rollings.values()
    ]
    return _table(("closure", "kind", "between", "rows"), ((*row, str(len(names))) for *row, names in rows))


def _contacts(mechanism: Mechanism) -> Table:
    patch_of = {name: patch.name for patch in mechanism.patches.values() for name in patch.contacts}
    rows = []
    for contact in mechanism.contacts.values():
        coefficient = contact.friction_coefficient
        sticks = "sticks" if contact.friction == "stick" else contact.friction
        point = ", ".join(f"{x:.4g}" for x in contact.point)
        friction = sticks if coefficient is None else f"{coefficient:.4g}"
        rows.append(
            (contact.name, contact.body, point, contact.ground, friction, patch_of.get(contact.name, ""))
        )
    return _table(("contact", "body", "point [m]", "on", "friction coefficient", "patch"), rows)


def _mobility(system: System) -> Table:
    """Return a table of the mobility at the reference pose with its loops closed."""
    closed = system.assemble(system.neutral(), throw=False)
    table = Table.grid(padding=(0, 2))
    table.add_row("[bold]mobility[/]", "at the reference pose, loops closed")
    table.add_row("coordinates", f"{system.nq}, velocities {system.nv}, controls {system.nu}")
    if closed.status is Status.NOT_CLOSED:
        table.add_row("rows", f"{system.nc}")
        table.add_row("closure residual", f"{closed.residual:.3g} m or rad")
        table.add_row("[red]not closed[/]", escape(f"{closed.message}. {closed.status.remedy}"))
        return table
    here = mobility(system, closed.q, contacts=not system.contact_geometries)
    table.add_row("rows", f"{system.nc} of rank {here.rank}")
    reach = here.motions.T @ driving_matrix(system, here.q, np.zeros(system.nv))
    driven = int(np.linalg.matrix_rank(reach)) if system.nu else 0
    passive = f", of which the actuators drive {driven}" if 0 < driven < here.dof else ""
    table.add_row("degrees of freedom", f"{here.dof}{passive}")
    if 0 < here.dof < system.nv:
        table.add_row("independent", escape(", ".join(here.independent)))
    if system.nc:
        table.add_row("redundant rows", escape(_by_closure(system, here.redundant)) or "none")
        if here.removable:
            can_go = f"{_by_closure(system, here.removable)} ({len(here.removable)} together)"
            table.add_row("removable rows", escape(can_go))
            table.add_row("instead", escape(_instead(here.reduction)))
        table.add_row("closure residual", f"{here.residual:.3g} m or rad")
    for k, carrier in enumerate(here.free_carriers):
        table.add_row("" if k else "free", escape(str(carrier)))
    for label, text in here.internal_rows:
        table.add_row(label, escape(text))
    if here.shaky:
        table.add_row(
            "[yellow]shaky[/]",
            f"{here.finite_dof} finite, {here.dof - here.finite_dof} infinitesimal degrees of freedom",
        )
    if here.status in (Status.SINGULAR, Status.RIGID):
        nearby = f"rank {here.generic_rank} nearby, where {here.generic_dof} of them remain"
        lost = f"; dependent here: {', '.join(here.singular_closures)}" if here.singular_closures else ""
        table.add_row(f"[yellow]{here.status.name.lower()}[/]", escape(nearby + lost))
        for k, text in enumerate(here.branch_descriptions):
            table.add_row("branches" if k == 0 else "", escape(text))
        if not here.branches:
            table.add_row("branches", "none: no finite motion starts here")
    if system.contact_geometries:
        table.add_row("contacts", "contacts between geometries without closed form act in simulations only")
    if here.contacts is not None:
        for label, text in here.contacts.rows:
            table.add_row(label, escape(text))
        if here.contacts.closed and not system.equations.activations:
            table.add_row("held", escape(_held(system, here.q)))
    return table


def _instead(reduction: Reduction) -> str:
    """Return the kinds of closures that make the rows independent, with their names, or a message if there are none."""
    alike: dict[str, list[str]] = {}
    for exchange in reduction.exchanges:
        kind = "none" if exchange.after is None else exchange.after.kind
        alike.setdefault(kind, []).append(exchange.name)
    return "; ".join(f"{kind} for {', '.join(names)}" for kind, names in alike.items()) or reduction.message


def _held(system: System, q: Array) -> str:
    """Return the contacts that hold a mechanism at q with the least inputs, or the reason why none do."""
    carried = equilibrium(system, q, hold=True, throw=False).contacts
    assert carried is not None
    if carried.reason:
        return f"no: {carried.reason}"
    inputs = " with the least inputs" if system.nu else ""
    return f"by {', '.join(carried.carrying) or 'no contact'}{inputs}, at {carried.friction_needed:.3g} of its friction"


def _by_closure(system: System, names: Sequence[str]) -> str:
    """Return row names; "all of NAME" for a closure all of whose rows are included."""
    out = []
    for closure, part in system.closure_rows.items():
        rows = system.constraint_names[part]
        own = [name for name in rows if name in names]
        out += [f"all of {closure}"] if len(own) == len(rows) > 1 else own
    return ", ".join(out)
