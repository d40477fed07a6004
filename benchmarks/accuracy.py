"""The slider-crank with equal links through its singular configurations: errors and times against MuJoCo."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import mujoco
import numpy as np
from scipy.integrate import solve_ivp

import sarrus as sr
from benchmarks.rows import Row, conditions
from benchmarks.timing import interleave

MODEL = Path(__file__).with_name("slider_crank.xml")
DURATION, DT = 10.0, 1e-3
STEPS = round(DURATION / DT)
START = np.array([8.0, -16.0, 0.0])  # velocities of crank, rod and slider at the stretched configuration
GRAVITY, POINT_INERTIA = 9.81, 1e-9


def rows(quick: bool) -> list[Row]:
    """Return one row per setting of MuJoCo: 10 s at 1 ms, final crank angle against the exact motion."""
    repeats = 2 if quick else 7
    found = []
    for slider, solref in ((0.5, None), (0.5, "0.002 1"), (1e-6, None)):
        xml = _document(slider, solref)
        model = mujoco.MjModel.from_xml_string(xml)
        system = _system(xml)
        exact = exact_angle(slider)
        ours = sr.simulate(system, system.neutral(), START, duration=DURATION, dt=DT, progress=False)
        angle, gap = _mujoco_motion(model)
        result = interleave(_sarrus_batch(system), _mujoco_batch(model), repeats)
        setting = f'solref="{solref}"' if solref else "default solref"
        note = (
            f"RK4, dt 1 ms, 10 s, {len(ours.passages)} singular configurations, the same MJCF on both sides"
        )
        found.append(
            Row(
                name=f"accuracy, slider {slider:g} kg",
                model="slider_crank",
                ours_us=result.ours_us,
                peer=f"MuJoCo RK4, {setting}",
                peer_us=result.peer_us,
                ratio=result.ratio,
                conditions=conditions("mujoco", note=note, repeats=repeats),
                extra={
                    "ours_angle_error_rad": abs(float(ours.q[-1, 0]) - exact),
                    "peer_angle_error_rad": abs(angle - exact),
                    "ours_gap_m": float(ours.residual.max()),
                    "peer_gap_m": gap,
                },
            )
        )
    return found


def exact_angle(slider: float) -> float:
    """Return the crank angle at the end on the branch rod = −2 crank, which continuity of velocity selects.

    On it the slider is at 2 cos θ and the mechanism has one coordinate: T = ½ I(θ) θ̇² with
    I = 1 + 4 (1 + m) sin²θ + 2 × point inertia, V = g sin θ.
    """

    def field(_: float, y: np.ndarray) -> list[float]:
        angle, rate = y
        inertia = 1.0 + 4.0 * (1.0 + slider) * np.sin(angle) ** 2 + 2.0 * POINT_INERTIA
        slope = 4.0 * (1.0 + slider) * np.sin(2.0 * angle)
        return [rate, (-GRAVITY * np.cos(angle) - 0.5 * slope * rate**2) / inertia]

    motion = solve_ivp(field, (0.0, DURATION), [0.0, START[0]], method="DOP853", rtol=1e-13, atol=1e-13)
    return float(motion.y[0, -1])


def _document(slider: float, solref: str | None) -> str:
    """Return the model with another mass of the slider and stiffness of the closure."""
    root = ET.parse(MODEL).getroot()
    for inertial in root.iterfind(".//body[@name='slider']/inertial"):
        inertial.set("mass", repr(slider))
    for closure in root.iterfind(".//connect"):
        if solref:
            closure.set("solref", solref)
    return ET.tostring(root, encoding="unicode")


def _system(xml: str) -> sr.System:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / MODEL.name
        path.write_text(xml)
        return sr.System(sr.load(path))


def _sarrus_batch(system: sr.System) -> Callable[[], float]:
    def run() -> float:
        motion = sr.simulate(
            system, system.neutral(), START, duration=DURATION, dt=DT, every=STEPS, progress=False
        )
        return motion.wall_seconds / motion.steps

    return run


def _mujoco_batch(model: mujoco.MjModel) -> Callable[[], float]:
    data = mujoco.MjData(model)

    def run() -> float:
        mujoco.mj_resetData(model, data)
        data.qvel[:] = START
        began = perf_counter()
        mujoco.mj_step(model, data, STEPS)
        return (perf_counter() - began) / STEPS

    return run


def _mujoco_motion(model: mujoco.MjModel) -> tuple[float, float]:
    """Return the final crank angle and the largest opening of the loop after a step [m]."""
    data = mujoco.MjData(model)
    data.qvel[:] = START
    tip, pin = data.site("tip"), data.site("pin")
    gap = 0.0
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        gap = max(gap, float(np.linalg.norm(tip.xpos - pin.xpos)))
    return float(data.qpos[0]), gap
