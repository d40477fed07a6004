"""States without a linear model, arguments that are refused, and what zero eigenvalues mean."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from sarrus.analysis.linear.linearize import linearize
from sarrus.analysis.linear.linearize_at import linearize_at
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.system import System
from test_linearization import own, pendulum


def test_flattened_parallelogram_is_refused() -> None:
    """The error names both branches: the parallelogram q₃ = q₁ − q₂, q₄ = q₂ − q₁ − π, and the antiparallelogram."""
    module: ModuleType = load_example("parallelogram")
    system = System(module.build())
    for q, anti in (
        (module.closed(0.4, 0.4), "q3 = −5 q1 + 5 q2, q4 = q1 − q2"),
        (module.closed(0.4, 0.4 + np.pi), "q3 = −0.2 q1 + 0.2 q2, q4 = q1 − q2"),
    ):
        with pytest.raises(
            SolveError, match=r"rank 1 here and 2 nearby; the rows of 'corner' become dependent"
        ) as error:
            linearize(system, q)
        assert error.value.element == "corner"
        for branch in ("q3 = q1 − q2, q4 = −q1 + q2", anti):
            assert f"surface, 2 degrees of freedom, rank 2: {branch}" in str(error.value)
    near = linearize_at(system, module.closed(0.4, 0.41))
    assert near.A.shape == (4, 4)


def test_infinitesimal_motion_is_refused() -> None:
    """Two rods in one line: no rank is lost nearby, for there is no nearby, but the motion is no motion."""
    system = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        holonomic=lambda q, t: ca.vertcat((q[0] - 1) ** 2 + q[1] ** 2 - 1, (q[0] + 1) ** 2 + q[1] ** 2 - 1),
        name="truss",
    )
    with pytest.raises(SolveError, match=r"truss: no linear model at a rigid.*No motion goes on from here"):
        linearize(system, [0.0, 0.0])


def test_rows_that_are_dependent_to_rounding_are_no_contradiction() -> None:
    """The redundant rows of an upright parallelogram on a cart turn with the motion by 1e-17 of A, and not by zero."""
    system = System(load_example("lqr_inverted").build())
    assert linearize(system, np.zeros(4)).A.shape == (4, 4)


def test_what_is_no_equilibrium_or_not_closed_is_refused() -> None:
    system = pendulum()
    with pytest.raises(
        ArgumentError, match=r"'y' accelerates by -9.81.*force of 6.87 is left.*sr.equilibrium"
    ):
        linearize(system, [2.0, 0.0])
    assert_allclose(linearize_at(system, [2.0, 0.0]).affine, [0.0, -9.81])
    with pytest.raises(ArgumentError, match=r"open by 0.41 \(row 'phi1'\)"):
        linearize(system, [0.0, -2.1])
    with pytest.raises(ArgumentError, match=r"v violates the constraints by 4 \(row 'phi1'\)"):
        linearize_at(system, [0.0, -2.0], [0.0, 1.0])
    with pytest.raises(ArgumentError, match="y do not determine the other coordinates"):
        linearize(system, [0.0, -2.0], coordinates=["y"])
    with pytest.raises(ArgumentError, match="must name 1 different independent coordinates"):
        linearize(system, [0.0, -2.0], coordinates=["x", "y"])
    with pytest.raises(ArgumentError, match="q must be finite"):
        linearize(system, [0.0, np.nan])
    driven, q, *_ = own("driven")
    with pytest.raises(SolveError, match=r"the constraint 'phi1' moves at t = 0.4"):
        linearize(driven, q, t=0.4)


def test_constraints_that_contradict_each_other_are_refused() -> None:
    system = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        holonomic=lambda q, t: ca.vertcat(q[0], q[0] + t**2),
        name="torn",
    )
    with pytest.raises(SolveError, match="torn: the constraint equations contradict each other"):
        linearize_at(system, [0.0, 0.0])


def test_nothing_in_a_model_can_be_written_to() -> None:
    model = linearize(pendulum(), [0.0, -2.0])
    for name in ("A", "B", "C", "D", "E", "affine", "tangent", "q", "v", "u", "multipliers", "A_full"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model, name)[...] = 0.0
    assert replace(model, t=1.0).t == 1.0


def test_a_velocity_in_the_place_of_u() -> None:
    """`linearize` is for rest: it says where a velocity goes."""
    example = load_example("five_bar")
    system = System(example.build())
    q, v = example.SYMMETRIC, np.zeros(system.nv)
    for arguments in ((v,), (v, np.zeros(system.nu)), (None, v)):
        with pytest.raises(ArgumentError, match=r"linearize takes \(system, q, u\), at rest.*linearize_at"):
            linearize(system, q, *arguments)
    with pytest.raises(ArgumentError, match=r"u must have \d entries"):
        linearize(system, q, np.zeros(7))


@pytest.mark.parametrize("loop", [False, True])
def test_rigid_modes_of_free_structures_are_zero_and_named(loop: bool) -> None:
    """A free body carries an arm on a damped spring, with a loop an arm of two links; six of its freedoms are rigid."""
    mechanism = sr.Mechanism("free", gravity=(0, 0, 0))
    mechanism.add_body("base", mass=3.0, inertia=(0.1, 0.2, 0.25), com=(0.05, 0.0, 0.02))
    mechanism.add_joint("float", "free", "world", "base")
    spring = {"stiffness": 50.0, "damping": 0.4}
    if loop:
        bar = {"mass": 0.5, "inertia": (0.001, 0.01, 0.01), "com": (0.2, 0.0, 0.0)}
        along = {"axis": (0, 1, 0)}
        for name, start, height in (("lower", "base", 0.0), ("upper", "base", 0.3)):
            mechanism.add_body(name, **bar)
            mechanism.add_joint(
                name, "revolute", start, name, parent_pose=(0.0, 0.0, height), **along, **spring
            )
        mechanism.add_body("coupler", mass=0.3, inertia=(0.01, 0.01, 0.001), com=(0.0, 0.0, 0.15))
        mechanism.add_joint("hinge", "revolute", "lower", "coupler", parent_pose=(0.4, 0.0, 0.0), **along)
        mechanism.add_closure(
            "closing", "revolute", "upper", "coupler", pose1=(0.4, 0.0, 0.0), pose2=(0.0, 0.0, 0.3), **along
        )
    else:
        mechanism.add_body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.3, 0.0, 0.0))
        mechanism.add_joint("hinge", "revolute", "base", "arm", axis=(0, 1, 0), **spring)
    system = sr.System(mechanism)
    model = sr.linearize(system, system.neutral())
    assert model.neutral == tuple(range(12))
    assert not model.eigenvalues[:12].any()
    assert (model.eigenvalues[12:].real < -0.1).all()
    assert {name for name in model.neutral_velocities if name.startswith("float")} == set(
        system.velocity_names[:6]
    )
    assert model.stable is None


def test_a_zero_eigenvalue_of_a_critical_load_says_nothing_of_stability() -> None:
    """A damped column at its buckling load rests, has the eigenvalue zero, and nothing says that it is stable."""
    mechanism = sr.Mechanism("column", gravity=(0, 0, -10.0))
    mechanism.add_body("bar", mass=2.0, inertia=(0.1, 0.1, 0.1), com=(0.0, 0.0, 0.5))
    mechanism.add_joint("foot", "revolute", "world", "bar", axis=(0, 1, 0), stiffness=10.0, damping=1.0)
    assert sr.linearize(sr.System(mechanism), [0.0]).stable is None
