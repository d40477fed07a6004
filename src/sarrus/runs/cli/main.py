"""The command ``sarrus``: look at a model file, simulate it, draw the motion, export it, time it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sarrus.base.errors import SarrusError
from sarrus.base.version import __version__
from sarrus.runs.cli.bench import bench
from sarrus.runs.cli.compare import compare
from sarrus.runs.cli.curves import curves, singularity_map, workspace
from sarrus.runs.cli.export import app as export
from sarrus.runs.cli.options import PICTURES, Importing, Model, Run, checked_outputs, with_groups
from sarrus.runs.cli.reactions import reactions
from sarrus.runs.cli.study import study
from sarrus.runs.cli.view import view

if TYPE_CHECKING:
    from sarrus.dynamics.singularity_forecast import SingularityForecast

# What computes is imported where it is called: help, the version and errors of the command line come at once.

# Bad command lines raise this class of typer's, wherever the installed version keeps it.
UsageError: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Dynamics of constrained mechanical systems: loops, redundancy, singular configurations.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sarrus {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def _warn_near(time: float, forecast: SingularityForecast) -> None:
    """Say that a run comes near a singular configuration."""
    typer.echo(f"warning: at t = {time:.6g} s near a singular configuration; the motion {forecast}", err=True)


@app.command()
@with_groups
def info(model: Model, reading: Importing) -> None:
    """Show bodies, joints, closures, degrees of freedom, redundant rows and the import report of a model."""
    from sarrus.runs.cli.tables import print_info

    print_info(reading.system(model), model)


@app.command()
@with_groups
def simulate(
    model: Model,
    run: Run,
    reading: Importing,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the trajectory, NetCDF.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Save the trajectory as a table.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot coordinates, energy, closure, condition.")] = None,
    draw: Annotated[Path | None, typer.Option(help="Stroboscopic drawing.")] = None,
    animate: Annotated[Path | None, typer.Option(help="Animated GIF.")] = None,
    singularity: Annotated[
        bool,
        typer.Option("--singularity", help="Smallest singular value and spikes: printed, in files, plotted."),
    ] = False,
    watch: Annotated[
        float | None,
        typer.Option(metavar="SIGMA", help="Warn where the smallest singular value falls below this."),
    ] = None,
) -> None:
    """Simulate a model and print a summary. Controls are constant: those of the keyframe, else zero. Velocities
    that are not given follow from the closures. With --assemble, coordinates given with --set keep their
    values if the loops can be closed with them.
    """
    import sarrus
    from sarrus.base import interrupts
    from sarrus.kernels.platform.c_function import prefetch
    from sarrus.runs.cli.tables import print_run

    outputs = checked_outputs(
        (output, (".nc",), partial(sarrus.Trajectory.save, singularity=singularity)),
        (csv, (".csv",), partial(sarrus.Trajectory.to_csv, singularity=singularity)),
        (plot, PICTURES, partial(sarrus.Trajectory.plot, singularity=singularity)),
        (draw, PICTURES, sarrus.Trajectory.draw),
        (animate, (".gif",), sarrus.Trajectory.animate),
    )
    mechanism = reading.load(model)
    prefetch()
    system = sarrus.System(mechanism)
    start = run.start(system)
    failed = False
    written = []
    watching = None if watch is None else sarrus.SingularityWatch(watch, call=_warn_near)
    with interrupts.held(), warnings.catch_warnings():
        warnings.simplefilter("ignore", sarrus.SingularityWarning)  # it is printed
        options = run.options(start) | {"watch": watching, "throw": False}
        trajectory = sarrus.simulate(system, start.q, start.v, **options)
        for path, write in outputs:
            try:
                write(trajectory, path)
                written.append(path)
            except (SarrusError, OSError) as error:
                _complain(error)
                failed = True
    print_run(trajectory, start.remarks, written, singularity)
    if failed:
        raise typer.Exit(2)
    if not trajectory.status.ok:
        _complain(f"{trajectory.status}: {trajectory.message}")
    if not trajectory.status.complete:
        raise typer.Exit(1)


app.command()(reactions)
app.command()(curves)
app.command()(workspace)
app.command("map")(singularity_map)
app.command()(compare)
app.command()(bench)
app.add_typer(export, name="export")
app.command()(view)
app.command()(study)


def _complain(error: Exception | str) -> None:
    """Print one line on stderr."""
    print("sarrus: " + " ".join(str(error).split()), file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code: 0 done, 1 the run ended early, 2 invalid input."""
    try:
        return app(args=arguments, standalone_mode=False, prog_name="sarrus") or 0
    except UsageError as error:
        _complain(error.format_message())
    except (SarrusError, OSError) as error:
        _complain(error)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    return 2


if __name__ == "__main__":
    sys.exit(main())
