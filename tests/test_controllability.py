"""What the actuators reach, on a table of mechanisms with different motors: by hand and in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.base.status import Status

Place = tuple[sr.Mechanism, Callable[[sr.System], Any]]
FOLDED, SLANTED = (np.pi / 2, -np.pi), (np.arccos(0.6), -2 * np.arccos(0.6))


def shipped(name: str, at: Callable[[Any, sr.System], Any], *build: Any) -> Callable[[Any], Place]:
    """An example with a configuration, from its module and system."""

    def make(example: Any) -> Place:
        module = example(name)
        return module.build(*build), lambda system: at(module, system)

    return make


def cart_pole(example: Any) -> Place:
    mechanism = sr.Mechanism("cart_pole")
    mechanism.add_body("cart", 1.0)
    mechanism.add_joint("cart", "prismatic", "world", "cart", axis=(1, 0, 0))
    mechanism.add_body("pole", 0.5, com=(0, 0, 0.6), inertia=(0.1, 0.1, 0.01))
    mechanism.add_joint("pole", "revolute", "cart", "pole", axis=(0, 1, 0))
    return mechanism, lambda system: [0.2, 0.4]


def acrobot(example: Any) -> Place:
    """Two links in a row."""
    mechanism, parent = sr.Mechanism("acrobot", gravity=(0, -9.81, 0)), "world"
    for k in (1, 2):
        mechanism.add_body(f"link{k}", 1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint(f"q{k}", "revolute", parent, f"link{k}", parent_pose=(float(k > 1), 0, 0))
        parent = f"link{k}"
    return mechanism, lambda system: [0.3, 0.4]


def two_pendulums(example: Any) -> Place:
    """Two pendulums beside each other on the world; a motor between them turns one against the other."""
    mechanism = sr.Mechanism("two_pendulums")
    for k in (1, 2):
        mechanism.add_body(f"link{k}", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint(
            f"q{k}", "revolute", "world", f"link{k}", axis=(0, 1, 0), parent_pose=(float(k), 0, 0)
        )
    return mechanism, lambda system: [0.3, -0.2]


def satellite(example: Any) -> Place:
    """A free body with one reaction wheel."""
    mechanism = sr.Mechanism("satellite", gravity=(0, 0, 0))
    mechanism.add_body("base", 5.0, inertia=(1.0, 1.2, 1.4))
    mechanism.add_joint("base", "free", "world", "base")
    mechanism.add_body("wheel", 0.5, inertia=(0.02, 0.02, 0.04))
    mechanism.add_joint("wheel", "revolute", "base", "wheel")
    return mechanism, lambda system: system.neutral()


def geared(example: Any) -> Place:
    """Three shafts, the third of which turns with the mean of the others, as in a differential."""
    mechanism = sr.Mechanism("differential", gravity=(0, 0, 0))
    for k in (1, 2, 3):
        mechanism.add_body(f"shaft{k}", 1.0, inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint(f"q{k}", "revolute", "world", f"shaft{k}")
    mechanism.add_coupling("gears", {"q1": 1.0, "q2": 1.0, "q3": -2.0})
    return mechanism, lambda system: [0.2, 0.4, 0.3]


five_bar = shipped("five_bar", lambda m, s: m.SYMMETRIC)
stretched = shipped("five_bar", lambda m, s: m.COLLINEAR)
slanted = shipped("slider_crank", lambda m, s: SLANTED)
folded = shipped("slider_crank", lambda m, s: FOLDED)
flat = shipped("parallelogram", lambda m, s: m.closed(0.0, 0.0))
open_parallelogram = shipped("parallelogram", lambda m, s: m.closed(0.3, 1.1))
turned_platform = shipped("three_leg_platform", lambda m, s: m.pose(s, 0.05, -0.2, -0.4))
parallel_platform = shipped("three_leg_platform", lambda m, s: m.pose(s, 0.05, -0.2, 0.0))
arms = shipped("two_arms", lambda m, s: m.lift(0.7)[0])
quadruped = shipped("quadruped", lambda m, s: m.standing(s))
stewart = shipped("stewart", lambda m, s: m.configuration(m.POSE))
turned_stewart = shipped(
    "stewart", lambda m, s: m.configuration(sr.Pose.of((0.0, 0.0, 1.0), quaternion=(1.0, 0.0, 0.0, 1.0)))
)
loader = shipped("front_loader", lambda m, s: m.pose(s, 0.2, 0.0))
bennett = shipped("bennett", lambda m, s: m.closed(1.1, 3), "revolute")
two_masses = shipped("two_mass_spring", lambda m, s: [0.0, 0.6])
leg = [f"FL_{joint}" for joint in ("roll", "pitch", "knee")]
diagonal = [*leg, *(f"RR_{joint}" for joint in ("roll", "pitch", "knee"))]


@dataclass(frozen=True)
class Entry:
    """A mechanism with motors on some coordinates (None: its own), its counts, and why; ``exact``: SymPy agrees."""

    why: str
    place: Callable[[Any], Place]
    motors: Any
    dof: int
    rank: int
    names: tuple[str, ...] | None = None
    exact: bool = False


TABLE = [
    Entry("masses on a spring, one pushed: the spring is no actuator", two_masses, None, 2, 1, ("x2",), True),
    Entry("slider-crank: the crank determines everything", slanted, ["crank"], 1, 1, (), True),
    Entry("slider-crank by its rod, which turns with the crank", slanted, ["rod"], 1, 1, (), True),
    Entry("folded, the rod turns about the slider alone", folded, ["crank"], 2, 1, ("rod",), True),
    Entry("folded, both joints driven", folded, ["crank", "rod"], 2, 2, (), True),
    Entry("parallelogram: two free angles, both driven", open_parallelogram, None, 2, 2, ()),
    Entry("one angle driven, the other side keeps its direction", open_parallelogram, ["q1"], 2, 1),
    Entry("flat, all four joints are on one line: one more motion", flat, None, 3, 2, None, True),
    Entry("five-bar by its cranks", five_bar, None, 2, 2, ()),
    Entry("stretched out, the pin is free along the line too", stretched, None, 3, 2, None, True),
    Entry("platform by its elbows", turned_platform, None, 3, 3, ()),
    Entry("legs that push through one point give no moment about it", parallel_platform, None, 3, 2),
    Entry("two elbows for three motions", turned_platform, ["q2", "q4"], 3, 2),
    Entry("two arms: six motors, three of them internal", arms, None, 3, 3, ()),
    Entry("two motors of six", arms, ["joint1", "joint2"], 3, 2),
    Entry("quadruped: twelve motors for the six motions of the trunk", quadruped, None, 6, 6, ()),
    Entry("one leg pulls its hip along three directions", quadruped, leg, 6, 3),
    Entry("two legs cannot turn the trunk about the line of their feet", quadruped, diagonal, 6, 5),
    Entry("hexapod", stewart, None, 6, 6, ()),
    Entry("turned by 90°, the six legs are in one linear complex (Fichter)", turned_stewart, None, 6, 5),
    Entry("five cylinders of six", stewart, [f"cylinder{k}" for k in range(1, 6)], 6, 5),
    Entry("loader by lift and tilt", loader, None, 2, 2, ()),
    Entry("without the tilt cylinder", loader, ["lift"], 2, 1),
    Entry("Bennett's loop by any hinge, though its rows are redundant", bennett, ["theta2"], 1, 1, ()),
    Entry("cart and pole", cart_pole, ["cart"], 2, 1, ("pole",), True),
    Entry("acrobot", acrobot, ["q2"], 2, 1, ("q1",), True),
    Entry("a motor between pendulums", two_pendulums, [{"q1": 1.0, "q2": -1.0}], 2, 1, ("q1 + q2",), True),
    Entry("a wheel turns the satellite about its axis, one of seven motions", satellite, ["wheel"], 7, 1),
    Entry("differential by its sum: the difference is free", geared, ["q3"], 2, 1, ("q1 − q2",), True),
    Entry("differential by one side and the sum", geared, ["q1", "q3"], 2, 2, (), True),
]  # fmt: skip


def state(entry: Entry, example: Any) -> tuple[sr.System, Array]:
    mechanism, at = entry.place(example)
    if entry.motors is not None:
        mechanism.actuators.clear()
        for k, motor in enumerate(entry.motors):
            mechanism.add_actuator(f"motor{k}", motor)
    system = sr.System(mechanism)
    q = np.array(at(system), dtype=float)
    assert np.abs(system.constraint_residual(q)).max(initial=0.0) < 1e-10
    return system, q


def rational(matrix: Array) -> sympy.Matrix:
    """Return the matrix in exact arithmetic; its entries must be fractions."""
    exact = sympy.Matrix(
        *matrix.shape, [sympy.Rational(float(x)).limit_denominator(1000) for x in matrix.ravel()]
    )
    assert_allclose(np.array(exact, dtype=float).reshape(matrix.shape), matrix, atol=1e-13)
    return exact


def exact_counts(system: sr.System, q: Array) -> tuple[int, int]:
    """Return the degrees of freedom and the rank of Zᵀ S by SymPy, Z a rational basis of the null space of A."""
    basis = sympy.eye(system.nv)
    if system.nc:
        basis = sympy.Matrix.hstack(*rational(system.constraint_jacobian(q)).nullspace())
    return basis.shape[1], (basis.T * rational(system.actuation_matrix(q))).rank()


@pytest.mark.parametrize("entry", TABLE, ids=[entry.why for entry in TABLE])
def test_table(entry: Entry, example: Any) -> None:
    system, q = state(entry, example)
    found = control.controllability(system, q)
    assert (found.dof, found.rank, found.redundancy) == (entry.dof, entry.rank, system.nu - entry.rank)
    assert found.controllable == (entry.dof == entry.rank)
    if entry.exact:
        assert exact_counts(system, q) == (entry.dof, entry.rank)
    # what is out of reach: orthonormal motions that the loops allow and no actuator works on
    lost = found.uncontrollable
    assert lost.shape == (system.nv, entry.dof - entry.rank)
    assert_allclose(lost.T @ lost, np.eye(lost.shape[1]), atol=1e-12)
    assert np.abs(system.constraint_jacobian(q) @ lost).max(initial=0.0) < 1e-10
    assert np.abs(system.actuation_matrix(q).T @ lost).max(initial=0.0) < 1e-10
    assert len(found.names) == lost.shape[1]
    if entry.names is not None:
        assert found.names == entry.names
    if found.controllable:
        assert passive_torque(system, q) < 1e-12


def passive_torque(system: sr.System, q: Array) -> float:
    """Return the largest M a + h − k − Aᵀλ where there is no motor, relative, for a law that asks for random a."""
    names = [name for name in system.velocity_names if name in system.coordinate_names]
    goal, rest = np.random.default_rng(0).standard_normal(len(names)), np.zeros(system.nv)
    u = control.TaskHierarchy(system, [control.Task(names, goal)])(q, rest)
    motion, push = system.forward_dynamics(q, rest, u), system.actuation_matrix(q)
    force = system.mass_matrix(q) @ motion.a + system.bias_force(q, rest) - system.passive_force(q, rest)
    force -= motion.constraint_force
    assert np.abs(u).max() > 1e-3
    return float(np.abs(force[~push.any(axis=1)]).max(initial=0.0) / np.abs(force).max())


def test_every_choice_of_joints_of_the_five_bar() -> None:
    """Which joints drive its two degrees of freedom, against the rank of Zᵀ S in exact arithmetic."""
    joints = ["left", "left_elbow", "right", "right_elbow"]
    mechanism = sr.load("models/five_bar.xml")
    system = sr.System(mechanism)
    q = system.assemble(mechanism.keyframes["symmetric"].q).q
    exact = sympy.Matrix(np.round(system.constraint_jacobian(q), 6).tolist()).applyfunc(sympy.nsimplify)
    basis = sympy.Matrix.hstack(*exact.nullspace())
    for chosen in (*combinations(joints, 1), *combinations(joints, 2)):
        mechanism.actuators.clear()
        for joint in chosen:
            mechanism.add_actuator(f"m_{joint}", joint)
        selection = sympy.Matrix(4, len(chosen), lambda i, k, chosen=chosen: int(joints[i] == chosen[k]))
        found = control.controllability(sr.System(mechanism), q)
        assert (found.dof, found.rank) == (2, (basis.T * selection).rank())


def test_units_of_the_actuators_do_not_matter(example: Any) -> None:
    """A motor whose control is counted in 1e12 N m, or in 1e-12, reaches what it reaches."""
    for gear in (1e-12, 1e12):
        mechanism, at = acrobot(example)
        mechanism.add_actuator("motor", "q1", gear=gear)
        found = control.controllability(sr.System(mechanism), at(None))
        assert (found.rank, found.names) == (1, ("q2",))


def test_no_actuators_reach_nothing(example: Any) -> None:
    mechanism, at = acrobot(example)
    found = control.controllability(sr.System(mechanism), at(None))
    assert (found.rank, found.dof, found.controllable) == (0, 2, False)
    assert set(found.names) == {"q1", "q2"}


def test_a_law_misses_what_is_out_of_reach(example: Any) -> None:
    mechanism, at = acrobot(example)
    mechanism.add_actuator("motor", "q1")
    law = control.ProjectedInverseDynamics(sr.System(mechanism), ["q1", "q2"], [0.0, 0.0])
    with pytest.raises(SolveError, match="'motion' misses"):
        law.solve(at(None), [0.0, 0.0])
    result = law.solve(at(None), [0.0, 0.0], throw=False)
    assert result.status is Status.NOT_ACHIEVABLE
    assert result.missed == ("motion",)
