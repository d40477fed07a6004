"""Forces of contacts, stops and dry friction at random states: equations of motion, and the laws written once more."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_elements import Mode
from sarrus.dynamics.contacts.contact_state import contact_row_state

ARM, LIMIT = 7, 0.3  # place of the first hinge in q, and its upper limit


def crate_with_arm(rng: np.random.Generator) -> sr.System:
    """Return a body on up to six points, with an arm of up to two hinges on it: with stops, and dry friction."""
    mechanism, hinges = sr.Mechanism("crate"), int(rng.integers(0, 3))
    mechanism.add_body("crate", mass=rng.uniform(0.5, 3.0), inertia=tuple(rng.uniform(0.02, 0.04, 3)))
    mechanism.add_joint("float", "free", "world", "crate", parent_pose=(0, 0, 0.1))
    coefficient = float(rng.choice([0.0, 0.2, 0.5, 0.9]))
    more = {"static_coefficient": 1.4 * coefficient} if rng.random() < 0.3 else {}
    if coefficient > 0.0 and rng.random() < 0.3:
        more["torsion"] = 0.05
    for k, (x, y) in enumerate(rng.uniform(-0.3, 0.3, (rng.integers(1, 7), 2))):
        mechanism.add_contact(
            f"c{k}", "crate", (x, y, -0.1), friction="coulomb", friction_coefficient=coefficient, **more
        )
    before = "crate"
    for k in range(hinges):
        mechanism.add_body(f"arm{k}", mass=rng.uniform(0.2, 1.0), inertia=(5e-3, 4e-3, 6e-3), com=(0, 0, 0.1))
        mechanism.add_joint(
            f"hinge{k}", "revolute", before, f"arm{k}", axis=tuple(rng.normal(size=3)), parent_pose=(0, 0, 0.1),
            limits=(-1.0, LIMIT), friction=float(rng.choice([0.0, 0.5, 2.0])),
        )  # fmt: skip
        before = f"arm{k}"
    return sr.System(mechanism)


def random_state(system: sr.System, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return q, v and applied forces at which nothing approaches."""
    q, v, tau = system.neutral().copy(), np.zeros(system.nv), np.zeros(system.nv)
    v[[0, 1, 5]] = rng.normal(size=3) * rng.integers(0, 2, 3)
    v[6:] = -np.abs(rng.normal(size=system.nv - 6)) * rng.integers(0, 2)
    if system.nq > ARM and rng.random() < 0.5:
        q[ARM] = LIMIT
    tau[:3] = rng.normal(size=3) * rng.choice([0.0, 5.0, 15.0])
    tau[3:] = rng.normal(size=system.nv - 3) * rng.choice([0.0, 0.5, 2.0])
    return q, v, tau


def worst_break(system: sr.System, q: Array, v: Array, found: sr.ForwardDynamics) -> float:
    """Return by how much forces break the laws of Signorini and Coulomb, in their own units, modes aside."""
    state, forces, worst = contact_row_state(system.workspace(), q, v, 0.0), found.contacts.forces, 0.0
    accelerations = state.rows @ found.a + state.bias
    for one, gap in zip(state.elements, state.gaps):
        force, change, speed = forces[one.rows], accelerations[one.rows], state.rates[one.rows]
        if one.kind != "friction":
            if gap > 1e-6 or speed[0] > 1e-8:
                worst = max(worst, np.abs(force).max())
                continue
            worst = max(worst, -force[0], -change[0], min(force[0], change[0]))
        first = int(one.kind != "friction")
        rub, slip, now = force[first:], speed[first:], change[first:]
        if len(rub) == 0:
            continue
        moving = np.linalg.norm(slip) > 1e-7
        static = one.static * force[0] if first else one.limit
        most = one.friction * force[0] if first else one.limit
        if moving:
            worst = max(worst, np.linalg.norm(rub + most * slip / np.linalg.norm(slip)))
        else:
            size = np.linalg.norm(now)
            begins = np.linalg.norm(rub + most * now / size) if size > 0.0 else np.inf
            worst = max(worst, min(begins, max(size, np.linalg.norm(rub) - static)))
    return float(worst)


