"""The system as CasADi functions: the same values as the compiled ones, exact derivatives, refusals by name."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from conftest import load_example
from mechanisms import close_loops, random_coordinates, random_tree
from sarrus.analysis.linear.linearize_at import linearize_at
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism

State = tuple[System, Array, Array, Array]

SHIPPED = (
    "five_bar",
    "front_loader",
    "parallelogram",
    "stewart",
    "quadruped",
    "bricard",
    "three_leg_platform",
)


@lru_cache
def shipped(name: str) -> State:
    """A shipped mechanism, closed near its reference pose, with a random admissible velocity and controls."""
    module = load_example(name)
    system = System(module.build())
    rng = np.random.default_rng(3)
    q = np.array(system.assemble(system.neutral() + 0.1 * rng.standard_normal(system.nq)).q)
    return (
        system,
        q,
        system.project_velocity(q, rng.standard_normal(system.nv)),
        rng.standard_normal(system.nu),
    )


def hinged_four_bar(masses: tuple[float, float, float] = (0.4, 1.1, 0.8)) -> System:
    """A planar four-bar closed by a revolute joint in space: five rows of rank two, one of them zero."""
    mechanism = Mechanism("four_bar", gravity=(0.0, -9.81, 0.0))
    for name, length, parent, place, mass in zip(
        ("crank", "coupler", "rocker"), (0.4, 1.1, 0.8), ("world", "crank", "world"), (0.0, 0.4, 1.0), masses
    ):
        inertia = (1e-3 * mass, mass * length**2 / 12, mass * length**2 / 12)
        mechanism.add_body(name, mass, com=(length / 2, 0, 0), inertia=inertia)
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, 0, 1), parent_pose=(place, 0, 0))
    mechanism.add_closure(
        "pin", "revolute", "coupler", "rocker", pose1=(1.1, 0, 0), pose2=(0.8, 0, 0), axis=(0, 0, 1)
    )
    mechanism.add_actuator("motor", "crank")
    return System(mechanism)


def hinged_state(system: System) -> tuple[Array, Array]:
    q = np.array(system.assemble([1.0, -0.6, 1.8]).q)
    return q, system.project_velocity(q, [1.0, 0.0, 0.0])


def sleigh() -> System:
    """Chaplygin's sleigh with its mass as a parameter, and a force in time."""
    return System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t, p: (
            p.mass / 2 * ((v[0] - 0.4 * ca.sin(q[2]) * v[2]) ** 2 + (v[1] + 0.4 * ca.cos(q[2]) * v[2]) ** 2)
            + 0.15 * v[2] ** 2
        ),
        velocity=lambda q, v, t, p: ca.cos(q[2]) * v[1] - ca.sin(q[2]) * v[0],
        generalized_force=lambda q, v, t, p: ca.vertcat(ca.sin(t), 0, 0),
        inputs=lambda q, p: ca.vertcat(0, 0, 1),
        non_ideal=lambda q, v, t, p: -0.2 * v,
        parameters={"mass": 2.0},
        name="sleigh",
        coordinate_names=("x", "y", "heading"),
    )


def close(value: ca.DM, expected: Array, tolerance: float = 1e-12) -> None:
    """Assert equality relative to the largest entry."""
    expected = np.asarray(expected)
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert_allclose(np.array(value).reshape(expected.shape) / scale, expected / scale, atol=tolerance)


# --- values --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_quantities_are_the_compiled_ones(name: str) -> None:
    system, q, v, _ = shipped(name)
    expected = {
        "mass_matrix": system.mass_matrix(q),
        "bias_force": system.bias_force(q, v),
        "passive_force": system.passive_force(q, v),
        "actuation_matrix": system.actuation_matrix(q),
        "constraint_residual": system.constraint_residual(q),
        "velocity_residual": system.velocity_residual(q, v),
        "constraint_jacobian": system.constraint_jacobian(q),
        "constraint_bias": system.constraint_bias(q, v),
        "kinetic_energy": np.array(system.kinetic_energy(q, v)),
        "potential_energy": np.array(system.potential_energy(q)),
        "rate": system.coordinate_rate(q, v),
    }
    given = {"q": q, "v": v, "p": list(system.parameters.values())}
    for quantity, value in expected.items():
        function = system.to_casadi(quantity)
        assert function.name_out() == [quantity]
        close(function(**{k: given[k] for k in given if k in function.name_in()})[quantity], value)
    positions, rotations = system.body_placements(q)
    placed = system.to_casadi("body_placements")(q=q)
    close(placed["positions"], positions)
    close(placed["rotations"], rotations)


