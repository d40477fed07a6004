"""Balls and wheels that roll on random surfaces, against an integration of their own equations in NumPy and SciPy.

`python tests/families/rolling_on_surfaces.py --cases N` prints how many are right, wrong with OK, endless and refused.

The equations are those of Newton and Euler with the force of the ground eliminated: with ρ from the centre c to the
point that touches, v the velocity of the ground there, c̈ from the derivative of ċ + ω × ρ = v, F = m (c̈ − g), and

    J ω̇ + ω × J ω = ρ × F.

Of a ball ρ = −r n(x), of which the place x of the surface follows from c; of a wheel ρ is at an angle θ of its rim,
where ∇f(c + ρ)·∂ρ/∂θ = 0, which is solved anew in every evaluation. Surfaces have gradients and Hessians by hand.
"""

from __future__ import annotations

import argparse
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

import sarrus as sr
from sarrus import surfaces

METHODS = (
    {}, {"method": "dop853"}, {"method": "dopri5"}, {"method": "rodas5p", "rtol": 1e-9}, {"method": "rk4", "dt": 1e-3},
    {"rollout": 2},
)  # fmt: skip
KINDS = ("ball", "disc")
SHAPES = ("bowl", "waves", "trough", "ball", "pipe")
FORMS = ("own", "implicit", "parametric")
SECONDS = 60
TOLERANCE = 1e-7


@dataclass(frozen=True)
class Shape:
    """f(x, y, z), its gradient and Hessian in NumPy, and the surfaces that are the same in sarrus, by form."""

    f: Callable
    gradient: Callable
    hessian: Callable
    forms: dict[str, surfaces.Surface]
    top: np.ndarray  # a point of the surface


def shape(name: str, rng: np.random.Generator, size: float) -> Shape:
    """Return a random surface of a name, of lengths about ``size``."""
    if name in ("bowl", "waves", "trough"):
        a, b = rng.uniform(0.15, 0.35, 2) / size
        if name == "trough":
            b = 0.0
        c, k = (0.05 * size, rng.uniform(1.0, 2.0) / size) if name == "waves" else (0.0, 1.0)
        phase = rng.uniform(0, 6)

        def height(x, y, sin=np.sin):
            return a * x * x + b * y * y + c * sin(k * x + phase) * sin(k * y)

        def gradient(p):
            x, y, _ = p
            return np.array(
                [
                    -2 * a * x - c * k * np.cos(k * x + phase) * np.sin(k * y),
                    -2 * b * y - c * k * np.sin(k * x + phase) * np.cos(k * y),
                    1.0,
                ]
            )

        def hessian(p):
            x, y, _ = p
            bend = c * k * k * np.sin(k * x + phase) * np.sin(k * y)
            twist = -c * k * k * np.cos(k * x + phase) * np.cos(k * y)
            return np.array([[-2 * a + bend, twist, 0], [twist, -2 * b + bend, 0], [0, 0, 0]])

        def traced(x, y):
            return height(x, y, ca.sin)

        grid = size * np.linspace(-2, 2, 5)
        places = np.array([(x, y) for x in grid for y in grid])
        forms = {
            "own": surfaces.Height(traced),
            "implicit": surfaces.Implicit(lambda x, y, z: 3.0 * (z - traced(x, y))),
            "parametric": surfaces.Parametric(lambda s, w: (s, w, traced(s, w)), places),
        }
        return Shape(
            lambda p: p[2] - height(p[0], p[1]), gradient, hessian, forms, np.array([0, 0, height(0, 0)])
        )
    radius, outside = size * rng.uniform(1.0, 1.5), name == "ball"
    sign, weights = (1.0 if outside else -1.0), np.array([1.0, 1.0, 1.0 if outside else 0.0])
    if outside:
        own: surfaces.Surface = surfaces.Sphere(radius)
        place = lambda s, w: (  # noqa: E731
            radius * ca.sin(s), radius * ca.cos(s) * ca.sin(w), radius * ca.cos(s) * ca.cos(w)
        )  # fmt: skip
        near, flip, top = np.zeros((1, 2)), False, np.array([0, 0, radius])
    else:
        own = surfaces.Cylinder(radius, (0, 0, 1), inside=True)
        place = lambda s, w: (radius * ca.cos(s), radius * ca.sin(s), w)  # noqa: E731
        near, flip, top = np.array([(s, 0.0) for s in np.arange(0, 6.3, 0.7)]), True, np.array([radius, 0, 0])

    def level(x, y, z):
        return sign * (x * x + y * y + weights[2] * z * z - radius**2)

    return Shape(
        lambda p: level(*p),
        lambda p: 2 * sign * weights * p,
        lambda p: 2 * sign * np.diag(weights),
        {
            "own": own,
            "implicit": surfaces.Implicit(level),
            "parametric": surfaces.Parametric(place, near, flip=flip),
        },
        top,
    )


