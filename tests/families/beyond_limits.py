"""Starts beyond limits of joints against closed forms: bodies on slides and hinges with constant accelerations.

`python tests/families/beyond_limits.py --cases N` prints how many are wrong with OK, endless and refused.
"""

from __future__ import annotations

import argparse
import signal
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

import sarrus as sr
from sarrus.base.errors import LimitWarning

METHODS = (
    {}, {"method": "rk4", "dt": 2e-3}, {"method": "dop853"}, {"method": "dopri5", "rtol": 1e-10},
    {"method": "rodas5p"}, {"method": "rodas4"}, {"method": "moreau-jean", "dt": 1e-3}, {"rollout": 1}, {"rollout": 3},
)  # fmt: skip
REST = 1e-3  # speeds after a hit below which nothing rebounds, in the units of the model
SECONDS = 60  # a case that takes longer is endless


@dataclass(frozen=True)
class Body:
    """A body on a joint of its own: limits, restitution, start, and the acceleration that gravity and motor give it."""

    kind: str
    axis: tuple[float, ...]
    limits: tuple[float, float]
    restitution: float
    mass: float
    start: float
    speed: float
    acceleration: float


@dataclass(frozen=True)
class Case:
    """Some bodies, the unit of length [m], how it is run and how long [s]."""

    bodies: tuple[Body, ...]
    unit: float
    options: dict[str, object]
    duration: float


def draw(rng: np.random.Generator) -> Case:
    """Return a case: in metres or millimetres, of one to three bodies, of which one at least is beyond a limit."""
    unit = float(rng.choice([1.0, 1e-3]))
    options = METHODS[rng.integers(len(METHODS))]
    stepped = "rollout" in options or options.get("method") == "moreau-jean"
    bodies = []
    for _ in range(rng.integers(1, 4)):
        kind = str(rng.choice(["prismatic", "revolute"]))
        scale = 1.0 / unit if kind == "prismatic" else 1.0
        lower = scale * rng.uniform(-1.0, 0.5)
        limits = lower, lower + scale * rng.uniform(0.3, 1.5)
        range_ = limits[1] - limits[0]
        beyond = range_ * float(rng.choice([-0.3, 0.0, 1e-10, 1e-8, 5e-7, 1e-5, 1e-3, 0.05, 0.4]))
        upper = bool(rng.integers(2))
        start = limits[1] + beyond if upper else limits[0] - beyond
        speed = scale * float(rng.choice([0.0, 0.0, rng.uniform(-1.5, 1.5)]))
        pull = scale * float(rng.choice([-1.0, 1.0])) * rng.uniform(0.5, 10.0)
        axis = (
            rng.standard_normal(3)
            if rng.integers(2)
            else np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        )
        restitution = 0.0 if stepped or unit < 1.0 else float(rng.choice([0.0, 0.0, 0.5]))
        mass = float(rng.uniform(0.2, 5.0))
        axis = tuple(float(x) for x in axis / np.linalg.norm(axis))
        bodies.append(Body(kind, axis, limits, restitution, mass, start, speed, pull))
    return Case(tuple(bodies), unit, options, float(rng.uniform(0.2, 1.2)))


def motion(body: Body, duration: float) -> tuple[float, float]:
    """Return the coordinate at the end, and the least distance to a limit or a hit at which it turns."""
    q, v, a, left = body.start, body.speed, body.acceleration, duration
    lower, upper = min(body.limits[0], q), max(body.limits[1], q)
    for _ in range(1000):
        for sign, bound in ((1.0, lower), (-1.0, upper)):
            if sign * (q - bound) <= 0.0 and sign * v < 0.0:  # it hits
                v = -body.restitution * v if body.restitution * abs(v) >= REST else 0.0
            if sign * (q - bound) <= 0.0 and v == 0.0 and sign * a < 0.0:
                return q, left
        times = []
        turn = -v / a
        if turn > 0.0 and ((q < body.limits[0] and v > 0.0) or (q > body.limits[1] and v < 0.0)):
            times.append(turn)
        for bound in (lower, upper):
            roots = np.roots([0.5 * a, v, q - bound])
            times += [float(t.real) for t in roots if abs(t.imag) < 1e-14 and t.real > 1e-12]
        if q < body.limits[0] or q > body.limits[1]:  # it comes inside
            roots = np.roots([0.5 * a, v, q - body.limits[0 if q < body.limits[0] else 1]])
            times += [float(t.real) for t in roots if abs(t.imag) < 1e-14 and t.real > 1e-12]
        step = min([*times, left])
        end = q + v * step + 0.5 * a * step**2
        v, left = v + a * step, left - step
        turned = step == turn
        v = 0.0 if turned else v
        near = [b for b in (lower, upper, *body.limits) if abs(end - b) < 1e-12 * (1.0 + abs(b))]
        q = near[0] if near and not turned else end
        lower = body.limits[0] if q >= body.limits[0] else max(lower, q if turned else lower)
        upper = body.limits[1] if q <= body.limits[1] else min(upper, q if turned else upper)
        if left <= 0.0:
            return q, 0.0
    return q, left


