"""Laws that are sampled inside the compiled loop: held controls, delay, noise, memory."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError

NAMES = ["platform.x", "platform.y", "platform.angle"]


def platform(example) -> tuple[sr.System, Array]:
    module = example("three_leg_platform")
    system = sr.System(module.build())
    return system, module.pose(system, 0.05, -0.03, 0.2)


def swing(t):
    return ca.vertcat(0.02 * ca.sin(3 * t), 0.03 * ca.cos(2 * t), 0.1 * ca.sin(t))


@pytest.mark.parametrize("options", [{"dt": 1e-3}, {"dt": 3e-3}, {"rtol": 1e-9, "atol": 1e-11}])
def test_samples_in_the_loop_are_those_from_python(example, options) -> None:
    """With a period of 4 ms; steps of 3 ms are cut at the samples, as they are from Python."""
    system, q = platform(example)
    law = control.ProjectedInverseDynamics(system, NAMES, swing)
    inside = sr.simulate(system, q, duration=0.2, control=law, sample_time=4e-3, **options)
    outside = sr.simulate(
        system, q, duration=0.2, control=lambda q, v, t: law(q, v, t), sample_time=4e-3, **options
    )
    assert_allclose(inside.q[-1], outside.q[-1], atol=1e-10)
    assert_allclose(inside.v[-1], outside.v[-1], atol=1e-8)


def test_controls_are_held(example) -> None:
    system, q = platform(example)
    law = control.ProjectedInverseDynamics(system, NAMES, swing)
    motion = sr.simulate(system, q, duration=0.1, dt=1e-3, control=law, sample_time=1e-2)
    steps = np.abs(np.diff(motion.u, axis=0)).max(axis=1)
    changed = np.flatnonzero(steps > 0.0) + 1
    assert set(changed) == set(range(10, 100, 10))
    at = motion.t[20]
    assert_allclose(motion.u[20], law(motion.q[20], motion.v[20], at), rtol=1e-9)


def test_delay_shifts_what_reaches_the_actuators(example) -> None:
    system, q = platform(example)
    law = control.Regulator(system, NAMES, [0.0, 0.0, 0.0], stiffness=100.0, damping=2.0)
    late = sr.simulate(
        system, q, duration=0.05, dt=1e-3, control=law, sample_time=control.Sampling(1e-3, delay=3)
    )
    assert np.all(late.u[:3] == 0.0)
    for k in (3, 10, 40):
        seen = law(late.q[k - 3], late.v[k - 3], late.t[k - 3])
        assert_allclose(late.u[k], seen, rtol=1e-8)


def test_noise_is_what_the_law_sees(example) -> None:
    """The same seed, the same run; the controls scatter by the law's gains times the noise."""
    system, q = platform(example)
    law = control.Regulator(system, NAMES, q[6:], stiffness=0.0, damping=1.0)
    noisy = control.Sampling(1e-3, velocity_noise=0.01, seed=4)
    runs = [
        sr.simulate(system, q, duration=0.3, dt=1e-3, control=law, sample_time=s)
        for s in (noisy, noisy, control.Sampling(1e-3, velocity_noise=0.01, seed=5), 1e-3)
    ]
    assert np.array_equal(runs[0].u, runs[1].u)
    assert not np.allclose(runs[0].u, runs[2].u)
    clean = np.array([law(a, b, t) for a, b, t in zip(runs[0].q, runs[0].v, runs[0].t)])
    e = 0.01 * np.eye(system.nv)
    spread = np.array([law(q, column) - law(q, np.zeros(system.nv)) for column in e])
    expected = np.sqrt((spread**2).sum(axis=0))
    found = (runs[0].u - clean)[1:-1]
    # A deviation of n samples of a normal variable scatters by 1 / √(2 n) of itself.
    assert_allclose(found.std(axis=0), expected, rtol=3.0 / np.sqrt(2 * len(found)))
    quiet = np.array([law(a, b, t) for a, b, t in zip(runs[3].q, runs[3].v, runs[3].t)])
    assert_allclose(runs[3].u[:-1], quiet[:-1], atol=1e-9)


