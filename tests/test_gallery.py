"""The gallery: its studies on shorter runs, its drawings, and the numbers on its pages."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

import sarrus as sr
from sarrus.formulations import spike_indicator

GALLERY = Path(__file__).resolve().parent.parent / "docs" / "gallery"
PAGE = (GALLERY / "five_bar.md").read_text(encoding="utf-8")
MARK = re.compile(r"<!-- (\w+):start -->\n(.*?)<!-- \1:end -->", re.DOTALL)
SUPPORT = "right support, world axes"


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery_five_bar", GALLERY / "five_bar.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def runs(gallery: ModuleType) -> tuple[sr.System, dict[str, sr.Trajectory]]:
    """The symmetric fall by the kernel, with Baumgarte's terms and with projection."""
    system = sr.System(gallery.five_bar.build())
    options = {"Baumgarte": gallery.BAUMGARTE, "projection": gallery.STEP}
    start = gallery.five_bar.SYMMETRIC
    return system, {name: sr.simulate(system, start, duration=5.0, **more) for name, more in options.items()}


@pytest.fixture(scope="module")
def found(gallery: ModuleType, runs: tuple) -> dict[str, tuple]:
    """The first two seconds of both runs with their indicators."""
    system, start = runs[0], gallery.five_bar.SYMMETRIC
    baumgarte = sr.simulate(system, start, duration=2.0, **gallery.BAUMGARTE)
    projected = sr.simulate(system, start, duration=2.0, **gallery.STEP)
    return {
        "Baumgarte": (baumgarte, gallery.indicators(baumgarte, gallery.GAINS)),
        "projection": (projected, gallery.indicators(projected)),
    }


@pytest.fixture(scope="module")
def spread(gallery: ModuleType) -> dict[tuple[str, str], np.ndarray]:
    return gallery.rounding(starts=3)


def rows(name: str) -> list[list[str]]:
    """Return the cells of a table on the page, without its head."""
    lines = dict(MARK.findall(PAGE))[name].strip().splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


# --- studies -------------------------------------------------------------------------------------------


def test_release_from_the_singular_configuration(gallery: ModuleType, runs: tuple) -> None:
    """Null space by NumPy and the kernel fall alike; the kernel comes back when the thesis says, at 2.82 s."""
    system, _ = runs
    fall = gallery.release(system, duration=0.1)
    start = gallery.five_bar.COLLINEAR
    kernel = sr.simulate(system, start, duration=5.0, dt=1e-3, stabilization="none")
    np.testing.assert_allclose(fall.q, kernel.q[: len(fall.t)], atol=1e-9)
    cells = dict(re.findall(r"\| (.*?) \| ([^|]*) \|", gallery.release_table(kernel)))
    assert cells["returns at, to the millisecond"] == "2.822 s"
    assert np.linalg.matrix_rank(system.constraint_jacobian(start), tol=1e-9) == 1


def test_formulations_and_stabilisations_agree_before_the_first_passage(
    gallery: ModuleType, runs: tuple, capsys: pytest.CaptureFixture[str]
) -> None:
    system, kernel = runs
    comparison = gallery.methods(system, duration=0.02)
    assert list(comparison.trajectories) == list(gallery.RUNS)
    for run in comparison.trajectories.values():
        np.testing.assert_allclose(run.q, kernel["projection"].q[: len(run.t)], atol=1e-12)
    assert len(capsys.readouterr().err.splitlines()) == len(gallery.RUNS)
    table = gallery.methods_table(comparison).splitlines()
    assert [line.split(" | ")[0].strip("| ") for line in table[2:]] == list(gallery.RUNS)


def test_passages_are_where_the_page_says(gallery: ModuleType, runs: tuple) -> None:
    for run in runs[1].values():
        np.testing.assert_allclose([p.time for p in run.passages], gallery.PASSAGES, rtol=0, atol=0.5e-4)


def test_energy_errors_are_split_at_the_passages(gallery: ModuleType, runs: tuple) -> None:
    for run in runs[1].values():
        errors = gallery.energy_errors(run)
        assert errors.max() == run.energy_drift
        assert errors[0] < errors[1]
    baumgarte = gallery.energy_errors(runs[1]["Baumgarte"])
    assert all(np.diff(baumgarte) > 0)


def test_indicator_from_gamma_is_that_from_the_rate_of_the_jacobian(gallery: ModuleType, found: dict) -> None:
    run, seen = found["projection"]
    system = run.system
    for k in np.flatnonzero(np.abs(run.t - gallery.PASSAGES[0]) < 0.05)[::20]:
        q, v, step = run.q[k], run.v[k], 1e-6
        rate = (system.constraint_jacobian(q + step * v) - system.constraint_jacobian(q - step * v)) / (
            2 * step
        )
        spike = spike_indicator(system.constraint_jacobian(q), rate, v)
        assert seen.indicator[k] == pytest.approx(spike.indicator, rel=1e-5, abs=1e-8)
        assert seen.acceleration[k] == pytest.approx(spike.acceleration, rel=1e-5, abs=1e-6)
        assert seen.multipliers[k] == np.abs(run.multipliers[k]).max()


