"""Controls and contact forces of least cost: real motions, other solvers, closed forms, limits, relaxed tasks."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from legged_robots import LEGS, ByHand, box, four_bar_leg, kept, moving, quadruped, rows_of, slack
from sarrus import control, optimize
from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.base.status import Status
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.legged.contact_law import ContactTerms
from sarrus.dynamics.impacts import activity
from sarrus.formulations import optimal_distribution, relaxed_distribution

G, MU = 9.81, 0.6
STANCES = (LEGS, LEGS[1:], ("FL", "RR"), ("FR", "RL", "RR"))


def close(law: control.ContactLaw, closed: tuple[str, ...]) -> None:
    """Tell a law which contacts are closed."""
    for name in law.terms.names:
        law.settings[f"{name}.closed"] = float(name in closed)


def trunk_tasks() -> tuple[control.Task, ...]:
    """Return six rows: trunk upright, centre of mass in its place."""
    return (
        control.Task(control.orientation("trunk"), (0, 0, 0), 30, 8, name="upright"),
        control.Task(control.centre_of_mass(), (-0.012, 0.0, 0.407), 30, 8, name="centre"),
    )


@cache
def standing(**options: object) -> tuple[sr.System, Array, control.LeggedController]:
    """Return the quadruped with a law that holds its trunk."""
    system, q = _quadruped()
    return system, q, control.LeggedController(system, trunk_tasks(), **options)


@cache
def _quadruped() -> tuple[sr.System, Array]:
    return quadruped(MU)


@cache
def _four_bar_leg() -> tuple[sr.System, Array, control.LeggedController, tuple[control.Task, ...]]:
    system, q = four_bar_leg(MU)
    tasks = (
        control.Task(control.orientation("trunk", "y"), 0.0, 30, 8, name="upright"),
        control.Task(control.centre_of_mass("xz"), (0.02, 0.75), 30, 8, name="centre"),
    )
    return system, q, control.LeggedController(system, tasks), tasks


def motion(
    law: control.ContactLaw, q: Array, v: Array, u: Array, closed: tuple[str, ...]
) -> sr.ForwardDynamics:
    """Return what the mechanism does under u with these contacts closed."""
    system = law.system
    with kept(system):
        activity.switch_off(system, law.terms.names)
        for name in closed:
            system.parameters[f"active.{name}"] = 1.0
        return system.forward_dynamics(q, v, u)


# --- what is told is what happens ----------------------------------------------------------------------------


@pytest.mark.parametrize("closed", STANCES)
def test_the_quadruped_does_what_the_law_says(closed: tuple[str, ...]) -> None:
    """Accelerations fulfil the tasks, and the multipliers are the forces of the law."""
    system, stand, law = standing()
    close(law, closed)
    exact = 0
    for seed in range(6):
        q, v = moving(system, stand, seed)
        told = law.solve(q, v, throw=False)
        done = motion(law, q, v, told.u, closed)
        assert_allclose(done.multipliers, np.concatenate(list(told.contact_forces.values())), atol=1e-7)
        assert slack({n: told.contact_forces[n] for n in closed}, MU) > -1e-9
        assert (np.abs(told.u) <= 40.0 + 1e-9).all()
        exact += told.outcome == "exact"
        for task, level in zip(trunk_tasks(), told.levels[1:]):
            J, r = rows_of(system, task, q, v)
            missed = np.linalg.norm(J @ done.a - r)
            assert missed == pytest.approx(0.0 if told.outcome == "exact" else level.residual, abs=1e-7)
    assert exact >= 3


def test_a_leg_with_a_loop_and_redundant_contacts() -> None:
    """Heel and toe share what the loop, the passive knee and the tasks determine; the row across the plane is dead."""
    system, squat, law, tasks = _four_bar_leg()
    exact = 0
    for seed in range(6):
        q, v = moving(system, squat, seed, 0.02)
        told = law.solve(q, v, throw=False)
        done = motion(law, q, v, told.u, ("toe", "heel"))
        forces = np.concatenate([told.contact_forces[n] for n in ("toe", "heel")])
        with kept(system):
            activity.switch_on(system, ("toe", "heel"), squat)
            A = system.constraint_jacobian(q, v)
        # the wrench on the foot is unique, the friction at heel and toe is not
        assert_allclose(A[2:].T @ forces, A[2:].T @ done.multipliers[2:], atol=1e-7)
        assert {n: list(d) for n, d in told.determined.items()} == {
            n: [True, False, False] for n in ("toe", "heel")
        }
        assert slack(told.contact_forces, MU) > -1e-9
        assert_allclose(forces[[2, 5]], 0.0, atol=1e-5)
        exact += told.outcome == "exact"
        if told.outcome == "exact":
            for task in tasks:
                J, r = rows_of(system, task, q, v)
                assert_allclose(J @ done.a, r, atol=1e-8)
    assert exact >= 3


# --- other solvers -------------------------------------------------------------------------------------------


def wrench_free(system: sr.System, q: Array, v: Array, tasks: tuple[control.Task, ...]) -> dict[str, Array]:
    """Return the matrices of the published formulation with all contacts closed, and τ_c of the tasks' motion."""
    with kept(system):
        activity.switch_on(system, activity.contact_names(system), q)
        A, gamma = system.constraint_jacobian(q, v), system.constraint_bias(q, v)
    M, h = system.mass_matrix(q), system.bias_force(q, v) - system.passive_force(q, v, 0.0)
    rows = [rows_of(system, task, q, v) for task in tasks]
    full = np.vstack([A, *[J for J, _ in rows]])
    a = np.linalg.lstsq(full, np.concatenate([-gamma, *[r for _, r in rows]]), rcond=1e-10)[0]
    return {"M": M, "h": h, "A": A, "gamma": gamma, "B": system.actuation_matrix(q), "tau_c": M @ a + h}


