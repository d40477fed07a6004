"""Straight-line linear models: recursion against automatic differentiation, against the general route, its limits."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from mechanisms import CLOSURES, ROLLINGS, close_loops, random_coordinates, random_tree
from sarrus.analysis.linear.along import LinearModels, general_models
from sarrus.analysis.linear.code import StraightLine, served_rows
from sarrus.analysis.linear.pieces import DifferentiatedPieces, Pieces, RecursivePieces
from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.dynamics.model.derivatives import along
from sarrus.dynamics.system import System
from test_linearization import State, looped, moving, own, pendulum, shipped

# Shipped mechanisms whose rows are independent, and equations of one's own.
SERVED = (
    "five_bar",
    "three_leg_platform",
    "front_loader",
    "leg_four_bar",
    "two_arms",
    "slider_crank",
    "quadruped",
)
OWN = ("driven", "friction")


def served(name: str) -> State:
    return own(name) if name in OWN else shipped(name)


# --- recursion and automatic differentiation ---------------------------------------------------------------


def numbers(system: System, pieces: Pieces, seed: int) -> dict[str, Array]:
    """All pieces at a random state with λ = A w, so that it does not matter how rows are turned among themselves."""
    e, a, w = system.equations, ca.SX.sym("a", system.nv), ca.SX.sym("w", system.nv)
    slopes, rows = pieces.slopes(a, pieces.jacobian @ w), pieces.jacobian.T
    out = {
        "mass": pieces.mass,
        "force": pieces.force,
        "metric": rows @ pieces.jacobian,
        "bias": rows @ pieces.bias,
        "slip": rows @ pieces.velocity,
        "force_q": slopes.force_q,
        "force_v": slopes.force_v,
        "bias_q": rows @ slopes.bias_q,
        "bias_v": rows @ slopes.bias_v,
    }
    rng = np.random.default_rng(seed)
    q = system.normalized(system.neutral() + rng.uniform(-1, 1, system.nq))
    symbols = [e.q, e.v, a, w, e.u, e.t, e.p, system.compiled.applied]
    given = [q, *rng.standard_normal((3, system.nv)), rng.standard_normal(system.nu), 0.3]
    parameters = rng.uniform(0.5, 1.5, e.p.numel())
    values = ca.Function("pieces", symbols, list(out.values()))(
        *given, parameters, rng.standard_normal(system.nv)
    )
    return dict(zip(out, (np.array(value) for value in values)))


def assert_pieces_agree(system: System) -> None:
    one, two = (numbers(system, kind(system), 1) for kind in (RecursivePieces, DifferentiatedPieces))
    for name, expected in two.items():
        scale = np.abs(expected).max(initial=1.0)
        assert_allclose(one[name] / scale, expected / scale, atol=2e-13, err_msg=name)


@pytest.mark.parametrize("closures", [CLOSURES[0:4], CLOSURES[4:8], CLOSURES[8:11], ROLLINGS], ids=" ".join)
def test_recursion_agrees_for_every_joint_and_closure(closures: tuple[str, ...]) -> None:
    """Joints of all kinds in random trees, with springs and dampers."""
    plan = random_tree(len(closures[0]), ("free", "universal", "spherical", "screw", "planar"))
    assert_pieces_agree(System(close_loops(plan, random_coordinates(plan), closures)))


@pytest.mark.parametrize("name", ["bricard free", "stewart", "quadruped"])
def test_recursion_agrees_on_shipped_mechanisms(name: str) -> None:
    assert_pieces_agree(shipped(name)[0])


def legs(closure: str) -> State:
    """A free trunk with two hips, each of which carries a planar four-bar; in their planes these move, so that rows of
    their closures are zero, whatever way the trunk and the hips turn."""
    mechanism = sr.Mechanism("legs", gravity=(0.0, 0.0, -9.81))
    mechanism.add_body("trunk", 5.0, inertia=(0.1, 0.2, 0.3))
    mechanism.add_joint("trunk", "free", "world", "trunk")
    for side, y in (("left", 0.2), ("right", -0.2)):
        for name, parent, place, axis in (
            ("hip", "trunk", (0.0, y, 0.0), (1, 0, 0.3)),
            ("crank", "hip", (0.1, 0.0, 0.0), (0, 1, 0)),
            ("coupler", "crank", (0.0, 0.0, -0.2), (0, 1, 0)),
            ("rocker", "hip", (0.0, 0.0, 0.0), (0, 1, 0)),
        ):
            body = f"{side} {name}"
            over = parent if parent == "trunk" else f"{side} {parent}"
            mechanism.add_body(body, 0.5, com=(0.01, 0.02, -0.1), inertia=(0.01, 0.01, 0.005))
            mechanism.add_joint(body, "revolute", over, body, axis=axis, parent_pose=place)
        ends = f"{side} coupler", f"{side} rocker"
        places = {"pose1": (-0.12, 0.0, 0.0), "pose2": (0.0, 0.0, -0.25)}
        axes = {"axis": (0, 1, 0)} if closure == "revolute" else {}
        mechanism.add_closure(f"{side} loop", closure, *ends, **places, **axes)
    system = System(mechanism)
    kick = 0.3 * np.random.default_rng(2).standard_normal(system.nq)
    return moving(system, system.assemble(system.neutral() + kick).q)


def test_rows_are_those_of_the_system_where_loops_are_open() -> None:
    """Not only turned among themselves: they are seen from the hips, in their axes."""
    system, *_ = legs("revolute")
    e, pieces, inputs = system.equations, RecursivePieces(system), system.compiled.inputs
    pairs = {
        "jacobian": e.jacobian,
        "bias": e.constraint_bias,
        "velocity": along(system, e.velocity_residual),
    }
    ends = np.cumsum([part.numel() for part in inputs])[:-1]
    rng = np.random.default_rng(2)
    for name, expected in pairs.items():
        compare = ca.Function(name, inputs, [getattr(pieces, name), expected])
        for _ in range(3):
            q = system.normalized(rng.uniform(-1, 1, system.nq))
            one, other = compare(*np.split(system.pack(q, rng.standard_normal(system.nv)), ends))
            assert_allclose(np.array(one), np.array(other), atol=1e-12, err_msg=name)


@pytest.mark.parametrize("coordinates", ["partition", "tangent-space"])
@pytest.mark.parametrize("closure", ["point", "revolute"])
def test_rows_that_are_zero_by_structure_are_left_out(closure: str, coordinates: str) -> None:
    state = legs(closure)
    system = state[0]
    found, expected, clear = both(state, coordinates)
    rows = served_rows(system)
    assert rows is not None
    assert [system.constraint_names[k].rpartition(".")[2] for k in rows] == ["x", "z", "x", "z"]
    assert clear.all()
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert_allclose(found / scale, expected / scale, atol=1e-11)


def test_small_bodies_do_not_hide_that_pivots_are_clear() -> None:
    """Rows of what turns easily are ten thousand times those of what does not: each is measured by itself."""
    mechanism = sr.Mechanism("rod", gravity=(0.0, 0.0, -9.81))
    for name, place, mass, size in (("one", 0.0, 50.0, 2.0), ("two", 1.0, 50.0, 2.0)):
        mechanism.add_body(name, mass, com=(0.0, 0.0, -0.3), inertia=(size, size, size))
        mechanism.add_joint(name, "revolute", "world", name, axis=(0, 1, 0), parent_pose=(place, 0, 0))
    mechanism.add_body("rod", 0.1, com=(0.5, 0.0, 0.0), inertia=(1e-4, 1e-2, 1e-2))
    mechanism.add_joint("rod", "spherical", "one", "rod", parent_pose=(0.0, 0.0, -0.5))
    mechanism.add_body("end", 1e-4, inertia=(1e-8, 1e-8, 1e-8))
    mechanism.add_joint("end", "spherical", "rod", "end", parent_pose=(1.0, 0.0, 0.0))
    mechanism.add_closure("end", "weld", "end", "two", pose1=(0.0, 0.0, 0.0), pose2=(0.0, 0.0, -0.5))
    system = System(mechanism)
    found, expected, clear = both(moving(system, system.neutral()), "partition")
    assert clear.all()
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert_allclose(found / scale, expected / scale, atol=1e-9)


def test_code_that_would_be_too_long_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    system, q, v, u, _ = legs("point")
    monkeypatch.setattr("sarrus.analysis.linear.code.LONGEST", 1000)
    model = sr.linearize_at(system, q, v, u)
    assert StraightLine(system, model).native is None
    assert_allclose(sr.linearize_along(system, [q], [v]).A[0], model.A, atol=1e-10 * np.abs(model.A).max())


def test_recursion_agrees_for_couplings_contacts_and_switches() -> None:
    mechanism = random_tree(3, ("revolute", "free", "prismatic", "cylindrical")).mechanism
    mechanism.add_coupling("cam", {"j0": (0.1, 0.5, -0.3), "j2": 1.0}, active=True)
    mechanism.add_contact("foot", "b1", (0.1, 0.2, 0.3), active=True)
    mechanism.add_contact("slide", "b3", ground="b0", friction="frictionless", active=True)
    assert_pieces_agree(System(mechanism))


# --- agreement with the general route -----------------------------------------------------------------------


def both(state: State, coordinates: str | list[str], count: int = 5) -> tuple[Array, Array, Array]:
    """Models along a motion by the straight-line code and by the general route, and where the former are believed."""
    system, q, v, u, t = state
    motion = sr.simulate(system, q, v, duration=0.02, dt=1e-3, t0=t)
    pick = np.linspace(0, len(motion.t) - 1, count).astype(int)
    states = [
        np.ascontiguousarray(x)
        for x in (motion.q[pick], motion.v[pick], np.tile(u, (count, 1)), motion.t[pick])
    ]
    first = sr.linearize_at(system, q, v, u, t=t, coordinates=coordinates)
    found, clear = StraightLine(system, first)(*states)
    return found, general_models(system, first, states, np.arange(count)), clear


@pytest.mark.parametrize("coordinates", ["partition", "tangent-space"])
@pytest.mark.parametrize("name", [*SERVED, *OWN])
def test_straight_line_code_agrees_with_the_general_route(name: str, coordinates: str) -> None:
    found, expected, clear = both(served(name), coordinates)
    assert clear.all()
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert_allclose(found / scale, expected / scale, atol=1e-11)


@pytest.mark.parametrize("names", [["q4", "q1"], ["q2", "q3"]])
def test_named_coordinates_come_in_their_order(names: list[str]) -> None:
    system, q, v, u, _ = state = shipped("five_bar")
    names = [system.velocity_names[int(name[1]) - 1] for name in names]
    assert sr.linearize_at(system, q, v, u, coordinates=names).coordinates == tuple(names)
    found, expected, _ = both(state, names)
    assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


# --- where it does not serve ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["redundant", "bricard free"])
def test_independent_rows_serve_where_others_depend_on_them(kind: str) -> None:
    system, q, v, u, _ = looped(kind) if kind == "redundant" else shipped(kind)
    model = sr.linearize_at(system, q, v, u)
    assert StraightLine(system, model).native is not None
    models = sr.linearize_along(system, [q], [v], [u])
    assert_allclose(models.A[0], model.A, atol=1e-11 * np.abs(model.A).max())


def assert_every_model_is_right(
    system: System, models: LinearModels, q: Array, v: Array, tolerance: float
) -> None:
    for k in range(len(models)):
        single = sr.linearize_at(system, q[k], v[k], coordinates=models.names[: len(models.names) // 2])
        assert_allclose(models.A[k], single.A, atol=tolerance * np.abs(single.A).max())


def test_states_near_the_end_of_a_chart_are_left_to_the_general_route() -> None:
    """A pendulum on its way up to where x no longer determines y."""
    system, angles = pendulum(), np.pi / 2 - np.array([1.2, 0.3, 0.03, 1e-3])
    q = 2.0 * np.column_stack([np.sin(angles), -np.cos(angles)])
    v = 0.3 * np.column_stack([np.cos(angles), np.sin(angles)])
    model = sr.linearize_at(system, q[0], v[0], coordinates=["x"])
    _, clear = StraightLine(system, model)(q, v, np.empty((4, 0)), np.zeros(4))
    assert clear.tolist() == [True, True, False, False]
    models = sr.linearize_along(system, q, v, coordinates=["x"])
    assert_every_model_is_right(system, models, q, v, 1e-9)


def test_states_near_a_singular_configuration_are_left_to_the_general_route() -> None:
    """A parallelogram on its way to where its links lie on one line; there it is refused."""
    module = load_example("parallelogram")
    system = System(module.build())
    offsets = np.array([0.5, 1e-2, 1e-4, 1e-6])
    q = np.array([module.closed(0.4, 0.4 + offset) for offset in offsets])
    v = np.array([system.project_velocity(one, np.ones(4)) for one in q])
    model = sr.linearize_at(system, q[0], v[0])
    _, clear = StraightLine(system, model)(q, v, np.zeros((4, system.nu)), np.zeros(4))
    assert clear[0]
    assert not clear[-1]
    assert_every_model_is_right(system, sr.linearize_along(system, q[:3], v[:3]), q[:3], v[:3], 1e-7)
    flat = np.array([*q[:2], module.closed(0.4, 0.4)])
    with pytest.raises(SolveError, match="no linear model at state 2"):
        sr.linearize_along(system, flat, np.zeros_like(flat))


def test_a_closure_that_is_off_has_no_straight_line_code() -> None:
    """Its rows are zero: what is traced does not know, the rank does."""
    mechanism = sr.Mechanism("arm", gravity=(0.0, -9.81, 0.0))
    for k, parent in enumerate(("world", "link0")):
        mechanism.add_body(f"link{k}", 1.0, com=(0.5, 0, 0), inertia=(1e-3, 0.1, 0.1))
        place = (1.0 if k else 0.0, 0, 0)
        mechanism.add_joint(f"q{k}", "revolute", parent, f"link{k}", axis=(0, 0, 1), parent_pose=place)
    mechanism.add_coupling("clutch", {"q0": 1.0, "q1": -1.0}, active=True)
    system = System(mechanism)
    _, q, v, u, _ = moving(system, system.assemble([0.3, 0.3]).q)
    held = sr.linearize_at(system, q, v, u)
    assert StraightLine(system, held).native is not None
    system.parameters["active.clutch"] = 0.0
    free = sr.linearize_at(system, q, v, u)
    assert (held.A.shape, free.A.shape) == ((2, 2), (4, 4))
    assert StraightLine(system, free).native is None
    assert_allclose(sr.linearize_along(system, [q], [v]).A[0], free.A, atol=1e-11 * np.abs(free.A).max())


def test_what_cannot_move_has_an_empty_model() -> None:
    system = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - q[0],
        holonomic=lambda q, t: ca.vertcat(q[0] - 1, q[1] + q[0]),
    )
    assert sr.linearize_along(system, [[1.0, -1.0]], [[0.0, 0.0]]).A.shape == (1, 0, 0)


def test_far_from_the_origin_no_digits_are_lost() -> None:
    """A free body on a pivot a kilometre away: the frame goes with the body."""
    models = []
    for distance in (0.0, 1000.0):
        mechanism = sr.Mechanism("rod")
        mechanism.add_body("rod", 2.0, inertia=(0.24, 0.31, 0.1))
        mechanism.add_joint("rod", "free", "world", "rod")
        mechanism.add_body("tip", 0.3, inertia=(0.01, 0.01, 0.01))
        mechanism.add_joint("hinge", "revolute", "rod", "tip", axis=(1, 0, 0), parent_pose=(0, 0, -0.5))
        mechanism.add_closure("pivot", "point", "world", "rod", pose1=(distance, 0, 0), pose2=(0, 0.1, 0.6))
        system = System(mechanism)
        turn = sr.Pose.of(rpy=(0.3, 0.5, -0.2))
        q = np.array([*(-turn.apply((0, 0.1, 0.6))), *turn.quaternion, 0.4])
        q[0] += distance
        v = system.project_velocity(q, np.arange(7.0))
        model = sr.linearize_at(system, q, v, coordinates="tangent-space")
        out, clear = StraightLine(system, model)(q[None], v[None], np.zeros((1, 0)), np.zeros(1))
        assert clear.all()
        assert_allclose(out[0, :, :8], model.A, atol=1e-11 * np.abs(model.A).max())
        models.append(out[0, 4:, 4:8])
    assert_allclose(np.linalg.eigvals(models[1]).sum(), np.linalg.eigvals(models[0]).sum(), rtol=1e-11)
