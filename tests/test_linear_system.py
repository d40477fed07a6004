"""What a linear model offers: outputs by name, modes, discretization, frequency response, other packages."""

from __future__ import annotations

import sys
from functools import lru_cache

import casadi as ca
import control
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from conftest import load_example
from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.analysis.linear.linearize import linearize
from sarrus.analysis.linear.linearize_at import linearize_at
from sarrus.base.errors import ArgumentError, SarrusError
from sarrus.dynamics.coordinates.parametrization import parametrize
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism


@lru_cache
def loader() -> tuple[System, np.ndarray]:
    module = load_example("front_loader")
    system = System(module.build())
    return system, module.pose(system, -0.2, 0.3)


@lru_cache
def damped() -> LinearSystem:
    """Mass 2 kg, spring 50 N/m, damper 4 N s/m: ω = 5 rad/s, ζ = 0.2."""
    mechanism = Mechanism("oscillator", gravity=(0.0, 0.0, 0.0))
    mechanism.add_body("mass", 2.0, inertia=(1.0, 1.0, 1.0))
    mechanism.add_joint("mass", "prismatic", "world", "mass", axis=(1, 0, 0), stiffness=50.0, damping=4.0)
    mechanism.add_actuator("push", "mass", gain=3.0)
    return linearize(System(mechanism), [0.0])


def test_outputs_are_rows_of_the_whole_mechanism() -> None:
    system, q = loader()
    v = system.project_velocity(q, np.random.default_rng(0).standard_normal(system.nv))
    names = ["lift", "tilt.rate", "link", "boom", "bucket.rate"]
    model = linearize_at(system, q, v, coordinates=["boom", "bucket"], outputs=names)
    assert model.names == ("boom", "bucket", "boom.rate", "bucket.rate")
    assert model.units == ("rad", "rad", "rad/s", "rad/s")
    assert model.input_names == ("lift", "tilt")
    assert model.output_names == tuple(names)
    assert model.output_units == ("m", "m/s", "rad", "rad", "rad/s")
    assert_allclose(model.C[[3, 4]], [[1, 0, 0, 0], [0, 0, 0, 1]], atol=1e-14)
    assert_allclose(model.D, np.zeros((5, 2)))
    chart = parametrize(system, q, v, coordinates=["boom", "bucket"])
    x, h = np.concatenate(chart.to_independent(q, v)), 1e-5

    def outputs(x: np.ndarray) -> np.ndarray:
        there, rates = chart.to_full(x[:2], x[2:])
        at = dict(zip(system.coordinate_names, there)) | {
            f"{n}.rate": r for n, r in zip(system.velocity_names, rates)
        }
        return np.array([at[name] for name in names])

    slopes = [(outputs(x + e) - outputs(x - e)) / (2 * h) for e in h * np.eye(4)]
    assert_allclose(np.transpose(slopes), model.C, atol=1e-9)


def test_default_outputs_are_the_state() -> None:
    system, q = loader()
    model = linearize_at(system, q)
    assert_allclose(model.C, np.eye(4))
    assert model.output_names == model.names
    assert model.output_units == model.units
    mixed = linearize_at(system, q, coordinates="tangent-space")
    assert mixed.names == ("y0", "y1", "y0.rate", "y1.rate")
    assert mixed.units == ("",) * 4


def test_outputs_of_free_bodies() -> None:
    module = load_example("quadruped")
    system = System(module.build())
    q = system.assemble(module.standing(system)).q
    model = linearize_at(
        system, q, outputs=["trunk.qx", "trunk.x", "trunk.wx", "trunk.vx.rate", "trunk.wx.rate"]
    )
    assert model.output_units == ("1", "m", "rad/s", "m/s", "rad/s")
    assert_allclose(model.C[2], model.C[4])
    body = list(system.velocity_names).index("trunk.wx")
    assert_allclose(model.C[0], model.tangent[body] / 2, atol=1e-13)  # δq_x = ½ δθ_x upright


def test_wrong_outputs_are_named() -> None:
    system, q = loader()
    with pytest.raises(ArgumentError, match=r"unknown output 'bom'. Did you mean 'boom'\?"):
        linearize_at(system, q, outputs=["bom"])
    with pytest.raises(ArgumentError, match=r"outputs must be a sequence of names, such as \['boom'\]"):
        linearize_at(system, q, outputs="boom")


def test_frequency_and_damping() -> None:
    model = damped()
    assert_allclose(model.A, [[0, 1], [-25, -2]], atol=1e-14)
    assert_allclose(model.B, [[0], [1.5]], atol=1e-14)
    assert_allclose(model.natural_frequencies, 5.0)
    assert_allclose(model.damping_ratios, 0.2)
    assert_allclose(model.eigenvalues, [-1 - 1j * np.sqrt(24), -1 + 1j * np.sqrt(24)])
    assert_allclose(model.mode_shapes, [[1.0, 1.0]])
    assert model.stable
    assert model.dof == 1
    free = linearize_at(loader()[0], loader()[1])
    assert np.isfinite(free.damping_ratios).all()


