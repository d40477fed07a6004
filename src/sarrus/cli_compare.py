"""The command ``sarrus compare``: one motion by several formulations, as a table and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sarrus.comparison import Comparison

HELP = (
    "Simulate a model by several formulations and compare energy error, constraint residuals, condition number and "
    "speed. A formulation that refuses the model keeps its line in the table. Exit code 1 where no run reached the "
    "end."
)


def compare(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file: MJCF, URDF or SDF.")],
    formulations: Annotated[
        str,
        typer.Option(
            help="all, or names with commas between, such as kernel,partition,null-space; "
            "lagrange:baumgarte gives a run its own stabilization."
        ),
    ] = "all",
    duration: Annotated[float, typer.Option(help="Time to simulate, in seconds.")] = 5.0,
    dt: Annotated[float | None, typer.Option(help="Step in seconds.")] = None,
    method: Annotated[str | None, typer.Option(help="rk4, dopri5, dop853, or adaptive (dop853).")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance of an adaptive method.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance of an adaptive method.")] = None,
    stabilization: Annotated[str, typer.Option(help="projection, energy, baumgarte or none.")] = "projection",
    baumgarte: Annotated[
        tuple[float, float],
        typer.Option(metavar="ALPHA BETA", help="Gains of stabilization baumgarte, in 1/s."),
    ] = (20.0, 20.0),
    keyframe: Annotated[str | None, typer.Option(help="Start from this keyframe of the model.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Initial coordinate; repeatable.")
    ] = None,
    velocity: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Initial velocity; repeatable.")
    ] = None,
    assemble: Annotated[bool, typer.Option("--assemble", help="Close the loops before the start.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the figure (.png, .pdf, .svg).")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Save the table.")] = None,
    loops: Annotated[Path | None, typer.Option(help="YAML file with loop closures for a URDF.")] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out closures that cannot be kept.")
    ] = False,
    floating_base: Annotated[
        bool, typer.Option("--floating-base", help="Let the root link of a URDF float.")
    ] = False,
) -> None:
    """Run the command; `HELP` describes it."""
    import sarrus
    from sarrus.cli_state import initial_state
    from sarrus.cli_tables import console
    from sarrus.comparison import compare as run_all
    from sarrus.storage import checked_path

    for path, suffixes in ((output, (".png", ".pdf", ".svg", ".jpg")), (csv, (".csv",))):
        if path is not None:
            checked_path(path, suffixes, "output file")
    mechanism = sarrus.load(model, loops=loops, strict=not lenient, floating_base=floating_base)
    system = sarrus.System(mechanism)
    q, v, notes = initial_state(system, keyframe, set_ or [], velocity or [], assemble)
    comparison = run_all(
        system,
        q,
        v,
        duration=duration,
        formulations=[name.strip() for name in formulations.split(",")],
        dt=dt,
        method="dop853" if method == "adaptive" else method,
        rtol=rtol,
        atol=atol,
        stabilization=stabilization,
        baumgarte=baumgarte,
        progress=True,
    )
    out = console()
    out.print(comparison)
    for note in notes:
        out.print(f"note     {note}", markup=False)
    _save(comparison, output, csv)
    if not any(run.status.ok for run in comparison.trajectories.values()):
        raise typer.Exit(1)


def _save(comparison: Comparison, figure: Path | None, table: Path | None) -> None:
    from sarrus.cli_tables import console

    for path, write in ((figure, comparison.plot), (table, comparison.to_csv)):
        if path is not None:
            write(path)
            console().print(f"written  {path}", markup=False, soft_wrap=True)
