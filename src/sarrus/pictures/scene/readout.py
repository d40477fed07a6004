"""Readout of a mechanism's state in words and numbers, for the panel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.manifold import rank_cut
from sarrus.dynamics.impacts.activity import active
from sarrus.dynamics.model.measures import open_by
from sarrus.dynamics.model.units import constraint_units
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.motion.records.closed_constraints import as_in_run
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.scene.markup import Html, element
from sarrus.pictures.scene.tolerances import ZERO_MULTIPLIER
from sarrus.pictures.symbols.style import INK, WARNING

_MOST = 12  # forces and names that are written out
TABLE_STYLE = "width:100%;border-collapse:collapse"


@dataclass(frozen=True, eq=False)
class Readout:
    """Rank, residual, status and closure forces at a configuration, at rest or at a sample of a run.

    Attributes
    ----------
    dof, rank, condition : degrees of freedom, rank of A, and σ₁ / σ_r with the generic rank r: infinite at a singular
        configuration, 1 without constraints.
    residual : largest entry of φ in absolute value [m, rad].
    redundant : names of the rows whose multipliers are not unique here.
    forces : name of the row, multiplier and unit for unique multipliers.
    multipliers, determined : (nc,) of all rows; zero and False without an answer.
    status : of the forward dynamics from rest.
    moving : whether the forces are those of a run; else of the mechanism released from rest.
    """

    dof: int
    rank: int
    condition: float
    residual: float
    redundant: tuple[str, ...]
    forces: tuple[tuple[str, float, str], ...]
    multipliers: Array
    determined: np.ndarray
    status: Status
    moving: bool = False

    def html(self, note: str = "") -> Html:
        """Return the table that the panel shows; ``note`` stands below it."""
        condition = "∞ (singular)" if np.isinf(self.condition) else f"{self.condition:.4g}"
        rows = [
            ("degrees of freedom", str(self.dof)),
            ("rank of A", f"{self.rank} of {len(self.multipliers)} rows"),
            ("condition number", condition),
            ("closure residual", f"{self.residual:.1e} m, rad"),
            ("redundant rows", _some(self.redundant) or "none"),
            ("status", str(self.status)),
        ]
        forces = [_row(name, f"{value:.4g} {unit}") for name, value, unit in self.forces[:_MOST]]
        if len(self.forces) > _MOST:
            forces.append(_row("", f"and {len(self.forces) - _MOST} more"))
        head = "unique closure forces" + (" at this time" if self.moving else ", released from rest")
        parts = [element("table", *(_row(*row) for row in rows), style=TABLE_STYLE, data_sarrus="state")]
        if forces:
            parts.append(element("div", head, style="margin:0.6em 0 0.2em;font-weight:600"))
            parts.append(element("table", *forces, style=TABLE_STYLE, data_sarrus="forces"))
        if note:
            parts.append(element("div", note, style=f"margin-top:0.5em;color:{WARNING}", data_sarrus="note"))
        return element("div", *parts, style=f"font-size:0.85em;padding:0 0.7em 0.5em;color:{INK}")


def read(system: System, q: Array, t: float = 0.0) -> Readout:
    """Return the readout of a mechanism at a closed configuration, released from rest.

    Redundant and singular configurations are allowed. Inactive constraints are ignored; contacts with friction, stops
    and dry friction are included, those between geometries are left out.
    """
    touching = not system.contact_geometries
    found = system.forward_dynamics(q, np.zeros(system.nv), t=t, contacts=touching, throw=False)
    jacobian = system.constraint_jacobian(q, t=t)
    parts = ranked(jacobian, rank_cut(system, q, t, LEAST_DIVISOR))
    generic = generic_rank(system.workspace(), q, t)
    values = parts.values[: max(generic, parts.rank)]
    singular = parts.rank < generic
    answered = found.rank >= 0
    off = np.zeros(system.nc, dtype=bool)
    for name, holds in active(system).items():
        off[system.closure_rows[name]] = not holds
    determined = found.determined & ~off if answered else np.zeros(system.nc, dtype=bool)
    multipliers = np.array(found.multipliers) if answered else np.zeros(system.nc)
    unsure = ~determined & ~off & answered
    return Readout(
        dof=system.nv - parts.rank,
        rank=parts.rank,
        condition=np.inf if singular else float(values[0] / values[-1]) if len(values) else 1.0,
        residual=open_by(system, q, t),
        redundant=tuple(name for name, listed in zip(system.constraint_names, unsure) if listed),
        forces=_named(system, multipliers, determined),
        multipliers=multipliers,
        determined=determined,
        status=found.status,
    )


def read_run(system: System, run: Trajectory, k: int, q: Array) -> Readout:
    """Return the readout at q near sample k of a run, with the multipliers recorded there.

    With switched constraints the residual is the recorded one, because their anchors are no longer known.
    """
    state = read(as_in_run(system, run, k), q, float(run.t[k]))
    return replace(
        state,
        multipliers=run.multipliers[k],
        forces=_named(system, run.multipliers[k], state.determined),
        residual=float(run.residual[k]) if active(system) else state.residual,
        moving=True,
    )


def _named(system: System, multipliers: Array, sure: np.ndarray) -> tuple[tuple[str, float, str], ...]:
    """Return name, value and unit of the unique multipliers that are not rounding."""
    noise = ZERO_MULTIPLIER * np.abs(multipliers).max(initial=0.0)
    rows = zip(system.constraint_names, multipliers, constraint_units(system), sure)
    return tuple((name, float(x) if abs(x) >= noise else 0.0, unit) for name, x, unit, yes in rows if yes)


def small_print(text: str) -> Html:
    """Return a remark as the panels show it."""
    return element("div", text, style="font-size:0.8em;padding:0 0.7em 0.4em;color:#5b6770")


def warning(text: str) -> Html:
    """Return a warning as the panels show it."""
    return element("div", text, style=f"font-size:0.85em;padding:0.3em 0.7em;color:{WARNING}")


def _row(name: str, value: str) -> Html:
    return element(
        "tr",
        element("td", name, style="padding:1px 0;color:#5b6770"),
        element("td", value, style="text-align:right;font-variant-numeric:tabular-nums"),
    )


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
