"""Finding singular configurations, and the distance to them along a path."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from sarrus.analysis.singularities.singular_path import distance_to_singularity, path_between
from sarrus.analysis.singularities.singularity import find_singularity
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.closing.manifold import difference
from scaled import scaled, scales
from test_redundancy import closed, four_bar
from test_references import planar_four_bar, slider_crank
from test_singular import Parallelogram, RedundantParallelArm

CYLINDERS = [f"cylinder{k}" for k in range(1, 7)]


def check(system: sr.System, found, driven: tuple[str, ...] = ()) -> None:
    """Check that the answer is what it says: closed, a vanishing combination of rows, motions that are left."""
    assert np.abs(system.constraint_residual(found.q)).max() < 1e-12
    free = [i for i, name in enumerate(system.velocity_names) if name not in driven]
    jacobian = system.constraint_jacobian(found.q)
    assert found.value < 1e-9
    assert np.abs(found.left.T @ jacobian[:, free]).max() < 1e-9
    assert np.allclose(found.left.T @ found.left, np.eye(found.left.shape[1]), rtol=0, atol=1e-9)
    assert np.abs(jacobian @ found.motions).max() < 1e-9
    held = [i for i in range(system.nv) if i not in free]
    assert np.abs(found.motions[held]).max(initial=0.0) < 1e-12
    assert found.left.shape[1] == found.generic_rank - found.rank


@pytest.mark.parametrize("n", [1, 2, 5])
def test_chain_is_singular_where_it_lies_flat(example, n):
    """The crank at π/2; n rows become dependent there at once."""
    module = example("four_bar_chain")
    system = sr.System(module.build(n))
    _, v = module.start(system)
    found = find_singularity(system, 0.3 * v)
    check(system, found)
    assert (found.status, found.rank, found.generic_rank) == (sr.Status.OK, n, 2 * n)
    assert np.abs(found.q - 0.5 * np.pi * v).max() < 1e-12
    assert found.distance == pytest.approx((0.5 * np.pi - 0.3) * np.sqrt(system.nv), abs=1e-12)
    assert found.closures == tuple(f"pin{k}" for k in range(1, n + 1))


@pytest.mark.parametrize(("case", "lost"), [(Parallelogram(), 1), (RedundantParallelArm(), 1)])
def test_permanent_redundancy_is_no_singularity(case, lost):
    system = sr.System(case.build())
    q, _ = case.state(0.9)
    found = find_singularity(system, q)
    check(system, found)
    assert (found.generic_rank, found.generic_rank - found.rank) == (case.generic, lost)
    assert np.abs(found.q).max() < 1e-10
    assert np.linalg.norm(found.q - q) == pytest.approx(found.distance, abs=1e-12)


@pytest.mark.parametrize("kind", ["point_on_line", "weld"])
def test_a_grashof_linkage_has_none_and_the_search_says_so(kind):
    system = sr.System(four_bar(kind))
    with pytest.raises(SolveError, match="no singular configuration on the whole curve") as caught:
        find_singularity(system, closed(system))
    found = caught.value.result
    assert (found.status, found.complete) == (sr.Status.NOT_ACHIEVABLE, True)
    assert found.value > 0.3
    # The crank drives it all round; the rocker does not.
    assert find_singularity(system, closed(system), driven=["crank"], throw=False).complete
    found = find_singularity(system, closed(system), driven=["rocker"])
    check(system, found, ("rocker",))
    assert abs(np.sin(found.q[1])) < 1e-12  # crank and coupler on one line


def test_rocker_limits_of_the_grashof_four_bar():
    """Ground 0.35, crank 0.1, coupler 0.4, rocker 0.3; crank at 0.6315 and 4.0896."""
    system = sr.System(planar_four_bar(0.35, [(x, 1.0, x / 2, 0.01) for x in (0.1, 0.4, 0.3)]))
    start = system.assemble([0.5, 0.1672154347734511, 1.396659664013166]).q
    found = find_singularity(system, start, driven=["follower"])
    assert found.q[0] == pytest.approx(0.6315000429113827, abs=1e-12)
    far = system.assemble([4.0, 0.9 - 4.0, 2.19], locked=["driver"]).q
    found = find_singularity(system, far, driven=["follower"])
    assert found.q[0] == pytest.approx(4.089562394972687, abs=1e-12)


@pytest.mark.parametrize(("theta", "dead"), [(0.3, 0.07148944988552053), (2.8, 3.309040732809483)])
def test_dead_centres_of_the_slider_crank(theta, dead):
    system = sr.System(slider_crank())
    slide = np.arcsin((0.05 - 0.2 * np.sin(theta)) / 0.5)
    q = [theta, slide - theta, 0.2 * np.cos(theta) + 0.5 * np.cos(slide)]
    found = find_singularity(system, q, driven=["slider"])
    check(system, found, ("slider",))
    assert found.q[0] == pytest.approx(dead, abs=1e-12)


@pytest.mark.parametrize("yaw", [70.0, 85.0])
def test_gough_stewart_platform_near_the_yaw_where_it_cannot_be_held(example, yaw):
    """At a yaw of 90° the determinant vanishes; the nearest singular pose is no farther than that."""
    module = example("stewart")
    system = sr.System(module.build())
    q = module.configuration(sr.Pose.of((0, 0, 1), rpy=(0, 0, np.deg2rad(yaw))))
    found = find_singularity(system, q, driven=CYLINDERS)
    check(system, found, tuple(CYLINDERS))
    pose = sr.Pose.of(found.q[:3], quaternion=found.q[3:7])
    assert abs(module.determinant(pose)) < 1e-12
    assert (found.rank, found.generic_rank, found.motions.shape[1]) == (17, 18, 1)
    known = module.configuration(sr.Pose.of((0, 0, 1), rpy=(0, 0, np.pi / 2)))
    assert found.distance < np.linalg.norm(2 * system.characteristic.coordinates * (known - q))
    # It is the nearest one of its surface: the step to it is normal to the surface along the motions.
    profile = distance_to_singularity(system, path_between(system, q, found.q, step=0.02), driven=CYLINDERS)
    assert profile.closest == len(profile.q) - 1
    # The estimate along a path is linear: off by a part that falls with the distance, here to a quarter of it.
    kappa = system.characteristic.columns
    left = np.array([np.linalg.norm(kappa * difference(system, p, found.q)) for p in profile.q[:-1]])
    off = np.abs(profile.distance[:-1] / left - 1.0)[left > 0.04]
    assert (off < 0.25 * left[left > 0.04]).all()
    assert (np.diff(off) < 0.0).all()


def test_a_singular_start_is_its_own_answer():
    system = sr.System(Parallelogram.build())
    found = find_singularity(system, np.zeros(3))
    check(system, found)
    assert found.distance < 1e-9
    assert found.closures == ("coupler_right",)


def test_surfaces_of_singular_configurations():
    """The plane x = 0 and the surface y = z²/5 cross in a parabola."""
    system = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        holonomic=lambda q, t: q[0] * (q[1] - 0.2 * q[2] ** 2),
    )
    start = np.array([0.0, 1.0, 0.3])
    found = find_singularity(system, start)
    check(system, found)
    # Its point nearest to the start solves a cubic.
    z = np.real(next(r for r in np.roots([0.08, 0.0, 0.6, -0.3]) if abs(r.imag) < 1e-9))
    assert np.allclose(found.q, [0.0, 0.2 * z**2, z], rtol=0, atol=1e-5)
    assert found.distance == pytest.approx(np.hypot(1 - 0.2 * z**2, z - 0.3), abs=1e-9)


# --- along a path ---------------------------------------------------------------------------------


def test_profile_of_a_run_changes_sign_at_its_passages(example):
    module = example("four_bar_chain")
    system = sr.System(module.build(2))
    motion = sr.simulate(system, *module.start(system), duration=2.0, dt=2e-3)
    profile = distance_to_singularity(system, motion)
    assert len(profile.values) == len(motion.t)
    assert [motion.t[k] < p.time <= motion.t[k + 1] for k, p in zip(profile.crossings, motion.passages)] == [
        True
    ] * len(motion.passages)
    assert len(profile.crossings) == len(motion.passages) == 2
    # One rad of every joint away for one rad of the crank, near the passage.
    k = profile.crossings[0] - 3
    assert profile.distance[k] == pytest.approx(
        (np.pi / 2 - motion.q[k, 0]) * np.sqrt(5), rel=(np.pi / 2 - motion.q[k, 0]) ** 2
    )
    assert profile.closest in (*profile.crossings, *(k + 1 for k in profile.crossings))


@pytest.mark.parametrize("length", [1e3, 1e-3])
def test_millimetres_and_metres_agree(example, length):
    """A platform's path with all its numbers, and the dead centre of a slider-crank."""
    module = example("stewart")
    system = sr.System(module.build())
    other = sr.System(scaled(system, length))
    places, _ = scales(system, length)
    ends = [module.configuration(sr.Pose.of((0, 0, 1), rpy=(0, 0, np.deg2rad(yaw)))) for yaw in (60.0, 100.0)]
    path = path_between(system, *ends, step=0.1)
    scaled_path = path_between(other, *(places * q for q in ends), step=0.1)
    assert np.allclose(scaled_path, places * path, rtol=0, atol=1e-9 * places)
    one = distance_to_singularity(system, path, driven=CYLINDERS)
    two = distance_to_singularity(other, scaled_path, driven=CYLINDERS)
    assert np.allclose(np.abs(two.values), np.abs(one.values), rtol=0, atol=1e-9)
    assert np.allclose(two.distance, one.distance, rtol=1e-8, atol=1e-9)
    assert one.crossings == two.crossings
    assert len(one.crossings) == 1

    crank = sr.System(slider_crank())
    slide = np.arcsin((0.05 - 0.2 * np.sin(0.3)) / 0.5)
    q = np.array([0.3, slide - 0.3, 0.2 * np.cos(0.3) + 0.5 * np.cos(slide)])
    small = sr.System(scaled(crank, length))
    factors, _ = scales(crank, length)
    found, same = (find_singularity(s, x, driven=["slider"]) for s, x in ((crank, q), (small, factors * q)))
    assert same.distance == pytest.approx(found.distance, rel=1e-9)
    assert np.allclose(same.q, factors * found.q, rtol=0, atol=1e-10 * factors)


