"""The regressor and base parameters against inverse dynamics, hand counts and published counts."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import sarrus as sr
from mechanisms import close_loops, random_inertia, random_tree
from sarrus.design.identification import Regressor, base_parameters
from sarrus.design.identification.random_states import random_states
from sarrus.dynamics.model.compiled import random_coordinates

PLANAR = {"axis": (0, -1, 0)}  # motion in the x-z plane, gravity along −z


def closed(seed: int) -> sr.Mechanism:
    plan = random_tree(seed)
    q = random_coordinates(sr.System(plan.mechanism).equations, np.random.default_rng(seed))
    return close_loops(plan, q)


def bar(
    m: sr.Mechanism, name: str, parent: str, at: object, rng: np.random.Generator, **joint: object
) -> None:
    m.add_body(name, rng.uniform(1, 3), com=0.2 * rng.standard_normal(3), inertia=random_inertia(rng))
    m.add_joint(f"{name}_joint", "revolute", parent, name, parent_pose=at, **{**PLANAR, **joint})


def two_links(gravity: tuple[float, float, float]) -> sr.Mechanism:
    rng, m = np.random.default_rng(3), sr.Mechanism("two_links", gravity=gravity)
    bar(m, "one", "world", (0, 0, 0), rng)
    bar(m, "two", "one", (0.7, 0, 0), rng)
    return m


def four_bar() -> sr.Mechanism:
    rng, m = np.random.default_rng(4), sr.Mechanism("four_bar")
    bar(m, "crank", "world", (0, 0, 0), rng)
    bar(m, "coupler", "crank", (0.3, 0, 0), rng)
    bar(m, "rocker", "world", (1, 0, 0), rng, reference=1.2)
    m.add_closure(
        "pin", "revolute", "coupler", "rocker", axis=(0, 1, 0), pose1=(1.0, 0, 0), pose2=(0.8, 0, 0)
    )
    return m


def puma() -> sr.Mechanism:
    """Six revolute joints with the axes and offsets of a Puma: vertical, two parallel, a spherical wrist."""
    rng, m = np.random.default_rng(5), sr.Mechanism("puma")
    axes = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0))
    places = ((0, 0, 0), (0, 0.24, 0), (0.43, -0.09, 0), (0.43, 0, 0.02), (0, 0, 0), (0, 0, 0))
    parent = "world"
    for k, (axis, place) in enumerate(zip(axes, places)):
        bar(m, f"link{k + 1}", parent, place, rng, axis=axis)
        parent = f"link{k + 1}"
    return m


@pytest.mark.parametrize("seed", range(4))
def test_regressor_times_numbers_is_inverse_dynamics_for_every_joint_and_closure(seed: int) -> None:
    system = sr.System(closed(seed))
    regressor = Regressor(system)
    assert system.nc > 0
    assert any(".damping" in n for n in regressor.names)
    assert any(".armature" in n for n in regressor.names)
    assert any(n.startswith("spring") and n.endswith("stiffness") for n in regressor.names)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        q = random_coordinates(system.equations, rng)
        v, a = rng.standard_normal((2, system.nv))
        force = system.mass_matrix(q) @ a + system.bias_force(q, v) - system.passive_force(q, v)
        found = regressor.matrix(q, v, a) @ regressor.values + regressor.known_force(q, v, a)
        np.testing.assert_allclose(found, force, rtol=0, atol=1e-12 * np.abs(force).max())


def test_numbers_that_are_known_move_to_the_other_side() -> None:
    system = sr.System(closed(1))
    rng = np.random.default_rng(0)
    q = random_coordinates(system.equations, rng)
    v, a = rng.standard_normal((2, system.nv))
    whole = Regressor(system)
    part = Regressor(system, known=("b1", "b2.mass", "j0.damping", "spring0.stiffness"))
    assert len(part.names) == len(whole.names) - 13
    for r in (whole, part):
        force = r.matrix(q, v, a) @ r.values + r.known_force(q, v, a)
        expected = system.mass_matrix(q) @ a + system.bias_force(q, v) - system.passive_force(q, v)
        np.testing.assert_allclose(force, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_other_numbers_give_the_inverse_dynamics_of_the_mechanism_that_has_them() -> None:
    system = sr.System(closed(2))
    regressor = Regressor(system)
    rng = np.random.default_rng(2)
    values = regressor.values * rng.uniform(0.95, 1.05)
    other = sr.System(regressor.numbers.put(values))
    q = random_coordinates(system.equations, rng)
    v, a = rng.standard_normal((2, system.nv))
    force = other.mass_matrix(q) @ a + other.bias_force(q, v) - other.passive_force(q, v)
    found = regressor.matrix(q, v, a) @ values + regressor.known_force(q, v, a)
    np.testing.assert_allclose(found, force, rtol=0, atol=1e-12 * np.abs(force).max())


def test_motors_and_dry_friction() -> None:
    m = two_links((0, 0, -9.81))
    m.add_actuator("motor", "one_joint", gain=3.0)
    m.add_actuator("servo", "two_joint", gain=2.0, bias=(0.1, -4.0, -0.5))
    system = sr.System(m)
    regressor = Regressor(
        system, ["motor.gain", "servo.gain", "servo.bias.length", "one_joint.friction", "two_joint.damping"]
    )
    assert set(regressor.names) == {
        "one_joint.friction", "motor.gain", "servo.gain", "servo.bias.length", "two_joint.damping",
    }  # fmt: skip
    q, v, a, u = [0.3, 0.4], [1.0, -2.0], [0.5, 0.7], [1.5, -0.5]
    w = dict(zip(regressor.names, regressor.matrix(q, v, a, u).T))
    np.testing.assert_allclose(w["motor.gain"], [-1.5, 0])
    np.testing.assert_allclose(w["servo.gain"], [0, 0.5])
    np.testing.assert_allclose(w["servo.bias.length"], [0, -0.4])
    np.testing.assert_allclose(w["one_joint.friction"], [1, 0])
    np.testing.assert_allclose(w["two_joint.damping"], [0, -2])


def test_rows_leave_multipliers_out_at_redundant_and_singular_configurations() -> None:
    mechanism = sr.load("models/five_bar.xml")
    system = sr.System(mechanism)
    regressor = Regressor(system)
    for key, freedoms in (("symmetric", 2), ("collinear", 3)):
        q = mechanism.keyframes[key].q
        v = system.project_velocity(q, [0.3, 0.2, -0.4, 0.1])
        found = system.forward_dynamics(q, v, [3.0, -2.0], throw=False)
        rows, right = regressor.rows(q, v, found.a, [3.0, -2.0])
        assert len(rows) == freedoms
        np.testing.assert_allclose(rows @ regressor.values, right, atol=1e-10)


def test_two_links_have_six_base_parameters_and_four_without_gravity() -> None:
    # Inertia and two first moments of each; without gravity the first moment of the first link does nothing.
    assert len(base_parameters(Regressor(sr.System(two_links((0, 0, -9.81)))))) == 6
    base = base_parameters(Regressor(sr.System(two_links((0, 0, 0)))))
    assert len(base) == 4
    assert base.labels[-1].startswith("two.origin_inertia.yy")
    assert "one.origin_inertia.yy + 0.49 two.mass" in base.labels
    assert "one.mass" in base.without_effect
    assert set(base.identifiable) == {"two.first_moment.x", "two.first_moment.z", "two.origin_inertia.yy"}


def test_four_bar_has_eight_and_five_bar_eleven() -> None:
    # Crank and rocker have an inertia and two first moments. A coupler is two masses at its pins, which belong to its
    # neighbours, an inertia beyond these and a moment across. Of two couplers that share a pin one has its mass, too.
    base = base_parameters(Regressor(sr.System(four_bar())))
    assert len(base) == 8
    assert base.gap > 1e4
    assert len(base_parameters(Regressor(sr.System(sr.load("models/five_bar.xml"))))) == 11


def test_puma_has_the_published_count() -> None:
    # Mayeda, Yoshida, Osuka: Base parameters of manipulator dynamic models, IEEE Transactions on Robotics and
    # Automation 6(3), 1990: 7 N − 4 β − 2 where the first axis is along gravity, β axes in a row parallel to it: 36.
    mechanism = puma()
    assert len(base_parameters(Regressor(sr.System(mechanism)))) == 36
    # Rotors about the joint axes: those of the first two joints join inertias, the other four are their own.
    armature = [f"link{k + 1}_joint.armature" for k in range(6)]
    base = base_parameters(Regressor(sr.System(mechanism), also=armature))
    assert len(base) == 40
    assert {f"link{k}_joint.armature" for k in (3, 4, 5, 6)} <= set(base.identifiable)
    assert {f"link{k}_joint.armature" for k in (1, 2)} <= set(base.unidentifiable)


@pytest.mark.parametrize("seed", range(3))
def test_base_parameters_are_all_that_the_equations_depend_on(seed: int) -> None:
    system = sr.System(four_bar() if seed == 0 else two_links((0.3, 0.2, -9.0)))
    regressor = Regressor(system)
    base = base_parameters(regressor, seed=seed)
    rng = np.random.default_rng(seed + 10)
    _, _, vt = np.linalg.svd(base.matrix * regressor.size)
    hidden = regressor.size * (rng.standard_normal(len(vt) - len(base)) @ vt[len(base) :])
    for state in islice(random_states(regressor, seed=99), 20):
        rows, _ = regressor.rows(*state)
        assert np.abs(rows @ hidden).max() < 1e-9 * np.abs(rows * hidden).max()
    again = base_parameters(regressor, seed=seed + 1)
    assert again.labels == base.labels  # the samples do not matter, nor their rounding


def test_what_cannot_be_identified_is_named() -> None:
    m = sr.Mechanism("slides")
    m.add_body("base", 5.0, inertia=(1, 1, 1))
    m.add_joint("floor", "fixed", "world", "base")
    m.add_body("cart", 2.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.2))
    m.add_joint("slide", "prismatic", "base", "cart", axis=(1, 0, 0), armature=0.3)
    base = base_parameters(Regressor(sr.System(m)))
    assert base.labels == ("cart.mass + slide.armature",)
    assert {"base.mass", "base.origin_inertia.xx", "cart.origin_inertia.zz"} <= set(base.without_effect)
    assert {"cart.mass", "slide.armature"} <= set(base.unidentifiable)
    assert not base.identifiable
    assert "without effect: base.mass" in str(base)


def test_wrong_names_and_products_of_numbers_are_errors() -> None:
    m = two_links((0, 0, -9.81))
    m.add_actuator("motor", "one_joint", gain=3.0)
    m.add_spring_damper("spring", "world", "two", stiffness=100.0, rest_length=0.3, point1=(0, 0, 1))
    system = sr.System(m)
    with pytest.raises(
        sr.ArgumentError, match=r"unknown inertial number 'one\.mas'.*Did you mean 'one\.mass'"
    ):
        Regressor(system, ["one.mas"])
    with pytest.raises(sr.ArgumentError, match=r"unknown element 'three'"):
        Regressor(system, ["three.damping"])
    with pytest.raises(sr.ArgumentError, match=r"not linear in motor\.gain, motor\.gear together"):
        Regressor(system, ["motor.gain", "motor.gear"])
    with pytest.raises(
        sr.ArgumentError, match=r"not linear in spring\.stiffness, spring\.rest_length together"
    ):
        Regressor(system, ["spring.stiffness", "spring.rest_length"])
    Regressor(system, ["spring.rest_length"], also=["motor.gear"])
    with pytest.raises(sr.ArgumentError, match="sequence of names"):
        Regressor(system, "one.mass")
    with pytest.raises(sr.ArgumentError, match="no number to identify"):
        Regressor(system, ["one"], known=["one"])
    own = sr.System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: v[0] ** 2)
    with pytest.raises(sr.ArgumentError, match="System of a Mechanism"):
        Regressor(own)
    rod = sr.Mechanism("rod")
    rod.add_body("one", 1.0, inertia=(1, 1, 1))
    rod.add_joint("free", "free", "world", "one")
    rod.add_closure("rod", "distance", "world", "one", length=1.0, pose1=(0, 0, 1))
    with pytest.raises(sr.ArgumentError, match=r"'rod\.length' shapes the loops"):
        Regressor(sr.System(rod), ["one", "rod.length"])
