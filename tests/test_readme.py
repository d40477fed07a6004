"""Every block of Python in README.md and in the pages listed runs, in order, in a folder of its own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import sarrus as sr

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
PAGES = (
    "README.md",
    "docs/tour.md",
    "docs/notation.md",
    "docs/importers.md",
    "docs/control.md",
    "docs/legged.md",
    "docs/optimize.md",
    "docs/linear_models.md",
    "docs/viewer.md",
    "docs/gallery/five_bar.md",
    "docs/formulations/agreement.md",
)


RUN = ("README.md", "docs/tour.md", "docs/control.md", "docs/legged.md", "docs/optimize.md", "docs/viewer.md")


@pytest.mark.parametrize("page", RUN)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "models", tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    text = (ROOT / page).read_text(encoding="utf-8")
    names: dict[str, object] = {}
    blocks = list(BLOCK.finditer(text))
    assert blocks
    for block in blocks:
        above = "\n" * text[: block.start(1)].count("\n")  # a traceback then has the line of the page
        exec(compile(above + block.group(1), page, "exec"), names)
    if "fall.nc" in text:
        assert sr.Trajectory.load("fall.nc").status is sr.Status.OK


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    path = ROOT / page
    links = LINK.findall(path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []
