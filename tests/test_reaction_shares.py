"""What redundant bearings share: doors, beams and tables of textbooks, all joints cut, stiffness, units."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from mechanisms import four_bar, three_legs
from sarrus.base.errors import ArgumentError

G = 9.81


def door(joint: str = "spherical", closure: str = "point", *, scale: float = 1.0) -> sr.System:
    """A leaf of 20 kg, its centre 0.4 m from the axis, on hinges 1.6 m apart; one is a joint, the other a closure."""
    m = sr.Mechanism("door", gravity=(0, 0, -G * scale))
    m.add_body("leaf", 20.0, (0.4 * scale, 0, scale), np.array([2, 3, 1.5]) * scale**2)
    low, high = (0, 0, 0.2 * scale), (0, 0, 1.8 * scale)
    m.add_joint("lower", joint, "world", "leaf", parent_pose=low, child_pose=low)
    m.add_closure("upper", closure, "world", "leaf", axis=(0, 0, 1), pose1=high, pose2=high)
    return sr.System(m)


def test_a_door_hangs_on_both_hinges_together() -> None:
    system = door()
    found = sr.reactions(system, system.neutral())
    weight, pull = 20 * G, 20 * G * 0.4 / 1.6
    assert found.open == 1
    assert found.undetermined == ("lower", "upper")
    for name, sign in (("lower", 1.0), ("upper", -1.0)):
        assert found[name].determined.tolist() == [True, True, False, True, True, True]
        np.testing.assert_allclose(found[name].force, [sign * pull, 0.0, weight / 2], atol=1e-10)
        np.testing.assert_allclose(found[name].couple, 0.0, atol=1e-10)
    stiff = sr.reactions(system, system.neutral(), stiffness={"lower": 1e6, "upper": 3e6})
    assert not stiff.determined.all()
    assert stiff.settled.all()
    np.testing.assert_allclose(stiff["lower"].force, [pull, 0.0, weight / 4], atol=1e-9)
    np.testing.assert_allclose(stiff["upper"].force, [-pull, 0.0, 3 * weight / 4], atol=1e-9)
    # what is rigid beside it takes all, and what gives way nothing
    for given in ({"lower": 1e6}, {"lower": 1e6, "upper": np.inf}, {"lower": (1, 1, 0, 0, 0, 0)}):
        rigid = sr.reactions(system, system.neutral(), stiffness=given)
        np.testing.assert_allclose(rigid["upper"].force, [-pull, 0.0, weight], atol=1e-9)
    np.testing.assert_allclose(found.force.sum(axis=0), stiff.force.sum(axis=0), atol=1e-9)


def test_hinges_that_hold_couples_share_these_too() -> None:
    """Two rigid hinges are open in five ways; without stiffness against tilting they are those of statics."""
    system = door("revolute", "revolute")
    found = sr.reactions(system, system.neutral())
    assert found.open == 5
    assert found.determined[:, 5].all()
    assert not found.determined[:, :5].any()
    soft = (1e6, 1e6, 1e6, 0.0, 0.0, 0.0)
    held = sr.reactions(system, system.neutral(), stiffness={"lower": soft, "upper": soft})
    np.testing.assert_allclose(held["lower"].force, [20 * G * 0.25, 0.0, 10 * G], atol=1e-8)
    np.testing.assert_allclose(held.couple, 0.0, atol=1e-8)
    # two equal bearings with k and kr, a load F at height h between: statically indeterminate, by hand
    k, kr, h = 2e5, 3e3, 1.6
    stiff = dict.fromkeys(("lower", "upper"), (k, k, k, kr, kr, 0.0))
    held = sr.reactions(system, system.neutral(), stiffness=stiff)
    tilt = 20 * G * 0.4 / (k * h**2 / 2 + 2 * kr)
    np.testing.assert_allclose(held["lower"].force[0], k * tilt * h / 2, rtol=1e-9)
    np.testing.assert_allclose(held["upper"].couple, [0.0, -kr * tilt, 0.0], rtol=1e-9, atol=1e-9)


def test_a_beam_on_three_supports_and_a_table_on_four_legs() -> None:
    """A rigid beam on equal springs: R_i = P (1/n + (x_i − x̄)(x_P − x̄) / Σ (x_j − x̄)²)."""
    places, load = np.array([0.0, 1.0, 4.0]), 1.3
    m = sr.Mechanism("beam")
    m.add_body("beam", 10.0, (load, 0, 0), (0.1, 5, 5))
    m.add_joint("loose", "planar", "world", "beam", axis=(0, 1, 0), axis2=(1, 0, 0))
    m.add_closure("end", "point_on_line", "world", "beam", axis=(0, 1, 0))
    for k, x in enumerate(places[1:]):
        m.add_closure(f"s{k}", "point_on_plane", "world", "beam", axis=(0, 0, 1), pose2=(x, 0, 0))
    system = sr.System(m)
    found = sr.reactions(system, system.neutral())
    away = places - places.mean()
    expected = 10 * G * (1 / 3 + away * (load - places.mean()) / (away @ away))
    np.testing.assert_allclose(found.force[1:, 2], expected, rtol=1e-10)
    assert found.open == 1
    assert found.force[1:, 2].sum() == pytest.approx(10 * G, rel=1e-12)
    k = np.array([1e5, 2e5, 5e4])
    centre = k @ places / k.sum()
    expected = 10 * G * k * (1 / k.sum() + (places - centre) * (load - centre) / (k @ (places - centre) ** 2))
    stiff = sr.reactions(system, system.neutral(), stiffness=dict(zip(("end", "s0", "s1"), k)))
    np.testing.assert_allclose(stiff.force[1:, 2], expected, rtol=1e-9)

    table = sr.Mechanism("table")
    table.add_body("top", 40.0, (0.2, -0.1, 0.7), (3, 3, 3))
    table.add_joint("loose", "free", "world", "top")
    feet = {"a": (0.5, 0.4), "b": (-0.5, 0.4), "c": (-0.5, -0.4), "d": (0.5, -0.4)}
    for name, (x, y) in feet.items():
        table.add_contact(name, "top", (x, y, 0), friction="frictionless", active=True)
    system = sr.System(table)
    found = sr.reactions(system, system.neutral())
    for name, (x, y) in feet.items():
        expected = 40 * G * (1 / 4 + x * 0.2 / (4 * 0.25) + y * -0.1 / (4 * 0.16))
        assert found[name].force[2] == pytest.approx(expected, rel=1e-10)
        assert not found[name].determined[2]
        assert found[name].determined[[0, 1]].all()


@pytest.mark.parametrize("made", [four_bar, three_legs])
def test_shares_are_those_of_all_joints_cut(made) -> None:
    """The wrench balance of all bodies, all bearings unknown: its null space has the ways, and the share none of it."""
    system = sr.System(made())
    q = np.array(system.assemble(system.neutral() + 0.3 * np.arange(1, system.nq + 1) / system.nq).q)
    v = np.array(system.project_velocity(q, np.ones(system.nv)))
    found = sr.reactions(system, q, v, frame="joint")
    bodies, length = list(system.mechanism.bodies), found.length
    columns, values, sure = [], [], []
    for name in found:
        one = found[name]
        kept = [0, 1, 2, 3, 4] if one.kind == "revolute" else [0, 1, 2]
        load = [*one.bearing_force, *one.bearing_couple]
        for j in kept:
            force = one.axes[j] if j < 3 else np.zeros(3)
            couple = one.axes[j - 3] * length if j > 2 else np.zeros(3)
            column = np.zeros((len(bodies), 2, 3))
            for body, sign in ((one.body, 1.0), (one.on, -1.0)):
                if body != "world":
                    column[bodies.index(body)] += sign * np.array(
                        [force, couple + np.cross(one.point, force)]
                    )
            columns.append(column.ravel())
            values.append(load[j] / (length if j > 2 else 1.0))
            sure.append(one.determined[j])
    matrix = np.array(columns).T
    _, sizes, right = np.linalg.svd(matrix)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    null = right[rank:]
    assert len(null) == found.open > 0
    np.testing.assert_allclose(null @ values, 0.0, atol=1e-11 * np.abs(values).max())
    np.testing.assert_array_equal(sure, (null**2).sum(axis=0) < 1e-9)


def loop_cut_at(cut: int) -> sr.System:
    """A four-bar of spatial hinges as two branches from the ground, closed by the hinge of a number."""
    pins = [(0.0, 0.0, 0.0), (0.1, 0.0, 0.5), (1.1, 0.0, 0.6), (1.0, 0.0, 0.0)]
    names = ["world", "crank", "coupler", "rocker", "world"]
    m = sr.Mechanism(f"cut at {cut}", gravity=(0.5, 3.0, -9.0))
    for k in (1, 2, 3):
        middle = 0.5 * (np.array(pins[k - 1]) + pins[k])
        m.add_body(names[k], 1.0 + k, middle, (0.1, 0.2, 0.3))

    def hinge(k: int, parent: str, child: str) -> None:
        at = {"axis": (0, 1, 0)}
        if k == cut:
            m.add_closure(f"h{k}", "revolute", parent, child, pose1=pins[k], pose2=pins[k], **at)
        else:
            m.add_joint(f"h{k}", "revolute", parent, child, parent_pose=pins[k], child_pose=pins[k], **at)

    for k in range(cut):
        hinge(k, names[k], names[k + 1])
    for k in range(3, cut, -1):
        hinge(k, names[k + 1], names[k])
    hinge(cut, names[cut], names[cut + 1])
    return sr.System(m)


@pytest.mark.parametrize("stiff", [False, True])
def test_it_does_not_matter_which_joint_is_the_closure(stiff: bool) -> None:
    """At rest, pushed aside by gravity out of its plane: the same shares, whatever hinge closes the loop."""
    stiffness = {"h0": (1e6, 1e6, 2e6, 1e3, 1e3, 0), "h1": (2e6, 2e6, 1e6, 3e3, 3e3, 0)}
    stiffness |= {"h2": (1e5, 1e5, 3e6, 2e3, 2e3, 0), "h3": (4e6, 4e6, 1e6, 5e3, 5e3, 0)}
    given = stiffness if stiff else None
    systems = [loop_cut_at(cut) for cut in range(4)]
    found = [sr.reactions(system, system.neutral(), stiffness=given) for system in systems]
    for one, cut in zip(found, range(4)):
        assert one.length == pytest.approx(found[0].length, rel=1e-14)
        assert one.open == found[0].open == 3
        for name in stiffness:
            here, first = one[name], found[0][name]
            sign = 1.0 if here.body == first.body else -1.0
            scale = np.abs(found[0].force).max()
            np.testing.assert_allclose(
                sign * here.force, first.force, atol=1e-9 * scale, err_msg=f"{name} {cut}"
            )
            np.testing.assert_allclose(sign * here.couple, first.couple, atol=1e-9 * scale)


def test_metres_and_millimetres_agree() -> None:
    small, large = door("revolute", "revolute"), door("revolute", "revolute", scale=1e3)
    one, other = (sr.reactions(s, s.neutral()) for s in (small, large))
    np.testing.assert_allclose(other.force, 1e3 * one.force, rtol=1e-10, atol=1e-7)
    np.testing.assert_allclose(other.couple, 1e6 * one.couple, rtol=1e-10, atol=1e-4)


@pytest.mark.parametrize(
    ("stiffness", "text"),
    [
        ({"hinge": 1.0}, "unknown joint 'hinge'.*Known: 'lower', 'upper'"),
        ({"upper": -1.0}, "stiffness of 'upper' must be one number, or six"),
        ({"upper": (1, 1, 1)}, "stiffness of 'upper' must be one number, or six"),
        ({"upper": "soft"}, "stiffness of 'upper' must be one number, or six"),
        ({"upper": np.nan}, "stiffness of 'upper' must be one number, or six"),
        (
            {"upper": (1, 1, 0, 1, 1, 1), "lower": (1, 1, 0, 1, 1, 1)},
            "'(lower|upper)' .force along z. has zero stiffness.*98.1",
        ),
    ],
)
def test_errors_of_stiffness_name_the_bearing(stiffness, text: str) -> None:
    system = door()
    with pytest.raises(ArgumentError, match=text):
        sr.reactions(system, system.neutral(), stiffness=stiffness)
