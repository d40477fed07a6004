"""Derivatives about contacts of boxes, cylinders and meshes, whose modes and features are held."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from contact_phases import Scene, error_of
from geometry_scenes import G, add_free, cube, scene
from held_geometries import HeldGeometries, Unknown, pair, pressed, step_error
from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from test_geometry_states import ACROSS, brought_together, posed, smallest

# Of differences, extrapolated.
EXACT = 1e-8
PAIRS = {
    "box, plane": (None, ("box", (0.1, 0.2, 0.3)), {}),
    "rim, plane": (None, ("cylinder", (0.2, 0.1)), {}),
    "box, box": (("box", (0.2, 0.3, 0.1)), ("box", (0.1, 0.2, 0.3)), {}),
    "box, mesh": (("box", (0.2, 0.3, 0.1)), ("mesh", ()), {"points": cube(0.15) * [1.0, 1.5, 0.7]}),
    "capsule, box": (("capsule", (0.1, 0.4)), ("box", (0.2, 0.3, 0.1)), {}),
    "capsule, cylinder": (("capsule", (0.1, 0.4)), ("cylinder", (0.2, 0.3)), {}),
    "ellipsoids": (("ellipsoid", (0.2, 0.3, 0.1)), ("ellipsoid", (0.1, 0.2, 0.3)), {}),
    "cylinder, ball": (("cylinder", (0.2, 0.3)), ("sphere", (0.1,)), {}),
    "ellipsoid, ball": (("ellipsoid", (0.2, 0.3, 0.1)), ("sphere", (0.1,)), {}),
    "cylinder, ellipsoid": (("cylinder", (0.2, 0.3)), ("ellipsoid", (0.1, 0.2, 0.3)), {}),
    "ellipsoids, five rows": (
        ("ellipsoid", (0.2, 0.3, 0.1)), ("ellipsoid", (0.1, 0.2, 0.3)),
        {"condim": 6, "priority": 1, "torsion": 0.0, "rolling": 0.02},
    ),
    "capsule, box, six rows": (
        ("capsule", (0.1, 0.4)), ("box", (0.2, 0.3, 0.1)),
        {"condim": 6, "priority": 1, "torsion": 0.03, "rolling": 0.02},
    ),
}  # fmt: skip


def touching(name: str, mode: str, seed: int) -> Scene:
    """Return a random state of a pair that touches, is pressed together, and rolls (or sticks) or slides."""
    base, geom, more = PAIRS[name]
    if mode == "rolls":  # moments that hold whatever is asked
        more = {key: 100.0 * value if key in ("torsion", "rolling") else value for key, value in more.items()}
    system = pair(base, geom, 0.3 if mode == "slides" else 3.0, **more)
    rng, find = np.random.default_rng([5, seed]), smallest(system)
    while True:
        q, _ = posed(system, rng, (0.0, 0.0, 0.5) if base is None else None)
        try:
            return pressed(system, brought_together(system, q, find), rng, mode)
        except Unknown:
            continue


@pytest.mark.parametrize("mode", ["rolls", "slides"])
@pytest.mark.parametrize("name", PAIRS)
def test_linear_models_are_differences_of_the_phase(name: str, mode: str) -> None:
    error, model = error_of(touching(name, mode, 0), HeldGeometries, 0.01)
    assert error < EXACT
    assert len(model.names) < 2 * model.system.nv


@pytest.mark.parametrize(
    ("name", "mode"),
    [("box, box", "rolls"), ("box, box", "slides"), ("rim, plane", "rolls"), ("ellipsoids", "slides")],
)
def test_steps_are_those_of_the_phase(name: str, mode: str) -> None:
    apart, error = step_error(touching(name, mode, 0), 2e-4, np.random.default_rng(1))
    assert apart < 1e-11
    assert error < EXACT


# --- flat faces -----------------------------------------------------------------------------------------


def on_plate(kind: str, *, points: bool, friction: float) -> sr.System:
    """Return a body with a bob that stands on a plate on springs, by geometries or by contacts of points."""
    mechanism = scene("table", floor=False)
    mechanism.add_body("rail", 1.0, inertia=(0.1,) * 3)
    mechanism.add_joint(
        "height", "prismatic", "world", "rail", axis=(0.1, 0, 1), stiffness=500.0, damping=3.0
    )
    mechanism.add_body("plate", 3.0, com=(0.02, 0, -0.1), inertia=(0.3, 0.2, 0.4))
    mechanism.add_joint("tilt", "revolute", "rail", "plate", axis=(1, 1, 0), stiffness=90.0, damping=1.0)
    mechanism.add_body("body", 2.0, com=(0.01, 0.02, 0.0), inertia=(0.02, 0.03, 0.04))
    mechanism.add_joint("body", "free", "world", "body")
    mechanism.add_body("bob", 0.5, com=(0.05, 0, 0.1), inertia=(3e-3, 2e-3, 1e-3))
    mechanism.add_joint("neck", "spherical", "body", "bob", parent_pose=(0, 0.02, 0.05), damping=0.02)
    angles = np.pi / 6.0 * np.arange(12)
    corners = {
        "box": np.array([[x, y, -0.1] for x in (0.1, -0.1) for y in (0.2, -0.2)]),
        "mesh": np.array([[x, y, -0.125] for x in (0.125, -0.125) for y in (0.125, -0.125)]),
        "cylinder": np.column_stack([0.125 * np.cos(angles), 0.125 * np.sin(angles), np.full(12, -0.1)]),
    }[kind]
    if points:
        for k, corner in enumerate(corners):
            mechanism.add_contact(
                f"c{k}", "body", corner, ground="plate", friction="coulomb", friction_coefficient=friction
            )
        return sr.System(mechanism)
    mechanism.add_geom("top", "plate", "box", (1.0, 1.0, 0.1), pose=(0, 0, -0.1))
    size = {"box": (0.1, 0.2, 0.1), "cylinder": (0.125, 0.1)}.get(kind, ())
    more = {"points": cube(0.125)} if kind == "mesh" else {}
    mechanism.add_geom("body", "body", kind, size, **more)
    mechanism.add_geometry_contacts(friction_coefficient=friction)
    return sr.System(mechanism)


def standing(system: sr.System, *, slides: bool, height: float) -> Scene:
    """Return a state in which the body stands on the moving plate, which is tilted."""
    rng = np.random.default_rng(2)
    q, v = system.neutral(), 0.3 * rng.normal(size=system.nv)
    q[:2] = 0.05, 0.08
    places, turns = system.body_placements(q)
    k = list(system.mechanism.bodies).index("plate")
    q[2:5] = places[k] + turns[k] @ [0.1, -0.05, height]
    axis = np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
    q[5:9] = np.cos(0.04), *(np.sin(0.04) * axis)
    spin = v[1] * axis
    speed = v[0] * np.array([0.1, 0.0, 1.0]) / np.linalg.norm([0.1, 0, 1]) + np.cross(
        spin, q[2:5] - places[k]
    )
    v[2:5], v[5:8] = speed, turns[k].T @ spin
    if slides:
        v[2:5] += turns[k] @ [0.5, 0.3, 0.0]
    tau = np.zeros(system.nv)
    tau[2:5] = -60.0 * turns[k][:, 2]
    return Scene(system, q, v, np.zeros(0), 0.0, tau)


@pytest.mark.parametrize("slides", [False, True])
@pytest.mark.parametrize("kind", ["box", "mesh", "cylinder"])
def test_a_face_on_a_face_is_its_corners_on_a_plane(kind: str, slides: bool) -> None:
    """Linear models and derivatives of steps; corners of meshes that are sums of powers of two are exact."""
    found = []
    for points in (False, True):
        system = on_plate(kind, points=points, friction=0.2 if slides else 0.8)
        at = standing(system, slides=slides, height=0.125 if kind == "mesh" else 0.1)
        model = sr.linearize_at(system, at.q, at.v, tau=at.tau)
        step = sr.sensitivity.step_derivatives(system, at.q, at.v, dt=1e-3, tau=at.tau)
        assert {mode.name for mode in model.contacts.modes.values()} == {"SLIDING" if slides else "STICKING"}
        found.append((model, step))
    (ours, our_step), (theirs, their_step) = found
    assert ours.names == theirs.names
    for one, other in (
        (ours.A, theirs.A),
        (ours.affine, theirs.affine),
        (our_step.F, their_step.F),
        (our_step.v, their_step.v),
    ):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8 * max(1.0, np.abs(other).max()))


def test_derivatives_of_an_equilibrium_are_those_of_the_closed_form() -> None:
    """A crate with a spring and a motor on a plane that falls: corners in closed form, and found by a narrow phase."""
    found = []
    for closed_form in (True, False):
        mechanism = scene("crate", tilt=0.1)
        mechanism.add_body("rail", 0.5, inertia=(0.1,) * 3)
        mechanism.add_joint("x", "prismatic", "world", "rail", axis=(1, 0, 0), stiffness=40.0)
        mechanism.add_body("arm", 0.5, inertia=(0.1,) * 3)
        mechanism.add_joint(
            "arm", "revolute", "rail", "arm", axis=(0, 1, 0), parent_pose=(0, 0, 0.5), stiffness=30.0
        )
        mechanism.add_body("crate", 2.0, com=(0.01, 0.02, 0), inertia=(0.1,) * 3)
        mechanism.add_joint("crate", "free", "world", "crate", parent_pose=(2.0, 0, 0.15))
        mechanism.add_geom("crate", "crate", "box", (0.1, 0.2, 0.15))
        mechanism.add_body("bob", 0.5, com=(0.05, 0, 0.1), inertia=(3e-3, 2e-3, 1e-3))
        mechanism.add_joint("neck", "revolute", "crate", "bob", axis=(0, 1, 0), stiffness=20.0)
        mechanism.add_actuator("neck", "neck")
        mechanism.add_geometry_contacts(friction_coefficient=0.8, closed_form=closed_form)
        system = sr.System(mechanism, {"m": "bob.mass", "k": "neck.stiffness", "z": "neck.anchor.z"})
        rest = sr.equilibrium(system, system.neutral(), [0.3])
        found.append(sr.sensitivity.equilibrium_derivatives(system, rest.q, [0.3]))
        model = sr.linearize(system, rest.q, [0.3])
        assert model.names == ("x", "arm", "neck", "x.rate", "arm.rate", "neck.rate")
    for name in ("along", "along_du", "constraint_force"):
        np.testing.assert_allclose(
            *(getattr(one, name) for one in found), rtol=0, atol=1e-9 * np.abs(getattr(found[0], name)).max()
        )
    assert np.abs(found[0].along).max() > 0.01


# --- borders --------------------------------------------------------------------------------------------


def stack(upper: tuple[float, float, float], friction: float) -> tuple[sr.System, Array]:
    """Return two boxes, the upper of which has the given half sizes, and their state at rest."""
    mechanism = scene("stack")
    add_free(mechanism, "low", "box", (0.2, 0.2, 0.1), (0.0, 0.0, 0.1))
    add_free(mechanism, "high", "box", upper, (0.0, 0.0, 0.2 + upper[2]))
    mechanism.add_geometry_contacts(friction_coefficient=friction)
    system = sr.System(mechanism)
    return system, system.neutral()


def test_corners_on_corners_are_a_border_for_boxes_that_slide() -> None:
    system, q = stack((0.2, 0.2, 0.1), 0.5)
    assert sr.linearize(system, q).names == ()  # nothing moves, whatever touches
    v = np.zeros(12)
    v[6] = 0.5
    with pytest.raises(
        SolveError, match=r"contact 'low-high.\d' touches where a corner, an edge or a rim begins"
    ):
        sr.linearize_at(system, q, v)
    smaller, q = stack((0.1, 0.1, 0.1), 0.5)
    model = sr.linearize_at(smaller, q, v)
    assert model.coordinates == ("high.vx", "high.vy", "high.wz")
    aside = model.dof + 1
    np.testing.assert_allclose(model.A[aside, aside], -0.5 * G / 0.5, rtol=1e-9)


def test_borders_of_modes_are_named_by_their_pair() -> None:
    system, q = stack((0.1, 0.1, 0.1), 0.5)
    tau = np.zeros(12)
    tau[6] = 0.5 * G
    with pytest.raises(
        SolveError, match=r"contact 'low-high.\d' sticks with all the friction that it can have"
    ):
        sr.linearize_at(system, q, tau=tau)
    tau[6:9] = 0.0, 0.0, G
    with pytest.raises(SolveError, match=r"contact 'low-high.\d' is closed without a force"):
        sr.linearize_at(system, q, tau=tau)


def test_a_step_in_which_other_features_touch_is_refused() -> None:
    """A corner leaves the face on which it slides; a box lands; a box that slides stops."""
    system, q = stack((0.1, 0.1, 0.1), 0.3)
    v = np.zeros(12)
    q[7], v[6] = 0.1 - 1e-3, 1.0
    assert sr.sensitivity.step_derivatives(system, q, v, dt=5e-4).v[6] < 1.0
    with pytest.raises(
        SolveError, match=r"from t = 0 to 0.002 s, in which the mode of 'low-high.\d' changes"
    ):
        sr.sensitivity.step_derivatives(system, q, v, dt=2e-3)
    q[7], v[6] = 0.0, 1e-3
    with pytest.raises(SolveError, match=r"the mode of 'low-high.\d' changes"):
        sr.sensitivity.step_derivatives(system, q, v, dt=2e-3)
    q[9], v[6:9] = q[9] + 1e-3, (0.0, 0.0, -1.0)
    with pytest.raises(SolveError, match=r"the mode of 'low-high.\d' changes"):
        sr.sensitivity.step_derivatives(system, q, v, dt=2e-3)
    assert sr.sensitivity.step_derivatives(system, q, v, dt=5e-4).v[8] < -1.0


def test_a_ball_on_terrain_rolls_on_its_triangle_and_not_on_a_ridge() -> None:
    """On a slope of a height field it rolls as on a plane; on a ridge derivatives are refused."""
    tilt, width = 0.2, np.linspace(-1.0, 1.0, 5)
    for ridge in (False, True):
        mechanism = scene("terrain", floor=False)
        heights = np.tile(1.0 - np.abs(width) if ridge else 0.5 * (1.0 - width), (5, 1))
        rise = np.tan(tilt) * (1.0 if ridge else 2.0)
        mechanism.add_geom("ground", "world", "hfield", (1.0, 1.0, rise, 0.1), heights=heights)
        add_free(mechanism, "ball", "sphere", (0.1,))
        mechanism.add_geometry_contacts(friction_coefficient=1.0)
        system = sr.System(mechanism)
        q = system.neutral()
        if ridge:
            q[:3] = 0.0, 0.05, rise + 0.1
            with pytest.raises(SolveError, match=r"contact 'ground-ball.1' touches where a corner, an edge"):
                sr.linearize_at(system, q)
            continue
        q[:3] = np.array([0.1, 0.05, 0.9 * np.tan(tilt)]) + 0.1 * np.array([np.sin(tilt), 0.0, np.cos(tilt)])
        model = sr.linearize_at(system, q)
        speed = model.affine[model.names.index("ball.vx.rate")]
        assert speed == pytest.approx(5 / 7 * G * np.sin(tilt) * np.cos(tilt), rel=1e-6)
        assert np.abs(model.A[model.names.index("ball.vx.rate")]).max() < 1e-6  # a plane has no stiffness


# --- motions --------------------------------------------------------------------------------------------


def test_motions_are_products_of_steps() -> None:
    """A cylinder that rolls down a plane, and its derivatives; a box that slides until it stops is an error."""
    mechanism = scene("rolls", tilt=0.2)
    add_free(mechanism, "can", "cylinder", (0.1, 0.2), (0.0, 0.0, 0.1), pose=ACROSS)
    mechanism.add_geometry_contacts(friction_coefficient=0.6, closed_form=False)
    system = sr.System(mechanism)
    q, v, duration = system.neutral(), np.zeros(6), 0.05
    v[[0, 4]] = 0.1, 1.0
    found = sr.sensitivity.motion_derivatives(system, q, v, duration=duration, dt=1e-2)
    inertia = float(system.mass_matrix(q)[4, 4])
    rate = G * np.sin(0.2) / (1.0 + inertia / 0.01)
    np.testing.assert_allclose(found.q[-1, 0], 0.1 * duration + 0.5 * rate * duration**2, atol=1e-12)
    x, spin = found.names.index("can.vx"), found.names.index("can.wy.rate")
    assert found.by_start[-1, x, x] == pytest.approx(1.0, abs=1e-12)
    rolls = found.by_start[-1][:, spin] + 0.1 * found.by_start[-1][:, found.names.index("can.vx.rate")]
    assert rolls[x] == pytest.approx(0.1 * duration, abs=1e-12)  # a change of the speed at which it rolls
    one = sr.sensitivity.step_derivatives(system, q, v, dt=1e-2)
    np.testing.assert_allclose(found.by_start[1], one.F, atol=1e-13)
    assert found.trajectory.status.ok
    assert np.ptp(found.trajectory.energy) < 1e-10
    boxes, q = stack((0.1, 0.1, 0.1), 0.3)
    v = np.zeros(12)
    v[6] = 0.05
    with pytest.raises(SolveError, match=r"in which the mode of 'low-high.\d' changes"):
        sr.sensitivity.motion_derivatives(boxes, q, v, duration=0.05, dt=1e-3)
