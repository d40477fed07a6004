"""Runs that would have no end, or no room: jumps that chatter, events that are no numbers, records, interrupts."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from sarrus.base import interrupts
from sarrus.base.errors import SimulationError
from sarrus.motion.loop import recorder
from sarrus.motion.loop.recorder import Recorder
from sarrus.runs.cli.main import main

FIVE_BAR = Path(__file__).parent.parent / "models" / "five_bar.xml"


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Have Ctrl-C raise, also where the suite runs in the background."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


def block() -> sr.System:
    """A body on a slide."""
    mechanism = sr.Mechanism("block")
    mechanism.add_body("body", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("x", "prismatic", "world", "body", axis=(1, 0, 0))
    return sr.System(mechanism)


# --- chattering --------------------------------------------------------------------------------------

JUMPS = {
    "dry friction": lambda q, v, t: -50 * ca.sign(v),
    "friction against a push": lambda q, v, t: 30 - 50 * ca.sign(v),
    "sliding mode": lambda q, v, t: -50 * ca.sign(v + 3 * q) + ca.sin(3 * t),
    "relay": lambda q, v, t: ca.if_else(v > 0.2, -10, 4),
}


@pytest.mark.parametrize("options", [{}, {"rtol": 1e-6}, {"method": "rodas5p"}, {"method": "dop853"}])
@pytest.mark.parametrize("jump", JUMPS)
def test_a_jump_that_pushes_back_is_named(jump: str, options: dict[str, object]) -> None:
    found = sr.simulate(block(), [0.0], [1.0], duration=1.0, force=JUMPS[jump], throw=False, **options)  # type: ignore[arg-type]
    assert found.status is sr.Status.CHATTERING
    assert found.steps + found.rejected < 50_000
    assert "the acceleration of 'x' jumps from" in found.message
    assert "both sides push back" in found.message
    assert 0.0 < found.t[-1] < 0.2
    with pytest.raises(SimulationError, match=r"chatter|jumps"):
        sr.simulate(block(), [0.0], [1.0], duration=1.0, force=JUMPS[jump], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "force",
    [
        lambda q, v, t: -50 * ca.tanh(v / 1e-3),
        lambda q, v, t: -50 * ca.tanh(v / 1e-7),
        lambda q, v, t: -1e9 * v,
        lambda q, v, t: -50 * ca.sign(q),  # crosses, and comes back
        lambda q, v, t: 60 - 50 * ca.sign(v),  # never sticks
        lambda q, v, t: -1e4 * q - 5 * ca.sign(ca.cos(50 * t)),
    ],
)
def test_other_forces_do_not_chatter(force: object) -> None:
    found = sr.simulate(block(), [0.01], [1.0], duration=1.0, force=force, error_estimate=False, throw=False)  # type: ignore[arg-type]
    assert found.status is sr.Status.OK


def test_a_joint_of_a_loop_that_sticks() -> None:
    mechanism = sr.load(FIVE_BAR)
    system, q = sr.System(mechanism), mechanism.keyframes["symmetric"].q
    found = sr.simulate(
        system,
        q,
        duration=2.0,
        force=lambda q, v, t: ca.vertcat(-200 * ca.sign(v[0]), 0, -200 * ca.sign(v[2]), 0),
        throw=False,
    )
    assert found.status is sr.Status.CHATTERING


# --- events ------------------------------------------------------------------------------------------


def test_an_event_that_is_no_number_is_named() -> None:
    events = [
        sr.Event("far", lambda q, v, t: q[0] - 100),
        sr.Event("root", lambda q, v, t: ca.sqrt(0.5 - q[0]) - 0.1),
    ]
    found = sr.simulate(block(), [0.0], [1.0], duration=2.0, dt=0.01, events=events, throw=False)
    assert found.status is sr.Status.NOT_FINITE
    assert "event 'root' is not a number in the step after t = 0.5 s: mend its function" in found.message
    assert found.t[-1] == pytest.approx(0.5)
    at_once = sr.simulate(block(), [0.6], [1.0], duration=2.0, events=events, throw=False)
    assert at_once.status is sr.Status.NOT_FINITE
    assert "'root'" in at_once.message


# --- records that outgrow memory -----------------------------------------------------------------------


def mapped(array: object) -> bool:
    """Tell whether an array shows a file."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def test_records_go_to_a_file_and_come_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    system, q = sr.System(sr.load(FIVE_BAR)), sr.load(FIVE_BAR).keyframes["symmetric"].q
    options: dict[str, object] = {"duration": 2.0, "dt": 1e-3, "error_estimate": False}
    expected = sr.simulate(system, q, **options)  # type: ignore[arg-type]
    monkeypatch.setattr(recorder, "RECORDS_IN_MEMORY", 1e5)
    monkeypatch.setattr("sarrus.base.files.netcdf.NETCDF_IN_MEMORY", 1e4)
    filed = sr.simulate(system, q, **options)  # type: ignore[arg-type]
    assert mapped(filed.q)
    assert not mapped(expected.q)
    for name in ("t", "q", "v", "a", "multipliers", "energy", "rank", "residual"):
        assert getattr(filed, name).tobytes() == getattr(expected, name).tobytes(), name
    again = sr.Trajectory.load(filed.save(tmp_path / "run.nc"))
    assert again.q.tobytes() == expected.q.tobytes()
    assert expected.to_csv(tmp_path / "a.csv").read_text() == filed.to_csv(tmp_path / "b.csv").read_text()