@dataclass(frozen=True)
class Roller:
    """A ball, or a wheel with its axis along y of the body."""

    kind: str
    mass: float
    radius: float
    inertia: np.ndarray
    gravity: np.ndarray


def turned(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a unit quaternion wxyz."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * k + 2 * k @ k


def skew(a: np.ndarray) -> np.ndarray:
    """Return the matrix of a ×."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def contact(roller: Roller, ground: Shape, centre: np.ndarray, axes: np.ndarray, near: float = 0.0):
    """Return ρ, of a wheel τ = ∂ρ/∂θ too; Newton's method in plain numbers."""
    r = roller.radius
    if roller.kind == "ball":
        p = centre - r * ground.gradient(centre) / np.linalg.norm(ground.gradient(centre))
        for _ in range(30):
            g = ground.gradient(p)
            size = np.linalg.norm(g)
            n = g / size
            bend = (np.eye(3) - np.outer(n, n)) @ ground.hessian(p) / size
            step = np.linalg.solve(np.eye(3) + r * bend, p - centre + r * n)
            p = p - step
            if np.linalg.norm(step) < 1e-15:
                break
        return p - centre, None
    e1, e2 = axes[:, 0], axes[:, 2]
    g = ground.gradient(centre)
    theta = np.arctan2(-g @ e2, -g @ e1)
    for _ in range(60):
        rho = r * (np.cos(theta) * e1 + np.sin(theta) * e2)
        tau = r * (-np.sin(theta) * e1 + np.cos(theta) * e2)
        g, h = ground.gradient(centre + rho), ground.hessian(centre + rho)
        step = (g @ tau) / (tau @ h @ tau - g @ rho)
        theta -= np.clip(step, -0.5, 0.5)
        if abs(step) < 1e-15:
            break
    return rho, tau


def derivatives(roller: Roller, ground: Shape, state: np.ndarray) -> np.ndarray:
    """Return the derivative of (c, quaternion, ω in the world) of what rolls on ground at rest."""
    c, quaternion, w = state[:3], state[3:7], state[7:]
    axes = turned(quaternion)
    rho, tau = contact(roller, ground, c, axes)
    speed = -np.cross(w, rho)
    p = c + rho
    g, h = ground.gradient(p), ground.hessian(p)
    if roller.kind == "ball":
        size = np.linalg.norm(g)
        n = g / size
        bend = (np.eye(3) - np.outer(n, n)) @ h / size
        rate = -roller.radius * bend @ np.linalg.solve(np.eye(3) + roller.radius * bend, speed)
    else:
        angle = -(g @ np.cross(w, tau)) / (tau @ h @ tau - g @ rho)
        rate = np.cross(w, rho) + tau * angle
    inertia = axes @ np.diag(roller.inertia) @ axes.T
    # c̈ = ρ × ω̇ − ω × ρ̇
    known = -np.cross(w, rate) - roller.gravity
    left = inertia - roller.mass * skew(rho) @ skew(rho)
    right = np.cross(rho, roller.mass * known) - np.cross(w, inertia @ w)
    turning = np.linalg.solve(left, right)
    qw, qv = quaternion[0], quaternion[1:]
    spin = 0.5 * np.concatenate([[-w @ qv], qw * w + np.cross(w, qv)])
    return np.concatenate([speed, spin, turning])


def integrated(roller: Roller, ground: Shape, q: np.ndarray, v: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the coordinates q at times, from the state of a free body in the layout of sarrus."""
    start = np.concatenate([q, turned(q[3:7]) @ v[3:]])
    found = solve_ivp(
        lambda t, x: derivatives(roller, ground, x),
        (0, times[-1]),
        start,
        "DOP853",
        times,
        rtol=1e-12,
        atol=1e-13,
    )
    assert found.success
    return found.y[:7].T


@dataclass(frozen=True)
class Case:
    """What rolls on what, how it is written, and how it is run."""

    kind: str
    name: str
    form: str
    method: dict
    roller: Roller
    ground: Shape
    seed: int


def case(seed: int) -> Case:
    """Return a case of a family: all kinds, shapes, forms and methods in turn."""
    rng = np.random.default_rng(seed)
    kind, name = KINDS[seed % 2], SHAPES[(seed // 2) % len(SHAPES)]
    form, method = FORMS[(seed // 10) % 3], METHODS[(seed // 3) % len(METHODS)]
    size = 10.0 ** rng.uniform(-1, 1)
    radius, mass = size * rng.uniform(0.05, 0.25), 10.0 ** rng.uniform(-1, 1)
    share = rng.uniform(0.2, 0.4, 3)
    share[2] = share[0] if kind == "disc" else share[2]
    if kind == "disc":
        share[1] = 2 * share[0]
    inertia = share * mass * radius**2
    roller = Roller(kind, mass, radius, inertia, np.array([0, 0, -9.81]))
    return Case(kind, name, form, method, roller, shape(name, rng, size), seed)


def built(one: Case) -> tuple[sr.System, np.ndarray, np.ndarray]:
    """Return the system of a case, and a closed state of it."""
    rng = np.random.default_rng([one.seed, 1])
    m, r, ground = one.roller.mass, one.roller.radius, one.ground
    n = ground.gradient(ground.top)
    n = n / np.linalg.norm(n)
    mechanism = sr.Mechanism(f"case {one.seed}")
    mechanism.add_body("roller", m, inertia=one.roller.inertia)
    mechanism.add_joint("roller", "free", "world", "roller", parent_pose=ground.top + r * n)
    mechanism.add_rolling(
        "rolls", one.kind, "roller", radius=r, surface=ground.forms[one.form], tangent=(1, 0, 0)
    )
    system = sr.System(mechanism)
    start = system.neutral()
    if one.kind == "disc":  # its axis across the normal, a little inclined
        across = np.cross(n, np.array([0.3, 0.9, 0.2]) + rng.uniform(-0.5, 0.5, 3))
        y = across / np.linalg.norm(across) + rng.uniform(-0.3, 0.3) * n
        y /= np.linalg.norm(y)
        x = np.cross(y, n)
        x /= np.linalg.norm(x)
        pose = sr.Pose(np.zeros(3), np.column_stack([x, y, np.cross(x, y)]))
        start[3:] = pose.quaternion
    else:
        start[3:] = rng.standard_normal(4)
        start[3:] /= np.linalg.norm(start[3:])
    q = system.assemble(start).q
    rate = np.sqrt(9.81 / r)
    spin = rng.uniform(-0.5, 0.5, 3) * rate
    if one.kind == "disc":
        spin[1] = 2.5 * rate
    v = system.project_velocity(q, np.concatenate([np.zeros(3), spin]))
    return system, q, v


def error(one: Case) -> tuple[float, sr.Status]:
    """Return the largest difference of coordinates, lengths in radii, and the status of the run."""
    system, q, v = built(one)
    duration = 2.0 * np.sqrt(one.roller.radius / 9.81)
    options = {"rtol": 1e-11, "atol": 1e-13} | one.method
    count = options.pop("rollout", 0)
    if "dt" in options or count:
        options = {"dt": duration / 800} | ({"method": options["method"]} if "method" in options else {})
    if count:
        runs = sr.rollout(system, [q] * count, [v] * count, duration=duration, dt=options["dt"])
        times, found, status = np.array([duration]), np.array(runs.q[-1, -1])[None], sr.Status.OK
    else:
        run = sr.simulate(system, q, v, duration=duration, throw=False, **options)
        times, found, status = run.t[1:], run.q[1:], run.status
        if status is not sr.Status.OK:
            return 0.0, status
    truth = integrated(one.roller, one.ground, q, v, times)
    off = np.abs(found - truth)
    off[:, :3] /= one.roller.radius
    return float(off.max()), status


def _late(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Run a count of cases and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    count: Counter[str] = Counter()
    worst = 0.0
    signal.signal(signal.SIGALRM, _late)
    for seed in range(given.seed, given.seed + given.cases):
        one = case(seed)
        signal.alarm(SECONDS)
        try:
            off, status = error(one)
            good = status is sr.Status.OK
            what = ("right" if off < TOLERANCE else "wrong with OK") if good else f"told: {status.name}"
            worst = max(worst, off if good else 0.0)
        except TimeoutError:
            off, what = np.nan, "endless"
        except sr.SarrusError as refusal:
            off, what = np.nan, "refused"
            print(seed, one.kind, one.name, one.form, one.method, refusal)
        finally:
            signal.alarm(0)
        count[what] += 1
        if what not in ("right", "refused"):
            print(seed, one.kind, one.name, one.form, one.method, what, f"{off:.2g}")
    print(dict(count), f"largest error of those that are OK: {worst:.2g}")


if __name__ == "__main__":
    main()
