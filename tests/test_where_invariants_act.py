"""Where runs keep invariants, and where they refuse to: methods, many runs, files, the command line, studies."""

from __future__ import annotations

import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from invariant_cases import CHAIN, chain, heavy_ring, kept, momentum_of, ring, state, sums

sys.path.insert(0, str(Path(__file__).resolve().parent / "families"))
from kept_invariants import cases


def test_formulations_events_and_many_runs() -> None:
    q, v = state(ring())
    way = kept(*CHAIN)
    plain = sr.simulate(ring(), q, v, duration=1.0, dt=0.02, stabilization=way)
    short = {"duration": 0.2, "dt": 2e-3, "stabilization": way}
    other = sr.simulate(ring(), q, v, formulation="null-space", **short)  # type: ignore[arg-type]
    assert_allclose(other.q, sr.simulate(ring(), q, v, **short).q, atol=1e-11)  # type: ignore[arg-type]
    assert max(other.invariant_drift.values()) < 1e-12
    event = sr.Event("flat", lambda q, v, t: q[3] - 1.0)
    cut = sr.simulate(ring(), q, v, duration=1.0, rtol=1e-8, stabilization=way, events=[event])
    assert max(cut.invariant_drift.values()) < 1e-12
    many = sr.rollout(
        ring(), [q, q], [v, 2 * v], duration=1.0, dt=0.02, every=1, stabilization=way, threads=1
    )
    assert_allclose(many.final_q[0], plain.q[-1], atol=0)
    for run in range(2):
        own = np.array([sums(*both) for both in zip(many.samples.q[run], many.samples.v[run])])
        assert_allclose(own, [own[0]] * len(own), atol=1e-11)


def test_energy_is_one_of_them_to_the_bit() -> None:
    q, v = state(heavy_ring())
    runs = [
        sr.simulate(heavy_ring(), q, v, duration=0.5, dt=0.01, stabilization=one, error_estimate=False)
        for one in ("energy", kept("energy"), kept(sr.Invariant.energy()))
    ]
    for run in runs[1:]:
        assert (run.q == runs[0].q).all()
        assert (run.v == runs[0].v).all()
        assert run.invariant_names == ("energy",)


def test_every_so_many_steps() -> None:
    q, v = state(ring())
    run = sr.simulate(ring(), q, v, duration=1.0, dt=0.02, stabilization=kept(*CHAIN, every=5))
    assert run.status is sr.Status.OK
    own = np.array([sums(*both) for both in zip(run.q, run.v)])
    assert_allclose(own[::5], [own[0]] * len(own[::5]), atol=1e-11)


def test_quantities_of_laws() -> None:
    q, v = state(ring())
    both = sr.Invariant("p", sr.control.momentum("xy", ""))
    run = sr.simulate(ring(), q, v, duration=0.5, dt=0.02, stabilization=kept(both))
    assert run.invariant_names == ("p[0]", "p[1]")
    assert_allclose(run.invariants[-1], sums(q, v)[:2], atol=1e-11)


def test_files(tmp_path: Path) -> None:
    q, v = state(ring())
    run = sr.simulate(ring(), q, v, duration=0.2, dt=0.02, stabilization=kept(*CHAIN))
    again = sr.Trajectory.load(run.save(tmp_path / "ring.nc"))
    assert again.invariant_names == CHAIN
    assert (again.invariants == run.invariants).all()
    assert again.invariant_drift == run.invariant_drift
    header = run.to_csv(tmp_path / "ring.csv").read_text().splitlines()[0]
    assert "invariants momentum.x" in header
    plain = sr.simulate(ring(), q, v, duration=0.2, dt=0.02)
    assert plain.invariants.shape == (11, 0)
    assert "invariants" not in plain.to_xarray()


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sarrus.runs.cli.main import main

    path = tmp_path / "ring.xml"
    chain(links=3).to_mjcf(path)
    arguments = ["simulate", str(path), "--duration", "0.2", "--dt", "0.01", "--velocity", "base.x=1"]
    arguments += ["--assemble"]
    assert main([*arguments, "--invariant", "momentum.x", "--invariant", "energy"]) == 0
    assert "momentum.x drift" in capsys.readouterr().out
    assert main([*arguments, "--invariant", "momentum"]) == 2
    assert "momentum.x" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("not by kind='none'", {"kind": "none", "invariants": ("energy",)}),
        ("not by kind='baumgarte'", {"kind": "baumgarte", "invariants": ("energy",)}),
        ("must be a sequence", {"invariants": "energy"}),
        ("unknown invariant 'momentum'. Did you mean 'momentum", {"invariants": ("momentum",)}),
        ("names or sr.Invariant", {"invariants": (3,)}),
        ("names of their own", {"invariants": ("energy", sr.Invariant.energy())}),
    ],
)
def test_refusals_of_a_stabilization(text: str, arguments: dict[str, object]) -> None:
    with pytest.raises(sr.ArgumentError, match=text):
        sr.Stabilization(**arguments)  # type: ignore[arg-type]


