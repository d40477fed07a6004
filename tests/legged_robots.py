"""Robots with contacts for tests of control laws, and their least-cost problem written down by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import casadi as ca
import clarabel
import numpy as np
from scipy import sparse

import sarrus as sr
from conftest import load_example
from sarrus import control, optimize
from sarrus.base.arrays import Array
from sarrus.control.legged.tolerances import FORCE_WEIGHT
from sarrus.control.motion.tasks import quantity
from sarrus.dynamics.impacts import activity

CLARABEL = 1e-12  # relative duality gap that the other solver stops at
LEGS = ("FL", "FR", "RL", "RR")
G = 9.81


@contextmanager
def kept(system: sr.System) -> Iterator[None]:
    """Put back the parameters of a system at the end."""
    before = dict(system.parameters)
    try:
        yield
    finally:
        system.parameters.update(before)


def place(system: sr.System, part: Any, q: Array) -> Array:
    """Return the value of a quantity."""
    e = system.equations
    function = ca.Function("value", [e.q, e.p], [quantity(system, part).value])
    return np.array(function(q, list(system.parameters.values()))).ravel()


def quadruped(coefficient: float = 0.6) -> tuple[sr.System, Array]:
    """Return the model of the repository with contacts at its feet, and its standing configuration."""
    mechanism = sr.load("models/quadruped.xml")
    for leg in LEGS:
        mechanism.add_contact(leg, geom=leg, friction_coefficient=coefficient)
    return sr.System(mechanism), np.array(mechanism.keyframes["stand"].q)


def hopper(coefficient: float = 0.7) -> tuple[sr.System, Array]:
    """Return a planar robot with two legs of 2 × 0.3 m, four motors and two point feet, standing with its knees bent.

    Three motions are left on two feet, so that one of the four torques is free: the feet against each other.
    """
    mechanism = sr.Mechanism("hopper")
    mechanism.add_body("rail", 0.0)
    mechanism.add_body("carriage", 0.0)
    mechanism.add_body("trunk", 6.0, inertia=(0.1, 0.12, 0.1))
    mechanism.add_joint("x", "prismatic", "world", "rail", axis=(1, 0, 0))
    mechanism.add_joint("z", "prismatic", "rail", "carriage", axis=(0, 0, 1))
    mechanism.add_joint("pitch", "revolute", "carriage", "trunk", axis=(0, 1, 0))
    for name, x in (("front", 0.2), ("rear", -0.2)):
        for part, joint, parent, at in (
            ("thigh", "hip", "trunk", (x, 0, 0)),
            ("shank", "knee", f"{name}_thigh", (0, 0, -0.3)),
        ):
            mechanism.add_body(f"{name}_{part}", 0.5, com=(0, 0, -0.15), inertia=(0.004, 0.004, 0.001))
            mechanism.add_joint(
                f"{name}_{joint}", "revolute", parent, f"{name}_{part}", axis=(0, 1, 0), parent_pose=at
            )
            mechanism.add_actuator(f"{name}_{joint}", f"{name}_{joint}")
        mechanism.add_contact(name, f"{name}_shank", (0, 0, -0.3), friction_coefficient=coefficient)
    height = 0.6 * np.cos(0.5)
    return sr.System(mechanism), np.array([0.0, height, 0.0, 0.5, -1.0, 0.5, -1.0])


@cache
def hopping() -> tuple[sr.System, Array, tuple[control.Task, ...]]:
    """Return the hopper with tasks that keep its trunk where it is."""
    system, q = hopper(0.7)
    tasks = (
        control.Task("pitch", 0.0, 100, 20, name="upright"),
        control.Task(
            control.centre_of_mass("xz"), place(system, control.centre_of_mass("xz"), q), 100, 20, name="stay"
        ),
    )
    return system, q, tasks


def box(angle: float = 0.0, motors: Sequence[str] = "xyz", corners: int = 4, **contact: object) -> sr.System:
    """Return a box of 2 kg on a slope (rad about −y, in axes of the slope) with forces along x, y, z as actuators.

    Its foot is 0.2 × 0.1 m, 0.05 m below its centre.
    """
    mechanism = sr.Mechanism("box", gravity=(G * np.sin(angle), 0.0, -G * np.cos(angle)))
    parent = "world"
    for axis, name in zip(np.eye(3), "xyz"):
        mechanism.add_body(f"slide_{name}", 0.0)
        mechanism.add_joint(name, "prismatic", parent, f"slide_{name}", axis=axis)
        parent = f"slide_{name}"
    mechanism.add_body("box", 2.0, inertia=(0.01, 0.02, 0.025))
    mechanism.add_joint("turn", "spherical", parent, "box")
    for name in motors:
        mechanism.add_actuator(name, name)
    contact = {"friction_coefficient": 0.5} | contact
    if corners == 4:
        mechanism.add_contact_patch("foot", "box", (0, 0, -0.05), extent=(0.1, 0.05), offset=-0.05, **contact)
    for k in range(corners if corners < 4 else 0):
        at = 2.0 * np.pi * k / corners
        mechanism.add_contact(
            f"foot.{k + 1}", "box", (0.1 * np.cos(at), 0.1 * np.sin(at), -0.05), offset=-0.05, **contact
        )
    return sr.System(mechanism)


def four_bar_leg(coefficient: float = 0.8, **contact: Any) -> tuple[sr.System, Array]:
    """Return a planar leg with a four-bar knee that balances on a foot with heel and toe, and a squat.

    Its loop is closed by the crank's rod; hip, crank and ankle are driven, trunk and knee are not.
    """
    example = load_example("leg_four_bar")
    mechanism = sr.Mechanism("four_bar_leg")
    mechanism.add_body("rail", 0.0)
    mechanism.add_body("carriage", 0.0)
    mechanism.add_body("trunk", 8.0, inertia=(0.2, 0.2, 0.2))
    mechanism.add_joint("x", "prismatic", "world", "rail", axis=(1, 0, 0))
    mechanism.add_joint("z", "prismatic", "rail", "carriage", axis=(0, 0, 1))
    mechanism.add_joint("pitch", "revolute", "carriage", "trunk", axis=(0, -1, 0))
    for body, joint, parent, at, mass, com, moment in (
        ("thigh", "hip", "trunk", (0, 0, 0), 2.0, (0, 0, -0.4 * example.THIGH), 0.03),
        ("crank", "crank", "thigh", (0, 0, -example.DROP), 0.1, (-0.5 * example.CRANK, 0, 0), 1e-4),
        ("rod", "rod", "crank", (-example.CRANK, 0, 0), 0.15, (0, 0, -0.5 * example.ROD), 1.5e-3),
        ("shank", "knee", "thigh", (0, 0, -example.THIGH), 1.0, (0, 0, -0.4 * example.SHANK), 0.015),
        ("foot", "ankle", "shank", (0, 0, -example.SHANK), 0.5, (0.03, 0, -0.03), 2e-3),
    ):
        mechanism.add_body(body, mass, com=com, inertia=(moment, moment, 0.1 * moment))
        mechanism.add_joint(joint, "revolute", parent, body, axis=(0, -1, 0), parent_pose=at)
    mechanism.add_closure(
        "rocker", "point_on_line", body1="shank", body2="rod", pose1=example.ROCKER_PIN, pose2=(0, 0, -example.ROD),
        axis=(0, 1, 0),
    )  # fmt: skip
    for name, x in (("toe", 0.12), ("heel", -0.06)):
        mechanism.add_contact(name, "foot", (x, 0, -0.05), friction_coefficient=coefficient, **contact)
    for joint in ("hip", "crank", "ankle"):
        mechanism.add_actuator(joint, joint)
    system = sr.System(mechanism)
    knee = -0.8
    leg = example.THIGH * np.cos(0.4) + example.SHANK * np.cos(0.4) + 0.05
    guess = np.array(
        [0.0, leg, 0.0, -knee / 2, knee - example.MIDDLE, example.MIDDLE - knee, knee, -knee / 2]
    )
    return system, system.assemble(guess, locked=["x", "z", "pitch", "hip", "knee", "ankle"]).q


def moving(system: sr.System, q: Array, seed: int, size: float = 0.1) -> tuple[Array, Array]:
    """Return a random state near q in which all contacts stand where they do at q.

    It is the nearest one with unit weights. In the kinetic metric light legs would do what a heavy trunk does not, and
    move several times as fast.
    """
    rng = np.random.default_rng(seed)
    with kept(system):
        activity.switch_on(system, activity.contact_names(system), q)
        q = system.normalized(q + size * rng.standard_normal(system.nq))
        for _ in range(20):
            rows = np.linalg.pinv(system.constraint_jacobian(q), 1e-10)
            q = system.move(q, -rows @ system.constraint_residual(q))
        v = 0.3 * rng.standard_normal(system.nv)
        return q, v - rows @ system.velocity_residual(q, v)


def rows_of(system: sr.System, task: control.Task, q: Array, v: Array, t: float = 0.0) -> tuple[Array, Array]:
    """Return J and r with which a task of constant reference says J a = r."""
    e, x = system.equations, quantity(system, task.quantity)
    size = len(x.rows)
    reference, stiffness, damping = (
        ca.DM(np.broadcast_to(np.asarray(value, dtype=float), (size,)))
        for value in (task.reference, task.stiffness, task.damping)
    )
    wanted = stiffness * x.error(reference) - damping * x.rate - x.bias
    function = ca.Function("rows", [e.q, e.v, e.t, e.p], [ca.densify(x.jacobian), wanted])
    J, r = function(q, v, t, list(system.parameters.values()))
    return np.array(J), np.array(r).ravel()


class ByHand:
    """The problem of a law over z = (u, a, λ): the equations of motion, the closed contacts and the tasks as they are.

    ``exact`` are tasks that hold; ``relaxed`` pairs of a task and ρ. ``rows`` are further rows over (u, λ of contacts).
    """

    def __init__(
        self,
        system: sr.System,
        q: Array,
        v: Array,
        closed: Sequence[str],
        exact: Sequence[control.Task] = (),
        relaxed: Sequence[tuple[control.Task, float]] = (),
        *,
        coefficient: float,
        limit: float = np.inf,
        largest: float = np.inf,
        weights: Array | None = None,
        rows: optimize.ConeRows | None = None,
    ) -> None:
        s = self.system = system
        nu, nv, nc = s.nu, s.nv, s.nc
        with kept(s):
            activity.switch_off(s, activity.contact_names(s))
            for name in closed:
                s.parameters[f"active.{name}"] = 1.0
            A, gamma = s.constraint_jacobian(q, v), s.constraint_bias(q, v)
        n = nu + nv + nc
        self.u, self.a, self.multipliers = slice(0, nu), slice(nu, nu + nv), slice(nu + nv, n)
        W = np.ones(nu) if weights is None else weights
        P, c = np.zeros((n, n)), np.zeros(n)
        P[self.u, self.u] = 2.0 * np.diag(W)
        contact_rows = [j for name in activity.contact_names(s) for j in _rows(s, name)]
        for j in contact_rows:
            P[nu + nv + j, nu + nv + j] = 2.0 * FORCE_WEIGHT * W.mean() * s.characteristic.length**2
        motion = np.hstack([-s.actuation_matrix(q), s.mass_matrix(q), -A.T])
        equalities = [motion, np.hstack([np.zeros((nc, nu)), A, np.zeros((nc, nc))])]
        right = [s.passive_force(q, v, 0.0) - s.bias_force(q, v), -gamma]
        for task in exact:
            J, r = rows_of(s, task, q, v)
            equalities.append(np.hstack([np.zeros((len(J), nu)), J, np.zeros((len(J), nc))]))
            right.append(r)
        self.tasks = []
        for task, rho in relaxed:
            J, r = rows_of(s, task, q, v)
            P[self.a, self.a] += 2.0 * rho * J.T @ J
            c[self.a] -= 2.0 * rho * J.T @ r
            self.tasks.append((J, r))
        parts = []
        if np.isfinite(limit):
            full = np.full(n, np.inf)
            full[self.u] = limit
            parts.append(optimize.bounds(-full, full))
        for name in closed:
            own = np.eye(n)[[nu + nv + j for j in _rows(s, name)]]
            if len(own) == 1:
                parts.append(optimize.ConeRows(-own, np.zeros(1), 1))
            else:
                parts.append(optimize.friction_cone(own, coefficient=coefficient, normal_limit=largest))
        if rows is not None:
            chosen = np.eye(n)[[*range(nu), *[nu + nv + j for j in contact_rows]]]
            parts.append(optimize.ConeRows(rows.G @ chosen, rows.h, rows.linear, rows.cones))
        self.P, self.c, self.A, self.b = P, c, np.vstack(equalities), np.concatenate(right)
        self.rows = optimize.stack(parts)

    def solve(self) -> Array:
        """Return z by the cone programs of the package."""
        k = self.rows
        found = optimize.solve_cone_program(
            self.P, self.c, k.G, k.h, self.A, self.b, linear=k.linear, cones=k.cones
        )
        self.gap = found.gap
        return found.x

    def distance(self, cost: float) -> float:
        """Return how far the controls of an answer of `clarabel` may be from the best: W |Δu|² is below the gap."""
        least = 0.5 * np.diag(self.P)[self.u].min()
        return float(np.sqrt(CLARABEL * max(1.0, cost) / least))

    def clarabel(self) -> Array:
        """Return z by another solver."""
        k = self.rows
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = CLARABEL
        cones = [clarabel.ZeroConeT(len(self.b)), clarabel.NonnegativeConeT(k.linear)]
        cones += [clarabel.SecondOrderConeT(size) for size in k.cones]
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix(np.triu(self.P)),
            self.c,
            sparse.csc_matrix(np.vstack([self.A, k.G])),
            np.concatenate([self.b, k.h]),
            cones,
            settings,
        ).solve()
        assert str(solution.status) in ("Solved", "AlmostSolved")
        return np.array(solution.x)


def _rows(system: sr.System, name: str) -> range:
    part = system.closure_rows[name]
    return range(part.start, part.stop)


def slack(forces: dict[str, Array], coefficient: float) -> float:
    """Return the least μ λ_n − |λ_t| of contact forces [N]."""
    return min(float(coefficient * f[0] - np.linalg.norm(f[1:])) for f in forces.values())
