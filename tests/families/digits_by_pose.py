"""Four-bars from URDF whose frames are turned by printed angles, drawn stretched, flat or closed, in any unit.

Frames are in the plane of the linkage or upright on it, by ``rpy="1.5708 0 0"`` and the like: axes of hinges differ by
what the digits leave, 1e-8 to 1e-3 rad, and the hinge that closes the loop has three redundant rows that contradict
each other by as much. The motion is that of the linkage with exact numbers, whose one equation I θ̈ + I′θ̇²/2 + V′ = 0 is
integrated here; a model that is refused names a row. At the start
the acceleration is compared, too. ``python tests/families/digits_by_pose.py --cases 200`` runs more.
"""

from __future__ import annotations

import argparse
import signal
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

import numpy as np
from scipy.integrate import solve_ivp

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError

GRAVITY, DURATION, LATE, TURN = 9.81, 0.5, 120, 1.4
DRAWN = ("stretched", "flat", "closed")
METHODS = ("default", "default", "fixed", "rollout", "implicit")


@dataclass(frozen=True, eq=False)
class FourBar:
    """One case: ground, crank, coupler, rocker [m] along x and z, the crank's angle at the start [rad]."""

    lengths: Array
    masses: Array
    crank: float
    rate: float  # of the crank at the start [rad/s]
    drawn: str
    cut_at_ground: bool
    kind: str
    upright: tuple[
        bool, ...
    ]  # of crank, coupler, rocker and closure: whether z is the axis of its hinge, else −y
    tilts: Array  # of the frames that are turned [rad]
    unit: float
    swapped: bool
    method: str

    def angles(self) -> Array:
        """Return the angles of crank, coupler and rocker from x towards z at the start."""
        return closed_angles(self.lengths, self.crank)


def closed_angles(lengths: Array, crank: float) -> Array:
    """Return the angles of the closed linkage, the rocker above the line from its pivot to the end of the crank."""
    ground, a, b, c = lengths
    pin = a * np.exp(1j * crank)
    across = abs(ground - pin)
    rocker = np.angle(pin - ground) - np.arccos((c * c + across**2 - b * b) / (2 * c * across))
    return np.array([crank, np.angle(ground + c * np.exp(1j * rocker) - pin), rocker])


def draw(rng: np.random.Generator) -> FourBar:
    """Return a random case whose crank stays away from dead centres."""
    drawn = DRAWN[rng.integers(3)]
    while True:
        ground, a, b = 1.0, rng.uniform(0.25, 0.5), rng.uniform(0.8, 1.2)
        c = a + b - ground if drawn == "flat" else rng.uniform(0.7, 1.1)
        lengths = np.array([ground, a, b, c])
        crank = rng.uniform(-np.pi, np.pi)
        if c > 0.2 and all(_transmits(lengths, crank + turn) for turn in np.linspace(-1.5, 1.5, 31)):
            break
    scale = 10.0 ** rng.uniform(-2, 1)
    tilts = rng.choice([-1.0, 1.0], 5) * 10.0 ** rng.uniform(-8, -3)
    if rng.random() < 0.3:
        tilts = np.full(5, float(rng.choice([1.57, 1.571, 1.5708, 1.570796]) - np.pi / 2))
    return FourBar(
        scale * lengths,
        rng.uniform(0.2, 2.0, 3),
        crank,
        float(rng.uniform(-2, 2) / np.sqrt(scale)) * bool(rng.random() < 0.7),
        drawn,
        bool(rng.random() < 0.3),
        str(rng.choice(["revolute", "revolute", "point"])),
        tuple(bool(x) for x in rng.random(4) < 0.5),
        tilts,
        float(rng.choice([1.0, 1e3, 1e-3])),
        bool(rng.random() < 0.5),
        METHODS[rng.integers(len(METHODS))],
    )


def _transmits(lengths: Array, crank: float) -> bool:
    with np.errstate(invalid="ignore"):
        _, coupler, rocker = closed_angles(lengths, crank)
    return bool(abs(np.sin(coupler - rocker)) > 0.35)


