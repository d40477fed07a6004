"""The command ``sarrus reactions``: at a state, along a run, with stiffness, and its errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import sarrus as sr
from sarrus.runs.cli.main import main

MODEL = str(Path(__file__).parent.parent / "models" / "five_bar.xml")


def test_a_state_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "arrows.png"
    assert main(["reactions", MODEL, "--keyframe", "symmetric", "--draw", str(picture)]) == 0
    out = capsys.readouterr().out
    mechanism = sr.load(MODEL)
    found = sr.reactions(sr.System(mechanism), mechanism.keyframes["symmetric"].q, frame="joint")
    assert str(found) in out
    assert "left_elbow" in out
    assert "not unique, the mechanism is overconstrained (states of self-stress: 1)" in out
    assert picture.stat().st_size > 5000


def test_stiffness_settles_the_share(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reactions", MODEL, "--keyframe", "symmetric", "--frame", "world"]
    assert main([*command, "--stiffness", "tips=1e6", "--stiffness", "left=1e6,1e6,1e6,1e3,1e3,0"]) == 0
    out = capsys.readouterr().out
    assert "* determined by the given stiffness" in out
    assert "axes of the world" in out


def test_the_largest_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loads, picture = tmp_path / "loads.nc", tmp_path / "loads.png"
    command = [
        "reactions",
        MODEL,
        "--keyframe",
        "symmetric",
        "--simulate",
        "--duration",
        "0.2",
        "--part",
        "bearing",
    ]
    assert main([*command, "-o", str(loads), "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "largest loads" in out
    assert "(bearing)" in out
    data = xr.open_dataset(loads)
    largest = np.sqrt((data.bearing_force.sel(joint="left") ** 2).sum("axis")).values.max()
    assert f"{largest:.5g}" in out
    assert picture.stat().st_size > 5000


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--stiffness", "tips"], "write NAME=K, or NAME=kx,ky,kz,krx,kry,krz"),
        (["--stiffness", "tips=1,2"], "write NAME=K, or NAME=kx,ky,kz,krx,kry,krz"),
        (["--stiffness", "tip=1e6"], "unknown joint 'tip'. Did you mean 'tips'?"),
        (["--frame", "hand"], "unknown frame 'hand'"),
        (["--plot", "x.png"], "add --simulate"),
    ],
)
def test_errors_are_one_line(options: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reactions", MODEL, "--keyframe", "symmetric", *options]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert "Traceback" not in error
