"""The two eliminations of a stage against NumPy: accelerations, corrections and responses by their factors, gauges."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from mechanisms import close_loops, random_coordinates, random_state, random_tree
from sarrus.base.arrays import Array
from sarrus.codegen.deferred import Deferred
from sarrus.codegen.native import NativeFunction
from sarrus.dynamics.system import System
from sarrus.kernels.memory import layout as la
from sarrus.model.builders.mechanism import Mechanism
from sarrus.symbolic.equations.least_norm import Basis
from sarrus.symbolic.equations.sparse import rows_of
from sarrus.symbolic.equations.stages import ByGram, BySaddle, nearest, response, saddle_order, stage

KINDS = ("revolute", "prismatic"), ("free", "spherical", "revolute")


def mechanism_state(seed: int, kinds: tuple[str, ...]) -> tuple[System, Array, Array]:
    plan = random_tree(seed, kinds)
    q = random_coordinates(plan)
    system = System(close_loops(plan, q, ("point",)))
    return system, q, system.project_velocity(q, random_state(system, seed)[1])


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_both_solve_the_saddle(seed: int, kinds: tuple[str, ...]) -> None:
    system, q, v = mechanism_state(seed, kinds)
    e, compiled = system.equations, system.compiled
    jacobian = system.constraint_jacobian(q, v)
    rows = [k for k in range(system.nc) if jacobian[k].any()]
    own = tuple(rows[: np.linalg.matrix_rank(jacobian[rows], tol=1e-8)])
    if np.linalg.matrix_rank(jacobian[list(own)], tol=1e-3) < len(own):
        pytest.skip("the first rows are dependent")
    order, _ = saddle_order(rows_of(e.mass_matrix), [rows_of(e.jacobian)[k] for k in own])
    assert sorted(order) == list(range(system.nv + len(own)))
    mass, a_rows, gamma = system.mass_matrix(q), jacobian[list(own)], system.constraint_bias(q, v)[list(own)]
    force = system.passive_force(q, v) - system.bias_force(q, v)
    whole = np.block([[mass, a_rows.T], [a_rows, np.zeros((len(own), len(own)))]])
    expected = np.linalg.solve(whole, np.concatenate([force, -gamma]))[: system.nv]
    residual = np.random.default_rng(seed).normal(size=system.nc)
    x, gauges = system.pack(q, v), []
    for way in (
        ByGram(compiled.weighted, compiled.least_norm(Basis(own))),
        BySaddle(e, compiled.force, own, order, compiled.units),
    ):
        outputs = stage(e, way)
        native = ca.Function("stage", [ca.vertcat(*compiled.inputs)], list(outputs.values()))
        found = dict(zip(outputs, (np.array(part).ravel() for part in native(x))))
        np.testing.assert_allclose(found["a"], expected, rtol=0, atol=1e-10 * np.abs(expected).max(initial=1))
        factors, gaps, step = nearest(e, way)
        delta = np.array(ca.Function("nearest", [factors, gaps], [step])(found["factors"], residual)).ravel()
        np.testing.assert_allclose(a_rows @ delta, -residual[list(own)], atol=1e-9)
        push = mass @ delta  # shortest in the metric M: normal to what the rows leave
        along = np.linalg.lstsq(a_rows.T, push, rcond=None)[0]
        np.testing.assert_allclose(a_rows.T @ along, push, atol=1e-8 * np.abs(push).max())
        factors, tau, change = response(e, way)
        given = np.random.default_rng(seed + 1).normal(size=system.nv)
        moved = np.array(ca.Function("response", [factors, tau], [change])(found["factors"], given)).ravel()
        expected_change = np.linalg.solve(whole, np.concatenate([given, np.zeros(len(own))]))[: system.nv]
        scale = np.abs(expected_change).max(initial=1e-3)
        np.testing.assert_allclose(moved, expected_change, rtol=0, atol=1e-10 * scale)
        gauges.append(found["conditioning"])
    gram, saddle = gauges
    gram_matrix = a_rows @ np.linalg.solve(mass, a_rows.T)
    assert gram[2] == pytest.approx(
        np.diag(compiled.units.rows[list(own)] ** 2 * gram_matrix).max(), rel=1e-9
    )
    assert 0.0 < saddle[0] <= 1.0 + 1e-12
    assert 0.0 < saddle[1] <= gram[2] * (1 + 1e-9)


@pytest.mark.parametrize("angle", [1e-2, 1e-3, 1e-4, 1e-5])
def test_a_stage_next_to_a_singular_configuration_is_refined(angle: float) -> None:
    """Two rods to a particle that are nearly in line: rows at a small angle, and a G of that condition squared."""
    mechanism = Mechanism("rods", gravity=(0, 0, -9.81))
    mechanism.add_body("particle", 2.0, (0, 0, 0), (1e-3, 1e-3, 1e-3))
    mechanism.add_joint("slide", "free", "world", "particle")
    for k, anchor in enumerate([(-1.0, 0.0, 0.0), (np.cos(angle), np.sin(angle), 0.0)]):
        mechanism.add_closure(f"rod{k}", "distance", "world", "particle", pose1=anchor, length=1.0)
    system = System(mechanism)
    q, v = system.neutral(), np.zeros(6)
    v[2:] = 0.3, 0.1, -0.4, 0.2
    work = system.workspace()
    system.forward_dynamics(q, v)
    work.load_functions("dynamics", "position", "velocity", "direct", "rate")
    x = work.pack(q, v, None, 0.0).copy()
    assert work.acceleration_kernel(work.table, x, la.SLOPE) == 2
    found = la.view_fields(work.work, la.workspace_sizes(work.table))
    assert found.factored[0] == 1.0  # by straight-line code
    # both rods hold the particle on their spheres: a·d = −v²
    square = v[2] ** 2
    expected = [-square, square * (1 + np.cos(angle)) / np.sin(angle), -9.81, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(found.a, expected, rtol=0, atol=1e-14 / angle * max(expected))


def test_a_deferred_function_is_compiled_at_its_first_call_and_says_nan_where_it_cannot_be() -> None:
    system, q, v = mechanism_state(0, KINDS[0])
    made: list[str] = []

    def make() -> NativeFunction:
        made.append("made")
        return system.compiled.function("velocity")

    native = system.compiled.function("velocity")
    deferred, x, out = Deferred(make, native.n_out), system.pack(q, v), np.zeros(native.n_out)
    assert not made
    ca_call = type(native.call)(deferred.address)
    ca_call(x.ctypes.data, out.ctypes.data)
    assert made == ["made"]
    np.testing.assert_array_equal(out, native(x))

    def fail() -> NativeFunction:
        raise OSError("no room")

    broken = Deferred(fail, native.n_out)
    type(native.call)(broken.address)(x.ctypes.data, out.ctypes.data)
    assert np.isnan(out).all()
    assert isinstance(broken.failure, OSError)