def test_a_full_disk_ends_a_run_and_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "RECORDS_IN_MEMORY", 1e5)
    spilled = []

    class Full:
        def write(self, data: memoryview) -> int:
            spilled.append(len(data))
            raise OSError(28, "no space left on device")

        def seek(self, place: int) -> int:
            return place

    monkeypatch.setattr(recorder.tempfile, "TemporaryFile", lambda **_: Full())
    system, q = sr.System(sr.load(FIVE_BAR)), sr.load(FIVE_BAR).keyframes["symmetric"].q
    found = sr.simulate(system, q, duration=2.0, dt=1e-3, throw=False)
    assert found.status is sr.Status.STEP_LIMIT
    assert spilled
    assert len(found.t) > 100
    assert np.all(np.diff(found.t) > 0)


def test_a_disk_that_fills_up_later_keeps_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "RECORDS_IN_MEMORY", 1.0)
    rows = Recorder(3)
    for value in range(3):
        room = rows.room(np.inf)
        assert room is not None
        room[:, :] = value
        rows.note(len(room), 1.0)
    full = type("Full", (), {"write": lambda *_: 1 / 0, "seek": lambda *_: 0})
    own = rows._file

    def write(self: object, data: object) -> int:
        raise OSError(28, "no space left on device")

    full.write = write
    rows._file = full()  # type: ignore[assignment]
    assert rows.room(np.inf) is None
    rows._file = own
    assert np.unique(rows.all_rows()[:, 0]).tolist() == [0.0, 1.0, 2.0]


# --- interrupts --------------------------------------------------------------------------------------


