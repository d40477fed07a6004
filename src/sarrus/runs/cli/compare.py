"""The command ``sarrus compare``: one motion by several formulations, as a table and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sarrus.runs.cli.options import PICTURES, Importing, Model, Run, checked_outputs, with_groups


@with_groups
def compare(
    model: Model,
    run: Run,
    reading: Importing,
    formulations: Annotated[
        str,
        typer.Option(
            help="all, or names with commas between, such as kernel,partition,null-space; "
            "lagrange:baumgarte gives a run its own stabilization."
        ),
    ] = "all",
    baumgarte: Annotated[
        tuple[float, float],
        typer.Option(metavar="ALPHA BETA", help="Gains of stabilization baumgarte, in 1/s."),
    ] = (20.0, 20.0),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the figure (.png, .pdf, .svg).")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Save the table.")] = None,
) -> None:
    """Simulate a model by several formulations and compare energy error, constraint residuals, condition
    number and speed. A formulation that refuses the model keeps its line in the table. Exit code 1 where no
    run reached the end.
    """
    from sarrus.analysis.comparison.comparison import Comparison
    from sarrus.analysis.comparison.comparison import compare as run_all
    from sarrus.runs.cli.tables import console, print_remarks, print_written

    outputs = checked_outputs((output, PICTURES, Comparison.plot), (csv, (".csv",), Comparison.to_csv))
    system = reading.system(model)
    start = run.start(system)
    comparison = run_all(
        system,
        start.q,
        start.v,
        formulations=[name.strip() for name in formulations.split(",")],
        progress=True,
        **run.options(start) | {"stabilization": run.kept(gains=baumgarte)},
    )
    console().print(comparison)
    print_remarks(start.remarks)
    for path, write in outputs:
        write(comparison, path)
        print_written(path)
    if not any(made.status.ok for made in comparison.trajectories.values()):
        raise typer.Exit(1)