FEET = [range(3 * k, 3 * k + 3) for k in range(4)]


@pytest.mark.parametrize(("mu", "limit"), [(0.6, 40.0), (0.08, 40.0), (0.6, 6.7), (0.1, 7.2)])
def test_the_paper_and_a_program_by_hand_find_the_same_controls(mu: float, limit: float) -> None:
    """On four feet the tasks determine the motion: optimal_distribution applies. Cones and limits are active."""
    system, stand = _quadruped()
    weights, tasks = np.tile([1.0, 0.5, 2.0], 4), trunk_tasks()
    law = control.LeggedController(
        system,
        [list(tasks)],
        weights=weights,
        coefficients=dict.fromkeys(LEGS, mu),
        limits=(-limit, limit),
        relaxation=1e3,
    )
    at_cone = at_limit = 0
    for seed in range(5):
        q, v = moving(system, stand, seed, 0.04)
        told = law.solve(q, v, throw=False)
        exact = told.outcome == "exact"
        at_cone += slack(told.contact_forces, mu) < 1e-6
        at_limit += np.abs(told.u).max() > limit - 1e-6
        if exact:
            paper = optimal_distribution(
                **wrench_free(system, q, v, tasks), W=weights, contacts=FEET, mu=mu, u_min=-limit, u_max=limit,
                precision=1e-12,
            )  # fmt: skip
            assert told.cost == pytest.approx(paper.cost, rel=1e-10)
            assert_allclose(told.u, paper.u, atol=1e-6)
        hand = ByHand(
            system, q, v, LEGS, tasks if exact else (), () if exact else [(task, 1e3) for task in tasks],
            coefficient=mu, limit=limit, weights=weights,
        )  # fmt: skip
        assert_allclose(told.u, hand.solve()[hand.u], atol=1e-8)
        other = hand.clarabel()
        assert_allclose(told.u, other[hand.u], rtol=0, atol=hand.distance(told.cost))
        assert told.primal_residual < 1e-9
        assert abs(told.gap) < 1e-7 * told.cost
    assert (at_cone > 0) == (mu < 0.2)
    assert (at_limit > 0) == (limit < 10.0)


def accelerations(system: sr.System, **options: object) -> control.ContactLaw:
    """Return a law of one's own: it demands all accelerations, the settings a[k], with all contacts closed."""
    settings, terms = Settings(), ContactTerms.of(system)
    wanted = settings.add("a", 0.0, system.nv, "accelerations")
    everywhere = ca.SX.ones(len(terms.names))
    level = Demand("motion", system.velocity_names, ca.SX.eye(system.nv), wanted)
    return control.ContactLaw(system, [level], everywhere, everywhere, settings, terms=terms, **options)


