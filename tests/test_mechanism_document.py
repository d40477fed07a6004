"""A mechanism as text: every element and number comes back, and trajectory files bring their mechanism along."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sarrus as sr
from mechanisms import CLOSURES, KINDS, LOOPS, close_loops, random_tree
from sarrus.base.errors import ArgumentError
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.builders.mechanism import Mechanism

MODELS = Path(__file__).resolve().parent.parent / "models"


def same(one: Any, other: Any) -> bool:
    """Compare descriptions of any kind, numbers bit for bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and one.tobytes() == other.tobytes()
    if is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def rich() -> Mechanism:
    """A mechanism with every kind of joint, and elements of every kind but user forces."""
    plan = random_tree(3)
    system = sr.System(plan.mechanism)
    rng = np.random.default_rng(5)
    mechanism = close_loops(plan, system.normalized(system.neutral() + rng.normal(0, 0.3, system.nq)))
    one, two = [j.name for j in mechanism.joints() if j.kind == "revolute" or j.kind == "prismatic"][:2]
    mechanism.add_coupling("gear", {one: 2.0, two: -1.0 / 3.0})
    mechanism.add_actuator("motor", one, limits=(-np.inf, 7.0))
    body = next(iter(mechanism.bodies))
    mechanism.add_contact("touch", body, point=(0.1, 0.2, 0.3), friction="stick")
    mechanism.add_geom("ball", body, "sphere", (0.05,), (0.1, 0.0, 0.2))
    mechanism.add_contact("ball touches", geom="ball", normal=(0.6, 0.0, 0.8), offset=1.0 / 3.0)
    mechanism.add_keyframe("here", system.neutral())
    mechanism.world_shapes = (sr.Shape("line", points=np.arange(6.0).reshape(2, 3) / 7, file=None),)
    mechanism.report.leave_out("joint", one, "for the test")
    return mechanism


@pytest.mark.parametrize("model", ["five_bar.xml", "quadruped.xml"])
def test_a_loaded_model_comes_back_bit_for_bit(model: str) -> None:
    mechanism = sr.load(MODELS / model)
    assert same(vars(mechanism), vars(from_json(to_json(mechanism))))


def test_every_kind_of_element_comes_back_bit_for_bit() -> None:
    mechanism = rich()
    again = from_json(to_json(mechanism))
    assert same(vars(mechanism), vars(again))
    assert not same(vars(mechanism), vars(from_json(to_json(mechanism).replace("for the test", "changed"))))


def test_a_plane_that_is_raised_is_checked() -> None:
    """Contacts that stick at the centre of a ball bring its radius along; what no builder says is refused."""
    text = to_json(rich())
    assert text.count('"raised":0.05') == 1
    with pytest.raises(ArgumentError, match=r"contact 'ball touches'.*raised must not be negative"):
        from_json(text.replace('"raised":0.05', '"raised":-0.05'))


numbers = st.floats(-1e99, 1e99)  # sums of two stay below the largest number taken
positive = st.floats(1e-100, 1e50)
names = st.lists(
    st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=8).filter(
        lambda name: name != "world"
    ),
    min_size=4, max_size=4, unique=True,
)  # fmt: skip


@st.composite
def mechanisms(draw: st.DrawFn) -> Mechanism:
    """Draw two bodies with a joint and a closure of any kind and any numbers and names."""

    def pose() -> sr.Pose:
        return sr.Pose.of(draw(st.tuples(numbers, numbers, numbers)), rpy=draw(st.tuples(*3 * [angle])))

    angle, (one, two, joint, closure) = st.floats(-10.0, 10.0), draw(names)
    mechanism = Mechanism(draw(st.text(max_size=8)), gravity=draw(st.tuples(numbers, numbers, numbers)))
    for body in (one, two):
        com, inertia = draw(st.tuples(*3 * [st.floats(-1e50, 1e50)])), draw(positive) * np.eye(3)
        mechanism.add_body(body, draw(positive), com, inertia)
    mechanism.add_joint(one, draw(st.sampled_from(KINDS)), "world", one)
    mechanism.add_joint(
        joint, draw(st.sampled_from(["revolute", "prismatic", "screw"])), one, two,
        axis=draw(st.tuples(angle, angle, st.floats(1.0, 2.0))), parent_pose=pose(), child_pose=pose(),
        stiffness=draw(positive), reference=draw(numbers), pitch=draw(positive),
    )  # fmt: skip
    mechanism.add_closure(
        closure, draw(st.sampled_from(CLOSURES)), "world", two, pose1=pose(), length=draw(positive)
    )
    return mechanism


