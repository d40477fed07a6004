"""The table of a comparison, for terminals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sarrus.studies.comparison_row import ComparisonRow


def comparison_table(name: str, conservative: bool, rows: Sequence[ComparisonRow]) -> Group:
    """Return a row per run, and below the table a line for each run that failed."""
    energy = "energy error" if conservative else "energy change"
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("formulation", no_wrap=True)
    for header in (
        f"{energy}\n[dim]largest [J][/]",
        "closure\n[dim]residual[/]",
        "velocity\n[dim]residual[/]",
        "condition\n[dim]median[/]",
        "condition\n[dim]largest[/]",
        "steps\n[dim]per second[/]",
    ):
        table.add_column(header, justify="right")
    table.add_column("status", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    failed = [Text(f"{row.formulation}: {row.message}") for row in rows if not row.status.ok]
    return Group(Text(name, style="bold"), table, *([Text(), *failed] if failed else []))


def _cells(row: ComparisonRow) -> list[str]:
    colour = "green" if row.status.ok else "red"
    return [
        escape(row.formulation),
        _number(row.energy_error),
        _number(row.closure_residual),
        _number(row.velocity_residual),
        _number(row.condition_median, 3),
        _number(row.condition_largest, 3),
        "–" if np.isnan(row.steps_per_second) else f"{row.steps_per_second:,.0f}",
        f"[{colour}]{row.status}[/]",
    ]


def _number(value: float, digits: int = 2) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}g}"
