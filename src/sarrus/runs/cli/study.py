"""The command ``sarrus study``: a study from a TOML file."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from sarrus.base.errors import ArgumentError
from sarrus.runs.cli.options import with_groups


@with_groups
def study(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file, TOML.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Save the result, NetCDF.")] = None,
    store: Annotated[
        Path | None, typer.Option(help="Folder for finished chunks and the result, instead of the study's.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Number of threads; default: one per processor.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on the dask cluster of this scheduler.")
    ] = None,
) -> None:
    """Do the runs of a study, a TOML file (docs/studies.md describes it), and print a summary. Finished chunks are
    kept in the store: the same command continues after an interrupt. Exit code 1 if no run reached the end.
    """
    import sarrus
    from sarrus.base import interrupts
    from sarrus.base.files.atomic import checked_path
    from sarrus.runs.cli.tables import console, print_written, study_table
    from sarrus.runs.studies.dataset import save
    from sarrus.runs.studies.study_file import read_study

    if output is not None:
        checked_path(output, (".nc",), "output file")
    read = read_study(study)
    folder = store or read.store
    if folder is None and output is None:
        raise ArgumentError(
            f"{study}: there is no place for the result: give the key 'store', or --output", element="store"
        )
    client = _client(scheduler)
    began = perf_counter()
    places = [folder / "result.nc"] if folder is not None else []
    with interrupts.held():
        try:
            result = sarrus.study(read.system, **read.arguments, store=folder, threads=threads, client=client)
        except ArgumentError as error:
            raise ArgumentError(f"{study}: {error}", element=error.element, valid=error.valid) from error
        finally:
            if client is not None:
                client.close()
        console().print(study_table(result, perf_counter() - began))
        if output is not None:
            save(result, output)
            places.append(output)
    print_written(*places)
    if not (result.status == "OK").any():
        raise typer.Exit(1)


def _client(address: str | None) -> Any:
    if address is None:
        return None
    try:
        from distributed import Client
    except ImportError as error:
        raise ArgumentError(
            "--scheduler needs dask: pip install sarrus[study]", element="scheduler"
        ) from error
    return Client(address)
