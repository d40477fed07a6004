"""The commands ``sarrus export c`` and ``sarrus export mjcf``: a model in other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sarrus.cli.options import Floating, Keyframe, Lenient, Loops, Model

app = typer.Typer(no_args_is_help=True, help="Write a model as C99 source or as a MuJoCo model.")


@app.command(
    help="Write the model as self-contained C99 source with header, example and Makefile, for controllers: "
    "no allocation, no dependency but libm. Control laws are exported from Python, with sarrus.export.c_code."
)
def c(
    model: Model,
    function: Annotated[
        list[str] | None,
        typer.Option(
            help="forward_dynamics (default), inverse_dynamics, terms, step or sensors; repeatable."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory; by default NAME_c beside you.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Prefix of all names in C; by default the model's.")
    ] = None,
    keyframe: Keyframe = None,
    loops: Loops = None,
    lenient: Lenient = False,
    floating_base: Floating = False,
) -> None:
    """Run the command; its help describes it."""
    from sarrus.cli.state import initial_state
    from sarrus.cli.tables import console
    from sarrus.dynamics.system import System
    from sarrus.export import c_code
    from sarrus.export.c.identifiers import identifier
    from sarrus.formats.load import load

    system = System(load(model, loops=loops, strict=False if lenient else None, floating_base=floating_base))
    q = None if keyframe is None else initial_state(system, keyframe, [], [], False).q
    folder = output or Path(f"{identifier(name or system.name)}_c")
    written = c_code(system, folder, function or None, name, q=q)
    out = console()
    out.print(f"{', '.join(written.functions)}: {written.n_instructions} instructions of the model")
    for path in written.files:
        out.print(f"written  {path}", markup=False, soft_wrap=True)


@app.command(help="Write the model as a MuJoCo model; what MJCF cannot say is an error.")
def mjcf(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write, .xml.")],
    contacts: Annotated[
        str, typer.Option(help="refuse, ignore, or geoms: spheres on planes in place of contacts.")
    ] = "refuse",
    loops: Loops = None,
    lenient: Lenient = False,
    floating_base: Floating = False,
) -> None:
    """Run the command; its help describes it."""
    from sarrus.cli.tables import console
    from sarrus.files.whole import checked_path
    from sarrus.formats.load import load

    path = checked_path(output, (".xml",), "output file")
    mechanism = load(model, loops=loops, strict=False if lenient else None, floating_base=floating_base)
    mechanism.to_mjcf(path, contacts=contacts)
    console().print(f"written  {path}", markup=False, soft_wrap=True)
