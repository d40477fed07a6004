"""The commands ``sarrus export c``, ``sarrus export mjcf`` and ``sarrus export fmu``: a model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sarrus.runs.cli.options import Importing, Keyframe, Model, with_groups

app = typer.Typer(
    no_args_is_help=True, help="Write a model as C99 source, as a MuJoCo model or as a unit of FMI."
)


@app.command()
@with_groups
def c(
    model: Model,
    reading: Importing,
    function: Annotated[
        list[str] | None,
        typer.Option(
            help="forward_dynamics (default), inverse_dynamics, terms, step, sensors, contacts, contact_step; "
            "repeatable."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory; by default NAME_c beside you.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Prefix of all names in C; by default the model's.")
    ] = None,
    keyframe: Keyframe = None,
    no_contacts: Annotated[
        bool, typer.Option("--no-contacts", help="Leave out contacts, stops and dry friction.")
    ] = False,
) -> None:
    """Write the model as self-contained C99 source with header, example and Makefile, for controllers: no
    allocation, no dependency but libm. Control laws are exported from Python, with sarrus.export.c_code.
    """
    from sarrus.export import c_code
    from sarrus.export.c.identifiers import identifier
    from sarrus.runs.cli.state import initial_state
    from sarrus.runs.cli.tables import console, print_written

    system = reading.system(model)
    q = None if keyframe is None else initial_state(system, keyframe, [], [], False).q
    folder = output or Path(f"{identifier(name or system.name)}_c")
    written = c_code(system, folder, function or None, name, q=q, contacts=not no_contacts)
    console().print(f"{', '.join(written.functions)}: {written.n_instructions} instructions of the model")
    print_written(*written.files)


@app.command()
@with_groups
def mjcf(
    model: Model,
    reading: Importing,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write, .xml.")],
    contacts: Annotated[
        str, typer.Option(help="refuse, ignore, or geoms: spheres on planes in place of contacts.")
    ] = "refuse",
) -> None:
    """Write the model as a MuJoCo model; what MJCF cannot say is an error."""
    from sarrus.base.files.atomic import checked_path
    from sarrus.runs.cli.tables import print_written

    path = checked_path(output, (".xml",), "output file")
    reading.load(model).to_mjcf(path, contacts=contacts)
    print_written(path)


@app.command()
@with_groups
def fmu(
    model: Model,
    reading: Importing,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write, .fmu.")],
    name: Annotated[
        str | None, typer.Option(help="Model identifier; by default like the model's name.")
    ] = None,
    keyframe: Keyframe = None,
    step: Annotated[float, typer.Option(help="Longest step of co-simulation, in seconds.")] = 1e-3,
    forces: Annotated[bool, typer.Option("--forces", help="Applied forces as inputs.")] = False,
    energies: Annotated[bool, typer.Option("--energies", help="Energies as outputs.")] = False,
    multipliers: Annotated[
        bool, typer.Option("--multipliers", help="Forces of constraints as outputs.")
    ] = False,
    no_contacts: Annotated[
        bool, typer.Option("--no-contacts", help="Leave out contacts, stops and dry friction.")
    ] = False,
    no_derivatives: Annotated[
        bool, typer.Option("--no-derivatives", help="Leave out directional derivatives: half the code.")
    ] = False,
    sources_only: Annotated[
        bool, typer.Option("--sources-only", help="No binary: importers compile the sources.")
    ] = False,
) -> None:
    """Write the model as a unit of the Functional Mock-up Interface 3.0, for co-simulation and model exchange, with
    its sources and a binary for this machine, which a C compiler makes.
    """
    from sarrus.export import fmu as write_unit
    from sarrus.runs.cli.state import initial_state
    from sarrus.runs.cli.tables import console, print_written

    system = reading.system(model)
    q = None if keyframe is None else initial_state(system, keyframe, [], [], False).q
    unit = write_unit(
        system,
        output,
        name,
        q=q,
        step=step,
        forces=forces,
        energies=energies,
        multipliers=multipliers,
        contacts=not no_contacts,
        derivatives=not no_derivatives,
        binary=not sources_only,
    )
    console().print(f"{', '.join(unit.interfaces)}: {len(unit.variables)} variables")
    print_written(unit.path)
