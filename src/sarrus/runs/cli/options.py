"""Options shared by several commands: types for typer, and groups of them with their effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from sarrus.dynamics.system import System
    from sarrus.model.builders.mechanism import Mechanism
    from sarrus.motion.inputs.run_options import Stabilization
    from sarrus.runs.cli.state import Start

# What computes is imported where it is called: help, the version and errors of the command line come at once.

PICTURES = (".png", ".pdf", ".svg", ".jpg")

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file: MJCF, URDF or SDF.")]
Keyframe = Annotated[str | None, typer.Option(help="Start from this keyframe of the model.")]
Coordinates = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Initial coordinate; repeatable.")
]
Assemble = Annotated[bool, typer.Option("--assemble", help="Close the loops before the start.")]


@dataclass(frozen=True)
class Importing:
    """Options of reading a model file."""

    loops: Annotated[
        Path | None, typer.Option(help="YAML file with loop closures, or kinds of marked ones.")
    ] = None
    lenient: Annotated[bool, typer.Option("--lenient", help="Leave out closures that cannot be kept.")] = (
        False
    )
    floating_base: Annotated[
        bool, typer.Option("--floating-base", help="Let the root link of a URDF float.")
    ] = False

    keep_offset: Annotated[
        bool, typer.Option("--keep-offset", help="Keep gaps of closures across which no joint moves.")
    ] = False

    floor: Annotated[
        bool, typer.Option("--floor", help="Let spheres, capsules and boxes touch the floor, with friction.")
    ] = False

    geoms: Annotated[
        bool, typer.Option("--geoms", help="Let the geometries of the file touch each other, with friction.")
    ] = False

    def load(self, model: Path) -> Mechanism:
        """Return the mechanism of a file."""
        from sarrus.model.formats.load import load

        strict = False if self.lenient else None
        mechanism = load(
            model,
            loops=self.loops,
            strict=strict,
            floating_base=self.floating_base,
            keep_offset=self.keep_offset,
        )
        if self.floor:
            mechanism.add_floor_contacts()
        if self.geoms:
            mechanism.add_geometry_contacts()
        return mechanism

    def system(self, model: Path) -> System:
        """Return the system of a file."""
        from sarrus.dynamics.system import System

        return System(self.load(model))


@dataclass(frozen=True)
class Run:
    """Options of the start and the integration of a run."""

    duration: Annotated[float, typer.Option(help="Time to simulate, in seconds.")] = 5.0
    dt: Annotated[
        float | None, typer.Option("--dt", help="Step in seconds, or output interval of an adaptive method.")
    ] = None
    method: Annotated[
        str | None,
        typer.Option(help="rk4, dopri5, dop853, rodas4, rodas5p, moreau-jean, or adaptive (dop853)."),
    ] = None
    rtol: Annotated[
        float | None, typer.Option("--rtol", help="Relative tolerance of an adaptive method.")
    ] = None
    atol: Annotated[
        float | None, typer.Option("--atol", help="Absolute tolerance of an adaptive method.")
    ] = None
    stabilization: Annotated[str, typer.Option(help="projection, energy, baumgarte or none.")] = "projection"
    invariant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Invariant that the projection keeps: energy, momentum.x, angular_momentum.z, ...; repeatable.",
        ),
    ] = None
    keyframe: Keyframe = None
    set_: Coordinates = None
    velocity: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Initial velocity; repeatable.")
    ] = None
    assemble: Assemble = False

    def start(self, system: System) -> Start:
        """Return the state to begin with."""
        from sarrus.runs.cli.state import initial_state

        return initial_state(system, self.keyframe, self.set_ or [], self.velocity or [], self.assemble)

    def options(self, start: Start) -> dict[str, Any]:
        """Return the options of a simulation that begins there."""
        own = {name: value for name, value in vars(self).items() if name not in _START}
        method = "dop853" if self.method == "adaptive" else self.method
        return own | {
            "method": method, "stabilization": self.kept(), "t0": start.t, "control": start.control
        }  # fmt: skip

    def kept(self, **more: Any) -> str | Stabilization:
        """Return the stabilization and invariants of the run; ``more`` are fields of a `Stabilization`."""
        if not (self.invariant or more):
            return self.stabilization
        from sarrus.motion.inputs.run_options import Stabilization

        return Stabilization(self.stabilization, invariants=tuple(self.invariant or ()), **more)


# Options of a run that say where it begins; the others are those of `sarrus.simulate`.
_START = ("keyframe", "set_", "velocity", "assemble", "invariant")


def checked_outputs(
    *wanted: tuple[Path | None, tuple[str, ...], Callable[..., Any]],
) -> list[tuple[Path, Callable[..., Any]]]:
    """Return the requested files among (path, suffixes, writer), with their writers.

    They are checked before a long run, not after it.
    """
    from sarrus.base.files.atomic import checked_path

    return [
        (checked_path(path, suffixes, "output file"), write)
        for path, suffixes, write in wanted
        if path is not None
    ]


def with_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer: parameters that are groups (dataclasses as above) become their fields.

    Its help is the docstring, wrapped by the terminal.
    """
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in signature(function).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            own = get_type_hints(hints[name], include_extras=True)
            parameters += [_parameter(field, own[field.name]) for field in fields(groups[name])]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @wraps(function)
    def command(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        function(**given)

    command.__doc__ = " ".join((function.__doc__ or "").split())
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(field: Field, annotation: Any) -> Parameter:
    default = Parameter.empty if field.default is MISSING else field.default
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
