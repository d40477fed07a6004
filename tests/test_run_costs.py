"""What a run does once, where it looks, and what it copies: limits between records, surveys, records."""

import copy
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sarrus as sr
from sarrus.dynamics.model.entries import entries_of
from sarrus.dynamics.solve import ranks
from sarrus.kernels.memory.layout import Table
from sarrus.motion.inputs.run_options import Recording, Stepping, run_options
from sarrus.motion.loop import limits
from sarrus.motion.loop.integration import Integration
from sarrus.motion.records.interpolation import coefficients, value_at

FIVE_BAR = Path(__file__).parent.parent / "models" / "five_bar.xml"
BOUNDS = ((-0.5, 1.0), (-1.0, 0.2), None)


def slides() -> sr.System:
    """Return three bodies that slide, of which two have limits."""
    m = sr.Mechanism("slides", gravity=(0, 0, 0))
    for name, bounds in zip("abc", BOUNDS):
        m.add_body(name, mass=1.0, inertia=(1, 1, 1))
        m.add_joint(name, "prismatic", "world", name, axis=(1, 0, 0), limits=bounds)
    return sr.System(m)


def one_by_one(t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> list[tuple[str, float, float]]:
    """Return crossings outwards at nine parts of every interval, to their length: (name, bound, time)."""
    found = []
    for j, bounds in enumerate(BOUNDS):
        for bound, sign in zip(bounds or (), (-1.0, 1.0)):
            if sign * q[0, j] > sign * bound:
                found.append(("abc"[j], bound, t[0]))
            for k in range(len(t) - 1):
                s = np.linspace(0.0, 1.0, 10)
                ends = [array[m, j] for m in (k, k + 1) for array in (q, v, a)]
                beyond = sign * value_at(s, *coefficients(t[k + 1] - t[k], *ends)) > sign * bound
                after = np.flatnonzero(~beyond[:-1] & beyond[1:]) + 1
                found += [("abc"[j], bound, t[k] + s[m] * (t[k + 1] - t[k])) for m in after]
    return sorted(found, key=lambda crossing: crossing[2])


@pytest.mark.parametrize("block", [3, 8192])
@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
def test_limits_are_crossed_where_the_polynomial_does(
    monkeypatch: pytest.MonkeyPatch, size: float, block: int
) -> None:
    monkeypatch.setattr(limits, "_BLOCK", block)
    rng = np.random.default_rng(3)
    t = np.cumsum(rng.uniform(0.05, 0.2, 60))
    q, v, a = rng.normal(0.0, 0.4, (60, 3)), *rng.normal(0.0, size, (2, 60, 3))
    a *= 10.0
    system = slides()
    found = limits.find_limit_crossings(system.workspace(), t, q, v, a)
    expected = one_by_one(t, q, v, a)
    assert len(expected) > 10
    assert sorted((c.name, c.limit) for c in found) == sorted(each[:2] for each in expected)
    for crossing in found:
        apart = [
            time - crossing.time
            for name, bound, time in expected
            if (name, bound) == (crossing.name, crossing.limit)
        ]
        assert min(apart, key=abs) <= 0.03
        if crossing.time > t[0]:
            assert crossing.value == pytest.approx(crossing.limit, abs=1e-9)


def test_an_excursion_between_two_records_at_rest_is_seen() -> None:
    """At rest at both records, beyond the limit between them by its acceleration alone."""
    t, q, v = np.array([0.0, 1.0]), np.zeros((2, 3)), np.zeros((2, 3))
    a = np.array([[0.0, 20.0, 0.0], [0.0, 20.0, 0.0]])
    (crossing,) = limits.find_limit_crossings(slides().workspace(), t, q, v, a)
    assert (crossing.name, crossing.limit) == ("b", 0.2)
    assert 0.0 < crossing.time < 0.5


def test_records_that_are_no_numbers_hide_no_crossing() -> None:
    t, q, v, a = np.arange(4.0), np.zeros((4, 3)), np.zeros((4, 3)), np.zeros((4, 3))
    q[1:, 0], q[3, 1] = 2.0, np.nan
    (crossing,) = limits.find_limit_crossings(slides().workspace(), t, q, v, a)
    assert (crossing.name, crossing.limit) == ("a", 1.0)


def test_a_state_is_surveyed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    usual = ranks.rank_analysis
    monkeypatch.setattr(ranks, "rank_analysis", lambda *given: counted.append(1) or usual(*given))
    mechanism = sr.load(FIVE_BAR)
    body = next(iter(mechanism.bodies))
    system, q = sr.System(mechanism, {"m": f"{body}.mass"}), mechanism.keyframes["symmetric"].q
    first = sr.simulate(system, q, duration=0.01, dt=1e-3)
    assert len(counted) == 1
    assert sr.simulate(system, q, duration=0.01, dt=1e-3).q.tobytes() == first.q.tobytes()
    assert len(counted) == 1
    system.parameters["m"] *= 1.5
    heavier = sr.simulate(system, q, duration=0.01, dt=1e-3)
    assert len(counted) == 2
    assert heavier.q.tobytes() != first.q.tobytes()
    sr.simulate(system, first.q[-1], first.v[-1], duration=0.01, dt=1e-3)
    assert len(counted) == 3


def test_records_of_a_run_of_known_length_are_shown_where_they_were_written() -> None:
    system, q = sr.System(sr.load(FIVE_BAR)), sr.load(FIVE_BAR).keyframes["symmetric"].q
    motion = sr.simulate(system, q, duration=1.0, dt=1e-3, error_estimate=False)
    width = 1 + system.nq + 2 * system.nv + system.nu + system.nc + 6
    assert len(motion.t) == 1001
    assert np.shares_memory(motion.q.base, motion.residual.base)
    assert motion.q.strides == (8 * width, 8)
    with pytest.raises(ValueError, match="read-only"):
        motion.q[0, 0] = 1.0
    kept = motion.q.copy()
    sr.simulate(system, q, duration=1.0, dt=1e-3, error_estimate=False)
    assert motion.q.tobytes() == kept.tobytes()


def test_a_run_that_ends_early_keeps_no_room_for_the_rest() -> None:
    system, q = sr.System(sr.load(FIVE_BAR)), sr.load(FIVE_BAR).keyframes["symmetric"].q
    stop = [sr.Event("soon", lambda q, v, t: t - 0.01, terminal=True)]
    motion = sr.simulate(system, q, duration=10.0, dt=1e-3, events=stop, error_estimate=False)
    whole = motion.q
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    assert whole.nbytes < 1e4
    assert_allclose(motion.t[-1], 0.01, atol=1e-9)


def five_bar() -> tuple[sr.System, np.ndarray]:
    system = sr.System(sr.load(FIVE_BAR))
    return system, system.assemble(system.neutral(), throw=False).q


def test_a_short_run_calls_few_functions_of_python() -> None:
    system, q = five_bar()

    def run() -> None:
        sr.simulate(system, q, duration=2e-3, dt=1e-3, progress=False, error_estimate=False)

    run()
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    assert calls < 400  # 259; 631 with tables that are filled one by one


def test_arrays_of_a_run_are_its_own_and_come_when_they_are_asked_for() -> None:
    system, q = five_bar()
    one, two = (sr.simulate(system, q, duration=0.3, dt=1e-3, error_estimate=False) for _ in range(2))
    assert "q" not in vars(one)
    for again in (copy.copy(one), pickle.loads(pickle.dumps(one)), one.revised(name="other")):
        assert "q" not in vars(again)
        assert_array_equal(again.q, two.q)
    for name in ("t", "q", "v", "a", "u", "multipliers", "energy", "rank", "condition", "residual", "error"):
        array = getattr(one, name)
        assert getattr(one, name) is array
        assert not array.flags.writeable
        assert not np.shares_memory(array, getattr(two, name))
        assert_array_equal(array, getattr(two, name))
    assert one.rank.dtype == np.int64
    with pytest.raises(AttributeError, match="no attribute 'speed'"):
        one.speed  # noqa: B018


def test_loops_of_one_workspace_share_no_memory() -> None:
    system, q = five_bar()
    work = system.workspace().copy()
    options = run_options(
        system, Stepping(dt=1e-3), "projection", Recording(), t0=0.0, duration=1.0, driven=False
    )
    loops = [Integration(work, options) for _ in range(2)]
    for loop in loops:
        loop.begin(work.pack(q))
    pointers = ("settings", "work", "stage", "run")
    tables = (*(loop.table for loop in loops), work.table)
    assert len({getattr(table, name) for table in tables for name in pointers}) == 12


def test_what_is_compiled_at_last_is_called_at_once() -> None:
    system, q = five_bar()
    sr.simulate(system, q, duration=2e-3, dt=1e-3, error_estimate=False)
    names, basis = frozenset(("dynamics", "direct")), system.compiled.basis(2, ())
    place = Table.places["dynamics"]

    def entry() -> int:
        table = Table.zeros()
        entries_of(system.compiled, names, basis).fill(table)
        return int(table[place])

    late = entry()
    assert late == entry() == system.compiled.address("dynamics")
    native = system.compiled.function("dynamics").address
    assert late != native
    assert entry() == native
