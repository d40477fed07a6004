"""The state of a mechanism in words and numbers, as the panel shows it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from sarrus.analysis.manifold import CUT, open_by, split, typical_size
from sarrus.mechanism.pose import Array
from sarrus.status import Status
from sarrus.system import System
from sarrus.units import constraint_units

_ROUNDING = 1e-12  # multipliers below this part of the largest one are zero
_MOST = 12  # forces and names that are written out


@dataclass(frozen=True, eq=False)
class Readout:
    """What is known at a configuration, at rest or at a sample of a run.

    Attributes
    ----------
    dof, rank, condition : degrees of freedom, rank of A, and its largest singular value over the smallest that is not
        zero at generic configurations: infinite where A is singular, 1 without constraints.
    residual : largest entry of φ in absolute value [m, rad].
    redundant : names of the rows whose multipliers are not unique here.
    forces : name of the row, multiplier and unit for those that are.
    multipliers, determined : (nc,) of all rows; zero and False where there is no answer.
    status : that of the forward dynamics from rest.
    moving : whether the forces are those of a run; else of the mechanism let go from rest.
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

    def html(self, note: str = "") -> str:
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
        body = "".join(_row(name, value) for name, value in rows)
        forces = "".join(_row(name, f"{value:.4g} {unit}") for name, value, unit in self.forces[:_MOST])
        if len(self.forces) > _MOST:
            forces += _row("", f"and {len(self.forces) - _MOST} more")
        head = "determined closure forces" + (" at this time" if self.moving else ", let go from rest")
        table = f'<table style="width:100%;border-collapse:collapse" data-sarrus="state">{body}</table>'
        if forces:
            table += (
                f'<div style="margin:0.6em 0 0.2em;font-weight:600">{head}</div>'
                f'<table style="width:100%;border-collapse:collapse" data-sarrus="forces">{forces}</table>'
            )
        if note:
            table += f'<div data-sarrus="note" style="margin-top:0.5em;color:#b3261e">{escape(note)}</div>'
        return f'<div style="font-size:0.85em;padding:0 0.7em 0.5em;color:#26323c">{table}</div>'


def read(system: System, q: Array, t: float = 0.0, multipliers: Array | None = None) -> Readout:
    """Return the readout at a closed configuration; redundant and singular ones are ordinary input.

    ``multipliers`` (nc,) are those of a run there; without them the mechanism is let go from rest.
    """
    found = system.forward_dynamics(q, np.zeros(system.nv), t=t, throw=False)
    jacobian = system.constraint_jacobian(q, t)
    parts = split(jacobian, CUT * max(typical_size(system, q, t), 1e-300))
    generic = system.ensure_generic_rank(q, t)
    values = parts.values[: max(generic, parts.rank)]
    singular = parts.rank < generic
    condition = np.inf if singular else float(values[0] / values[-1]) if len(values) else 1.0
    answered = found.rank >= 0
    determined = found.determined if answered else np.zeros(system.nc, dtype=bool)
    moving = multipliers is not None
    if multipliers is None:
        multipliers = found.multipliers if answered else np.zeros(system.nc)
    multipliers = np.array(multipliers)
    multipliers[np.abs(multipliers) < _ROUNDING * np.abs(multipliers).max(initial=0.0)] = 0.0
    units = constraint_units(system)
    names = system.constraint_names
    return Readout(
        dof=system.nv - parts.rank,
        rank=parts.rank,
        condition=condition,
        residual=open_by(system, q, t),
        redundant=tuple(name for name, sure in zip(names, determined) if not sure) if answered else (),
        forces=tuple(
            (name, float(x), unit)
            for name, x, unit, sure in zip(names, multipliers, units, determined)
            if sure
        ),
        multipliers=multipliers,
        determined=determined,
        status=found.status,
        moving=moving,
    )


def _row(name: str, value: str) -> str:
    return (
        f'<tr><td style="padding:1px 0;color:#5b6770">{escape(name)}</td>'
        f'<td style="text-align:right;font-variant-numeric:tabular-nums">{escape(value)}</td></tr>'
    )


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
