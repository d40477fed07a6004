"""The benchmarks' own arithmetic and output. What they measure is not tested: times depend on the machine."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import contact_files, contact_solvers, contacts, friction, growth, tables, work
from benchmarks.contact_instances import Guess, broken, random_problem
from benchmarks.rows import KEYS, Row, write_json
from benchmarks.timing import batch, interleave, summarize

import sarrus as sr
from sarrus.dynamics.optimize import solve_contact_problem

SPEED = Row("step", "five_bar", 2.0, "a machine; a version; once", "peer", 9.0, 4.5, at_least=4.0)
SLOW = Row("call", "platform", 4.0, "a machine; a version; once", "peer", 3.0, 0.75, at_least=1.0)
LAW = Row(
    "Regulator",
    "arm",
    2.0,
    "a machine; a version; once",
    "peer",
    9.0,
    4.5,
    extra={"kernel_us": 1.0, "kernel_ratio": 9.0},
)
SECOND = Row("second", "arm", 5e3, "a machine; a version; once", within_us=1e4, extra={"kernel_us": 4e3})
COSTLY = Row(
    "model", "leg", 6.0, "a machine; a version; once", "solve", 2.0, 0.33, at_most=4.0, extra={"cost": 3.1}
)
START = Row("import", "", 3e5, "a machine; a version", within_us=7e5)


def test_ratio_is_the_median_over_pairs() -> None:
    """A slow spell that covers a pair changes the times but not the ratio."""
    result = summarize(ours=[1e-6, 1e-6, 9e-6], peer=[4e-6, 4e-6, 36e-6])
    assert result.ratio == pytest.approx(4.0)
    assert (result.ours_us, result.peer_us) == pytest.approx((1.0, 4.0))
    assert result.repeats == 3
    uneven = summarize(ours=[1.0, 2.0, 4.0], peer=[8.0, 2.0, 12.0])
    assert uneven.ratio == pytest.approx(3.0)  # of 8, 1 and 3; the ratio of the medians is 4


@pytest.mark.parametrize(
    ("ours", "peer", "message"),
    [([], [], "paired times"), ([1.0], [1.0, 2.0], "paired times"), ([0.0], [1.0], "positive")],
)
def test_times_that_cannot_be_compared(ours: list[float], peer: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        summarize(ours, peer)


def test_the_exact_motion_of_four_bars_takes_the_time_that_its_energy_says() -> None:
    inertia, moment = (work.COUNT + 1) / 3 + work.COUNT, 9.81 * ((work.COUNT + 1) / 2 + work.COUNT)

    def slowness(angle: float) -> float:
        fallen = np.cos(growth.ANGLE) - np.cos(angle)
        return float(1 / np.sqrt(growth.RATE**2 + 2 * moment / inertia * fallen))

    assert quad(slowness, growth.ANGLE, work.exact_angle(), epsabs=1e-13)[0] == pytest.approx(
        work.DURATION, abs=1e-11
    )


def test_work_against_error_is_a_table_and_a_picture(tmp_path: Path) -> None:
    points = [
        asdict(work.Point(name, "dt 1", 1e3 / k, 1e-3 * k)) for name in ("sarrus", "peer") for k in (1, 2)
    ]
    extra = {"setting": "dt 1", "ours_error": 1e-3, "peer_error": 2e-3, "points": points}
    row = Row("error below 0.01 rad", "N = 5", 2.0, "here; v; once", "peer, dt 1", 9.0, 4.5, extra=extra)
    assert (
        "| error below 0.01 rad | N = 5 | 2 µs | dt 1 | 1e-03 | peer, dt 1 | 9 µs | 2e-03 | 4 |"
        in tables.markdown([row])
    )
    work.draw([row], tmp_path / "work.png", "error [rad]", "µs")
    assert (tmp_path / "work.png").read_bytes().startswith(b"\x89PNG")


def test_growth_is_an_exponent_and_a_picture(tmp_path: Path) -> None:
    sizes = [
        Row(name, f"N = {n}", n**1.5, "here; v; once", "peer", 3.0 * n, 3.0 / n**0.5, extra={"size": n})
        for name in (growth.STEP, growth.CHAIN)
        for n in (1, 2, 8)
    ]
    assert growth.exponent(sizes) == pytest.approx(1.5)
    assert [title for title, _, _ in tables.sections(sizes)] == ["Growth with size"]
    growth.draw(sizes, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")


def test_interleave_takes_turns() -> None:
    turns: list[str] = []

    def side(name: str, seconds: float) -> float:
        turns.append(name)
        return seconds

    result = interleave(lambda: side("ours", 1e-6), lambda: side("peer", 3e-6), repeats=2)
    assert turns == ["ours", "peer"] * 3  # one pair to warm up
    assert result.ratio == pytest.approx(3.0)


def test_batch_calls_and_divides() -> None:
    calls: list[int] = []
    run = batch(lambda: calls.append(1), seconds=1e-4)
    before = len(calls)
    assert run() > 0.0
    assert len(calls) - before >= 10


def test_json_has_the_common_keys(tmp_path: Path) -> None:
    path = tmp_path / "build" / "bench.json"
    extra = Row("a", "b", 1.0, "c", extra={"gap_m": 0.5})
    write_json([SPEED, START, extra], path)
    speed, start, more = json.loads(path.read_text())
    assert tuple(speed)[: len(KEYS)] == KEYS
    assert (speed["ours_us"], speed["peer_us"], speed["ratio"]) == (2.0, 9.0, 4.5)
    assert (speed["target"], speed["met"]) == ("≥ 4 ×", True)
    assert (start["peer"], start["ratio"], start["target"], start["met"]) == (None, None, "< 0.7 s", True)
    assert (more["gap_m"], more["target"], more["met"]) == (0.5, None, None)


def test_json_refuses_what_it_cannot_say(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json([Row("a", "b", float("nan"), "c")], tmp_path / "bench.json")
    with pytest.raises(ValueError, match="'ratio'"):
        write_json([Row("a", "b", 1.0, "c", extra={"ratio": 2.0})], tmp_path / "bench.json")


def test_markdown_says_what_was_missed() -> None:
    text = tables.markdown([SPEED, SLOW, START, COSTLY])
    assert "| step | five_bar | 2 µs | peer | 9 µs | 4.50 | ≥ 4 ×: met |" in text
    assert "| call | platform | 4 µs | peer | 3 µs | 0.75 | ≥ 1 ×: MISSED |" in text
    assert "| model | leg | 6 µs | solve | 2 µs | 0.33 | 3.1 of them, at most 4: met |" in text
    assert "| import | 300 ms | < 0.7 s: met |" in text
    assert "a machine, one thread, batches on all cores; a version." in text


def test_laws_have_a_table_of_their_own() -> None:
    (section,) = tables.sections([LAW, SECOND])
    assert section[0] == "Control laws"
    assert section[2] == [
        ("Regulator", "arm", "2 µs", "1 µs", "peer", "9 µs", "4.50", "9.0", ""),
        ("second", "arm", "5 ms", "4 ms", "", "", "", "", "< 0.01 s: met"),
    ]


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [(0.3333, "0.333 µs"), (999.0, "999 µs"), (84200.0, "84.2 ms"), (2.22e7, "22.2 s")],
)
def test_durations(microseconds: float, text: str) -> None:
    assert tables.duration(microseconds) == text


def test_a_page_is_changed_between_the_markers_only(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    assert not tables.replace_between_markers("new\n", readme)
    readme.write_text("before")
    assert not tables.replace_between_markers("new\n", readme)
    readme.write_text(f"before\n{tables.START}\nold\n{tables.END}\nafter\n")
    for _ in range(2):
        assert tables.replace_between_markers("new\n", readme)
        assert readme.read_text() == f"before\n{tables.START}\nnew\n{tables.END}\nafter\n"


def test_highlights_are_rows_of_the_long_tables() -> None:
    """The README shows some of the lines that docs/comparison.md shows, with the same figures."""
    rows = [Row(name, model, 2.0, SPEED.conditions, peer, 9.0, 4.5) for name, model, peer in tables.TELLING]
    text = tables.highlights([SLOW, *rows[::-1]])
    assert "call" not in text
    assert [line.split(" | ")[0] for line in text.splitlines()[2:-2]] == [f"| {row.name}" for row in rows]
    assert text.endswith(
        "\n\nMeasured by `make bench`: a machine, one thread, batches on all cores; a version.\n"
    )
    for path in ("README.md", "docs/comparison.md"):
        page = (Path(__file__).parent.parent / path).read_text(encoding="utf-8")
        assert page.count(tables.START) == page.count(tables.END) == 1


def test_contact_problems_come_back_from_their_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    problems = [(f"family {k}", random_problem(rng, 6)) for k in range(4)]
    contact_files.write(tmp_path / "problems.h5", problems)
    for (family, problem), (other, read) in zip(problems, contact_files.read(tmp_path / "problems.h5")):
        assert (family, problem.contacts, problem.dry) == (other, read.contacts, read.dry)
        assert problem.rows.tobytes() == read.rows.tobytes()
        assert problem.velocities.tobytes() == read.velocities.tobytes()


def test_problems_of_a_fall_are_those_of_its_steps() -> None:
    """A block that lands flat, slides and stops: the velocities that follow, and the forces that act, are the run's."""
    mechanism = sr.Mechanism("block")
    mechanism.add_body("block", 2.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("free", "free", "world", "block")
    for k, (x, y) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
        mechanism.add_contact(f"c{k}", "block", (x, y, -0.5), friction="coulomb", friction_coefficient=0.4)
    system, dt = sr.System(mechanism), contact_files.DT
    q, v = system.neutral(), np.zeros(6)
    q[2], v[:2] = 0.5, (0.3, 0.1)
    motion = sr.simulate(system, q, v, duration=0.1, dt=dt, error_estimate=False)
    for k in range(1, 100, 9):
        problem = contact_files.problem_at(system, motion.q[k], motion.v[k])
        assert problem is not None
        found = solve_contact_problem(problem.rows, problem.velocities, problem.contacts)
        np.testing.assert_allclose(found.velocities, np.tile(motion.v[k + 1, [2, 0, 1]], 4), atol=1e-9)
        forces = found.forces.reshape(4, 3).sum(axis=0) / dt
        np.testing.assert_allclose(
            forces, motion.contact_forces[k + 1].reshape(4, 3).sum(axis=0), rtol=1e-6, atol=1e-6
        )


def test_peers_of_the_contact_solver_find_the_answer() -> None:
    """Torsion, stops, no friction, dry friction and repeated contacts are all in these."""
    rng = np.random.default_rng(1)
    for _ in range(6):
        problem = random_problem(rng, 6, decades=0.0)
        data = contact_solvers.scaled(problem)
        for solver in (contact_solvers.gauss_seidel, contact_solvers.admm):
            forces = solver(data, 4096)
            velocities = problem.rows @ (problem.rows.T @ forces) + problem.velocities
            assert broken(problem, Guess(forces, velocities)) < 1e-6
        relaxed = contacts.relaxed(problem, data.units, 200)
        assert contacts.kernel(problem)().shape == relaxed.shape


def test_contact_problems_are_a_table_and_a_picture(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = [
        contacts.row("alike, 8 contacts", [contacts.race(random_problem(rng, 2), 1) for _ in range(2)], 1)
    ]
    (section,) = tables.sections(rows)
    assert section[0].startswith("Contact problems")
    assert section[2][0][0] == "alike, 8 contacts"
    contacts.draw(rows, tmp_path / "contacts.png")
    assert (tmp_path / "contacts.png").read_bytes().startswith(b"\x89PNG")


def test_scenes_with_friction_are_what_they_are_said_to_be() -> None:
    """At 2 ms ours is next to the truth of each; MuJoCo's is somewhere near, so that both have the same scene."""
    for scene in friction.scenes():
        off, far = friction.ours(scene, 2e-3)()[1], 0.02 if scene.bounce else 1e-5
        assert max(off.values()) < far, scene.name
        setting = friction.settings(scene, "Euler", 2e-3)[0]
        assert max(friction.theirs(scene, setting, 2e-3)()[1].values()) < 3.0, scene.name
