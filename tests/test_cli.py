"""The command line: what it prints, writes and refuses, and its exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from sarrus.base.progress import ProgressBar, progress_bar
from sarrus.motion.records.trajectory import Trajectory
from sarrus.runs.cli.main import main
from sarrus.runs.cli.tables import print_info

FIVE_BAR = str(Path(__file__).parent.parent / "models" / "five_bar.xml")


def simulated(tmp_path: Path, *options: str) -> Trajectory:
    """Run ``sarrus simulate`` on the five-bar and return the trajectory that it wrote."""
    path = tmp_path / "run.nc"
    assert main(["simulate", FIVE_BAR, "--duration", "0.1", "--output", str(path), *options]) == 0
    return Trajectory.load(path)


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", FIVE_BAR]) == 0
    out = capsys.readouterr().out
    rows = {tuple(line.split()) for line in out.splitlines()}
    assert ("link3", "link4", "3") in rows
    assert ("rows", "3", "of", "rank", "2") in rows
    assert ("degrees", "of", "freedom", "2") in rows
    assert ("redundant", "rows", "tips.y") in rows
    assert "equality connect 'tips': exact here" in out


def flat_parallelogram() -> sr.Mechanism:
    """A parallelogram with its four links in one line at zero, closed by a hinge in space."""
    mechanism = sr.Mechanism("flat")
    for name, length, parent, x in (
        ("crank", 0.5, "world", 0.0), ("coupler", 1.0, "crank", 0.5), ("rocker", 0.5, "world", 1.0)
    ):  # fmt: skip
        mechanism.add_body(name, 1.0, com=(length / 2, 0, 0), inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, 0, 1), parent_pose=(x, 0, 0))
    mechanism.add_closure(
        "pin", "revolute", "coupler", "rocker", pose1=(1, 0, 0), pose2=(0.5, 0, 0), axis=(0, 0, 1)
    )
    return mechanism


def info_rows(mechanism: sr.Mechanism, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What `sarrus info` prints of mobility, by label."""
    print_info(sr.System(mechanism), Path("model.xml"))
    pairs = (line.split("  ", 1) for line in capsys.readouterr().out.splitlines() if "  " in line)
    return {label.strip(): text.strip() for label, text in pairs}


def test_info_names_branches_of_a_singular_reference_pose(capsys: pytest.CaptureFixture[str]) -> None:
    rows = info_rows(flat_parallelogram(), capsys)
    assert rows["rows"] == "5 of rank 1"
    assert rows["degrees of freedom"] == "2"
    assert rows["redundant rows"] == "pin.z, pin.n1, pin.n2"
    assert rows["singular"] == "rank 2 nearby, where 1 of them remain; dependent here: pin"
    assert rows["branches"].startswith("curve, 1 degree of freedom, rank 2: ")


