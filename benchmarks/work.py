"""Work against error: what a second of motion costs at a given accuracy, through singular configurations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import mujoco
import numpy as np
from scipy.integrate import solve_ivp

import sarrus as sr
from benchmarks.growth import ANGLE, RATE, four_bars, mjcf
from benchmarks.rows import Row, conditions

COUNT, DURATION = 5, 1.0
STEPS = (4e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)
# MuJoCo's closures: as they come, as stiff as each step allows, and that without softness.
CLOSURES = {"default": None, "stiff": 2.0}
BOUNDS = (1e-2, 1e-4, 1e-6, 1e-8)


@dataclass(frozen=True)
class Point:
    """A setting of a program: its time for the whole motion [µs], and the error of the angle of the rods [rad]."""

    program: str
    setting: str
    microseconds: float
    error: float


def exact_angle() -> float:
    """Return the angle of the rods at the end: they stay parallel, so that one coordinate is all the motion.

    (N + 1) rods turn about their ends, N couplers go along circles: I θ̈ = g (mass above the pins) sin θ.
    """
    inertia = (COUNT + 1) / 3 + COUNT
    moment = 9.81 * ((COUNT + 1) / 2 + COUNT)
    motion = solve_ivp(
        lambda _, y: (y[1], moment / inertia * np.sin(y[0])),
        (0.0, DURATION),
        (ANGLE, RATE),
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
    )
    return float(motion.y[0, -1])


def points(repeats: int) -> list[Point]:
    """Return all settings of both programs; times are medians, the programs in turns."""
    settings = [*_sarrus_settings(), *_mujoco_settings()]
    times: list[list[float]] = [[] for _ in settings]
    angles = [0.0] * len(settings)
    for _ in range(repeats):
        for k, (_, _, run) in enumerate(settings):
            seconds, angles[k] = run()
            times[k].append(1e6 * seconds)
    exact = exact_angle()
    return [
        Point(program, setting, float(np.median(spent)), abs(angle - exact) if np.isfinite(angle) else np.inf)
        for (program, setting, _), spent, angle in zip(settings, times, angles)
    ]


Setting = tuple[str, str, Callable[[], tuple[float, float]]]


def _sarrus_settings() -> list[Setting]:
    _, system, q, v = four_bars(COUNT)

    def run(options: dict[str, float]) -> tuple[float, float]:
        motion = sr.simulate(
            system, q, v, duration=DURATION, every=10**9, progress=False, error_estimate=False, **options
        )
        return motion.wall_seconds, float(motion.q[-1, 0])

    fixed = [(f"dt {dt:g}", {"dt": dt}) for dt in STEPS]
    adaptive = [(f"rtol {rtol:g}", {"rtol": rtol, "atol": 1e-2 * rtol}) for rtol in TOLERANCES]
    return [
        *(("sarrus RK4", name, lambda options=options: run(options)) for name, options in fixed),
        *(("sarrus, adaptive", name, lambda options=options: run(options)) for name, options in adaptive),
    ]


def _mujoco_settings() -> list[Setting]:
    mechanism, _, q, v = four_bars(COUNT)
    found: list[Setting] = []
    for integrator in ("RK4", "Euler"):
        for closures, stiffness in CLOSURES.items():
            for dt in STEPS:
                model = mujoco.MjModel.from_xml_string(mjcf(mechanism))
                model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
                model.opt.timestep = dt
                model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
                if stiffness is not None:
                    model.eq_solref[:], model.eq_solimp[:, :2] = (stiffness * dt, 1.0), 0.9999
                data = mujoco.MjData(model)

                def run(
                    model: mujoco.MjModel = model, data: mujoco.MjData = data, dt: float = dt
                ) -> tuple[float, float]:
                    mujoco.mj_resetData(model, data)
                    data.qpos[:], data.qvel[:] = q, v
                    began = perf_counter()
                    mujoco.mj_step(model, data, round(DURATION / dt))
                    return perf_counter() - began, float(data.qpos[0])

                found.append((f"MuJoCo {integrator}, {closures}", f"dt {dt:g}", run))
    return found


def rows(quick: bool) -> list[Row]:
    """Return what the cheapest setting of each program costs that keeps an error below a bound."""
    repeats = 3 if quick else 9
    note = f"{DURATION:g} s of N = {COUNT} four-bars through a singular configuration"
    return comparison(
        points(repeats), BOUNDS, "rad", f"N = {COUNT}", conditions("mujoco", note=note, repeats=repeats)
    )


def comparison(
    found: Sequence[Point], bounds: Sequence[float], unit: str, model: str, circumstances: str
) -> list[Row]:
    """Return for every bound of the error what the cheapest setting of sarrus and of its peers costs."""
    ours = [point for point in found if point.program.startswith("sarrus")]
    theirs = [point for point in found if point not in ours]
    out = []
    for bound in bounds:
        own, peer = _cheapest(ours, bound), _cheapest(theirs, bound)
        assert own is not None
        best = min(theirs, key=lambda point: point.error) if peer is None else peer
        out.append(
            Row(
                name=f"error below {bound:g} {unit}".rstrip(),
                model=model,
                ours_us=own.microseconds,
                conditions=circumstances,
                peer=f"{best.program}, {best.setting}" if peer else f"none; {best.program}, {best.setting}",
                peer_us=best.microseconds,
                ratio=best.microseconds / own.microseconds,
                extra={
                    "setting": f"{own.program.removeprefix('sarrus').strip(' ,')}, {own.setting}".strip(" ,"),
                    "ours_error": own.error,
                    "peer_error": best.error,
                    "points": [asdict(point) for point in found if np.isfinite(point.error)],
                },
            )
        )
    return out


def _cheapest(among: Sequence[Point], bound: float) -> Point | None:
    good = [point for point in among if point.error <= bound]
    return min(good, key=lambda point: point.microseconds) if good else None


def draw(rows: Sequence[Row], path: Path, error: str, time: str) -> None:
    """Draw time against error of all settings, both logarithmic, a panel for every model of the rows, as a PNG file."""
    panels = {row.model: [Point(**point) for point in row.extra["points"]] for row in rows}
    figure, axes = plt.subplots(
        1, len(panels), figsize=(1.5 + 4.5 * len(panels), 4.5), layout="constrained", squeeze=False
    )
    for panel, (model, found) in zip(axes.flat, panels.items()):
        for program in dict.fromkeys(point.program for point in found):
            own = [point for point in found if point.program == program]
            style = "o-" if program.startswith("sarrus") else "o--"
            panel.loglog(
                [p.error for p in own], [p.microseconds for p in own], style, markersize=4, label=program
            )
        panel.set(xlabel=error, ylabel=time, title=model)
        panel.invert_xaxis()
        panel.grid(True, which="major", alpha=0.3)
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)