@pytest.mark.parametrize("seed", range(12))
def test_forces_obey_the_laws_and_move_the_mechanism(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = crate_with_arm(rng)
    for _ in range(12):
        q, v, tau = random_state(system, rng)
        found = system.forward_dynamics(q, v, tau=tau)
        load = system.mass_matrix(q) @ found.a + system.bias_force(q, v) - system.passive_force(q, v, 0.0)
        assert_allclose(load, tau + found.contacts.force, atol=1e-10 * max(1.0, np.abs(load).max()))
        size = max(1.0, np.abs(found.contacts.forces).max(), np.abs(found.a).max())
        assert worst_break(system, q, v, found) < 1e-10 * size
        assert found.contacts.residual < 1e-12


def loaded_crate(rng: np.random.Generator) -> sr.System:
    """Return a crate on points, with a box on it by a narrow phase, and two weights on a tendon that rubs and a tie."""
    mechanism = sr.Mechanism("loaded")
    mechanism.add_body("crate", mass=2.0, inertia=(0.04, 0.05, 0.06))
    mechanism.add_joint("float", "free", "world", "crate", parent_pose=(0, 0, 0.1))
    mechanism.add_geom("crate", "crate", "box", (0.3, 0.3, 0.1))
    for k, (x, y) in enumerate([(0.25, 0.25), (0.25, -0.25), (-0.25, 0.25), (-0.25, -0.25)]):
        mechanism.add_contact(
            f"c{k}", "crate", (x, y, -0.1), friction="coulomb", friction_coefficient=rng.uniform(0.2, 0.6)
        )
    for name, x in (("light", 0.1), ("heavy", -0.1)):
        mechanism.add_body(name, mass=rng.uniform(0.2, 0.8))
        mechanism.add_joint(
            name, "prismatic", "crate", name, axis=(0, 0, 1), parent_pose=(x, 0.2, -0.4), limits=(-0.2, 0.1),
            friction=0.3,
        )  # fmt: skip
    path = ["light", ("crate", (0.1, 0.2, 0.3)), ("crate", (-0.1, 0.2, 0.3)), "heavy"]
    mechanism.add_tendon("rope", path, friction=rng.uniform(0.5, 2.0))
    mechanism.add_rope("tie", ["light", ("world", (0.1, 0.2, 0.3))], length=0.6)
    mechanism.add_body("box", mass=0.7, inertia=(2e-3, 3e-3, 4e-3))
    mechanism.add_joint("above", "free", "world", "box", parent_pose=(0, 0, 0.25))
    mechanism.add_geom("box", "box", "box", (0.1, 0.1, 0.05))
    mechanism.add_geometry_contacts(friction_coefficient=0.4, static_coefficient=0.5)
    return sr.System(mechanism)


@pytest.mark.parametrize("seed", range(4))
def test_forces_obey_the_laws_with_ropes_stops_and_a_narrow_phase(seed: int) -> None:
    """Also where the box has no point on the crate, two, or four, in turn."""
    rng = np.random.default_rng(seed)
    system = loaded_crate(rng)
    joint = {name: system.velocity_names.index(name) for name in ("light", "heavy")}
    seen = set()
    for k in range(12):
        q, v, tau = system.neutral().copy(), np.zeros(system.nv), np.zeros(system.nv)
        lifted = (0.0, 0.05, 0.0)[k % 3]
        box = slice(system.nq - 7, system.nq)
        q[box.start + 2] += lifted
        if k % 3 == 2:  # on an edge
            turn = 0.3
            q[box.start + 2] += 0.1 * np.sin(turn) + 0.05 * np.cos(turn) - 0.05
            q[box.start + 3 : box.stop] = np.cos(0.5 * turn), 0.0, np.sin(0.5 * turn), 0.0
        for name, at in joint.items():
            q[system.coordinate_names.index(name)] = place = rng.choice([0.0, 0.1])
            if name == "heavy" or place > 0.0:  # otherwise the tie is taut
                v[at] = -abs(rng.normal()) * rng.integers(0, 2)
        if k % 2:
            v[[0, 1]] = rng.normal(size=2)
            v[-6:-4] = v[[0, 1]] if rng.random() < 0.5 else rng.normal(size=2)
        tau[:3], tau[-6:-3] = 4.0 * rng.normal(size=3), 2.0 * rng.normal(size=3)
        tau[list(joint.values())] = 3.0 * rng.normal(size=2)
        found = system.forward_dynamics(q, v, tau=tau)
        forces, state = found.contacts.forces, contact_row_state(system.workspace(), q, v, 0.0)
        assert found.contacts.names == state.names
        assert_allclose(
            state.rows.T @ forces, found.contacts.force, atol=1e-10 * max(1.0, np.abs(forces).max())
        )
        load = system.mass_matrix(q) @ found.a + system.bias_force(q, v) - system.passive_force(q, v, 0.0)
        assert_allclose(load, tau + found.contacts.force, atol=1e-10 * max(1.0, np.abs(load).max()))
        size = max(1.0, np.abs(forces).max(), np.abs(found.a).max())
        assert worst_break(system, q, v, found) < 1e-9 * size
        assert found.contacts.residual < 1e-11
        seen.add(sum("crate-box" in one.name for one in state.elements))
    assert seen == {0, 2, 4}


def test_a_call_between_others_leaves_nothing_behind() -> None:
    """Two states in turn have the answers they have alone, in one system and in its copy."""
    rng = np.random.default_rng(3)
    system = crate_with_arm(rng)
    states = [random_state(system, rng) for _ in range(6)]
    alone = [system.forward_dynamics(q, v, tau=tau) for q, v, tau in states]
    other = system.with_parameters({})
    for one, (q, v, tau) in zip(alone, states):
        for again in (system, other):
            found = again.forward_dynamics(q, v, tau=tau)
            assert np.array_equal(found.a, one.a)
            assert np.array_equal(found.contacts.forces, one.contacts.forces)
            assert found.contacts.modes == one.contacts.modes


def test_a_load_at_a_corner_lifts_the_opposite_point() -> None:
    """The springs of all points would have one pull: it opens, and the others share the load by statics."""
    mechanism = sr.Mechanism("plate")
    mechanism.add_body("plate", mass=1.0, com=(0.28, 0.18, 0.0), inertia=(0.02,) * 3)
    mechanism.add_joint("float", "free", "world", "plate")
    for k, (x, y) in enumerate([(-0.3, -0.2), (0.3, -0.2), (0.3, 0.2), (-0.3, 0.2)]):
        mechanism.add_contact(f"c{k}", "plate", (x, y, 0.0), friction="coulomb", friction_coefficient=0.5)
    found = sr.System(mechanism).forward_dynamics([0, 0, 0, 1, 0, 0, 0], np.zeros(6))
    assert_allclose(found.a, 0.0, atol=1e-11)
    normal = found.contacts.forces[::3]
    assert normal.min() > -1e-12
    assert normal.sum() == pytest.approx(9.81)
    assert normal @ [-0.3, 0.3, 0.3, -0.3] == pytest.approx(0.28 * 9.81)
    assert set(found.contacts.modes.values()) <= {Mode.STICKING, Mode.OPEN}


def press(mass: float) -> sr.System:
    """Return a crank, a rod of this mass and a ram on a rail, with dry friction and a stop."""
    mechanism = sr.Mechanism("press")
    mechanism.add_body("crank", 1.0, inertia=(0.01,) * 3, com=(0.15, 0, 0))
    mechanism.add_joint("crank", "revolute", "world", "crank", axis=(0, -1, 0), friction=0.4)
    mechanism.add_body("rod", mass, inertia=(0.01 * mass,) * 3, com=(0.2, 0, 0) if mass else (0, 0, 0))
    mechanism.add_joint("knee", "revolute", "crank", "rod", axis=(0, -1, 0), parent_pose=(0.3, 0, 0))
    mechanism.add_body("ram", 2.0)
    mechanism.add_joint("ram", "prismatic", "world", "ram", axis=(1, 0, 0), limits=(0.2, 0.55), friction=1.5)
    mechanism.add_closure("pin", "point", "rod", "ram", pose1=(0.4, 0, 0))
    return sr.System(mechanism)


def test_a_rod_without_mass_is_the_limit_of_a_light_one() -> None:
    """M has no factor then: compliances follow from differences of accelerations."""
    exact, light = press(0.0), press(1e-7)
    q = exact.assemble([0.6, -0.9, 0.5], locked=["crank"]).q
    for torque in (0.5, 5.0, -20.0):
        found, near = (s.forward_dynamics(q, np.zeros(3), tau=[torque, 0.0, 0.0]) for s in (exact, light))
        assert found.contacts.residual < 1e-12
        assert found.contacts.modes == near.contacts.modes
        assert_allclose(found.a, near.a, atol=1e-5 * max(1.0, np.abs(near.a).max()))