def test_info_names_idle_motions_and_what_is_driven(capsys: pytest.CaptureFixture[str]) -> None:
    mechanism = flat_parallelogram()
    mechanism.add_body("wheel", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("wheel", "revolute", "coupler", "wheel", axis=(0, 0, 1), reference=0.3)
    mechanism.add_actuator("motor", "wheel")
    rows = info_rows(mechanism, capsys)
    assert rows["degrees of freedom"] == "3, of which the actuators drive 1"
    assert rows["internal"] == "wheel turns alone"


def test_info_of_a_model_that_does_not_close(capsys: pytest.CaptureFixture[str]) -> None:
    mechanism = sr.Mechanism("far")
    mechanism.add_body("rod", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("rod", "revolute", "world", "rod", axis=(0, 0, 1))
    mechanism.add_closure("pin", "point", "world", "rod", pose1=(3, 0, 0), pose2=(1, 0, 0))
    rows = info_rows(mechanism, capsys)
    assert "closure 'pin' stays open by 2" in rows["not closed"]
    assert "degrees of freedom" not in rows


def test_info_lists_contacts(capsys: pytest.CaptureFixture[str]) -> None:
    mechanism = sr.Mechanism("foot")
    mechanism.add_body("foot", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("foot", "free", "world", "foot")
    mechanism.add_contact_patch("sole", "foot", (0, 0, -0.1), extent=0.25, friction_coefficient=0.6)
    mechanism.add_contact("heel", "foot", friction="frictionless")
    mechanism.add_contact("toe", "foot")
    rows = info_rows(mechanism, capsys)
    assert rows["contact"].split() == ["body", "point", "[m]", "on", "friction", "coefficient", "patch"]
    assert rows["sole.1"].split() == ["foot", "0.25,", "0,", "-0.1", "world", "0.6", "sole"]
    assert rows["sole.2"].split() == ["foot", "-0.25,", "0,", "-0.1", "world", "0.6", "sole"]
    assert rows["heel"].split()[-1] == "frictionless"
    assert rows["toe"].split()[-1] == "sticks"


def test_simulate_has_channels_of_singularity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    csv = tmp_path / "run.csv"
    kept = simulated(tmp_path, "--duration", "0.8", "--singularity", "--csv", str(csv))
    assert kept.channels is not None
    least = int(kept.smallest_singular_value.argmin())
    said = capsys.readouterr().out
    assert "smallest σ" in said
    assert f"{kept.smallest_singular_value[least]:.3g} at {kept.t[least]:.4g} s" in said
    assert "spike_acceleration" in csv.read_text(encoding="utf-8").splitlines()[0]


def test_simulate_writes_all_its_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"--output": "r.nc", "--csv": "r.csv", "--plot": "p.png", "--draw": "d.png", "--animate": "a.gif"}
    outputs = [text for option, name in names.items() for text in (option, str(tmp_path / name))]
    assert main(["simulate", FIVE_BAR, "--duration", "0.8", "--dt", "1e-3", *outputs]) == 0
    out = capsys.readouterr().out
    assert "1 singular, at 0.651 s" in out
    assert "800" in out
    for name in names.values():
        assert (tmp_path / name).stat().st_size > 1000
        assert name in out


def test_initial_state_by_name(tmp_path: Path) -> None:
    trajectory = simulated(tmp_path, "--set", "left=2.5", "--assemble", "--velocity", "left=0.75")
    assert trajectory.q[0, 0] == pytest.approx(2.5, abs=1e-12)
    assert trajectory.v[0, 0] == pytest.approx(0.75, abs=1e-12)
    assert trajectory.residual.max() < 1e-12


def test_keyframe(tmp_path: Path) -> None:
    trajectory = simulated(tmp_path, "--keyframe", "collinear")
    np.testing.assert_allclose(trajectory.q[0], [np.pi, -np.pi, 0.0, np.pi], atol=1e-12)


def test_adaptive_method(tmp_path: Path) -> None:
    assert simulated(tmp_path, "--method", "dopri5", "--rtol", "1e-9").steps < 100
    assert simulated(tmp_path, "--method", "adaptive").steps < 30


def test_assembly_says_what_it_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulated(tmp_path, "--set", "left=0.5", "--set", "right=3", "--set", "left_elbow=0", "--assemble")
    assert "assembly moved left from 0.5 to" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "lef=1"], "unknown coordinate 'lef'. Did you mean 'left'?"),
        (["--set", "left=x"], "'left=x': write NAME=VALUE"),
        (["--set", "left"], "'left': write NAME=VALUE"),
        (["--set", "left=nan"], "write NAME=VALUE"),
        (["--velocity", "elbow=1"], "unknown velocity 'elbow'"),
        (["--set", "left=2.5"], "leaves the loops open by 0.823 (row 'tips.x'); add --assemble"),
        (
            ["--velocity", "left=1", "--velocity", "right=0", "--velocity", "left_elbow=3"],
            "do not allow these velocities",
        ),
        (["--keyframe", "x"], "unknown keyframe 'x'. Known: 'symmetric', 'collinear'"),
        (["--duration", "-1"], "duration must be positive"),
        (["--duration", "abc"], "Invalid value for '--duration'"),
        (["--method", "euler"], "unknown method 'euler'"),
        (["--plot", "p.foo"], "must end in one of"),
        (["--output", "/no/such/folder/r.nc"], "no such folder"),
        (["--nonsense"], "No such option"),
    ],
)
def test_bad_options_are_one_line_and_code_2(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", FIVE_BAR, *options]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("content", [None, "<mujoco><worldbody>", "<nonsense/>"])
@pytest.mark.parametrize("command", ["info", "simulate"])
def test_missing_and_broken_files(
    command: str, content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.xml"
    if content is not None:
        path.write_text(content)
    assert main([command, str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"sarrus: {path}")
    assert err.count("\n") == 1


def test_a_run_that_fails_keeps_its_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.nc"
    start = ["--keyframe", "symmetric", "--velocity", "left=300", "--velocity", "right=-300"]
    code = main(["simulate", FIVE_BAR, *start, "--dt", "0.05", "--output", str(path)])
    captured = capsys.readouterr()
    assert code == 1
    status = Trajectory.load(path).status  # where such a step lands is a matter of rounding
    assert status.name in ("PROJECTION_FAILED", "NOT_FINITE")
    assert status.name in captured.err
    assert status.remedy in captured.err


def test_the_installed_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sarrus.runs.cli.main", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("sarrus ")
    done = subprocess.run(
        [sys.executable, "-m", "sarrus.runs.cli.main", "info", "no.xml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "sarrus: no.xml: no such file\n"


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "{'numba', 'casadi', 'mujoco', 'matplotlib', 'xarray', 'scipy', 'pandas'}"
    code = f"import sys, sarrus; from sarrus import Trajectory; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_progress_bar_is_silent_without_terminal_and_before_its_delay(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress_bar(5.0) as bar:
        assert not bar.enabled
        bar.update(1.0)
    with progress_bar(5.0, True) as bar:
        bar.update(1.0)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sarrus.base.progress.PROGRESS_DELAY", 0.0)
    bar = ProgressBar(5.0, True)
    bar.update(2.5)
    bar.close()
    assert "2.50 of 5.00 s" in capsys.readouterr().err
