"""Contacts between geometries in time stepping: closed forms, rest, impacts and energy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import sarrus as sr
from geometry_scenes import G, add_free, cube, run, scene

BIG, SMALL = 0.5, 0.1
ALONG_X = np.sqrt(0.5) * np.array([1.0, 0.0, 1.0, 0.0])  # turns z to x


def gaps(system, q):
    """Return the gaps of the contacts at q, by MuJoCo."""
    from sarrus.motion.loop.contact_run import ContactRun

    work = system.workspace().copy()
    touches = ContactRun(work, q, 0.0)
    assert touches.geometry_run is not None
    return np.array([seen.gap for seen in touches.geometry_run.look(work.pack(q), 1e-3)])


def created(motion):
    """Return the energy that contacts have created: normals that turn do some work, of order two in the step."""
    return -np.minimum(np.diff(motion.contact_loss), 0.0).sum()


# --- smooth motions --------------------------------------------------------------------------------


def on_top(kind, size, friction):
    """Return a ball on a fixed one, 0.3 rad from the top, that rolls or slides, with its state."""
    mechanism = scene("ball on ball", floor=False)
    mechanism.add_geom("base", "world", "sphere", (BIG,))
    angle, rate, reach = 0.3, 0.5, BIG + SMALL
    add_free(mechanism, "ball", kind, size, reach * np.array([np.sin(angle), 0.0, np.cos(angle)]))
    mechanism.add_geometry_contacts(friction_coefficient=friction, closed_form=False)
    system = sr.System(mechanism)
    v = np.zeros(6)
    v[:3] = rate * reach * np.array([np.cos(angle), 0.0, -np.sin(angle)])
    v[4] = rate * reach / SMALL if friction else 0.0
    inertia = 5.0 / 7.0 if friction else 1.0
    motion = solve_ivp(
        lambda t, y: [y[1], inertia * G / reach * np.sin(y[0])], (0.0, 0.25), [angle, rate], "DOP853",
        rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    return system, v, motion.y[0, -1]


@pytest.mark.parametrize(
    ("kind", "size", "friction"),
    [("sphere", (SMALL,), 5.0), ("sphere", (SMALL,), 0.0), ("ellipsoid", (SMALL,) * 3, 5.0)],
)
def test_a_ball_on_a_ball_has_order_two(kind, size, friction):
    system, v, truth = on_top(kind, size, friction)
    errors = []
    for dt in (5e-3, 2.5e-3):
        motion = run(system, system.neutral(), v, 0.25, dt)
        x, _, z = motion.q[-1, :3]
        errors.append(abs(np.arctan2(x, z) - truth))
        assert abs(np.hypot(x, z) - BIG - SMALL) < 1e-12
    assert errors[1] < 2e-6
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


def test_a_ball_goes_from_slip_to_roll():
    mechanism = scene("slip")
    add_free(mechanism, "ball", "sphere", (SMALL,), (0.0, 0.0, SMALL))
    (contact,) = mechanism.add_geometry_contacts(friction_coefficient=0.3, closed_form=False)
    assert contact.name == "floor-ball"
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), [1.0, 0, 0, 0, 0, 0], 0.3)
    assert motion.v[-1, [0, 4]] == pytest.approx([5 / 7, 5 / 7 / SMALL], abs=1e-12)
    assert np.abs(motion.q[:, 2] - SMALL).max() < 1e-14
    assert motion.contact_loss[-1] == pytest.approx(0.5 * (1 - 5 / 7), rel=1e-12)


def test_a_cylinder_rolls_down_a_plane():
    tilt, radius = 0.3, 0.1
    mechanism = scene("cylinder", tilt=tilt)
    mechanism.add_body("roller", mass=1.0, inertia=(0.01, 0.01, 0.5 * radius**2))
    mechanism.add_joint("roller", "free", "world", "roller", parent_pose=(0.0, 0.0, radius))
    mechanism.add_geom("roller", "roller", "cylinder", (radius, 0.15))
    mechanism.add_geometry_contacts(friction_coefficient=1.0, closed_form=False)
    system = sr.System(mechanism)
    q = system.neutral()
    q[3:7] = np.sqrt(0.5) * np.array([1.0, 1.0, 0.0, 0.0])
    motion = run(system, q)
    assert motion.q[-1, 0] == pytest.approx(0.5 * G * np.sin(tilt) * 2 / 3 * 0.3**2, rel=1e-12)


def test_torsional_friction_stops_a_spinning_ball():
    mechanism = scene("spin")
    add_free(mechanism, "ball", "sphere", (SMALL,), (0.0, 0.0, SMALL), friction=0.5, torsion=0.01, condim=4)
    mechanism.add_geometry_contacts(closed_form=False)
    system = sr.System(mechanism)
    spin, inertia = 3.0, 0.4 * SMALL**2
    end = spin * inertia / (0.01 * G)
    motion = run(system, system.neutral(), [0, 0, 0, 0, 0, spin], 2 * end, end / 100)
    half = motion.v[50, 5]
    assert half == pytest.approx(0.5 * spin, rel=1e-10)
    assert abs(motion.v[-1, 5]) < 1e-12


def test_rolling_friction_stops_a_rolling_ball():
    mechanism = scene("roll")
    add_free(mechanism, "ball", "sphere", (SMALL,), (0.0, 0.0, SMALL), friction=1.0, rolling=0.004, condim=6)
    mechanism.add_geometry_contacts(closed_form=False)
    system = sr.System(mechanism)
    # all directions of friction share a cone, so that the ball creeps: its tail is along (creep, length × turn)
    length, inertia = 0.004, 0.4 * SMALL**2

    def law(unknown):
        pull, moment, creep, slowing = unknown
        return [
            pull**2 + (moment / length) ** 2 - G**2,
            pull * length * length - moment * creep,
            pull - (SMALL + creep) * slowing,
            inertia * slowing - moment + pull * SMALL,
        ]

    _, _, creep, slowing = fsolve(law, [0.3, length * G, 0.0, 3.0], xtol=1e-14)
    turn = 5.0
    motion = run(system, system.neutral(), [(SMALL + creep) * turn, 0, 0, 0, turn, 0], 0.5)
    assert motion.v[:, 4] == pytest.approx(turn - slowing * motion.t, abs=1e-9)


# --- rest ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.999, 1.001])
def test_a_box_on_a_box_sticks_up_to_the_angle_of_friction(factor):
    mu = 0.4
    mechanism = scene("boxes", floor=False, tilt=np.arctan(mu) * factor)
    mechanism.add_geom("ground", "world", "box", (1.0, 1.0, 0.1))
    add_free(mechanism, "box", "box", (0.2, 0.15, 0.1), (0.0, 0.0, 0.2))
    mechanism.add_geometry_contacts(friction_coefficient=mu, closed_form=False)
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), duration=0.1)
    tilt = np.arctan(mu) * factor
    pull = max(0.0, np.sin(tilt) - mu * np.cos(tilt)) * G
    assert motion.q[-1, 0] == pytest.approx(0.5 * pull * 0.1**2, abs=1e-12)
    assert abs(motion.q[-1, 2] - 0.2) < 1e-12
    assert len(gaps(system, motion.q[-1])) == 4


@pytest.mark.parametrize(("part", "slides"), [(0.999, False), (1.001, True)])
def test_geometries_stick_up_to_their_static_coefficient(part, slides):
    """A box on a slope sticks with one coefficient; where it begins to slide, or is pushed, the other counts."""
    sliding, static = 0.3, 0.5
    mechanism = scene("static", tilt=np.arctan(static) * part)
    add_free(mechanism, "box", "box", (0.2, 0.15, 0.1), (0.0, 0.0, 0.1))
    mechanism.add_geometry_contacts(
        friction_coefficient=sliding, static_coefficient=static, closed_form=False
    )
    system = sr.System(mechanism)
    tilt = np.arctan(static) * part
    pull = G * (np.sin(tilt) - sliding * np.cos(tilt))
    for speed in (0.0, 0.2):
        motion = run(system, system.neutral(), [speed, 0, 0, 0, 0, 0], duration=0.1)
        way = speed * 0.1 + (0.5 * pull * 0.1**2 if slides or speed else 0.0)
        assert motion.q[-1, 0] == pytest.approx(way, abs=1e-9)
    with pytest.raises(sr.ModelError, match="static_coefficient must be at least friction_coefficient"):
        mechanism.add_geometry_contacts(friction_coefficient=0.5, static_coefficient=0.4, closed_form=False)


def test_a_cube_as_a_mesh_is_a_box():
    motions = []
    for kind, size, points in (("box", (0.1,) * 3, None), ("mesh", (), cube(0.1))):
        mechanism = scene(kind, tilt=0.2)
        add_free(mechanism, "body", kind, size, (0.0, 0.0, 0.25), points=points)
        mechanism.add_geometry_contacts(friction_coefficient=0.1, closed_form=False)
        system = sr.System(mechanism)
        motions.append(run(system, system.neutral(), [0.3, 0, 0, 0, 0, 0], 0.6))
    assert np.abs(motions[0].q[-1] - motions[1].q[-1]).max() < 1e-6  # MuJoCo has meshes in single precision
    assert motions[0].q[-1, 2] == pytest.approx(0.1, abs=1e-12)


def test_a_stack_of_boxes_rests():
    mechanism = scene("stack")
    for k in range(4):
        add_free(mechanism, f"box{k}", "box", (0.1, 0.1, 0.05), (0.0, 0.0, 0.05 + 0.1 * k), mass=1.0 + k)
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=False)
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), duration=0.2)
    assert np.abs(motion.q[-1] - system.neutral()).max() < 1e-12
    weights = {pair: force[2] for pair, force in motion.geometry_forces(-1).items()}
    above = np.cumsum([4.0, 3.0, 2.0, 1.0])[::-1] * G
    names = ["floor-box0", "box0-box1", "box1-box2", "box2-box3"]
    assert [weights[name] for name in names] == pytest.approx(above, rel=1e-10)


def test_a_capsule_rests_on_a_capsule():
    mechanism = scene("capsules", floor=False)
    mechanism.add_geom(
        "rail1",
        "world",
        "capsule",
        (0.05, 1.0),
        sr.Pose.of((0.0, -0.2, 0.0), quaternion=ALONG_X),
    )
    mechanism.add_geom(
        "rail2", "world", "capsule", (0.05, 1.0), sr.Pose.of((0.0, 0.2, 0.0), quaternion=ALONG_X)
    )
    add_free(mechanism, "rod", "capsule", (0.05, 0.5), (0.0, 0.0, 0.1))
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=False)
    system = sr.System(mechanism)
    q = system.neutral()
    q[3:7] = np.sqrt(0.5) * np.array([1.0, 1.0, 0.0, 0.0])
    motion = run(system, q, duration=0.1)
    assert np.abs(motion.q[-1] - q).max() < 1e-12
    assert motion.geometry_forces(-1)["rail1-rod"][2] == pytest.approx(0.5 * G, rel=1e-10)


def test_an_ellipsoid_falls_on_a_plane():
    axes = np.array([0.1, 0.2, 0.3])
    mechanism = scene("ellipsoid")
    add_free(mechanism, "egg", "ellipsoid", axes, (0.0, 0.0, 0.4))
    mechanism.add_geometry_contacts(friction_coefficient=0.4, closed_form=False)
    system = sr.System(mechanism)
    q = system.neutral()
    q[3:7] = np.array([0.8, 0.6, 0.0, 0.0])
    motion = run(system, q, duration=1.0, dt=1e-3)
    assert motion.status.ok
    assert np.diff(motion.energy + motion.contact_loss).max() < 0.05
    _, rotation = system.body_placements(motion.q[-1])
    lowest = motion.q[-1, 2] - np.sqrt(((axes * rotation[0][2]) ** 2).sum())
    assert lowest > -1e-12
    assert created(motion) < 1e-5 * motion.contact_loss[-1]


def test_a_ball_rests_in_a_pit_of_balls():
    mechanism = scene("pit", floor=False)
    for k, angle in enumerate(2 * np.pi * np.arange(3) / 3):
        mechanism.add_geom(
            f"base{k}", "world", "sphere", (0.2,), (0.2 * np.cos(angle), 0.2 * np.sin(angle), 0.0)
        )
    height = np.sqrt(0.3**2 - 0.2**2)
    add_free(mechanism, "ball", "sphere", (0.1,), (0.0, 0.0, height))
    mechanism.add_geometry_contacts(friction_coefficient=0.0, closed_form=False)
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), duration=0.2)
    assert np.abs(motion.q[-1, :3] - [0, 0, height]).max() < 1e-12
    for force in motion.geometry_forces(-1).values():
        assert np.linalg.norm(force) == pytest.approx(G / 3 / (height / 0.3), rel=1e-9)


def test_a_ball_rests_on_a_height_field():
    mechanism = scene("field", floor=False)
    x = np.linspace(-1.0, 1.0, 21)
    mechanism.add_geom(
        "field", "world", "hfield", (1.0, 1.0, 0.4, 0.1), heights=np.abs(x)[None, :] + 0 * x[:, None]
    )
    slope = np.arctan(0.4)
    add_free(mechanism, "ball", "sphere", (0.1,), (0.0, 0.013, 0.1 / np.cos(slope)))
    mechanism.add_geometry_contacts(friction_coefficient=0.3, closed_form=False)
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), duration=0.2)
    assert np.abs(motion.q[-1, :3] - system.neutral()[:3]).max() < 1e-6  # heights are in single precision
    assert np.array(list(motion.geometry_forces(-1).values())).sum(axis=0) == pytest.approx(
        [0, 0, G], abs=1e-6
    )


# --- impacts ---------------------------------------------------------------------------------------


def test_newtons_cradle_with_balls_apart():
    mechanism = sr.Mechanism("cradle", gravity=(0.0, 0.0, 0.0))
    for k in range(4):
        add_free(mechanism, f"ball{k}", "sphere", (0.1,), (0.21 * k, 0.0, 0.0))
    mechanism.add_geometry_contacts(friction_coefficient=0.0, restitution=1.0, closed_form=False)
    system = sr.System(mechanism)
    v = np.zeros(system.nv)
    v[0] = 1.0
    motion = run(system, system.neutral(), v, 0.3)
    assert motion.v[-1, ::6] == pytest.approx([0, 0, 0, 1.0], abs=1e-12)
    assert motion.energy[-1] == pytest.approx(0.5, rel=1e-12)


def test_energy_never_grows_in_a_heap():
    rng = np.random.default_rng(3)
    mechanism = scene("heap")
    kinds = [
        ("sphere", (0.1,)),
        ("box", (0.1, 0.08, 0.06)),
        ("capsule", (0.06, 0.1)),
        ("cylinder", (0.08, 0.1)),
    ]
    for k, (kind, size) in enumerate(kinds):
        add_free(mechanism, kind, kind, size, (0.05 * k, 0.03 * k, 0.25 + 0.3 * k))
    mechanism.add_geometry_contacts(friction_coefficient=0.6, closed_form=False)
    system = sr.System(mechanism)
    q = system.neutral()
    for k in range(4):
        q[7 * k + 3 : 7 * k + 7] = rng.normal(size=4)
        q[7 * k + 3 : 7 * k + 7] /= np.linalg.norm(q[7 * k + 3 : 7 * k + 7])
    motion = run(system, q, duration=2.0, dt=1e-3)
    assert motion.status.ok, motion.message
    assert created(motion) < 1e-5 * motion.contact_loss[-1]
    assert (
        np.abs(motion.energy + motion.contact_loss - motion.energy[0]).max() < 0.02 * motion.contact_loss[-1]
    )
    assert gaps(system, motion.q[-1]).min() > -1e-6


def test_a_heap_of_many_spheres_obeys_the_laws():
    """Its islands have up to 140 rows, which are solved by their parts."""
    rng, mechanism, radius = np.random.default_rng(5), scene("spheres"), 0.05
    for k, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        turn = np.column_stack([(0.0, 0.0, 1.0), np.cross((x, y, 0.0), (0.0, 0.0, 1.0)), (x, y, 0.0)])
        pose = sr.Pose.of((-0.19 * x, -0.19 * y, 0.0), rotation=turn)
        mechanism.add_geom(f"wall{k}", "world", "plane", pose=pose)
    for k in range(27):
        place = 2.2 * radius * np.array([k % 3 - 1, k // 3 % 3 - 1, k // 9 + 0.6]) + rng.uniform(
            -4e-3, 4e-3, 3
        )
        add_free(mechanism, f"ball{k}", "sphere", (radius,), tuple(place))
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=False)
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), duration=0.4, dt=1e-3)
    assert motion.status.ok, motion.message
    assert motion.contact_residual < 1e-8
    assert len(motion.contact_log.at(len(motion.t) - 1)) > 32
    assert created(motion) < 1e-5 * motion.contact_loss[-1]


def test_jaws_with_loops_hold_a_box():
    """Two parallelograms, each of three bodies and a closure, press pads on a box, which friction holds."""
    mechanism = sr.Mechanism("jaws")
    for side, sign in (("left", -1.0), ("right", 1.0)):
        for k in range(2):
            name = f"{side}{k}"
            mechanism.add_body(name, mass=0.1, com=(0, 0, 0.1), inertia=(1e-3, 1e-3, 1e-4))
            foot = (sign * (0.1 + 0.04 * k), 0, 0)
            mechanism.add_joint(name, "revolute", "world", name, axis=(0, 1, 0), parent_pose=foot)
        pad = f"{side}_pad"
        mechanism.add_body(pad, mass=0.1, inertia=(1e-4,) * 3)
        mechanism.add_joint(pad, "revolute", f"{side}0", pad, axis=(0, 1, 0), parent_pose=(0, 0, 0.2))
        end = (0.04 * sign, 0, 0)
        mechanism.add_closure(side, "revolute", f"{side}1", pad, axis=(0, 1, 0), pose1=(0, 0, 0.2), pose2=end)
        mechanism.add_geom(pad, pad, "box", (0.01, 0.02, 0.02), (0, 0, 0.02))
        mechanism.add_actuator(f"{side}_motor", f"{side}0")
    add_free(mechanism, "box", "box", (0.0899, 0.03, 0.03), (0.0, 0.0, 0.22), mass=0.2)
    mechanism.add_geometry_contacts("box", friction_coefficient=0.8, closed_form=False)
    system = sr.System(mechanism)
    q = system.assemble(system.neutral()).q
    motion = run(system, q, duration=0.5, control=lambda q, v, t: [1.0, -1.0])
    assert motion.residual.max() < 1e-12
    forces = motion.geometry_forces(-1)
    assert set(forces) == {"left_pad-box", "right_pad-box"}
    assert sum(forces.values()) == pytest.approx([0, 0, 0.2 * G], abs=1e-8)
    assert np.abs(motion.v[-1]).max() < 1e-9


def test_rollouts_do_what_single_runs_do():
    system, v, _ = on_top("sphere", (SMALL,), 5.0)
    alone = run(system, system.neutral(), v, 0.1)
    many = sr.rollout(system, np.tile(system.neutral(), (3, 1)), np.tile(v, (3, 1)), duration=0.1, dt=1e-3)
    for k in range(3):
        assert np.array_equal(many.q[k, -1], alone.q[-1])