def urdf(case: FourBar) -> str:
    """Return the file, lengths and forces in a unit of length of their own."""
    ground, *sizes = (case.lengths * case.unit).tolist()
    names, tilts = ("crank", "coupler", "rocker"), iter(case.tilts.tolist())
    angles = case.angles()
    at_start = np.array(
        [angles[0], angles[1] - angles[0], angles[2] + (np.pi - angles[1] if case.cut_at_ground else 0.0)]
    )
    zeros = at_start.tolist() if case.drawn == "closed" else [0.0, 0.0, 0.0]
    if case.drawn == "flat" and case.cut_at_ground:
        zeros[2] = np.pi  # back along the ground

    def turn(upright: bool, parent: bool, angle: float = 0.0) -> str:
        if upright == parent:
            return f"0 0 {angle!r}" if upright else f"0 {-angle!r} 0"
        roll = np.pi / 2 + next(tilts)
        return f"{roll!r} {-angle!r} 0" if upright else f"{-roll!r} 0 {angle!r}"

    def link(name: str, length: float, mass: float) -> str:
        inertia = mass * length**2 / 12
        return (
            f'<link name="{name}"><inertial><origin xyz="{length / 2!r} 0 0"/><mass value="{mass!r}"/>'
            f'<inertia ixx="{inertia / 50!r}" ixy="0" ixz="0" iyy="{inertia!r}" iyz="0" izz="{inertia!r}"/>'
            "</inertial></link>"
        )

    def joint(k: int, parent: str, x: float, above: bool) -> str:
        axis = "0 0 1" if case.upright[k] else "0 -1 0"
        return (
            f'<joint name="{names[k]}" type="continuous"><parent link="{parent}"/><child link="{names[k]}"/>'
            f'<origin xyz="{x!r} 0 0" rpy="{turn(case.upright[k], above, zeros[k])}"/><axis xyz="{axis}"/></joint>'
        )

    parts = [link(*both) for both in zip(names, sizes, case.masses.tolist())]
    parts += [
        joint(0, "base", 0.0, False),
        joint(1, "crank", sizes[0], case.upright[0]),
        joint(2, "coupler", sizes[1], case.upright[1])
        if case.cut_at_ground
        else joint(2, "base", ground, False),
    ]
    if case.swapped:
        parts.reverse()
    ends = [("rocker", sizes[2], case.upright[2]), ("base", ground, False)]
    if not case.cut_at_ground:
        ends[1] = ("coupler", sizes[1], case.upright[1])
    if case.swapped:
        ends.reverse()
    kind = "revolute" if case.kind == "revolute" else "spherical"
    text = "".join(
        f'<link{k} link="{body}" xyz="{x!r} 0 0" rpy="{turn(case.upright[3], frame)}"/>'
        for k, (body, x, frame) in enumerate(ends, 1)
    )
    axis = "0 0 1" if case.upright[3] else "0 -1 0"
    loop = f'<loop_joint name="pin" type="{kind}">{text}<axis xyz="{axis}"/></loop_joint>'
    return f'<robot name="bars"><link name="base"/>{"".join(parts)}{loop}</robot>'


