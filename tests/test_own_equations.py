"""The user's own equations in motion: rheonomic, nonholonomic, nonlinear and non-ideal constraints."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import sqrtm
from scipy.special import ellipj, ellipk

import sarrus as sr

G = 9.81


def particle_on_circle(**arguments):
    return sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - G * q[1],
        holonomic=lambda q, t: ca.sumsqr(q) - 1,
        name="particle on a circle",
        coordinate_names=("x", "y"),
        **arguments,
    )


def horizontal_pendulum(t):
    """Exact motion of the mathematical pendulum of 1 m from rest at (−1, 0), by elliptic functions."""
    k = np.sin(np.pi / 4)
    sn = ellipj(ellipk(k**2) - np.sqrt(G) * t, k**2)[0]
    alpha = 2 * np.arcsin(k * sn)
    return np.array([-np.sin(alpha), -np.cos(alpha)])


def sleigh(mass=2.0, inertia=0.3, ahead=0.4, **arguments):
    """Chaplygin's sleigh: blade at (x, y) with heading phi, centre of mass ahead of it."""

    def lagrangian(q, v, t):
        vx = v[0] - ahead * ca.sin(q[2]) * v[2]
        vy = v[1] + ahead * ca.cos(q[2]) * v[2]
        return mass / 2 * (vx**2 + vy**2) + inertia / 2 * v[2] ** 2

    blade = arguments.pop("velocity", lambda q, v, t: ca.cos(q[2]) * v[1] - ca.sin(q[2]) * v[0])
    return sr.System.from_lagrangian(
        nq=3, lagrangian=lagrangian, velocity=blade, coordinate_names=("x", "y", "phi"), **arguments
    )


def udwadia_kalaba(mass, applied, jacobian, gamma, non_ideal):
    """Acceleration and constraint force of Udwadia and Kalaba, J. Appl. Mech. 68 (2001), 462–467."""
    root = np.real(sqrtm(mass))
    inverse = np.linalg.inv(root)
    b = jacobian @ inverse
    b_plus = np.linalg.pinv(b)
    ideal = root @ b_plus @ (-gamma - jacobian @ np.linalg.solve(mass, applied))
    force = ideal + root @ (np.eye(len(mass)) - b_plus @ b) @ inverse @ non_ideal
    return np.linalg.solve(mass, applied + force), force


# --- holonomic ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [{"dt": 1e-3}, {"rtol": 1e-11, "atol": 1e-12}])
def test_pendulum_follows_elliptic_functions(method):
    system = particle_on_circle()
    trajectory = sr.simulate(system, [-1.0, 0.0], duration=10.0, **method)
    # IFToMM benchmark A01; digits from the elliptic functions and an order-8 integration.
    np.testing.assert_allclose(trajectory.q[-1], [-0.2750874625761169, -0.9614192050991251], atol=2e-9)
    np.testing.assert_allclose(trajectory.v[-1], [4.175598100951729, -1.194749054560475], atol=1e-8)
    assert np.ptp(trajectory.energy) < 1e-8
    assert trajectory.residual.max() < 1e-13


def test_rk4_with_projection_has_order_four():
    system = particle_on_circle()
    steps = np.array([0.02, 0.01, 0.005])
    exact = horizontal_pendulum(1.0)
    errors = [
        np.linalg.norm(sr.simulate(system, [-1.0, 0.0], duration=1.0, dt=h).q[-1] - exact) for h in steps
    ]
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(order - 4.0) < 0.2


def test_constraint_force_pulls_the_pendulum_to_its_pivot():
    result = particle_on_circle().forward_dynamics([0.0, -1.0], [3.0, 0.0])
    np.testing.assert_allclose(result.a, [0.0, 9.0], atol=1e-13)
    np.testing.assert_allclose(result.constraint_force, [0.0, G + 9.0])
    np.testing.assert_allclose(result.multipliers, [-(G + 9.0) / 2])


def test_massless_coordinates_move_with_the_others():
    system = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: ca.sumsqr(v[:2]) / 2 - G * q[1],
        holonomic=lambda q, t: [q[0] - ca.sin(q[2]), q[1] + ca.cos(q[2])],
        coordinate_names=("x", "y", "theta"),
    )
    angle, rate = 0.7, 1.3
    q = [np.sin(angle), -np.cos(angle), angle]
    v = [rate * np.cos(angle), rate * np.sin(angle), rate]
    result = system.forward_dynamics(q, v)
    np.testing.assert_allclose(result.a[2], -G * np.sin(angle), atol=1e-12)
    assert result.status is sr.Status.OK