def test_mode_shapes_move_the_whole_mechanism_within_its_constraints() -> None:
    system, q = loader()
    model = linearize_at(system, q)
    shapes = model.mode_shapes
    assert shapes.shape == (8, 4)
    assert_allclose(system.constraint_jacobian(q) @ shapes, 0.0, atol=1e-12)
    assert_allclose(np.abs(shapes).max(axis=0), 1.0)
    own = shapes[list(model.coordinate_indices)]
    assert_allclose(model.A[2:, :2] @ own, own * model.eigenvalues**2, atol=1e-10)


def test_discrete_step_is_the_motion_with_held_inputs() -> None:
    system, q = loader()
    v = system.project_velocity(q, np.random.default_rng(0).standard_normal(system.nv))
    model = linearize_at(system, q, v, [2e4, -1e4])
    step = model.discretize(0.05)
    x, u = np.array([0.1, -0.2, 0.3, 0.05]), np.array([300.0, -200.0])
    motion = solve_ivp(
        lambda t, x: model.A @ x + model.B @ u + model.affine, (0, 0.05), x, "DOP853", rtol=1e-12, atol=1e-13
    )
    assert_allclose(step.A @ x + step.B @ u + step.affine, motion.y[:, -1], atol=1e-11)
    assert_allclose(model.discretize(0.1).A, step.A @ step.A, atol=1e-13)
    assert step.dt == 0.05
    for wrong in (0.0, -1.0, np.nan, "1"):
        with pytest.raises(ArgumentError, match="dt must be a positive number"):
            model.discretize(wrong)  # type: ignore[arg-type]


def test_frequency_response() -> None:
    model = damped()
    w = np.array([0.5, 5.0, 20.0])
    assert_allclose(model.frequency_response(w)[:, 0, 0], 1.5 / (25 - w**2 + 2j * w))
    same = linearize(model.system, model.q, outputs=["mass"]).to_scipy()
    assert_allclose(same.A, model.A)
    assert_allclose([same.B[1, 0], *same.C[0], same.D[0, 0]], [1.5, 1.0, 0.0, 0.0], atol=1e-14)
    mechanism = Mechanism("cart")
    mechanism.add_body("cart", 1.0)
    mechanism.add_joint("cart", "prismatic", "world", "cart", axis=(1, 0, 0))
    mechanism.add_actuator("push", "cart")
    cart = linearize(System(mechanism), [0.0])
    assert_allclose(cart.eigenvalues, 0.0)
    assert_allclose(cart.damping_ratios, 0.0)
    assert not cart.stable
    with pytest.raises(ArgumentError, match="i ω is an eigenvalue"):
        cart.frequency_response(0.0)


def test_deviation_is_the_state_of_the_model() -> None:
    module = load_example("quadruped")
    system = System(module.build())
    q = system.assemble(module.standing(system)).q
    rng = np.random.default_rng(2)
    v = 0.5 * system.project_velocity(q, rng.standard_normal(system.nv))
    model = linearize_at(system, q, v)
    chart = parametrize(system, q, v)
    y, rates = chart.to_independent(q, v)
    dy, dv = 0.02 * rng.standard_normal(6), 0.02 * rng.standard_normal(6)
    there = chart.to_full(y + dy, rates + dv)
    assert_allclose(model.deviation(*there), np.concatenate([dy, dv]), atol=1e-12)
    turned = np.array(there[0])
    turned[3:7] *= -1.0  # the same rotation
    assert_allclose(model.deviation(turned, there[1]), np.concatenate([dy, dv]), atol=1e-12)


def test_python_control() -> None:
    system, q = loader()
    model = linearize_at(system, q, outputs=["lift", "tilt"])
    same = model.to_control()
    assert isinstance(same, control.StateSpace)
    for name in ("A", "B", "C", "D"):
        assert_allclose(getattr(same, name), getattr(model, name))
    assert same.name == "front_loader"
    assert same.state_labels == list(model.names)
    assert same.input_labels == ["lift", "tilt"]
    assert same.output_labels == ["lift", "tilt"]
    assert_allclose(
        control.frequency_response(same, [3.0]).complex[:, :, 0], model.frequency_response(3.0)[0]
    )


def test_python_control_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(SarrusError, match="needs python-control: pip install control"):
        damped().to_control()


def test_parameters_and_rigid_structures() -> None:
    spring = System.from_lagrangian(
        nq=1, lagrangian=lambda q, v, t, p: ca.sumsqr(v) / 2 - p.k * ca.sumsqr(q) / 2, parameters={"k": 4.0}
    )
    assert_allclose(linearize(spring, [0.0]).natural_frequencies, 2.0)
    spring.parameters["k"] = 9.0
    assert_allclose(linearize(spring, [0.0]).natural_frequencies, 3.0)
    pinned = System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - q[0], holonomic=lambda q, t: q - ca.vertcat(1, 2)
    )
    rigid = linearize(pinned, [1.0, 2.0])
    assert rigid.A.shape == (0, 0)
    assert rigid.eigenvalues.size == 0
    assert rigid.rank == 2


def test_it_says_what_it_is() -> None:
    assert repr(damped()) == "LinearSystem('oscillator': states mass, mass.rate; inputs push)"
