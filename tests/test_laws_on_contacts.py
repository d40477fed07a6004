"""Laws that know contacts, stops and dry friction of their plant: forward dynamics with u gives what is demanded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from law_scenes import (
    FRICTION,
    INERTIA,
    LENGTH,
    MASS,
    accelerating,
    along_x,
    chain,
    gantry,
    hoist,
    pendulum_between_stops,
    pushed,
    quadruped_on_legs,
    slider_crank,
)
from sarrus import control, references
from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_elements import Mode

G = 9.81


# --- a pendulum with dry friction between stops -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def pendulum() -> sr.System:
    return pendulum_between_stops()


def torque(q: float, a: float, rub: float) -> float:
    """Return the torque for an acceleration against friction."""
    return (INERTIA + MASS * LENGTH**2) * a + MASS * G * LENGTH * np.cos(q) + rub


@pytest.mark.parametrize("v", [-0.4, 0.0, 0.3])
@pytest.mark.parametrize("a", [-2.0, 1e-6, 5.0])
def test_dry_friction_is_compensated_in_its_direction(pendulum: sr.System, v: float, a: float) -> None:
    """Sliding it is against the motion, at rest against the demanded motion."""
    found = accelerating(pendulum, ["turn"], np.array([a])).solve([0.2], [v])
    assert found.u[0] == pytest.approx(torque(0.2, a, FRICTION * np.sign(v or a)), rel=1e-12)
    assert found.modes["turn.friction"] is Mode.SLIDING
    assert pendulum.forward_dynamics([0.2], [v], found.u).a[0] == pytest.approx(a, rel=1e-9, abs=1e-12)


def test_at_rest_friction_takes_what_it_can(pendulum: sr.System) -> None:
    """A tie: any torque within the friction holds the joint, the least one is taken, and the mode says so."""
    found = accelerating(pendulum, ["turn"], np.zeros(1)).solve([0.2], [0.0])
    assert found.u[0] == pytest.approx(torque(0.2, 0.0, -FRICTION), rel=1e-5)
    assert found.modes["turn.friction"] is Mode.STICKING
    assert pendulum.forward_dynamics([0.2], [0.0], found.u).a[0] == pytest.approx(0.0, abs=1e-12)


def test_contacts_are_left_out_on_request(pendulum: sr.System) -> None:
    law = control.ComputedTorque(pendulum, ["turn"], 0.3, contacts=False)
    assert law.solve([0.3], [0.5]).u[0] == pytest.approx(torque(0.3, -10.0, 0.0))
    assert law.plant is None


def test_a_stop_pushes_only(pendulum: sr.System) -> None:
    """A demand into the stop is missed because of it, with the torque of the demand; one away from it is met."""
    pressing = accelerating(pendulum, ["turn"], np.array([3.0])).solve([1.0], [0.0], throw=False)
    assert (pressing.status, pressing.outcome) == (sr.Status.NOT_ACHIEVABLE, "relaxed")
    assert pressing.conflict == ("stop 'turn.upper stop'",)
    assert "'motion' misses 3 of 3, because of the limits of stop 'turn.upper stop'" in pressing.message
    assert pressing.u[0] == pytest.approx(torque(1.0, 3.0, FRICTION), rel=1e-5)
    leaving = accelerating(pendulum, ["turn"], np.array([-3.0])).solve([1.0], [0.0])
    assert leaving.u[0] == pytest.approx(torque(1.0, -3.0, -FRICTION))
    with pytest.raises(sr.SolveError, match="upper stop"):
        accelerating(pendulum, ["turn"], np.array([3.0])).solve([1.0], [0.0])


def test_a_joint_that_neither_motor_nor_friction_can_hold(pendulum: sr.System) -> None:
    """It falls against its friction, with all that the motor has; the limit of the motor is named."""
    law = control.ComputedTorque(pendulum, ["turn"], 0.2, limits=(-5.0, 5.0))
    found = law.solve([0.2], [0.0], throw=False)
    assert (found.outcome, found.modes["turn.friction"]) == ("relaxed", Mode.SLIDING)
    assert found.conflict == ("actuator 'motor'",)
    a = (5.0 + FRICTION - MASS * G * LENGTH * np.cos(0.2)) / (INERTIA + MASS * LENGTH**2)
    assert found.u == pytest.approx([5.0])
    assert pendulum.forward_dynamics([0.2], [0.0], found.u).a == pytest.approx([a])


@pytest.mark.parametrize("sample_time", [None, 1e-3])
def test_a_pendulum_follows_its_path(pendulum: sr.System, sample_time: float | None) -> None:
    """From rest to rest, within the error of the run; friction that is not known would leave F / (I k)."""
    law = control.ComputedTorque(pendulum, ["turn"], references.minimum_jerk([0.1], [0.8], duration=1.0))
    run = sr.simulate(pendulum, [0.1], duration=1.2, control=law, sample_time=sample_time)
    s = np.minimum(run.t, 1.0)
    path = 0.1 + 0.7 * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    assert_allclose(run.q[:, 0], path, atol=1e-9 if sample_time is None else 2e-4)


def test_rest_at_a_target_has_no_chatter(pendulum: sr.System) -> None:
    """Friction is compensated up to the end of the motion; a regulator presses on a stop."""
    law = control.Regulator(pendulum, ["turn"], 0.7, stiffness=100.0, damping=20.0)
    run = sr.simulate(pendulum, [0.1], duration=4.0, control=law)
    assert run.q[-1, 0] == pytest.approx(0.7, abs=1e-6)
    assert len(run.switches) < 10
    beyond = control.Regulator(pendulum, ["turn"], 1.3, stiffness=100.0, damping=20.0)
    run = sr.simulate(pendulum, [0.1], duration=2.0, control=beyond)
    assert run.q[-1, 0] == pytest.approx(1.0, abs=1e-9)
    assert run.u[-1, 0] == pytest.approx(MASS * G * LENGTH * np.cos(1.0) + 30.0 + FRICTION, rel=1e-5)
    assert len(run.switches) < 10


def test_soft_levels_do_not_take_what_a_stop_leaves_them(pendulum: sr.System) -> None:
    """What a demand presses on would leave the final soft level "rest" all of the torque: u would jump at touch."""
    law = control.TaskHierarchy(pendulum, [control.Task(["turn"], 1.3, 100.0, 20.0, name="turn")])
    pressing = law.solve([1.0], [0.0], throw=False)
    assert pressing.u[0] == pytest.approx(torque(1.0, 30.0, FRICTION), rel=1e-5)
    assert (pressing.outcome, pressing.conflict) == ("relaxed", ("stop 'turn.upper stop'",))
    assert law.solve([0.999], [0.0]).u[0] == pytest.approx(torque(0.999, 30.1, FRICTION), rel=1e-5)
    rest = pressing.levels[1]
    assert rest.soft
    assert rest.residual == pytest.approx(rest.demanded, rel=1e-6)
    run = sr.simulate(pendulum, [0.1], duration=2.0, control=law)
    assert run.q[-1, 0] == pytest.approx(1.0, abs=1e-9)
    assert len(run.switches) < 10


def test_runs_without_contacts_have_laws_without_them(pendulum: sr.System) -> None:
    law = control.ComputedTorque(pendulum, ["turn"], 0.3)
    run = sr.simulate(pendulum, [0.1], duration=0.1, control=law, switching=False)
    assert run.u[0, 0] == pytest.approx(torque(0.1, 20.0, 0.0))


# --- a block on a plane with Coulomb friction -------------------------------------------------------------------------

MU = 0.4


def block_on_plane(motors: str) -> sr.System:
    """A block that moves along x and z, with motors along some of these."""
    made = sr.Mechanism("block")
    made.add_body("slide", 0.0, inertia=(0, 0, 0))
    made.add_body("block", 2.0, inertia=(0.1,) * 3)
    made.add_joint("x", "prismatic", "world", "slide", axis=(1, 0, 0))
    made.add_joint("z", "prismatic", "slide", "block", axis=(0, 0, 1))
    made.add_contact("foot", "block", friction="coulomb", friction_coefficient=MU)
    for joint in motors:
        made.add_actuator(f"motor {joint}", joint)
    return sr.System(made)


@pytest.fixture(scope="module")
def block() -> sr.System:
    return block_on_plane("x")


@pytest.mark.parametrize("v", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("a", [-2.0, 0.0, 1.0])
def test_a_block_on_a_plane(block: sr.System, v: float, a: float) -> None:
    way = np.sign(v or a)
    found = accelerating(block, ["x"], np.array([a])).solve([0.0, 0.0], [v, 0.0])
    assert found.u[0] == pytest.approx(2.0 * a + way * MU * 2.0 * G, abs=1e-12)
    assert found.modes["foot"] is (Mode.SLIDING if way else Mode.STICKING)
    assert block.forward_dynamics([0.0, 0.0], [v, 0.0], found.u).a == pytest.approx([a, 0.0], abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3, "method": "moreau-jean"}])
def test_a_block_goes_from_sticking_to_sliding(block: sr.System, options: dict[str, object]) -> None:
    law = control.ProjectedInverseDynamics(block, ["x"], references.minimum_jerk([0.0], [1.0], duration=1.0))
    run = sr.simulate(block, [0.0, 0.0], duration=1.5, control=law, **options)
    s = np.minimum(run.t, 1.0)
    assert_allclose(run.q[:, 0], s**3 * (10.0 - 15.0 * s + 6.0 * s**2), atol=1e-3 if options else 1e-8)
    assert run.q[-1, 0] == pytest.approx(1.0, abs=1e-6)


def test_lifting_and_pressing() -> None:
    """With a second motor the block leaves the plane as demanded; it cannot go into it, and the plane is named."""
    system = block_on_plane("xz")
    up = accelerating(system, ["x", "z"], np.array([1.0, 1.0])).solve([0, 0], [0, 0])
    assert up.u == pytest.approx([2.0, 2.0 * (G + 1.0)])
    assert up.modes["foot"] is Mode.OPEN
    down = accelerating(system, ["x", "z"], np.array([1.0, -1.0])).solve([0, 0], [0, 0], throw=False)
    assert (down.status, down.conflict) == (sr.Status.NOT_ACHIEVABLE, ("contact 'foot'",))
    assert system.forward_dynamics([0, 0], [0, 0], down.u).a == pytest.approx([1.0, 0.0], abs=1e-9)


def test_an_impact_is_told(block: sr.System) -> None:
    """No acceleration belongs to a contact that hits, and none to one deep below its plane."""
    law = accelerating(block, ["x"], np.ones(1))
    hits = law.solve([0.0, 0.0], [0.0, -1.0], throw=False)
    assert hits.status is sr.Status.NOT_ACHIEVABLE
    assert "'foot' closes with a velocity of 1, which takes an impact" in hits.message
    assert "'foot'" in law.solve([0.0, -0.1], [0.0, 0.0], throw=False).message


@pytest.mark.parametrize("closed_form", [True, False])
def test_geometries(closed_form: bool) -> None:
    """A ball on a plane is pushed against its friction, whichever function finds the contact."""
    law = accelerating(pushed("sphere", (0.1,), closed_form=closed_form), ["x"], np.array([2.0]))
    for v, way in ((0.0, 1.0), (-1.0, -1.0)):
        found = law.solve([0.0, 0.0], [v, 0.0])
        assert found.u[0] == pytest.approx(6.0 + way * 0.3 * 2.0 * G)
        assert Mode.SLIDING in found.modes.values()
    assert law.solve([0.0, 0.1], [0.0, 0.0]).u[0] == pytest.approx(6.0)


@pytest.mark.parametrize(("kind", "size"), [("sphere", (0.1,)), ("box", (0.2, 0.15, 0.1))])
def test_geometries_in_steps(kind: str, size: tuple[float, ...]) -> None:
    """A law in a run knows what a narrow phase finds: the controls are those of a call at the same state."""
    system = pushed(kind, size, closed_form=False)
    law, options = along_x(system), {"duration": 0.12, "dt": 2e-3}
    run = sr.simulate(system, [0.0, 0.0], control=law, sample_time=2e-3, method="moreau-jean", **options)
    called = [law(q, v, float(t)) for q, v, t in zip(run.q[:-1], run.v[:-1], run.t)]
    assert_allclose(run.u[:-1], called, atol=1e-9)
    free = along_x(system, contacts=False)
    alone = [free(q, v, float(t)) for q, v, t in zip(run.q, run.v, run.t)]
    assert_allclose((run.u - alone)[5:45], 0.3 * 2.0 * G, atol=1e-9)
    assert run.q[-1, 0] == pytest.approx(0.02, abs=5e-4)  # controls held for 2 ms
    many = sr.rollout(system, np.zeros((1, 2)), control=along_x(system), method="moreau-jean", **options)
    held = sr.simulate(system, [0.0, 0.0], control=along_x(system), method="moreau-jean", **options)
    assert_allclose(many.final_q[0], held.q[-1], atol=1e-14)
    assert held.q[-1, 0] == pytest.approx(0.02, abs=1e-4)


def test_an_error_in_the_search_for_contacts_ends_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    system = pushed("box", (0.2, 0.15, 0.1), closed_form=False)

    def fails(*_: object) -> None:
        raise sr.ArgumentError("no contacts", element="search")

    monkeypatch.setattr("sarrus.control.laws.plant_contacts.PlantContacts.look", fails)
    with pytest.raises(sr.ArgumentError, match="no contacts"):
        sr.simulate(system, [0.0, 0.0], duration=0.01, dt=1e-3, control=along_x(system), method="moreau-jean")


def test_geometries_in_closed_form_by_events() -> None:
    """A run by events has gaps in closed form, and so has the law in it; without contacts it leaves them out."""
    system = pushed("box", (0.2, 0.15, 0.1), closed_form=False)
    run = sr.simulate(system, [0.0, 0.0], duration=0.12, control=along_x(system), rtol=1e-9)
    s = np.minimum(run.t / 0.1, 1.0)
    assert_allclose(run.q[:, 0], 0.02 * s**3 * (10.0 - 15.0 * s + 6.0 * s**2), atol=1e-9)
    moves = (s > 0.01) & (s < 0.99)
    a = 0.02 / 0.1**2 * (60.0 * s - 180.0 * s**2 + 120.0 * s**3)
    assert_allclose(run.u[moves, 0], 3.0 * a[moves] + 0.3 * 2.0 * G, atol=1e-6)
    free = sr.simulate(system, [0.0, 0.0], duration=0.01, control=along_x(system), switching=False)
    s = free.t / 0.1
    assert_allclose(free.u[:, 0], 6.0 * (60.0 * s - 180.0 * s**2 + 120.0 * s**3), atol=1e-9)


def test_a_transmission_with_losses() -> None:
    """A worm drives a wheel: the friction of its flanks is overcome in either direction, and holds at rest."""
    made = sr.Mechanism("worm", gravity=(0, 0, 0))
    for body in ("worm", "wheel"):
        made.add_body(body, 1.0, inertia=(0.01,) * 3)
        made.add_joint(body, "revolute", "world", body, axis=(1, 0, 0))
    made.add_gearing("mesh", {"worm": 0.002, "wheel": -0.05}, {"worm": 0.01}, friction_coefficient=0.15)
    made.add_actuator("motor", "worm")
    system = sr.System(made)
    for v in (0.0, 2.0, -2.0):
        rates = np.array([v, 0.04 * v])
        for a in (-3.0, 5.0):
            found = accelerating(system, ["worm"], np.array([a])).solve([0.0, 0.0], rates, throw=False)
            own = system.forward_dynamics([0.0, 0.0], rates, found.u).a
            assert found.success, (v, a, found.message)
            assert own == pytest.approx([a, 0.04 * a], abs=1e-9)


# --- scenes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [chain, gantry, hoist, slider_crank])
def test_random_scenes(make: Callable[..., tuple[sr.System, Array, Array, list[str]]]) -> None:
    """What is OK, forward dynamics confirms to 1e-9; what is not, names a contact, stop or rope. Most are OK."""
    served, count = 0, 16
    for seed in range(count):
        r = np.random.default_rng([seed, 88])
        system, q, v, names = make(r)
        a = r.normal(size=len(names)) * r.choice([0.0, 1.0, 5.0])
        found = accelerating(system, names, a).solve(q, v, throw=False)
        own = np.array(system.forward_dynamics(q, v, found.u).a)[
            [system.velocity_names.index(n) for n in names]
        ]
        if found.success:
            served += 1
            assert_allclose(own, a, atol=1e-9 * (1.0 + np.abs(a).max()), err_msg=f"seed {seed}")
            if len(names) == system.nv:  # inverse dynamics has the same controls
                assert_allclose(found.u, system.inverse_dynamics(q, v, a).u, rtol=1e-4, atol=1e-4)
        else:
            assert found.conflict, (seed, found.message)
            assert np.abs(own - a).max() > 1e-6, seed
            if len(names) == system.nv:
                assert not system.inverse_dynamics(q, v, a, throw=False).status.ok, seed
    assert served >= {"chain": 6, "gantry": 8, "hoist": 14, "slider_crank": 8}[make.__name__]


@pytest.mark.parametrize("seed", range(6))
def test_closed_loops_in_runs(seed: int) -> None:
    """A crank drives its slider against friction, and in some into a stop: runs end, with the controls of calls."""
    r = np.random.default_rng([seed, 101])
    system, q, _, names = slider_crank(r)
    target = float(q[0] + r.uniform(-1.0, 1.0))
    path = references.minimum_jerk([q[0]], [target], duration=0.4)
    laws = (
        lambda: control.TaskHierarchy(system, [control.Task(names, path, 100.0, 20.0, name="crank")]),
        lambda: control.ComputedTorque(system, names, path),
        lambda: control.Regulator(system, names, [target], stiffness=60.0, damping=10.0),
    )
    law = laws[seed % 3]()
    run = sr.simulate(system, q, duration=0.5, control=law)
    assert run.status.ok
    assert len(run.switches) < 20
    times = np.array([switch.time for switch in run.switches])
    for k in range(0, len(run.t), 3):
        slow = np.abs(run.v[k]).max() < 1e-6
        if slow or (times.size and np.abs(times - run.t[k]).min() < 1e-6):
            continue
        u = law.solve(run.q[k], run.v[k], float(run.t[k]), throw=False).u
        assert_allclose(u, run.u[k], rtol=1e-6, atol=1e-6)
        own = system.forward_dynamics(run.q[k], run.v[k], run.u[k]).a
        assert_allclose(own, run.a[k], atol=1e-7 * (1.0 + np.abs(own).max()))


# --- a robot on feet --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quadruped() -> sr.System:
    return quadruped_on_legs()


@pytest.mark.parametrize("a", [(0.0, 0.0, 0.0), (1.0, 0.0, 2.0), (-2.0, 0.0, -1.0), (0.5, 0.0, -11.0)])
def test_a_robot_on_its_feet(quadruped: sr.System, a: tuple[float, ...]) -> None:
    """Its centre of mass accelerates as demanded by what sticks; a demand beyond gravity lifts it from the ground."""
    q, v = quadruped.neutral(), np.zeros(quadruped.nv)
    q[2] = 0.5
    mass = control.Task(
        control.centre_of_mass(), lambda t: [0.5 * x * t * t for x in a], 0.0, 0.0, name="com"
    )
    found = control.TaskHierarchy(quadruped, [mass]).solve(q, v, throw=False)
    forces = quadruped.forward_dynamics(q, v, found.u).contacts
    total = sum(forces[f"foot{k}"] for k in range(4))
    if a[2] > -G:
        assert found.success, found.message
        assert total == pytest.approx(7.0 * np.array([a[2] + G, a[0], a[1]]), abs=1e-8)
        assert all(found.modes[f"foot{k}"] is Mode.STICKING for k in range(4))
    else:
        assert not found.success
        assert found.conflict


def test_a_robot_stands_up(quadruped: sr.System) -> None:
    """In a run by events its feet stick, and the law has the modes of the run."""
    q = quadruped.neutral()
    q[2] = 0.5
    height = control.Task(control.centre_of_mass(), [0.0, 0.0, 0.47], 100.0, 20.0, name="com")
    level = control.Task(control.orientation("trunk"), [0.0, 0.0, 0.0], 100.0, 20.0, name="trunk")
    run = sr.simulate(quadruped, q, duration=0.4, control=control.TaskHierarchy(quadruped, [height, level]))
    mass = 7.0
    start = (5.0 * 0.5 + 4 * 0.2 * 0.5 + 4 * 0.3 * 0.5) / mass
    free = 0.47 + (start - 0.47) * (1.0 + 10.0 * run.t) * np.exp(-10.0 * run.t)
    found = [quadruped.centroidal(*state).centre[2] for state in zip(run.q, run.v)]
    assert_allclose(found, free, atol=1e-8)
    assert np.abs(run.contact_forces[:, 1:12:3]).max() < 0.6 * run.contact_forces[:, 0:12:3].min()


def test_a_law_with_contacts_of_its_own() -> None:
    """Forces of contacts that are constraints and friction of the legs are unknowns of one law."""
    made = sr.Mechanism("hopper")
    made.add_body("trunk", 5.0, inertia=(0.2,) * 3)
    made.add_body("leg", 1.0, inertia=(0.1,) * 3)
    made.add_joint("height", "prismatic", "world", "trunk", axis=(0, 0, 1))
    made.add_joint("leg", "prismatic", "trunk", "leg", axis=(0, 0, 1), friction=4.0)
    made.add_contact("foot", "leg", (0, 0, -0.5), friction="frictionless", active=True)
    made.add_actuator("push", "leg")
    system = sr.System(made)
    jump = control.LeggedController(
        system, [control.Task(["height"], lambda t: 0.5 * t * t, 0.0, 0.0, name="up")], soft_share=1.0
    )
    found = jump.solve([0.5, 0.0], [0.0, 0.0])
    assert found.u[0] == pytest.approx(-(5.0 * (G + 1.0) + 4.0))  # the leg gets longer against its friction
    assert found.contact_forces["foot"][0] == pytest.approx(6.0 * G + 5.0)
    assert system.forward_dynamics([0.5, 0.0], [0.0, 0.0], found.u).a == pytest.approx([1.0, -1.0])


def test_controllability_of_what_is_held(quadruped: sr.System, pendulum: sr.System, block: sr.System) -> None:
    """A robot on its feet: six motions of the trunk less what feet that stick leave; sliding, held, left out."""
    q = quadruped.neutral()
    q[2] = 0.5
    free = control.controllability(quadruped, q, contacts=False)
    assert (free.dof, free.rank) == (14, 8)
    tie = control.controllability(pendulum, [np.pi / 2.0 - 1.0])
    assert tie.dof == 1  # it falls
    assert control.controllability(pendulum, [-1.0]).dof == 0  # on its stop
    at_rest = control.controllability(block, [0.0, 0.0])
    assert (at_rest.dof, at_rest.controllable) == (0, True)
    slides = control.controllability(block, [0.0, 0.0], [1.0, 0.0])
    assert (slides.dof, slides.rank, slides.controllable) == (1, 1, True)
