"""Exports from CAD programs that the tests load, and changes of one of them."""

from __future__ import annotations

from pathlib import Path

CAD = Path(__file__).parent / "models" / "cad"


def four_bar(tmp_path: Path, old: str, new: str) -> Path:
    """Write Isaac Sim's four-bar with ``new`` in the place of ``old``."""
    text = (CAD / "isaac_four_bar.urdf").read_text()
    assert old in text
    file = tmp_path / "four_bar.urdf"
    file.write_text(text.replace(old, new))
    return file
