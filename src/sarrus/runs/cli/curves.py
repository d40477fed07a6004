"""The commands ``sarrus curves``, ``workspace`` and ``map`` for designers of linkages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sarrus.base.errors import ArgumentError
from sarrus.runs.cli.options import (
    PICTURES,
    Assemble,
    Coordinates,
    Importing,
    Keyframe,
    Model,
    checked_outputs,
    with_groups,
)

if TYPE_CHECKING:
    from sarrus.dynamics.system import System
    from sarrus.runs.cli.state import Start

Body = Annotated[str | None, typer.Option(help="Body whose point is followed.")]
Point = Annotated[str, typer.Option(metavar="X,Y,Z", help="Point in axes of the body, in metres.")]
Locked = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Joint or coordinate that is locked; repeatable.")
]


@dataclass(frozen=True)
class Place:
    """Start of a curve or a workspace."""

    keyframe: Keyframe = None
    set_: Coordinates = None
    assemble: Assemble = False

    def start(self, system: System) -> Start:
        """Return the initial state."""
        from sarrus.runs.cli.state import initial_state

        return initial_state(system, self.keyframe, self.set_ or [], [], self.assemble)


@with_groups
def curves(
    model: Model,
    driven: Annotated[str, typer.Option(help="Coordinate that is driven over its whole range.")],
    place: Place,
    reading: Importing,
    body: Body = None,
    point: Point = "0,0,0",
    output: Annotated[str | None, typer.Option(help="Output coordinate of the transmission angle.")] = None,
    through: Annotated[
        str | None, typer.Option(help="Joint or closure that transmits the force to the output's body.")
    ] = None,
    locked: Locked = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the path of the point and the mechanism.")] = None,
    plot_angle: Annotated[Path | None, typer.Option(help="Plot the transmission angle.")] = None,
) -> None:
    """Drive a coordinate over its whole range, through its dead centres, and print the ranges of all coordinates; with
    --body the coupler curve of a point, with --output the transmission angle to this coordinate.
    """
    import sarrus
    from sarrus.analysis.linkages.coupler_curve import path_of
    from sarrus.runs.cli.tables import console, print_remarks, print_written

    _need(body is None and plot is not None, "plot", "--plot draws the path of a point: give --body")
    _need(output is None and plot_angle is not None, "plot_angle", "--plot-angle needs --output")
    _need(output is None and through is not None, "through", "--through needs --output")
    paths = checked_outputs((plot, PICTURES, sarrus.CouplerCurve.plot))
    angles = checked_outputs((plot_angle, PICTURES, sarrus.TransmissionAngle.plot))
    at = _point(point)
    system = reading.system(model)
    start = place.start(system)
    curve = sarrus.follow_curve(system, start.q, driven, locked=locked or (), t=start.t)
    path = None if body is None else path_of(curve, body, at)
    console().print(str(curve if path is None else path), markup=False, soft_wrap=True)
    for file, write in paths:
        write(path, file)
    if output is not None:
        angle = sarrus.transmission_angle(system, curve, driven, output, through)
        console().print(str(angle), markup=False, soft_wrap=True)
        for file, write in angles:
            write(angle, file)
    print_remarks(start.remarks)
    print_written(*(file for file, _ in (*paths, *angles)))


@with_groups
def workspace(
    model: Model,
    body: Annotated[str, typer.Option(help="Body of the point.")],
    place: Place,
    reading: Importing,
    point: Point = "0,0,0",
    driven: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Input; give all for singular configurations; repeatable."),
    ] = None,
    locked: Locked = None,
    resolution: Annotated[int, typer.Option(help="Nodes along the longest side.")] = 40,
    plot: Annotated[Path | None, typer.Option(help="Draw the workspace and singular configurations.")] = None,
) -> None:
    """Print the workspace of a point of a body within the limits of the joints: outline, area, holes. With --driven for
    every input also the curves of singular configurations: type 2, with the inputs locked the mechanism can still
    move; type 1, the inputs cannot move the point in some direction.
    """
    import sarrus

    plots = checked_outputs((plot, PICTURES, sarrus.Workspace.plot))
    at = _point(point)
    system = reading.system(model)
    start = place.start(system)
    held, t = locked or (), start.t
    found = sarrus.workspace(system, start.q, body, at, resolution=resolution, locked=held, t=t)
    loci = []
    if driven:
        loci = [
            sarrus.singularity_locus(system, start.q, output=(body, at), locked=held, t=t),
            sarrus.singularity_locus(system, start.q, driven=driven, locked=held, t=t),
        ]
    _print_with_loci(found, loci, plots, start.remarks)


@with_groups
def singularity_map(
    model: Model,
    driven: Annotated[list[str], typer.Option(metavar="NAME", help="Input that is locked; repeatable.")],
    place: Place,
    reading: Importing,
    over: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Coordinate of the map; give two.")
    ] = None,
    body: Annotated[str | None, typer.Option(help="Instead: body whose point spans the map.")] = None,
    point: Point = "0,0,0",
    locked: Locked = None,
    resolution: Annotated[int, typer.Option(help="Nodes along each coordinate.")] = 100,
    modes: Annotated[int, typer.Option(help="Largest number of assembly modes.")] = 4,
    locus: Annotated[
        bool, typer.Option("--locus", help="Follow the singular configurations, too, and draw them.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the map.")] = None,
) -> None:
    """Print a map of the distance from singular configurations of type 2 (with its inputs locked the mechanism can
    move) of a mechanism with two degrees of freedom, over two coordinates or a point of a body, in each assembly mode.
    """
    import sarrus

    names = over or []
    wrong = len(names) != 2 if body is None else bool(names)
    _need(wrong, "over", "give either --over twice, or --body")
    plots = checked_outputs((plot, PICTURES, sarrus.SingularityMap.plot))
    at = _point(point)
    system = reading.system(model)
    start = place.start(system)
    held, t = locked or (), start.t
    plane = (names[0], names[1]) if body is None else (body, at)
    found = sarrus.singularity_map(
        system, start.q, plane, driven=driven, locked=held, resolution=resolution, modes=modes, t=t
    )
    loci = [sarrus.singularity_locus(system, start.q, driven=driven, locked=held, t=t)] if locus else []
    _print_with_loci(found, loci, plots, start.remarks)


def _print_with_loci(found: Any, loci: Sequence[Any], plots: Sequence[Any], remarks: Sequence[str]) -> None:
    """Print a region and its loci, and draw them in one picture."""
    from sarrus.runs.cli.tables import console, print_remarks, print_written

    for one in (found, *loci):
        console().print(str(one), markup=False, soft_wrap=True)
    for file, write in plots:
        write(found, file, loci=loci)
    print_remarks(remarks)
    print_written(*(file for file, _ in plots))


def _point(text: str) -> tuple[float, ...]:
    """Return three numbers from a text such as ``0.1,0,0``."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != 3:
        raise ArgumentError(
            f"--point {text!r}: write X,Y,Z with three numbers, such as 0.1,0,0", element=text
        )
    return numbers


def _need(missing: bool, element: str, text: str) -> None:
    if missing:
        raise ArgumentError(text, element=element)
