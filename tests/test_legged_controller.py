"""`LeggedController`: contacts that come and go, forces as tasks, warm starts, conflicts, simulations, errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from legged_robots import LEGS, box, hopping, kept, moving, place, quadruped
from sarrus import control, optimize
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.codegen import cache_info
from sarrus.dynamics.impacts import activity

G, MU = 9.81, 0.6


@cache
def standing() -> tuple[sr.System, Array]:
    return quadruped(MU)


def stay(system: sr.System, q: Array) -> list[Any]:
    """Return tasks that keep feet and trunk where they are, whichever feet stand."""
    contacts = system.mechanism.contacts
    feet = [control.point(contacts[leg].body, contacts[leg].point) for leg in LEGS]
    centre = place(system, control.centre_of_mass(), q)
    return [
        [control.Task(foot, place(system, foot, q), 400, 40, name=leg) for leg, foot in zip(LEGS, feet)],
        [
            control.Task(control.orientation("trunk"), (0, 0, 0), 200, 25, name="upright"),
            control.Task(control.centre_of_mass("z"), centre[2], 200, 25, name="height"),
        ],
        control.Task(control.centre_of_mass("xy"), centre[:2], 25, 8, name="centre"),
    ]


# --- contacts that come and go ---------------------------------------------------------------------------------

SETS = [LEGS, ("FL", "RR"), ("FR", "RL"), *[tuple(leg for leg in LEGS if leg != gone) for gone in LEGS]]
PERIOD, LARGEST = 1e-3, 250.0


def stand_on(law: control.LeggedController, closed: tuple[str, ...]) -> None:
    """Tell a law which feet stand."""
    for leg in LEGS:
        law.settings[f"{leg}.closed"] = float(leg in closed)


def switched(
    law: control.LeggedController, q: Array, switches: int = 100, every: int = 30
) -> dict[str, Array]:
    """Sample a law at a standing state while its contacts open and close in random order.

    Nothing is compiled for that, and after a reset nothing of it is left.
    """
    rng, v = np.random.default_rng(0), np.zeros(law.system.nv)
    stand_on(law, LEGS)
    law.reset()
    first = law.sample(q, v, 0.0, PERIOD)
    law.reset()
    fetched = cache_info().hits, cache_info().misses
    told: dict[str, list[Any]] = {"u": [], "outcome": [], "forces": [], "closed": []}
    last = 0
    for k in range(switches * every):
        if k % every == every - 1:
            last = rng.choice([i for i in range(len(SETS)) if i != last])
            stand_on(law, SETS[last])
        told["u"].append(law.sample(q, v, k * PERIOD, PERIOD))
        told["outcome"].append(law.outcome)
        told["forces"].append(np.array([law.contact_forces[leg] for leg in LEGS]))
        told["closed"].append(law.closed)
    assert (cache_info().hits, cache_info().misses) == fetched
    stand_on(law, LEGS)
    law.reset()
    np.testing.assert_array_equal(law.sample(q, v, 0.0, PERIOD), first)
    return {name: np.array(value) for name, value in told.items()}


def largest_change(u: Array) -> float:
    return float(np.abs(np.diff(u, axis=0)).max())


@cache
def handing_over(**options: Any) -> tuple[control.LeggedController, Array]:
    """Return a law of the standing quadruped."""
    system, q = standing()
    return control.LeggedController(system, stay(system, q), largest_force=LARGEST, **options), q


@pytest.mark.parametrize("hand_over", [0.05, 0.1])
def test_contacts_that_switch_a_hundred_times(hand_over: float) -> None:
    """Forces change by what a foot may take over in a sample, controls by that times the length of the leg."""
    law, q = handing_over(hand_over=hand_over)
    told = switched(law, q)
    step = PERIOD / hand_over * LARGEST
    assert set(told["outcome"]) <= {"exact", "relaxed"}
    forces = told["forces"]
    assert (MU * forces[..., 0] - np.linalg.norm(forces[..., 1:], axis=-1)).min() > -1e-9
    assert np.abs(forces[~told["closed"]]).max() < 1e-9
    assert largest_change(forces) == pytest.approx(step, rel=1e-9)
    hip_to_foot = 0.42
    assert 0.1 * step < largest_change(told["u"]) < hip_to_foot * step


def test_contacts_that_switch_at_once_make_the_controls_jump_unless_their_rate_is_limited() -> None:
    law, q = handing_over()
    assert largest_change(switched(law, q)["u"]) > 10.0
    rate = 500.0
    for options in ({}, {"hand_over": 0.05}):
        limited, q = handing_over(largest_rate=rate, **options)
        told = switched(limited, q)
        change = np.abs(np.diff(told["u"], axis=0)).max(axis=1)
        kept = told["outcome"][1:] != "jumped"
        assert change[kept].max() < rate * PERIOD * (1.0 + 1e-9)
        assert kept.mean() > 0.95
        assert told["forces"][..., 0].max() < LARGEST * (1.0 + 1e-9)


def test_feet_that_are_relieved_while_the_robot_moves() -> None:
    """The law drives the motion: the trunk sways while feet give up their force in turn, and no control jumps."""
    law, q = handing_over(hand_over=0.05)
    system, period, controls, forces = law.system, 2e-3, [], []
    stand_on(law, LEGS)
    law.reset()

    def drive(q: Array, v: Array, t: float) -> Array:
        relieved = LEGS[int(t / 0.15) % 4]
        law.settings["centre.reference[0]"] = -0.0118 + 0.01 * np.sin(4.0 * t)
        # the centre of mass keeps away from the foot that is relieved
        law.settings["centre.reference[1]"] = 0.02 * np.sin(2.0 * t)
        stand_on(law, tuple(leg for leg in LEGS if leg != relieved))
        controls.append(law.sample(q, v, t, period))
        forces.append(np.concatenate(list(law.contact_forces.values())))
        return controls[-1]

    with kept(system):
        activity.switch_on(system, LEGS, q)
        run = sr.simulate(
            system,
            q,
            np.zeros(system.nv),
            duration=0.6,
            dt=period,
            control=drive,
            sample_time=period,
            switching=False,
        )
        # all contacts hold in the plant, and exert there what the law says
        mine = [system.forward_dynamics(*state).multipliers for state in zip(run.q, run.v, controls)]
    # but for what it asks of feet to come back by micrometres that they have drifted
    assert_allclose(mine, forces[: len(mine)], rtol=0, atol=0.01)
    law.settings["centre.reference[0]"], law.settings["centre.reference[1]"] = place(
        system, control.centre_of_mass("xy"), q
    )
    assert run.status.ok
    assert np.abs(run.q[:, 2] - q[2]).max() < 0.01
    step = period / 0.05 * LARGEST
    assert largest_change(np.array(controls)) < 0.42 * step


def test_a_contact_keeps_its_falling_share_unless_it_is_lost() -> None:
    law, q = handing_over(hand_over=0.05)
    v = np.zeros(law.system.nv)
    stand_on(law, LEGS)
    law.reset()
    assert [law.settings[f"{leg}.share"] for leg in LEGS] == [1.0] * 4
    law.settings["FL.closed"] = 0.0
    for k in range(20):
        law.sample(q, v, k * PERIOD, PERIOD)
        assert law.settings["FL.share"] == pytest.approx(1.0 - (k + 1) * PERIOD / 0.05)
        assert law.closed.all()
        assert law.contact_forces["FL"][0] <= (1.0 - k * PERIOD / 0.05) * LARGEST + 1e-9
    law.settings["release"] = 0.0
    law.sample(q, v, 0.02, PERIOD)
    assert list(law.closed) == [False, True, True, True]
    assert_allclose(law.contact_forces["FL"], 0.0, atol=1e-9)
    law.settings["release"] = 1.0
    law.reset()  # it is told to be open, and so it has no share
    assert [law.settings[f"{leg}.share"] for leg in LEGS] == [0.0, 1.0, 1.0, 1.0]
    assert [law.settings[f"{leg}.closed"] for leg in LEGS] == [0.0, 1.0, 1.0, 1.0]


# --- memory, settings, parameters --------------------------------------------------------------------------------


@pytest.mark.parametrize(("relaxation", "digits_relaxed"), [(1e6, 1e-8), (None, 2e-9)])
@pytest.mark.parametrize("friction", ["cone", "pyramid"])
def test_a_warm_start_finds_the_same(friction: str, relaxation: float | None, digits_relaxed: float) -> None:
    """Along a path with active cones, relaxed tasks and changing feet, as a law that has seen nothing."""
    system, stand = standing()
    few = dict.fromkeys(LEGS, 0.12)
    warm, fresh = (
        control.LeggedController(
            system, stay(system, stand), friction=friction, coefficients=few, relaxation=relaxation
        )
        for _ in range(2)
    )
    outcomes = []
    (one, v), (other, _) = moving(system, stand, 3, 0.03), moving(system, stand, 4, 0.03)
    for k, part in enumerate(np.linspace(0.0, 1.0, 120)):
        q = (1.0 - part) * one + part * other
        for law in (warm, fresh):
            law.settings["FL.closed"] = float(k % 40 < 30)
        fresh.reset()
        u = warm.sample(q, part * v, 0.0, PERIOD)
        # ρ = 1e6 takes six of the digits that a relaxed program has; level after level the squares of what is missed do
        digits = 1e-11 if warm.outcome == "exact" else digits_relaxed
        assert_allclose(u, fresh(q, part * v), rtol=0.0, atol=digits * np.abs(u).max())
        assert warm.outcome == fresh.outcome
        outcomes.append(warm.outcome)
    assert set(outcomes) == {"exact", "relaxed"}


def test_settings_and_parameters_take_part_at_once() -> None:
    """A law whose settings and masses were changed is as one that was made with them."""

    def made(load: float, height: float) -> tuple[control.LeggedController, Array]:
        mechanism = sr.load("models/quadruped.xml")
        for leg in LEGS:
            mechanism.add_contact(leg, geom=leg, friction_coefficient=MU)
        system = sr.System(mechanism, parameters={"load": "trunk.mass"})
        system.parameters["load"] = load
        task = control.Task(control.centre_of_mass("z"), height, 100, 20, name="height")
        return control.LeggedController(system, [task]), np.array(mechanism.keyframes["stand"].q)

    law, q = made(12.0, 0.40)
    v = np.zeros(law.system.nv)
    before = law(q, v)
    law.settings["height.reference"] = 0.42
    law.system.parameters["load"] = 20.0
    changed = law.solve(q, v)
    other, _ = made(20.0, 0.42)
    expected = other.solve(q, v)
    assert_allclose(changed.u, expected.u, atol=1e-9)
    assert np.abs(changed.u - before).max() > 1.0
    height = place(law.system, control.centre_of_mass("z"), q)[0]
    load = sum(force[0] for force in changed.contact_forces.values())
    mass = 20.0 + sum(b.mass for b in law.system.mechanism.bodies.values() if b.name != "trunk")
    assert load == pytest.approx(mass * (G + 100 * (0.42 - height)), rel=1e-6)


# --- no forces inside all limits ------------------------------------------------------------------------------


def upside_down(**options: Any) -> tuple[control.LeggedController, Array]:
    """Return a law of a box that hangs from its feet."""
    system = box(np.pi)
    return control.LeggedController(system, [], **options), system.neutral()


def test_what_cannot_be_names_contacts_and_actuators() -> None:
    """Hanging, all feet would have to pull, for only the actuator along z is too weak; tipping, those uphill."""
    weak = np.array([50.0, 50.0, 19.0])
    law, q = upside_down(limits=(-weak, weak))
    with pytest.raises(SolveError, match="no forces lie inside all limits") as failure:
        law(q, np.zeros(6))
    text = str(failure.value)
    assert all(f"contact 'foot.{k}'" in text for k in (1, 2, 3, 4))
    assert "actuator 'z'" in text
    assert "actuator 'x'" not in text
    assert law.outcome == "infeasible"
    strong, q = upside_down(limits=(-19.7, 19.7))
    assert strong.solve(q, np.zeros(6)).u[2] == pytest.approx(-2.0 * G, rel=1e-6)


def test_a_law_that_holds_damps_the_joints() -> None:
    """Contacts that leave their plane would have to be pulled back: motors slow the box down within their limits."""
    system = box(0.2)
    q, leaving = system.neutral(), np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0])
    law = control.LeggedController(system, [], limits=(-1, 1), contact_damping=200.0, hold=True)
    # in free fall along the slope and to it: gravity is more than a newton stops
    assert_allclose(law.sample(q, leaving, 0.0, PERIOD), [-1.0, 0.0, 1.0], rtol=0.0, atol=1e-9)
    assert law.outcome == "damped"
    for speed, expected in ((-0.01, 0.4), (-1.0, 1.0)):  # 2 kg, 20/s
        aside = np.array([0.0, speed, 0.1, 0.0, 0.0, 0.0])
        assert_allclose(law.sample(q, aside, 0.0, PERIOD), [-1.0, expected, 1.0], rtol=0.0, atol=1e-9)
    told = law.solve(q, leaving, throw=False)
    assert told.status is Status.INFEASIBLE
    assert told.conflict[0].startswith("contact 'foot")
    assert "actuator 'z'" in told.conflict
    with pytest.raises(SolveError, match="damped joints, because of contact 'foot"):
        law.solve(q, leaving)
    assert law.solve(q, np.zeros(6)).outcome == "exact"
    law.reset()
    fails = control.LeggedController(system, [], limits=(-1, 1), contact_damping=200.0)
    with pytest.raises(SolveError, match="no forces lie inside all limits"):
        fails(q, leaving)


def test_a_rate_that_is_too_low_is_not_blamed_on_others() -> None:
    """Rows of the rate stand among the limits: a conflict still names contacts by their own rows."""
    system = box(0.0)
    q, leaving = system.neutral(), np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0])
    law = control.LeggedController(
        system, [], limits=([-1, -np.inf, -1], [np.inf, np.inf, 1]), contact_damping=200.0, largest_rate=1.0
    )
    law.sample(q, np.zeros(6), 0.0, PERIOD)
    with pytest.raises(SolveError) as failure:
        law.sample(q, leaving, PERIOD, PERIOD)
    named = str(failure.value).split("limits: ")[1]
    assert "contact 'foot.1'" in named
    assert "actuator 'z'" in named
    assert "actuator 'y'" not in named


@pytest.mark.parametrize("sample_time", [None, 1e-3])
def test_a_simulation_ends_where_a_law_has_no_answer(sample_time: float | None) -> None:
    """The text is that of the law."""
    law, q = upside_down(limits=(-1, 1))
    run = sr.simulate(
        law.system, q, duration=0.1, control=law, sample_time=sample_time, switching=False, throw=False
    )
    assert run.status is Status.CONTROL_FAILED
    assert "no forces lie inside all limits: contact 'foot" in run.message


def test_a_simulation_that_lands_on_its_feet() -> None:
    """The same law in the compiled loop, sampled: the hopper sinks to a lower stance and stays there."""
    system, q, _ = hopping()
    low = place(system, control.centre_of_mass("xz"), q) - np.array([0.0, 0.05])
    law = control.LeggedController(
        system,
        [
            control.Task("pitch", 0.0, 100, 20, name="upright"),
            control.Task(control.centre_of_mass("xz"), low, 100, 20, name="low"),
        ],
        contact_damping=20.0,
    )
    with kept(system):
        activity.switch_on(system, ("front", "rear"), q)
        run = sr.simulate(system, q, duration=1.5, control=law, sample_time=2e-3)
    assert run.status.ok
    assert_allclose(place(system, control.centre_of_mass("xz"), run.q[-1]), low, atol=1e-4)
    assert run.residual.max() < 1e-9


# --- errors ------------------------------------------------------------------------------------------------------


def _law(**options: Any) -> Callable[[], object]:
    return lambda: control.LeggedController(hopping()[0], hopping()[2], **options)


def _tasks(*tasks: Any) -> Callable[[], object]:
    return lambda: control.LeggedController(hopping()[0], tasks)


def _gait(**options: Any) -> Callable[[], object]:
    return _law(gait=control.Gait("trunk", **options))


def _without_contacts() -> object:
    system = sr.System(sr.load("models/quadruped.xml"))
    return control.LeggedController(system, [])


def _without_friction() -> object:
    system = box(friction_coefficient=None)
    return control.LeggedController(system, [])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (_without_contacts, "has no contacts; add them with Mechanism.add_contact or add_contact_patch"),
        (_without_friction, "contact 'foot.1' needs a positive friction_coefficient"),
        (_law(coefficients={"middle": 0.5}), "unknown contact 'middle'. Known: 'front', 'rear'"),
        (_law(coefficients={"front": 0.0}), "contact 'front' needs a positive friction_coefficient"),
        (_law(friction="coulomb"), "unknown friction 'coulomb'. Known: 'cone', 'pyramid', 'none'"),
        (_law(weights=[1, 1, 0, 1]), "weights must be 4 positive numbers, one per actuator"),
        (_law(weights=[1, 1]), "weights"),
        (_law(limits=(1.0, -1.0)), "limits must be numbers or 4 of them, lower < upper for every actuator"),
        (_law(limits=([1.0, 2.0], 3.0)), "limits must be numbers or 4 of them"),
        (_law(relaxation=0.0), "relaxation must be None, a positive number or 2 of them"),
        (_law(relaxation=[1.0, 1.0, 1.0]), "relaxation must be None, a positive number or 2 of them"),
        (_law(largest_force=0.0), "largest_force must be positive"),
        (_law(largest_rate=-1.0), "largest_rate must be at least 0"),
        (_law(hand_over=0.1), "needs a finite largest_force"),
        (_law(hand_over=-0.1, largest_force=9.0), "hand_over must be a time"),
        (_law(constraints=optimize.bounds(np.zeros(3))), "constraints must be over 10 unknowns"),
        (_gait(offsets={"front": 0.0}), "offsets must have the contacts front, rear, also 'rear'"),
        (_gait(offsets={"front": 0.0, "rear": 0.5, "tail": 0.0}), "not 'tail'"),
        (_tasks(control.SwingFeet()), "'swing feet' needs a gait; give gait="),
        (_tasks([]), "a level needs at least one task"),
        (_tasks("pitch"), "a task must be a Task, Bound, .* Height or Regulation, or a list of them"),
        (
            _tasks(*[control.Task("pitch", 0.0, name="same") for _ in range(2)]),
            "names of levels must differ, got .*'same', 'same'",
        ),
        (_tasks(control.Task("roll", 0.0)), "roll"),
        (_tasks(control.ContactForce("left", 1.0)), "left.*front"),
        (_tasks(control.ContactForce("front", 1.0, ("t3",))), "rows of contact 'front' must be some of n, t1, t2"),
        (_tasks(control.ContactForce("front", [1.0, 2.0])), "task1.value must be a finite number"),
    ],
)  # fmt: skip
def test_errors_name_what_is_wrong(make: Callable[[], object], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        make()
