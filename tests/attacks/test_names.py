"""Hostile names in small numbers: text stays text, in pages, figures, pictures and C."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from names import ATTACKS, HOSTILE, TAKEN, a_run, faults_of, figures, some_names, taken
from tally import Tally

import sarrus as sr
from c_code import STRICT, compiler
from sarrus.base.errors import ArgumentError
from sarrus.base.printable import printable
from sarrus.pictures.scene.markup import Html, element, html

COUNTS = {"markup": 30, "scenes": 8, "in_c": 300}


@pytest.mark.parametrize(
    "attack", [attack for _, _, attack, _ in ATTACKS if attack is not figures], ids=lambda f: f.__name__
)
def test_hostile_names_stay_text(attack: Callable[[tuple[str, ...]], list[str]]) -> None:
    tally = Tally(attack.__name__, "text")
    for names in some_names(COUNTS[attack.__name__], np.random.default_rng(3)):
        faults = attack(names)
        if faults:
            tally.fails("fault", f"{names!r}: {faults}")
        else:
            tally.passes("text")
    tally.check()


@pytest.mark.parametrize(
    "names",
    [
        (r"$\frac{$", "_nolegend_", r"50 % \input{x} \\", r"\$5 and $6$", r"$x_{1}^$"),
        ("nul\x00\x1b[31m", "two\nlines", "\u202egnp.exe", "half \ud83d", "x" * 5000),
    ],
)
def test_figures_show_names_as_they_are(names: tuple[str, ...]) -> None:
    assert figures(names) == []


def test_the_reader_of_pages_sees_markup() -> None:
    """The check itself: a name that is markup is found out."""
    assert faults_of(f"<div>{HOSTILE[0]}</div>", ())
    assert faults_of("<div onclick='x'>a</div>", ())
    assert faults_of("<div>a</div>", ("b",)) == ["'b' is not there"]


def test_markup_escapes_whatever_is_not_markup() -> None:
    assert element("b", "<i>", Html("<i>"), title='"&') == '<b title="&quot;&amp;">&lt;i&gt;<i></b>'
    assert html("a\x00\u202eb\nc") == "a��b c"
    assert printable("👩‍🚀 é\t\ud800") == "👩‍🚀 é �"


# --- exported C -----------------------------------------------------------------------------------------


def test_prefixes_that_c_has_already_are_refused() -> None:
    assert taken(TAKEN) == []


@pytest.mark.parametrize("name", ["main", "double", "*/ #error", "", "x" * 300])
def test_a_model_of_any_name_is_exported(name: str, tmp_path: Path) -> None:
    mechanism = sr.Mechanism(name)
    mechanism.add_body("*/ #error body \x00", mass=1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("??/\n$\\", "revolute", "world", "*/ #error body \x00")
    export = sr.export.c_code(sr.System(mechanism), tmp_path, ["forward_dynamics", "terms"])
    assert len({path.name.lower() for path in export.files}) == 4
    for source in (f"{export.name}.c", "main.c"):
        command = [compiler(), *STRICT, "-O0", "-fsyntax-only", str(tmp_path / source)]
        subprocess.run(command, check=True, timeout=60)


@pytest.mark.parametrize("prefix", ["model", "inverse", "law"])
def test_a_prefix_may_be_one_of_the_words_in_the_source(prefix: str, tmp_path: Path) -> None:
    system = a_run().moved_system()
    functions = ["forward_dynamics", "inverse_dynamics", "terms"]
    sr.export.c_code(system, tmp_path, functions, prefix)
    command = [compiler(), *STRICT, "-O0", "-fsyntax-only", str(tmp_path / f"{prefix}.c")]
    subprocess.run(command, check=True, timeout=60)


def test_files_of_others_are_not_overwritten(tmp_path: Path) -> None:
    system = a_run().moved_system()
    first = sr.export.c_code(system, tmp_path, ["terms"])
    assert sr.export.c_code(system, tmp_path, ["terms"]).files == first.files  # its own are
    before = {path: path.read_bytes() for path in first.files}
    for name in ("Makefile", "main.c", "five_bar.h"):
        own = tmp_path / name
        own.write_text("all:\n\techo mine\n")
        with pytest.raises(
            ArgumentError, match=rf"{name} was not written by sarrus .* another folder"
        ) as caught:
            sr.export.c_code(system, tmp_path, ["terms"])
        assert caught.value.element == str(own)
        assert own.read_text() == "all:\n\techo mine\n"
        assert all(path.read_bytes() == before[path] for path in first.files if path != own)
        own.write_bytes(before[own])
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentError, match="file is a file: give a folder"):
        sr.export.c_code(system, tmp_path / "file", ["terms"])
