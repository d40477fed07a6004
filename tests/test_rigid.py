"""Isolated and rigid configurations: every call names them, and nothing moves there. What moves is not called rigid."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from rigid_configurations import (
    ISOLATED,
    G,
    framework,
    gough_platform_with_legs,
    rods_and_body,
    turned,
)
from sarrus.base.errors import SimulationError, SolveError
from sarrus.dynamics.closing.assembly import rank_analysis
from sarrus.dynamics.impacts.impacts import impact
from sarrus.dynamics.solve.ranks import generic_rank
from test_singular import CASES

MODELS = Path(__file__).parents[1] / "models"


@pytest.fixture(scope="module", params=ISOLATED)
def case(request):
    return ISOLATED[request.param]()


def test_mobility_names_it(case):
    system, q = case
    found = sr.mobility(system, q)
    assert (found.status, found.finite_dof, found.branches) == (sr.Status.RIGID, 0, ())
    assert found.dof > 0
    assert "isolated" in str(found)


def test_forward_dynamics_stays_and_says_what_is_not_held(case):
    """M a + h = S u + τ + Aᵀλ + unbalanced with a = 0; what rows can hold they hold: A · unbalanced = 0."""
    system, q = case
    rng = np.random.default_rng(1)
    u, tau, rest = rng.standard_normal(system.nu), rng.standard_normal(system.nv), np.zeros(system.nv)
    found = system.forward_dynamics(q, rest, u, tau=tau)
    assert found.status is sr.Status.RIGID
    assert not found.status.ok
    assert np.abs(found.a).max() == 0.0
    jacobian = system.constraint_jacobian(q)
    held = jacobian.T @ found.multipliers
    assert np.allclose(found.constraint_force, held, rtol=0, atol=1e-12)
    total = system.actuation_matrix(q) @ u + tau - system.bias_force(q, rest) + held + found.unbalanced
    assert np.abs(total).max() < 1e-10
    assert np.abs(jacobian @ found.unbalanced).max() < 1e-10
    assert np.abs(found.unbalanced).max() > 1e-2
    # Beside it the loops are open and the rows independent; then the answer here is the same again.
    beside = system.move(q, 0.1 * turned(case, 2))
    assert system.forward_dynamics(beside, rest).status is not sr.Status.RIGID
    assert np.array_equal(system.forward_dynamics(q, rest, u, tau=tau).multipliers, found.multipliers)


def test_a_velocity_that_no_motion_has(case):
    system, q = case
    v = turned(case, 3)
    assert np.abs(system.constraint_jacobian(q) @ v).max() < 1e-12
    # Wherever the rank was found last: beside q the loops are open.
    for place in (system.move(q, 0.1 * turned(case, 5)), q):
        generic_rank(system.workspace(), place, renew=True)
        found = system.forward_dynamics(q, v)
        assert found.status is sr.Status.RIGID
        assert found.residual > 1e-3
    assert sr.simulate(system, q, v, duration=1.0, throw=False).status is sr.Status.RIGID
    assert impact(system, q, v, closing=[]).status is sr.Status.RIGID


def test_inverse_dynamics_names_it(case):
    system, q = case
    rest = np.zeros(system.nv)
    with pytest.raises(SolveError, match="second-order rigid"):
        system.inverse_dynamics(q, rest, rest)
    found = system.inverse_dynamics(q, rest, rest, throw=False)
    assert found.status is sr.Status.RIGID
    if system.nu == system.nv:
        assert found.residual < 1e-10  # the actuators hold what multipliers do not


METHODS = {
    "rk4": {},
    "dop853": {"rtol": 1e-8},
    "rodas5p": {"method": "rodas5p"},
    "energy": {"stabilization": "energy"},
    "partition": {"coordinates": "partition"},
}


@pytest.mark.parametrize("method", METHODS)
def test_no_run_begins(case, method):
    system, q = case
    motion = sr.simulate(system, q, duration=1.0, throw=False, **METHODS[method])
    assert (motion.status, len(motion.t), motion.steps) == (sr.Status.RIGID, 1, 0)
    assert np.abs(motion.q[0] - q).max() < 1e-12
    assert np.abs(motion.a[0]).max() == 0.0
    assert "second-order rigid" in motion.message


def test_no_run_of_many_begins(case):
    system, q = case
    runs = sr.rollout(system, np.array([q, q, q]), duration=0.1)
    assert list(runs.status) == [sr.Status.RIGID] * 3
    assert np.abs(runs.final_q - q).max() < 1e-12


def test_assembly_equilibrium_and_linear_models_name_it(case):
    system, q = case
    if (
        system.name != "fourth_order"
    ):  # at a distance δ its loops are open by δ⁴: it is known where it is given
        kick = 1e-3 * np.random.default_rng(4).standard_normal(system.nv)
        found = system.assemble(system.move(q, kick))
        assert found.status is sr.Status.RIGID
        assert np.abs(found.q - q).max() < 1e-6
    rest = sr.equilibrium(system, q)
    assert (rest.status, rest.stable) == (sr.Status.RIGID, None)
    assert np.abs(rest.q - q).max() < 1e-6
    with pytest.raises(SolveError, match="no linear model at a rigid configuration"):
        sr.linearize(system, q)


def test_modes_of_assembly_that_are_isolated(case):
    system, _ = case
    if system.name == "fourth_order":
        return
    by = {"by": ["platform"]} if system.nv == 18 else {}
    modes = sr.assembly_modes(system, **by)
    assert modes.dof == 0
    assert {mode.status for mode in modes} == {sr.Status.RIGID}


def test_isolated_modes_that_differ_by_the_angles_of_legs():
    """Each leg of the platform has two pairs of hip angles: 64 modes or more, each of its own, and closed."""
    system, _ = gough_platform_with_legs()
    modes = sr.assembly_modes(system)
    assert {mode.status for mode in modes} == {sr.Status.RIGID}
    assert len(modes) > 110
    assert sum(mode.hits for mode in modes) > 0.9 * modes.tried
    assert max(np.abs(system.constraint_residual(mode.q)).max() for mode in modes) < 1e-12
    places = [np.concatenate([system.body_placements(mode.q)[0].ravel(), mode.q[7:]]) for mode in modes]
    for k, place in enumerate(places):
        gaps = np.array(places[:k]) - place if k else np.ones((1, len(place)))
        gaps[:, -12:] -= 2 * np.pi * np.rint(gaps[:, -12:] / (2 * np.pi))
        assert np.abs(gaps).max(axis=1).min() > 1e-2


# --- rigid in some directions ---------------------------------------------------------------------


def test_a_body_held_at_its_centre_turns_and_does_not_fall():
    system, q = rods_and_body()
    found = sr.mobility(system, q)
    assert (found.status, found.dof, found.finite_dof, found.shaky) == (sr.Status.OK, 5, 3, True)
    torque = np.array([0.0, 0.0, 0.0, 0.1, -0.2, 0.3])
    forward = system.forward_dynamics(q, np.zeros(6), tau=torque)
    assert forward.status is sr.Status.RIGID
    assert np.allclose(forward.a, [0, 0, 0, 1.0, -1.0, 1.0], rtol=0, atol=1e-12)
    assert np.allclose(forward.unbalanced, [0, 0, 2.0 * G, 0, 0, 0], rtol=0, atol=1e-12)
    with pytest.raises(SimulationError, match="second-order rigid"):
        sr.simulate(system, q, duration=1.0)
    rest = sr.equilibrium(system, q)
    assert (rest.status, rest.dof) == (sr.Status.RIGID, 3)


def test_it_turns_where_its_weight_is_carried():
    """Euler's equations of a free body; RIGID from the moment on that a force pushes it to where it cannot go."""
    system, q = rods_and_body()
    weight = ca.DM([0, 0, 2.0 * G, 0, 0, 0])
    v = np.array([0.0, 0.0, 0.0, 1.0, 2.0, -1.5])
    assert system.forward_dynamics(q, v, tau=np.array(weight).ravel()).status is sr.Status.OK
    # Neighbours of this motion leave its branch, which no motion does: an estimate by them says nothing.
    alone = {"rtol": 1e-10, "error_estimate": False}
    motion = sr.simulate(system, q, v, duration=1.0, force=lambda q, v, t: weight, **alone)
    assert motion.status is sr.Status.OK
    assert np.abs(motion.q[:, :3]).max() < 1e-12
    inertia = np.array([0.1, 0.2, 0.3])
    spin = motion.v[:, 3:]
    assert np.allclose(np.linalg.norm(spin * inertia, axis=1), np.linalg.norm(v[3:] * inertia), rtol=1e-8)
    late = ca.DM([0, 1.0, 0, 0, 0, 0])
    pushed = sr.simulate(
        system, q, v, duration=1.0, force=lambda q, v, t: weight + ca.fmax(t - 0.1, 0) * late, throw=False
    )
    assert pushed.status is sr.Status.RIGID
    assert pushed.t[-1] >= 0.1


