"""Generated hits of frictionless contacts in mechanisms with dry friction in their joints, against closed forms.

``python tests/families/frictionless_hits.py --cases 240 --seed 0`` prints how many are right: the times of the first
hits, the energy that each takes, and the coordinates at the end, to 1e-6 of their sizes; how many are wrong with status
OK, flagged, refused, or without end.

A lift with dry friction on its rail carries a rider that rubs on it; a cart with dry friction carries a slide; an arm
rubs in its hinge, with and without gravity. What hits is one point over a plane, "frictionless" or of Coulomb with the
coefficient zero. Stages of constant acceleration are solved by their quadratic equations here, the arm under gravity
by `scipy.integrate.solve_ivp` from event to event.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import sarrus as sr
from sarrus.base.errors import AccuracyWarning, SarrusError

SCENES = ("lift", "cart", "arm", "pendulum")
METHODS = (None, "dop853", "dopri5", "rk4", "rodas5p", "moreau-jean", "rollout")
# Steps in time have errors of order one in their length, relative to the whole motion.
STEP, RIGHT, MOST_STEPS = 1e-3, 1e-6, 200_000
# Motions end before so many hits: a series of them comes to rest in finite time.
MOST_HITS, SLIGHT = 5, 1e-3


@dataclass
class Expected:
    """Hits (time, energy lost) in order, and coordinates at the end of the motion, by name."""

    hits: list[tuple[float, float]] = field(default_factory=list)
    end: dict[str, float] = field(default_factory=dict)


@dataclass
class Case:
    """A mechanism with its start, and how its motion is asked for."""

    scene: str
    method: str | None
    system: sr.System
    q: dict[str, float]
    v: dict[str, float]
    duration: float
    expected: Expected
    length: float
    energy: float
    unit: float


@dataclass
class Units:
    """Lengths, masses and axes in which a mechanism is written."""

    rng: np.random.Generator
    given: float | None = None

    def __post_init__(self) -> None:
        self.length = self.given or float(self.rng.choice([1.0, 1e-3, 1e3]))
        self.mass = float(self.rng.choice([1.0, 1e-3, 1e3]))
        q, r = np.linalg.qr(self.rng.normal(size=(3, 3)))
        q = q * np.sign(np.diag(r))
        self.turn = q if np.linalg.det(q) > 0.0 else q[:, [1, 0, 2]]
        self.gravity = 9.81 * self.length
        self.force, self.energy = self.mass * self.length, self.mass * self.length**2

    def along(self, *way: float) -> np.ndarray:
        return self.turn @ np.array(way)

    def mechanism(self, gravity: bool = True) -> sr.Mechanism:
        return sr.Mechanism("hits", gravity=self.gravity * gravity * self.along(0, 0, -1))

    def bodies(self, m: sr.Mechanism, masses: dict[str, float]) -> None:
        """Add bodies in a random order."""
        for name in self.rng.permutation(list(masses)).tolist():
            m.add_body(name, masses[name] * self.mass, inertia=(0.1 * masses[name] * self.energy,) * 3)

    def contact(self, m: sr.Mechanism, body: str, point: np.ndarray, e: float, kind: str) -> None:
        coulomb = {"friction": "coulomb", "friction_coefficient": 0.0}
        given = {"friction": "frictionless"} if kind == "frictionless" else coulomb
        m.add_contact("ground", body, point, normal=self.along(0, 0, 1), restitution=e, **given)


def before_rest(motion, duration: float) -> tuple[Expected, float]:
    """Return what a motion of a duration comes to, and the duration: less where hits are many, or next to nothing.

    A rebound that rises by less than a part of 1e-6 counts as none.
    """
    found = motion(duration)
    losses = [loss for _, loss in found.hits]
    slight = [k for k, loss in enumerate(losses) if loss < SLIGHT * max(losses)]
    most = min([MOST_HITS - 1, *slight])
    if len(losses) > most:
        before = found.hits[most - 1][0] if most else 0.0
        duration = 0.5 * (before + found.hits[most][0])
        found = motion(duration)
    return found, duration


def quadratic(z: float, v: float, a: float, falling: bool = False) -> float:
    """Return the first time > 0 at which z + v t + a t²/2 = 0, from above where ``falling``; infinite without one."""
    root = v * v - 2.0 * a * z
    if root < 0.0 or (a == 0.0 and v == 0.0):
        return np.inf
    size = -(v + np.copysign(np.sqrt(root), v))
    times = [2.0 * z / size] if size != 0.0 else []
    times += [size / a] if a != 0.0 else []
    good = [t for t in times if t > 1e-12 and (not falling or v + a * t < 0.0)]
    return min(good, default=np.inf)


def accelerations(v: list[float], masses: list[float], weight: float, rails: list[float]) -> list[float]:
    """Return those of the lift, and of the rider relative to it, with dry friction of limits ``rails`` on both.

    Of all combinations of sliding and sticking that fit the velocities the one that obeys Coulomb's law.
    """
    ways = [[float(np.sign(x))] if x != 0.0 else [0.0, -1.0, 1.0] for x in v]
    m0, m1 = masses
    for first in ways[0]:
        for second in ways[1]:
            # unknown: accelerations a, r and frictions f, h: m0 a = −m0 w + f − h, m1 (a + r) = −m1 w + h
            A, b = np.zeros((4, 4)), np.zeros(4)
            A[0], b[0] = [m0, 0, -1, 1], -m0 * weight
            A[1], b[1] = [m1, m1, 0, -1], -m1 * weight
            for k, way in enumerate((first, second)):
                A[2 + k, 2 + k if way else k] = 1.0
                b[2 + k] = -way * rails[k]
            a = np.linalg.solve(A, b)
            fits = [
                abs(a[2 + k]) <= rails[k] + 1e-12 if way == 0.0 else x != 0.0 or way * a[k] > 0.0
                for k, (way, x) in enumerate(zip((first, second), v))
            ]
            if all(fits):
                return a[:2].tolist()
    raise AssertionError("no stage fits")


def lift_motion(z, v, masses, weight, rails, e, duration) -> Expected:
    """Return hits of the lift; heights z and velocities v are its own and those of the rider relative to it."""
    found, t = Expected(), 0.0
    z, v = list(z), list(v)
    while len(found.hits) < MOST_HITS:
        a = accelerations(v, masses, weight, rails)
        stops = [-x / y if y * x < 0.0 else np.inf for x, y in zip(v, a)]
        hit = quadratic(z[0], v[0], a[0], falling=True)
        step = min(*stops, hit, duration - t)
        for k in range(2):
            z[k] += v[k] * step + 0.5 * a[k] * step**2
            v[k] = 0.0 if step == stops[k] else v[k] + a[k] * step
        t += step
        if step == hit:
            z[0] = 0.0
            found.hits.append((t, 0.5 * masses[0] * (1.0 - e * e) * v[0] ** 2))
            v[1] += (1.0 + e) * v[0]  # the rider goes on as it did
            v[0] *= -e
        if t >= duration:
            break
    found.end = {"lift": z[0], "ride": z[1]}
    return found


def lift(rng: np.random.Generator, units: Units, kind: str):
    """A lift of 1 on a rail that rubs, which falls on the ground with a rider that rubs on it."""
    m, rider = units.mechanism(), float(rng.uniform(0.2, 2.0))
    rails = [float(rng.uniform(0.05, 0.6)) * 9.81, float(rng.uniform(0.1, 1.5)) * 9.81 * rider]
    e, height = float(rng.uniform(0.3, 0.9)), float(rng.uniform(0.2, 2.0))
    units.bodies(m, {"cabin": 1.0, "rider": rider})
    axis = units.along(0, 0, 1)
    m.add_joint("lift", "prismatic", "world", "cabin", axis=axis, friction=rails[0] * units.force)
    m.add_joint("ride", "prismatic", "cabin", "rider", axis=axis, friction=rails[1] * units.force)
    units.contact(m, "cabin", np.zeros(3), e, kind)
    v = [float(rng.uniform(-1.0, 1.0)), float(rng.choice([0.0, rng.uniform(-1.0, 1.0)]))]
    duration = float(rng.uniform(0.6, 1.0))
    found, duration = before_rest(
        lambda t: lift_motion([height, 0.0], v, [1.0, rider], 9.81, rails, e, t), duration
    )
    return m, {"lift": height, "ride": 0.0}, dict(zip(("lift", "ride"), v)), duration, found, 9.81 * height


def cart(rng: np.random.Generator, units: Units, kind: str):
    """A cart that dry friction brakes carries a slide, whose body bounces on the ground meanwhile."""
    m, load = units.mechanism(), float(rng.uniform(0.2, 2.0))
    e, height, speed = (
        float(rng.uniform(0.3, 0.9)),
        float(rng.uniform(0.2, 2.0)),
        float(rng.uniform(0.1, 3.0)),
    )
    stop = float(rng.uniform(0.05, 1.2))
    units.bodies(m, {"cart": 1.0, "load": load})
    brake = speed * (1.0 + load) / stop
    m.add_joint("cart", "prismatic", "world", "cart", axis=units.along(1, 0, 0), friction=brake * units.force)
    m.add_joint("lift", "prismatic", "cart", "load", axis=units.along(0, 0, 1))
    units.contact(m, "load", np.zeros(3), e, kind)
    up, duration = float(rng.uniform(-1.0, 1.0)), float(rng.uniform(0.6, 1.0))
    found, duration = before_rest(
        lambda t: lift_motion([height, 0.0], [up, 0.0], [load, 1e-12], 9.81, [0.0, 0.0], e, t), duration
    )
    # the slide alone, with a rider of no mass
    t = min(duration, stop)
    found.end = {"lift": found.end["lift"], "cart": speed * t * (1.0 - 0.5 * t / stop)}
    return m, {"lift": height, "cart": 0.0}, {"lift": up, "cart": speed}, duration, found, 9.81 * height


def arm_motion(angle, speed, rub, pull, e, duration) -> Expected:
    """Return the hits on the ground of an arm with θ'' = −pull cos θ − rub sign θ', stages of own integration."""
    found, t, state = Expected(), 0.0, [angle, speed]
    while t < duration and len(found.hits) < MOST_HITS:
        way = np.sign(state[1])
        if way == 0.0:
            torque = -pull * np.cos(state[0])
            way = 0.0 if abs(torque) <= rub else np.sign(torque)
        if way == 0.0:
            break

        def rate(_, x, way=way):
            return [x[1], -pull * np.cos(x[0]) - rub * way]

        def stops(_, x, way=way):
            return x[1] * way + (1e-300 if x[1] == 0.0 else 0.0)

        def hits(_, x):  # on this side of the hinge or on the other
            return np.sin(x[0])

        stops.terminal = hits.terminal = True
        stops.direction, hits.direction = -1.0, -1.0
        run = solve_ivp(
            rate, (t, duration), state, "DOP853", rtol=1e-12, atol=1e-14, events=(stops, hits), max_step=0.02
        )
        t, state = float(run.t[-1]), run.y[:, -1].tolist()
        if len(run.t_events[1]):
            t, (angle, speed) = float(run.t_events[1][0]), run.y_events[1][0].tolist()
            state = [np.pi * round(angle / np.pi), speed]
            found.hits.append((t, 0.5 * (1.0 - e * e) * state[1] ** 2))
            state[1] *= -e
        elif len(run.t_events[0]):
            t, state = float(run.t_events[0][0]), [float(run.y_events[0][0][0]), 0.0]
    found.end = {"hinge": state[0]}
    return found


