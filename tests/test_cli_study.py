"""`sarrus study`: studies from TOML files, the one that ships among them, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import sarrus as sr
from sarrus.runs.cli.main import main
from sarrus.runs.studies.study_file import read_study

ROOT = Path(__file__).parent.parent
SMALL = """
model = "five_bar.xml"
keyframe = "symmetric"
duration = 0.05
outputs = ["q", "energy.max"]
[parameters]
m = "link1.mass"
[grid]
m = [1.5, 2.5]
q.left = { from = 2.0, to = 2.2, count = 3 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "models" / "five_bar.xml", tmp_path)
    return tmp_path


def written(folder: Path, text: str) -> str:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_study_that_ships(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(ROOT / "models", tmp_path / "models")
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "five_bar_study.toml", tmp_path / "examples")
    assert main(["study", str(tmp_path / "examples" / "five_bar_study.toml")]) == 0
    out = capsys.readouterr().out
    store = tmp_path / "build" / "five_bar_study"
    assert str(store / "result.nc") in out
    assert "samples of  m1, m2, q.left" in out
    with xr.open_dataset(store / "result.nc") as result:
        assert result.sizes["run"] == 2048
        assert (result.status == "OK").all()
        assert float(result["residual.max"].max()) < 1e-12
        assert abs(float(result.m1.mean()) - 2.0) < 1e-3  # Sobol points
        assert 2.8 <= float(result.m2.min()) < 2.81
        assert float(result.m2.max()) <= 3.2
    # The same command again finds all done.
    before = (store / "result.nc").stat().st_mtime_ns
    assert main(["study", str(tmp_path / "examples" / "five_bar_study.toml")]) == 0
    assert (store / "result.nc").stat().st_mtime_ns == before


def test_a_grid_is_that_of_the_library(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = folder / "result.nc"
    assert main(["study", written(folder, SMALL), "--output", str(output), "--threads", "1"]) == 0
    out = capsys.readouterr().out
    assert "m (2) × q.left (3)" in out
    assert "runs per second" in out
    mechanism = sr.load(folder / "five_bar.xml")
    expected = sr.study(
        sr.System(mechanism, parameters={"m": "link1.mass"}),
        {"m": [1.5, 2.5], "q.left": [2.0, 2.1, 2.2]},
        q=mechanism.keyframes["symmetric"].q,
        duration=0.05,
        outputs=["q", "energy.max"],
    )
    with xr.open_dataset(output) as result:
        np.testing.assert_array_equal(result.q, expected.q)
        np.testing.assert_array_equal(result["energy.max"], expected["energy.max"])
        np.testing.assert_array_equal(result.status, expected.status)


def test_start_samples_and_options(folder: Path) -> None:
    text = SMALL.partition("[grid]")[0]
    text = "t0 = 1.0\nmethod = 'dopri5'\nrtol = 1e-9\ndt = 0.01\nchunk = 5\nstore = 'done/here'\n" + text
    text += "[start]\nm = 1.7\nq.left = 2.05\nv.right = 0.5\nu.left_motor = 3\n"
    text += "[samples]\nu.right_motor = [1, 2]\n'v.left' = [0.1, 0.2]\n"
    read = read_study(written(folder, text))
    assert read.system.parameters["m"] == 1.7
    assert read.store == folder / "done" / "here"
    assert read.arguments["samples"] == {"u.right_motor": [1, 2], "v.left": [0.1, 0.2]}
    assert read.arguments["method"] == "dopri5"
    np.testing.assert_array_equal(read.arguments["u"], [3.0, 0.0])
    np.testing.assert_array_equal(read.arguments["v"], [0.0, 0.0, 0.5, 0.0])
    assert read.arguments["q"][0] == 2.05
    result = sr.study(read.system, **read.arguments)
    assert (result.status == "OK").all()
    assert (result.reached == 1.05).all()


def test_no_run_that_reaches_the_end_is_code_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SMALL.partition("[grid]")[0] + "[grid]\n'q.left' = [3.1]\n'q.left_elbow' = [0.0]\n"
    assert main(["study", written(folder, text), "-o", str(folder / "r.nc")]) == 1
    assert "NOT_CLOSED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("duration = 0.05", "durration = 1", "unknown key 'durration'. Did you mean 'duration'?"),
        ("duration = 0.05", "", "the key 'duration' is missing"),
        ("duration = 0.05", "duration = -1", "duration must be positive"),
        ('"five_bar.xml"', '"no.xml"', "no.xml"),
        ('"symmetric"', '"symetric"', "unknown keyframe 'symetric'. Did you mean 'symmetric'?"),
        ("energy.max", "energy.most", "unknown output 'energy.most'"),
        ("link1.mass", "link9.mass", "link9"),
        ("[1.5, 2.5]", '["a"]', "grid['m'] must be a sequence of finite numbers"),
        ("count = 3", "count = 0", "grid: 'q.left' must be a list of numbers, or {from = 0.0"),
        ("q.left", "q.lift", "unknown axis 'q.lift'. Did you mean 'q.left'?"),
        ("[grid]", "[random.of]\nm = {normal = [1.0, 0.1]}\n[grid]", "here is grid and random"),
        ("[grid]\nm = [1.5, 2.5]", "[random]\nruns = 5\n[random.of]\nm = {gauss = [1]}", "random: 'm' must be {normal"),
        ("[grid]\nm = [1.5, 2.5]", "[random]\nrums = 5", "unknown key of random 'rums'. Did you mean 'runs'?"),
        ("[grid]", "[start]\nm = 'x'\n[grid]", "start: 'm' must be a number"),
        ("[grid]", "[grid", "not a TOML file"),
    ],
)  # fmt: skip
def test_errors_are_one_line_with_file_and_key(
    old: str, new: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in SMALL
    path = written(folder, SMALL.replace(old, new))
    assert main(["study", path, "--output", str(folder / "r.nc")]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith(f"sarrus: {path}: ")
    assert err.count("\n") == 1


def test_a_result_needs_a_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", written(folder, SMALL)]) == 2
    assert "no place for the result" in capsys.readouterr().err
    assert main(["study", str(folder / "none.toml")]) == 2
    assert "none.toml: no such file" in capsys.readouterr().err
