"""One motion by several formulations: what each keeps, how failures and bad requests are shown."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from PIL import Image

import sarrus as sr
from conftest import load_example
from sarrus.analysis.comparison.comparison import RUNS, Comparison, compare
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from sarrus.formulations import METHODS, null_space
from sarrus.runs.cli.main import main

MODEL = Path(__file__).parent.parent / "models" / "five_bar.xml"
REFUSED = ("lagrange", "kkt")  # a zero row


@pytest.fixture(scope="module")
def five_bar() -> tuple[sr.System, np.ndarray]:
    """The model of the repository, whose planar loop has a zero row, and a start off the mirror symmetry."""
    system = sr.System(sr.load(MODEL))
    return system, system.assemble([1.9, -0.9, 1.2, 1.1], locked=["left", "right"]).q


@pytest.fixture(scope="module")
def everything(five_bar: tuple[sr.System, np.ndarray]) -> Comparison:
    return compare(*five_bar, duration=0.04, dt=2e-3, formulations="all")


# --- what is compared ----------------------------------------------------------------------------------


def test_all_formulations_make_the_same_motion(everything: Comparison) -> None:
    assert list(everything.trajectories) == ["kernel", "partition", *METHODS]
    kernel = everything["kernel"]
    for row in everything.table():
        if row.formulation in REFUSED:
            continue
        run = everything[row.formulation]
        assert row.status is Status.OK
        np.testing.assert_allclose(run.q, kernel.q, atol=1e-10)
        np.testing.assert_allclose(run.v, kernel.v, atol=1e-8)
        assert row.energy_error < 1e-9
        assert row.closure_residual < 1e-14
        assert row.velocity_residual < 1e-13
        assert 1.0 <= row.condition_median <= row.condition_largest < np.inf
        assert row.steps_per_second > 0


def test_a_formulation_that_refuses_keeps_its_row(everything: Comparison) -> None:
    rows = {row.formulation: row for row in everything.table()}
    for name in REFUSED:
        assert rows[name].status is Status.ILL_POSED
        assert f"{name}: A has 3 rows of rank 2" in rows[name].message
        assert np.isnan(
            [rows[name].energy_error, rows[name].condition_largest, rows[name].steps_per_second]
        ).all()
        assert not len(everything[name].t)


def test_figures_of_the_table_are_those_of_the_runs(five_bar: tuple[sr.System, np.ndarray]) -> None:
    system, q = five_bar
    comparison = compare(
        system,
        q,
        duration=0.3,
        dt=5e-3,
        formulations=["kernel"],
        stabilization=sr.Stabilization("baumgarte", gains=(5, 5)),
    )
    run = sr.simulate(
        system, q, duration=0.3, dt=5e-3, stabilization=sr.Stabilization("baumgarte", gains=(5, 5))
    )
    (row,) = comparison.table()
    psi = [system.constraint_jacobian(q, t=t) @ v for q, v, t in zip(run.q, run.v, run.t)]
    assert row.energy_error == run.energy_drift > 0
    assert row.closure_residual == run.residual.max() > 1e-12
    assert row.velocity_residual == pytest.approx(np.abs(psi).max(), rel=1e-6)
    assert row.condition_median == np.median(run.condition)
    assert row.condition_largest == run.condition.max()


def test_textbook_loses_energy_at_a_passage_and_null_space_with_projection_does_not() -> None:
    """Lagrange's multipliers with Baumgarte's terms against the null space with projection (Spencer 2004, 3.2)."""
    example = load_example("five_bar")
    comparison = compare(
        sr.System(example.build()),
        example.SYMMETRIC,
        duration=0.7,
        dt=2e-3,
        formulations=["lagrange:baumgarte", "null-space", "kernel:energy"],
        stabilization=sr.Stabilization(gains=(10, 10)),
    )
    textbook, robust, exact = comparison.table()
    assert [round(p.time, 2) for p in comparison["null-space"].passages] == [0.65]
    assert textbook.energy_error > 10 * robust.energy_error
    assert textbook.energy_error > 1e-5
    assert textbook.closure_residual > 1e-9 > 1e-13 > max(robust.closure_residual, exact.closure_residual)
    assert exact.energy_error < 1e-11
    before = comparison["lagrange:baumgarte"].t < 0.6
    error = np.abs(comparison["lagrange:baumgarte"].energy - comparison["lagrange:baumgarte"].energy[0])
    assert error[before].max() < 1e-3 * textbook.energy_error


def test_options_of_a_run_come_before_those_of_all(five_bar: tuple[sr.System, np.ndarray]) -> None:
    comparison = compare(
        *five_bar,
        duration=0.02,
        dt=2e-3,
        stabilization="none",
        formulations={"coarse": {"dt": 1e-2}, "fine": {}, "mine": {"formulation": null_space}},
    )
    assert [comparison[name].steps for name in ("coarse", "fine", "mine")] == [2, 10, 10]
    assert comparison.options["coarse"] == {"dt": 1e-2, "stabilization": "none", "error_estimate": False}
    np.testing.assert_allclose(comparison["mine"].q, comparison["fine"].q, atol=1e-13)


def test_partition_lies_on_the_constraints_whatever_stabilises_the_others(
    five_bar: tuple[sr.System, np.ndarray],
) -> None:
    comparison = compare(
        *five_bar, duration=0.4, dt=2e-2, stabilization="none", formulations=["kernel", "partition"]
    )
    kernel, partition = comparison.table()
    assert partition.closure_residual < 1e-14 < 1e-9 < kernel.closure_residual


def test_a_run_that_breaks_off_leaves_the_others_alone(
    five_bar: tuple[sr.System, np.ndarray], tmp_path: Path
) -> None:
    def tired(*arguments: Any, **options: Any) -> Any:
        tired.calls += 1
        if tired.calls > 60:
            raise RuntimeError("enough")
        return null_space(*arguments, **options)

    tired.calls = 0
    comparison = compare(
        *five_bar, duration=0.02, dt=1e-3, formulations={"tired": {"formulation": tired}, "kernel": {}}
    )
    broken, kernel = comparison.table()
    assert not broken.status.ok
    assert "RuntimeError at t = " in broken.message
    assert "enough" in broken.message
    assert 2 < len(comparison["tired"].t) < 20
    assert broken.energy_error < 1e-9
    assert kernel.status is Status.OK
    assert f"tired: {broken.message}"[:60] in str(comparison)
    legend = comparison.plot(tmp_path / "p.svg").legends[0]
    assert f"tired: {broken.status} at" in legend.get_texts()[0].get_text()


def test_an_interrupt_leaves_out_what_follows(five_bar: tuple[sr.System, np.ndarray]) -> None:
    def interrupted(q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
        if t > 5e-3:
            raise KeyboardInterrupt
        return np.zeros(4)

    comparison = compare(
        *five_bar, duration=0.02, force=interrupted, sample_time=1e-3, formulations=["kernel", "null-space"]
    )
    assert list(comparison.trajectories) == ["kernel"]
    assert comparison["kernel"].status is Status.INTERRUPTED


# --- other systems -------------------------------------------------------------------------------------


def test_nonholonomic_rows_have_a_panel_of_their_own() -> None:
    sleigh = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: ca.sumsqr(v[:2]) + 0.3 * v[2] ** 2,
        velocity=lambda q, v, t: ca.cos(q[2]) * v[1] - ca.sin(q[2]) * v[0],
    )
    comparison = compare(
        sleigh, np.zeros(3), [1, 0, 0.5], duration=0.5, dt=5e-2, formulations=["kernel", "lagrange:none"]
    )
    kernel, drifting = comparison.table()
    assert kernel.velocity_residual < 1e-14 < 1e-12 < drifting.velocity_residual
    assert kernel.closure_residual == 0.0
    panels = [axes.get_ylabel() for axes in comparison.plot().axes]
    assert panels == ["energy error [J]", "velocity residual", "condition number"]


def test_without_constraints_and_without_conservation() -> None:
    falling = sr.System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: v[0] ** 2 / 2 - 9.81 * q[0])
    push = {"force": lambda q, v, t: [2.0 - v[0]]}
    comparison = compare(
        falling, [0.0], duration=0.1, dt=1e-2, formulations=["kernel", "udwadia-kalaba", "lagrange"], **push
    )
    assert all(row.status is Status.OK and row.condition_largest == 1.0 for row in comparison.table())
    np.testing.assert_allclose(comparison["lagrange"].q, comparison["kernel"].q, atol=1e-14)
    assert [axes.get_ylabel() for axes in comparison.plot().axes] == ["energy change [J]"]
    assert "energy change" in str(comparison)


# --- what comes out ------------------------------------------------------------------------------------


def test_figure(everything: Comparison, tmp_path: Path) -> None:
    figure = everything.plot(tmp_path / "comparison.png")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["energy error [J]", "closure residual [m, rad]", "condition number"]
    assert all(axes.get_yscale() == "log" for axes in figure.axes)
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == [f"{name}: ILL_POSED" if name in REFUSED else name for name in RUNS]
    looks = {(h.get_color(), h.get_linestyle(), h.get_marker()) for h in figure.legends[0].legend_handles}
    assert len(looks) == len(RUNS) - len(REFUSED) + 1  # those without a line look alike
    assert Image.open(tmp_path / "comparison.png").size[0] > 1000


def test_figure_shows_the_largest_values(five_bar: tuple[sr.System, np.ndarray]) -> None:
    """More samples than intervals: peaks stay, wherever they lie."""
    comparison = compare(*five_bar, duration=2.0, dt=1e-3, formulations=["kernel"], stabilization="baumgarte")
    energy, closure, condition = (axes.lines[0].get_ydata() for axes in comparison.plot().axes)
    (row,) = comparison.table()
    assert len(energy) == len(condition) == 200
    assert (energy.max(), closure.max()) == (row.energy_error, row.closure_residual)
    assert condition.max() == row.condition_largest


def test_nothing_but_refusals_can_be_shown(five_bar: tuple[sr.System, np.ndarray]) -> None:
    comparison = compare(*five_bar, duration=0.01, formulations=REFUSED)
    assert len(comparison.plot().axes) == 3
    assert str(comparison).count("ILL_POSED") == 2


def test_text_and_files(everything: Comparison, tmp_path: Path) -> None:
    lines = str(everything).splitlines()
    assert lines[0] == "five_bar"
    for name in RUNS:
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        assert line.endswith("ILL_POSED" if name in REFUSED else "OK")
    assert "kernel: OK, partition: OK" in repr(everything)
    data = everything.to_xarray()
    assert data["energy_error"].attrs["units"] == "J"
    assert str(data["status"].sel(formulation="lagrange").values) == "ILL_POSED"
    with everything.to_csv(tmp_path / "table.csv").open(encoding="utf-8") as file:
        read = {line["formulation"]: line for line in csv.DictReader(file)}
    for row in everything.table():
        assert float(read[row.formulation]["condition_largest"]) == pytest.approx(
            row.condition_largest, nan_ok=True, rel=0
        )
        assert float(data["energy_error"].sel(formulation=row.formulation)) == pytest.approx(
            row.energy_error, nan_ok=True, rel=0
        )


def test_progress_goes_to_stderr(
    five_bar: tuple[sr.System, np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    for progress, lines in ((None, []), (False, []), (True, ["  1 of 2  kernel", "  2 of 2  null-space"])):
        compare(*five_bar, duration=0.005, formulations=["kernel", "null-space"], progress=progress)
        printed = capsys.readouterr()
        assert printed.err.splitlines() == lines
        assert not printed.out


# --- bad requests --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formulations": "nullspace"}, "unknown formulation 'nullspace'. Did you mean 'null-space'?"),
        (
            {"formulations": ["kernel", "null-space:glue"]},
            "run 'null-space:glue': unknown stabilization 'glue'",
        ),
        ({"formulations": []}, "formulations is empty"),
        ({"formulations": {"a": "kernel"}}, "'a' must map to options of simulate"),
        ({"formulations": {"a": {"stepsize": 1e-3}}}, "unknown option 'stepsize'"),
        ({"formulations": {"a": {"formulation": "kan"}}}, "run 'a': unknown formulation 'kan'"),
        ({"formulation": "lagrange"}, "give the formulation in formulations="),
        ({"throw": True}, "unknown option 'throw'"),
        ({"dt": -1.0}, "run 'kernel': dt must be positive"),
        ({"duration": -1.0}, "duration must be positive and finite"),
        ({"duration": "long"}, "duration must be a number"),
        ({"q": np.zeros(4)}, "leaves the loops open by"),
        ({"q": [0.0]}, "run 'kernel': .*q"),
        ({"system": MODEL}, "compare needs a System"),
    ],
)
def test_bad_requests_are_found_before_the_first_run(
    five_bar: tuple[sr.System, np.ndarray],
    options: dict[str, Any],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = {"system": five_bar[0], "q": five_bar[1], "duration": 0.01, "progress": True, **options}
    with pytest.raises(ArgumentError, match=message):
        compare(**arguments)
    assert not capsys.readouterr().err


def test_an_unknown_label_names_the_runs(everything: Comparison) -> None:
    with pytest.raises(ArgumentError, match=r"unknown run 'kernl'\. Did you mean 'kernel'\?"):
        everything["kernl"]


# --- command line --------------------------------------------------------------------------------------


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figure, table = tmp_path / "figure.png", tmp_path / "table.csv"
    runs = "kernel, lagrange, null-space:baumgarte"
    options = ["--duration", "0.02", "--baumgarte", "10", "10", "-o", str(figure), "--csv", str(table)]
    state = ["--set", "left=2.2", "--assemble", "--velocity", "left=1"]
    assert main(["compare", str(MODEL), "--formulations", runs, *options, *state]) == 0
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines() if line]
    assert ["kernel", "OK"] in [[row[0], row[-1]] for row in rows]
    assert ["lagrange", "ILL_POSED"] in [[row[0], row[-1]] for row in rows]
    assert [line.split()[-1] for line in printed.err.splitlines()] == [run.strip() for run in runs.split(",")]
    assert figure.stat().st_size > 10_000
    assert len(table.read_text(encoding="utf-8").splitlines()) == 4
    assert f"written  {figure}" in printed.out.replace("\n", "")


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(MODEL), "--duration", "0.01", "--formulations", "lagrange,kkt"]) == 1
    capsys.readouterr()
    for arguments, message in (
        (["--formulations", "newton"], "unknown formulation 'newton'"),
        (["-o", str(tmp_path / "figure.gif")], "must end in one of .png"),
        (["--set", "left=3"], "leaves the loops open by"),
    ):
        assert main(["compare", str(MODEL), *arguments]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert len(error.splitlines()) == 1


def test_an_interrupt_inside_a_formulation_ends_the_run(five_bar: tuple[sr.System, np.ndarray]) -> None:
    """Python called from compiled code must not swallow Ctrl-C."""
    system, q = five_bar
    calls = 0

    def interrupted(*matrices: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 50:
            raise KeyboardInterrupt
        return null_space(*matrices, **options)

    motion = sr.simulate(system, q, duration=1.0, dt=1e-3, formulation=interrupted)
    assert motion.status is sr.Status.INTERRUPTED
    assert 5 < len(motion.t) < 15