def test_a_closure_that_comes_and_makes_it_rigid():
    mechanism = sr.Mechanism("caught", gravity=(0, -G, 0))
    mechanism.add_body("mass", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("mass", "planar", "world", "mass")
    for name, x in (("left", -1.0), ("right", 1.0)):
        mechanism.add_closure(
            name, "distance", "world", "mass", pose1=(x, 0, 0), length=1.0, active=name == "left"
        )
    system = sr.System(mechanism)
    plan = sr.Switching(schedule={"right": [(0.0, 1.0)]})
    motion = sr.simulate(system, np.zeros(3), duration=0.5, switching=plan, throw=False)
    assert (motion.status, motion.t[-1]) == (sr.Status.RIGID, 0.0)
    free = sr.simulate(system, np.zeros(3), duration=0.2, switching=False)
    assert free.status is sr.Status.OK


def test_rods_that_grow_are_not_rigid():
    """Lengths √(1 + t²) at t = 0: the mass is on its way, y = ± t, although it is isolated at every fixed time."""
    growing = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        holonomic=lambda q, t: ca.vertcat(
            (q[0] + 1) ** 2 + q[1] ** 2 - 1 - t**2, (q[0] - 1) ** 2 + q[1] ** 2 - 1 - t**2
        ),
    )
    assert growing.forward_dynamics(np.zeros(2), [0.0, 1.0]).status is not sr.Status.RIGID


