"""Metres, millimetres, grams: assembly, projections and motion do not depend on the units of the numbers."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from linear_precision import SHIPPED, shipped
from sarrus.base.arrays import Array
from sarrus.dynamics.impacts.activity import switch_on
from scaled import scaled, scales

# Numbers of lengths and masses are so many times larger: millimetres, kilometres, grams.
MODELS = list(SHIPPED)
CASES = [(name, 1e3, 1.0) for name in MODELS]
CASES += [(name, 1e-3, 1e3) for name in ("bennett", "five_bar", "foot, in flight", "stewart")]


def same(ours: Array, theirs: Array, factors: Array) -> None:
    """Assert that numbers are the same in other units, to 1e-9 of the largest of each kind."""
    ours = np.asarray(ours) / factors
    for scale in set(factors.tolist()):
        kind = factors == scale
        size = np.abs(theirs[..., kind]).max(initial=0.0)
        np.testing.assert_allclose(ours[..., kind], theirs[..., kind], rtol=0, atol=1e-9 * max(size, 1e-3))


@pytest.mark.parametrize(("name", "length", "mass"), CASES)
def test_every_shipped_model_is_the_same_in_other_units(name: str, length: float, mass: float) -> None:
    system, near = shipped(name)
    other = sr.System(scaled(system, length, mass))
    if name == "foot, on the ground":
        switch_on(other, [c.name for c in other.equations.contacts], other.neutral())
    places, speeds = scales(system, length)
    rng = np.random.default_rng(1)
    kick, wanted = rng.standard_normal((2, system.nv))
    guess = system.move(near, 0.1 * kick / scales(system, 2.0)[1])
    first, second = (s.assemble(q, throw=False) for s, q in ((system, guess), (other, guess * places)))
    assert (first.status, first.rank) == (second.status, second.rank)
    same(second.q, first.q, places)
    q = system.assemble(near, throw=False).q
    v, w = system.project_velocity(q, wanted), other.project_velocity(q * places, wanted * speeds)
    same(w, v, speeds)
    v = v / max(1.0, np.abs(v).max())
    dt = 1e-6 if name == "stiff, springs" else 1e-3
    options = {"duration": 50 * dt, "dt": dt, "switching": False, "progress": False}
    options["error_estimate"] = False  # the same in both, and none of this test's business
    ours = sr.simulate(system, q, v, **options)
    theirs = sr.simulate(other, q * places, v * speeds, throw=False, **options)
    assert ours.status is theirs.status is sr.Status.OK
    same(theirs.q, ours.q, places)
    same(theirs.v, ours.v, speeds)
    energy = mass * length**2
    same(even(other, theirs.multipliers), even(system, ours.multipliers), np.full(system.nc, energy))
    size = max(np.abs(ours.energy).max(), 1e-3)
    np.testing.assert_allclose(theirs.energy / energy, ours.energy, rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("name", MODELS)
def test_forces_and_steps_are_the_same_in_millimetres(name: str) -> None:
    """Of redundant rows in metres and radians λ is the shortest in characteristic units, whatever the numbers are."""
    system, near = shipped(name)
    other = sr.System(scaled(system, 1e3))
    for one in (system, other):
        switch_on(one, [c.name for c in one.equations.contacts], one.neutral())
    places, speeds = scales(system, 1e3)
    q = system.assemble(near, throw=False).q
    v = system.project_velocity(q, np.random.default_rng(3).standard_normal(system.nv))
    v = v / max(1.0, np.abs(v).max())
    there = (q * places, v * speeds)
    u = np.random.default_rng(4).standard_normal(system.nu)
    ours, theirs = system.forward_dynamics(q, v, u), other.forward_dynamics(*there, u)
    assert ours.rank == theirs.rank
    assert ours.determined.tolist() == theirs.determined.tolist()
    same(theirs.a, ours.a, speeds)
    same(even(other, theirs.multipliers), even(system, ours.multipliers), np.full(system.nc, 1e6))
    back = system.inverse_dynamics(q, v, ours.a, throw=False)
    again = other.inverse_dynamics(*there, theirs.a, throw=False)
    assert (again.rank, again.actuation_rank) == (back.rank, back.actuation_rank)
    same(again.u, back.u, np.ones(system.nu))
    same(even(other, again.multipliers), even(system, back.multipliers), np.full(system.nc, 1e6))


@pytest.mark.parametrize(
    "name", ["bennett", "five_bar", "front_loader", "quadruped", "stewart", "slider_crank"]
)
def test_inverse_kinematics_is_the_same_in_millimetres(name: str) -> None:
    """Where motions are left the answer is the one that the steps, in characteristic units, come to."""
    system, near = shipped(name)
    other, (places, _) = sr.System(scaled(system, 1e3)), scales(system, 1e3)
    q = system.assemble(near).q
    kick = 0.05 * np.random.default_rng(5).standard_normal(system.nv) / system.characteristic.columns
    goal = system.assemble(system.move(q, system.project_velocity(q, kick))).q
    body = list(system.mechanism.bodies)[-1]
    place = system.body_placements(goal)[0][-1]
    ours = sr.inverse_kinematics(system, {body: place}, q)
    theirs = sr.inverse_kinematics(other, {body: 1e3 * place}, q * places)
    assert (theirs.dof, theirs.iterations) == (ours.dof, ours.iterations)
    np.testing.assert_allclose(theirs.q / places, ours.q, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["bennett", "front_loader", "quadruped", "stewart"])
def test_adaptive_steps_are_the_same_in_millimetres(name: str) -> None:
    system, near = shipped(name)
    other, (places, speeds) = sr.System(scaled(system, 1e3)), scales(system, 1e3)
    q = system.assemble(near).q
    v = 0.3 * system.project_velocity(q, np.random.default_rng(3).standard_normal(system.nv))
    options = {
        "duration": 0.05,
        "method": "dopri5",
        "rtol": 1e-6,
        "error_estimate": False,
        "switching": False,
    }
    ours = sr.simulate(system, q, v, progress=False, **options)
    theirs = sr.simulate(other, q * places, v * speeds, progress=False, **options)
    assert (theirs.steps, theirs.rejected) == (ours.steps, ours.rejected)
    np.testing.assert_allclose(theirs.t, ours.t, rtol=1e-6)
    same(theirs.q[-1], ours.q[-1], places)


def even(system: sr.System, multipliers: Array) -> Array:
    """Return multipliers in characteristic units, energies all."""
    return multipliers / system.characteristic.rows


def crank_and_slider(unit: float) -> sr.System:
    """A crank of 0.3 m that pushes a slide: the point at its end stays on the slide's line across."""
    mechanism = sr.Mechanism("crank", gravity=(0, 0, 0))
    mechanism.add_body("crank", 2.0, (0.15 * unit, 0, 0), np.array([0.01, 0.03, 0.03]) * unit**2)
    mechanism.add_joint("crank", "revolute", "world", "crank")
    mechanism.add_body("slide", 1.0, inertia=np.array([0.01, 0.01, 0.01]) * unit**2)
    mechanism.add_joint("slide", "prismatic", "world", "slide", axis=(1, 0, 0))
    mechanism.add_closure("pin", "point_on_plane", "slide", "crank", axis=(1, 0, 0), pose2=(0.3 * unit, 0, 0))
    return sr.System(mechanism)


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_a_demand_on_the_crank_is_met_in_every_unit(unit: float) -> None:
    """Of the velocities that the pin allows, the one nearest to 1 rad/s of the crank is that of a blow on it."""
    system = crank_and_slider(unit)
    q = np.array([1.0, 0.3 * unit * np.cos(1.0)])
    assert np.abs(system.constraint_residual(q)).max() < 1e-13 * unit
    v = system.project_velocity(q, [1.0, 0.0])
    way = np.array([1.0, -0.3 * np.sin(1.0)])  # the slide's velocity in metres per radian
    mass = np.diag([0.03 + 2.0 * 0.15**2, 1.0])
    expected = way * (way @ mass @ [1.0, 0.0]) / (way @ mass @ way)
    np.testing.assert_allclose(v / [1.0, unit], expected, rtol=1e-12)