@pytest.mark.parametrize(("mu", "rho"), [(0.6, 1.0), (0.05, 10.0), (0.05, 1e4)])
def test_the_relaxed_problem_of_the_paper(mu: float, rho: float) -> None:
    """Section 3.3: least uᵀWu + ρ|d|², with d the acceleration that is missing in all coordinates."""
    system, stand = _quadruped()
    law = accelerations(system, coefficients=dict.fromkeys(LEGS, mu), relaxation=rho)
    for seed in range(4):
        q, v = moving(system, stand, seed, 0.04)
        wanted = np.zeros(system.nv)
        wanted[:3] = 12.0, -3.0, 1.0
        given = wrench_free(system, q, v, ())
        A, gamma = given["A"], given["gamma"]
        wanted -= np.linalg.pinv(A, 1e-10) @ (A @ wanted + gamma)
        for k, value in enumerate(wanted):
            law.settings[f"a[{k}]"] = value
        told = law.solve(q, v, throw=False)
        given["tau_c"] = given["M"] @ wanted + given["h"]
        limits = {"contacts": FEET, "mu": mu, "u_min": -40.0, "u_max": 40.0}
        if told.outcome == "exact":
            paper = optimal_distribution(**given, W=np.ones(12), **limits)
        else:
            paper = relaxed_distribution(**given, W=np.ones(12), **limits, rho=rho)
            missed = motion(law, q, v, told.u, LEGS).a - wanted
            assert told.cost + rho * missed @ missed == pytest.approx(paper.cost, rel=1e-8)
            assert told.levels[1].residual == pytest.approx(np.linalg.norm(missed), rel=1e-8)
        assert_allclose(told.u, paper.u, atol=1e-5)
        assert (told.outcome == "relaxed") == (mu < 0.1)


# --- redundant contacts ------------------------------------------------------------------------------------------


def test_a_box_on_a_slope_needs_the_least_help() -> None:
    """With tan α > μ the least force that keeps the box on its feet is the distance of its weight from the cone."""
    mu, angle = 0.5, 0.7
    law = control.LeggedController(box(angle), [])
    told = law.solve(law.system.neutral(), np.zeros(6))
    weight = 2.0 * G
    distance = weight * (np.sin(angle) - mu * np.cos(angle)) / np.hypot(1.0, mu)
    assert np.linalg.norm(told.u) == pytest.approx(distance, rel=1e-9)
    # along the normal of the cone: up the slope, and onto it
    assert_allclose(told.u, -distance * np.array([1.0, 0.0, mu]) / np.hypot(1.0, mu), atol=1e-8)
    total = sum(told.contact_forces.values())
    assert mu * total[0] == pytest.approx(np.linalg.norm(total[1:]), rel=1e-9)
    assert slack(told.contact_forces, mu) == pytest.approx(0.0, abs=1e-9)
    assert told.status is Status.OK


def test_a_flat_foot_has_one_wrench_and_the_forces_of_least_norm() -> None:
    """Twelve rows of rank six: no force at a corner is determined, their resultant is; away from the cones they are
    the multipliers of least norm."""
    law = control.LeggedController(box(0.1), [])
    system = law.system
    q, v = system.neutral(), np.zeros(6)
    told = law.solve(q, v)
    assert not any(determined.any() for determined in told.determined.values())
    assert_allclose(told.u, 0.0, atol=1e-7)
    done = motion(law, q, v, told.u, law.terms.names)
    assert done.rank == 6
    forces = np.concatenate(list(told.contact_forces.values()))
    assert_allclose(forces, done.multipliers, atol=1e-4)
    assert slack(told.contact_forces, 0.5) > 0.0


def test_three_feet_are_determined_in_their_normals() -> None:
    """Three points: the normal forces are determined, the frictions are not."""
    law = control.LeggedController(box(0.1, corners=3), [])
    told = law.solve(law.system.neutral(), np.zeros(6))
    assert all(list(own) == [True, False, False] for own in told.determined.values())
    close(law, ("foot.1",))
    told = law.solve(law.system.neutral(), np.zeros(6), throw=False)
    assert told.determined["foot.1"].all()


def test_contacts_without_friction_have_one_row() -> None:
    """Frictionless feet: actuators carry what is along the slope, the ground what is across, shared by least norm."""
    angle = 0.3
    law = control.LeggedController(box(angle, friction="frictionless", friction_coefficient=None), [])
    q = law.system.neutral()
    told = law.solve(q, np.zeros(6), throw=False)
    assert told.status is Status.OK
    assert_allclose(told.u, 0.0, atol=1e-7)
    assert_allclose(list(told.contact_forces.values()), np.full((4, 1), 0.5 * G * np.cos(angle)), rtol=1e-5)
    hold = control.LeggedController(
        law.system, [control.Task("x", 0.0, 10, 5, name="stay")], largest_force=0.45 * G * np.cos(angle)
    )
    told = hold.solve(q, np.zeros(6))
    # the largest force leaves a tenth of the weight to the actuator across the slope
    assert_allclose(told.u, [-2.0 * G * np.sin(angle), 0.0, 0.2 * G * np.cos(angle)], atol=1e-7)
    assert_allclose(list(told.contact_forces.values()), np.full((4, 1), 0.45 * G * np.cos(angle)), rtol=1e-9)