# --- what moves -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", CASES, ids=lambda model: type(model).__name__)
def test_singular_configurations_with_branches_are_singular(model):
    system = sr.System(model.build())
    q, v = model.state(0.0)
    assert rank_analysis(system, q).motions is None
    assert sr.mobility(system, q).status is sr.Status.SINGULAR
    assert system.forward_dynamics(q, v).status is sr.Status.SINGULAR
    assert system.assemble(q).status is sr.Status.SINGULAR
    assert sr.simulate(system, q, v, duration=0.05).status is sr.Status.OK


@pytest.mark.parametrize(
    "name", ["bennett", "bricard", "five_bar", "front_loader", "stewart", "foot", "biped_four_bar"]
)
def test_mechanisms_that_move_are_not_rigid(example, name):
    system = sr.System(example(name).build())
    closed = system.assemble(system.neutral(), throw=False)
    near = rank_analysis(system, closed.q)
    assert near.motions is None
    assert sr.Status.RIGID not in (
        closed.status,
        system.forward_dynamics(closed.q, np.zeros(system.nv)).status,
    )


@pytest.mark.parametrize("offset", [1e-2, 1e-3])
def test_rods_that_are_a_little_too_long_make_a_structure(offset):
    """Then the mass hangs below the line, in one of two places, and is held by finite forces."""
    system, q = framework("long", [(-1, 0), (0, -offset), (1.5, 0)], [(0, 1), (1, 2)], [0, 2])
    found = system.forward_dynamics(q, np.zeros(2))
    assert (found.status, found.rank) == (sr.Status.OK, 2)
    assert np.abs(found.a).max() < 1e-9
    assert sr.simulate(system, q, duration=0.1).status is sr.Status.OK


# --- limits of a run ------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"rtol": 1e-8}, {"method": "rodas5p"}, {"rtol": 1e-8, "dt": 0.5}])
def test_a_run_ends_at_its_limit_of_steps(options):
    method = sr.Stepping(**options, max_steps=25)
    system = sr.System(CASES[0].build())
    q, v = CASES[0].state(0.3)
    motion = sr.simulate(system, q, v, duration=1e3, method=method, throw=False)
    assert motion.status is sr.Status.STEP_LIMIT
    assert motion.steps + motion.rejected == 25
    assert "max_steps" in motion.message
    with pytest.raises(SimulationError, match="limit of steps"):
        sr.simulate(system, q, v, duration=1e3, method=method)


def test_a_run_ends_at_its_limit_of_memory():
    system = sr.System(CASES[0].build())
    q, v = CASES[0].state(0.3)
    motion = sr.simulate(system, q, v, duration=1e3, method=sr.Stepping(dt=1e-3, max_bytes=1e6), throw=False)
    assert motion.status is sr.Status.STEP_LIMIT
    rows = sum(getattr(motion, name).nbytes for name in ("t", "q", "v", "a", "u", "multipliers"))
    assert 2e5 < rows < 4e7
    method = sr.Stepping(dt=1e-3, max_bytes=1e6)
    assert sr.simulate(system, q, v, duration=1.0, method=method, every=10).status is sr.Status.OK
