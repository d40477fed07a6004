"""Pages that lead from a work to the library: no equation without a place, and every place is there."""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import sarrus as sr
from sarrus.control import ContactOptions
from sarrus.dynamics.coordinates.choices import NULL_SPACE, PARTITION, TANGENT_SPACE
from sarrus.formulations import METHODS, SOFTENED
from sarrus.formulations.metric import Weighing
from sarrus.kernels.integrate.rosenbrock_tableau import IMPLICIT_METHODS
from sarrus.kernels.integrate.tableau import METHODS as TABLEAUS
from sarrus.motion.inputs.run_options import STABILIZATIONS

ROOT = Path(__file__).resolve().parent.parent
THEORY, SOURCE = ROOT / "docs/theory", ROOT / "src/sarrus"


def numbers(last: int, prefix: str = "", parts: dict[int, str] | None = None) -> list[str]:
    """Return the labels of equations 1 to ``last``; ``parts`` {5: "abc"}: (5a), (5b), (5c) in the place of (5)."""
    letters = {k: tuple((parts or {}).get(k, ())) or ("",) for k in range(1, last + 1)}
    return [f"{prefix}{k}{letter}" for k, own in letters.items() for letter in own]


# The equations as the works number them, and what else each of them has: statements, algorithms, figures, tables,
# sections with an experiment, appendices.
EQUATIONS = {
    "aghili_projection": numbers(76),
    "liu": [*numbers(71), *numbers(4, "A")],
    "de_sapio_park": [*numbers(118), *numbers(20, "A")],
    "aghili_legged": numbers(43, parts={1: "abcd", 5: "abc", 11: "abc", 28: "ab", 29: "abcd", 30: "ab"}),
    "spencer": [
        *numbers(48, "2."), *numbers(11, "3."), *numbers(11, "4."), *numbers(13, "A."), *numbers(5, "B."),
    ],
}  # fmt: skip
PARTS = {
    "aghili_projection": (
        "theorem 1", "theorem 2", "theorem 3", "theorem 4", "proposition 1", "proposition 2", "proposition 3",
        "lemma 1", *(f"remark {k}" for k in range(1, 6)), *(f"figure {k}" for k in range(1, 4)), "section 5.1.3",
        "appendix A", "appendix B", "appendices C and D", "appendix E",
    ),
    "liu": (
        "theorem 1", "lemmas 1 and 2", "lemmas 3 and 4", "definition 1", "definition 2", "assumption 1", "assumption 2",
        "assumption 3", "remarks 1, 2", "remark 3", "steps 1 to 5", "III.A", "III.B", "III.C", "table I", "figure 1",
        "figure 2", "figure 3", "figures 4 to 8", "figures 9 to 14", "appendix",
    ),
    "de_sapio_park": (
        "property 1", "property 2", "algorithm 1", "algorithm 2", "section 4.1.1", "figure 1", "figures 2, 3",
        "figure 4", "figure 5", "figure 6", "appendix A",
    ),
    "aghili_legged": (
        "property 1", "theorem 1", "section 3.1.1", "section 3.1.2", "section 3.2.3, end", "experiment",
        *(f"appendix {k}" for k in range(1, 6)),
    ),
    "spencer": (
        "theorem 2.3.1", "theorem 2.3.3.1.1", "theorems 4.1.1, 4.1.2", "section 3.2", "section 4.5", "section 5.1",
        "table 3.1", "table A.1", "figures 2.1", "figures 3.1 to 3.10", "figures 4.1 to 4.3", "figures A.1",
        "appendix B",
    ),
}  # fmt: skip
LABEL = re.compile(r"\((?:[AB]?\d+[a-d]?|[1-4AB]\.\d+)\)")
SPAN = re.compile(r"`([^`]+)`")


def rows(page: str) -> list[tuple[str, str, str, str]]:
    """Return what the rows of a page's tables say: where in the work, what, where here, which test."""
    text = (THEORY / f"{page}.md").read_text(encoding="utf-8")
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("| ")]
    assert all(len(cells) == 4 for cells in lines)
    return [
        (a.strip(), b.strip(), c.strip(), d.strip())
        for a, b, c, d in lines
        if not a.strip().startswith(("in the", "---"))
    ]


def covered(cell: str, labels: list[str]) -> set[str]:
    """Return the equations that a cell names, ranges "(a) to (b)" with all that lie between."""
    found, at = set(), [(match.group()[1:-1], match.span()) for match in LABEL.finditer(cell)]
    for k, (label, (begin, _)) in enumerate(at):
        assert label in labels, f"{label} is no equation of the work: {cell}"
        first = label
        if k and cell[at[k - 1][1][1] : begin] == " to ":
            first = at[k - 1][0]
        found |= set(labels[labels.index(first) : labels.index(label) + 1])
    return found


def test_labels_and_ranges_are_read() -> None:
    labels = EQUATIONS["aghili_legged"]
    assert labels[:6] == ["1a", "1b", "1c", "1d", "2", "3"]
    assert labels[-1] == "43"
    assert covered("(1b), (1d) to (3)", labels) == {"1b", "1d", "2", "3"}
    with pytest.raises(AssertionError, match="44 is no equation"):
        covered("(44)", labels)


@pytest.mark.parametrize("page", EQUATIONS)
def test_every_equation_has_a_place(page: str) -> None:
    labels = EQUATIONS[page]
    found: set[str] = set().union(*(covered(where, labels) for where, _, _, _ in rows(page)))
    assert [label for label in labels if label not in found] == []
    assert all(here for _, _, here, _ in rows(page))


