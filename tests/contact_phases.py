"""Motions with contacts, stops and dry friction whose modes are held, by dense least squares; scenes of them.

`HeldPhase` solves the equations of motion with the rows of a phase from the matrices of the library, before anything is
eliminated, and moves along the manifold of what is closed. Its differences are the oracle of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import casadi as ca
import numpy as np

import sarrus as sr
from families.implicit_phases import chain, gears, loop, standing
from legged_robots import four_bar_leg
from random_walkers import quadruped
from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.analysis.sensitivity.phase_flow import flow_of
from sarrus.analysis.sensitivity.step import StepDerivatives
from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError
from sarrus.dynamics.closing.manifold import difference
from sarrus.dynamics.contacts.contact_elements import Mode, contact_elements
from sarrus.dynamics.contacts.contact_state import contact_row_state

# Levels of central differences, each at half the distance of the one before.
LEVELS = 4


class Scene(NamedTuple):
    """A state with contacts, stops or dry friction."""

    system: sr.System
    q: Array
    v: Array
    u: Array
    t: float = 0.0
    tau: Array | None = None


class HeldPhase:
    """The motion with the modes of contacts at a state held."""

    def __init__(self, scene: Scene) -> None:
        self.scene, system = scene, scene.system
        found = system.forward_dynamics(scene.q, scene.v, scene.u, scene.t, scene.tau)
        assert found.contacts is not None
        self.modes, self.forces = found.contacts.modes, found.contacts.forces
        self.multipliers, self.force = found.multipliers, found.contacts.force
        self.held, self.gaps, self.sliding = (
            list[int](),
            list[tuple[int, int]](),
            list[tuple[int, slice, float]](),
        )
        self.bounds = None
        for k, one in enumerate(contact_row_state(system, scene.q, scene.v, scene.t).elements):
            mode = self.modes[one.name]
            if mode is Mode.OPEN or (one.kind == "friction" and mode is Mode.SLIDING):
                continue
            if one.kind != "friction":
                self.gaps.append((k, one.rows.start))
            sticks = mode is Mode.STICKING and (one.kind == "friction" or one.static > 0.0)
            self.held += range(one.rows.start, one.rows.stop if sticks else one.rows.start + 1)
            if mode is Mode.SLIDING:
                self.sliding.append((one.rows.start, one.tails, one.friction))
        self.rubbing = np.zeros(system.nv)  # dry friction of joints that slide
        for one in contact_elements(system):
            if one.kind == "friction" and self.modes[one.name] is Mode.SLIDING:
                rows = contact_row_state(system, scene.q, scene.v, scene.t).rows
                self.rubbing += self.forces[one.rows] @ rows[one.rows]

    def rows(self, q: Array, v: Array, t: float) -> tuple[Array, Array, Array, Array, Array]:
        """Return gaps, H, their velocities and biases, and P."""
        found = contact_row_state(self.scene.system, q, v, t)
        push = found.rows.copy()
        for normal, tails, friction in self.sliding:
            slip = found.rates[tails]
            push[normal] -= friction * slip / max(np.linalg.norm(slip), 1e-300) @ found.rows[tails]
        k = self.held
        return found.gaps[[k for k, _ in self.gaps]], found.rows[k], found.rates[k], found.bias[k], push[k]

    def acceleration(self, q: Array, v: Array, u: Array, t: float) -> Array:
        """Return a; forces that are not unique keep their parts Zᵀr of the state, Zᵀ[A; H] = 0."""
        s, tau = self.scene.system, self.scene.tau
        free = s.forward_dynamics(q, v, u, t, tau, contacts=False)
        A, M = s.constraint_jacobian(q, v, t), s.mass_matrix(q)
        _, H, _, bias, P = self.rows(q, v, t)
        start, nv = np.concatenate([self.multipliers, self.forces[self.held]]), s.nv
        push, rows = np.vstack([A, P]), np.vstack([A, H])
        right = M @ free.a - A.T @ free.multipliers + self.rubbing + push.T @ start
        # changes of forces are combinations of the accelerations that rows may have, as those by springs in rows
        left, sizes, _ = np.linalg.svd(rows / np.sqrt(np.diag(M)), full_matrices=False)
        left = left[:, sizes > 1e-9 * sizes.max(initial=0.0)]
        matrix = np.block([[M, -push.T @ left], [left.T @ rows, np.zeros((left.shape[1], left.shape[1]))]])
        right = np.concatenate([right, -left.T @ np.concatenate([s.constraint_bias(q, v, t), bias])])
        return np.linalg.solve(matrix, right)[:nv]

    def state(self, model: LinearSystem, along: Array, more: Array, t: float) -> tuple[Array, Array]:
        """Return the state on what is closed that is ``along`` (nv,) from the place of a model, with (y, η) + more."""
        s, q0, v0 = self.scene.system, self.scene.q, self.scene.v
        q = s.move(q0, along)
        N = lambda q: np.array([s.coordinate_rate(q, e) for e in np.eye(s.nv)]).T  # noqa: E731
        nh = s.nh
        for _ in range(8):
            gaps, H, *_ = self.rows(q, v0, t)
            heads = [self.held.index(row) for _, row in self.gaps]
            left = np.concatenate([s.constraint_residual(q, t)[:nh], np.zeros(len(H))])
            left[nh + np.array(heads, dtype=int)] = gaps
            stacked = np.vstack([s.constraint_jacobian(q, v0, t)[:nh], H, model.coordinate_rows @ N(q)])
            right = np.concatenate([-left, np.zeros(len(model.coordinate_rows))])
            q = s.move(q, np.linalg.lstsq(stacked, right, rcond=1e-9)[0])
        _, H, still, *_ = self.rows(q, np.zeros(s.nv), t)
        A = s.constraint_jacobian(q, v0, t)
        b = A @ v0 - s.velocity_residual(q, v0, t) if s.nc else np.zeros(0)
        own = model.coordinate_rows @ N(q) if model.velocity_rows is None else model.velocity_rows
        start = model.coordinate_rows @ s.coordinate_rate(q0, v0)
        start = start if model.velocity_rows is None else model.velocity_rows @ v0
        stacked, right = np.vstack([A, H, own]), np.concatenate([b, -still, start + more])
        return q, np.linalg.lstsq(stacked, right, rcond=1e-9)[0]

    def rates(self, model: LinearSystem, q: Array, v: Array, u: Array, t: float) -> Array:
        """Return the rates of x."""
        s = self.scene.system
        a, y_rate = self.acceleration(q, v, u, t), model.coordinate_rows @ s.coordinate_rate(q, v)
        if model.velocity_rows is not None:
            return np.concatenate([y_rate, model.velocity_rows @ a])
        e = s.equations
        spin = s.compiled.named("spin", lambda: {"x": ca.jtimes(e.rate, e.q, e.rate)})(s.pack(q, v))
        return np.concatenate([y_rate, model.coordinate_rows @ (s.coordinate_rate(q, a) + spin)])

    def differences(self, model: LinearSystem, steps: Array) -> Array:
        """Return the columns ∂ẋ/∂(x, u) by central differences, extrapolated; ``steps`` are distances."""
        u, t = self.scene.u, self.scene.t
        n, ny, nv = len(model.names), len(model.coordinates), self.scene.system.nv
        columns = []
        for k, step in enumerate(steps):
            found = []
            for level in range(LEVELS):
                h, ends = step / 2.0**level, list[Array]()
                for sign in (h, -h):
                    if k >= n:
                        change = np.zeros(len(u))
                        change[k - n] = sign
                        ends.append(self.rates(model, self.scene.q, self.scene.v, u + change, t))
                        continue
                    more = np.zeros(n - ny)
                    if k >= ny:
                        more[k - ny] = sign
                    way = sign * model.tangent[:nv, k]
                    ends.append(self.rates(model, *self.state(model, way, more, t), u, t))
                found.append((ends[0] - ends[1]) / (2.0 * h))
            for order in range(1, LEVELS):
                found = [(4.0**order * b - a) / (4.0**order - 1.0) for a, b in pairwise(found)]
            columns.append(found[0])
        return np.array(columns).T


def error_of(
    scene: Scene, held: type[HeldPhase] = HeldPhase, reach: float = 0.03, **options: object
) -> tuple[float, LinearSystem]:
    """Return the largest error of [A | B] relative to the largest entry of its block, and the model.

    ``reach`` is the largest distance of the differences, in characteristic units.
    """
    system = scene.system
    model = sr.linearize_at(system, scene.q, scene.v, scene.u, t=scene.t, tau=scene.tau, **options)
    phase, size = held(scene), system.characteristic
    n, ny = len(model.names), len(model.coordinates)
    if n == 0:
        return 0.0, model
    length = 1.0 / size.columns.min(initial=1.0)
    unit = np.array([length] * ny + [max(1.0, np.abs(scene.v).max())] * (n - ny))
    for part, indices in ((slice(0, ny), model.coordinate_indices), (slice(ny, n), model.velocity_indices)):
        if indices:
            unit[part] = 1.0 / size.columns[list(indices)]
    pace = max(1.0, float(np.abs(size.columns * scene.v).max(initial=0.0)))
    found = contact_row_state(system, scene.q, scene.v, scene.t)
    slowest = min((np.linalg.norm(found.rates[tails]) for _, tails, _ in phase.sliding), default=np.inf)
    distance = reach * min(1.0, slowest / size.length)
    steps = np.concatenate([distance * unit[:ny] / pace, distance * unit[ny:], np.ones(system.nu)])
    exact = phase.differences(model, steps)
    ours = np.hstack([model.A, model.B])
    worst = 0.0
    for rows in (slice(0, ny), slice(ny, n)):
        for columns in (slice(0, ny), slice(ny, n), slice(n, None)):
            part = exact[rows, columns]
            scales = unit[rows, None] / np.concatenate([unit, np.ones(system.nu)])[None, columns]
            if part.size:
                even, gap = np.abs(part / scales).max(), np.abs((ours[rows, columns] - part) / scales).max()
                worst = max(
                    worst,
                    float(
                        gap / max(even, np.abs(exact[ny:, :n] / (unit[ny:, None] / unit)).max() * 1e-3, 1e-3)
                    ),
                )
    return worst, model


def crate(rng: np.random.Generator, moving: str) -> Scene:
    """A crate on four corners, one row of which is redundant: it slides, turns or sticks, with a bob."""
    mechanism = sr.Mechanism("crate")
    mechanism.add_body("crate", 2.0, com=rng.uniform(-0.05, 0.05, 3), inertia=(0.1, 0.12, 0.14))
    mechanism.add_joint("free", "free", "world", "crate")
    mechanism.add_body("bob", 0.5, com=(0.05, 0, 0.1), inertia=(3e-3, 2e-3, 1e-3))
    mechanism.add_joint("neck", "spherical", "crate", "bob", parent_pose=(0, 0.02, 0.05), damping=0.02)
    for k, (x, y) in enumerate([(0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2)]):
        mechanism.add_contact(f"c{k}", "crate", (x, y, -0.1), friction="coulomb", friction_coefficient=0.3)
    system = sr.System(mechanism)
    q, v = system.neutral(), np.zeros(9)
    q[2], v[6:] = 0.1, rng.normal(size=3)
    if moving == "slides":
        v[:2] = rng.normal(size=2)
    return Scene(system, q, v, np.zeros(0))


def walker(rng: np.random.Generator, feet: int = 4) -> Scene:
    """A quadruped that stands on point feet, with its trunk in motion."""
    robot = quadruped(int(rng.integers(0, 100)))
    system, q = robot.plant, robot.q
    v, rows = rng.normal(size=system.nv), contact_row_state(system, q, np.zeros(system.nv), 0.0).rows
    v -= np.linalg.pinv(rows) @ (rows @ v)
    v *= 0.1
    a = np.linalg.pinv(rows) @ -contact_row_state(system, q, v, 0.0).bias
    held = system.inverse_dynamics(q, v, a).u
    return Scene(system, q, v, held + 0.01 * np.abs(held).max() * rng.normal(size=system.nu))


def balls(rng: np.random.Generator, slides: bool) -> Scene:
    """A ball on a plane, a second ball on the first one and a box on the plane, in closed form; they roll or slide."""
    mechanism = sr.Mechanism("balls")
    mechanism.add_geom("floor", "world", "plane")
    tilt = rng.normal(size=2) * 0.2
    up = np.array([*np.sin(tilt), 0.0])
    up[2] = np.sqrt(1.0 - up @ up)
    places = {
        "low": np.array([0, 0, 0.2]),
        "high": np.array([0, 0, 0.2]) + 0.3 * up,
        "box": np.array([2.0, 0, 0.1]),
    }
    for name, place in places.items():
        mechanism.add_body(name, 1.0, com=0.02 * rng.normal(size=3), inertia=(0.01, 0.012, 0.014))
        mechanism.add_joint(name, "free", "world", name, parent_pose=tuple(place))
        kind, size = (
            ("box", (0.1, 0.1, 0.1)) if name == "box" else ("sphere", (0.2 if name == "low" else 0.1,))
        )
        mechanism.add_geom(name, name, kind, size, friction=0.3 if slides else 2.0)
    mechanism.add_geometry_contacts(closed_form=True)
    system = sr.System(mechanism)
    q, v = system.neutral(), rng.normal(size=system.nv)
    rows = contact_row_state(system, q, np.zeros(system.nv), 0.0)
    keep = [
        row
        for one, gap in zip(contact_elements(system), rows.gaps)
        if gap < 1e-9
        for row in range(one.rows.start, one.rows.start + 1 if slides else one.rows.stop)
    ]
    v -= np.linalg.pinv(rows.rows[keep]) @ (rows.rows[keep] @ v)
    return Scene(system, q, v * (1.0 if slides else 0.3), np.zeros(0))


def rolling(rng: np.random.Generator, slides: bool) -> Scene:
    """Balls with rolling friction (5 rows) and torsion too (6) on a plate on a hinge, and one on a ball (condim 6)."""
    mechanism = sr.Mechanism("rolling")
    mechanism.add_body("plate", 3.0, com=(0.02, 0, 0.01), inertia=(0.1, 0.12, 0.15))
    mechanism.add_joint(
        "hinge", "revolute", "world", "plate", axis=(1.0, 2.0, 0.5), stiffness=20.0, damping=0.1
    )
    mu, lengths = (0.3, (0.02, 0.03)) if slides else (2.0, (0.5, 0.4))
    for name, x, height in (("five", 0.3, 0.1), ("six", -0.3, 0.1), ("upper", -0.3, 0.25)):
        mechanism.add_body(name, 1.0, com=0.01 * rng.normal(size=3), inertia=(0.01, 0.012, 0.014))
        mechanism.add_joint(name, "free", "world", name, parent_pose=(x, 0.0, height))
        if name == "upper":
            continue
        torsion = lengths[1] if name == "six" else 0.0
        mechanism.add_contact(
            f"on {name}", name, radius=0.1, ground="plate", friction="coulomb", friction_coefficient=mu,
            rolling=lengths[0], torsion=torsion,
        )  # fmt: skip
    for name, radius in (("six", 0.1), ("upper", 0.05)):
        mechanism.add_geom(
            name, name, "sphere", (radius,), friction=mu, rolling=mu * lengths[0], torsion=mu * lengths[1], condim=6
        )  # fmt: skip
    mechanism.add_geometry_contacts(closed_form=True)
    system = sr.System(mechanism)
    q, v = system.neutral(), rng.normal(size=system.nv)
    rows = contact_row_state(system, q, np.zeros(system.nv), 0.0).rows
    ends = [one.rows.start + 1 if slides else one.rows.stop for one in contact_elements(system)]
    keep = [row for one, end in zip(contact_elements(system), ends) for row in range(one.rows.start, end)]
    v -= np.linalg.pinv(rows[keep]) @ (rows[keep] @ v)
    return Scene(system, q, v * (1.0 if slides else 0.3), np.zeros(0))


def leg(rng: np.random.Generator, slides: bool) -> Scene:
    """A planar leg with a four-bar knee on heel and toe, which stick or slide, in motion."""
    system, place = four_bar_leg(0.3 if slides else 2.0, friction="coulomb")
    q = np.array(place)
    v, count = rng.normal(size=system.nv), 1 if slides else 3
    state = contact_row_state(system, q, np.zeros(system.nv), 0.0)
    q[system.coordinate_names.index("z")] -= state.gaps.min()
    held = [row for one in contact_elements(system) for row in range(one.rows.start, one.rows.stop)[:count]]
    rows = np.vstack([system.constraint_jacobian(q), state.rows[held]])
    v -= np.linalg.pinv(rows, rcond=1e-9) @ (rows @ v)
    return Scene(system, q, 0.3 * v, 5.0 * rng.normal(size=system.nu))


def from_run(case: object, rng: np.random.Generator) -> Scene | None:
    """Return the state of a case of `families.implicit_phases` some time after its start, None if it does not run."""
    system = case.system
    try:
        run = sr.simulate(
            system,
            case.q,
            case.v,
            duration=case.duration * rng.uniform(0.05, 1.0),
            throw=False,
            error_estimate=False,
        )
    except SarrusError:
        return None
    return Scene(system, run.q[-1], run.v[-1], np.zeros(system.nu), float(run.t[-1]))


FAMILIES: dict[str, Callable[[np.random.Generator], Scene | None]] = {
    "crate slides": lambda rng: crate(rng, "slides"),
    "crate sticks": lambda rng: crate(rng, "sticks"),
    "quadruped": walker,
    "balls roll": lambda rng: balls(rng, False),
    "balls slide": lambda rng: balls(rng, True),
    "rolling friction holds": lambda rng: rolling(rng, False),
    "rolling friction slides": lambda rng: rolling(rng, True),
    "leg sticks": lambda rng: leg(rng, False),
    "leg slides": lambda rng: leg(rng, True),
    "chain": lambda rng: from_run(chain(rng), rng),
    "standing": lambda rng: from_run(standing(rng), rng),
    "loop": lambda rng: from_run(loop(rng), rng),
    "gears": lambda rng: from_run(gears(rng), rng),
}


def step_error(scene: Scene, dt: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the differences of a step with derivatives from one of `simulate`, and of F from differences of such."""
    system = scene.system
    found = sr.sensitivity.step_derivatives(system, scene.q, scene.v, scene.u, scene.t, dt=dt)

    def closed(q: Array, v: Array) -> tuple[Array, Array]:
        x = system.pack(q, v, scene.u, scene.t)
        start = system.pack(scene.q, scene.v, scene.u, scene.t)
        flow = flow_of(system.workspace().copy(), start, [], True)
        assert flow._close(x)
        return x[system.parts.q], x[system.parts.v]

    def step(q: Array, v: Array) -> tuple[Array, Array]:
        run = sr.simulate(
            system, q, v, duration=dt, dt=dt, t0=scene.t, method="rk4", error_estimate=False,
            control=(lambda q, v, t: scene.u) if system.nu else None,
        )  # fmt: skip
        return run.q[-1], run.v[-1]

    return apart_from_steps(scene, found, step, closed, 4e-4, rng)


