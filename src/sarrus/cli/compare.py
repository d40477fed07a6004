"""The command ``sarrus compare``: one motion by several formulations, as a table and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sarrus.cli.options import (
    PICTURES,
    Absolute,
    Assemble,
    Coordinates,
    Duration,
    Floating,
    Keyframe,
    Lenient,
    Loops,
    Method,
    Model,
    Relative,
    Stabilization,
    Step,
    Velocities,
    method_name,
)

if TYPE_CHECKING:
    from sarrus.studies.comparison import Comparison

HELP = (
    "Simulate a model by several formulations and compare energy error, constraint residuals, condition number and "
    "speed. A formulation that refuses the model keeps its line in the table. Exit code 1 where no run reached the "
    "end."
)


def compare(
    model: Model,
    formulations: Annotated[
        str,
        typer.Option(
            help="all, or names with commas between, such as kernel,partition,null-space; "
            "lagrange:baumgarte gives a run its own stabilization."
        ),
    ] = "all",
    duration: Duration = 5.0,
    dt: Step = None,
    method: Method = None,
    rtol: Relative = None,
    atol: Absolute = None,
    stabilization: Stabilization = "projection",
    baumgarte: Annotated[
        tuple[float, float],
        typer.Option(metavar="ALPHA BETA", help="Gains of stabilization baumgarte, in 1/s."),
    ] = (20.0, 20.0),
    keyframe: Keyframe = None,
    set_: Coordinates = None,
    velocity: Velocities = None,
    assemble: Assemble = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the figure (.png, .pdf, .svg).")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Save the table.")] = None,
    loops: Loops = None,
    lenient: Lenient = False,
    floating_base: Floating = False,
) -> None:
    """Run the command; `HELP` describes it."""
    import sarrus
    from sarrus.cli.state import initial_state
    from sarrus.cli.tables import console
    from sarrus.files.whole import checked_path
    from sarrus.studies.comparison import compare as run_all

    for path, suffixes in ((output, PICTURES), (csv, (".csv",))):
        if path is not None:
            checked_path(path, suffixes, "output file")
    mechanism = sarrus.load(
        model, loops=loops, strict=False if lenient else None, floating_base=floating_base
    )
    system = sarrus.System(mechanism)
    start = initial_state(system, keyframe, set_ or [], velocity or [], assemble)
    comparison = run_all(
        system,
        start.q,
        start.v,
        t0=start.t,
        control=start.control,
        duration=duration,
        formulations=[name.strip() for name in formulations.split(",")],
        dt=dt,
        method=method_name(method),
        rtol=rtol,
        atol=atol,
        stabilization=stabilization,
        baumgarte=baumgarte,
        progress=True,
    )
    out = console()
    out.print(comparison)
    for note in start.remarks:
        out.print(f"note     {note}", markup=False)
    _save(comparison, output, csv)
    if not any(run.status.ok for run in comparison.trajectories.values()):
        raise typer.Exit(1)


def _save(comparison: Comparison, figure: Path | None, table: Path | None) -> None:
    from sarrus.cli.tables import console

    for path, write in ((figure, comparison.plot), (table, comparison.to_csv)):
        if path is not None:
            write(path)
            console().print(f"written  {path}", markup=False, soft_wrap=True)