@pytest.mark.parametrize("name", SHIPPED)
def test_solves_are_the_compiled_ones(name: str) -> None:
    system, q, v, u = shipped(name)
    solved = system.forward_dynamics(q, v, u)
    given = {"u": u, "p": list(system.parameters.values())}
    if not system.compiled.mass_is_singular:  # the legs of the Stewart platform are massless
        forward = system.to_casadi("forward_dynamics", rows="independent", q=q)
        assert forward.name_in() == ["q", "v", "u", "t", "p"]
        answer = forward(q=q, v=v, **given)
        close(answer["a"], solved.a)
        close(answer["constraint_force"], solved.constraint_force)
        close(answer["rate"], system.coordinate_rate(q, v))
        if len(solved.determined) == solved.rank:
            close(answer["multipliers"], solved.multipliers)
    model = linearize_at(system, q, v, u)
    reduced = system.to_casadi("reduced_dynamics", rows="independent", coordinates=model.velocities, q=q)
    own = list(model.velocity_indices)
    answer = reduced(q=q, ydot=v[own], **given)
    close(answer["yddot"], solved.a[own], 1e-11)
    close(answer["v"], v)
    close(answer["a"], solved.a, 1e-11)


def test_spatial_loops_with_quaternions() -> None:
    plan = random_tree(11, ("free", "spherical", "revolute", "spherical"))
    q = random_coordinates(plan)
    system = System(close_loops(plan, q, ("point", "universal", "point_on_line")))
    rng = np.random.default_rng(5)
    v = system.project_velocity(q, rng.standard_normal(system.nv))
    answer = system.to_casadi("forward_dynamics", rows="independent", q=q)(q=q, v=v)
    solved = system.forward_dynamics(q, v)
    close(answer["a"], solved.a, 1e-11)
    close(answer["constraint_force"], solved.constraint_force, 1e-11)


def test_nonholonomic_rows_parameters_time_and_friction() -> None:
    system, q, u, t = sleigh(), np.array([0.1, 0.2, 0.7]), np.array([0.4]), 0.9
    v = system.project_velocity(q, [1.0, -0.5, 0.3])
    for mass in (2.0, 5.0):
        system.parameters["mass"] = mass
        solved = system.forward_dynamics(q, v, u, t)
        answer = system.to_casadi("forward_dynamics")(q, v, u, t, [mass])
        for value, expected in zip(answer, (solved.a, solved.multipliers, solved.constraint_force)):
            close(value, expected)
        function = system.to_casadi("reduced_dynamics", coordinates=["x", "heading"])
        close(function(q, v[[0, 2]], u, t, [mass])[2], solved.a)


def test_driven_constraint() -> None:
    """A bead on a circle whose radius is 2 + sin t: v is not homogeneous in ẏ."""
    system = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1],
        holonomic=lambda q, t: ca.sumsqr(q) - (2 + ca.sin(t)) ** 2,
    )
    t = 0.4
    q = np.array(system.assemble([1.2, -1.6], t=t).q)
    v = system.project_velocity(q, [0.5, 0.0], t)
    answer = system.to_casadi("reduced_dynamics", coordinates=["q1"], q=q, t=t)(q=q, ydot=v[0], t=t)
    close(answer["v"], v)
    close(answer["a"], system.forward_dynamics(q, v, t=t).a)


def test_massless_bodies_have_a_reduced_function() -> None:
    system = hinged_four_bar(masses=(0.4, 0.0, 0.8))
    q, v = hinged_state(system)
    with pytest.raises(
        ArgumentError, match=r"M is singular; give every body a mass .* or take 'reduced_dynamics'"
    ):
        system.to_casadi("forward_dynamics", rows="independent", q=q)
    function = system.to_casadi("reduced_dynamics", rows="independent", coordinates=["crank"], q=q)
    close(function(q=q, ydot=v[0], u=0.3)["a"], system.forward_dynamics(q, v, [0.3]).a)


