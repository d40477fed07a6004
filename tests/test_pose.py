"""Poses and quaternions: the identities of rotations, for any of them.

Every bound is a count of roundings: entries of a rotation are exact to `ENTRY`, a product of three by three adds three
times the error of either factor, and three roundings of its own.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mechanisms import rotation_about
from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import Pose, perpendicular_to, rotation_of_rpy

EPSILON = float(np.finfo(float).eps)
ENTRY = (
    1e-14 + 16 * EPSILON
)  # entries within 1e-14 of -1, 0, 1 are made that; a scaled quaternion gives the rest
FAR = 100.0  # largest coordinate of a position drawn

numbers = st.floats(-FAR, FAR)
angles = st.floats(-10.0, 10.0)


def of_length(size: int, least: float) -> st.SearchStrategy[Array]:
    """Return vectors that have a direction."""
    components = st.lists(st.floats(-1.0, 1.0), min_size=size, max_size=size).map(np.array)
    return components.filter(lambda x: np.linalg.norm(x) > least)


quaternions = of_length(4, 1e-3)
axes = of_length(3, 1e-3).map(lambda x: x / np.linalg.norm(x))
positions = st.lists(numbers, min_size=3, max_size=3).map(np.array)
poses = st.builds(lambda r, q: Pose.of(r, quaternion=q), positions, quaternions)


def hamilton(p: Array, q: Array) -> Array:
    """Return the product of two wxyz quaternions."""
    return np.array([p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))])


@given(quaternions, st.floats(1e-3, 1e3))
def test_a_quaternion_is_its_rotation(q: Array, factor: float) -> None:
    """Of any length and either sign; back comes the unit one with w ≥ 0."""
    pose = Pose.of(quaternion=q)
    assert_allclose(pose.rotation @ pose.rotation.T, np.eye(3), rtol=0, atol=6 * ENTRY)
    assert_allclose(np.linalg.det(pose.rotation), 1.0, rtol=0, atol=18 * ENTRY)
    assert_allclose(Pose.of(quaternion=-factor * q).rotation, pose.rotation, rtol=0, atol=2 * ENTRY)
    back, unit = pose.quaternion, q / np.linalg.norm(q)
    assert back[0] >= 0.0
    # Four times an entry is a sum of four entries, over twice the largest component, which is 1/2 or more.
    assert min(np.abs(back - unit).max(), np.abs(back + unit).max()) <= 8 * ENTRY


@given(quaternions, quaternions)
def test_products_of_quaternions_are_products_of_rotations(p: Array, q: Array) -> None:
    both = Pose.of(quaternion=p) @ Pose.of(quaternion=q)
    one = Pose.of(quaternion=hamilton(p / np.linalg.norm(p), q / np.linalg.norm(q)))
    assert_allclose(both.rotation, one.rotation, rtol=0, atol=8 * ENTRY)


@given(poses, poses, poses, positions)
def test_poses_are_a_group(a: Pose, b: Pose, c: Pose, point: Array) -> None:
    far = 3 * FAR  # of a position after one product, with its error below that many entries
    left, right = (a @ b) @ c, a @ (b @ c)
    assert_allclose(left.rotation, right.rotation, rtol=0, atol=18 * ENTRY)
    assert_allclose(left.position, right.position, rtol=0, atol=18 * far * ENTRY)
    assert_allclose((a @ b).apply(point), a.apply(b.apply(point)), rtol=0, atol=9 * far * ENTRY)
    for identity in (a @ a.inverse(), a.inverse() @ a):
        assert_allclose(identity.rotation, np.eye(3), rtol=0, atol=6 * ENTRY)
        assert_allclose(identity.position, np.zeros(3), rtol=0, atol=9 * far * ENTRY)
    assert_allclose(a.inverse().apply(a.apply(point)), point, rtol=0, atol=9 * far * ENTRY)


@given(axes, angles, angles)
def test_turns_about_one_axis_add_up(axis: Array, one: float, two: float) -> None:
    """They leave the axis, turn what is normal to it by the angle, and follow the rule of half the angle."""
    turn, across = rotation_about(axis, one), perpendicular_to(axis)
    assert_allclose([across @ axis, np.linalg.norm(across) - 1.0], [0, 0], rtol=0, atol=4 * ENTRY)
    assert_allclose(turn @ axis, axis, rtol=0, atol=6 * ENTRY)
    angle = np.arctan2(np.cross(across, turn @ across) @ axis, across @ turn @ across)
    assert_allclose(np.exp(1j * angle), np.exp(1j * one), rtol=0, atol=12 * ENTRY)
    assert_allclose(turn @ rotation_about(axis, two), rotation_about(axis, one + two), rtol=0, atol=9 * ENTRY)
    half = Pose.of(quaternion=[np.cos(one / 2), *(np.sin(one / 2) * axis)])
    assert_allclose(half.rotation, turn, rtol=0, atol=2 * ENTRY)


@given(angles, angles, angles)
def test_roll_pitch_yaw_are_turns_about_fixed_axes(roll: float, pitch: float, yaw: float) -> None:
    x, y, z = np.eye(3)
    expected = rotation_about(z, yaw) @ rotation_about(y, pitch) @ rotation_about(x, roll)
    assert_allclose(rotation_of_rpy([roll, pitch, yaw]), expected, rtol=0, atol=12 * ENTRY)
