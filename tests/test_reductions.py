"""Mechanisms with closures of other kinds and independent rows: the same freedoms, the same motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus as sr
from overconstrained import CASES, without_rows
from sarrus.model.mechanism.elements import CLOSURE_KINDS
from test_redundancy import closed, four_bar


def start(name: str) -> tuple[sr.System, np.ndarray, np.ndarray]:
    mechanism, q = CASES[name][0]()
    system = sr.System(mechanism)
    q = system.assemble(system.neutral() if q is None else q).q
    v = system.project_velocity(q, np.random.default_rng(1).standard_normal(system.nv))
    return system, q, 0.5 * v / np.abs(v).max()


def shared(names: tuple[str, ...], others: tuple[str, ...]) -> tuple[list[int], list[int]]:
    """Return where names are that both have; a joint that slides too has its angle under another name."""
    pairs = [
        (k, others.index(at))
        for k, name in enumerate(names)
        for at in (name, f"{name}.angle", f"{name}.angle1")
        if at in others
    ]
    return [k for k, _ in pairs], [i for _, i in pairs]


def carried_over(system: sr.System, v: np.ndarray, other: sr.System, q: np.ndarray) -> np.ndarray:
    """Return the admissible velocity of another system with the same joint rates."""
    motions = sr.mobility(other, q).motions
    mine, its = shared(system.velocity_names, other.velocity_names)
    return motions @ np.linalg.lstsq(motions[its], v[mine], rcond=None)[0]


@pytest.mark.filterwarnings("ignore::sarrus.AccuracyWarning")
@pytest.mark.parametrize("name", CASES)
def test_the_reduced_mechanism_moves_alike(name):
    """Fixed steps, so that only the constraints tell the runs apart."""
    system, q, v = start(name)
    found = sr.mobility(system, q)
    reduced = found.reduction
    assert (reduced.mechanism is not None) is CASES[name][2] is bool(reduced.exchanges)
    assert reduced.status is (sr.Status.OK if CASES[name][2] else sr.Status.NOT_ACHIEVABLE)
    long = {"duration": 0.2 if "free bodies" in name else 1.0, "dt": 1e-3 if system.nv <= 4 else 2e-3}
    motion = sr.simulate(system, q, v, **long)
    others = [without_rows(system, found.removable)]
    if reduced.mechanism is not None:
        assert sum(e.rows for e in reduced.exchanges) == len(found.removable)
        closures = [e.after for e in reduced.exchanges if isinstance(e, sr.Exchange)]
        assert all(after is None or after.kind in CLOSURE_KINDS for after in closures)
        others.append(sr.System(reduced.mechanism))
        here = sr.mobility(others[1], reduced.q)
        assert (here.status, here.dof, here.redundant) == (found.status, found.dof, ())
        assert here.rank == others[1].nc
    for other in others:
        if len(found.removable) == system.nc and other is others[0]:
            continue
        place, speed = (
            (reduced.q, carried_over(system, v, other, reduced.q)) if other is others[-1] else (q, v)
        )
        again = sr.simulate(other, place, speed, **long)
        assert again.status is motion.status or sr.Status.INACCURATE in (again.status, motion.status)
        assert (again.rank == other.nc).all()
        mine, its = shared(system.coordinate_names, other.coordinate_names)
        assert np.abs(again.q[:, its] - motion.q[:, mine]).max() < 1e-9
    assert np.abs(motion.q[-1] - q).max() > 0.01


def test_a_planar_loop_closed_by_a_hinge_wants_a_line():
    system = sr.System(four_bar("revolute"))
    (exchange,) = sr.mobility(system, closed(system)).suggestions
    assert (exchange.name, exchange.before.kind, exchange.after.kind, exchange.rows) == (
        "pin", "revolute", "point_on_line", 3
    )  # fmt: skip
    assert np.allclose(np.abs(exchange.after.axis1), [0, 1, 0], rtol=0, atol=1e-15)
    assert str(exchange) == (
        "closure 'pin': revolute → point_on_line along (0, 1, 0) in frame 1 on 'coupler', 3 rows fewer"
    )


def test_one_exchange_where_one_is_enough_and_else_several():
    system, q, _ = start("Bricard, free bodies")
    assert len(sr.mobility(system, q).suggestions) == 1
    system, q, _ = start("double Scott-Russell")
    kinds = [(e.name, e.after.kind) for e in sr.mobility(system, q).suggestions]
    assert kinds == [
        ("left_foot", "point_on_line"),
        ("right_foot", "point_on_line"),
        ("top", "point_on_plane"),
    ]


def test_joints_change_where_closures_cannot():
    """A planar four-bar with its coupler welded in the middle: R-S-C-R holds itself, and moves as before."""
    system = sr.System(four_bar("weld"))
    answer = sr.without_redundancy(system, closed(system))
    assert answer.removable == ("pin.y", "pin.rx", "pin.rz")
    assert [(e.name, e.before.kind, e.after.kind, e.rows) for e in answer.exchanges] == [
        ("crank", "revolute", "cylindrical", 1),
        ("coupler", "revolute", "spherical", 2),
    ]
    assert "joint 'coupler': revolute → spherical, 2 freedoms more" in str(answer)
    other = sr.System(answer.mechanism)
    assert (other.nv, other.nc, sr.mobility(other, answer.q).rank) == (7, 6, 6)
    for one, two in zip(system.body_placements(closed(system)), other.body_placements(answer.q)):
        assert np.abs(one - two).max() < 1e-12


def test_where_no_kind_does_it_the_answer_says_so():
    """Joints with dampers stay what they are: a damper of a ball joint is another one."""
    mechanism = four_bar("weld")
    for body in mechanism.bodies.values():
        mechanism.replace_body(replace(body, joints=tuple(replace(j, damping=(0.1,)) for j in body.joints)))
    system = sr.System(mechanism)
    answer = sr.without_redundancy(system, closed(system))
    assert (answer.status, answer.mechanism, answer.exchanges) == (sr.Status.NOT_ACHIEVABLE, None, ())
    assert answer.removable == ("pin.y", "pin.rx", "pin.rz")
    assert "no closures and no joints of other kinds make the 3 redundant rows independent" in str(answer)


def test_a_closure_that_goes_and_joints_that_change():
    mechanism = four_bar("weld")
    mechanism.closures["twin"] = replace(mechanism.closures["pin"], name="twin")
    system = sr.System(mechanism)
    answer = sr.without_redundancy(system, closed(system))
    assert [(e.name, e.after and e.after.kind) for e in answer.exchanges] == [
        ("twin", None), ("crank", "cylindrical"), ("coupler", "spherical")
    ]  # fmt: skip
    assert sum(e.rows for e in answer.exchanges) == len(answer.removable) == 9


def test_everything_else_of_the_mechanism_stays():
    """Names, coordinates, actuators, springs; values of parameters are numbers."""
    mechanism = four_bar("revolute")
    mechanism.add_actuator("motor", "crank")
    mechanism.add_coordinate_spring("spring", {"rocker": 1.0}, stiffness=3.0)
    system = sr.System(mechanism, {"m": "rocker.mass"})
    system.parameters["m"] = 7.0
    reduced = sr.without_redundancy(system, closed(system)).mechanism
    assert reduced.coordinate_names == mechanism.coordinate_names
    assert (list(reduced.actuators), list(reduced.coordinate_springs)) == (["motor"], ["spring"])
    assert reduced.bodies["rocker"].mass == 7.0
    assert list(reduced.closures) == ["pin"]
    assert mechanism.closures["pin"].kind == "revolute"


def test_multipliers_become_unique():
    system = sr.System(four_bar("revolute"))
    q = closed(system)
    other = sr.System(sr.without_redundancy(system, q).mechanism)
    before, after = (s.forward_dynamics(q, np.zeros(3)) for s in (system, other))
    assert not before.determined.all()
    assert after.determined.all()
    assert np.allclose(before.a, after.a, rtol=0, atol=1e-9)
    assert np.allclose(before.constraint_force, after.constraint_force, rtol=0, atol=1e-9)


def test_open_loops_are_an_error():
    system = sr.System(four_bar("point"))
    with pytest.raises(sr.ArgumentError, match=r"q leaves the loops open by"):
        sr.without_redundancy(system, np.add(closed(system), [0.1, 0.0, 0.0]))