# --- derivatives ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["five_bar", "front_loader", "bricard", "three_leg_platform"])
def test_derivatives_are_those_of_the_linear_model(name: str) -> None:
    """∂a along the tangents of the linear model, by CasADi, is what `linearize_at` says."""
    system, q, v, u = shipped(name)
    model = linearize_at(system, q, v, u)
    forward = system.to_casadi("forward_dynamics", rows="independent", q=q)
    symbols = [ca.MX.sym(label, *forward.sparsity_in(label).shape) for label in forward.name_in()]
    a = forward(*symbols)[0]
    slopes = ca.Function("slopes", symbols, [ca.jacobian(a, symbols[k]) for k in (0, 1, 2)])
    by_q, by_v, by_u = (np.array(s) for s in slopes(q, v, u, 0.0, list(system.parameters.values())))
    assert system.nq == system.nv  # q̇ = v here
    own, n = list(model.velocity_indices), model.dof
    exact = by_q @ model.tangent[: system.nv] + by_v @ model.tangent[system.nv :]
    close(exact[own], model.A[n:], 1e-10)
    close(by_u[own], model.B[n:], 1e-11)
    reduced = system.to_casadi("reduced_dynamics", rows="independent", coordinates=model.velocities, q=q)
    labels = {"q": ca.MX.sym("q", system.nq), "ydot": ca.MX.sym("ydot", n), "u": ca.MX.sym("u", system.nu)}
    yddot = reduced(**labels)["yddot"]
    slopes = ca.Function("slopes", list(labels.values()), [ca.jacobian(yddot, x) for x in labels.values()])
    by_q, by_y, by_u = (np.array(s) for s in slopes(q, v[own], u))
    close(np.hstack([by_q @ model.tangent[: system.nv, :n], by_y]), model.A[n:], 1e-10)
    close(by_u, model.B[n:], 1e-11)


def test_functions_can_be_stored_and_nested() -> None:
    system, q, v, u = shipped("five_bar")
    function = system.to_casadi("forward_dynamics")
    again = ca.Function.deserialize(function.serialize())
    expected = system.forward_dynamics(q, v, u).a
    close(again(q=q, v=v, u=u)["a"], expected)
    for kind in (ca.SX, ca.MX):
        symbols = {"q": kind.sym("q", 4), "v": kind.sym("v", 4), "u": kind.sym("u", 2)}
        outer = ca.Function("outer", list(symbols.values()), [function(**symbols)["a"]])
        close(outer(q, v, u), expected)
    function.map(3)(
        np.tile(q, (3, 1)).T, np.tile(v, (3, 1)).T, np.tile(u, (3, 1)).T, np.zeros(3), np.zeros((0, 3))
    )


# --- rows ----------------------------------------------------------------------------------------------


def test_redundant_rows_are_named_and_can_be_left_out() -> None:
    system = hinged_four_bar()
    q, v = hinged_state(system)
    names = system.constraint_names
    assert names == ("pin.x", "pin.y", "pin.z", "pin.n1", "pin.n2")
    doubled = hinged_four_bar().mechanism
    assert doubled is not None
    doubled.add_closure("spare", "point", "coupler", "rocker", pose1=(1.1, 0, 0), pose2=(0.8, 0, 0))
    twice = System(doubled)
    with pytest.raises(
        ArgumentError,
        match=r"four_bar: 4 constraint rows are not 2 independent ones, as this function needs: drop spare.x, "
        r"spare.y. That is rows=\['pin.x', 'pin.y'\], or rows='independent'",
    ):
        twice.to_casadi("forward_dynamics", q=q)
    expected = system.forward_dynamics(q, v, [0.5])
    for rows in ("independent", ["pin.x", "pin.y"], ["pin.x", "spare.y"]):
        answer = twice.to_casadi("forward_dynamics", rows=rows, q=q)(q=q, v=v, u=0.5)
        close(answer["a"], expected.a)
        close(answer["constraint_force"], expected.constraint_force)
    assert_allclose(np.array(answer["multipliers"])[[1, 2, 3, 4, 5]], 0.0)
    # zero rows (z, n1, n2) go by themselves
    close(system.to_casadi("forward_dynamics", q=q)(q=q, v=v, u=0.5)["multipliers"], expected.multipliers)


