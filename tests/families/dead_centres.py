"""Generated slider-cranks that start at a dead centre of their slider, at rest or moving, with friction on the slider.

The slider has dry friction, or stands on a plane with Coulomb friction, whose normal force depends on the rod. Pivots
may be offset from the slide, axes and units are random. References are an integration of the crank's angle alone, with
forces by Newton and Euler body by body; it begins with friction against the way in which the slider leaves.
`python tests/families/dead_centres.py --cases 300` prints what is wrong with OK and what is refused.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sarrus as sr

METHODS = (None, "rk4", "rodas5p", "dop853", "moreau-jean", "rollout")
# Angles are wrong that differ by more than this [rad]: by events; by steps in time, which are of order one where
# friction turns round.
WRONG, WRONG_IN_TIME = 2e-7, 2e-4
# Steps of time stepping and of rk4; part of a second.
STEP = 5e-4


@dataclass(frozen=True)
class Crank:
    """Lengths, masses and friction in m, kg and N; the slide is at the height ``offset``, gravity acts along −z."""

    r: float
    l: float  # noqa: E741
    offset: float
    crank: float
    rod: float
    slider: float
    turns: float  # moment of inertia of crank and rod about their centres, over m l²
    friction: float  # N, or the coefficient
    on_plane: bool
    gravity: float

    def geometry(self, angle: float) -> tuple[float, ...]:
        """Return sin, cos of the rod's angle, its two derivatives by that of the crank, and those of the slider."""
        sb = (self.offset - self.r * np.sin(angle)) / self.l
        cb = np.sqrt(1.0 - sb * sb)
        b1 = -self.r * np.cos(angle) / (self.l * cb)
        b2 = (self.r * np.sin(angle) + self.l * sb * b1 * b1) / (self.l * cb)
        x1 = -self.r * np.sin(angle) - self.l * sb * b1
        x2 = -self.r * np.cos(angle) - self.l * (cb * b1 * b1 + sb * b2)
        return sb, cb, b1, b2, x1, x2

    def dead_centre(self, stretched: bool) -> float:
        """Return the angle where crank and rod are in line."""
        angle = np.arcsin(self.offset / (self.r + self.l))
        return float(angle if stretched else np.pi + np.arcsin(self.offset / (self.l - self.r)))

    def equations(self, angle: float, speed: float, torque: float) -> tuple[np.ndarray, np.ndarray]:
        """Return E, e of E [α, Rx, Rz, f] = e: crank, rod, and the slider along x; f is the friction on it."""
        r, l, g = self.r, self.l, self.gravity  # noqa: E741
        sb, cb, b1, b2, x1, x2 = self.geometry(angle)
        s, c, w2 = np.sin(angle), np.cos(angle), speed * speed
        # acceleration of the rod's centre: per α, and the rest
        along = np.array([-r * s - 0.5 * l * sb * b1, r * c + 0.5 * l * cb * b1])
        rest = w2 * np.array(
            [-r * c - 0.5 * l * (cb * b1 * b1 + sb * b2), -r * s - 0.5 * l * (sb * b1 * b1 - cb * b2)]
        )
        weight = np.array([0.0, -self.rod * g])

        def cross(a: np.ndarray, b: np.ndarray) -> float:
            return float(a[0] * b[1] - a[1] * b[0])

        pin, half, rod = r * np.array([c, s]), 0.5 * l * np.array([cb, sb]), l * np.array([cb, sb])
        E, e = np.zeros((3, 4)), np.zeros(3)
        # rod about the pin: turns, R on the slider
        inertia = self.turns * self.rod * l * l
        E[0] = inertia * b1 + self.rod * cross(half, along), -rod[1], rod[0], 0.0
        e[0] = cross(half, weight) - inertia * b2 * w2 - self.rod * cross(half, rest)
        # crank: P = m a + R − weight of the rod, on the rod
        own = self.crank * r * r * (self.turns + 0.25)
        E[1] = own + self.rod * cross(pin, along), -pin[1], pin[0], 0.0
        e[1] = torque - self.crank * g * 0.5 * pin[0] - cross(pin, self.rod * rest - weight)
        E[2] = self.slider * x1, -1.0, 0.0, -1.0
        e[2] = -self.slider * x2 * w2
        return E, e

    def sliding(self, angle: float, speed: float, torque: float, way: float) -> float:
        """Return the crank's acceleration with friction against ``way``; no number where the slider lifts off."""
        E, e = self.equations(angle, speed, torque)
        law = [0.0, 0.0, 0.0, 1.0]
        limit = -way * self.friction
        if self.on_plane:  # f = limit · (m g − Rz)
            law[2], limit = limit, limit * self.slider * self.gravity
        found = np.linalg.solve(np.vstack([E, law]), np.append(e, limit))
        lifts = self.on_plane and found[2] >= self.slider * self.gravity
        return np.nan if lifts else float(found[0])

    def sticks(self, angle: float, torque: float) -> bool:
        """Tell whether friction holds the mechanism at rest."""
        E, e = self.equations(angle, 0.0, torque)
        _, _, Rz, f = np.linalg.solve(np.vstack([E, [1.0, 0.0, 0.0, 0.0]]), np.append(e, 0.0))
        return bool(abs(f) <= self.friction * ((self.slider * self.gravity - Rz) if self.on_plane else 1.0))

    def motion(self, angle: float, speed: float, torque: float, duration: float) -> float:
        """Return the angle of the crank after a motion from a dead centre."""
        way, t, y = float(np.sign(self.geometry(angle)[5])), 0.0, np.array([angle, speed])
        first = True

        def stops(t: float, y: np.ndarray) -> float:
            return float(y[1])

        def passes(t: float, y: np.ndarray) -> float:
            return self.geometry(y[0])[4]

        stops.terminal = passes.terminal = True  # type: ignore[attr-defined]
        while t < duration:

            def rates(t: float, y: np.ndarray, way: float = way) -> list[float]:
                return [y[1], self.sliding(y[0], y[1], torque, way)]

            options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-15}
            begun = min(t + (1e-6 if first else 1e-9), duration)
            if not np.isfinite(self.sliding(y[0], y[1], torque, way)):
                return np.nan
            found = solve_ivp(rates, (t, begun), y, **options)
            t, y, first = found.t[-1], found.y[:, -1], False
            if t >= duration:
                break
            found = solve_ivp(rates, (t, duration), y, events=[stops, passes], **options)
            t, y = found.t[-1], found.y[:, -1]
            if found.status == -1:  # it lifts off
                return np.nan
            if found.status == 1 and len(found.t_events[0]):
                y[1] = 0.0
                if self.sticks(y[0], torque):
                    break
                way = -way
            elif found.status == 1:
                way = float(np.sign(self.geometry(y[0])[5]))
        return float(y[0])