# --- friction, limits and further rows ------------------------------------------------------------------------


def test_pyramids_are_inside_cones_and_cost_more() -> None:
    system, stand = _quadruped()
    mu = dict.fromkeys(LEGS, 0.09)
    laws = {
        kind: control.LeggedController(system, trunk_tasks(), friction=kind, coefficients=mu)
        for kind in ("none", "cone", "pyramid")
    }
    strict = 0
    for seed in range(5):
        q, v = moving(system, stand, seed, 0.04)
        told = {kind: law.solve(q, v, throw=False) for kind, law in laws.items()}
        for kind in ("cone", "pyramid"):
            assert slack(told[kind].contact_forces, 0.09) > -1e-9
        for force in told["pyramid"].contact_forces.values():
            assert (0.09 / np.sqrt(2.0) * force[0] - np.abs(force[1:]) > -1e-9).all()
        if all(t.outcome == "exact" for t in told.values()):
            costs = [told[kind].cost for kind in ("none", "cone", "pyramid")]
            assert costs[0] <= costs[1] * (1 + 1e-9) <= costs[2] * (1 + 2e-9)
            strict += costs[0] < 0.999 * costs[1] < 0.998 * costs[2]
    assert strict > 0


def test_infinite_limits_are_no_limits() -> None:
    """The largest force of 1e9 N and torques of 1e9 N m are as none at all, where cones are active too."""
    system, stand = _quadruped()
    mu = dict.fromkeys(LEGS, 0.08)
    free, far = (
        control.LeggedController(
            system, trunk_tasks(), coefficients=mu, limits=(-limit, limit), largest_force=limit
        )
        for limit in (np.inf, 1e9)
    )
    for closed in STANCES:
        for law in (free, far):
            close(law, closed)
        q, v = moving(system, stand, 1, 0.03)
        one, other = (law.solve(q, v, throw=False) for law in (free, far))
        assert one.outcome == other.outcome
        assert_allclose(one.u, other.u, atol=1e-6 * (1.0 + np.abs(one.u).max()))


def test_rows_of_the_user_hold() -> None:
    """The centre of pressure of a foot stays behind a line, and a contact force inside a ball."""
    system = box(0.1)
    q, law = system.neutral(), control.LeggedController(system, [])
    names, n = law.terms.names, law.unknowns
    at = dict(zip(names, (0.1, -0.1, -0.1, 0.1)))

    def pressure(told: control.ContactCommand) -> float:
        loads = {name: force[0] for name, force in told.contact_forces.items()}
        return sum(at[name] * loads[name] for name in names) / sum(loads.values())

    free = pressure(law.solve(q, np.zeros(6)))
    assert free == pytest.approx(0.05 * np.tan(0.1), rel=1e-6)
    # Σ (x_k − x_max) λ_n,k ≤ 0, which without moments only the force along the slope can reach
    edge = 0.3 * free
    row = np.zeros((1, n))
    for k, name in enumerate(names):
        row[0, system.nu + 3 * k] = at[name] - edge
    limited = control.LeggedController(system, [], constraints=optimize.ConeRows(row, np.zeros(1), 1))
    told = limited.solve(q, np.zeros(6))
    assert pressure(told) == pytest.approx(edge, rel=1e-6)
    assert np.linalg.norm(told.u) > 0.1
    Q, size = np.zeros((n, n)), 0.2 * G
    Q[[3, 4, 5], [3, 4, 5]] = 2.0
    ball = control.LeggedController(
        system, [], constraints=optimize.quadratic_constraint(Q, np.zeros(n), -(size**2))
    )
    told = ball.solve(q, np.zeros(6))
    # to the share of its weight in the cost, it is as large as it may be
    assert 0.9999 * size < np.linalg.norm(told.contact_forces["foot.1"]) < (1.0 + 1e-9) * size
    assert_allclose(told.u, 0.0, atol=1e-5)


