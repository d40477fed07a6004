"""The commands ``sarrus curves``, ``workspace`` and ``map``, and their errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from sarrus.runs.cli.main import main

MODEL = str(Path(__file__).parent.parent / "models" / "five_bar.xml")
START = [MODEL, "--keyframe", "symmetric"]


def test_a_coupler_curve_with_its_transmission_angle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, angle = tmp_path / "path.png", tmp_path / "angle.png"
    command = ["curves", *START, "--driven", "left", "--locked", "right"]
    assert main(command) == 0
    assert "five_bar: curve along left, closed" in capsys.readouterr().out
    more = ["--body", "link2", "--point", "1.5,0,0", "--output", "right_elbow", "--plot", str(path)]
    assert main([*command, *more, "--plot-angle", str(angle)]) == 0
    out = capsys.readouterr().out
    assert "path of link2 (1.5, 0.0, 0.0), closed, planar" in out
    assert "transmission angle from left to right_elbow through tips" in out
    assert path.stat().st_size > 5000
    assert angle.stat().st_size > 5000


def test_a_workspace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "workspace.png"
    command = ["workspace", *START, "--body", "link2", "--point", "1.5,0,0", "--resolution", "8"]
    assert main([*command, "--plot", str(path)]) == 0
    assert "workspace of link2 (1.5, 0.0, 0.0)" in capsys.readouterr().out
    assert path.stat().st_size > 5000


def test_a_map_over_the_inputs_and_one_of_the_tip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "map.png"
    command = ["map", *START, "--driven", "left", "--driven", "right", "--resolution", "16"]
    assert main([*command, "--over", "left", "--over", "right", "--plot", str(path)]) == 0
    out = capsys.readouterr().out
    assert "smallest singular value with driven left, right at rest, over left and right" in out
    assert "16 × 16 nodes, 2 modes" in out
    assert path.stat().st_size > 5000
    assert main([*command, "--body", "link2", "--point", "1.5,0,0", "--modes", "1"]) == 0
    assert "over x and z" in capsys.readouterr().out
    for wrong in ([], ["--over", "left"], ["--over", "left", "--over", "right", "--body", "link2"]):
        assert main([*command, *wrong]) == 2
        assert "give either --over twice, or --body" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--plot", "x.png"], "--plot draws the path of a point: give --body"),
        (["--plot-angle", "x.png"], "--plot-angle needs --output"),
        (["--through", "tips"], "--through needs --output"),
        (["--body", "link2", "--point", "1,2"], "--point '1,2': write X,Y,Z"),
        ([], "a curve along 'left' needs one degree of freedom, and the mechanism has 2; lock coordinates"),
    ],
)
def test_errors_in_one_line(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["curves", *START, "--driven", "left", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