@dataclass(frozen=True)
class Case:
    """A crank in units and axes of its own, with a start and a torque [N m]."""

    crank: Crank
    system: sr.System
    length: float
    mass: float
    stretched: bool
    speed: float
    torque: float
    duration: float
    method: str | None


@lru_cache(maxsize=2)
def mechanism(number: int) -> tuple[Crank, sr.System, float, float]:
    """Return a crank, its system, and its units of length and mass."""
    rng = np.random.default_rng([40, 23, number])
    on_plane, r = bool(number % 2), rng.uniform(0.1, 0.4)
    length, mass = [(1.0, 1.0), (1e3, 1.0), (1e3, 1e3), (1e-2, 1.0)][number % 4 if number % 8 < 4 else 1]
    rod = r * rng.uniform(1.8, 4.0)
    crank = Crank(
        r, rod, r * rng.choice([0.0, rng.uniform(-0.4, 0.4)]), *rng.uniform(0.3, 1.0, 3), turns=1.0 / 12.0,
        friction=rng.uniform(0.1, 0.6) if on_plane else rng.uniform(0.5, 5.0), on_plane=on_plane,
        gravity=9.81 if on_plane else float(rng.choice([0.0, 9.81])),
    )  # fmt: skip
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn = turn * np.linalg.det(turn)

    def at(*place: float) -> np.ndarray:
        return length * (turn @ np.array(place))

    model = sr.Mechanism("crank", gravity=length * crank.gravity * turn @ [0, 0, -1.0])
    for name, heavy, size in (("crank", crank.crank, r), ("rod", crank.rod, rod)):
        inertia = (crank.turns * heavy * size**2 * mass * length**2,) * 3
        model.add_body(name, heavy * mass, com=at(size / 2, 0, 0), inertia=inertia)
    model.add_body("slider", crank.slider * mass, inertia=(0.01 * mass * length**2,) * 3)
    axis = turn @ [0, -1.0, 0]  # angles from x to z
    joints = [
        lambda: model.add_joint("crank", "revolute", "world", "crank", axis=axis),
        lambda: model.add_joint("rod", "revolute", "crank", "rod", axis=axis, parent_pose=tuple(at(r, 0, 0))),
        lambda: _add_slider(model, crank, turn, at, mass * length),
    ]
    for k in (0, 1, 2) if rng.random() < 0.5 else (2, 0, 1):
        joints[k]()
    model.add_closure("pin", "point", "rod", "slider", pose1=tuple(at(rod, 0, 0)))
    model.add_actuator("motor", "crank")
    return crank, sr.System(model), length, mass