def test_path_between_two_configurations():
    system = sr.System(four_bar("point"))
    ends = [closed(system, crank) for crank in (0.5, 2.0)]
    path = path_between(system, *ends)
    assert np.array_equal(path[[0, -1], 0].round(12), [0.5, 2.0])
    assert max(np.abs(system.constraint_residual(q)).max() for q in path) < 1e-12
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < 0.06
    mirrored = system.assemble([0.5, -1.9, -2.0], locked=["crank"]).q
    with pytest.raises(SolveError, match="no motion leads nearer"):
        path_between(system, ends[0], mirrored)


def test_bad_arguments():
    system = sr.System(four_bar("point"))
    q = closed(system)
    with pytest.raises(
        ArgumentError, match=r"driven: unknown joint or coordinate 'crnk'.*Did you mean 'crank'"
    ):
        find_singularity(system, q, driven=["crnk"])
    with pytest.raises(ArgumentError, match="no constraint rows on the velocities that are not driven"):
        find_singularity(system, q, driven=list(system.joint_names))
    with pytest.raises(ArgumentError, match="leaves the loops open"):
        find_singularity(system, np.add(q, [0.1, 0, 0]))
    with pytest.raises(ArgumentError, match="path must be"):
        distance_to_singularity(system, np.zeros((0, 3)))
