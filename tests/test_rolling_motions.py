"""Motions and linear models of what rolls: published eigenvalues, closed forms, verdicts on stability."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example

# --- closed forms ------------------------------------------------------------------------------------


def benchmark(speed: float) -> np.ndarray:
    """Eigenvalues of the benchmark bicycle by Meijaard et al. 2007, appendix A, with M, C₁, K₀, K₂ as printed."""
    w, c, lam, g = 1.02, 0.08, np.pi / 10, 9.81
    r_r, m_r, r_xx, r_yy = 0.3, 2.0, 0.0603, 0.12
    x_b, z_b, m_b, b_xx, b_xz, b_zz = 0.3, -0.9, 85.0, 9.2, 2.4, 2.8
    x_h, z_h, m_h, h_xx, h_xz, h_zz = 0.9, -0.7, 4.0, 0.05892, -0.00756, 0.00708
    r_f, m_f, f_xx, f_yy = 0.35, 3.0, 0.1405, 0.28
    sine, cosine = np.sin(lam), np.cos(lam)
    m_t = m_r + m_b + m_h + m_f
    x_t = (x_b * m_b + x_h * m_h + w * m_f) / m_t
    z_t = (-r_r * m_r + z_b * m_b + z_h * m_h - r_f * m_f) / m_t
    t_xx = r_xx + b_xx + h_xx + f_xx + m_r * r_r**2 + m_b * z_b**2 + m_h * z_h**2 + m_f * r_f**2
    t_xz = b_xz + h_xz - m_b * x_b * z_b - m_h * x_h * z_h + m_f * w * r_f
    t_zz = r_xx + b_zz + h_zz + f_xx + m_b * x_b**2 + m_h * x_h**2 + m_f * w**2
    m_a = m_h + m_f
    x_a, z_a = (x_h * m_h + w * m_f) / m_a, (z_h * m_h - r_f * m_f) / m_a
    a_xx = h_xx + f_xx + m_h * (z_h - z_a) ** 2 + m_f * (r_f + z_a) ** 2
    a_xz = h_xz - m_h * (x_h - x_a) * (z_h - z_a) + m_f * (w - x_a) * (r_f + z_a)
    a_zz = h_zz + f_xx + m_h * (x_h - x_a) ** 2 + m_f * (w - x_a) ** 2
    u_a = (x_a - w - c) * cosine - z_a * sine
    a_ll = m_a * u_a**2 + a_xx * sine**2 + 2 * a_xz * sine * cosine + a_zz * cosine**2
    a_lx = -m_a * u_a * z_a + a_xx * sine + a_xz * cosine
    a_lz = m_a * u_a * x_a + a_xz * sine + a_zz * cosine
    mu = c / w * cosine
    s_r, s_f = r_yy / r_r, f_yy / r_f
    s_t, s_a = s_r + s_f, m_a * u_a + mu * m_t * x_t
    mass = np.array([[t_xx, a_lx + mu * t_xz], [a_lx + mu * t_xz, a_ll + 2 * mu * a_lz + mu**2 * t_zz]])
    k0 = np.array([[m_t * z_t, -s_a], [-s_a, -s_a * sine]])
    k2 = np.array([[0, (s_t - m_t * z_t) / w * cosine], [0, (s_a + s_f * sine) / w * cosine]])
    c1 = np.array(
        [
            [0, mu * s_t + s_f * cosine + t_xz / w * cosine - mu * m_t * z_t],
            [-(mu * s_t + s_f * cosine), a_lz / w * cosine + mu * (s_a + t_zz / w * cosine)],
        ]
    )
    printed = (
        (mass, [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]]),
        (k0, [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]]),
        (k2, [[0, 76.59734589573222], [0, 2.65431523794604]]),
        (c1, [[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]]),
    )
    for found, digits in printed:
        assert_allclose(found, digits, atol=1e-13)
    still = np.block(
        [
            [np.zeros((2, 2)), np.eye(2)],
            [-np.linalg.solve(mass, np.hstack([g * k0 + speed**2 * k2, speed * c1]))],
        ]
    )
    values = np.linalg.eigvals(still)
    return values[np.lexsort((values.imag, np.round(values.real, 9)))]


@pytest.mark.parametrize("speed", [0.0, 0.5, 3.0, 5.0, 10.0])
def test_bicycle_has_the_published_eigenvalues(speed: float) -> None:
    example = load_example("rolling")
    system = sr.System(example.bicycle())
    found, model = example.eigenvalues(system, speed)
    assert_allclose(found, benchmark(speed), atol=1e-11, rtol=0)
    assert len(model.neutral) == 6
    assert np.all(model.eigenvalues[list(model.neutral)] == 0.0)
    assert model.neutral_velocities == ("frame.vx", "frame.vy", "frame.wz", "front", "rear")
    assert model.stable is (4.292382536 < speed < 6.024262015)


@pytest.mark.parametrize("coordinates", ["partition", "tangent-space", "null-space"])
def test_verdict_on_a_bicycle_does_not_depend_on_heading_or_coordinates(coordinates: str) -> None:
    example = load_example("rolling")
    system = sr.System(example.bicycle())
    q, v = example.straight(system, 5.0)
    turn = sr.Pose.of(rpy=(0, 0, 0.7)).rotation @ sr.Pose.of(quaternion=q[3:7]).rotation
    q, v = np.array(q), v.copy()
    q[3:7] = sr.Pose.of(rotation=turn).quaternion
    v[:2] = 5.0 * np.cos(0.7), 5.0 * np.sin(0.7)
    model = sr.linearize_at(system, q, v, coordinates=coordinates)
    moving = np.delete(model.eigenvalues, model.neutral)
    assert_allclose(moving[np.lexsort((moving.imag, np.round(moving.real, 9)))], benchmark(5.0), atol=1e-9)
    assert model.stable is True
    shapes = model.mode_shapes
    assert_allclose(system.constraint_jacobian(q)[: system.nh] @ shapes, 0.0, atol=1e-10)
    assert np.isfinite(shapes).all()


def test_a_zero_that_is_neutral_at_one_speed_alone_is_no_verdict() -> None:
    """At the speed of capsize itself the steering that falls is neutral, as the heading is; the model cannot tell."""
    example = load_example("rolling")
    system = sr.System(example.bicycle())
    k0, k2 = (
        np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]]),
        (76.59734589573222, 2.65431523794604),
    )
    speed = np.sqrt(-9.81 * np.linalg.det(k0) / (k0[0, 0] * k2[1] - k0[1, 0] * k2[0]))
    assert_allclose(speed, 6.024262015, atol=1e-9)
    model = sr.linearize_at(system, *example.straight(system, speed))
    assert (len(model.neutral), model.stable) == (7, None)


def test_examples_against_their_closed_forms() -> None:
    example = load_example("rolling")
    assert example.check_drive() < 1e-10
    assert example.check_turntable() < 1e-10
    assert example.check_sleigh() < 1e-11
    assert example.check_cone() < 1e-11


def test_each_example_is_built_in_fifteen_lines() -> None:
    example = load_example("rolling")
    for build in (
        example.bicycle,
        example.differential_drive,
        example.ball_on_turntable,
        example.sleigh,
        example.cone,
    ):
        body = inspect.getsource(build).split('"""')[2]
        assert len([line for line in body.splitlines() if line.strip()]) <= 16, build.__name__  # and a return
    disc = load_example("rolling_disc")
    assert disc.build().nh == 1