def test_wrong_rows_are_named() -> None:
    system = hinged_four_bar()
    q, _ = hinged_state(system)
    with pytest.raises(ArgumentError, match=r"unknown row 'pin.w'. Did you mean"):
        system.to_casadi("forward_dynamics", rows=["pin.w"], q=q)
    with pytest.raises(ArgumentError, match=r"1 constraint rows are not 2 independent ones.*: add pin.y"):
        system.to_casadi("forward_dynamics", rows=["pin.x"], q=q)
    with pytest.raises(ArgumentError, match=r"rows must be 'independent' or names of rows, got 'pin.x'"):
        system.to_casadi("forward_dynamics", rows="pin.x", q=q)
    with pytest.raises(
        ArgumentError, match=r"unknown CasADi function 'forward'. Did you mean 'forward_dynamics'"
    ):
        system.to_casadi("forward")


def test_redundant_rows_that_do_not_quite_agree_are_rows_to_drop() -> None:
    """Printed digits: the second copy of a closure is 1e-9 m away from the first."""
    mechanism = hinged_four_bar().mechanism
    assert mechanism is not None
    mechanism.add_closure("spare", "point", "coupler", "rocker", pose1=(1.1, 0, 0), pose2=(0.8 + 1e-9, 0, 0))
    with pytest.raises(ArgumentError, match=r"drop spare.x, spare.y"):
        System(mechanism).to_casadi("forward_dynamics")


def test_constraints_that_are_off_are_left_out() -> None:
    mechanism = Mechanism("hinged", gravity=(0, 0, -9.81))
    mechanism.add_body("bar", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("bar", "planar", "world", "bar", axis=(0, 1, 0))
    mechanism.add_closure(
        "pin", "point_on_line", "world", "bar", axis=(0, 1, 0), pose2=(0.3, 0, 0), active=False
    )
    system = System(mechanism)
    q = np.zeros(3)
    with pytest.raises(
        ArgumentError, match=r"2 constraint rows are not 0 independent ones.*drop pin.p1, pin.p2"
    ):
        system.to_casadi("forward_dynamics", q=q)
    free = system.to_casadi("forward_dynamics", q=q, rows=[])
    close(free(q=q, p=list(system.parameters.values()))["a"], system.forward_dynamics(q, np.zeros(3)).a)


def test_singular_configurations_and_open_loops_are_refused() -> None:
    module = load_example("parallelogram")
    mechanism = module.build()
    mechanism.add_closure(
        "again", "point_on_line", "link1", "link4", axis=(0, 0, 1), pose1=(0.4, 0, 0), pose2=(0.6, 0, 0)
    )
    system = System(mechanism)
    with pytest.raises(
        ArgumentError, match=r"singular \(rank 1 here, 2 nearby\), so that rows cannot be chosen"
    ):
        system.to_casadi("forward_dynamics", rows="independent", q=module.closed(0.3, 0.3))
    close_by = system.to_casadi("forward_dynamics", rows="independent", q=module.closed(0.3, 0.8))
    q = module.closed(0.3, 0.5)
    close(close_by(q=q)["a"], system.forward_dynamics(q, np.zeros(4)).a)
    with pytest.raises(ArgumentError, match="coordinates must be 'partition' or names of velocities"):
        system.to_casadi("reduced_dynamics", rows="independent", q=q, coordinates="null-space")
    far = Mechanism("far")
    far.add_body("rod", 1.0)
    far.add_joint("rod", "revolute", "world", "rod", axis=(0, 0, 1))
    far.add_closure("pin", "point_on_line", "world", "rod", axis=(0, 0, 1), pose1=(3, 0, 0), pose2=(1, 0, 0))
    with pytest.raises(
        ArgumentError, match="do not close from the reference pose; give a closed configuration, q="
    ):
        System(far).to_casadi("forward_dynamics")


def test_rows_nonlinear_in_the_velocity_have_no_reduced_function() -> None:
    system = System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, velocity=lambda q, v, t: ca.sumsqr(v) - 1
    )
    v = np.array([0.6, 0.8])
    answer = system.to_casadi("forward_dynamics")(q=[0, 0], v=v)
    close(answer["a"], system.forward_dynamics([0, 0], v).a)
    with pytest.raises(ArgumentError, match="not linear in the velocity"):
        system.to_casadi("reduced_dynamics")
