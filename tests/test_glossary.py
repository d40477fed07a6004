"""The glossary: the words of the works and of the field are in it, each with a name or a page that exists.

Links and anchors are checked with those of all pages in `test_pages`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from test_works_pages import EQUATIONS, SPAN, fault

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("| ")
][2:]
# What readers looked for, of the works and of the field.
WORDS = (
    "active set", "actuation redundancy", "ball joint", "bifurcation", "central path",
    "complementarity", "constraint inertia matrix", "D'Alembert", "Delassus matrix", "delta robot",
    "duality gap", "event function", "hierarchy", "hinge", "impotent force",
    "inverse kinematics along a path", "Jacobian", "lock-up", "PIDC", "power loss", "QCQP",
    "redundant actuation", "residual", "retraction", "singular configuration", "slip", "stick",
    "trapezoidal profile", "underactuated", "ZMP",
)  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_a_word_has_a_row(word: str) -> None:
    assert any(word in term for term, *_ in ROWS)


def test_rows_are_in_order_and_lead_somewhere() -> None:
    terms = [term.lower() for term, *_ in ROWS]
    assert terms == sorted(set(terms))
    assert [row for row in ROWS if len(row) != 4 or not row[1] or "](" not in row[3]] == []


def test_every_name_exists() -> None:
    spans = set(SPAN.findall(PAGE))
    assert len(spans) > 100
    assert {span: fault(span) for span in sorted(spans) if fault(span)} == {}


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_readme_and_start_page_lead_to_the_works_and_the_glossary(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [name for name in EQUATIONS if f"theory/{name}.md" not in text] == []
    assert "glossary.md" in text