def _add_slider(model: sr.Mechanism, crank: Crank, turn: np.ndarray, at: object, force: float) -> None:
    pose = tuple(at(0, 0, crank.offset))  # type: ignore[operator]
    x, y, z = turn.T
    if not crank.on_plane:
        model.add_joint(
            "slider",
            "prismatic",
            "world",
            "slider",
            axis=x,
            parent_pose=pose,
            friction=crank.friction * force,
        )
        return
    model.add_joint("slider", "planar", "world", "slider", axis=-y, axis2=x, parent_pose=pose)
    model.add_contact(
        "shoe", "slider", (0, 0, 0), normal=z, tangent=x, offset=float(z @ np.array(pose)), friction="coulomb",
        friction_coefficient=crank.friction,
    )  # fmt: skip


def make(seed: int) -> Case:
    """Return a case; several in a row share a mechanism."""
    crank, system, length, mass = mechanism(seed // 12)
    rng = np.random.default_rng([40, 24, seed])
    speed = float(rng.choice([0.0, 0.0, 0.0, 1.0, -2.5, 0.02]) * rng.uniform(0.5, 1.5))
    torque = float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-3.0, 0.3))
    return Case(
        crank,
        system,
        length,
        mass,
        bool(rng.random() < 0.5),
        speed,
        torque,
        0.4,
        METHODS[seed % len(METHODS)],
    )


def start(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return q and v at the dead centre."""
    s, crank = case.system, case.crank
    angle = crank.dead_centre(case.stretched)
    sb, cb, b1, _, _, _ = crank.geometry(angle)
    q, v = np.zeros(s.nq), np.zeros(s.nv)
    names = list(s.coordinate_names)
    rod = float(np.arctan2(sb, cb))
    x = crank.r * np.cos(angle) + crank.l * cb
    q[names.index("crank")], q[names.index("rod")] = angle, rod - angle
    q[next(k for k, name in enumerate(names) if name in ("slider", "slider.x"))] = x * case.length
    v[names.index("crank")], v[names.index("rod")] = case.speed, (b1 - 1.0) * case.speed
    return q, v


@dataclass
class Verdict:
    """What became of a case."""

    method: str | None
    kind: str
    status: str
    difference: float
    way: float
    estimate: float = 0.0

    @property
    def wrong(self) -> bool:
        """Whether the angle is wrong, by more than the run itself says, and the status OK."""
        in_time = self.method in ("moreau-jean", "rollout")
        allowed = WRONG_IN_TIME if in_time else max(WRONG, self.estimate)
        return self.status == "OK" and not self.difference <= allowed


def judge(seed: int) -> Verdict:
    """Do a case and its reference."""
    case = make(seed)
    q, v = start(case)
    own = list(case.system.coordinate_names).index("crank")
    u = [case.torque * case.mass * case.length**2]
    estimate = 0.0
    fixed = {"dt": STEP} if case.method in ("rk4", "moreau-jean", "rollout") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.method == "rollout":
            many = sr.rollout(
                case.system, np.tile(q, (2, 1)), np.tile(v, (2, 1)), duration=case.duration, u=u, **fixed
            )
            status, last = ("OK", many.q[0, -1]) if np.all(many.status == 0) else ("refused", many.q[0, -1])
        else:
            one = sr.simulate(
                case.system, q, v, duration=case.duration, control=lambda q, v, t: np.array(u), method=case.method,
                throw=False, **fixed,
            )  # fmt: skip
            status, last = one.status.name, one.q[-1] if len(one.q) else np.full(len(q), np.nan)
            estimate = float(np.nan_to_num(one.error[-1])) if len(one.q) else 0.0
    begun = case.crank.dead_centre(case.stretched)
    want = case.crank.motion(begun, case.speed, case.torque, case.duration)
    if not np.isfinite(want):
        status = "lifts off, no reference"
    return Verdict(
        case.method,
        "plane" if case.crank.on_plane else "dry",
        status,
        abs(float(last[own]) - want),
        abs(want - begun),
        estimate,
    )


def main() -> None:
    """Print what became of many cases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    found = []
    for seed in range(given.first, given.first + given.cases):
        one = judge(seed)
        found.append(one)
        if one.status != "OK" or one.wrong:
            print(seed, one, replace(make(seed), system=None), flush=True)
    bad = sum(one.wrong for one in found)
    print(f"{len(found)} cases, {bad} wrong with OK, {sum(one.status != 'OK' for one in found)} not OK")
    for method in METHODS:
        own = [one.difference for one in found if one.method == method and one.status == "OK"]
        print(f"{method!s:12} {len(own):4} cases, largest difference {max(own, default=np.nan):.1e} rad")


if __name__ == "__main__":
    main()
