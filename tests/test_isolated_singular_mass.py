"""M that is singular at single configurations: three hinges with massless bodies between them, at gimbal lock."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sarrus as sr
from c_code import Compiled

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
LOCK = {"zyz": 0.0, "xyz": np.pi / 2}
INERTIA, COM = np.diag([0.02, 0.03, 0.04]), (0.1, 0.05, 0.3)
DISTANCES = [0.0, 1e-12, 1e-8, 1e-4]


def ball(axes: str, *, geared: bool = False, bar: bool = False, com: tuple[float, ...] = COM) -> sr.System:
    """A heavy body on three hinges, as exported drawings write a ball joint; the first and the last may be geared.

    ``bar``: it hangs on one more body with a hinge.
    """
    mechanism = sr.Mechanism("ball")
    parent, place = "world", None
    if bar:
        mechanism.add_body("bar", 1.0, com=(0.2, 0, 0), inertia=(1e-3, 2e-2, 2e-2))
        mechanism.add_joint("root", "revolute", "world", "bar", axis=AXES["y"])
        parent, place = "bar", (0.4, 0.0, 0.0)
    for k, axis in enumerate(axes):
        name = f"link{k}" if k < 2 else "end"
        if k < 2:
            mechanism.add_body(name)
        else:
            mechanism.add_body(name, 1.5, com=com, inertia=INERTIA)
        mechanism.add_joint(f"h{k + 1}", "revolute", parent, name, axis=AXES[axis], parent_pose=place)
        parent, place = name, None
    if geared:
        mechanism.add_coupling("gear", {"h1": 1.0, "h3": -1.0})
    return sr.System(mechanism)


def at_lock(system: sr.System, axes: str, distance: float) -> np.ndarray:
    q = np.zeros(system.nq)
    q[system.nq - 2] = LOCK[axes] + distance
    return q


CALLS: dict[str, Callable[[sr.System, np.ndarray, np.ndarray], object]] = {
    "assemble": lambda s, q, v: s.assemble(q),
    "forward_dynamics": lambda s, q, v: s.forward_dynamics(q, v),
    "inverse_dynamics": lambda s, q, v: s.inverse_dynamics(q, v, v, throw=False),
    "project_velocity": lambda s, q, v: s.project_velocity(q, v + 1.0),
    "mobility": lambda s, q, v: sr.mobility(s, q),
    "equilibrium": lambda s, q, v: sr.equilibrium(s, q),
    "linearize": lambda s, q, v: sr.linearize(s, q),
    "linearize_at": lambda s, q, v: sr.linearize_at(s, q, v),
    "simulate": lambda s, q, v: sr.simulate(s, q, v, duration=0.01),
    "fixed steps": lambda s, q, v: sr.simulate(s, q, v, duration=0.01, dt=1e-3),
    "implicit": lambda s, q, v: sr.simulate(s, q, v, duration=0.01, method="rodas5p"),
    "rollout": lambda s, q, v: sr.rollout(s, q[None], v[None], duration=0.01, dt=1e-3),
}


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("geared", [False, True])
@pytest.mark.parametrize("axes", LOCK)
def test_every_call_answers_or_says_what_is_wrong(axes: str, geared: bool, distance: float) -> None:
    system = ball(axes, geared=geared)
    q, still = at_lock(system, axes, distance), np.zeros(3)
    said = []
    for call in CALLS.values():
        try:
            call(system, q, still)
        except sr.SarrusError as error:  # and no other, `numpy.linalg.LinAlgError` above all
            said.append(str(error))
    assert all("h1" in text or "equilibrium" in text for text in said)


@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-8])
@pytest.mark.parametrize("axes", LOCK)
def test_a_direction_without_inertia_is_named(axes: str, distance: float) -> None:
    system = ball(axes)
    q, still = at_lock(system, axes, distance), np.zeros(3)
    with pytest.raises(sr.SolveError, match="nothing resists a motion of 'h1', 'h3'"):
        system.forward_dynamics(q, still)
    assert system.forward_dynamics(q, still, throw=False).status is sr.Status.ILL_POSED
    with pytest.raises(sr.SimulationError, match="'h1', 'h3'"):
        sr.simulate(system, q, still, duration=0.1)
    assert sr.rollout(system, q[None], still[None], duration=0.01, dt=1e-3).status[0] == sr.Status.ILL_POSED


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("bar", [False, True])
@pytest.mark.parametrize("axes", LOCK)
def test_a_gear_makes_it_well_posed(axes: str, bar: bool, distance: float) -> None:
    """Against M a + h = Aᵀλ, A a = 0 in the two or three coordinates that the gear leaves, in plain NumPy."""
    system = ball(axes, geared=True, bar=bar)
    rng = np.random.default_rng(1)
    q = at_lock(system, axes, distance)
    v = system.project_velocity(q, rng.standard_normal(system.nv))
    found = system.forward_dynamics(q, v)
    motions = np.zeros((system.nv, system.nv - 1))
    motions[: system.nv - 3, : system.nv - 3] = np.eye(system.nv - 3)
    motions[-3, -2] = motions[-1, -2] = motions[-2, -1] = 1.0
    mass, bias = system.mass_matrix(q), system.bias_force(q, v)
    truth = motions @ np.linalg.solve(motions.T @ mass @ motions, -motions.T @ bias)
    assert found.status is sr.Status.OK
    np.testing.assert_allclose(found.a, truth, rtol=1e-9, atol=1e-9)
    balance = mass @ found.a + bias - found.constraint_force
    np.testing.assert_allclose(balance, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"dt": 1e-3}, {"method": "rodas5p"}], ids=["adaptive", "fixed", "implicit"]
)
def test_motion_through_the_lock_keeps_its_energy(options: dict[str, object]) -> None:
    system = ball("zyz", geared=True)
    q = np.array([0.2, 0.3, 0.2])
    motion = sr.simulate(system, q, np.array([0.0, -3.0, 0.0]), duration=0.5, **options)
    assert motion.status is sr.Status.OK
    assert motion.q[:, 1].min() < 0.0 < motion.q[:, 1].max()
    assert np.ptp(motion.energy) < 1e-6


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}], ids=["adaptive", "fixed"])
@pytest.mark.parametrize("missed", [0.3, 1e-2, 1e-4])
def test_passing_close_by_is_the_motion_of_a_ball_joint_or_said_not_to_be(
    missed: float, options: dict[str, float]
) -> None:
    """The hinges with massless bodies are a ball joint; near the lock they turn by half a turn in no time."""
    hinges = ball("zyz")
    q, v = np.array([0.2, 0.5, 0.3]), np.array([missed, -3.0, -missed])
    mechanism = sr.Mechanism("joint")
    mechanism.add_body("end", 1.5, com=COM, inertia=INERTIA)
    mechanism.add_joint("ball", "spherical", "world", "end")
    joint = sr.System(mechanism)

    def turn(axis: str, angle: float) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return {
            "y": np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
            "z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
        }[axis]

    half = 0.5 * np.array([q[0] + q[2], q[0] - q[2]])
    w, z = np.cos(q[1] / 2) * np.cos(half[0]), np.cos(q[1] / 2) * np.sin(half[0])
    x, y = -np.sin(q[1] / 2) * np.sin(half[1]), np.sin(q[1] / 2) * np.cos(half[1])
    inner = turn("y", q[1]) @ turn("z", q[2])
    spin = inner.T @ AXES["z"] * v[0] + turn("z", q[2]).T @ AXES["y"] * v[1] + np.array(AXES["z"]) * v[2]
    np.testing.assert_allclose(
        joint.body_placements([w, x, y, z])[1][-1], turn("z", q[0]) @ inner, atol=1e-12
    )
    truth = sr.simulate(joint, [w, x, y, z], spin, duration=0.4)
    with np.errstate(all="ignore"):
        motion = sr.simulate(hinges, q, v, duration=0.4, throw=False, **options)
    if motion.status is sr.Status.OK:
        where = [s.body_placements(m.q[-1])[1][-1] for s, m in ((hinges, motion), (joint, truth))]
        allowed = 10 * (motion.error[-1] + truth.error[-1])  # estimates, believed to a digit
        np.testing.assert_allclose(*where, rtol=0, atol=allowed)


def test_the_null_space_is_used_from_the_point_where_a_run_needs_it() -> None:
    """Own equations do not say beforehand that M = diag(1, sin² q) is singular at q = 0; the row holds what is lost."""
    system = sr.System.from_lagrangian(
        2,
        lambda q, v, t: 0.5 * v[0] ** 2 + 0.5 * (q[0] * v[1]) ** 2 - 9.81 * q[0],
        velocity=lambda q, v, t: [v[1]],
    )
    found = system.forward_dynamics([0.0, 0.3], [0.1, 0.0])
    np.testing.assert_allclose(found.a, [-9.81, 0.0], atol=1e-12)
    motion = sr.simulate(system, [1.0, 0.0], [0.0, 0.0], duration=1.0, dt=1e-3)
    assert motion.status is sr.Status.OK
    assert motion.q[-1, 0] == pytest.approx(1.0 - 9.81 / 2.0, abs=1e-9)


def test_an_impact_at_the_lock() -> None:
    system = ball("zyz", geared=True)
    found = sr.impact(system, np.zeros(3), np.array([1.0, 2.0, -3.0]))
    np.testing.assert_allclose(found.v[0], found.v[2], atol=1e-12)


def test_exported_c_at_the_lock(tmp_path) -> None:
    """As in Python, whether the lock was met before the export or after: the massless links say it may be."""
    system, q, v = ball("zyz", geared=True), np.zeros(3), np.array([0.4, -1.0, 0.4])
    compiled = Compiled(sr.export.c_code(system, tmp_path, q=np.array([0.1, 0.4, 0.1])), system)
    for place in (q, np.array([0.3, 0.7, 0.3])):
        found = compiled.forward_dynamics(place, v)
        assert found.status is sr.Status.OK
        np.testing.assert_allclose(found.a, system.forward_dynamics(place, v).a, rtol=1e-12)