# --- neutral equilibria, undamped modes ----------------------------------------------------------------


def test_what_lies_on_level_ground_is_neutral() -> None:
    example = load_example("rolling")
    for mechanism in (
        example.cone(),
        example.ball_on_turntable(0.0),
        example.sleigh(),
        example.differential_drive(),
    ):
        system = sr.System(mechanism)
        for turn in (0.0, 0.3, 1.1):
            q = system.neutral()
            if "ball" not in system.joint_names and system.nq == 7:
                turned = sr.Pose.of(rpy=(0, 0, turn)).rotation @ sr.Pose.of(quaternion=q[3:7]).rotation
                q[3:7] = sr.Pose.of(rotation=turned).quaternion
            rest = sr.equilibrium(system, q)
            assert (rest.status, rest.stable, rest.neutral) == (sr.Status.OK, None, rest.dof), system.name
            assert sr.linearize(system, q).stable is None


def test_cone_on_a_slope_rests_lowest_and_swings() -> None:
    """Down the slope it is stable at rest; without damping the linear model alone does not tell, with it, it does."""
    example = load_example("rolling")
    for damping, stable in ((False, None), (True, True)):
        toy = example.cone()
        toy.gravity = np.array([2.0, 0.0, -9.0])
        if damping:
            toy.add_force("drag", lambda q, v, t: -0.05 * v)
        system = sr.System(toy)
        rest = sr.equilibrium(system, system.neutral())
        assert (rest.status, rest.stable, rest.dof) == (sr.Status.OK, True, 1)
        assert sr.linearize(system, rest.q).stable is stable


def test_undamped_pairs_are_no_tie_of_rounding() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        chain = sr.Mechanism("chain")
        for k in range(3):
            chain.add_body(f"b{k}", rng.uniform(0.5, 2), (0, 0, -rng.uniform(0.2, 1)), (0.1, 0.1, 0.1))
            parent = f"b{k - 1}" if k else "world"
            at = (0, 0, -1) if k else (0, 0, 0)
            chain.add_joint(f"j{k}", "revolute", parent, f"b{k}", axis=(0, 1, 0), parent_pose=at)
        assert sr.linearize(sr.System(chain), np.zeros(3)).stable is None
        assert sr.linearize(sr.System(chain), [np.pi, 0, 0]).stable is False
    for spin, stable in ((0.8, False), (1.5, None)):  # of the disc: it falls, or sways without damping
        disc = load_example("rolling_disc")
        model = sr.linearize_at(disc.build(), *disc.straight(spin * disc.CRITICAL))
        assert model.stable is stable