def test_a_limit_of_what_the_tasks_determine_is_seen() -> None:
    """The tasks fix the centre of pressure of all four feet; a limit before it relaxes them, one behind it does not."""
    system, stand = _quadruped()
    feet = np.array([0.25, 0.25, -0.25, -0.25])  # below the hips, x
    normals = system.nu + 3 * np.arange(4)
    v = np.zeros(system.nv)
    free = standing()[2]
    close(free, LEGS)
    loads = np.array([force[0] for force in free.solve(stand, v, throw=False).contact_forces.values()])
    centre = float(feet @ loads / loads.sum())
    for edge, outcome in ((centre + 0.001, "exact"), (centre - 0.01, "relaxed")):
        row = np.zeros((1, system.nu + 12))
        row[0, normals] = feet - edge
        law = control.LeggedController(
            system, trunk_tasks(), constraints=optimize.ConeRows(row, np.zeros(1), 1)
        )
        told = law.solve(stand, v, throw=False)
        loads = np.array([force[0] for force in told.contact_forces.values()])
        assert told.outcome == outcome
        assert feet @ loads / loads.sum() == pytest.approx(min(centre, edge), abs=1e-9)
        assert ("constraint 0" in told.conflict) == (outcome == "relaxed")


# --- tasks that the limits do not allow -----------------------------------------------------------------------


def test_the_least_acceleration_is_given_up() -> None:
    """A push that friction cannot give: cones hold, and the priorities are those of ρ."""
    system, stand = _quadruped()
    tasks = (
        control.Task(control.orientation("trunk"), (0, 0, 0), 30, 8, name="upright"),
        control.Task(control.centre_of_mass("z"), 0.407, 30, 8, name="height"),
        control.Task(control.centre_of_mass("xy"), (0.6, 0.0), 30, 8, name="push"),
    )
    for rhos in ((1e4, 1e4, 1e4), (1e9, 1e6, 1e3)):
        law = control.LeggedController(system, tasks, relaxation=rhos)
        for seed in range(4):
            q, v = moving(system, stand, seed, 0.03)
            told = law.solve(q, v, throw=False)
            assert told.outcome == "relaxed"
            assert told.status is Status.NOT_ACHIEVABLE
            assert slack(told.contact_forces, MU) > -1e-9
            hand = ByHand(system, q, v, LEGS, relaxed=tuple(zip(tasks, rhos)), coefficient=MU, limit=40.0)
            z = hand.solve()
            # The cost grows with the square of the distance from the best controls, and is off by the gap.
            allowed = np.sqrt(abs(told.gap)) + np.sqrt(abs(hand.gap))
            assert_allclose(told.u, z[hand.u], rtol=0, atol=allowed)
            missed = [np.linalg.norm(J @ z[hand.a] - r) for J, r in hand.tasks]
            assert_allclose([level.residual for level in told.levels[1:]], missed, rtol=1e-4, atol=1e-6)
            total = told.cost + sum(rho * level.residual**2 for rho, level in zip(rhos, told.levels[1:]))
            by_hand = z[hand.u] @ z[hand.u] + sum(rho * m * m for rho, m in zip(rhos, missed))
            assert total == pytest.approx(by_hand, rel=1e-9)
            if rhos[0] > rhos[2]:
                assert missed[0] < 1e-2 * missed[1] < 1e-4 * missed[2]
    with pytest.raises(SolveError, match=r"relaxed: .*push"):
        law.solve(q, v)


def test_controls_are_continuous_where_tasks_begin_to_be_relaxed() -> None:
    """The push grows through the limit of friction: no jump there, and the forces stay on their cones."""
    system, stand = _quadruped()
    task = control.Task(control.centre_of_mass("x"), -0.012, 30, 8, name="push")
    upright = control.Task(control.orientation("trunk"), (0, 0, 0), 30, 8, name="upright")
    height = control.Task(control.centre_of_mass("yz"), (0.0, 0.407), 30, 8, name="height")
    law = control.LeggedController(system, [[upright, height], task])
    v, controls, outcomes = np.zeros(system.nv), [], []
    references = np.linspace(0.10, 0.22, 481)
    for reference in references:
        law.settings["push.reference"] = reference
        told = law.solve(stand, v, throw=False)
        controls.append(told.u)
        outcomes.append(told.outcome)
    change = np.abs(np.diff(controls, axis=0)).max(axis=1)
    switch = outcomes.index("relaxed")
    assert 50 < switch < 430
    assert outcomes == ["exact"] * switch + ["relaxed"] * (481 - switch)
    assert change.max() < 0.2  # per 7.5 mm/s² of push, where a foot lifts
    assert change[switch - 1] < change[switch - 2]
