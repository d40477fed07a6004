"""Runs that begin where one has begun before: they are the same to the bit, and what has changed in between counts."""

import threading
from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from sarrus.dynamics.model.options import Options
from sarrus.motion.known_starts import ReadyLoops
from sarrus.motion.motion import Motion

FIVE_BAR = Path(__file__).parent.parent / "models" / "five_bar.xml"


@pytest.fixture(scope="module")
def five_bar() -> tuple[sr.System, np.ndarray]:
    mechanism = sr.load(FIVE_BAR)
    body = next(iter(mechanism.bodies))
    return sr.System(mechanism, {"m": f"{body}.mass"}), mechanism.keyframes["symmetric"].q


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dt": 1e-3},
        {"every": None},
        {"stabilization": "energy"},
        {"stabilization": "baumgarte"},
        {"rtol": 1e-5},
    ],
    ids=str,
)
def test_a_second_and_a_third_run_have_the_same_bits(
    five_bar, options, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, q = five_bar
    copied = []
    usual = ReadyLoops.copy
    monkeypatch.setattr(ReadyLoops, "copy", lambda self, key: copied.append(usual(self, key)) or copied[-1])
    runs = [sr.simulate(system, q, duration=1.3, **options) for _ in range(4)]
    assert any(loop is not None for loop in copied)
    for run in runs[1:]:
        for name in ("t", "q", "v", "a", "multipliers", "energy", "rank", "condition", "residual", "error"):
            assert getattr(run, name).tobytes() == getattr(runs[0], name).tobytes(), name
        assert (run.passages, run.status, run.steps) == (runs[0].passages, runs[0].status, runs[0].steps)
        assert run.determined_until == runs[0].determined_until


def test_what_has_changed_counts(five_bar) -> None:
    system, q = five_bar
    first = [sr.simulate(system, q, duration=0.2) for _ in range(3)][-1]
    q = q.copy()
    mass = system.parameters["m"]
    system.parameters["m"] = 1.5 * mass
    assert sr.simulate(system, q, duration=0.2).q.tobytes() != first.q.tobytes()
    system.parameters["m"] = mass
    assert sr.simulate(system, q, duration=0.2).q.tobytes() == first.q.tobytes()
    q[0] += 1e-9  # the array is the caller's: it was not kept
    other = sr.simulate(system, q, duration=0.2)
    assert other.q[0, 0] != first.q[0, 0]
    options = system.options
    try:
        system.options = Options(position_tolerance=1e-9)
        assert sr.simulate(system, first.q[0], duration=0.2).q.tobytes() != first.q.tobytes()
    finally:
        system.options = options


def test_arguments_that_look_alike_are_told_apart(five_bar) -> None:
    system, q = five_bar
    for _ in range(3):
        sr.simulate(system, q, duration=1.0, dt=0.01, every=1, error_estimate=False)
    with pytest.raises(sr.SarrusError, match="duration"):
        sr.simulate(system, q, duration="1.0", dt=0.01)
    with pytest.raises(sr.SarrusError, match="switching must be"):
        sr.simulate(system, q, duration=1.0, dt=0.01, switching=1)
    with pytest.raises(sr.SarrusError, match="q must have 4 entries"):
        sr.simulate(system, q[:3], duration=1.0, dt=0.01)


def test_threads_share_what_is_known(five_bar) -> None:
    system, q = five_bar
    options = {"duration": 0.5, "dt": 1e-3, "error_estimate": False, "progress": False}
    right = sr.simulate(system, q, **options).q.tobytes()
    found: list[bytes] = []

    def go() -> None:
        for _ in range(20):
            found.append(sr.simulate(system, q, **options).q.tobytes())  # noqa: PERF401

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [right] * 80


def test_a_start_that_is_known_keeps_no_records(five_bar) -> None:
    system, q = five_bar
    motion = [sr.simulate(system, q, duration=2.0, dt=1e-3, error_estimate=False) for _ in range(3)][-1]
    assert not any(np.shares_memory(motion.q, array) for array in _kept_arrays(system))


def test_runs_write_to_nothing_that_copies_share(five_bar) -> None:
    """An array that a loop or its workspace gets and a run writes to belongs to those that are copied."""
    system, q = five_bar
    options = [{}, {"dt": 1e-3}, {"every": None}, {"stabilization": "energy"}]
    runs = [{"duration": 2.0, "progress": False, **one} for one in options for _ in range(3)]
    for one in runs:
        sr.simulate(system, q, **one)
    shared = [
        value
        for ready in _ready(system)
        for part in (ready.loop, ready.workspace)
        for value in part.values()
        if isinstance(value, np.ndarray)
    ]
    before = [value.tobytes() for value in shared]
    for one in runs:
        sr.simulate(system, q, **one)
    assert shared
    assert [value.tobytes() for value in shared] == before


def _kept_arrays(system: sr.System):
    for ready in _ready(system):
        yield ready.numbers


def _ready(system: sr.System):
    known = system.model.cached("known motions", dict)
    for motion in known._motions.values():
        yield from (ready for ready in motion.ready._loops.values() if ready is not None)


# --- what the estimate of the error costs ----------------------------------------------------------------


def repeated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of records of every repetition."""
    found: list[int] = []
    usual = Motion.repeat

    def repeat(self, times, scheme, **others):
        found.append(len(times))
        return usual(self, times, scheme, **others)

    monkeypatch.setattr(Motion, "repeat", repeat)
    return found


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}, {"every": None}, {"every": 7}], ids=str)
def test_a_run_with_passages_is_repeated_once(five_bar, options, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that one agrees: it says what is determined and how good the motion is."""
    system, q = five_bar
    count = repeated(monkeypatch)
    motion = sr.simulate(system, q, duration=1.3, **options)
    assert motion.passages
    assert motion.determined_until == np.inf
    assert len(count) == 1
    assert count[0] <= 200
    exact = sr.simulate(system, q, duration=1.3, rtol=1e-12, error_estimate=False)
    error = np.abs(motion.q[-1] - exact.q[-1]).max()
    assert 0.3 * error < motion.error[-1] < 1e-6


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}], ids=str)
def test_few_records_take_no_more_repetitions(five_bar, options, monkeypatch: pytest.MonkeyPatch) -> None:
    """States on the way are looked at: so few records do not ask for a run with shorter steps."""
    system = five_bar[0]
    swing = sr.Mechanism("swing")
    swing.add_body("rod", 1.0, (0, 0, -1), (0.1, 0.1, 0.01))
    swing.add_joint("hinge", "revolute", "world", "rod", axis=(0, 1, 0))
    system, count = sr.System(swing), repeated(monkeypatch)
    found = {}
    for every in (1, 50, None):
        count.clear()
        motion = sr.simulate(system, [2.0], duration=5.0, every=every, **options)
        found[every] = len(count), sum(count), motion.error[-1]
    assert found[None][0] <= found[1][0]
    assert found[None][1] < found[1][1]
    assert found[None][2] == pytest.approx(found[1][2], rel=1.0)
    assert found[50][2] == pytest.approx(found[1][2], rel=1.0)
