"""Singular configurations approached at shrinking distances: answers stay finite and consistent."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr

DISTANCES = [1e-2, 1e-4, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 0.0]
G = 9.81


def rod_chain(name: str, rods: list[tuple[str, str, float, float]]) -> sr.Mechanism:
    """Return uniform rods of 1 kg/m in the x-y plane, gravity −y: (name, parent, x on the parent, length)."""
    mechanism = sr.Mechanism(name, gravity=(0, -G, 0))
    for rod, parent, x, length in rods:
        moment = length**3 / 12
        mechanism.add_body(rod, length, com=(length / 2, 0, 0), inertia=(0.0, moment, moment))
        mechanism.add_joint(rod, "revolute", parent, rod, parent_pose=(x, 0, 0))
    return mechanism


def pin(mechanism: sr.Mechanism, body1: str, x1: float, body2: str, x2: float) -> None:
    """Pin the points x1 of body 1 and x2 of body 2 together in the plane."""
    name = f"{body1}_{body2}"
    mechanism.add_closure(name, "point_on_line", body1, body2, pose1=(x1, 0, 0), pose2=(x2, 0, 0))


class Parallelogram:
    """Cranks of 1 m, 1.5 m apart; it flattens when the cranks lie on the ground line."""

    generic, at_singular = 2, 1
    tangent = np.array([1.0, -1.0, 1.0])

    @staticmethod
    def build() -> sr.Mechanism:
        mechanism = rod_chain(
            "parallelogram",
            [("left", "world", 0.0, 1.0), ("coupler", "left", 1.0, 1.5), ("right", "world", 1.5, 1.0)],
        )
        pin(mechanism, "coupler", 1.5, "right", 1.0)
        return mechanism

    @staticmethod
    def acceleration(angle: float, rate: float) -> float:
        inertia = 2 / 3 + 1.5
        return -G * np.cos(angle) * (1.0 + 1.5) / inertia

    def state(self, distance: float) -> tuple[np.ndarray, np.ndarray]:
        return distance * self.tangent, 3.0 * self.tangent


class RedundantParallelArm(Parallelogram):
    """The same with a third crank under the middle of the coupler: always one row too many."""

    generic, at_singular = 3, 2
    tangent = np.array([1.0, -1.0, 1.0, 1.0])

    @staticmethod
    def build() -> sr.Mechanism:
        mechanism = Parallelogram.build()
        mechanism.name = "redundant_parallel_arm"
        mechanism.add_body("middle", 1.0, com=(0.5, 0, 0), inertia=(0, 1 / 12, 1 / 12))
        mechanism.add_joint("middle", "revolute", "world", "middle", parent_pose=(0.75, 0, 0))
        pin(mechanism, "coupler", 0.75, "middle", 1.0)
        return mechanism

    @staticmethod
    def acceleration(angle: float, rate: float) -> float:
        return -G * np.cos(angle) * (1.5 + 1.5) / (1.0 + 1.5)


class EqualSliderCrank:
    """Point masses of 1 kg at the ends of links of 1 m; the rod folds over the crank at q₁ = π/2."""

    generic, at_singular = 1, 0
    tangent = np.array([1.0, -2.0])

    @staticmethod
    def build() -> sr.Mechanism:
        mechanism = sr.Mechanism("equal_slider_crank", gravity=(0, -G, 0))
        for name, parent, x in (("crank", "world", 0.0), ("rod", "crank", 1.0)):
            mechanism.add_body(name, 1.0, com=(1, 0, 0))
            mechanism.add_joint(name, "revolute", parent, name, parent_pose=(x, 0, 0))
        mechanism.add_closure("slider", "point_on_plane", "world", "rod", axis=(0, 1, 0), pose2=(1, 0, 0))
        return mechanism

    @staticmethod
    def acceleration(angle: float, rate: float) -> float:
        return (-G * np.cos(angle) - 2 * np.sin(2 * angle) * rate**2) / (3 - 2 * np.cos(2 * angle))

    def state(self, distance: float) -> tuple[np.ndarray, np.ndarray]:
        return np.array([np.pi / 2, -np.pi]) + distance * self.tangent, 3.0 * self.tangent


CASES = [Parallelogram(), RedundantParallelArm(), EqualSliderCrank()]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: type(case).__name__)
def case(request):
    return request.param, sr.System(request.param.build())


def check_consistent(system: sr.System, q: np.ndarray, v: np.ndarray, forward) -> None:
    """Check that a is finite, meets the constraint equations it was given and the equations of motion."""
    assert np.isfinite(forward.a).all()
    assert np.isfinite(forward.multipliers).all()
    mass, jacobian = system.mass_matrix(q), system.constraint_jacobian(q)
    size = 1.0 + np.abs(forward.constraint_force).max() + np.abs(system.bias_force(q, v)).max()
    balance = mass @ forward.a + system.bias_force(q, v) - forward.constraint_force
    assert np.abs(balance).max() < 1e-12 * size
    assert np.abs(jacobian.T @ forward.multipliers - forward.constraint_force).max() < 1e-7 * size
    if forward.status is sr.Status.OK:
        violation = jacobian @ forward.a + system.constraint_bias(q, v)
        assert np.abs(violation).max() < 1e-11 * (1.0 + np.abs(forward.a).max())


@pytest.mark.parametrize("distance", DISTANCES)
def test_forward_dynamics_near_a_singular_configuration(case, distance):
    model, system = case
    q, v = model.state(distance)
    forward = system.forward_dynamics(q, v)
    check_consistent(system, q, v, forward)
    if distance >= 1e-7:
        assert (forward.status, forward.rank) == (sr.Status.OK, model.generic)
        # Rounding ε of the configuration turns the constraint's normal by ε/σ and γ/σ amplifies that again.
        expected = model.acceleration(q[0], v[0])
        assert abs(forward.a[0] - expected) < 1e-10 + 1e-13 / distance**2
    elif distance <= 1e-11:
        assert (forward.status, forward.rank) == (sr.Status.SINGULAR, model.at_singular)
    else:
        assert forward.status in (sr.Status.OK, sr.Status.SINGULAR)
    if forward.status is sr.Status.SINGULAR:
        assert np.abs(forward.a).max() < 1e3
        assert forward.dof == system.nv - model.at_singular
        assert not forward.determined.all()


@pytest.mark.parametrize("distance", DISTANCES)
def test_motion_goes_on_along_its_branch(case, distance):
    model, system = case
    q, v = model.state(-distance)
    motion = sr.simulate(system, q, v, duration=0.2, dt=1e-3)
    # A start nearer to it than 1e-9 is moved along its branch by rounding of the loops over the distance; a neighbour
    # may then lie on the other branch.
    assert motion.status is sr.Status.OK or (motion.status is sr.Status.NOT_DETERMINED and distance < 1e-9)
    assert np.isfinite(motion.q).all()
    assert np.isfinite(motion.v).all()
    off_branch = motion.q - q - np.outer(motion.q[:, 0] - q[0], model.tangent)
    assert np.abs(off_branch).max() < 1e-7
    assert motion.residual.max() < 1e-13
    assert motion.energy_drift < 1e-5
    assert (np.diff(motion.q[:, 0]) > 0).all()


@pytest.mark.parametrize("distance", DISTANCES)
def test_velocities_are_projected_without_blowing_up(case, distance):
    model, system = case
    q, v = model.state(distance)
    rng = np.random.default_rng(7)
    for _ in range(5):
        guess = v + 0.1 * rng.standard_normal(system.nv)
        projected = system.project_velocity(q, guess)
        assert system.kinetic_energy(q, projected) <= system.kinetic_energy(q, guess) * (1 + 1e-12)
        slip = np.abs(system.constraint_jacobian(q) @ projected).max()
        assert slip < 1e-8 * min(1.0, 1e-2 + distance)
    assert np.abs(system.project_velocity(q, v) - v).max() < 1e-8


@pytest.mark.parametrize("distance", DISTANCES)
def test_assembly_closes_near_a_singular_configuration(case, distance):
    model, system = case
    q, _ = model.state(distance)
    rng = np.random.default_rng(3)
    result = system.assemble(q + 1e-3 * rng.standard_normal(system.nq))
    assert result.residual < 1e-12
    assert result.status in (sr.Status.OK, sr.Status.SINGULAR)
    assert np.abs(result.q - q).max() < 0.1


def test_assembly_says_that_the_configuration_is_singular(case):
    model, system = case
    q, _ = model.state(0.0)
    result = system.assemble(q)
    assert result.status is sr.Status.SINGULAR
    assert result.rank == model.at_singular
    assert result.residual < 1e-14


# --- a flattened four-bar that is no parallelogram ------------------------------------------------

GROUND, LEFT, COUPLER, RIGHT = 1.0, 0.5, 1.2, 0.7  # ground + right = left + coupler: it can lie flat
# Slopes of the coupler's absolute angle over the left crank's on the two branches that cross there:
# 0.5 + 1.2 β = 0.7 γ, 0.5 + 1.2 β² = 0.7 γ².
BRANCHES = [(-1.2 + root) / 1.2 for root in (np.sqrt(1.68), -np.sqrt(1.68))]


def direction(slope: float) -> np.ndarray:
    """Return the velocity of a branch in the flat pose with the left crank at 1 rad/s."""
    return np.array([1.0, slope - 1.0, (LEFT + COUPLER * slope) / RIGHT])


@pytest.fixture(scope="module")
def flattened():
    mechanism = rod_chain(
        "flattened_four_bar",
        [("left", "world", 0.0, LEFT), ("coupler", "left", LEFT, COUPLER), ("right", "world", GROUND, RIGHT)],
    )
    pin(mechanism, "coupler", COUPLER, "right", RIGHT)
    return sr.System(mechanism)


@pytest.mark.parametrize("slope", BRANCHES)
def test_flattened_four_bar_moves_on_either_branch(flattened, slope):
    v = direction(slope)
    forward = flattened.forward_dynamics(np.zeros(3), v)
    assert (forward.status, forward.rank, forward.dof) == (sr.Status.SINGULAR, 1, 2)
    check_consistent(flattened, np.zeros(3), v, forward)


def test_flattened_four_bar_between_its_branches_is_inconsistent(flattened):
    """A velocity that the lost row cannot follow in second order has no acceleration; the answer says so."""
    v = direction(BRANCHES[0]) + direction(BRANCHES[1])
    forward = flattened.forward_dynamics(np.zeros(3), v)
    assert forward.status is sr.Status.INCONSISTENT
    assert forward.residual > 0.1
    assert np.isfinite(forward.a).all()


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("slope", BRANCHES)
def test_flattened_four_bar_approached(flattened, distance, slope):
    q = flattened.assemble(distance * direction(slope), locked=["left"]).q
    assert np.isfinite(q).all()
    assert np.abs(flattened.constraint_residual(q)).max() < 1e-12
    v = flattened.project_velocity(q, direction(slope))
    forward = flattened.forward_dynamics(q, v)
    check_consistent(flattened, q, v, forward)
    if distance >= 1e-4:
        assert (forward.status, forward.rank) == (sr.Status.OK, 2)
        assert np.abs(v - direction(slope)).max() < 100 * distance
    if distance == 0.0:
        assert (forward.status, forward.rank) == (sr.Status.SINGULAR, 1)


@pytest.mark.parametrize("slope", BRANCHES)
def test_flattened_four_bar_moves_through(flattened, slope):
    q = flattened.assemble(-0.1 * direction(slope), locked=["left"]).q
    v = flattened.project_velocity(q, 6.0 * direction(slope))
    coarse = sr.simulate(flattened, q, v, duration=0.03, dt=1e-3)
    fine = sr.simulate(flattened, q, v, duration=0.03, rtol=1e-11, atol=1e-11)
    for motion in (coarse, fine):
        assert motion.status is sr.Status.OK
        assert np.isfinite(motion.a).all()
        assert motion.residual.max() < 1e-13
        assert [p.crossed for p in motion.passages] == [True]
        assert motion.passages[0].closures == ("coupler_right",)
        assert motion.energy_drift < 1e-4
        # It came out on the branch on which it went in.
        assert abs((motion.q[-1, 0] + motion.q[-1, 1]) / motion.q[-1, 0] - slope) < 0.3
    assert np.abs(coarse.q[-1] - fine.q[-1]).max() < 1e-6
