"""``sarrus export`` and ``sarrus bench``: what they write, print and refuse."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from sarrus.runs.cli.main import main
from sarrus.runs.studies import machine_figures as figures

FIVE_BAR = str(Path(__file__).parent.parent / "models" / "five_bar.xml")


def test_export_c(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "code"
    options = ["--function", "terms", "--function", "step", "--name", "arm", "-o", str(folder)]
    assert main(["export", "c", FIVE_BAR, *options, "--keyframe", "symmetric"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("terms, step: ")
    assert {path.name for path in folder.iterdir()} == {"arm.c", "arm.h", "main.c", "Makefile"}
    for file in folder.iterdir():
        assert f"written  {file}" in out
    header = (folder / "arm.h").read_text()
    assert "int arm_step(arm_workspace *W" in header
    assert "arm_forward_dynamics" not in header


def test_export_c_goes_beside_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "c", FIVE_BAR]) == 0
    assert "five_bar_forward_dynamics" in (tmp_path / "five_bar_c" / "five_bar.h").read_text()


def test_export_refuses_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["export", "c", FIVE_BAR, "--function", "step", "--function", "leap", "-o", str(tmp_path)]) == 2
    )
    assert "unknown function to export 'leap'" in capsys.readouterr().err
    assert main(["export", "mjcf", FIVE_BAR, "-o", str(tmp_path / "model.urdf")]) == 2
    assert "must end in .xml" in capsys.readouterr().err
    assert main(["export", "c", FIVE_BAR, "--keyframe", "nowhere", "-o", str(tmp_path)]) == 2
    assert "unknown keyframe 'nowhere'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_export_mjcf_is_the_same_mechanism(tmp_path: Path) -> None:
    path = tmp_path / "out.xml"
    assert main(["export", "mjcf", FIVE_BAR, "-o", str(path)]) == 0
    ours, again = sr.System(sr.load(FIVE_BAR)), sr.System(sr.load(path))
    q, v = ours.mechanism.keyframes["symmetric"].q, np.array([0.3, 0.2, -0.1, 0.4])
    v = ours.project_velocity(q, v)
    np.testing.assert_allclose(again.forward_dynamics(q, v).a, ours.forward_dynamics(q, v).a, rtol=1e-9)


def test_bench_prints_a_table_and_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "REPEATS", 1)
    monkeypatch.setattr(figures, "REPEAT_SECONDS", 1e-3)
    assert main(["bench", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["model"], told["sarrus"]) == ("five_bar", sr.__version__)
    assert int(told["cores"]) >= 1
    values = {(row["what"], row["note"]): row["value"] for row in told["figures"]}
    assert len(values) == len(told["figures"]) == 9
    assert all(value > 0.0 for value in values.values())
    assert main(["bench", FIVE_BAR]) == 0
    out = capsys.readouterr().out
    for what in (
        "compile, cold",
        "compile, warm",
        "size",
        "forward dynamics",
        "step",
        "step of a batch",
        "linear model",
        "control law",
    ):
        assert what in out


def test_bench_says_what_a_model_has_no_figure_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pendulum without a motor has no control law."""
    monkeypatch.setattr(figures, "REPEATS", 1)
    monkeypatch.setattr(figures, "REPEAT_SECONDS", 1e-3)
    mechanism = sr.Mechanism("pendulum")
    mechanism.add_body("link", 1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("hinge", "revolute", "world", "link", axis=(0, 1, 0))
    found = {figure.what: figure for figure in figures.measure(mechanism)}
    assert math.isnan(found["control law"].value)
    assert "no actuators" in found["control law"].note
    assert found["step"].value > 0.0
    assert found["linear model"].value > 0.0


def test_the_built_in_model_is_the_shipped_one() -> None:
    mine, shipped = sr.System(figures.five_bar()), sr.System(sr.load(FIVE_BAR))
    q = shipped.mechanism.keyframes["symmetric"].q
    np.testing.assert_array_equal(mine.mechanism.keyframes["symmetric"].q, q)
    np.testing.assert_allclose(mine.mass_matrix(q), shipped.mass_matrix(q), atol=1e-12)
    rest = np.zeros(4)
    np.testing.assert_allclose(
        mine.forward_dynamics(q, rest).a, shipped.forward_dynamics(q, rest).a, atol=1e-10
    )
