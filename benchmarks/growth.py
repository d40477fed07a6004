"""How the cost of a step grows with the number of loops, and that of forward dynamics with the length of a chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import matplotlib.pyplot as plt
import mujoco
import numpy as np

import sarrus as sr
from benchmarks.kernel import kernel_batch
from benchmarks.rows import Row, conditions
from benchmarks.timing import Comparison, batch, interleave
from sarrus.base.arrays import Array

DT = 1e-3
LOOPS, LINKS = (1, 2, 5, 10, 20, 40, 80, 160), (5, 10, 20, 40, 80, 160)
STEP, CHAIN = "step, N four-bars in a row", "serial chain of N links"
# Angle [rad] and rate [rad/s] of all rods at the start: a quarter of a second from the nearest singular configuration.
ANGLE, RATE = 0.3, 1.0


@cache
def four_bars(count: int) -> tuple[sr.Mechanism, sr.System, Array, Array]:
    """Return so many four-bars side by side, which share their rods, closed by points; with a state."""
    mechanism = sr.Mechanism(f"four-bars {count}", gravity=(0, 0, -9.81))
    for k in range(count + 1):
        mechanism.add_body(f"rod{k}", 1.0, com=(0, 0, 0.5), inertia=(1 / 12, 1 / 12, 1e-4))
        mechanism.add_joint(f"pin{k}", "revolute", "world", f"rod{k}", axis=(0, 1, 0), parent_pose=(k, 0, 0))
    for k in range(count):
        mechanism.add_body(f"coupler{k}", 1.0, com=(0.5, 0, 0), inertia=(1e-4, 1 / 12, 1 / 12))
        mechanism.add_joint(
            f"joint{k}", "revolute", f"rod{k}", f"coupler{k}", axis=(0, 1, 0), parent_pose=(0, 0, 1)
        )
        mechanism.add_closure(
            f"loop{k}", "point", f"coupler{k}", f"rod{k + 1}", pose1=(1, 0, 0), pose2=(0, 0, 1)
        )
    system = sr.System(mechanism)
    sign = np.array([1.0 if name.startswith("pin") else -1.0 for name in system.coordinate_names])
    return mechanism, system, ANGLE * sign, RATE * sign


@cache
def chain(count: int) -> tuple[sr.Mechanism, sr.System, Array, Array]:
    """Return a chain of links with seeded axes, placements and inertias, and a state."""
    rng = np.random.default_rng(0)
    mechanism, before = sr.Mechanism(f"chain {count}", gravity=(0, 0, -9.81)), "world"
    for k in range(count):
        axis = rng.normal(size=3)
        mechanism.add_body(f"link{k}", 1.0, com=0.1 * rng.normal(size=3), inertia=rng.uniform(0.05, 0.08, 3))
        mechanism.add_joint(
            f"joint{k}",
            "revolute",
            before,
            f"link{k}",
            axis=axis / np.linalg.norm(axis),
            parent_pose=0.3 * rng.normal(size=3),
        )
        before = f"link{k}"
    return mechanism, sr.System(mechanism), rng.normal(size=count), rng.normal(size=count)


def rows(quick: bool) -> list[Row]:
    """Return the time of a step of N four-bars, and of forward dynamics of chains."""
    repeats, found = 5 if quick else 15, []
    for count in LOOPS[:5] if quick else LOOPS:
        steps = max(400, 2000 // count)
        for peer, integrator in (("MuJoCo RK4, best", "RK4"), ("MuJoCo Euler, best", "Euler")):
            result = interleave(_steps(count, steps), _mujoco_steps(count, steps, integrator), repeats)
            note = (
                f"dt 1 ms, {steps} steps in one call; MuJoCo: solref 0.004, solimp 0.9999, no contacts, the faster of "
                "dense and sparse Jacobians"
            )
            target = 3.0 if integrator == "RK4" else None
            found.append(
                _row(STEP, count, result, peer, conditions("mujoco", note=note, repeats=repeats), target)
            )
    for count in LINKS[:3] if quick else LINKS:
        _, system, q, v = chain(count)
        result = interleave(kernel_batch(system, q, v, 100), _aba(count), repeats)
        note = "kernel evaluation against aba, with random axes, placements and inertias"
        found.append(
            _row(CHAIN, count, result, "Pinocchio ABA", conditions("pin", note=note, repeats=repeats), 1.0)
        )
    return found


def _row(name: str, count: int, result: Comparison, peer: str, note: str, at_least: float | None) -> Row:
    extra = {"size": count}
    return Row(
        name, f"N = {count}", result.ours_us, note, peer, result.peer_us, result.ratio, at_least, extra=extra
    )


def _steps(count: int, steps: int) -> Callable[[], float]:
    _, system, q, v = four_bars(count)

    def run() -> float:
        motion = sr.simulate(
            system, q, v, duration=steps * DT, dt=DT, every=steps, progress=False, error_estimate=False
        )
        return motion.wall_seconds / motion.steps

    return run


def _mujoco_steps(count: int, steps: int, integrator: str) -> Callable[[], float]:
    """Return the faster of the two forms of MuJoCo's Jacobian."""
    mechanism, _, q, v = four_bars(count)
    model = mujoco.MjModel.from_xml_string(mjcf(mechanism))
    model.opt.timestep, model.opt.integrator = (
        DT,
        getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}"),
    )
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    model.eq_solref[:], model.eq_solimp[:, :2] = (0.004, 1.0), 0.9999
    data = mujoco.MjData(model)

    def run(jacobian: mujoco.mjtJacobian) -> float:
        model.opt.jacobian = jacobian
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = q, v
        began = perf_counter()
        mujoco.mj_step(model, data, steps)
        return (perf_counter() - began) / steps

    forms = (mujoco.mjtJacobian.mjJAC_DENSE, mujoco.mjtJacobian.mjJAC_SPARSE)
    return lambda: min(run(form) for form in forms)


