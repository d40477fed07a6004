"""The table of a comparison, for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sarrus.analysis.comparison.comparison_row import ComparisonRow
from sarrus.base.status import Status


def comparison_table(name: str, conservative: bool, rows: Sequence[ComparisonRow]) -> Group:
    """Return a row per run, and below the table a line for each run that failed."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("formulation", no_wrap=True)
    figures = {field.name: field.metadata for field in fields(ComparisonRow) if field.metadata}
    if all(np.isnan(row.position_error) for row in rows):  # no reference
        del figures["position_error"]
    for figure in figures.values():
        above, below = figure["header"]
        above = above if conservative else above.replace("error", "change")
        table.add_column(f"{above}\n[dim]{below}[/]", justify="right")
    table.add_column("status", no_wrap=True)
    for row in rows:
        numbers = [_number(getattr(row, name), figure["form"]) for name, figure in figures.items()]
        colour = "green" if row.status.ok else "red"
        table.add_row(escape(row.formulation), *numbers, f"[{colour}]{row.status}[/]")
    told = [
        row for row in rows if not row.status.ok and row.status is not Status.SOFTENED
    ]  # that was asked for
    failed = [Text(f"{row.formulation}: {row.message}") for row in told]
    return Group(Text(name, style="bold"), table, *([Text(), *failed] if failed else []))


def _number(value: float, form: str) -> str:
    return "–" if np.isnan(value) else format(value, form)
