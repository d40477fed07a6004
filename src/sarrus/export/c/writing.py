"""Writing the files of an export without overwriting files of other origin."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sarrus.base.errors import ArgumentError
from sarrus.base.files.atomic import write_text

MARK = "Written by sarrus"  # beginning of the first line of every file, in a comment


def write_files(folder: Path, texts: Mapping[str, str]) -> tuple[Path, ...]:
    """Write texts, each with the mark in a comment at the beginning, to files of a folder, made if it is missing.

    Files of an earlier export are replaced; any other file of these names is an `ArgumentError`, and nothing is
    written.
    """
    paths = {folder / name: text for name, text in texts.items()}
    for path in paths:
        if path.exists() and not _ours(path):
            raise ArgumentError(
                f"{path} was not written by sarrus and stays as it is: export to another folder, or move it away",
                element=str(path),
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ArgumentError(f"{folder} is a file: give a folder to export to", element=str(folder)) from error
    for path, text in paths.items():
        write_text(path, text, kept="it can be exported again")
    return tuple(paths)


def _ours(path: Path) -> bool:
    """Tell by its first line whether an export wrote a file."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.readline(80).lstrip(b"/*# ").startswith(MARK.encode())
