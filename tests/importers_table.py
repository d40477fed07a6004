"""The tables of docs/importers.md as data, and the check of one row."""

from __future__ import annotations

from pathlib import Path

import pytest

from sarrus.base.errors import UnsupportedElementError
from sarrus.model.formats.load import load
from sarrus.model.mechanism.report import Outcome

DOCS = Path(__file__).parent.parent / "docs" / "importers.md"
WORDS = {
    "acts": Outcome.ACTS,
    "kept": Outcome.KEPT,
    "left out": Outcome.LEFT_OUT,
    "aside": Outcome.ASIDE,
    "refused": None,
}


def table_rows(prefix: str | None) -> dict[str, Outcome | None]:
    """Outcomes of the rows of docs/importers.md by id; None is refused; ``prefix`` picks a format's rows."""
    rows = {}
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[2] in WORDS:
            rows[cells[0]] = WORDS[cells[2]]
    own = ("urdf-", "sdf-")
    return {
        key: outcome
        for key, outcome in rows.items()
        if (key.startswith(prefix) if prefix else not key.startswith(own))
    }


def check_row(path: Path, outcome: Outcome | None, kind: str, name: str, **options: object) -> None:
    """Check that loading the file gives the element the outcome that the table says."""
    if outcome is None:
        with pytest.raises(UnsupportedElementError, match=r"cannot be kept.*strict=False") as caught:
            load(path, **options)
        assert caught.value.element == name
        options["strict"] = False
        outcome = Outcome.LEFT_OUT
    report = load(path, **options).report
    found = [entry for entry in report if entry.kind == kind and entry.name == name]
    assert found, f"no entry for {kind} {name!r} in:\n{report}"
    assert outcome in {entry.outcome for entry in found}, report
    if outcome is not Outcome.ACTS:
        assert all(entry.reason for entry in found if entry.outcome is outcome)
