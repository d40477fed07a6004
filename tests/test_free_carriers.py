"""What nobody holds is said in one line: a robot in the air, a cart on the floor, joints that no closure notices."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from test_redundancy import closed, four_bar


def on_carrier(kind: str, *, ground: bool = False) -> tuple[sr.System, np.ndarray]:
    """Return a four-bar closed by a hinge on a body with a joint, an arm of two links beside it."""
    source = four_bar("revolute")
    mechanism = sr.Mechanism(f"four-bar on {kind}")
    mechanism.add_body("base", 2.0, inertia=(0.1, 0.1, 0.1))
    if kind == "series":
        series = (
            ("x", "prismatic", (1, 0, 0)),
            ("z", "prismatic", (0, 0, 1)),
            ("turn", "revolute", (0, 1, 0)),
        )
        for name, way, axis in series:
            mechanism.add_joint(name, way, "world", "base", axis=axis)
    else:
        mechanism.add_joint("float", kind, "world", "base", axis=(0, 1, 0))
    for body in source.bodies.values():
        (joint,) = body.joints
        parent = "base" if body.parent == "world" else body.parent
        mechanism.add_body(body.name, body.mass, body.com, body.inertia)
        mechanism.add_joint(
            joint.name, joint.kind, parent, body.name, axis=joint.axis, parent_pose=body.placement
        )
    for name, parent in (("arm", "base"), ("hand", "arm")):
        mechanism.add_body(name, 1.0, inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, 1, 0), parent_pose=(0, 0, 0.5))
    mechanism.closures["pin"] = source.closures["pin"]
    if ground:
        mechanism.add_closure("tether", "point", "world", "base")
    system = sr.System(mechanism)
    q = system.neutral()
    for name, x in zip(("crank", "coupler", "rocker"), closed(sr.System(source))):
        q[system.coordinate_names.index(name)] = x
    return system, q


@pytest.mark.parametrize(
    ("kind", "freedom", "joints"),
    [("free", 6, "joint float"), ("planar", 3, "joint float"), ("series", 3, "joints x, z, turn")],
)
def test_one_line_for_what_moves_freely(kind, freedom, joints):
    system, q = on_carrier(kind)
    found = sr.mobility(system, q)
    (carrier,) = found.free_carriers
    assert (carrier.body, carrier.whole, len(carrier.carries)) == ("base", True, 5)
    assert len(carrier.velocities) == freedom
    lines = str(found).splitlines()
    said = f"the whole mechanism moves freely: {freedom} degrees of freedom, {joints}"
    assert [line[20:] for line in lines if line.startswith("motion")] == [said]
    assert not any(name in str(found) for name in carrier.velocities if "." in name)
    # the data stay: one column for every freedom
    assert found.motions.shape == (system.nv, freedom + 3)
    assert len(found.descriptions) == freedom + 3
    assert found.removable == ("pin.y", "pin.n1", "pin.n2")


def test_joints_that_carry_several_bodies_share_a_line():
    system, q = on_carrier("free")
    internal = dict(sr.mobility(system, q).internal_rows)
    assert internal["internal"] == "hand turns alone"
    assert internal.get("", "arm, hand move together, as one piece that turns").startswith("arm, hand")


def test_what_a_closure_holds_is_not_free():
    system, q = on_carrier("free", ground=True)
    found = sr.mobility(system, q)
    assert found.free_carriers == ()
    assert "moves freely" not in str(found)


def test_a_part_that_floats_beside_another_mechanism():
    mechanism = four_bar("point")
    mechanism.add_body("drone", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("air", "free", "world", "drone")
    system = sr.System(mechanism)
    q = np.concatenate([closed(sr.System(four_bar("point"))), [0, 0, 1, 1, 0, 0, 0]])
    (carrier,) = sr.mobility(system, q).free_carriers
    assert (carrier.body, carrier.whole, carrier.carries) == ("drone", False, ())
    assert str(carrier) == "drone moves freely: 6 degrees of freedom, joint air"


def test_a_pendulum_on_a_ball_joint_is_no_carrier():
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("bob", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("ball", "spherical", "world", "bob")
    system = sr.System(mechanism)
    assert sr.mobility(system, system.neutral()).free_carriers == ()
