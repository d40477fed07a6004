"""Sweeps: labels, failures as rows, stores that go on where they were, clusters whose workers die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
import xarray as xr

import sarrus as sr
from mechanisms import four_bar
from sarrus.base.errors import ArgumentError, StoreWarning
from sarrus.runs.studies.axes import read_axes
from sarrus.runs.studies.dataset import open_result, save, slabs
from sarrus.runs.studies.identity import control_hash, function_hash

FIVE_BAR = Path(__file__).parent.parent / "models" / "five_bar.xml"
SAMPLES = {
    "m": sr.studies.normal(2.0, 0.1),
    "q.left": sr.studies.uniform(1.9, 2.3),
    "u.left_motor": sr.studies.normal(0, 5),
}


def five_bar() -> sr.System:
    return sr.System(sr.load(FIVE_BAR), parameters={"m": "link1.mass"})


@pytest.fixture(scope="module")
def system() -> sr.System:
    return five_bar()


def study(system: sr.System, **options: object) -> xr.Dataset:
    """The study that several tests do in different ways: 200 runs in chunks of 16."""
    settings: dict[str, object] = {
        "samples": sr.studies.draw(SAMPLES, 200, seed=7),
        "duration": 0.5,
        "dt": 1e-3,
        "outputs": ["q", "v", "energy.max", first_step],
        "chunk": 16,
    }
    return sr.study(system, **{**settings, **options})  # type: ignore[arg-type]


def first_step(rollout: sr.Rollout) -> dict[str, object]:
    """A user's own output."""
    return {"speed": np.abs(rollout.final_v).max(axis=1), "pair": (("side",), rollout.final_q[:, ::2])}


def counted(rollout: sr.Rollout) -> dict[str, object]:
    """An output with a set of names among its constants."""
    return {name: rollout.steps for name in ("one", "two") if name in {"one", "three", "four", "five"}}


def spring(q: ca.SX, v: ca.SX, t: ca.SX) -> list[ca.SX]:
    """A control that is traced."""
    return [-3.0 * q[0], ca.cos(t)]


def same_bits(one: xr.Dataset, other: xr.Dataset) -> None:
    """Assert that two results are equal, bit for bit, and labelled alike."""
    xr.testing.assert_identical(one.load(), other.load())
    for name in one.data_vars:
        if one[name].dtype.kind == "f":
            assert one[name].values.tobytes() == other[name].values.tobytes(), name


# --- labels and values -------------------------------------------------------------------------------


def test_grid_has_a_dimension_per_axis_and_each_run_is_that_of_simulate(system):
    axes = {"m": [1.5, 2.5], "q.left": [1.9, 2.1, 2.2], "v.left": [0.0, 0.5]}
    result = sr.study(
        system, axes, duration=0.1, dt=1e-3, every=50, outputs=["q", "v", "energy"], u=[3.0, 0.0]
    )
    assert result.q.dims == ("m", "q.left", "v.left", "time", "coordinate")
    assert result.energy.shape == (2, 3, 2, 3)
    np.testing.assert_array_equal(result.time, [0.0, 0.05, 0.1])
    assert result["q.left"].attrs["units"] == "rad"
    assert result["v.left"].attrs["units"] == "rad/s"
    assert (result.status == "OK").all()
    np.testing.assert_allclose(
        result.q.sel(time=0, coordinate="left").values,
        np.reshape(axes["q.left"], (1, 3, 1)) + np.zeros((2, 1, 2)),
        atol=1e-12,
    )
    np.testing.assert_allclose(result.v.sel(time=0, velocity="left").values[..., 1], 0.5, atol=1e-12)
    one = result.sel({"m": 2.5, "q.left": 2.1, "v.left": 0.5})
    system.parameters["m"] = 2.5
    try:
        single = sr.simulate(
            system,
            one.q[0].values,
            one.v[0].values,
            duration=0.1,
            dt=1e-3,
            control=lambda q, v, t: [3.0, 0.0],
        )
    finally:
        system.parameters["m"] = 2.0
    np.testing.assert_allclose(one.q[-1], single.q[-1], atol=1e-11)
    np.testing.assert_allclose(one.energy[-1], single.energy[-1], rtol=1e-11)