@settings(max_examples=25)
@given(mechanisms())
def test_any_names_and_numbers_come_back_bit_for_bit(mechanism: Mechanism) -> None:
    text = to_json(mechanism)
    again = from_json(text)
    assert same(vars(mechanism), vars(again))
    assert to_json(again) == text


def test_what_comes_back_moves_alike() -> None:
    mechanism = close_loops(random_tree(1, LOOPS["hinges"][0]), np.full(5, 0.2), LOOPS["hinges"][1])
    one, two = sr.System(mechanism), sr.System(from_json(to_json(mechanism)))
    q, v = np.full(5, 0.2), one.project_velocity(np.full(5, 0.2), np.ones(5))
    np.testing.assert_array_equal(one.forward_dynamics(q, v).a, two.forward_dynamics(q, v).a)


def test_user_forces_are_named_but_not_kept() -> None:
    mechanism = sr.load(MODELS / "five_bar.xml")
    mechanism.add_force("wind", lambda q, v, t: -v)
    again = from_json(to_json(mechanism))
    assert not again.forces
    assert "wind" in str(again.report.entries[-1])


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"format": "another"})])
def test_other_text_is_an_error(text: str) -> None:
    with pytest.raises(ArgumentError, match="not a mechanism"):
        from_json(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [("mass", "abc"), ("com", None), ("placement", {}), ("attached", 1), ("shapes", "abc")],
)
def test_a_field_of_another_kind_is_an_error_that_names_it(field: str, value: object) -> None:
    document = json.loads(to_json(sr.load(MODELS / "five_bar.xml")))
    name, body = dict(document["data"]["map"])["_bodies"]["map"][0]
    body["Body"][field] = value
    with pytest.raises(ArgumentError, match=f"Body '{name}': {field} cannot be "):
        from_json(json.dumps(document))


def test_files_of_before_hold_coordinates_as_keyframes() -> None:
    mechanism = sr.load(MODELS / "five_bar.xml")
    document = json.loads(to_json(mechanism))
    for pair in dict(document["data"]["map"])["keyframes"]["map"]:
        pair[1] = pair[1]["Keyframe"]["q"]
    again = from_json(json.dumps(document))
    assert list(again.keyframes) == list(mechanism.keyframes)
    for name, key in again.keyframes.items():
        np.testing.assert_array_equal(key.q, mechanism.keyframes[name].q)


def test_a_trajectory_file_brings_the_mechanism(tmp_path: Path) -> None:
    mechanism = sr.load(MODELS / "five_bar.xml")
    system = sr.System(mechanism, parameters={"m": "link2.mass"})
    system.parameters["m"] = 4.0
    run = sr.simulate(system, mechanism.keyframes["symmetric"].q, duration=0.01, dt=1e-3)
    loaded = sr.Trajectory.load(run.save(tmp_path / "run.nc"))
    assert loaded.system is None
    assert loaded.mechanism is not None
    assert loaded.mechanism.bodies["link2"].mass == 4.0
    again = loaded.moved_system()
    assert again is not None
    assert again is loaded.moved_system()
    assert again.kinetic_energy(run.q[-1], run.v[-1]) == pytest.approx(
        system.kinetic_energy(run.q[-1], run.v[-1]), rel=1e-14
    )
    assert same(vars(loaded.mechanism), vars(sr.Trajectory.load(loaded.save(tmp_path / "b.nc")).mechanism))


def test_equations_of_ones_own_leave_no_mechanism_in_the_file(tmp_path: Path) -> None:
    system = sr.System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: v[0] ** 2 / 2)
    run = sr.simulate(system, [0.0], [1.0], duration=0.01, dt=1e-3)
    loaded = sr.Trajectory.load(run.save(tmp_path / "run.nc"))
    assert loaded.moved_system() is None
    with pytest.raises(ArgumentError, match="holds no mechanism"):
        loaded.draw()