def arm(rng: np.random.Generator, units: Units, kind: str, pull: float = 0.0):
    """An arm with its mass at its tip, which dry friction in the hinge stops before, at or behind the ground."""
    m, length = units.mechanism(pull > 0.0), float(rng.uniform(0.3, 2.0))
    rate = 9.81 / length if pull else 0.0
    e, angle, rub = float(rng.uniform(0.3, 0.9)), float(rng.uniform(0.3, 1.3)), float(rng.uniform(0.3, 2.0))
    beyond = float(rng.choice([1.0, -1.0, 1.0])) * 10.0 ** rng.uniform(-3.0, -0.3)
    speed = -np.sqrt(2.0 * rub * max(angle + beyond * (angle if beyond < 0.0 else 1.0), 0.05))
    if pull:
        speed, rub = float(rng.uniform(-2.0, 2.0)), float(rng.uniform(0.05, 0.5)) * rate
    tip = length * units.length * units.along(1, 0, 0)
    m.add_body("arm", units.mass, com=tip, inertia=(1e-9 * units.energy,) * 3)
    inertia = length**2 + 1e-9
    friction = rub * inertia * units.energy
    m.add_joint("hinge", "revolute", "world", "arm", axis=units.along(0, -1, 0), friction=friction)
    units.contact(m, "arm", tip, e, kind)
    duration = float(rng.uniform(0.8, 2.0))
    pull = rate * length**2 / inertia
    found, duration = before_rest(lambda t: arm_motion(angle, speed, rub, pull, e, t), duration)
    found.hits = [(t, inertia * loss) for t, loss in found.hits]
    return m, {"hinge": angle}, {"hinge": speed}, duration, found, inertia * (0.5 * speed**2 + rub + rate)