def test_duplicated_rows_are_reported_and_change_nothing():
    single = sleigh()
    double = sleigh(velocity=lambda q, v, t: [f(q, v) for f in (blade, lambda q, v: 3 * blade(q, v))])
    q, v = [0.1, 0.2, 0.5], [np.cos(0.5), np.sin(0.5), 0.8]
    one, two = single.forward_dynamics(q, v), double.forward_dynamics(q, v)
    assert (two.rank, two.status) == (1, sr.Status.OK)
    assert two.redundant == ("psi1", "psi2")
    np.testing.assert_allclose(two.a, one.a, atol=1e-12)
    np.testing.assert_allclose(two.constraint_force, one.constraint_force, atol=1e-12)
    np.testing.assert_allclose(two.multipliers, one.multipliers * np.array([0.1, 0.3]), atol=1e-12)


def blade(q, v):
    return ca.cos(q[2]) * v[1] - ca.sin(q[2]) * v[0]


# --- time-dependent ----------------------------------------------------------------------------------


def test_pendulum_on_a_shaken_pivot():
    length, reach, frequency = 0.8, 0.3, 2.5
    system = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) - 2 * G * q[1],
        holonomic=lambda q, t: (q[0] - reach * ca.sin(frequency * t)) ** 2 + q[1] ** 2 - length**2,
    )
    angle = 0.4
    q0 = [length * np.sin(angle), -length * np.cos(angle)]
    trajectory = sr.simulate(system, q0, [reach * frequency, 0.0], duration=3.0, rtol=1e-11, atol=1e-12)

    def rate(t, y):
        pivot = -reach * frequency**2 * np.sin(frequency * t)
        return [y[1], -(G * np.sin(y[0]) + pivot * np.cos(y[0])) / length]

    exact = solve_ivp(rate, (0.0, 3.0), [angle, 0.0], method="DOP853", rtol=1e-12, atol=1e-13).y[0, -1]
    pivot = reach * np.sin(frequency * 3.0)
    expected = [pivot + length * np.sin(exact), -length * np.cos(exact)]
    np.testing.assert_allclose(trajectory.q[-1], expected, atol=1e-9)
    assert not system.equations.conservative


def test_moving_pivot_inside_the_lagrangian():
    def lagrangian(q, v, t):
        vx = 0.3 * 2.5 * ca.cos(2.5 * t) + 0.8 * ca.cos(q[0]) * v[0]
        vy = 0.8 * ca.sin(q[0]) * v[0]
        return (vx**2 + vy**2) / 2 + G * 0.8 * ca.cos(q[0])

    system = sr.System.from_lagrangian(nq=1, lagrangian=lagrangian)
    angle, t = 0.4, 0.9
    pivot = -0.3 * 2.5**2 * np.sin(2.5 * t)
    expected = -(G * np.sin(angle) + pivot * np.cos(angle)) / 0.8
    np.testing.assert_allclose(system.forward_dynamics([angle], [1.7], t=t).a, [expected], rtol=1e-12)
    assert not system.equations.conservative