def test_samples_are_coordinates_of_the_runs(system):
    result = study(system)
    drawn = sr.studies.draw(SAMPLES, 200, seed=7)
    assert result.sizes["run"] == 200
    for name in SAMPLES:
        np.testing.assert_array_equal(result[name], drawn[name])
        assert result[name].dims == ("run",)
    assert result.pair.dims == ("run", "side")
    np.testing.assert_array_equal(result.pair, result.q.sel(coordinate=["left", "right"]))
    assert result["energy.max"].attrs["cell_methods"] == "time: maximum"
    assert result["energy.max"].attrs["units"] == "J"
    assert json.loads(result.attrs["study"])["duration"] == 0.5


def test_failed_runs_are_rows_with_their_status(system, tmp_path):
    # The tip of link 2 goes where its two angles say; link 4 and link 3 reach 2.5 m from their pivot, not farther.
    free, grid = sr.System(sr.load(FIVE_BAR)), {"q.left": [2.1, 3.1], "q.left_elbow": [-1.2, 0.0]}
    far = sr.study(free, grid, duration=0.05, outputs=["q", "rank", "steps"])
    tip = np.exp(1j * far["q.left"]) + 1.5 * np.exp(1j * (far["q.left"] + far["q.left_elbow"]))
    np.testing.assert_array_equal(far.status == "NOT_CLOSED", np.abs(tip - 1.0) > 2.5)
    failed = (far.status == "NOT_CLOSED").values
    assert failed.any()
    assert not failed.all()
    assert np.isnan(far.q.values[failed]).all()
    assert (far["rank"].values[failed] == -1).all()
    assert np.isfinite(far.q.values[~failed]).all()
    assert (far.reached.values[failed] == 0.0).all()
    kept = sr.study(free, grid, duration=0.05, outputs=["q", "rank", "steps"], store=tmp_path)
    same_bits(far, kept)
    # Three velocities of a mechanism of two degrees of freedom contradict each other.
    fast = sr.study(
        free, {"v.left": [1.0], "v.right": [0.5], "v.left_elbow": [0.0, 7.0]}, duration=0.01, outputs=["q"]
    )
    assert (fast.status == "INCONSISTENT").all()
    # Forces far beyond what the step can follow.
    wild = sr.study(free, {"u.left_motor": [0.0, 1e9]}, duration=0.5, dt=1e-2)
    assert wild.status.values[0] == "OK"
    assert wild.status.values[1] in ("PROJECTION_FAILED", "NOT_FINITE", "ILL_POSED")
    assert wild.reached.values[1] < 0.5
    assert np.isnan(wild.energy.values[1])


def test_starts_where_the_descent_is_stuck() -> None:
    """Stretched on one line, a four-bar has no direction in which its loop closes; a small push finds one."""
    found = sr.study(
        sr.System(four_bar()), grid={"q.crank": [0.0, 0.5]}, duration=1e-3, outputs=["q", "residual"]
    )
    assert found.status.values.tolist() == ["OK", "OK"]
    assert found.residual.values.max() < 1e-12
    np.testing.assert_allclose(found.q.values[:, 0], [0.0, 0.5], rtol=0, atol=1e-3)


def test_own_equations_run_here_but_cannot_travel():
    pendulum = sr.System.from_lagrangian(
        1, lambda q, v, t, p: 0.5 * v[0] ** 2 - p["g"] * (1 - ca.cos(q[0])), parameters={"g": 9.81}
    )
    result = sr.study(pendulum, {"g": [1.0, 9.81]}, duration=0.1, q=[0.5])
    assert (result.status == "OK").all()
    with pytest.raises(ArgumentError, match=r"client: .*cannot be copied or pickled"):
        sr.study(pendulum, {"g": [1.0]}, duration=0.1, client=object())


