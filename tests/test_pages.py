"""README.md, CONTRIBUTING.md and every page of docs/: blocks run, outputs are what is printed, links lead on."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sarrus.runs.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs"))

import outputs  # noqa: E402

PAGES = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#]+)")
NUMBER = re.compile(r"[-−+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?$")
# Ten thousand steps of formulations in NumPy: here a few of them.
SHORTER = {"docs/gallery/five_bar.md": ("duration=5.0", "duration=0.02")}


def blocks(page: str) -> list[outputs.Block]:
    return outputs.blocks((ROOT / page).read_text(encoding="utf-8"))


def with_blocks(kind: str) -> list[str]:
    return [page for page in PAGES if any(block.kind == kind for block in blocks(page))]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder to work in with what a page may use; no display."""
    outputs.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("page", with_blocks("python"))
def test_python_blocks_run_and_print_what_is_shown(page: str) -> None:
    """Blocks of a page share their names; a block of text right below one is what it prints."""
    text = (ROOT / page).read_text(encoding="utf-8").replace(*SHORTER.get(page, ("", "")))
    if lacking := outputs.missing(text):
        pytest.skip(f"{', '.join(lacking)} of others; SARRUS_FOREIGN can name a folder that has it")
    for block, printed in outputs.outputs(text, page):
        assert_same_output(printed, block.text, f"{page}:{block.line}")


def assert_same_output(printed: str, shown: str, place: str) -> None:
    """Compare word by word, numbers to one percent; figures of the size of rounding count as equal."""
    ours, page = printed.replace("[", "[ ").split(), shown.replace("[", "[ ").split()
    assert len(ours) == len(page), f"{place} shows\n{shown}\nbut the block prints\n{printed}"
    for new, old in zip(ours, page):
        bare = [word.strip("(),;:[]") for word in (new, old)]
        if all(map(NUMBER.match, bare)):
            here, there = (float(word.replace("−", "-").replace(",", "")) for word in bare)
            assert np.isclose(here, there, rtol=0.01, atol=1e-7), (
                f"{place} shows {old}, the block prints {new}"
            )
        else:
            assert new == old, f"{place} shows\n{shown}\nbut the block prints\n{printed}"


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("page", with_blocks("console"))
def test_commands_exist(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of ``sarrus`` run, for a moment; make's targets, scripts and extras that others name are there.

    A viewer is closed as soon as it is there.
    """
    monkeypatch.setattr("sarrus.pictures.browser.server.Viewer.wait", lambda viewer: viewer.stop())
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    for block in (block for block in blocks(page) if block.kind == "console"):
        for command in re.findall(r"^\$ (.*)$", block.text, re.MULTILINE):
            words = shlex.split(command, comments=True)
            program = words[0].removeprefix(".venv/bin/")
            place = f"{page}:{block.line}: {command}"
            if program == "sarrus":
                assert main(shlex.split(re.sub(r"--duration \S+", "--duration 0.5", command))[1:]) == 0, place
            elif program == "make":
                assert all(
                    re.search(rf"^{target}:", makefile, re.MULTILINE)
                    for target in words[1:]
                    if "=" not in target
                ), place
            elif program.startswith("python") and words[1] != "-m":
                assert (ROOT / words[1]).exists(), place
            elif "pip" in words:
                assert all(extra in extras for extra in re.findall(r"[\[,](\w+)(?=[\],])", command)), place
            else:
                assert program in ("git", "cd", "python", "python3", "source", "pytest"), place


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    links = LINK.findall(path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@cache
def anchors(path: Path) -> set[str]:
    """Return the anchors that MyST gives to headings of a page and of what it includes, down to the third level."""
    text = path.read_text(encoding="utf-8")
    parts = re.findall(r"^```\{include\} (\S+)$", text, re.MULTILINE)
    included = set().union(*(anchors((path.parent / part).resolve()) for part in parts))
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    found: list[str] = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    for heading in re.findall(r"^#{1,3} (.*)$", text, re.MULTILINE):
        words = re.sub(r"[`*]|\]\([^)]*\)", "", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return included | set(found)


@pytest.mark.parametrize("page", PAGES)
def test_anchors_lead_somewhere(page: str) -> None:
    path = ROOT / page
    links = re.findall(r"\]\(((?!https?:)[^)#\s]*\.md)?#([^)\s]+)\)", path.read_text(encoding="utf-8"))
    missing = [
        (to, at) for to, at in links if at not in anchors((path.parent / to).resolve() if to else path)
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_formulas_in_tables_are_drawn(page: str) -> None:
    """A cell that begins with a formula and ends with a digit stays text: dollarmath looks at its last character."""
    lines = [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    cells = [cell.strip() for line in lines for cell in line.split("|")]
    assert [cell for cell in cells if cell.startswith("$") and cell[-1].isdigit()] == []


def test_every_public_name_is_in_the_reference() -> None:
    """Sphinx makes the reference from docstrings; it has to be asked for each name."""
    import sarrus as sr

    pages = "".join(p.read_text(encoding="utf-8") for p in sorted(ROOT.glob("docs/reference/*.rst")))
    listed = set(re.findall(r"::? (sarrus\.[\w.]+)$", pages, re.MULTILINE))
    modules = (
        *(sr.control, sr.coordinates, sr.export, sr.formulations, sr.gym, sr.mechanism, sr.optimize, sr.plot),
        *(sr.identification, sr.references, sr.sensitivity, sr.studies, sr.surfaces, sr.synthesis),
    )
    own = {name for name in sr.__all__ if getattr(sr, name) in modules}
    assert len(own) == len(modules)
    public = {f"sarrus.{name}" for name in sr.__all__ if name not in own}
    public |= {f"sarrus.{module}.{name}" for module in own for name in getattr(sr, module).__all__}
    assert public - listed == set()


def test_every_result_and_error_is_public() -> None:
    """What users catch, and annotate their functions with, is reached without a private module."""
    import sarrus as sr
    from sarrus.base import errors, status

    raised = {
        name for name, value in vars(errors).items() if getattr(value, "__module__", "") == errors.__name__
    }
    assert raised - set(sr.__all__) == {
        "check_is",
        "check_known",
        "check_sequence",
        "place_of",
        "unknown_name",
    }
    modules = (sr, sr.control, sr.formulations, sr.optimize, sr.synthesis)
    public = [getattr(module, name) for module in modules for name in module.__all__]
    answers = status.Answer.__subclasses__()
    for answer in answers:
        answers += answer.__subclasses__()
    # of an error alone, and the data of a Trajectory
    assert {answer.__name__ for answer in answers if answer not in public} == {"Reached", "RecordedMotion"}
