"""Runs whose tendon jumps off what it wraps, and back, within a step: right, or said not to be."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sarrus as sr

SECONDS = 0.8
MODEL = """<mujoco><option gravity="0 0 {gravity}"/><compiler angle="radian" boundmass="0" boundinertia="0"/><worldbody>
<geom name="wheel" type="{kind}" size="{size}" pos="0 0 {height}" {turn} contype="0" conaffinity="0"/>
<site name="anchor" pos="{anchor}"/><site name="side" pos="{side}"/>
<body name="load" pos="{load}"><joint name="x" type="slide" axis="1 0 0" damping="{drag}"/>
<joint name="z" type="slide" axis="0 0 1" damping="{drag}"/>
<inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/><site name="hook"/></body></worldbody>
<tendon><spatial name="rope" stiffness="{stiffness}" damping="{damping}" springlength="{rest}"><site site="anchor"/>
<geom geom="wheel" sidesite="side"/><site site="hook"/></spatial></tendon></mujoco>"""


def rope(seed: int, length: float = 1.0) -> tuple[str, dict[str, float]]:
    """A load on an elastic rope over a wheel, with a side point; in units of ``length`` [1/m], and of mass likewise."""
    rng = np.random.default_rng(seed)

    def at(*values: float) -> str:
        return " ".join(f"{length * value:.17g}" for value in values)

    radius, round_ = rng.uniform(0.02, 0.08), bool(rng.integers(2))
    off, angle = radius * rng.choice([0.4, 1.0, 1.5]), rng.uniform(0.0, 2.0 * np.pi)
    numbers = {
        "stiffness": rng.uniform(50.0, 2000.0) * length,
        "damping": rng.uniform(0.0, 2.0) * length,
        "mass": rng.uniform(0.3, 2.0) * length,
        "rest": rng.uniform(0.3, 0.8) * length,
        "drag": 0.1 * length,
        "gravity": -9.81 * length,
    }
    text = MODEL.format(
        kind="sphere" if round_ else "cylinder",
        size=at(radius) if round_ else at(radius, 0.2),
        turn="" if round_ else 'quat="0.70710678118654757 0.70710678118654757 0 0"',
        height=at(0.5),
        anchor=at(-0.2, 0.01, 0.2),
        side=at(off * np.cos(angle), 0.0, 0.5 + off * np.sin(angle)),
        load=at(0.25, 0.0, 0.1),
        inertia=0.01 * length**3,
        **numbers,
    )
    return text, numbers


def reference(text: str, numbers: dict[str, float]) -> np.ndarray:
    """Return where the load is in the end, by short steps with the lengths and lever arms of MuJoCo."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def slope(_: float, x: np.ndarray) -> np.ndarray:
        data.qpos[:], data.qvel[:] = x[:2], x[2:]
        mujoco.mj_fwdPosition(model, data)
        arm = np.zeros((1, 2))
        arm[0] = data.ten_J.reshape(1, -1)[0]
        pull = -numbers["stiffness"] * (data.ten_length[0] - numbers["rest"]) - numbers["damping"] * (
            arm[0] @ x[2:]
        )
        force = (
            pull * arm[0] - numbers["drag"] * x[2:] + numbers["mass"] * np.array([0.0, numbers["gravity"]])
        )
        return np.concatenate([x[2:], force / numbers["mass"]])

    run = solve_ivp(
        slope, (0.0, SECONDS), np.zeros(4), rtol=1e-10, atol=1e-12, max_step=2e-4, method="DOP853"
    )
    return run.y[:2, -1]


@pytest.mark.parametrize("seed", [12, 53])
def test_a_path_that_jumps_and_jumps_back_is_seen(seed: int, tmp_path: Path) -> None:
    text, numbers = rope(seed)
    exact = reference(text, numbers)
    for length in (1.0, 1000.0):
        path = tmp_path / f"rope{length:g}.xml"
        path.write_text(rope(seed, length)[0])
        system = sr.System(sr.load(path))
        right = 0
        fine, finer = {"rtol": 1e-9, "atol": 1e-11 * length}, {"method": sr.Stepping(max_step=2e-4)}
        for options in ({}, fine, {"method": "rodas5p", "rtol": 1e-9}, finer):
            run = sr.simulate(system, system.neutral(), duration=SECONDS, throw=False, **options)
            off = np.abs(run.q[-1] / length - exact).max()
            assert off < 1e-4 or run.status is sr.Status.INACCURATE
            right += off < 1e-4 and run.status is sr.Status.OK
            if "jumps by" in run.message:
                assert "'rope'" in run.message
        assert right >= 1