def test_bead_on_a_rotating_hoop():
    radius, spin = 0.5, 7.0
    free = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - G * q[2],
        holonomic=lambda q, t: [
            ca.sumsqr(q) - radius**2,
            ca.cos(spin * t) * q[1] - ca.sin(spin * t) * q[0],
        ],
    )
    reduced = sr.System.from_lagrangian(
        nq=1,
        lagrangian=lambda q, v, t: (
            radius**2 / 2 * (v[0] ** 2 + spin**2 * ca.sin(q[0]) ** 2) + G * radius * ca.cos(q[0])
        ),
    )
    angle = 0.6
    q0 = [radius * np.sin(angle), 0.0, -radius * np.cos(angle)]
    v0 = free.project_velocity(q0, np.zeros(3))
    np.testing.assert_allclose(v0, [0.0, spin * q0[0], 0.0], atol=1e-13)
    full = sr.simulate(free, q0, v0, duration=2.0, rtol=1e-11, atol=1e-12)
    angles = sr.simulate(reduced, [angle], duration=2.0, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(full.q[-1, 2], -radius * np.cos(angles.q[-1, 0]), atol=1e-9)
    # Jacobi's integral is constant for the reduced Lagrangian; the motor of the full one does work.
    assert reduced.equations.conservative
    assert not free.equations.conservative
    assert np.ptp(angles.energy) < 1e-9
    assert np.ptp(full.energy) > 0.1
    relative = np.arccos(G / (radius * spin**2))
    np.testing.assert_allclose(reduced.forward_dynamics([relative], [0.0]).a, [0.0], atol=1e-12)


# --- nonholonomic ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [{"dt": 1e-3}, {"rtol": 1e-11, "atol": 1e-12}])
def test_chaplygin_sleigh(method):
    trajectory = sr.simulate(sleigh(), [0.0, 0.0, 0.0], [-1.0, 0.0, 0.2], duration=5.0, **method)
    # Closed form: u = A tanh, ω = (A/k) sech; m = 2, J = 0.3, a = 0.4, u₀ = −1, ω₀ = 0.2.
    expected = [-3.089710365107192, -1.8316228403493, 4.142518026591579]
    np.testing.assert_allclose(trajectory.q[-1], expected, atol=2e-9)
    heading = trajectory.q[-1, 2]
    forward = np.cos(heading) * trajectory.v[-1, 0] + np.sin(heading) * trajectory.v[-1, 1]
    np.testing.assert_allclose(forward, 1.004680300438578, atol=1e-9)
    np.testing.assert_allclose(trajectory.v[-1, 2], 0.09866028240723149, atol=1e-9)
    assert np.ptp(trajectory.energy) < 1e-9


def test_knife_edge_on_an_incline_drifts_sideways():
    mass, spin, pull = 3.0, 2.0, G * 0.5
    system = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: mass / 2 * (v[0] ** 2 + v[1] ** 2) + 0.2 * v[2] ** 2 + mass * pull * q[0],
        velocity=lambda q, v, t: blade(q, v),
    )
    trajectory = sr.simulate(system, np.zeros(3), [0.0, 0.0, spin], duration=5.0, dt=1e-3)
    np.testing.assert_allclose(trajectory.q[-1, :2], [0.181459842925332, 5.851375221573811], atol=1e-10)
    np.testing.assert_allclose(trajectory.q[1000, :2], [0.506945122521001, 1.458257264967837], atol=1e-10)
    force = system.forward_dynamics(trajectory.q[1000], trajectory.v[1000]).constraint_force
    np.testing.assert_allclose(np.linalg.norm(force), 26.760623271480, rtol=1e-10)
    # To the left of the heading: against gravity's part and with the turn.
    side = np.array([-np.sin(spin), np.cos(spin)])
    np.testing.assert_allclose(force[:2] @ side, 2 * mass * pull * np.sin(spin), rtol=1e-10)
    np.testing.assert_allclose(np.abs(trajectory.multipliers[1000, 0]), 26.760623271480, rtol=1e-9)


def test_ball_on_a_turntable_moves_on_a_circle():
    mass, radius, table = 0.5, 0.05, 3.0
    inertia = 0.4 * mass * radius**2
    system = sr.System.from_equations(
        nq=2,
        nv=5,
        mass_matrix=lambda q: np.diag([mass, mass, inertia, inertia, inertia]),
        bias=lambda q, v: np.zeros(5),
        rate=lambda q, v: v[:2],
        velocity=lambda q, v, t: [v[0] - radius * v[3] + table * q[1], v[1] + radius * v[2] - table * q[0]],
        velocity_names=("x", "y", "wx", "wy", "wz"),
    )
    x, y, vx, vy = 0.2, -0.1, 0.3, 0.1
    v0 = [vx, vy, (table * x - vy) / radius, (vx + table * y) / radius, 0.7]
    np.testing.assert_allclose(system.velocity_residual([x, y], v0), 0.0, atol=1e-13)
    trajectory = sr.simulate(system, [x, y], v0, duration=4.0, dt=1e-3)
    # Closed form z(t) = z₀ + v₀ (exp(ikt) − 1)/(ik), k = 2Ω/7.
    np.testing.assert_allclose(trajectory.q[-1], [-0.127631615399145, 0.552663016434803], atol=1e-11)
    assert trajectory.velocity_names == ("x", "y", "wx", "wy", "wz")
    assert not system.equations.conservative


