"""Rows that can go: as many as are too many, chosen alike everywhere, and none that another configuration needs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sarrus as sr
from mechanisms import displacement, random_pose
from overconstrained import CASES, hung_plate, parallelogram, without_rows
from sarrus.analysis.mobility.relaxed_closures import relaxations
from scaled import scaled, scales
from test_redundancy import CLOSURES, closed, four_bar
from test_singular import Parallelogram, RedundantParallelArm, rod_chain

LIGHT = [name for name in CASES if "free bodies" not in name]


def built(name: str) -> tuple[sr.System, np.ndarray]:
    mechanism, q = CASES[name][0]()
    system = sr.System(mechanism)
    return system, system.assemble(system.neutral() if q is None else q).q


def kept_rows(system: sr.System, removable: tuple[str, ...]) -> list[int]:
    return [k for k, name in enumerate(system.constraint_names) if name not in removable]


def even_rank(system: sr.System, q: np.ndarray, rows: list[int]) -> int:
    matrix = system.characteristic.scaled_rows(system.constraint_jacobian(q))[rows]
    return int(np.linalg.matrix_rank(matrix, tol=1e-7)) if rows else 0


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_has_full_rank_and_the_same_span(name):
    system, q = built(name)
    found = sr.mobility(system, q)
    rows = kept_rows(system, found.removable)
    assert len(rows) == found.rank == even_rank(system, found.q, rows)
    assert set(found.removable) <= set(found.redundant)
    expected = CASES[name][1]
    assert expected in (-1, len(found.removable))
    assert np.abs(system.constraint_jacobian(found.q)[rows] @ found.motions).max(initial=0.0) < 1e-9
    # along the motion too
    v = system.project_velocity(found.q, np.random.default_rng(0).standard_normal(system.nv))
    for step in (0.05, 0.1, 0.2):
        p = system.assemble(system.move(found.q, step * v / np.abs(v).max())).q
        assert even_rank(system, p, rows) == len(rows) == even_rank(system, p, list(range(system.nc)))


def test_undetermined_rows_outnumber_those_that_can_go():
    system, q = built("double Scott-Russell")
    found = sr.mobility(system, q)
    assert (system.nc, found.rank, found.dof) == (15, 5, 1)
    assert (len(found.redundant), len(found.removable)) == (12, 10)
    text = {line[:20].strip(): line[20:] for line in str(found).splitlines()}
    assert text["removable rows"].endswith(": these 10 together")


@pytest.mark.parametrize("kind", CLOSURES)
def test_dead_rows_of_a_plane_go_and_no_others(kind):
    system = sr.System(four_bar(kind))
    assert sr.mobility(system, closed(system)).removable == CLOSURES[kind][1]


def test_whole_constraints_go_first_and_the_last_of_them():
    system, q = built("loose door")
    assert sr.mobility(system, q).removable == tuple(n for n in system.constraint_names if "upper" in n)
    system, q = built("doubled rods")
    assert sr.mobility(system, q).removable == ("rod1_twin.length", "rod3_twin.length")


def test_full_rank_has_nothing_to_remove(example):
    for name in ("five_bar", "stewart", "parallelogram"):
        system = sr.System(example(name).build())
        found = sr.mobility(system, system.assemble(system.neutral(), throw=False).q)
        assert found.removable == () == found.suggestions
        assert found.reduction.status is sr.Status.OK
        assert found.reduction.mechanism is not None


# --- singular, rigid and shaky ------------------------------------------------------------------------


def test_flat_parallelogram_keeps_the_rows_that_it_needs_elsewhere():
    """At the flat configuration one of two rows is dependent; off it both are needed."""
    system = sr.System(Parallelogram.build())
    found = sr.mobility(system, np.zeros(3))
    assert (found.status, found.rank, len(found.determined)) == (sr.Status.SINGULAR, 1, 2)
    assert found.removable == ()


def test_flat_four_bar_loses_its_dead_rows_alone():
    """Links 1 + 2 = 1.4 + 1.6 lie on the ground line: of five rows of the pin three are dead on both branches."""
    links = [("one", "world", 0.0, 1.0), ("two", "one", 1.0, 2.0), ("three", "world", 1.4, 1.6)]
    mechanism = rod_chain("flat four-bar", links)
    axis = next(mechanism.joints()).axis
    mechanism.add_closure("pin", "revolute", "two", "three", pose1=(2.0, 0, 0), pose2=(1.6, 0, 0), axis=axis)
    system = sr.System(mechanism)
    found = sr.mobility(system, np.zeros(3))
    assert (found.status, found.rank, found.generic_rank) == (sr.Status.SINGULAR, 1, 2)
    assert len(found.branches) == 2
    assert len(found.removable) == 3
    rows = kept_rows(system, found.removable)
    for branch in found.branches:
        assert even_rank(system, branch.q, rows) == 2
    reduced = sr.mobility(sr.System(found.reduction.mechanism), np.zeros(3))
    assert (reduced.status, reduced.redundant) == (sr.Status.SINGULAR, ())
    assert [b.dof for b in reduced.branches] == [1, 1]


def test_the_third_crank_is_needed_where_it_alone_forbids_a_branch():
    """Flat, a parallelogram on two cranks may fold over, and one on three may not; elsewhere one crank says nothing."""
    system = sr.System(RedundantParallelArm.build())
    away = sr.mobility(system, 0.5 * RedundantParallelArm.tangent)
    assert (away.status, len(away.removable)) == (sr.Status.OK, 1)
    flat = sr.mobility(system, np.zeros(4))
    assert flat.finite_dof == 1
    assert flat.removable == ()
    two = sr.mobility(without_rows(system, away.removable), np.zeros(4))
    assert len(two.branches) > len(flat.branches)


@pytest.mark.parametrize(("cranks", "count"), [(2, 3), (3, 6), (4, 10)])
def test_flat_parallelograms_with_hinges_keep_a_row_for_the_second_order(cranks, count):
    """Elsewhere one row more can go, if there are three cranks; flat, the reduced one has the same branches."""
    system = sr.System(parallelogram("revolute", cranks)[0])
    away = sr.mobility(system, system.neutral())
    lean = np.arctan2(0.9, 0.3)
    q = [lean if name == "coupler" else -lean for name in system.coordinate_names]
    flat = sr.mobility(system, q)
    assert (flat.status, flat.rank, flat.generic_rank) == (sr.Status.SINGULAR, cranks - 1, cranks)
    assert len(flat.removable) == count == len(away.removable) - (cranks > 2)
    reduced = sr.mobility(sr.System(flat.reduction.mechanism), q)
    assert len(reduced.branches) == len(flat.branches) == (2 if cranks == 2 else 1)
    assert (reduced.rank, reduced.generic_rank) == (flat.rank, flat.generic_rank)


def test_rods_in_excess_of_rank_still_hold():
    """A plate on parallel rods: rank 3 all along, but three rods let it turn and four do not."""
    system = sr.System(hung_plate(4)[0])
    found = sr.mobility(system, system.neutral())
    assert (found.rank, found.shaky, found.removable) == (3, True, ())
    system = sr.System(hung_plate(6)[0])
    found = sr.mobility(system, system.neutral())
    assert found.removable == ("rod4.length", "rod5.length")
    assert [(e.name, e.after, e.rows) for e in found.suggestions] == [("rod4", None, 1), ("rod5", None, 1)]
    reduced = sr.mobility(sr.System(found.reduction.mechanism), system.neutral())
    assert (reduced.dof, reduced.finite_dof, reduced.shaky) == (found.dof, found.finite_dof, True)


def test_isolated_configurations_keep_what_holds_them():
    """Two bars just reach: one of two rows has no first order there, and holds the mechanism by its second."""
    mechanism = rod_chain("stretched", [("one", "world", 0.0, 1.0), ("two", "one", 1.0, 0.5)])
    axis = next(mechanism.joints()).axis
    mechanism.add_closure("end", "revolute", "world", "two", pose1=(1.5, 0, 0), pose2=(0.5, 0, 0), axis=axis)
    found = sr.mobility(sr.System(mechanism), np.zeros(2))
    assert (found.status, found.rank, len(found.removable)) == (sr.Status.RIGID, 1, 3)
    left = sr.mobility(sr.System(found.reduction.mechanism), np.zeros(2))
    assert (left.status, len(left.determined)) == (sr.Status.RIGID, 2)


# --- what the choice does not depend on ---------------------------------------------------------------


@pytest.mark.parametrize("name", LIGHT[::3])
def test_metres_and_millimetres_agree(name):
    system, q = built(name)
    found = sr.mobility(system, q)
    small = sr.System(scaled(system, 1000.0))
    places, _ = scales(system, 1000.0)
    other = sr.mobility(small, places * q)
    assert other.removable == found.removable
    assert [e.after and e.after.kind for e in other.suggestions] == [
        e.after and e.after.kind for e in found.suggestions
    ]


def test_configurations_of_one_motion_agree():
    system = sr.System(parallelogram("revolute")[0])
    names = {
        sr.mobility(system, system.assemble([a, 0.0, 0.0], locked=["crank0"]).q).removable
        for a in np.linspace(-1.0, 1.0, 9)
    }
    assert len(names) == 1


def test_constraints_that_come_and_go_do_not_vouch_for_others():
    """A prop that is on now carries the same load as a rod that always does: the prop can go, the rod cannot."""
    mechanism = sr.Mechanism("propped")
    mechanism.add_body("beam", 1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("hinge", "revolute", "world", "beam", axis=(0, 1, 0))
    ends = {"pose1": (1, 0, -1), "pose2": (1, 0, 0), "length": 1.0}
    mechanism.add_closure("prop", "distance", "world", "beam", **ends, active=True)
    mechanism.add_closure("rod", "distance", "world", "beam", **ends)
    system = sr.System(mechanism)
    assert sr.mobility(system, [0.0]).removable == ("prop.length",)
    system.parameters["active.prop"] = 0.0
    assert sr.mobility(system, [0.0]).removable == ()


def test_own_equations_have_removable_rows_and_no_mechanism():
    doubled = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: (v[0] ** 2 + v[1] ** 2) / 2,
        holonomic=lambda q, t: [q[0] - q[1], 2 * q[0] - 2 * q[1]],
    )
    found = sr.mobility(doubled, [0.3, 0.3])
    assert found.removable == doubled.constraint_names[1:]
    assert (found.reduction.mechanism, found.reduction.status) == (None, sr.Status.NOT_ACHIEVABLE)


# --- kinds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["weld", "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "point"]
)
def test_relaxed_closures_hold_wherever_the_closure_does(kind):
    """Their residuals vanish at poses that the closure allows, and their rows are combinations of its rows."""
    rng = np.random.default_rng(4)
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    shift, second = displacement(kind, axis, 0.3, rng)
    one = random_pose(rng)
    mechanism = sr.Mechanism("pair")
    for name in ("a", "b"):
        mechanism.add_body(name, 1.0, inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint(name, "free", "world", name)
    closure = mechanism.add_closure(
        "c", kind, "a", "b", pose1=one, pose2=random_pose(rng), axis=axis, axis2=second, pitch=0.3
    )
    # b where the closure has its frame, moved as it allows; a in the world's
    b = one @ shift @ closure.pose2.inverse()
    q = np.concatenate([np.zeros(3), [1, 0, 0, 0], b.position, b.quaternion])
    system = sr.System(mechanism)
    assert np.abs(system.constraint_residual(q)).max() < 1e-12
    own = system.constraint_jacobian(q)
    frames = list(closure.pose1.rotation.T), list(closure.pose2.rotation.T)
    options = list(relaxations(closure, *frames))
    assert options[-1].closure is None
    kinds = set()
    for option in options[:-1]:
        copy = mechanism.snapshot()
        copy.closures["c"] = option.closure
        if option.closure.kind in kinds and option.swapped is False:
            continue
        kinds.add(option.closure.kind)
        other = sr.System(copy)
        assert np.abs(other.constraint_residual(q)).max() < 1e-12, str(option)
        rows = other.constraint_jacobian(q)
        assert np.linalg.matrix_rank(np.vstack([own, rows]), tol=1e-9) == np.linalg.matrix_rank(own, tol=1e-9)
        # what the search takes its rows for spans the same
        twist = np.zeros((6, 12))
        p = closure.pose2.position
        arm = b.rotation @ p
        twist[:3, 3:6], twist[:3, 9:] = -np.eye(3), b.rotation
        cross = lambda r: np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])  # noqa: E731
        twist[3:, :3], twist[3:, 6:9] = -np.eye(3), np.eye(3)
        twist[3:, 9:] = -cross(arm) @ b.rotation
        twist[3:, 3:6] = cross(b.position + arm)
        said = option.rows(b.rotation) @ twist
        assert len(said) == len(rows)
        assert np.linalg.matrix_rank(np.vstack([said, rows]), tol=1e-9) == len(rows)


def test_every_row_set_has_the_size_of_a_basis():
    """By brute force: no larger set of rows of the stacked parallelograms' first storey could go."""
    system, q = built("parallelogram, revolute")
    found = sr.mobility(system, q)
    more = len(found.removable) + 1
    everything = range(system.nc)
    assert all(
        even_rank(system, found.q, [k for k in everything if k not in gone]) < found.rank
        for gone in itertools.combinations(everything, more)
    )
