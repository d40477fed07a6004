"""What a gait learns of the ground: early and late touchdowns, its slope and height; and from where it steps."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest

import sarrus as sr
from sarrus import control
from sarrus.base.errors import ArgumentError
from sarrus.control.laws.demands import Settings
from sarrus.control.legged.contact_law import ContactTerms
from sarrus.control.legged.terrain import TracedGround
from sarrus.control.motion.tasks import centre_of_mass, quantity

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

LEGS = ("FL", "FR", "RL", "RR")
TROT = {"FL": 0.0, "FR": 0.5, "RL": 0.5, "RR": 0.0}
PERIOD, DUTY, START, SAMPLE = 0.4, 0.6, 0.1, 2e-3


@pytest.fixture(scope="module")
def system():
    mechanism = sr.load("models/quadruped.xml")
    for leg in LEGS:
        mechanism.add_contact(leg, geom=leg, friction_coefficient=0.5)
    return sr.System(mechanism)


@pytest.fixture
def law(system):
    gait = control.Gait("trunk", TROT, PERIOD, DUTY, start=START)
    law = control.LeggedController(
        system, [control.Height(0.41), control.SwingFeet(), control.Travel()], gait=gait, largest_force=250.0,
        hold=True,
    )  # fmt: skip
    law.reset()
    return law


def standing(system, rise=0.0):
    q = np.array(system.mechanism.keyframes["stand"].q)
    q[2] += rise
    return q


def sampled(law, q, v, begin, lasts):
    """Sample for a while at a state that does not change."""
    for k in range(round(lasts / SAMPLE)):
        law.sample(q, v, begin + k * SAMPLE, SAMPLE)


def test_the_ground_is_where_feet_touch():
    """A trunk on four balls of different radii, in any order: the height is that above the floor at 0.1 m."""
    radii = {"a": 0.02, "b": 0.05, "c": 0.03, "d": 0.01}
    feet = "".join(
        f'<body name="{name}" pos="{x} {y} 0"><joint name="{name}" type="slide" axis="0 0 1"/>'
        f'<geom name="{name}" type="sphere" size="{radii[name]}" mass="0.1"/></body>'
        for name, x, y in (("a", 0.2, 0.1), ("b", 0.2, -0.1), ("c", -0.2, 0.1), ("d", -0.2, -0.1))
    )
    xml = f"""<mujoco><worldbody><body name="trunk" pos="0 0 0.3"><freejoint/>
        <geom type="box" size=".2 .1 .05" mass="3" contype="0" conaffinity="0"/>{feet}</body></worldbody>
        <actuator>{"".join(f'<motor joint="{n}"/>' for n in radii)}</actuator></mujoco>"""
    for order in ("abcd", "dcba", "bdac"):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "walker.xml"
            file.write_text(xml)
            mechanism = sr.load(file)
        for name in order:
            mechanism.add_contact(name, geom=name, offset=0.1, friction="stick")
        walker = sr.System(mechanism)
        ground = TracedGround(walker, ContactTerms.of(walker), Settings(), ca.SX(0.1))
        height = ground._along(quantity(walker, centre_of_mass())).value
        q = np.array([0, 0, 0.6, 1, 0, 0, 0, 0.02, 0.05, 0.03, 0.01])
        q[7:] -= 0.2
        others = [
            x for x in ca.symvar(height) if x.name() not in {s.name() for s in ca.symvar(walker.equations.q)}
        ]
        value = ca.Function("height", [walker.equations.q, *others], [height])(q, *np.zeros(len(others)))
        assert float(value) == pytest.approx((3 * 0.6 + 0.1 * (4 * 0.6 + q[7:].sum())) / 3.4 - 0.1, rel=1e-12)


def test_a_late_foot_that_is_held_up_stands(system, law):
    """Two centimetres above the floor and at rest it waits at first, and stands when it does not go down."""
    q, v = standing(system, 0.02), np.zeros(18)
    law.sample(q, v, START + 0.02, SAMPLE)
    assert not law.closed.any()
    sampled(law, q, v, START + 0.022, 0.06)
    assert law.closed.tolist() == [True, False, False, True]
    assert law.settings["FL.place[2]"] == pytest.approx(0.02, abs=1e-6)


def test_a_foot_that_falls_is_not_held_up(system, law):
    """On its way down at the speed that it is told it does not stand in the air."""
    q, v = standing(system, 0.06), np.zeros(18)
    v[2] = -0.4
    for k in range(40):
        q[2] -= 0.4 * SAMPLE * (k > 0)
        if q[2] - standing(system)[2] > 0.012:
            law.sample(q, v, START + 0.02 + k * SAMPLE, SAMPLE)
            assert not law.closed[0]


def test_a_foot_meets_the_ground_early_in_the_second_half_of_its_swing_alone(system, law):
    """FR swings from 0.1 s to 0.26 s after the start... it is held up 1 cm above the floor all that time."""
    q, v = standing(system, 0.01), np.zeros(18)
    begin = START + (DUTY - 0.5) * PERIOD
    sampled(law, q, v, begin, 0.06)
    assert not law.closed[1]
    sampled(law, q, v, begin + 0.06, 0.08)
    assert law.closed[1]


def test_the_slope_follows_where_feet_stand(system, law):
    """All four on a plane of 5°, for longer than it takes to learn: its gradients are known."""
    steep = np.tan(np.radians(5.0))
    q, v = standing(system), np.zeros(18)
    angle = np.arctan(steep)
    q[3:7] = np.cos(0.5 * angle), 0.0, -np.sin(0.5 * angle), 0.0  # the nose up
    sampled(law, q, v, START - 2.2, 2.2)
    # rounded and weighed by the spread of the feet
    assert law.settings["gait.slope[0]"] == pytest.approx(steep, rel=0.02)
    assert law.settings["gait.slope[1]"] == pytest.approx(0.0, abs=1e-9)
    law.sample(q, v, START - 1e-3, SAMPLE)
    force = np.array(law.contact_forces["FL"])
    assert force[0] > 0.0


def test_height_is_above_the_ground(system, law):
    """A floor that is found 3 cm higher lifts the robot by as much, within the time of learning."""
    q, v = standing(system, 0.03), np.zeros(18)
    sampled(law, q, v, START - 1.5, 1.5)
    assert law.settings["gait.level"] == pytest.approx(0.03, abs=1e-3)


def test_without_samples_the_ground_is_as_given(system, law):
    law(standing(system), np.zeros(18), START + 0.02)
    assert law.settings["gait.known"] == 0.0
    assert law.settings["gait.slope[0]"] == 0.0


def test_footholds_are_those_of_a_pose(system):
    q = standing(system)
    for pose in (q, "stand"):
        gait = control.Gait("trunk", TROT, pose=pose)
        law = control.LeggedController(system, [control.SwingFeet()], gait=gait)
        x = [law.settings[f"gait.foothold.{leg}[0]"] for leg in LEGS]
        assert x[0] - x[2] == pytest.approx(0.5, abs=1e-9)
        assert x[0] != pytest.approx(0.25, abs=1e-3)  # knees are bent to one side


def test_a_pose_in_which_the_robot_does_not_stand_is_an_error(system):
    level = standing(system)
    level[8::3], level[9::3] = 0.5 * np.pi, 0.0  # legs stretched out backwards
    one = standing(system)
    one[9] = -2.2
    for pose, text in ((level, "above it"), (one, "'FL' is .* from the plane of the others")):
        with pytest.raises(ArgumentError, match=text):
            control.LeggedController(
                system, [control.SwingFeet()], gait=control.Gait("trunk", TROT, pose=pose)
            )
    for pose in ("sit", np.zeros(3)):
        with pytest.raises(ArgumentError, match="pose"):
            control.LeggedController(
                system, [control.SwingFeet()], gait=control.Gait("trunk", TROT, pose=pose)
            )


def test_height_needs_a_gait(system):
    with pytest.raises(ArgumentError, match="'height' needs a gait"):
        control.LeggedController(system, [control.Height(0.4)])


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["boxes of 20 mm", "8° across", "stairs of 30 mm", "150 N sideways"])
def test_the_quadruped_walks(condition):
    from benchmarks.walking import trial

    for seed in range(2):
        walked = trial("quadruped", condition, seed)
        assert walked.fell is None
        assert walked.way > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["8° up", "boxes of 20 mm", "150 N sideways"])
def test_the_biped_walks(condition):
    from benchmarks.walking import trial

    assert mujoco.__version__
    walked = trial("biped", condition, 0)
    assert walked.fell is None
    assert walked.way > 0.7