def test_vertical_rolling_disk_runs_in_a_circle():
    radius = 0.3
    system = sr.System.from_lagrangian(
        nq=4,
        lagrangian=lambda q, v, t: ca.sumsqr(v[:2]) + 0.1 * v[2] ** 2 + 0.05 * v[3] ** 2,
        velocity=lambda q, v, t: [v[0] - radius * ca.cos(q[3]) * v[2], v[1] - radius * ca.sin(q[3]) * v[2]],
        coordinate_names=("x", "y", "spin", "heading"),
        constraint_names=("roll x", "roll y"),
    )
    spin, turn = 4.0, 0.9
    trajectory = sr.simulate(system, np.zeros(4), [radius * spin, 0.0, spin, turn], duration=6.0, dt=1e-3)
    path = radius * spin / turn
    heading = turn * trajectory.t
    np.testing.assert_allclose(trajectory.q[:, 0], path * np.sin(heading), atol=1e-10)
    np.testing.assert_allclose(trajectory.q[:, 1], path * (1 - np.cos(heading)), atol=1e-10)
    np.testing.assert_allclose(trajectory.v[:, 2:], [[spin, turn]] * len(trajectory.t), atol=1e-10)
    assert system.constraint_names == ("roll x", "roll y")


def test_rolling_disk_by_angles_and_by_quasi_velocities():
    """A tilted coin: Euler angles with a Lagrangian, and a free body with a quaternion."""
    mass, radius = 1.5, 0.4
    across, along = mass * radius**2 / 4, mass * radius**2 / 2
    inertia = np.diag([across, across, along])

    def rotation(q):  # heading about z, tilt about x, spin about the disk's own z
        c, s = ca.cos(q), ca.sin(q)
        heading = ca.vertcat(ca.horzcat(c[2], -s[2], 0), ca.horzcat(s[2], c[2], 0), ca.horzcat(0, 0, 1))
        tilt = ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, c[3], -s[3]), ca.horzcat(0, s[3], c[3]))
        return heading, tilt

    def omega(q, v):  # in axes that do not spin: along the horizontal diameter, up the disk, its axis
        return ca.vertcat(v[3], v[2] * ca.sin(q[3]), v[2] * ca.cos(q[3]) + v[4])

    def lagrangian(q, v, t):
        height = radius * ca.sin(q[3])
        rise = radius * ca.cos(q[3]) * v[3]
        w = omega(q, v)
        return mass / 2 * (v[0] ** 2 + v[1] ** 2 + rise**2) + w.T @ inertia @ w / 2 - mass * G * height

    def rolling(q, v, t):
        heading, tilt = rotation(q)
        frame = heading @ tilt
        slip = ca.vertcat(v[:2], 0) + ca.cross(frame @ omega(q, v), frame @ ca.vertcat(0, -radius, 0))
        return slip[:2]

    angles = sr.System.from_lagrangian(nq=5, lagrangian=lagrangian, velocity=rolling)

    def turn(q):
        w, x, y, z = (q[k] for k in range(3, 7))
        return ca.vertcat(
            ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            ca.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        )

    def contact(q, v, t):
        axis = turn(q)[:, 2]
        up = ca.vertcat(0, 0, 1) - axis[2] * axis
        return v[:3] + ca.cross(turn(q) @ v[3:], -radius * up / ca.norm_2(up))

    body = sr.System.from_equations(
        nq=7,
        nv=6,
        mass_matrix=lambda q: ca.diagcat(mass * np.eye(3), inertia),
        bias=lambda q, v: ca.vertcat(0, 0, mass * G, ca.cross(v[3:], inertia @ v[3:])),
        rate=lambda q, v: ca.vertcat(v[:3], quaternion_rate(q[3:], v[3:])),
        velocity=contact,
        potential_energy=lambda q: mass * G * q[2],
        quaternions=(3,),
    )
    q, v = np.array([0.0, 0.0, 0.0, 1.2, 0.0]), np.array([0.0, 0.0, 0.8, 0.3, 6.0])
    v = angles.project_velocity(q, v)
    first = sr.simulate(angles, q, v, duration=1.5, rtol=1e-11, atol=1e-12)
    half = q[3] / 2
    start = [0.0, 0.0, radius * np.sin(q[3]), np.cos(half), np.sin(half), 0.0, 0.0]
    w = np.array([v[3], v[2] * np.sin(q[3]), v[2] * np.cos(q[3]) + v[4]])
    linear = [v[0], v[1], radius * np.cos(q[3]) * v[3]]
    second = sr.simulate(body, start, [*linear, *w], duration=1.5, rtol=1e-11, atol=1e-12)
    assert angles.equations.conservative
    assert body.equations.conservative
    np.testing.assert_allclose(second.q[-1, :2], first.q[-1, :2], atol=1e-8)
    np.testing.assert_allclose(second.q[-1, 2], radius * np.sin(first.q[-1, 3]), atol=1e-8)
    np.testing.assert_allclose(first.energy[0], second.energy[0], rtol=1e-12)
    assert max(np.ptp(first.energy), np.ptp(second.energy)) < 1e-8


