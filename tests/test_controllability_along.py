"""What the actuators reach along a schedule of closures, by hand and by linear algebra of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

sys.path.insert(0, str(Path(__file__).parent / "families"))

import handed_over as family

import sarrus as sr
from sarrus import control
from sarrus.base.errors import ArgumentError
from sarrus.symbolic.equations.equations import activity_parameter

CLUTCH = {"clutch": [(1.0, 2.0)]}


def carts(*motors: str) -> sr.System:
    m = sr.Mechanism("carts", gravity=(0, 0, 0))
    for name, mass in (("a", 2.0), ("b", 3.0), ("c", 1.0)):
        m.add_body(name, mass)
        m.add_joint(name, "prismatic", "world", name, axis=(1, 0, 0))
    for name in motors:
        m.add_actuator(name, name)
    m.add_coupling("clutch", {"a": 1.0, "b": -1.0}, active=False)
    return sr.System(m)


def test_a_cart_that_a_clutch_takes_along():
    found = control.controllability_along(carts("a"), CLUTCH, [0, 0, 0], 3.0)
    assert [(p.start, p.end, p.holding) for p in found.phases] == [
        (0.0, 1.0, ()), (1.0, 2.0, ("clutch",)), (2.0, 3.0, ())
    ]  # fmt: skip
    assert [(p.reach.rank, p.reach.dof) for p in found.phases] == [(1, 3), (1, 2), (1, 3)]
    assert set(found.phases[0].reach.names) == {"b", "c"}
    assert found.phases[1].reach.names == ("c",)
    assert not found.controllable
    assert found.names == ("c",)
    assert [(s.time, s.loads, s.free, s.bound) for s in found.switches] == [
        (1.0, 1, 0, ("clutch",)), (2.0, 1, 0, ("clutch",))
    ]  # fmt: skip
    assert "1 to 2 s, clutch: 1 of 2 motions" in str(found)
    assert "reached in no phase: c" in str(found)


def test_motors_to_spare_set_the_load():
    found = control.controllability_along(carts("a", "b", "c"), CLUTCH, [0, 0, 0], 3.0)
    assert found.controllable
    assert not found.names
    assert [(s.loads, s.free, s.bound) for s in found.switches] == [(1, 1, ())] * 2


def test_a_redundant_closure_has_no_load():
    own = family.machine(5)
    q = np.array(own.q)
    found = control.controllability_along(own.system, {"third": [(0.0, 1.0)]}, q, 2.0)
    # of the two rows of the third crank in the plane the one that turns it with the others is independent
    assert [(s.loads, s.free) for s in found.switches] == [(1, 1)]


def test_the_crate_of_the_example_waits_for_the_gripper(example: Any):
    module = example("grasp_carry")
    system = sr.System(module.build())
    q = module.start(system)
    schedule = {"first stand": [(0.0, 1.0)], "grasp": [], "second stand": []}
    found = control.controllability_along(system, schedule, q, 2.0)
    assert [(p.reach.rank, p.reach.dof) for p in found.phases] == [(4, 4), (4, 7)]
    assert set(found.names) == {"crate.x", "crate.z", "crate.angle"} or found.never.shape == (7, 3)
    assert found.switches[0].loads == 3
    assert found.switches[0].free == 0


@pytest.mark.parametrize("number", range(40))
def test_ranks_and_loads_of_random_machines(number: int):
    """Against pseudo-inverses of the matrices as they are, in one configuration."""
    rng = np.random.default_rng(number)
    own = family.machine(number % len(family.MACHINES))
    names = own.switching[int(rng.integers(len(own.switching)))]
    state = family.state(own, names, rng)
    assert state is not None
    q, s = state[0], own.system
    schedule = {name: [(-1.0, 1.0)] for name in names}
    found = control.controllability_along(s, schedule, q, 2.0)
    S, zero = s.actuation_matrix(q), np.zeros(s.nv)
    jacobians = []
    for phase, on in zip(found.phases, (1.0, 0.0)):
        s.parameters.update({activity_parameter(name): on for name in names})
        A = s.constraint_jacobian(q, zero)
        free = np.eye(s.nv) - np.linalg.pinv(A, rcond=1e-9) @ A
        assert phase.reach.dof == np.linalg.matrix_rank(free, tol=1e-6)
        assert phase.reach.rank == np.linalg.matrix_rank(free @ S, tol=1e-7)
        jacobians.append(A)
    both, rest = (np.linalg.matrix_rank(A, tol=1e-7) for A in jacobians)
    load = found.switches[0]
    assert load.loads == both - rest
    # internal forces, and what of them the other closures cannot carry
    both_free, rest_free = (np.eye(s.nv) - np.linalg.pinv(A, rcond=1e-9) @ A for A in jacobians)
    _, sizes, right = np.linalg.svd(both_free @ S)
    internal = right[int((sizes > 1e-7).sum()) :].T
    assert load.free == np.linalg.matrix_rank(rest_free @ S @ internal, tol=1e-7)
    assert len(load.bound) == load.loads - load.free


def test_arguments_are_checked():
    system = carts("a")
    with pytest.raises(ArgumentError, match="'brake'"):
        control.controllability_along(system, {"brake": [(0.0, 1.0)]}, [0, 0, 0], 2.0)
    with pytest.raises(ArgumentError, match="ascending pairs"):
        control.controllability_along(system, {"clutch": [(1.0, 0.5)]}, [0, 0, 0], 2.0)
    with pytest.raises(ArgumentError, match="duration"):
        control.controllability_along(system, CLUTCH, [0, 0, 0], 0.0)
    with pytest.raises(ArgumentError, match="q must be"):
        control.controllability_along(system, CLUTCH, "start", 1.0)
    assert_allclose(control.controllability_along(system, {}, lambda t: [t, 0, 0], 1.0).phases[0].end, 1.0)