def _aba(count: int) -> Callable[[], float]:
    """Return Pinocchio's articulated-body algorithm; the bindings' share of a call is some 0.5 µs."""
    import pinocchio as pin

    from benchmarks.pinocchio_peer import PinocchioPeer

    mechanism, _, q, v = chain(count)
    model = PinocchioPeer(mechanism).model
    data, tau = model.createData(), np.zeros(count)
    return batch(lambda: pin.aba(model, data, q, v, tau))


def mjcf(mechanism: sr.Mechanism) -> str:
    """Return the model for MuJoCo."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        mechanism.to_mjcf(path)
        return path.read_text(encoding="utf-8")


def exponent(found: Sequence[Row], *, from_size: int = 1) -> float:
    """Return the exponent with which the time of sarrus grows with the size, by least squares of logarithms."""
    points = {row.extra["size"]: row.ours_us for row in found if row.extra["size"] >= from_size}
    return float(np.polyfit(np.log(list(points)), np.log(list(points.values())), 1)[0])


def draw(found: Sequence[Row], path: Path) -> None:
    """Draw times against sizes, both logarithmic, as a PNG file."""
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
    for panel, name in zip(axes, (STEP, CHAIN)):
        own = [row for row in found if row.name == name]
        for peer in dict.fromkeys(row.peer for row in own):
            theirs = [(row.extra["size"], row.peer_us) for row in own if row.peer == peer]
            panel.loglog(*zip(*theirs), "o--", markersize=4, label=peer)
        mine = {int(row.extra["size"]): row.ours_us for row in own}
        panel.loglog(
            list(mine), list(mine.values()), "o-", linewidth=2, label=f"sarrus, N^{exponent(own):.2f}"
        )
        panel.set(title=name, xlabel="N", ylabel="µs")
        panel.set_xticks(list(mine), labels=list(map(str, mine)))
        panel.minorticks_off()
        panel.grid(True, which="major", alpha=0.3)
        panel.legend(fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)