def build(case: FourBar) -> tuple[sr.System, Array, list[int]]:
    """Return the system, a guess of q near the start, and where crank, coupler and rocker are in q."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(folder) / "bars.urdf"
        file.write_text(urdf(case))
        mechanism = sr.load(file)
    mechanism.gravity = np.array([0.0, 0.0, -GRAVITY * case.unit])
    system = sr.System(mechanism)
    places = [system.coordinate_names.index(name) for name in ("crank", "coupler", "rocker")]
    angles, guess = case.angles(), np.zeros(3)
    if case.drawn != "closed":
        last = angles[2] + np.pi - angles[1] if case.cut_at_ground else angles[2]
        if case.drawn == "flat" and case.cut_at_ground:
            last -= np.pi
        guess[places] = np.array([angles[0], angles[1] - angles[0], last])
    return system, guess, places


def acceleration(case: FourBar, crank: float, rate: float) -> float:
    """Return that of the crank, of the linkage with exact numbers."""
    _, a, b, c = case.lengths
    along = np.exp(1j * closed_angles(case.lengths, crank))
    sides = 1j * b * along[1], -1j * c * along[2]
    solve = np.linalg.inv([[side.real for side in sides], [side.imag for side in sides]])
    first = -1j * a * along[0]
    k = np.array([1.0, *solve @ [first.real, first.imag]])
    bend = a * along[0] + b * along[1] * k[1] ** 2 - c * along[2] * k[2] ** 2
    kk = np.array([0.0, *solve @ [bend.real, bend.imag]])
    half = np.array([a, b, c]) / 2
    x = half * 1j * along * k + np.array([0, 1j * a * along[0], 0])
    xx = half * along * (1j * kk - k**2) + np.array([0, -a * along[0], 0])
    m, j = case.masses, case.masses * case.lengths[1:] ** 2 / 12
    inertia = np.sum(m * abs(x) ** 2 + j * k**2)
    change = np.sum(m * (x.conjugate() * xx).real + j * k * kk)
    return float(-(change * rate**2 + GRAVITY * np.sum(m * x.imag)) / inertia)


def reference(case: FourBar, duration: float) -> tuple[float, float]:
    """Return a time and the change of the crank's angle until then, of the linkage with exact numbers.

    The time is the duration, or less if the crank turns by `TURN` before.
    """

    def turned(_: float, y: Array) -> float:
        return float(abs(y[0] - case.crank) - TURN)

    turned.terminal = True  # type: ignore[attr-defined]
    found = solve_ivp(
        lambda _, y: [y[1], acceleration(case, y[0], y[1])],
        (0.0, duration),
        [case.crank, case.rate],
        rtol=1e-11,
        atol=1e-12,
        method="DOP853",
        events=turned,
    )
    return float(found.t[-1]), float(found.y[0, -1] - case.crank)


def moved(case: FourBar, duration: float) -> tuple[str, float]:
    """Return the status, or the text of the refusal, and the error of the crank's angle [rad], of its rate at first."""
    system, guess, places = build(case)
    try:
        start = system.assemble(guess, locked=["crank"]).q
        ways = system.project_velocity(start, np.eye(3)[places[0]])
        speed = case.rate * ways / ways[places[0]]
        first = system.forward_dynamics(start, speed)
        expected = acceleration(case, case.crank, case.rate)
        fast = abs(expected) + case.rate**2 + GRAVITY / case.lengths[0]
        wrong = abs(first.a[places[0]] - expected) / fast
        duration, change = reference(case, duration)
        options: dict[str, object] = {"rtol": 1e-9, "atol": 1e-10}
        if case.method == "fixed":
            options = {"dt": duration / 2000}
        if case.method == "implicit":
            options["method"] = "rodas5p"
        if case.method == "rollout":
            run = sr.rollout(system, start[None], speed[None], duration=duration, dt=duration / 2000)
            end, status = run.q[-1, 0] if run.q.ndim == 3 else run.q[0], run.status[0]
        else:
            motion = sr.simulate(system, start, speed, duration=duration, **options)  # type: ignore[arg-type]
            end, status = motion.q[-1], motion.status
    except SarrusError as error:
        return f"refused: {error}", 0.0
    wrong = max(wrong, abs(end[places[0]] - start[places[0]] - change))
    return ("OK" if sr.Status(status).ok else f"flagged: {sr.Status(status).name}"), float(wrong)


class _LateError(Exception):
    """A case that does not end."""


def _late(number: int, frame: FrameType | None) -> NoReturn:
    raise _LateError


def run(
    cases: int, seed: int = 0, show: bool = False
) -> tuple[Counter[str], list[tuple[float, float, FourBar]]]:
    """Return how many cases are right, wrong, refused, flagged and endless, and (error, tilt, case), worst first."""
    rng, counts, errors = np.random.default_rng(seed), Counter[str](), []
    before = signal.signal(signal.SIGALRM, _late)
    warnings.simplefilter("ignore")
    for number in range(cases):
        case = draw(rng)
        tilt, began = float(abs(case.tilts).max()), time.perf_counter()
        duration = DURATION * np.sqrt(case.lengths[0])
        signal.alarm(LATE)
        try:
            text, error = moved(case, duration)
        except _LateError:
            text, error = "endless", 0.0
        finally:
            signal.alarm(0)
        if text == "OK":
            kind = "right" if error <= 4e-6 + 3 * tilt else "wrong"
            errors.append((error / (1e-6 + tilt), tilt, case))
        else:
            kind = text.partition(":")[0]
        if text.startswith("refused") and "'pin" not in text:
            kind = "refused without a row"
        counts[kind] += 1
        if show and kind != "right":
            print(number, kind, text[:300], f"{error:.2g}", case, f"{time.perf_counter() - began:.1f} s")
    signal.signal(signal.SIGALRM, before)
    return counts, sorted(errors, key=lambda x: -x[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found, worst = run(given.cases, given.seed, show=True)
    print(dict(found), "worst of those right: error / (1e-6 + tilt)", *(f"{x:.2g}" for x, _, _ in worst[:5]))