def draw(rng: np.random.Generator) -> Case:
    """Return a random case."""
    scene, method = str(rng.choice(SCENES)), METHODS[int(rng.integers(len(METHODS)))]
    kind = (
        "coulomb"
        if method in ("moreau-jean", "rollout")
        else str(rng.choice(["frictionless"] * 3 + ["coulomb"]))
    )
    units = Units(rng, 1.0 if method == "rollout" else None)  # whose least speed of a rebound is 1 mm/s
    build = {"lift": lift, "cart": cart, "arm": arm}.get(scene)
    made = build(rng, units, kind) if build is not None else arm(rng, units, kind, pull=1.0)
    m, q, v, duration, expected, energy = made
    length = 1.0 if scene in ("arm", "pendulum") else units.length
    q, v, end = ({n: length * x for n, x in given.items()} for given in (q, v, expected.end))
    expected = Expected([(t, loss * units.energy) for t, loss in expected.hits], end)
    energy *= units.energy
    return Case(scene, method, sr.System(m), q, v, duration, expected, length, energy, units.length)


def outcome(case: Case) -> tuple[str, float]:
    """Return what became of a case, and its largest error in what is allowed."""
    s, d, in_time = case.system, case.duration, case.method in ("moreau-jean", "rollout")
    q = np.array([case.q[name] for name in s.coordinate_names])
    v = np.array([case.v[name] for name in s.velocity_names])
    how: dict[str, Any]
    if case.method == "rk4":
        how = {"method": sr.Stepping("rk4", dt=5e-3 if case.scene in ("lift", "cart") else STEP)}
    elif in_time:
        how = {"dt": STEP} | ({"method": "moreau-jean"} if case.method == "moreau-jean" else {})
    else:
        how = {"method": sr.Stepping(case.method, max_steps=MOST_STEPS)}
    if case.method != "rollout":
        how["switching"] = sr.Switching(rest_speed=1e-5 * case.unit)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            if case.method == "rollout":
                run = sr.rollout(s, np.stack([q, q]), np.stack([v, v]), duration=d, progress=False, **how)
                last, good, hits = run.final_q[1], bool(run.success.all()), None
            else:
                motion = sr.simulate(s, q, v, duration=d, throw=False, progress=False, **how)
                last, good = motion.q[-1], motion.status.ok
                hits = [(x.time, x.energy_loss) for x in motion.switches if x.bounced]
                if motion.status is sr.Status.STEP_LIMIT:
                    return "endless", np.nan
                if not good and motion.t[-1] < d * (1.0 - 1e-9):
                    return f"refused: {motion.message}"[:200], np.nan
    except SarrusError as error:
        return f"refused: {type(error).__name__}: {error}"[:200], np.nan
    want = np.array([case.expected.end[name] for name in s.coordinate_names])
    allowed = 30.0 * STEP if in_time else RIGHT
    errors = [float(np.abs(last - want).max()) / case.length / allowed]
    if hits is not None and not in_time:
        if len(hits) != len(case.expected.hits):
            return (f"wrong: {len(hits)} hits, not {len(case.expected.hits)}" if good else "flagged"), np.inf
        for found, right in zip(hits, case.expected.hits):
            errors += [
                abs(found[0] - right[0]) / d / allowed,
                abs(found[1] - right[1]) / case.energy / allowed,
            ]
    error = max(errors)
    return ("right" if error <= 1.0 else "wrong" if good else "flagged"), error


def cases(count: int, seed: int = 0) -> list[Case]:
    """Return seeded cases."""
    rng = np.random.default_rng(seed)
    return [draw(rng) for _ in range(count)]


def main() -> None:
    """Run cases and print how many are right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=240)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    found, largest, hits = Counter[str](), 0.0, 0
    for k in range(given.cases):
        case = draw(rng)
        what, error = outcome(case)
        found[what.split(":")[0]] += 1
        hits += len(case.expected.hits)
        if what == "right":
            largest = max(largest, error)
        else:
            print(k, what, f"{error:.3g}", case.scene, case.method, flush=True)
    print(dict(found), f"{hits} hits; largest error of what is right: {largest:.2g} of what is allowed")
    sys.exit(1 if found["wrong"] or found["endless"] else 0)


if __name__ == "__main__":
    main()
