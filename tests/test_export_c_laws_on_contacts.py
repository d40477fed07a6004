"""Control laws in C that know contacts, stops, ropes and dry friction of their plant: the bits of Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from c_code import Compiled
from law_scenes import (
    accelerating,
    along_x,
    chain,
    gantry,
    hoist,
    pendulum_between_stops,
    pushed,
    quadruped_on_legs,
    slider_crank,
)
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.status import Status

State = tuple[Array, Array, float]


def agree(folder: Path, law: control.Law, states: list[State]) -> list[Status]:
    """Compare the controls in C and in Python to rounding, and their statuses; return these."""
    compiled = Compiled(sr.export.c_code(law, folder, q=states[0][0]), law.system)
    found = []
    for state in states:
        got, expected = np.full(law.system.nu, np.nan), law.solve(*state, throw=False)
        found.append(Status(compiled.call("law", *state, got)))
        assert found[-1] == expected.status, expected.message
        scale = max(float(np.abs(expected.u).max()), 1.0)
        np.testing.assert_allclose(got, expected.u, rtol=0, atol=1e-12 * scale)
    return found


@pytest.mark.parametrize(
    ("make", "seed"),
    [(chain, 0), (chain, 1), (gantry, 0), (gantry, 1), (hoist, 0), (hoist, 3), (slider_crank, 0)],
)
def test_random_scenes(
    tmp_path: Path, make: Callable[..., tuple[sr.System, Array, Array, list[str]]], seed: int
) -> None:
    """Stops, dry friction, a foot on a plane, a rope: at rest, moving, and away from all of them."""
    r = np.random.default_rng([seed, 88])
    system, q, v, names = make(r)
    law = accelerating(system, names, r.normal(size=len(names)) * r.choice([0.0, 1.0, 5.0]))
    away = q + np.where(np.arange(system.nq) == system.nq - 1, 0.1, 0.0)
    away = np.array(system.assemble(away).q) if system.nc else away
    found = agree(tmp_path, law, [(q, v, 0.0), (q, 0.0 * v, 0.3), (away, 0.0 * v, 0.0)])
    assert found[0] in (Status.OK, Status.NOT_ACHIEVABLE)


def test_limits_of_motors_and_stops(tmp_path: Path) -> None:
    law = control.ComputedTorque(pendulum_between_stops(), ["turn"], 0.2, limits=(-12.0, 12.0))
    states = [(0.2, 0.0), (0.2, 0.3), (1.0, 0.0), (-1.0, 0.0), (1.0, 0.5), (1.2, 0.0), (0.21, -0.1)]
    found = agree(tmp_path, law, [(np.array([q]), np.array([v]), 0.0) for q, v in states])
    assert {Status.OK, Status.NOT_ACHIEVABLE} == set(found)


def test_a_robot_on_its_feet(tmp_path: Path) -> None:
    """Standing, sliding, in the air, with feet below the ground, and with feet that hit it."""
    system = quadruped_on_legs()
    height = control.Task(control.centre_of_mass(), [0.0, 0.0, 0.47], 100.0, 20.0, name="com")
    level = control.Task(control.orientation("trunk"), [0.0, 0.0, 0.0], 100.0, 20.0, name="trunk")
    states = list[State]()
    for z, vx, vz in ((0.5, 0.0, 0.0), (0.5, 0.3, 0.0), (0.6, 0.0, 0.0), (0.49, 0.0, 0.0), (0.5, 0.0, -1.0)):
        q, v = system.neutral(), np.zeros(system.nv)
        q[2], v[0], v[2] = z, vx, vz
        states.append((q, v, 0.0))
    found = agree(tmp_path, control.TaskHierarchy(system, [height, level]), states)
    assert found[0] is Status.OK
    assert set(found[3:]) == {Status.NOT_ACHIEVABLE}


def test_samples_with_limited_rates(tmp_path: Path) -> None:
    """The memory of the law goes on where contacts act, and where they do not."""
    law = control.ComputedTorque(
        pendulum_between_stops(), ["turn"], 0.6, limits=(-40.0, 40.0), largest_rate=300.0
    )
    compiled = Compiled(sr.export.c_code(law, tmp_path, q=np.zeros(1)), law.system)
    got, seen = np.zeros(1), list[float]()
    law.reset()
    compiled.call("law_reset")
    for k in range(12):
        state = np.array([0.2 + 0.02 * k]), np.array([0.4 * (k % 3)]), 0.01 * k
        seen.append(float(law.sample(*state, 0.01)[0]))
        compiled.call("law_sample", *state, 0.01, None, got)
        assert got[0] == pytest.approx(seen[-1], abs=1e-11)
    assert np.abs(np.diff(seen)).max() == pytest.approx(3.0)


def test_a_law_with_contacts_of_its_own(tmp_path: Path) -> None:
    """Forces of contacts that are constraints and friction of the leg are unknowns of one law."""
    made = sr.Mechanism("hopper")
    made.add_body("trunk", 5.0, inertia=(0.2,) * 3)
    made.add_body("leg", 1.0, inertia=(0.1,) * 3)
    made.add_joint("height", "prismatic", "world", "trunk", axis=(0, 0, 1))
    made.add_joint("leg", "prismatic", "trunk", "leg", axis=(0, 0, 1), friction=4.0)
    made.add_contact("foot", "leg", (0, 0, -0.5), friction="frictionless", active=True)
    made.add_actuator("push", "leg")
    law = control.LeggedController(
        sr.System(made),
        [control.Task(["height"], lambda t: 0.5 * t * t, 0.0, 0.0, name="up")],
        soft_share=1.0,
    )
    states = [(np.array([0.5, 0.0]), np.array([v, -v]), 0.0) for v in (0.0, 0.2, -0.2)]
    assert set(agree(tmp_path, law, states)) == {Status.OK}


def test_geometries(tmp_path: Path) -> None:
    """Those in closed form act; others are refused, unless all contacts are left out."""
    system = pushed("box", (0.2, 0.15, 0.1), closed_form=False)
    law = along_x(system)
    states = [(np.zeros(2), np.array([v, 0.0]), 0.02) for v in (0.0, 0.3, -0.3)]
    assert set(agree(tmp_path, law, states)) == {Status.OK}
    bare = tmp_path / "bare"
    compiled = Compiled(sr.export.c_code(law, bare, contacts=False), system)
    got, expected = np.zeros(1), along_x(system, contacts=False)(*states[1])
    assert compiled.call("law", *states[1], got) == Status.OK
    np.testing.assert_allclose(got, expected, rtol=1e-13)
    made = sr.Mechanism("cylinders")
    for k in range(2):
        made.add_body(f"b{k}", 1.0, inertia=(0.1,) * 3)
        made.add_joint(f"j{k}", "prismatic", "world", f"b{k}", axis=(0, 0, 1), parent_pose=(0, 0, 0.3 * k))
        made.add_geom(f"g{k}", f"b{k}", "cylinder", (0.1, 0.1), friction=0.5)
    made.add_actuator("push", "j0")
    made.add_geometry_contacts()
    with pytest.raises(sr.ArgumentError, match="contacts=False leaves all contacts out"):
        sr.export.c_code(control.ComputedTorque(sr.System(made), ["j0"], 0.1), tmp_path / "cylinders")
