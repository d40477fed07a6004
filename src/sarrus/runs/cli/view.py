"""The command ``sarrus view``: a model or a saved run in the browser, or as pages, pictures and films."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sarrus.base.errors import ArgumentError
from sarrus.runs.cli.options import Assemble, Coordinates, Importing, Keyframe, checked_outputs, with_groups

if TYPE_CHECKING:
    from sarrus.dynamics.system import System
    from sarrus.motion.records.trajectory import Trajectory


@with_groups
def view(
    what: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL|RUN.nc...", help="Model file, or saved runs to lay over each other."),
    ],
    reading: Importing,
    keyframe: Keyframe = None,
    set_: Coordinates = None,
    assemble: Assemble = False,
    host: Annotated[
        str, typer.Option(help="Address to serve at; 0.0.0.0 for the whole network.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to serve at; the next free one if it is taken.")] = 8080,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Serve, but open no browser.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a stand-alone page.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write a picture.")] = None,
    gif: Annotated[Path | None, typer.Option(help="Write an animated GIF of a run.")] = None,
    mp4: Annotated[Path | None, typer.Option(help="Write a film of a run.")] = None,
    time: Annotated[float | None, typer.Option(help="Time of the picture, in seconds.")] = None,
    fps: Annotated[float, typer.Option(help="Pictures per second of film.")] = 25.0,
    speed: Annotated[float, typer.Option(help="Seconds of motion per second of film.")] = 1.0,
    forces: Annotated[
        bool, typer.Option("--forces", help="Draw loads of closures and contacts in files.")
    ] = False,
    reactions: Annotated[
        list[str] | None,
        typer.Option(
            help="Draw loads of a joint, closure or contact in files, or of 'all'. May be repeated."
        ),
    ] = None,
    numbers: Annotated[bool, typer.Option("--numbers", help="Write the sizes of loads beside them.")] = False,
) -> None:
    """Show a model, or runs that were saved with --output, in the browser. With --html, --png, --gif or --mp4
    write files instead, without a display. Needs the extra: pip install 'sarrus\\[view]'.
    """
    from sarrus.pictures.browser.render import render
    from sarrus.pictures.browser.server import view as open_viewer
    from sarrus.pictures.scene.loads import ALL
    from sarrus.runs.cli.tables import console, print_written

    files = ((html, ".html"), (png, ".png"), (gif, ".gif"), (mp4, ".mp4"))
    wanted = checked_outputs(*((path, (suffix,), render) for path, suffix in files))
    shown, start = _shown(what, keyframe, set_ or [], assemble, reading)
    drawn = ALL if ALL in (reactions or ()) else reactions or forces
    for path, write in wanted:
        when = time if path.suffix == ".png" else None
        write(shown, path, t=when, fps=fps, speed=speed, forces=drawn, numbers=numbers, **start)
        print_written(path)
    if wanted:
        return
    shows = open_viewer(shown, host=host, port=port, open_browser=not no_browser, **start)
    with shows as viewer, suppress(KeyboardInterrupt):  # one that comes before the viewer waits ends it too
        console().print(f"viewer   {viewer.url}  (Ctrl-C ends it)", markup=False, soft_wrap=True)
        viewer.wait()


def _shown(
    what: list[Path],
    keyframe: str | None,
    coordinates: list[str],
    assemble: bool,
    reading: Importing,
) -> tuple[System | dict[str, Trajectory], dict[str, Any]]:
    """Return the subject to show, and the keyword arguments of its start."""
    from sarrus.motion.records.trajectory import Trajectory
    from sarrus.runs.cli.state import initial_state

    if all(path.suffix.lower() == ".nc" for path in what):
        runs = {path.stem if len(what) > 1 else "run": Trajectory.load(path) for path in what}
        if len(runs) < len(what):
            raise ArgumentError(
                "runs that are laid over each other need files of different names", element="what"
            )
        return runs, {}
    if len(what) > 1:
        raise ArgumentError("give one model file, or several .nc files of runs", element=str(what[1]))
    system = reading.system(what[0])
    if keyframe is None and not coordinates and not assemble:
        return system, {}
    return system, {"q": initial_state(system, keyframe, coordinates, [], assemble).q}