def system_of(case: Case) -> sr.System:
    """Return the system of a case, without gravity: a motor gives each body its acceleration."""
    mechanism = sr.Mechanism("family", gravity=(0.0, 0.0, 0.0))
    for k, body in enumerate(case.bodies):
        inertia = (body.mass / case.unit**2,) * 3
        mechanism.add_body(f"body{k}", body.mass, inertia=inertia)
        mechanism.add_joint(
            f"joint{k}", body.kind, "world", f"body{k}", axis=body.axis, limits=body.limits,
            limit_restitution=body.restitution,
        )  # fmt: skip
        mechanism.add_actuator(f"motor{k}", f"joint{k}")
    return sr.System(mechanism)


def force(case: Case, body: Body) -> float:
    """Return the force or torque that gives a body its acceleration."""
    return body.acceleration * body.mass * (1.0 if body.kind == "prismatic" else case.unit**-2)


def digits(case: Case, body: Body, system: sr.System, k: int) -> float:
    """Return how far beyond a limit the model's digits explain."""
    size = 1.0 / system.characteristic.coordinates[k]
    return 1e-6 * max(body.limits[1] - body.limits[0], size)


def check(case: Case) -> str:
    """Do a case; return "right", "refused: …" or what is wrong."""
    system = system_of(case)
    q, v = [b.start for b in case.bodies], [b.speed for b in case.bodies]
    u = np.array([force(case, b) for b in case.bodies])
    options = dict(case.options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if threads := options.pop("rollout", None):
                many = sr.rollout(
                    system, np.tile(q, (3, 1)), v, duration=case.duration, dt=1e-3, u=u, threads=threads
                )
                statuses, end, said = (
                    list(many.status),
                    many.final_q,
                    [*chain(*many.begun_beyond.values())],
                )
                if np.ptp(end, axis=0).max() > 0.0:
                    return "wrong: equal runs differ"
                end, low, high = end[0], end[0], end[0]
            else:
                run = sr.simulate(system, q, v, duration=case.duration, control=lambda q, v, t: u, **options)
                statuses, end, said = (
                    [run.status],
                    run.q[-1],
                    [e.name for e in run.events if "beyond" in e.name],
                )
                low, high = run.q.min(axis=0), run.q.max(axis=0)
        except sr.SarrusError as error:
            return f"refused: {error}"
    if not all(status.complete for status in statuses):
        return f"refused: {statuses}"
    stepped = "rollout" in case.options or case.options.get("method") == "moreau-jean"
    warned = [str(w.message) for w in caught if issubclass(w.category, LimitWarning)]
    for k, body in enumerate(case.bodies):
        wanted, _ = motion(body, case.duration)
        scale = max(abs(x) for x in (*body.limits, body.start)) + abs(body.speed) * case.duration
        fast = abs(body.speed) + abs(body.acceleration) * case.duration
        beyond = max(body.limits[0] - body.start, body.start - body.limits[1])
        close = digits(case, body, system, k)
        # what digits explain is at the limit, wherever within these that is
        allowed = 1e-7 * scale + (3e-3 * fast if stepped else 0.0) + (close if 0.0 < beyond <= close else 0.0)
        if not abs(end[k] - wanted) <= allowed:
            return f"wrong: joint{k} ends at {end[k]}, not {wanted}: {body}"
        least, most = min(body.limits[0], body.start), max(body.limits[1], body.start)
        within = 1e-7 * scale + (2e-3 * fast if stepped else 0.0)
        if low[k] < least - within or high[k] > most + within:
            return f"wrong: joint{k} goes out to {low[k]}, {high[k]}: {body}"
        named = any(f"joint{k} = " in text for text in said)
        if named != (beyond > close) or (named and not warned):
            return f"wrong: joint{k} is beyond by {beyond}, and it is said: {said}, {warned}"
    return "right"


def timed(case: Case) -> str:
    """Do a case in a limited time."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        return check(case)
    except TimeoutError:
        return "endless"
    finally:
        signal.alarm(0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Do cases and print what they came to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    for number in range(given.cases):
        case = draw(np.random.default_rng([given.seed, number]))
        found = timed(case)
        counts[found.partition(":")[0]] += 1
        if found != "right":
            print(number, found, case.options, case.unit)
    print(dict(counts))


if __name__ == "__main__":
    main()
