"""Drives whose speed jumps, with what hangs on them on one side alone, against closed forms.

The course of a drive is straight between its jumps, one to three of which lie anywhere in a run: at its first instant,
on a step, between steps, at its end. On it are a passenger with dry friction, a block with Coulomb friction, a ball
that rebounds, a passenger between two stops, a pendulum, or a slider-crank with a pendulum. All but the
pendulums move with constant accelerations between impacts, which `_piecewise` does exactly; pendulums are integrated
by SciPy between the changes of their momentum. ``python tests/families/jumping_drives.py --cases 300`` runs more.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import sarrus as sr
from sarrus.base.errors import AccuracyWarning, SarrusError

SCENES = ("passenger", "block", "ball", "stops", "pendulum", "slider_crank")
FORMS = ("max", "min", "if_else", "product", "abs", "table")
WAYS = ("motion", "coupling", "body", "rod", "weld", "free")
STEP = 1e-3
TALL = 3.0  # where rods begin, in lengths of the scene
ADAPTIVE: tuple[dict[str, Any], ...] = ({}, {"method": "dopri5"}, {"method": "rodas5p"}, {"method": "rodas4"})
FIXED: dict[str, Any] = {"dt": STEP, "method": "rk4"}
IN_TIME: dict[str, Any] = {"dt": STEP, "method": "moreau-jean"}
LOCAL: tuple[dict[str, Any], ...] = (
    {"coordinates": "partition"}, {"coordinates": "tangent-space"}, {"coordinates": "null-space"},
    {"coordinates": ["swing"]}, {"stabilization": "baumgarte"}, {"stabilization": "none"},
    {"formulation": "udwadia-kalaba"},
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Case:
    """One case: speeds [length/s] of the drive from each of its ``times`` on; zero before the first."""

    scene: str
    form: str
    way: str
    times: tuple[float, ...]
    speeds: tuple[float, ...]
    t0: float
    duration: float
    length: float  # of one metre, in units of the case
    mass: float
    friction: float  # of dry friction, over the weight, or of Coulomb's law
    restitution: float
    law: str
    kind: str  # of the ball's contact
    turn: np.ndarray
    swapped: bool  # the order of bodies
    stiff: bool  # something stiff is aboard
    how: dict[str, Any]
    many: bool

    @property
    def end(self) -> float:
        return self.t0 + self.duration

    @property
    def gravity(self) -> float:
        return 9.81 * self.length

    def course(self, t: float) -> float:
        """Return where the drive is."""
        changes = np.diff([0.0, *self.speeds])
        return float(sum(d * max(0.0, t - a) for a, d in zip(self.times, changes)))

    def traced(self) -> Callable[[Any], Any]:
        """Return the course as a function of time in one of its forms."""
        changes = np.diff([0.0, *self.speeds]).tolist()
        if self.form == "table":
            knots = [self.times[0] - 1.0, *self.times, self.end + 5.0]
            return sr.Spline.through(knots, [self.course(t) for t in knots], degree=1)
        one = {
            "max": lambda s: ca.fmax(0, s),
            "min": lambda s: -ca.fmin(0, -s),
            "if_else": lambda s: ca.if_else(s < 0, 0, s),
            "product": lambda s: (s >= 0) * s,
            "abs": lambda s: 0.5 * (s + ca.fabs(s)),
        }[self.form]
        return lambda t: sum(d * one(t - a) for a, d in zip(self.times, changes))


def draw(rng: np.random.Generator) -> Case:
    """Return a random case."""
    scene = SCENES[rng.integers(len(SCENES))]
    t0 = float(rng.choice([0.0, 0.0, 3.7]))
    duration = float(rng.choice([0.8, 1.2]))
    count = int(rng.integers(1, 4))
    places = {
        "first": t0,
        "grid": t0 + STEP * int(rng.integers(1, duration / STEP)),
        "between": t0 + float(rng.uniform(0.05, 0.95)) * duration,
        "end": t0 + duration,
    }
    chosen = [places[k] for k in rng.choice(list(places), count, replace=False)]
    kind = str(rng.choice(["coulomb", "coulomb", "frictionless", "stick"]))
    length = float(rng.choice([1.0, 1e3])) if kind == "coulomb" else 1.0
    speeds = rng.uniform(0.3, 2.0, count) * length * rng.choice([-1, 1], count)
    if scene == "slider_crank":
        speeds = rng.uniform(0.5, 6.0, count) * rng.choice([-1, 1], count)
    many = bool(rng.random() < 0.2)
    choices: list[dict[str, Any]] = [*ADAPTIVE, FIXED]
    kind = "coulomb" if many else kind
    if scene in ("pendulum", "slider_crank"):
        choices += [how for how in LOCAL if scene == "pendulum" or how != {"coordinates": ["swing"]}]
    law = str(rng.choice(["newton", "poisson"])) if kind == "coulomb" else "newton"
    if scene not in ("ball",) or (kind == "coulomb" and law == "newton"):
        choices += [IN_TIME, IN_TIME]
    how = choices[rng.integers(len(choices))]
    if many:
        law = "newton"
        how = (
            {"dt": STEP}
            if scene not in ("pendulum", "slider_crank")
            else [{"dt": STEP}, IN_TIME][rng.integers(2)]
        )
    way = (
        WAYS[rng.integers(len(WAYS))] if scene != "slider_crank" else ("motion", "coupling")[rng.integers(2)]
    )
    stiff = scene == "pendulum" and rng.random() < 0.4 and how in ADAPTIVE
    if way == "body" and how.get("formulation"):
        way = "motion"
    if way == "body" and "coordinates" in how:  # without constraints there is nothing to choose
        way = "motion"
    return Case(
        scene, FORMS[rng.integers(len(FORMS))], way, tuple(sorted(chosen)), tuple(speeds.tolist()), t0, duration,
        length, float(rng.choice([1.0, 1e3])) * rng.uniform(0.5, 2.0), float(rng.uniform(0.1, 0.6)),
        float(rng.choice([0.0, 0.3, 0.6, 0.9])), law, kind, Rotation.random(random_state=rng).as_matrix(),
        bool(rng.random() < 0.5), stiff, how, many,
    )  # fmt: skip


# --- mechanisms ------------------------------------------------------------------------------------------------


def build(case: Case) -> sr.Mechanism:
    """Return the mechanism of a case."""
    along, up = case.turn[:, 0], case.turn[:, 2]
    m = sr.Mechanism(case.scene, gravity=tuple(-case.gravity * up))
    vertical = case.scene == "ball"
    way = up if vertical else along
    bodies = [("cart", 2.0 * case.mass), ("rider", case.mass)]
    light = 1e-3 * case.length**2 * case.mass
    for name, mass in bodies[:: -1 if case.swapped else 1]:
        hung = name == "rider" and case.scene in ("pendulum", "slider_crank")
        com = tuple(-0.8 * case.length * up) if hung else (0, 0, 0)
        m.add_body(name, mass=mass, com=com, inertia=(light,) * 3)
    if case.scene == "slider_crank":
        _crank(case, m)
    else:
        _drive(case, m, way)
    _ride(case, m, along, up)
    if case.stiff:
        m.add_body("stiff", mass=case.mass)
        m.add_joint("stiff", "prismatic", "world", "stiff", axis=tuple(along), stiffness=1e7 * case.mass,
                    damping=1e4 * case.mass)  # fmt: skip
    return m


def _drive(case: Case, m: sr.Mechanism, axis: np.ndarray) -> None:
    course = case.traced()
    if case.way == "body":
        m.add_joint("fixed", "fixed", "world", "cart")
        m.drive("cart", lambda t: ca.DM(axis) * course(t))
        return
    if case.way == "free":
        m.add_joint("slide", "free", "world", "cart")
    else:
        m.add_joint("slide", "prismatic", "world", "cart", axis=tuple(axis))
    if case.way in ("weld", "free"):
        kind = "weld" if case.way == "free" or case.stiff else "point"
        m.add_closure("drive", kind, "world", "cart", motion=lambda t: ca.DM(axis) * course(t))
    elif case.way == "motion":
        m.add_motion("drive", "slide", course)
    elif case.way == "coupling":
        m.add_coupling("drive", {"slide": 2.0}, motion=lambda t: 2.0 * course(t))
    else:
        far = -TALL * case.length * axis
        m.add_closure(
            "drive", "distance", "world", "cart", pose1=tuple(far),
            motion=lambda t: TALL * case.length + course(t),
        )  # fmt: skip


def _crank(case: Case, m: sr.Mechanism) -> None:
    """Add a crank of 0.3 m that is driven, a rod of 0.7 m and the slider, which is the cart."""
    along, aside = case.turn[:, 0], case.turn[:, 1]
    m.add_body("crank", mass=case.mass, inertia=(case.mass * case.length**2 * 0.01,) * 3)
    m.add_joint("crank", "revolute", "world", "crank", axis=tuple(-aside))
    m.add_joint("slide", "prismatic", "world", "cart", axis=tuple(along), reference=0.0)
    m.add_closure(
        "rod", "distance", "crank", "cart", pose1=tuple(0.3 * case.length * along), length=0.7 * case.length
    )
    if case.way == "motion":
        m.add_motion("drive", "crank", case.traced())
    else:
        m.add_coupling("drive", {"crank": -1.0}, motion=lambda t: -case.traced()(t))


def _ride(case: Case, m: sr.Mechanism, along: np.ndarray, up: np.ndarray) -> None:
    limits = {"limits": (0.0, 0.4 * case.length), "limit_restitution": case.restitution}
    if case.scene == "passenger":
        m.add_joint("ride", "prismatic", "cart", "rider", axis=tuple(along),
                    friction=case.friction * case.mass * case.gravity)  # fmt: skip
    elif case.scene == "stops":
        m.add_joint("ride", "prismatic", "cart", "rider", axis=tuple(along), **limits)
    elif case.scene in ("pendulum", "slider_crank"):
        m.add_joint("swing", "revolute", "cart", "rider", axis=tuple(case.turn[:, 1]))
    elif case.scene == "block":
        m.add_body("between", mass=1e-3 * case.mass)
        m.add_joint("rise", "prismatic", "world", "between", axis=tuple(up))
        m.add_joint("ride", "prismatic", "between", "rider", axis=tuple(along))
        m.add_contact("touch", "rider", ground="cart", normal=tuple(up), friction="coulomb",
                      friction_coefficient=case.friction)  # fmt: skip
    else:
        m.add_joint("ride", "prismatic", "world", "rider", axis=tuple(up))
        own = {"friction_coefficient": case.friction} if case.kind == "coulomb" else {}
        m.add_contact("touch", "rider", ground="cart", normal=tuple(up), friction=case.kind, impact_law=case.law,
                      restitution=case.restitution, **own)  # fmt: skip


# --- what is right ---------------------------------------------------------------------------------------------


def expected(case: Case) -> float:
    """Return the coordinate of the rider at the end."""
    if case.scene in ("pendulum", "slider_crank"):
        return _swing(case)
    knots = [case.t0, *case.times, case.end]
    speeds = [0.0, *case.speeds]
    relative, rate = 0.0, 0.0  # of the rider, as seen from the cart
    for k, (start, stop) in enumerate(pairwise(knots)):
        rate -= speeds[k] - (speeds[k - 1] if k else 0.0)
        relative, rate = _piecewise(case, relative, rate, stop - start)
    on_cart = case.scene in ("passenger", "stops")
    return relative if on_cart else relative + case.course(case.end)


def _piecewise(case: Case, x: float, u: float, left: float) -> tuple[float, float]:
    """Move a rider with constant accelerations and impacts for a time."""
    if case.scene in ("passenger", "block"):
        brake = case.friction * case.gravity * (1.001 if case.scene == "block" else 1.0)
        slides = min(left, abs(u) / brake)
        x += u * slides - 0.5 * np.sign(u) * brake * slides**2
        return x, (0.0 if slides < left else u - np.sign(u) * brake * slides)
    if case.scene == "stops":
        low, high, e, pull = 0.0, 0.4 * case.length, case.restitution, 0.0
    else:
        low, high, e, pull = 0.0, np.inf, case.restitution, case.gravity
    for _ in range(10_000):
        if (x <= low and u < 0.0) or (x >= high and u > 0.0):
            u = -e * u if abs(e * u) >= 1e-3 else 0.0
        if x <= low and u == 0.0:
            return low, 0.0
        if pull:
            hit = (u + np.sqrt(u * u + 2.0 * pull * (x - low))) / pull
        else:
            hit = (low - x) / u if u < 0.0 else (high - x) / u if u > 0.0 else np.inf
        if hit >= left or not np.isfinite(hit):
            return x + u * left - 0.5 * pull * left**2, u - pull * left
        left -= hit
        x, u = (low if u - pull * hit < 0.0 else high), u - pull * hit
    raise RuntimeError("too many impacts")


def _swing(case: Case) -> float:
    """Integrate a pendulum of which the pivot's course X(s) is known, s that of the drive."""
    mass, arm = case.mass, 0.8 * case.length
    inertia = 1e-3 * case.length**2 * mass + mass * arm**2
    r, rod = 0.3 * case.length, 0.7 * case.length

    def slope(s: float) -> float:
        if case.scene == "pendulum":
            return 1.0
        return -r * np.sin(s) - r * r * np.sin(s) * np.cos(s) / np.sqrt(rod**2 - (r * np.sin(s)) ** 2)

    def bend(s: float) -> float:
        return 0.0 if case.scene == "pendulum" else (slope(s + 1e-5) - slope(s - 1e-5)) / 2e-5

    state, last = np.zeros(2), 0.0
    for k, (start, stop) in enumerate(pairwise([case.t0, *case.times, case.end])):
        speed = [0.0, *case.speeds][k]
        kick = (speed - last) * slope(case.course(start))
        state[1] += mass * arm * np.cos(state[0]) * kick / inertia
        last = speed
        if stop > start:

            def rate(t: float, y: np.ndarray, speed: float = speed) -> list[float]:
                push = np.cos(y[0]) * bend(case.course(t)) * speed**2 - case.gravity * np.sin(y[0])
                return [y[1], mass * arm * push / inertia]

            state = solve_ivp(rate, (start, stop), state, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    return float(state[0])


# --- runs ------------------------------------------------------------------------------------------------------


def start(case: Case, system: sr.System) -> np.ndarray:
    """Return the configuration at t0."""
    q = np.array(system.neutral())
    if case.scene == "slider_crank":
        q[system.coordinate_names.index("slide")] = 1.0 * case.length
    return q


def outcome(case: Case) -> tuple[str, float]:
    """Do a case; return "right", "wrong", "flagged" or "refused", and the error in units of what is allowed."""
    system = sr.System(build(case))
    q = start(case, system)
    index = system.coordinate_names.index("swing" if "swing" in system.coordinate_names else "ride")
    scale = 1.0 if "swing" in system.coordinate_names else case.length
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            if case.many:
                runs = sr.rollout(system, np.stack([q, q]), duration=case.duration, t0=case.t0, **case.how)
                value, good, names = float(runs.final_q[1, index]), bool(runs.success.all()), None
            else:
                run = sr.simulate(system, q, duration=case.duration, t0=case.t0, **case.how)
                value, good = float(run.q[-1, index]), run.status.ok
                names = [event.name for event in run.events if event.name.startswith("speed of")]
    except SarrusError as error:
        return f"refused: {type(error).__name__}: {error}"[:300], np.nan
    in_time = case.how.get("method") == "moreau-jean" or (case.many and "method" not in case.how)
    error = abs(value - expected(case)) / scale
    allowed = 8.0 * STEP if in_time else 2e-6
    drive = "cart" if case.way == "body" else "drive"
    if good and names is not None and names != [f"speed of {drive} jumps"] * len(case.times):
        return f"wrong: events {names}", error / allowed
    if error <= allowed:
        return "right", error / allowed
    return ("wrong" if good else "flagged"), error / allowed


def cases(count: int, seed: int = 0) -> list[Case]:
    """Return seeded cases."""
    rng = np.random.default_rng(seed)
    return [draw(rng) for _ in range(count)]


def main() -> None:
    """Run cases and print how many are right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found, largest = Counter[str](), 0.0
    for k, case in enumerate(cases(given.cases, given.seed)):
        what, error = outcome(case)
        found[what.split(":")[0]] += 1
        if what == "right":
            largest = max(largest, error)
        else:
            print(
                k,
                what,
                f"{error:.3g}",
                case.scene,
                case.form,
                case.way,
                case.how,
                case.many,
                case.times,
                flush=True,
            )
    print(dict(found), f"largest error of what is right: {largest:.2g} of what is allowed")
    sys.exit(1 if found["wrong"] else 0)


if __name__ == "__main__":
    main()
