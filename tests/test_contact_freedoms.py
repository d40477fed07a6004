"""What closed contacts leave of the motions: form closure, force closure, locked and spare contacts, and the proofs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from typer.testing import CliRunner

import sarrus as sr
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.runs.cli.main import app
from test_rest_on_contacts import FOUR, at_height, table


def disc(fingers: object, friction: float = 0.0, **other: object) -> sr.System:
    """Return a plate in the plane that fingers touch: each a point and the direction in which it pushes."""
    mechanism = sr.Mechanism("plate", gravity=(0, 0, 0))
    mechanism.add_body("plate", 1.0, inertia=(0.1,) * 3)
    mechanism.add_joint("plate", "planar", "world", "plate", axis=(0, 0, 1), axis2=(1, 0, 0))
    for k, (place, push) in enumerate(fingers):
        point, normal = np.array([*place, 0.0]), np.array([*push, 0.0]) / np.linalg.norm(push)
        mechanism.add_contact(
            f"finger{k}", "plate", point, normal=normal, offset=float(normal @ point),
            tangent=np.cross([0, 0, 1], normal), friction="coulomb", friction_coefficient=friction, **other,
        )  # fmt: skip
    return sr.System(mechanism)


def freedoms(system: sr.System, q: object = None) -> sr.ContactFreedoms:
    """Return what contacts leave, its proofs looked at."""
    q = system.neutral() if q is None else np.asarray(q)
    found = sr.mobility(system, q).contacts
    rows = contact_row_state(system, q, np.zeros(system.nv), 0.0).rows
    heads = {touch.name: row for touch, row in zip(system.equations.friction_contacts, rows[_heads(system)])}
    speeds = {name: float(heads[name] @ found.opening) for name in found.closed}
    assert all(speed >= -1e-9 for speed in speeds.values())
    assert all(speeds[name] > 1e-6 for name in set(found.closed) - set(found.locked))
    assert all(abs(speeds[name]) < 1e-9 for name in found.locked)
    squeezed = sum((heads[name] * force for name, force in found.squeeze.items()), np.zeros(system.nv))
    free = sr.mobility(system, q, contacts=False).motions
    assert_allclose(free.T @ squeezed, 0.0, atol=1e-9 * max([1.0, *found.squeeze.values()]))
    assert all(found.squeeze[name] > 0.0 for name in found.locked)
    assert_allclose([heads[name] @ found.kept for name in found.closed], 0.0, atol=1e-10)
    return found


def _heads(system: sr.System) -> list[int]:
    sizes = [len(touch.row_names) for touch in system.equations.friction_contacts]
    return np.cumsum([0, *sizes])[:-1].tolist()


SIDES = [((1, 0.5), (-1, 0)), ((-1, -0.5), (1, 0)), ((0.5, 1), (0, -1)), ((-0.5, -1), (0, 1))]


def test_four_fingers_close_in_the_plane_and_three_do_not() -> None:
    """The first-order bound: dof + 1 contacts without friction. With three, two turn the plate out."""
    same_way = [SIDES[0], SIDES[1], ((-0.5, 1), (0, -1)), ((0.5, -1), (0, 1))]  # all push it to the left
    assert not freedoms(disc(same_way)).form_closure
    found = freedoms(disc(SIDES))
    assert (found.form_closure, found.force_closure, found.spare) == (True, True, ())
    assert found.locked == found.closed
    for k in range(4):
        fewer = freedoms(disc([*SIDES[:k], *SIDES[k + 1 :]]))
        assert (fewer.form_closure, fewer.force_closure) == (False, False)
        assert len(fewer.locked) < 3
    more = freedoms(disc([*SIDES, ((1, 0.2), (-1, 0))]))
    assert (more.form_closure, more.spare) == (True, ("finger0", "finger4"))  # either may go


def test_a_round_disc_turns_whatever_holds_it() -> None:
    """Normals that all pass through the centre: no form closure with any number of smooth fingers, and one motion."""
    angles = 2.0 * np.pi * np.arange(5) / 5
    fingers = [((np.cos(a), np.sin(a)), (-np.cos(a), -np.sin(a))) for a in angles]
    found = freedoms(disc(fingers))
    assert (found.form_closure, found.force_closure) == (False, False)
    assert found.locked == found.closed
    assert_allclose(np.abs(found.kept[:, 0] / found.kept[2, 0]), [0, 0, 1], atol=1e-12)
    rough = freedoms(disc(fingers[::2], friction=0.3))
    assert (rough.form_closure, rough.force_closure) == (False, True)


@pytest.mark.parametrize(("friction", "holds"), [(0.3, False), (0.57, False), (0.58, True), (1.0, True)])
def test_two_fingers_hold_where_their_line_is_in_both_cones(friction: float, holds: bool) -> None:
    """Two points on sides at 30° to their line: force closure for μ > tan 30° = 0.577 (Nguyen 1988)."""
    tilt = np.radians(30.0)
    fingers = [((-1, 0), (np.cos(tilt), np.sin(tilt))), ((1, 0), (-np.cos(tilt), np.sin(tilt)))]
    assert freedoms(disc(fingers, friction)).force_closure is holds


def test_a_table_may_be_lifted_and_slides() -> None:
    system = table(FOUR)
    found = freedoms(system, at_height(system, 1.0))
    assert (found.form_closure, found.force_closure, found.locked) == (False, False, ())
    assert found.kept.shape[1] == 3
    assert found.opening[2] > 0.0
    nothing = sr.mobility(system, at_height(system, 2.0)).contacts
    assert nothing.closed == ()
    assert nothing.rows == [("contacts", "none is closed, and no stop is reached")]


def test_stops_count_and_loops_too() -> None:
    """A joint between equal stops is locked by them; the text of the table says so."""
    mechanism = sr.Mechanism("stopped")
    mechanism.add_body("slide", 1.0)
    mechanism.add_joint("x", "prismatic", "world", "slide", axis=(1, 0, 0), limits=(0.0, 1e-9))
    system = sr.System(mechanism)
    found = sr.mobility(system, [0.0])
    assert found.contacts.form_closure
    assert "2 closed; no motion is left; form closure" in str(found)
    assert sr.mobility(system, [0.0], contacts=False).contacts is None


@pytest.mark.parametrize("seed", range(12))
def test_random_fingers_against_linear_programs(seed: int) -> None:
    """Locked contacts: max u_i over velocities that close none, in a box (HiGHS)."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 9))
    angles, turns = rng.uniform(0, 2 * np.pi, count), 0.8 * rng.standard_normal(count)
    fingers = [((np.cos(a), np.sin(a)), (-np.cos(a + b), -np.sin(a + b))) for a, b in zip(angles, turns)]
    if seed % 3 == 0:
        fingers.append(fingers[0])
    system = disc(fingers)
    found = freedoms(system)
    rows = contact_row_state(system, system.neutral(), np.zeros(3), 0.0).rows[_heads(system)]
    for name, row in zip(found.closed, rows):
        best = linprog(-row, A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * 3, method="highs")
        assert (-best.fun > 1e-7) is (name not in found.locked)
    spans = bool(np.linalg.matrix_rank(rows) == 3)
    assert found.form_closure is (found.locked == found.closed and spans)


def test_info_says_what_holds_a_model_on_its_floor(tmp_path) -> None:
    path = tmp_path / "box.xml"
    path.write_text(
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="box" pos="0 0 0.1"><freejoint/>'
        '<geom name="box" type="box" size="0.2 0.2 0.1" mass="1"/></body></worldbody></mujoco>'
    )
    shown = CliRunner().invoke(app, ["info", str(path), "--floor"])
    assert shown.exit_code == 0, shown.output
    assert "4 closed; 3 degrees of freedom keep them closed" in shown.output
    assert "at 0 of its friction" in shown.output