@pytest.mark.parametrize("page", EQUATIONS)
def test_every_row_names_its_tests(page: str) -> None:
    """One or two, or – where there is nothing to assert; `test_every_place_is_there` looks whether they exist."""
    one = r"`tests/test_\w+\.py(::test_\w+)?`"
    named = [tests for _, _, _, tests in rows(page)]
    assert [tests for tests in named if not re.fullmatch(f"–|{one}(, {one})?", tests)] == []
    assert named.count("–") <= 1


@pytest.mark.parametrize("page", PARTS)
def test_statements_figures_and_appendices_have_one(page: str) -> None:
    text = (THEORY / f"{page}.md").read_text(encoding="utf-8").lower()
    assert [part for part in PARTS[page] if not re.search(rf"{re.escape(part.lower())}(?!\d)", text)] == []


@cache
def sources() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py")))


HOMES: tuple[Any, ...] = (
    sr, sr.System, sr.Mechanism, sr.Trajectory, sr.control, sr.formulations, sr.coordinates,
    sr.Parametrization, sr.optimize, sr.references,
)  # fmt: skip
SHORT = {"trajectory": sr.Trajectory}
CHOICES: dict[str, Any] = {
    "formulation": {**METHODS, **SOFTENED},
    "stabilization": STABILIZATIONS,
    "method": {*TABLEAUS, *IMPLICIT_METHODS},
    "coordinates": (PARTITION, TANGENT_SPACE, NULL_SPACE),
}


def member(owner: Any, name: str) -> Any:
    """Return an attribute of a module or class, or the class of attributes that only instances have; None without."""
    if hasattr(owner, name):
        return getattr(owner, name)
    known = {field.name for field in fields(owner)} if is_dataclass(owner) else set()
    known |= set(getattr(owner, "__slots__", ())) | set(getattr(owner, "__annotations__", {}))
    if inspect.isclass(owner) and (name in known or f"self.{name} = " in inspect.getsource(owner)):
        return object
    return None


def find(dotted: str) -> Any:
    """Return what a dotted name of a page is, or None."""
    first, *rest = dotted.split(".")
    owners = (
        [SHORT[first]] if first in SHORT else [member(home, first) for home in HOMES if member(home, first)]
    )
    if first == "sr":
        owners = [sr]
    elif first in ("two_arms",):
        owners = [importlib.import_module(f"examples.{first}")]
    elif (SOURCE / first).is_dir() and not owners:
        owners = [importlib.import_module(f"sarrus.{first}")]
    for owner in owners:
        found = owner
        for name in rest:
            found = None if found is None else member(found, name)
        if found is not None:
            return found
    return None


def takes(function: Any, keyword: str) -> bool:
    """Tell whether a function or class takes a keyword; options that are handed on are those of their class."""
    parameters = inspect.signature(function).parameters
    if keyword in parameters:
        return True
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return False
    options = {*get_type_hints(Weighing), *(field.name for field in fields(ContactOptions))}
    return keyword in options or bool(re.search(rf"\b{keyword}\b", inspect.getdoc(function) or ""))


def unknown_value(keyword: str, value: str) -> str:
    """Return what is wrong with a word in quotes that a keyword is given."""
    allowed = CHOICES.get(keyword)
    if not value or allowed is None:
        return fault(value) if value else ""
    return "" if value.strip('"') in allowed else f"no such {keyword}"


def fault(span: str) -> str:
    """Return what is wrong with a code span of a page: a path, a name, a call with keywords, or a word in quotes."""
    if span.startswith('"'):
        return "" if f'{span[:-1]}"' in sources() else "no such word in the sources"
    if re.fullmatch(r"[\w/]+\.py", span):
        return "" if any((base / span).exists() for base in (ROOT, SOURCE)) else "no such file"
    test = re.fullmatch(r"(tests/test_\w+\.py)::(test_\w+)", span)
    if test:
        path = ROOT / test[1]
        there = path.exists() and f"\ndef {test[2]}(" in path.read_text(encoding="utf-8")
        return "" if there else "no such test"
    if span.endswith("/"):
        return "" if (SOURCE / span).is_dir() else "no such folder"
    call = re.fullmatch(r"([\w.]+)(?:\((.*)\))?", span)
    keyword = re.fullmatch(r'(\w+)=("[\w-]+")?', span)
    if keyword:
        if not re.search(rf"\b{keyword[1]}: ", sources()):
            return "no such keyword"
        return unknown_value(keyword[1], keyword[2])
    if not call:
        return "not understood"
    found = find(call[1])
    if found is None:
        return "no such name"
    for name, value in re.findall(r'(\w+)=("[\w-]+")?', call[2] or ""):
        if not takes(found, name):
            return f"takes no {name}="
        if wrong := unknown_value(name, value):
            return wrong
    return ""


@pytest.mark.parametrize("page", EQUATIONS)
def test_every_place_is_there(page: str) -> None:
    """Paths, names, keywords and words in quotes."""
    text = (THEORY / f"{page}.md").read_text(encoding="utf-8")
    spans = set(SPAN.findall(text))
    assert len(spans) > 20
    assert {span: fault(span) for span in sorted(spans) if fault(span)} == {}


@pytest.mark.parametrize(
    "span",
    [
        "formulations.nothing", "control.Regulator(nothing=)", "examples/nothing.py", '"no-such-formulation"',
        "kernels/nothing.py", "Trajectory.nothing", 'simulate(formulation="nothing")', "nothing_at_all=",
        "tests/test_works_pages.py::test_nothing",
    ],
)  # fmt: skip
def test_a_place_that_is_not_there_is_told(span: str) -> None:
    assert fault(span)


def test_pages_are_linked() -> None:
    for page in ("theory/index.md", "notation.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert [name for name in EQUATIONS if f"{name}.md" not in text] == [], page