def test_position_noise_turns_a_floating_base(example) -> None:
    """Noise of q is along velocities: the quaternion of the trunk turns and keeps its length."""
    module = example("quadruped")
    system = sr.System(module.build())
    q = module.standing(system)
    trunk = next(iter(system.mechanism.bodies))
    law = control.TaskHierarchy(
        system, [control.Task(control.orientation(trunk), [0.0, 0.0, 0.0], 50.0, 5.0)]
    )
    deviation = np.zeros(system.nv)
    deviation[3:6] = 1e-3
    sampling = control.Sampling(1e-4, position_noise=deviation, seed=1)
    motion = sr.simulate(system, q, duration=0.02, dt=1e-4, control=law, sample_time=sampling)
    clean = np.array([law(a, b, t) for a, b, t in zip(motion.q, motion.v, motion.t)])
    still = np.zeros(system.nv)
    measured = [law.solve(system.move(q, 1e-3 * e), still, throw=False).u for e in np.eye(system.nv)[3:6]]
    turns = [u - law(q, still) for u in measured]  # feet are beside their places there
    expected = np.sqrt((np.array(turns) ** 2).sum(axis=0))
    found = (motion.u - clean)[1:-1]
    busy = expected > 0.1 * expected.max()
    assert_allclose(found.std(axis=0)[busy], expected[busy], rtol=3.0 / np.sqrt(2 * len(found)))


def test_memory_goes_on_in_the_loop(example) -> None:
    """Integral force control of a plant that is heavier than the model, through `sr.simulate`."""
    module = example("two_arms")
    model = sr.System(module.build())
    heavy = module.build()
    heavy.add_body("load", 0.5, inertia=(0.01, 0.01, 0.01))
    heavy.add_joint("weld", "fixed", "link3", "load", parent_pose=(0.5, 0, 0))
    plant = sr.System(heavy)
    rows = ["base2.p1", "base2.p2"]
    q, _, _ = module.lift(0.6)
    law = control.HybridMotionForce(
        model, ["joint1", "joint2", "joint3"], q[:3], {rows[0]: 10.0, rows[1]: 2.0}, stiffness=400.0, damping=40.0,
        proportional=0.2, integral=30.0,
    )  # fmt: skip
    with pytest.raises(ArgumentError, match="needs samples"):
        sr.simulate(plant, q, duration=0.1, control=law)
    columns = [plant.constraint_names.index(name) for name in rows]
    motion = sr.simulate(plant, q, duration=0.5, dt=1e-3, control=law, sample_time=1e-3)
    error = np.abs(motion.multipliers[:, columns] - [10.0, 2.0]).max(axis=1)
    assert error[1] > 0.1
    assert error[-2] < 1e-3
    again = sr.simulate(plant, q, duration=0.5, dt=1e-3, control=law, sample_time=1e-3)
    assert_allclose(again.u, motion.u, rtol=1e-12)


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        ({"delay": -1}, "delay"),
        ({"delay": 1.5}, "delay"),
        ({"velocity_noise": -1.0}, "velocity_noise"),
        ({"position_noise": [1.0, 2.0]}, "position_noise"),
    ],
)
def test_wrong_sampling_is_named(example, sampling, message: str) -> None:
    system, q = platform(example)
    law = control.Regulator(system, NAMES, q[6:], stiffness=1.0, damping=1.0)
    with pytest.raises(ArgumentError, match=message):
        sr.simulate(system, q, duration=0.1, control=law, sample_time=control.Sampling(1e-3, **sampling))


def test_sampling_is_for_laws(example) -> None:
    system, q = platform(example)
    with pytest.raises(ArgumentError, match="sample_time as a number"):
        sr.simulate(
            system, q, duration=0.1, control=lambda q, v, t: np.zeros(3), sample_time=control.Sampling(1e-3)
        )
