"""Poisson's law of restitution in steps of time: closed forms, and the motion of runs by events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from several_contacts import cradle
from test_export_c_contacts import compiled, steps
from test_time_stepping import G, point

STEPS = {"method": "moreau-jean", "error_estimate": False}
FINE = {"rtol": 1e-11, "atol": 1e-12}
SHARES = [
    ((0.0, 1.0), (1 / 6, 1 / 6, 2 / 3)),
    ((0.5, 0.5), (0.0, 1 / 2, 1 / 2)),
    ((1.0, 1.0), (-1 / 3, 2 / 3, 2 / 3)),
    ((0.3, 0.8), (2 / 15, 4 / 15, 3 / 5)),
]


def stack(restitution: tuple[float, float], laws: tuple[str, str] = ("poisson", "poisson")) -> sr.System:
    """Balls of 1 and 2 kg above each other and a floor; at q = (0.1, 0) they lie on it."""
    mechanism = sr.Mechanism("stack")
    for k, (mass, height) in enumerate(((1.0, 0.0), (2.0, 0.3))):
        mechanism.add_body(f"b{k}", mass, inertia=(0.1,) * 3)
        mechanism.add_joint(
            f"b{k}", "prismatic", "world", f"b{k}", axis=(0, 0, 1), parent_pose=(0, 0, height)
        )
    places = ("floor", "world", 0.0), ("between", "b0", 0.1)
    for k, (name, ground, offset) in enumerate(places):
        mechanism.add_contact(
            name, f"b{k}", (0, 0, -0.1), ground=ground, offset=offset, friction="coulomb",
            friction_coefficient=0.2, restitution=restitution[k], impact_law=laws[k],
        )  # fmt: skip
    return sr.System(mechanism)


def rod(friction: float, restitution: tuple[float, float]) -> sr.System:
    """A rod of 1 m in a vertical plane whose ends may touch the floor."""
    mechanism = sr.Mechanism("rod")
    mechanism.add_body("rod", 1.0, inertia=(1 / 12,) * 3)
    mechanism.add_joint("free", "planar", "world", "rod", axis=(0, -1, 0), axis2=(1, 0, 0))
    for k, (name, x) in enumerate((("left", -0.5), ("right", 0.5))):
        mechanism.add_contact(
            name, "rod", (x, 0, 0), friction="coulomb", friction_coefficient=friction,
            restitution=restitution[k], impact_law="poisson",
        )  # fmt: skip
    return sr.System(mechanism)


def apart(system: sr.System, q: object, v: object, duration: float, lengths: np.ndarray) -> np.ndarray:
    """Return how far runs with these steps end from the run by events."""
    exact = sr.simulate(system, q, v, duration=duration, **FINE).q[-1]
    found = [sr.simulate(system, q, v, duration=duration, dt=dt, **STEPS).q[-1] for dt in lengths]
    return np.abs(np.array(found) - exact).max(axis=1)


@pytest.mark.parametrize(("restitution", "after"), SHARES)
def test_a_ball_hits_one_of_two_that_touch_within_a_step(
    restitution: tuple[float, float], after: tuple[float, ...]
) -> None:
    """Velocities, places and the energy lost are exact: the impact is at its instant, not at the end of a step."""
    system = cradle(restitution, "poisson")
    for gap, dt in ((0.0, 1e-3), (0.0315, 1e-2), (0.05, 3e-3)):
        run = sr.simulate(system, [-gap, 0, 0], [1.0, 0, 0], duration=0.09, dt=dt, **STEPS)
        assert_allclose(run.v[-1], after, rtol=0, atol=1e-13)
        moved = np.array([-gap, 0, 0]) + [gap, 0, 0] + np.array(after) * (0.09 - gap)
        assert_allclose(run.q[-1], moved, rtol=0, atol=1e-13)
        assert run.contact_loss[-1] == pytest.approx(0.5 - 0.5 * np.square(after).sum(), abs=1e-13)
        assert run.status.ok


@pytest.mark.parametrize("laws", [("newton", "poisson"), ("poisson", "newton"), ("newton", "newton")])
@pytest.mark.parametrize("restitution", [(0.4, 0.9), (1.0, 0.3), (0.0, 0.5)])
def test_both_laws_in_one_impact(laws: tuple[str, str], restitution: tuple[float, float]) -> None:
    """The velocity after a step without weight is the one after `sarrus.impact`."""
    system = stack(restitution, laws)
    mechanism = system.mechanism.snapshot()
    mechanism.gravity = np.zeros(3)
    light = sr.System(mechanism)
    for v in ([-1.0, -1.0], [0.0, -1.0], [-1.0, 0.5], [-0.3, -2.0]):
        hit = sr.impact(light, [0.1, 0.0], v)
        run = sr.simulate(light, [0.1, 0.0], v, duration=1e-4, dt=1e-4, **STEPS)
        assert_allclose(run.v[-1], hit.v, rtol=0, atol=1e-12)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_what_rests_on_a_contact_with_restitution_stays_at_rest(friction: float) -> None:
    """The weight is no impact, on one contact and on two above each other."""
    for system, q in (
        (point(friction, restitution=0.9, impact_law="poisson"), None),
        (stack((0.9, 0.9)), [0.1, 0]),
    ):
        start = system.neutral() if q is None else q
        run = sr.simulate(system, start, duration=1.0, dt=0.01, **STEPS)
        assert np.abs(run.v).max() < 1e-12
        assert np.abs(run.q - start).max() < 1e-12
    assert_allclose(run.contact_forces[-1, [0, 3]], [3 * G, 2 * G], rtol=1e-12)


def test_a_bouncing_ball_with_spin_has_order_two() -> None:
    """The approach counts up to the instant of the impact, and the weight from there on."""
    system = point(0.3, restitution=0.8, impact_law="poisson")
    q = system.neutral()
    q[2] = 1.0
    lengths = np.array([1 / 100, 1 / 200, 1 / 400, 1 / 800, 1 / 1600])
    errors = apart(system, q, [0.3, 0, 0, 0.1, 0.2, 0.3], 1.3, lengths)
    assert errors[-1] < 1e-6
    assert np.polyfit(np.log(lengths), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.2), errors


@pytest.mark.parametrize(
    ("restitution", "start"), [((0.0, 0.8), (0.6, 0.7)), ((0.8, 0.2), (0.1, 0.4)), ((0.5, 0.5), (0.3, 0.35))]
)
def test_a_stack_converges_to_its_motion_by_events(
    restitution: tuple[float, float], start: tuple[float, float]
) -> None:
    errors = apart(stack(restitution), start, [0.0, 0.0], 0.45, np.array([1 / 200, 1 / 12800]))
    assert errors[1] < max(errors[0] / 8, 1e-9), errors
    assert errors[1] < 1e-4


@pytest.mark.parametrize("restitution", [(0.5, 0.5), (0.2, 0.9), (0.0, 1.0)])
def test_a_rod_that_falls_with_friction_converges_to_its_motion_by_events(
    restitution: tuple[float, float],
) -> None:
    """Two contacts that slide, stick and turn round in impacts: order one."""
    lengths = np.array([1 / 100, 1 / 400, 1 / 1600, 1 / 6400])
    errors = apart(rod(0.3, restitution), [0, 0.8, 0.3], [1.0, 0, 0], 0.45, lengths)
    assert errors[-1] < 1e-4
    assert np.polyfit(np.log(lengths), np.log(errors), 1)[0] > 0.8, errors


@pytest.mark.parametrize("seed", range(8))
def test_equal_coefficients_create_no_energy(seed: int) -> None:
    rng = np.random.default_rng((95, seed))
    e = float(rng.uniform(0, 1))
    system = rod(float(rng.uniform(0, 1)), (e, e))
    start = [0, rng.uniform(0.5, 1.0), rng.uniform(-0.5, 0.5)]
    run = sr.simulate(system, start, rng.standard_normal(3), duration=1.0, dt=1e-3, **STEPS)
    assert run.status.ok
    assert np.diff(run.contact_loss).min() > -1e-5  # rounding of steps, 1e-6 J, not of impacts
    lost = run.energy[0] - run.energy[-1]
    assert run.contact_loss[-1] == pytest.approx(lost, abs=5e-2 * max(1.0, lost))


def test_many_runs_environments_and_c_step_as_a_run_does(tmp_path: Path) -> None:
    system, q = stack((0.3, 0.8)), np.array([0.4, 0.45])
    run = sr.simulate(system, q, duration=0.6, dt=2e-3, **STEPS)
    many = sr.rollout(system, np.array([q] * 3), np.zeros((3, 2)), duration=0.6, dt=2e-3)
    assert_allclose(many.final_q, [run.q[-1]] * 3, rtol=0, atol=0)
    states, speeds, forces = steps(compiled(system, tmp_path, "contact_step", q=q), q, np.zeros(2), 2e-3, 300)
    assert_allclose(states, run.q[1:], rtol=0, atol=1e-12)
    assert_allclose(speeds, run.v[1:], rtol=0, atol=1e-11)
    assert_allclose(forces, run.contact_forces[1:], rtol=1e-9, atol=1e-8)
    pytest.importorskip("gymnasium")
    system.mechanism.add_actuator("lift", "b1")
    made = sr.gym.make(sr.System(system.mechanism), q=q, sample_time=0.02, dt=2e-3)
    made.reset(seed=0)
    for _ in range(10):
        seen = made.step(np.zeros(made.action_space.shape))[0]
    at = run.q[100]
    assert any(np.allclose(seen[k : k + 2], at, rtol=0, atol=1e-6) for k in range(len(seen) - 1))


def test_what_steps_do_not_know_beside_poissons_law_is_named() -> None:
    system = stack((0.3, 0.8))
    mechanism = system.mechanism.snapshot()
    mechanism.add_body("held", 1.0, inertia=(0.1,) * 3)
    mechanism.add_joint("held", "prismatic", "world", "held", axis=(0, 0, 1))
    mechanism.add_contact("always", "held", friction="stick", active=True)
    with pytest.raises(
        sr.ArgumentError,
        match="impact_law='poisson', which time stepping does not know beside contact 'always'",
    ):
        sr.simulate(sr.System(mechanism), [0.1, 0.0, 0.0], duration=0.1, dt=1e-2, **STEPS)


def linkage(seed: int) -> tuple[sr.System, list[float], np.ndarray]:
    """Two hinged bars in a vertical plane with three contacts: on the floor their rows are dependent."""
    rng = np.random.default_rng((7, seed))
    laws = ["poisson"] * 8 if seed % 2 else list(rng.choice(["newton", "poisson"], 8))
    same = float(rng.uniform(0, 1))
    mechanism = sr.Mechanism(f"linkage {seed}")
    mechanism.add_body("a", 1.0, com=(0.05, 0, 0), inertia=(0.05,) * 3)
    mechanism.add_joint("float", "planar", "world", "a", axis=(0, -1, 0), axis2=(1, 0, 0))
    mechanism.add_body("b", float(rng.uniform(0.2, 2)), com=(0.2, 0, 0), inertia=(0.03,) * 3)
    mechanism.add_joint(
        "hinge",
        "revolute",
        "a",
        "b",
        axis=(0, -1, 0),
        parent_pose=(0.4, 0, 0),
        damping=0.05,
        limits=(-2.0, 2.0),
    )
    for k, (body, x) in enumerate((("a", -0.4), ("a", 0.4), ("b", 0.4))):
        friction = float(rng.uniform(0, 0.8))
        restitution = same if seed % 3 == 0 else float(rng.uniform(0, 1))
        mechanism.add_contact(
            f"c{k}", body, (x, 0, 0), friction="coulomb", friction_coefficient=friction, restitution=restitution,
            impact_law=str(laws[k]),
        )  # fmt: skip
    q = [0.0, rng.uniform(0.8, 1.0), rng.uniform(-0.6, 0.6), rng.uniform(-1, 1)]
    return sr.System(mechanism), q, rng.standard_normal(4)


@pytest.mark.parametrize(
    ("seed", "dt"), [(33, 4e-3), (72, 4e-3), (198, 4e-3), (275, 2.5e-4), (307, 2.5e-4), (368, 4e-3)]
)
def test_impacts_of_contacts_with_dependent_rows_have_an_answer(seed: int, dt: float) -> None:
    """Of 400 such linkages these were the hardest: two points of one bar slide, stick and turn round together."""
    system, q, v = linkage(seed)
    run = sr.simulate(system, q, v, duration=0.7, dt=dt, **STEPS)
    assert run.status.ok
    assert run.contact_residual < 1e-8
