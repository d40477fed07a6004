"""Systems are copied and pickled by their mechanism; systems from own equations say that they are not."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from mechanisms import close_loops, random_coordinates, random_state, random_tree
from sarrus.analysis.mobility.mobility import mobility
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.system import System

COPIES: list[Callable[[System], System]] = [
    copy.copy,
    copy.deepcopy,
    lambda system: pickle.loads(pickle.dumps(system)),
]


@pytest.mark.parametrize("duplicate", COPIES)
def test_a_copy_computes_the_same_and_has_its_own_options(duplicate: Callable[[System], System]) -> None:
    plan = random_tree(2, ("free", "revolute", "universal"))
    q = random_coordinates(plan)
    system = System(close_loops(plan, q, ("point",)))
    system.options = replace(system.options, singular_cut=1e-7)
    _, v = random_state(system, 1)
    copied = duplicate(system)
    assert copied.options == system.options
    assert copied.coordinate_names == system.coordinate_names
    found, expected = copied.forward_dynamics(q, v), system.forward_dynamics(q, v)
    np.testing.assert_array_equal(found.a, expected.a)
    assert found.tolerance == 1e-7
    copied.options = replace(copied.options, singular_cut=1e-9)
    assert system.options.singular_cut == 1e-7
    assert copied.forward_dynamics(q, v).tolerance == 1e-9


def test_a_shallow_copy_shares_the_model_of_own_equations() -> None:
    system = System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, name="bead")
    assert copy.copy(system).model is system.model


@pytest.mark.parametrize("duplicate", COPIES[1:])
def test_own_equations_cannot_be_copied(duplicate: Callable[[System], System]) -> None:
    system = System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, name="bead")
    with pytest.raises(
        ArgumentError, match="bead: a system from your own equations cannot be copied or pickled"
    ):
        duplicate(system)


@pytest.mark.parametrize("duplicate", COPIES)
def test_a_mobility_of_own_equations_is_copied_with_what_can_go(duplicate) -> None:
    system = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1],
        holonomic=lambda q, t: ca.vertcat(ca.sumsqr(q) - 1, 2 * ca.sumsqr(q) - 2),
    )
    found = mobility(system, [0.0, -1.0])
    copied = duplicate(found)
    assert (copied.dof, len(copied.removable)) == (1, 1)
    assert copied.removable == found.removable
    assert str(copied) == str(found)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))]
)
def test_answers_of_forward_dynamics_are_copied_with_all_that_they_tell(duplicate) -> None:
    model = Path(__file__).parent.parent / "models" / "five_bar.xml"
    system = sr.System(sr.load(model), parameters={"m": "link1.mass"})
    system.parameters["m"] = 3.0
    q = system.assemble(system.neutral()).q
    found = system.forward_dynamics(q, np.zeros(system.nv))
    again = duplicate(found)
    for name in ("a", "multipliers", "constraint_force", "determined"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    assert (again.status, again.rank, again.dof, again.redundant) == (
        found.status,
        found.rank,
        found.dof,
        found.redundant,
    )
