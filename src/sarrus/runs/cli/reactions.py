"""The command ``sarrus reactions``: forces and couples in the joints of a model, at a state or along a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sarrus.base.errors import ArgumentError
from sarrus.runs.cli.options import PICTURES, Importing, Model, Run, checked_outputs, with_groups

if TYPE_CHECKING:
    from collections.abc import Sequence


@with_groups
def reactions(
    model: Model,
    run: Run,
    reading: Importing,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Along a run of --duration, instead of at its start.")
    ] = False,
    frame: Annotated[
        str, typer.Option(help="world, joint (own axes), or a body whose axes they are.")
    ] = "joint",
    part: Annotated[str, typer.Option(help="Largest loads of a run: full, bearing or drive.")] = "full",
    stiffness: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=K",
            help="Stiffness of a bearing: one number, or kx,ky,kz,krx,kry,krz along its own axes; repeatable.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save those of a run, NetCDF.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot sizes of forces and couples of a run.")] = None,
    draw: Annotated[Path | None, typer.Option(help="Draw the forces at the start as arrows.")] = None,
) -> None:
    """Print force and couple in every joint, closure and contact: of a joint on its child, of a closure on body 2, at
    the start of a run; with --simulate the largest ones of the run with their times. Values that are not unique,
    because the mechanism is overconstrained, are marked. Exit code 1 if the run ended early.
    """
    import sarrus
    from sarrus.runs.cli.tables import console, print_remarks, print_written

    if not simulate and (output is not None or plot is not None):
        raise ArgumentError("--output and --plot are for runs: add --simulate", element="simulate")
    outputs = checked_outputs(
        (output, (".nc",), sarrus.ReactionsAlong.save), (plot, PICTURES, sarrus.ReactionsAlong.plot)
    )
    drawn = checked_outputs((draw, PICTURES, sarrus.Reactions.draw))
    system = reading.system(model)
    given = _stiffness(stiffness or [])
    start = run.start(system)
    failed = False
    if drawn or not simulate:
        found = sarrus.reactions(system, start.q, start.v, start.u, start.t, frame=frame, stiffness=given)
        if not simulate:
            console().print(str(found), markup=False, soft_wrap=True)
        for path, write in drawn:
            write(found, path)
    if simulate:
        trajectory = sarrus.simulate(system, start.q, start.v, **run.options(start), throw=False)
        along = sarrus.reactions_along(trajectory, frame=frame, stiffness=given)
        console().print(str(along.maxima(part)), markup=False, soft_wrap=True)
        if not trajectory.status.ok:
            console().print(f"{trajectory.status}: {trajectory.message}", markup=False, soft_wrap=True)
        failed = not trajectory.status.complete
        for path, write in outputs:
            write(along, path)
    print_remarks(start.remarks)
    print_written(*(path for path, _ in (*drawn, *outputs)))
    if failed:
        raise typer.Exit(1)


def _stiffness(texts: Sequence[str]) -> dict[str, list[float] | float] | None:
    """Return stiffness by name from texts such as ``hinge=1e6`` or ``hinge=1e6,1e6,1e6,1,1,0``."""
    found: dict[str, list[float] | float] = {}
    for text in texts:
        name, equals, numbers = text.rpartition("=")
        try:
            values = [float(number) for number in numbers.split(",")]
        except ValueError:
            values = []
        if not equals or len(values) not in (1, 6):
            raise ArgumentError(
                f"--stiffness {text!r}: write NAME=K, or NAME=kx,ky,kz,krx,kry,krz with six numbers",
                element=text,
            )
        found[name] = values[0] if len(values) == 1 else values
    return found or None