def test_laws_run_here_but_cannot_travel(system, tmp_path):
    start = np.array(system.mechanism.keyframes["symmetric"].q)

    def held(stiffness: float, **options: object) -> xr.Dataset:
        law = sr.control.ComputedTorque(
            system, ["left", "right"], sr.references.hold(start[[0, 2]]), stiffness=stiffness
        )
        return sr.study(system, {"m": [1.9, 2.0, 2.1]}, duration=0.3, q=start, control=law, **options)

    result = held(100.0, store=tmp_path / "study")
    assert np.abs(result.q - start).max() < 1e-3
    assert held(100.0, store=tmp_path / "study").identical(result)
    with pytest.raises(ArgumentError, match="differs in control"):
        held(101.0, store=tmp_path / "study")
    with pytest.raises(ArgumentError, match=r"client: ComputedTorque: a law .* cannot be pickled"):
        held(100.0, client=object())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": {"q.lft": [1.0]}}, r"unknown axis 'q.lft'. Did you mean 'q.left'\?"),
        ({"grid": {"link1.mass": [1.0]}}, r"parameters=\{\"m\": \"link.mass\"\}"),
        ({"grid": {"m": [1.0, np.nan]}}, r"grid\['m'\] must be a sequence of finite numbers"),
        ({"grid": {"m": [1.0, 1.0]}}, r"grid\['m'\] has a value twice"),
        ({"grid": {"m": sr.studies.normal(1, 1)}}, r"sr\.studies\.draw"),
        ({"samples": {"m": [1.0], "q.left": [1.0, 2.0]}}, r"'m' has 1, 'q.left' has 2"),
        ({}, "give either grid or samples"),
        ({"grid": {"m": [1.0]}, "outputs": ["energie"]}, r"unknown output 'energie'. Did you mean 'energy'"),
        ({"grid": {"m": [1.0]}, "outputs": [lambda r: {"x": 1.0}]}, r"'x' must be an array of numbers"),
        ({"grid": {"m": [-1.0]}}, r"mass"),
        ({"grid": {"m": [1.0]}, "chunk": 0}, r"chunk must be a whole number"),
        ({"grid": {"m": [1.0]}, "u": [1.0]}, r"u must be \(2,\)"),
    ],
)
def test_errors_name_what_is_wrong(system, options, message):
    with pytest.raises(ArgumentError, match=message):
        sr.study(system, **{"duration": 0.01, **options})


