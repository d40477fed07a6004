"""The command ``sarrus bench``: this machine's own figures."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from sarrus.cli.options import Floating, Lenient, Loops

HELP = (
    "Measure a model on this machine: time to compile, forward dynamics, a step, a linear model, a control law. "
    "Without MODEL a planar five-bar is measured. Figures are medians; on a machine that does other things too they "
    "vary by tens of per cent."
)


def bench(
    model: Annotated[
        Path | None, typer.Argument(metavar="[MODEL]", help="Model file: MJCF, URDF or SDF.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    loops: Loops = None,
    lenient: Lenient = False,
    floating_base: Floating = False,
) -> None:
    """Run the command; `HELP` describes it."""
    from rich.markup import escape
    from rich.table import Table

    from sarrus.base.version import __version__
    from sarrus.cli.tables import console
    from sarrus.formats.load import load
    from sarrus.studies.machine_figures import five_bar, machine, measure

    mechanism = (
        five_bar()
        if model is None
        else load(model, loops=loops, strict=False if lenient else None, floating_base=floating_base)
    )

    def tell(what: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{what} …", end="", file=sys.stderr, flush=True)

    figures = measure(mechanism, tell)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    about = {"sarrus": __version__, "model": mechanism.name, **machine()}
    if as_json:
        rows = [
            vars(figure) | {"value": None} if math.isnan(figure.value) else vars(figure) for figure in figures
        ]
        print(json.dumps({**about, "figures": rows}, indent=2, ensure_ascii=False))
        return
    out = console()
    out.print("  ".join(f"[dim]{key}[/] {escape(value)}" for key, value in about.items()))
    table = Table(box=None, padding=(0, 2))
    for title in ("figure", "", "unit", "of what"):
        table.add_column(title, justify="right" if not title else "left")
    for figure in figures:
        value = "none" if math.isnan(figure.value) else f"{figure.value:,.4g}"
        table.add_row(escape(figure.what), value, figure.unit, escape(figure.note))
    out.print(table)