def test_refusals_of_runs() -> None:
    q, v = state(ring())
    refused = {
        "depends on neither q nor v": {"stabilization": kept(sr.Invariant("clock", lambda q, v, t: t))},
        "invariant 'odd': the function could not": {
            "stabilization": kept(sr.Invariant("odd", lambda q, v, t: q[99]))
        },
        "'momentum.z' depends on neither": {"stabilization": kept("momentum.z")},
        "the invariant 'root' or its gradient is not a number": {
            "stabilization": kept(sr.Invariant("root", lambda q, v, t: ca.sqrt(-1 - v[0] ** 2)))
        },
        "leave stabilization='projection'": {"stabilization": kept("energy"), "coordinates": "partition"},
        "leave stabilization at its default": {
            "stabilization": kept("energy"),
            "method": "moreau-jean",
            "dt": 0.01,
        },
        "needs a conservative system": {
            "stabilization": kept("energy"),
            "force": lambda q, v, t: [0] * 7,
        },
    }
    for text, options in refused.items():
        with pytest.raises(sr.ArgumentError, match=text):
            sr.simulate(ring(), q, v, duration=0.1, **options)  # type: ignore[arg-type]
    plain = sr.System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: v**2 / 2)
    with pytest.raises(sr.ArgumentError, match=r"'momentum.x': .* only a system made from a Mechanism"):
        sr.simulate(plain, [0.0], duration=0.1, stabilization=kept("momentum.x"))
    for bad in ({"name": "", "function": abs}, {"name": "a", "function": 3}):
        with pytest.raises(sr.ArgumentError, match="Invariant"):
            sr.Invariant(**bad)  # type: ignore[arg-type]
    with pytest.raises(sr.ArgumentError, match="length zero"):
        sr.Invariant.momentum((0, 0, 0))


def test_seeded_mechanisms() -> None:
    """``python tests/families/kept_invariants.py --cases 200`` does more."""
    for seed, found, change in cases(0, 8):
        assert found == "right", seed
        assert change < 1e-11


def test_studies_and_comparisons(tmp_path: Path) -> None:
    q, v = state(ring())
    way = kept("energy", sr.Invariant("along", lambda q, v, t: momentum_of(q, v)[0]))
    settings = {"duration": 0.1, "dt": 0.01, "q": q, "store": tmp_path / "runs", "stabilization": way}
    grid = {"q.base.x": [0.0, 0.1]}
    found = sr.study(ring(), grid, **settings)  # type: ignore[arg-type]
    assert (found.status == "OK").all()
    again = sr.study(ring(), grid, **settings)  # type: ignore[arg-type]
    assert_allclose(again.q, found.q, atol=0)
    with pytest.raises(sr.ArgumentError, match="stabilization"):
        sr.study(ring(), grid, **(settings | {"stabilization": "energy"}))  # type: ignore[arg-type]
    compared = sr.compare(
        ring(),
        q,
        v,
        duration=0.1,
        dt=0.01,
        formulations=["kernel", "kernel:baumgarte", "null-space"],
        stabilization=way,
    )
    runs = compared.trajectories
    assert runs["kernel"].invariant_names == ("energy", "along")
    assert runs["kernel:baumgarte"].invariant_names == ()
    assert max(runs["null-space"].invariant_drift.values()) < 1e-12


def test_an_environment_keeps_none() -> None:
    pytest.importorskip("gymnasium")
    m = chain(links=3)
    m.add_actuator("motor", "j1")
    with pytest.raises(sr.ArgumentError, match="an environment keeps no invariants"):
        sr.gym.make(
            sr.System(m), duration=1.0, sample_time=0.01, stabilization=kept("momentum.x"),
            reward=lambda q, v, u, t: 0.0,
        )  # fmt: skip