@pytest.mark.parametrize("coordinates", ["partition", "tangent-space"])
@pytest.mark.parametrize("length", [1e-3, 1e3])
def test_independent_coordinates_are_the_same_in_all_units(length: float, coordinates: str) -> None:
    """What is chosen, and with it the eigenvalues away from rest, must not depend on metres or millimetres."""

    def machine(size: float) -> sr.LinearSystem:
        mechanism = sr.Mechanism("slider-crank", gravity=(0, 0, -9.81 * size))
        mechanism.add_body("crank", 1.0, (0.02 * size, 0, 0), 3 * (1e-3 * size**2,))
        mechanism.add_joint(
            "crank",
            "revolute",
            "world",
            "crank",
            axis=(0, -1, 0),
            stiffness=3.0 * size**2,
            damping=0.02 * size**2,
        )
        mechanism.add_body("rod", 0.4, (0.1 * size, 0, 0), 3 * (2e-3 * size**2,))
        mechanism.add_joint(
            "rod", "revolute", "crank", "rod", axis=(0, -1, 0), parent_pose=(0.05 * size, 0, 0)
        )
        mechanism.add_body("piston", 0.5, inertia=3 * (1e-4 * size**2,))
        mechanism.add_joint("piston", "prismatic", "world", "piston", axis=(1, 0, 0))
        mechanism.add_closure(
            "pin", "point_on_line", "rod", "piston", pose1=(0.2 * size, 0, 0), axis=(0, -1, 0)
        )
        system = sr.System(mechanism)
        q = system.assemble([0.6, -0.8, 0.24 * size], locked=["crank"]).q
        return sr.linearize_at(system, q, system.project_velocity(q, [3.0, 0, 0]), coordinates=coordinates)

    one, other = machine(1.0), machine(length)
    assert other.names == one.names
    np.testing.assert_allclose(other.A, one.A, rtol=1e-8, atol=1e-8)
