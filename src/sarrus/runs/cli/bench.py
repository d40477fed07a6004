"""The command ``sarrus bench``: timings on this machine."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from sarrus.base.version import __version__
from sarrus.runs.cli.options import Importing, with_groups


@with_groups
def bench(
    reading: Importing,
    model: Annotated[
        Path | None, typer.Argument(metavar="[MODEL]", help="Model file: MJCF, URDF or SDF.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure a model on this machine: time to compile, forward dynamics, a step, a linear model, a control
    law. Without MODEL a planar five-bar is measured. Figures are medians; on a machine that does other things
    too they vary by tens of per cent.
    """
    from sarrus.runs.cli.tables import print_figures
    from sarrus.runs.studies.machine_figures import five_bar, machine, measure

    mechanism = five_bar() if model is None else reading.load(model)
    figures = measure(mechanism, _progress)
    _progress(None)
    about = {"sarrus": __version__, "model": mechanism.name, **machine()}
    if not as_json:
        print_figures(about, figures)
        return
    rows = [
        vars(figure) | {"value": None} if math.isnan(figure.value) else vars(figure) for figure in figures
    ]
    print(json.dumps({**about, "figures": rows}, indent=2, ensure_ascii=False))


def _progress(what: str | None) -> None:
    """Show in a terminal what is measured; None ends it."""
    if sys.stderr.isatty():
        print("\r\x1b[K" + (f"{what} …" if what else ""), end="", file=sys.stderr, flush=True)