def test_an_interrupt_after_the_last_step_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from sarrus.motion import motion

    usual = motion.trajectory_of

    def interrupted(*args: object) -> sr.Trajectory:
        signal.raise_signal(signal.SIGINT)
        return usual(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(motion, "trajectory_of", interrupted)
    found = sr.simulate(block(), [0.0], [1.0], duration=1.0)
    assert found.status is sr.Status.INTERRUPTED  # not OK: how good the motion is nobody knows
    assert "the motion is complete" in found.message.lower()
    assert found.t[-1] == 1.0
    assert np.isnan(found.error).all()  # the estimate is what the interrupt ended


def test_an_interrupt_while_a_command_writes_comes_after_the_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usual = sr.Trajectory.save

    def interrupted(trajectory: sr.Trajectory, path: Path, **options: Any) -> Path:
        signal.raise_signal(signal.SIGINT)
        return usual(trajectory, path, **options)

    monkeypatch.setattr(sr.Trajectory, "save", interrupted)
    files = [tmp_path / "run.nc", tmp_path / "run.csv"]
    arguments = ["simulate", str(FIVE_BAR), "--duration", "0.1", "--assemble"]
    assert main([*arguments, "--output", str(files[0]), "--csv", str(files[1])]) == 0
    assert len(sr.Trajectory.load(files[0]).t) > 1
    assert files[1].is_file()


def test_interrupts_are_held_and_allowed() -> None:
    seen = []
    with interrupts.held():
        signal.raise_signal(signal.SIGINT)
        seen.append("held")
        with pytest.raises(KeyboardInterrupt), interrupts.allowed():
            seen.append("never")
        with interrupts.allowed():
            seen.append("allowed")
            with interrupts.held():  # within another
                seen.append("inner")
        with pytest.raises(KeyboardInterrupt), interrupts.allowed():
            signal.raise_signal(signal.SIGINT)
    assert seen == ["held", "allowed", "inner"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_interrupts_that_are_allowed_are_the_program_s() -> None:
    seen = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with interrupts.held():
            signal.raise_signal(signal.SIGINT)
            assert not seen
            with suppress(KeyboardInterrupt), interrupts.allowed():
                seen.append("never")
            with interrupts.allowed():
                signal.raise_signal(signal.SIGINT)
        assert seen == [signal.SIGINT]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with interrupts.held(), interrupts.allowed():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, usual)


def test_other_threads_hold_nothing() -> None:
    found = []

    def work() -> None:
        with interrupts.held(), interrupts.allowed():
            found.append(signal.getsignal(signal.SIGINT))

    usual = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [usual]


LOOPS = {
    "a loop": "for k in range(7):\n    run()",
    "a loop of functions": "def study():\n    return run()\n\nfor k in range(7):\n    study()",
    "a comprehension": "found = [run() for k in range(7)]",
}
RUNS = {
    "steps": "sr.simulate(s, [0.0], [1.0], duration=1e4, dt=1e-4, every=100000, error_estimate=False)",
    "the estimate": "sr.simulate(s, [0.0], [1.0], duration=1e4, dt=1e-4, every=100000)",
    "a formulation": "sr.simulate(s, [0.0], [1.0], duration=100.0, dt=1e-4, formulation='kkt')",
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("what", RUNS)
def test_an_interrupt_arrives_within_a_second_and_ends_the_loop_around_the_run(what: str, loop: str) -> None:
    """Also where a call of the kernel would take half a minute, and in callbacks of ctypes, which drop exceptions."""
    text, seconds = interrupted_program(RUNS[what], LOOPS[loop], wait=1.0 if what == "steps" else 0.5)
    assert text.count("INTERRUPTED") == 1
    assert "Exception ignored" not in text
    assert text.rstrip().endswith("KeyboardInterrupt")
    assert seconds < 10.0  # one on a free processor, with the end of the process


def test_an_interrupt_stops_many_runs_within_a_second() -> None:
    program = "sr.rollout(s, [[0.0]], [[1.0]], duration=1e5, dt=1e-4, every=None, threads=1, side_by_side={})"
    for beside in (True, False):
        text, seconds = interrupted_program(program.format(beside), "run()", wait=0.5)
        assert text.rstrip().endswith("KeyboardInterrupt")
        assert seconds < 10.0


def interrupted_program(run: str, loop: str, wait: float) -> tuple[str, float]:
    """Return what a program prints that Ctrl-C meets so long after its first run began, and how long it goes on [s]."""
    program = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import sarrus as sr
mechanism = sr.Mechanism("block")
mechanism.add_body("body", 1.0, inertia=(1, 1, 1))
mechanism.add_joint("x", "prismatic", "world", "body", axis=(1, 0, 0))
s = sr.System(mechanism)
sr.simulate(s, [0.0], [1.0], duration=1e-3, dt=1e-4)
def run():
    print("begins", file=sys.stderr, flush=True)
    found = {run}
    print(found.status.name, file=sys.stderr, flush=True)
    return found
{loop}
"""
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        sleep(wait)
        process.send_signal(signal.SIGINT)
        began = perf_counter()
        try:
            _, text = process.communicate(timeout=60.0)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return first + text, perf_counter() - began