def quaternion_rate(q, w):
    """q̇ = ½ q ⊗ (0, ω), ω in body axes."""
    return ca.vertcat(-ca.dot(q[1:], w), q[0] * w + ca.cross(q[1:], w)) / 2


# --- nonlinear in the velocity -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "row", [lambda q, v, t: ca.sumsqr(v) - 4, lambda q, v, t: [ca.norm_2(v) - 2, ca.sumsqr(v) - 4]]
)
def test_particle_of_constant_speed_under_gravity(row):
    """|v| = c with a force along v: the direction obeys c φ' = −g cos φ, so φ follows the Gudermannian."""
    system = sr.System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: 3 * (ca.sumsqr(v) / 2 - G * q[1]), velocity=row
    )
    result = system.forward_dynamics([0.0, 0.0], [1.2, 1.6])
    assert (result.rank, result.status) == (1, sr.Status.OK)
    np.testing.assert_allclose(result.a @ [1.2, 1.6], 0.0, atol=1e-12)
    np.testing.assert_allclose(result.constraint_force, 3 * (result.a + np.array([0.0, G])), atol=1e-12)
    trajectory = sr.simulate(system, [0.0, 0.0], [1.2, 1.6], duration=1.0, dt=1e-3)
    np.testing.assert_allclose(np.linalg.norm(trajectory.v, axis=1), 2.0, atol=1e-12)
    start = np.arctanh(0.8)
    np.testing.assert_allclose(trajectory.v[-1, 1], 2 * np.tanh(start - G / 2), atol=1e-10)
    assert not system.equations.conservative


# --- non-ideal ---------------------------------------------------------------------------------------


def test_non_ideal_force_against_udwadia_and_kalaba():
    rng = np.random.default_rng(4)
    root = rng.normal(size=(4, 4))
    mass = root @ root.T + 4 * np.eye(4)
    stiffness = np.diag(rng.uniform(1, 3, 4))

    def friction(q, v, t):
        return -0.7 * ca.norm_2(v) * v + ca.sin(t) * q

    system = sr.System.from_lagrangian(
        nq=4,
        lagrangian=lambda q, v, t: v.T @ mass @ v / 2 - q.T @ stiffness @ q / 2 - q[0] * q[1] ** 2,
        holonomic=lambda q, t: ca.sumsqr(q[:3]) - 1,
        velocity=lambda q, v, t: [q[3] * v[0] - q[1] * v[3], 2 * (q[3] * v[0] - q[1] * v[3])],
        generalized_force=lambda q, v, t: -0.2 * v,
        non_ideal=friction,
    )
    assert not system.equations.conservative
    for t in (0.3, 1.9):
        q = rng.normal(size=4)
        q[:3] /= np.linalg.norm(q[:3])
        v = system.project_velocity(q, rng.normal(size=4), t)
        tau = rng.normal(size=4)
        result = system.forward_dynamics(q, v, t=t, tau=tau)
        applied = tau - 0.2 * v - system.bias_force(q, v)
        c = -0.7 * np.linalg.norm(v) * v + np.sin(t) * q
        a, force = udwadia_kalaba(
            mass, applied, system.constraint_jacobian(q, t=t), system.constraint_bias(q, v, t), c
        )
        np.testing.assert_allclose(result.a, a, atol=1e-10)
        np.testing.assert_allclose(result.constraint_force, force, atol=1e-10)
        np.testing.assert_allclose(mass @ result.a - applied, force, atol=1e-10)
        assert result.rank == 2


def test_coulomb_friction_on_a_ring():
    """|N| = m v²/r without gravity, so v' = −μ v²/r and v = v₀/(1 + μ v₀ t/r)."""
    radius, friction = 0.5, 0.3
    system = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v),
        holonomic=lambda q, t: ca.sumsqr(q) - radius**2,
        non_ideal=lambda q, v, t: -friction * 2 / radius * ca.norm_2(v) * v,
    )
    result = system.forward_dynamics([radius, 0.0], [0.0, 2.0])
    np.testing.assert_allclose(result.constraint_force, [-16.0, -friction * 16.0])
    np.testing.assert_allclose(result.multipliers, [-16.0])
    trajectory = sr.simulate(system, [radius, 0.0], [0.0, 2.0], duration=3.0, dt=1e-3)
    speed = np.linalg.norm(trajectory.v, axis=1)
    np.testing.assert_allclose(speed, 2.0 / (1 + friction * 2.0 * trajectory.t / radius), atol=1e-10)


