"""CasADi functions of contacts, ropes, stops and dry friction: rows, forces as inputs, phases with margins."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from contact_phases import FAMILIES, Scene
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.contacts.contact_elements import Mode, contact_elements, contact_names
from sarrus.dynamics.contacts.contact_state import contact_row_state
from test_forward_dynamics_with_contacts import ON_GROUND, ball

MARGINS = "gaps", "normals", "cones", "slips"


def evaluated(function: ca.Function, scene: Scene, **more: object) -> dict[str, Array]:
    """Return the outputs at a scene."""
    given: dict[str, object] = {
        "q": scene.q,
        "v": scene.v,
        "u": scene.u,
        "t": scene.t,
        "p": list(scene.system.parameters.values()),
    }
    given |= more
    found = function(**{key: value for key, value in given.items() if key in function.name_in()})
    return {key: np.array(value)[:, 0] for key, value in found.items()}


def acceleration_of(scene: Scene) -> tuple[sr.ForwardDynamics, float]:
    """Return forward dynamics, and the largest acceleration with or without contacts."""
    arguments = (scene.q, scene.v, scene.u, scene.t)
    found = scene.system.forward_dynamics(*arguments)
    free = scene.system.forward_dynamics(*arguments, contacts=False)
    return found, max(float(np.abs(found.a).max()), float(np.abs(free.a).max()))


@pytest.mark.parametrize("family", FAMILIES)
def test_phases_are_forward_dynamics_of_the_library(family: str) -> None:
    """In eleven families a to 1e-12; the forces where they are unique; all margins as the modes say."""
    done = 0
    for seed in range(2):
        scene = FAMILIES[family](np.random.default_rng([seed, 5]))
        if scene is None:
            continue
        wanted, size = acceleration_of(scene)
        if wanted.contacts is None or family == "balls slide":
            continue  # corners of a box that spins share their load, see below
        function = scene.system.to_casadi(
            "forward_dynamics", contacts=wanted.contacts.modes, rows="independent", q=scene.q, t=scene.t
        )
        found = evaluated(function, scene)
        assert_allclose(found["a"], wanted.a, rtol=0, atol=1e-12 * size)
        largest = np.abs(wanted.contacts.forces).max()
        if wanted.contacts.determined.all():
            assert_allclose(found["forces"], wanted.contacts.forces, rtol=0, atol=1e-11 * largest)
        assert all(found[name].min(initial=0.0) >= -1e-9 * largest for name in MARGINS)
        assert sum(found[name].size for name in MARGINS[1:]) >= 1
        done += 1
    assert done > 0 or family in ("balls slide", "standing")


@pytest.mark.parametrize("family", ["crate slides", "quadruped", "balls roll", "leg slides", "gears", "loop"])
def test_rows_and_forces_that_are_inputs(family: str) -> None:
    """Forward dynamics with the forces of the library is that of the library; inverse dynamics leaves S u."""
    scene = FAMILIES[family](np.random.default_rng([1, 5]))
    assert scene is not None
    system = scene.system
    wanted, size = acceleration_of(scene)
    assert wanted.contacts is not None
    forces = wanted.contacts.forces
    forward = system.to_casadi(
        "forward_dynamics", contacts="forces", rows="independent", q=scene.q, t=scene.t
    )
    assert forward.name_in() == ["q", "v", "u", "forces", "t", "p"]
    assert_allclose(evaluated(forward, scene, forces=forces)["a"], wanted.a, rtol=0, atol=1e-12 * size)
    inverse = system.to_casadi("inverse_dynamics", contacts="forces")
    more = {"a": wanted.a, "multipliers": wanted.multipliers, "forces": forces}
    actuated = system.actuation_matrix(scene.q, scene.v, scene.t) @ scene.u
    largest = np.abs(wanted.contacts.force).max()
    assert_allclose(evaluated(inverse, scene, **more)["force"], actuated, rtol=0, atol=1e-10 * largest)
    state = contact_row_state(system, scene.q, scene.v, scene.t)
    p = list(system.parameters.values())
    at = {"q": scene.q, "t": scene.t, "p": p}
    rows = np.array(system.to_casadi("contact_jacobian")(**at)["contact_jacobian"])
    assert_allclose(rows, state.rows, rtol=1e-13, atol=1e-13)
    for name, values in (("contact_velocity", state.rates), ("contact_bias", state.bias)):
        found = evaluated(system.to_casadi(name), scene)[name]
        assert_allclose(found, values, rtol=1e-12, atol=1e-12 * (1.0 + np.abs(values).max()))
    unilateral = [k for k, one in enumerate(contact_elements(system)) if one.kind != "friction"]
    gaps = evaluated(system.to_casadi("contact_gaps"), scene)["contact_gaps"]
    assert_allclose(gaps, state.gaps[unilateral], rtol=1e-12, atol=1e-12)


def test_normal_forces_of_a_crate_are_those_on_equal_springs() -> None:
    """Four corners that stick: a is unique, and the normal forces are those of the library."""
    scene = FAMILIES["crate sticks"](np.random.default_rng([0, 5]))
    assert scene is not None
    wanted, _ = acceleration_of(scene)
    assert wanted.contacts is not None
    modes = wanted.contacts.modes
    with pytest.raises(
        ArgumentError, match=r"the rows c\d\.\w+.* statics leaves their forces open.*'independent'"
    ):
        scene.system.to_casadi("forward_dynamics", contacts=modes, q=scene.q)
    function = scene.system.to_casadi("forward_dynamics", contacts=modes, rows="independent", q=scene.q)
    normals = [one.rows.start for one in contact_elements(scene.system)]
    found = evaluated(function, scene)
    assert_allclose(found["normals"], wanted.contacts.forces[normals], rtol=1e-11)
    assert (found["gaps"].size, found["cones"].size, found["slips"].size) == (0, 4, 0)


def test_a_crate_that_spins_shares_its_load_as_in_the_library() -> None:
    """All four corners push and slide in different directions: a depends on the share."""
    scene = FAMILIES["crate slides"](np.random.default_rng([0, 5]))
    assert scene is not None
    v = scene.v.copy()
    v[:6] = 0.3, 0.1, 0, 0, 0, 0.8
    spun = scene._replace(v=v)
    wanted, size = acceleration_of(spun)
    assert wanted.contacts is not None
    assert len(wanted.contacts.ambiguous) == 4
    function = spun.system.to_casadi(
        "forward_dynamics", contacts=wanted.contacts.modes, rows="independent", q=spun.q
    )
    found = evaluated(function, spun)
    assert_allclose(found["a"], wanted.a, rtol=0, atol=1e-12 * size)
    assert_allclose(found["forces"], wanted.contacts.forces, rtol=0, atol=1e-11 * 30.0)


def test_margins_change_sign_where_modes_do() -> None:
    """A ball of radius r that is pushed: it rolls up to 3.5 μ g, and its slip has the sign of a given direction."""
    system, still = ball(0.3), np.zeros(6)
    rolls = system.to_casadi("forward_dynamics", contacts={"c": Mode.STICKING}, q=ON_GROUND)
    slides = system.to_casadi("forward_dynamics", contacts={"c": ("sliding", (0.0, 2.0))}, q=ON_GROUND)
    for speed in (1.0, -1.0):
        scene = Scene(system, np.array(ON_GROUND), np.array([0, speed, 0, 0, 0, 0]), np.zeros(0))
        found = evaluated(slides, scene)
        assert_allclose(found["slips"], [speed])
        assert_allclose(found["forces"], [9.81, 0.0, -0.3 * 9.81], atol=1e-12)
    by_slip = system.to_casadi("forward_dynamics", contacts={"c": "sliding"}, q=ON_GROUND)
    scene = Scene(system, np.array(ON_GROUND), np.array([0.6, -0.8, 0, 0, 0, 0]), np.zeros(0))
    assert_allclose(evaluated(by_slip, scene)["a"], system.forward_dynamics(scene.q, scene.v).a, atol=1e-12)
    for slip in (0.0, 1e-12):  # friction has no direction: no number, never a wrong one
        assert not np.isfinite(evaluated(by_slip, scene, v=slip + still)["a"]).all()
    assert_allclose(evaluated(rolls, scene, v=still)["cones"], [(0.3 * 9.81) ** 2])
    slope = ca.Function("s", [rolls.sx_in(0)], [ca.jacobian(rolls(q=rolls.sx_in(0))["a"], rolls.sx_in(0))])
    assert np.isfinite(np.array(slope(ON_GROUND))).all()


def test_what_does_not_fit_is_refused_by_name() -> None:
    mechanism = sr.Mechanism("slide")
    mechanism.add_body("slide", 2.0)
    mechanism.add_joint("x", "prismatic", "world", "slide", axis=(1, 0, 0), friction=0.5, limits=(0.0, 1.0))
    system = sr.System(mechanism)
    assert contact_names(system) == ("x.lower stop", "x.upper stop", "x.friction")
    for options, text in (
        ({"contacts": {}}, "no mode of 'x.friction': dry friction is 'sticking' or 'sliding'"),
        ({"contacts": {"y": "open"}}, "unknown contact, stop or dry friction 'y'"),
        ({"contacts": {"x.friction": "still"}}, "'still'.*sticking"),
        ({"contacts": {"x.friction": ("sliding", (1.0, 0.0))}}, "direction of 'x.friction' needs 1 numbers"),
        ({"contacts": "modes"}, "contacts must be 'forces' or modes by name, got 'modes'"),
    ):
        with pytest.raises(ArgumentError, match=text):
            system.to_casadi("forward_dynamics", **options)
    with pytest.raises(
        ArgumentError, match="'reduced_dynamics' takes no contacts=modes; forward_dynamics do"
    ):
        system.to_casadi("reduced_dynamics", contacts={"x.friction": "sticking"})
    with pytest.raises(ArgumentError, match=r"'mass_matrix' takes no contacts='forces'"):
        system.to_casadi("mass_matrix", contacts="forces")
    back = system.to_casadi(
        "forward_dynamics", contacts={"x.friction": ("sliding", -1), "x.lower stop": "open"}
    )
    found = back(q=[0.4], v=[-1.0])
    assert_allclose([float(found["a"]), *np.array(found["gaps"])[:, 0]], [0.25, 0.4, 0.6])
    held = system.to_casadi(
        "forward_dynamics", contacts={"x.friction": "sliding", "x.lower stop": "sticking"}
    )
    assert float(held(q=[0.0], v=[1.0])["normals"]) == pytest.approx(0.5)