def test_multipliers_spike_and_the_indicator_does_not(gallery: ModuleType, found: dict) -> None:
    run, quiet = found["projection"]
    _, loud = found["Baumgarte"]
    for passage in gallery.PASSAGES[:2]:
        at, beside = np.abs(run.t - passage) < 2e-3, np.abs(np.abs(run.t - passage) - 0.05) < 2e-3
        for seen in (quiet, loud):
            assert seen.multipliers[at].max() > 50 * seen.multipliers[beside].max()
        assert quiet.indicator[at].max() < 0.05 * quiet.indicator[beside].min()
        assert quiet.acceleration[at].max() < quiet.acceleration[beside].min()
        assert loud.acceleration[at].max() > 10 * quiet.acceleration[at].max()


def test_three_ways_to_write_the_loop_are_one_mechanism(gallery: ModuleType) -> None:
    heights, energies = [], []
    for system, start in gallery.layouts().values():
        run = sr.simulate(system, start, duration=0.6, rtol=1e-11, atol=1e-11, dt=0.1)
        names = list(system.mechanism.bodies)
        positions, rotations = zip(*(system.body_placements(q) for q in run.q))
        link = names.index("link2")
        tips = [p[link] + r[link] @ (1.5, 0, 0) for p, r in zip(positions, rotations)]
        heights.append([tip[2] for tip in tips])
        energies.append(run.energy[0])
    np.testing.assert_allclose(heights[1:], [heights[0]] * 2, atol=1e-8)
    np.testing.assert_allclose(energies, energies[0], rtol=1e-13)


def test_what_the_third_passage_costs_depends_on_the_layout(
    gallery: ModuleType, spread: dict[tuple[str, str], np.ndarray]
) -> None:
    layouts = list(gallery.layouts())
    assert layouts[-1] == SUPPORT
    assert spread[SUPPORT, "Baumgarte"][:, 3].min() > 10.0
    assert spread[layouts[0], "Baumgarte"].max() < 1e-3
    for layout in layouts:
        assert spread[layout, "none"][:, 3].min() > 1.0
        kept = spread[layout, "with energy"]
        assert kept[~np.isnan(kept)].max() < 1e-11
    assert 1e6 < gallery.growth(gallery.layouts()[layouts[0]][0]) < 1e8


# --- drawings ------------------------------------------------------------------------------------------


def test_drawings(gallery: ModuleType, found: dict, spread: dict, tmp_path: Path) -> None:
    run, seen = found["projection"]
    system = run.system
    drawings = gallery.drawings
    release = drawings.release(system, run, seen.condition)
    assert [axes.get_ylabel() for axes in release.axes[2:]] == [
        "angle [rad]",
        "energy [J]",
        "σ₁/σ_m of A",
        "error",
    ]
    ends = [line.get_xydata() for line in release.axes[0].lines if line.get_linewidth() == 3.0]
    np.testing.assert_allclose(ends[0][-1], ends[1][-1], atol=1e-12)  # both sides end at the middle joint
    figure = drawings.indicators(run.t, {"projection": seen}, gallery.PASSAGES)
    assert len(figure.axes) == 9
    dots = drawings.rounding(spread)
    assert [axes.get_title(loc="left") for axes in dots.axes] == [
        f"cut at the {name}" for name in gallery.layouts()
    ]
    drawings.save(dots, tmp_path / "dots.png")
    assert Image.open(tmp_path / "dots.png").mode == "P"


# --- the page ------------------------------------------------------------------------------------------


def test_tables_are_put_in_their_places(gallery: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x:start -->\nold\n<!-- x:end -->\nb\n", encoding="utf-8")
    gallery.write("x", "1 \\1 new", page)
    assert page.read_text(encoding="utf-8") == "a\n<!-- x:start -->\n1 \\1 new\n<!-- x:end -->\nb\n"
    with pytest.raises(AssertionError, match=r"page\.md has no place for 'y'"):
        gallery.write("y", "new", page)


def test_the_page_shows_what_it_claims(gallery: ModuleType) -> None:
    """Lagrange with Baumgarte's terms violates the energy at every passage, null space with projection keeps it."""
    errors = {cells[0]: np.array(cells[1:5], dtype=float) for cells in rows("methods")}
    assert list(errors) == list(gallery.RUNS)
    textbook, robust = errors[gallery.TEXTBOOK], errors[gallery.ROBUST]
    assert all(np.diff(textbook) > 0)
    assert textbook[3] > 1e-2 > 1e-6 > robust.max()
    assert all(textbook[1:] > 10 * robust[1:])
    assert errors["null space, projection with energy"].max() < 1e-11
    spikes = {(cells[0][0], cells[1]): float(cells[5]) for cells in rows("indicators")}
    assert spikes["3", gallery.TEXTBOOK] > 50 * spikes["3", gallery.ROBUST]
    assert rows("parameters") == [
        ["1 & 4", "L = 1.0", "1.0", "2.0", "2.0", "1.0", "1.0"],
        ["2 & 3", "3L/2 = 1.5", "1.5", "3.0", "3.0", "2.0", "2.0"],
    ]
    assert ["returns at, to the millisecond", "2.822 s"] in rows("release")
    assert [cells[0] for cells in rows("rounding")] == list(gallery.layouts())
    everything = dict(MARK.findall(PAGE))["everything"]
    assert re.search(r"^lagrange .*ILL_POSED$", everything, re.MULTILINE)
    assert re.search(r"^kernel .*OK$", everything, re.MULTILINE)


def test_pictures_of_the_page_exist() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
    assert len(pictures) == 6
    for name in pictures:
        with Image.open(GALLERY / name) as picture:
            assert picture.size[0] > 800