def test_non_ideal_force_against_the_constraint_changes_multipliers_only():
    ideal = particle_on_circle()
    pushed = particle_on_circle(non_ideal=lambda q, v, t: 5 * q)
    q, v = [0.6, -0.8], [0.8, 0.6]
    a, b = ideal.forward_dynamics(q, v), pushed.forward_dynamics(q, v)
    np.testing.assert_allclose(b.a, a.a, atol=1e-12)
    np.testing.assert_allclose(b.constraint_force, a.constraint_force, atol=1e-12)
    np.testing.assert_allclose(b.multipliers, a.multipliers - 2.5, atol=1e-12)


# --- quasi-velocities --------------------------------------------------------------------------------


def test_euler_top_keeps_energy_and_momentum():
    inertia = np.diag([1.0, 2.0, 3.5])
    system = sr.System.from_equations(
        nq=4,
        nv=3,
        mass_matrix=lambda q: inertia,
        bias=lambda q, v: ca.cross(v, inertia @ v),
        rate=quaternion_rate,
        quaternions=(0,),
        velocity_names=("wx", "wy", "wz"),
    )
    assert system.equations.conservative
    # About the unstable axis: it tumbles.
    trajectory = sr.simulate(system, [1.0, 0.0, 0.0, 0.0], [0.01, 2.0, 0.01], duration=20.0, dt=2e-3)
    assert np.ptp(trajectory.energy) < 1e-9
    assert trajectory.v[:, 1].min() < -1.99
    np.testing.assert_allclose(np.linalg.norm(trajectory.q, axis=1), 1.0, atol=1e-14)
    momenta = [turned(q, inertia @ w) for q, w in zip(trajectory.q[::500], trajectory.v[::500])]
    np.testing.assert_allclose(momenta, [momenta[0]] * len(momenta), atol=1e-8)


def turned(q, vector):
    """Rotate a vector by the unit quaternion q (wxyz)."""
    return vector + 2 * np.cross(q[1:], np.cross(q[1:], vector) + q[0] * vector)


# --- inputs ------------------------------------------------------------------------------------------


def test_inputs_drive_the_sleigh_and_inverse_dynamics_finds_them():
    system = sleigh(
        inputs=lambda q: [[ca.cos(q[2]), 0], [ca.sin(q[2]), 0], [0, 1]], actuator_names=("thrust", "torque")
    )
    assert system.actuator_names == ("thrust", "torque")
    q, v, u = [0.3, -0.2, 0.8], [np.cos(0.8), np.sin(0.8), -0.4], [1.5, -0.6]
    a = system.forward_dynamics(q, v, u).a
    np.testing.assert_allclose(system.inverse_dynamics(q, v, a).u, u, atol=1e-10)
    trajectory = sr.simulate(
        system, q, v, duration=0.5, dt=1e-3, control=lambda q, v, t: [ca.cos(t) - v[2], 0.2]
    )
    work = np.trapezoid(
        trajectory.u[:, 0]
        * (np.cos(trajectory.q[:, 2]) * trajectory.v[:, 0] + np.sin(trajectory.q[:, 2]) * trajectory.v[:, 1])
        + trajectory.u[:, 1] * trajectory.v[:, 2],
        trajectory.t,
    )
    np.testing.assert_allclose(trajectory.energy[-1] - trajectory.energy[0], work, rtol=1e-5)


def test_one_column_of_inputs_is_one_control():
    cart = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: (
            v[0] ** 2
            + (v[0] + ca.cos(q[1]) * v[1]) ** 2 / 2
            + (ca.sin(q[1]) * v[1]) ** 2 / 2
            + G * ca.cos(q[1])
        ),
        inputs=lambda q: [1, 0],
    )
    assert (cart.nu, cart.actuator_names) == (1, ("u1",))
    np.testing.assert_array_equal(cart.actuation_matrix([0.0, 0.0]), [[1.0], [0.0]])
    result = cart.inverse_dynamics([0.0, 0.4], [0.0, 0.0], [1.0, 1.0], throw=False)
    assert result.status is sr.Status.NOT_ACHIEVABLE
