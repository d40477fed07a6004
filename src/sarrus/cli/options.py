"""Options that several commands of the command line share, as types for typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PICTURES = (".png", ".pdf", ".svg", ".jpg")

# the model
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file: MJCF, URDF or SDF.")]
Loops = Annotated[Path | None, typer.Option(help="YAML file with loop closures for a URDF.")]
Lenient = Annotated[bool, typer.Option("--lenient", help="Leave out closures that cannot be kept.")]
Floating = Annotated[bool, typer.Option("--floating-base", help="Let the root link of a URDF float.")]

# the start
Keyframe = Annotated[str | None, typer.Option(help="Start from this keyframe of the model.")]
Coordinates = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Initial coordinate; repeatable.")
]
Velocities = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Initial velocity; repeatable.")
]
Assemble = Annotated[bool, typer.Option("--assemble", help="Close the loops before the start.")]

# the run
Duration = Annotated[float, typer.Option(help="Time to simulate, in seconds.")]
Step = Annotated[
    float | None, typer.Option("--dt", help="Step in seconds, or output interval of an adaptive method.")
]
Method = Annotated[
    str | None, typer.Option(help="rk4, dopri5, dop853, rodas4, rodas5p, or adaptive (dop853).")
]
Relative = Annotated[float | None, typer.Option("--rtol", help="Relative tolerance of an adaptive method.")]
Absolute = Annotated[float | None, typer.Option("--atol", help="Absolute tolerance of an adaptive method.")]
Stabilization = Annotated[str, typer.Option(help="projection, energy, baumgarte or none.")]


def method_name(method: str | None) -> str | None:
    """Return the method that the command line calls ``method``."""
    return "dop853" if method == "adaptive" else method