def apart_from_steps(
    scene: Scene,
    found: StepDerivatives,
    step: Callable[[Array, Array], tuple[Array, Array]],
    closed: Callable[[Array, Array], tuple[Array, Array]],
    size: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the differences of a step with derivatives from ``step``, and of F from its extrapolated differences.

    ``closed`` puts a state next to that of the scene on what is held; ``size`` is the largest change.
    """
    system = scene.system
    q1, v1 = step(scene.q, scene.v)
    scale = max(1.0, float(np.abs(v1).max()))
    apart = max(float(np.abs(found.q - q1).max()), float(np.abs(found.v - v1).max()) / scale)
    units = np.concatenate([1.0 / system.characteristic.columns, np.full(system.nv, max(0.1, scale * 0.1))])
    way, levels = units * rng.normal(size=2 * system.nv), list[Array]()
    for part in (size, 0.5 * size, 0.25 * size):
        ends = []
        for sign in (part, -part):
            q, v = closed(system.move(scene.q, sign * way[: system.nv]), scene.v + sign * way[system.nv :])
            ends.append(step(q, v))
        along = difference(system, ends[1][0], ends[0][0])
        levels.append(np.concatenate([along, ends[0][1] - ends[1][1]]) / (2.0 * part))
    first = [(4.0 * b - a) / 3.0 for a, b in pairwise(levels)]
    exact = (16.0 * first[1] - first[0]) / 15.0
    ours = found.F @ way
    return apart, float(np.abs((ours - exact) / units).max() / max(np.abs(exact / units).max(), 1.0))