def test_names_that_files_cannot_have(tmp_path):
    mechanism = sr.Mechanism("pendulum/1")
    mechanism.add_body("rod", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("arm/left 1%", "revolute", "world", "rod", axis=(0, 1, 0), child_pose=(0, 0, 0.5))
    options = {
        "grid": {"q.arm/left 1%": [0.1, 0.2]},
        "duration": 0.1,
        "outputs": ["q", lambda runs: {"a/b": runs.reached, " c": (("x/y",), runs.final_q)}],
    }
    here = sr.study(sr.System(mechanism), **options)
    stored = sr.study(sr.System(mechanism), **options, store=tmp_path / "study")
    same_bits(here, stored)
    assert stored[" c"].dims == ("q.arm/left 1%", "x/y")
    save(here, tmp_path / "here.nc")
    same_bits(open_result(tmp_path / "here.nc"), here)


@pytest.mark.parametrize("name", ["q", "status", "coordinate", "run"])
def test_a_parameter_with_the_name_of_an_output(name):
    system = sr.System(sr.load(FIVE_BAR), parameters={name: "link1.mass"})
    with pytest.raises(ArgumentError, match=f"an output or a dimension '{name}': give the parameter another"):
        sr.study(system, {name: [1.0, 2.0]}, duration=0.1)


def test_draws_depend_on_seed_and_run_alone():
    few, many = (sr.studies.draw(SAMPLES, n, seed=3) for n in (10, 1000))
    alone = sr.studies.draw({"m": SAMPLES["m"]}, 10, seed=3)
    np.testing.assert_array_equal(few["m"], many["m"][:10])
    np.testing.assert_array_equal(few["m"], alone["m"])
    assert not np.array_equal(few["m"], sr.studies.draw(SAMPLES, 10, seed=4)["m"])
    few, many = (sr.studies.draw(SAMPLES, n, seed=3, scheme="sobol") for n in (10, 512))
    np.testing.assert_array_equal(few["m"], many["m"][:10])
    assert abs(many["m"].mean() - 2.0) < 1e-3
    latin = sr.studies.draw({"x": sr.studies.uniform(0, 1)}, 50, seed=1, scheme="latin")["x"]
    np.testing.assert_array_equal(np.sort(np.floor(50 * latin)), np.arange(50))  # one in each fiftieth
    with pytest.raises(ArgumentError, match="'m' must be a distribution"):
        sr.studies.draw({"m": 3.0}, 10)


def test_blocks_of_a_flat_range_cover_it_once():
    rng = np.random.default_rng(0)
    for shape in ((7,), (3, 5), (2, 3, 4), (4, 1, 3, 2)):
        size = int(np.prod(shape))
        filled, flat = np.zeros(shape, int), np.arange(size)
        cuts = [0, *sorted(rng.integers(0, size, 4).tolist()), size]
        for first, last in pairwise(cuts):
            for part, place in slabs(first, last, shape):
                filled[place] += flat[part].reshape([p.stop - p.start for p in place])
        np.testing.assert_array_equal(filled, flat.reshape(shape))


# --- stores ------------------------------------------------------------------------------------------


def test_store_holds_one_study_and_says_what_differs(system, tmp_path):
    grid = {"m": [1.0, 2.0, 3.0]}
    first = sr.study(system, grid, duration=0.01, store=tmp_path / "study")
    again = sr.study(system, grid, duration=0.01, store=tmp_path / "study")
    same_bits(first, again)
    assert sorted(p.name for p in (tmp_path / "study").iterdir()) == ["manifest.json", "result.nc"]
    for options, message in (
        ({"grid": {"m": [1.0, 2.0, 4.0]}}, r"differs in the values of 'm'"),
        ({"dt": 2e-3}, r"differs in dt \(None there, 0.002 here\)"),
        ({"outputs": ["q"]}, "differs in outputs"),
        ({"control": lambda q, v, t: [-q[0], 0]}, "differs in control"),
        ({"chunk": 2}, r"differs in chunk \(8 there, 2 here\)"),
    ):
        with pytest.raises(ArgumentError, match=message):
            sr.study(system, **{"grid": grid, "duration": 0.01, "store": tmp_path / "study", **options})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("")
    with pytest.raises(ArgumentError, match="no study that sarrus stored"):
        sr.study(system, grid, duration=0.01, store=tmp_path / "full")


def test_functions_are_told_apart_by_code_and_what_they_hold(system):
    def made(factor):
        return lambda r: {"x": factor * r.reached, "y": r.steps + (3 if "a" in {"a", "b", "c"} else 0)}

    one, same, other = function_hash(made(1.0)), function_hash(made(1.0)), function_hash(made(2.0))
    assert one == same != other
    assert function_hash(partial(first_step, 1)) != function_hash(partial(first_step, 2))
    assert function_hash(lambda r: {"x": r.reached}) != function_hash(lambda r: {"x": r.steps})
    # What a process calls a function does not depend on how it orders sets, nor on where it keeps objects.
    program = (
        "import test_study as t; print(t.function_hash(t.counted), t.control_hash(t.five_bar(), t.spring))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert told == {f"{function_hash(counted)} {control_hash(system, spring)}\n"}


def test_interrupt_keeps_what_is_finished(system, tmp_path, monkeypatch):
    whole = study(system)
    from sarrus.runs.studies.specification import Study

    run, done = Study.run, []

    def interrupted(self, values, threads=None):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(len(values["m"]))
        return run(self, values, threads)

    monkeypatch.setattr(Study, "run", interrupted)
    part = study(system)
    assert (part.status.values[:64] == whole.status.values[:64]).all()
    assert (part.status.values[64:] == "INTERRUPTED").all()
    np.testing.assert_array_equal(part.q[:64], whole.q[:64])
    done.clear()
    with pytest.raises(KeyboardInterrupt):
        study(system, store=tmp_path / "study")
    assert len(list((tmp_path / "study" / "chunks").iterdir())) == 4
    (tmp_path / "study" / "chunks" / "000002.nc").write_bytes(b"damaged")
    done.clear()
    monkeypatch.setattr(
        Study, "run", lambda self, values, threads=None: done.append(1) or run(self, values, threads)
    )
    with pytest.warns(StoreWarning, match=r"000002\.nc: .*a damaged one"):
        same_bits(study(system, store=tmp_path / "study"), whole)
    assert len(done) == 13 - 3


# A study of 100,000 runs, stored and in memory; prints the largest resident memory of the process in kB.
LARGE = """
import re, resource, sys
import sarrus as sr
system = sr.System(sr.load({model!r}), parameters={{"m": "link1.mass"}})
drawn = sr.studies.draw({{"m": sr.studies.normal(2, 0.1), "q.left": sr.studies.uniform(1.9, 2.3)}}, 100_000, seed=1)
store = sys.argv[1] if len(sys.argv) > 1 else None
result = sr.study(system, samples=drawn, duration=0.02, every=4, outputs=["q", "v", "a", "energy"], store=store)
assert result.sizes["run"] == 100_000 and (result.status == "OK").all()
# Not getrusage: on Linux its peak is at least that of the process which started this one.
status = open("/proc/self/status").read() if sys.platform == "linux" else ""
peak = re.search(r"VmHWM:\\s+(\\d+)", status)
print(peak[1] if peak else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_of_a_hundred_thousand_runs_stays_below_a_gigabyte(tmp_path):
    program = [sys.executable, "-c", LARGE.format(model=str(FIVE_BAR)), str(tmp_path / "study")]
    peak = int(subprocess.run(program, check=True, capture_output=True, text=True).stdout.split()[-1])
    assert peak * 1024 < 1e9
    assert len(list((tmp_path / "study").rglob("*"))) == 2


# --- clusters ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


# A process that does the study of these tests, here or on a cluster, says so when a chunk is on disk, and waits for an
# answer.
CHILD = """
import sys
sys.path.insert(0, {folder!r})
import test_study
from sarrus.runs.studies.store import Store
keep = Store.keep
def told(self, index, columns):
    keep(self, index, columns)
    print("chunk", flush=True)
    sys.stdin.readline()
Store.keep = told
client = None
if len(sys.argv) > 2:
    from distributed import Client
    client = Client(sys.argv[2])
test_study.study(test_study.five_bar(), store=sys.argv[1], client=client)
"""


@pytest.mark.parametrize("where", ["here", "cluster"])
def test_killed_process_loses_nothing_that_was_finished(where, system, tmp_path, monkeypatch, cluster):
    from sarrus.runs.studies.store import Store

    store, client = tmp_path / "study", cluster if where == "cluster" else None
    command = [sys.executable, "-c", CHILD.format(folder=str(Path(__file__).parent)), str(store)]
    command += [] if client is None else [client.scheduler.address]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    for k in range(5):
        if k:
            print(file=child.stdin, flush=True)
        assert child.stdout.readline() == "chunk\n"
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    finished = {int(path.stem) for path in (store / "chunks").glob("*[0-9].nc")}
    assert len(finished) == 5
    assert not (store / "result.nc").exists()
    keep, kept = Store.keep, []
    monkeypatch.setattr(
        Store, "keep", lambda self, index, columns: kept.append(index) or keep(self, index, columns)
    )
    resumed = study(system, store=store, client=client)
    assert sorted(kept) == sorted(set(range(13)) - finished)
    same_bits(resumed, study(system))


def test_worker_killed_in_the_middle_loses_and_repeats_nothing(system, tmp_path, cluster, monkeypatch):
    from sarrus.runs.studies.store import Store

    keep, kept = Store.keep, []

    def killing(self, index, columns):
        keep(self, index, columns)
        kept.append(index)
        if len(kept) == 3:
            victim = sorted(cluster.run(os.getpid).values())[0]
            os.kill(victim, signal.SIGKILL)

    monkeypatch.setattr(Store, "keep", killing)
    options = {"duration": 2.0}
    result = study(system, store=tmp_path / "study", client=cluster, **options)
    assert sorted(kept) == list(range(13))
    same_bits(result, study(system, **options))


def test_cluster_goes_on_with_a_store_and_compiles_once_per_worker(system, tmp_path, cluster, monkeypatch):
    from sarrus.runs.studies.remote import built
    from sarrus.runs.studies.specification import Study

    cluster.wait_for_workers(2, timeout=30.0)
    before = cluster.run(built)
    run, done = Study.run, []

    def interrupted(self, values, threads=None):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(1)
        return run(self, values, threads)

    with monkeypatch.context() as patch:
        patch.setattr(Study, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            study(system, store=tmp_path / "study")
    same_bits(study(system, store=tmp_path / "study", client=cluster), study(system))
    after = cluster.run(built)
    assert all(after[worker] - before[worker] <= 1 for worker in before)
    assert sum(after.values()) > sum(before.values())


def test_errors_of_workers_reach_the_caller(system, cluster):
    with pytest.raises(ArgumentError, match="unknown method 'rk5'"):
        study(system, client=cluster, method="rk5")


def test_shape_of_axes(system):
    axes = read_axes(system, {"m": [1.0, 2.0], "q.left": [1.0, 2.0, 3.0]}, None)
    assert (axes.shape, axes.runs, axes.dimensions) == ((2, 3), 6, ("m", "q.left"))
    np.testing.assert_array_equal(axes.part(2, 5)["m"], [1.0, 2.0, 2.0])
    np.testing.assert_array_equal(axes.part(2, 5)["q.left"], [3.0, 1.0, 2.0])
