"""Derivatives of contact problems: against differences in forty digits, closed forms, and at borders of modes."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from contact_problems import ROLLING, USUAL, random_problem
from contact_tangents import judge
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.dynamics.optimize import contact_tangent, solve_contact_problem


@pytest.mark.parametrize("sizes", [USUAL, ROLLING])
def test_derivatives_of_random_problems_have_eight_digits(sizes: tuple[int, ...]) -> None:
    rng, seen = np.random.default_rng(1), list[str]()
    for _ in range(60):
        status, error = judge(random_problem(rng, most=6, sizes=sizes), rng)
        assert error < 1e-8
        seen.append(status)
    assert set(seen) <= {"OK", "NOT_ACHIEVABLE"}
    assert seen.count("OK") > 50


def test_a_contact_that_slides_and_one_that_sticks() -> None:
    """r_n = −b_n; while it slides δu_t = δb_t + μ d δb_n + …, while it sticks δu = 0 and δr = −δb."""
    mu, b = 0.5, np.array([-2.0, 3.0, 0.0])
    slides = solve_contact_problem(np.eye(3), b, [(3, mu)])
    found = contact_tangent(slides, np.eye(3), np.eye(3), [(3, mu)])
    # u_t = b_t − μ r_n d: a push aside of δ turns d by δu/‖u‖
    np.testing.assert_allclose(found.velocities, [[0, 0, 0], [mu, 1, 0], [0, 0, 2.0 / 3.0]], atol=1e-14)
    np.testing.assert_allclose(found.forces, [[-1, 0, 0], [mu, 0, 0], [0, 0, -1.0 / 3.0]], atol=1e-14)
    sticks = solve_contact_problem(np.eye(3), [-2.0, 0.3, 0.1], [(3, mu)])
    found = contact_tangent(sticks, np.eye(3), np.eye(3), [(3, mu)])
    np.testing.assert_allclose(found.velocities, 0.0, atol=1e-15)
    np.testing.assert_allclose(found.forces, -np.eye(3), atol=1e-14)
    inertia = (np.diag([1.0, 2.0, 4.0]), np.eye(3))
    by_inertia = solve_contact_problem(inertia, b, [(3, mu)])
    by_delassus = solve_contact_problem(None, b, [(3, mu)], delassus=np.diag([1.0, 0.5, 0.25]))
    np.testing.assert_allclose(
        contact_tangent(by_inertia, np.eye(3), inertia, [(3, mu)]).velocities,
        contact_tangent(
            by_delassus, np.eye(3), None, [(3, mu)], delassus=np.diag([1.0, 0.5, 0.25])
        ).velocities,
        atol=1e-13,
    )


@pytest.mark.parametrize("aside", [0.0, 1e-9, -1e-9])
def test_at_borders_of_modes_there_is_a_status(aside: float) -> None:
    """A contact that is about to lift off, one that is about to slip, dry friction at its limit."""
    problems = [
        ([aside, 1.0, 0.0], [(3, 0.5)], []),
        ([-2.0, 1.0 + aside, 0.0], [(3, 0.5)], []),
        ([1.0 + aside], [], [(1, 1.0)]),
    ]
    for b, contacts, dry in problems:
        found = solve_contact_problem(np.eye(len(b)), b, contacts, dry)
        tangent = contact_tangent(found, np.eye(len(b)), np.eye(len(b)), contacts, dry, throw=False)
        assert tangent.status is Status.NOT_ACHIEVABLE
        assert tangent.border == (0,)
        with pytest.raises(SolveError, match="at a border of modes: contacts 0"):
            contact_tangent(found, np.eye(len(b)), np.eye(len(b)), contacts, dry)


def test_shares_of_corners_that_slide_in_other_directions_are_not_determined() -> None:
    """Four corners of a crate that turns: how they share the load changes where it goes; in translation it does not."""
    corners = [(0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2)]
    rows = np.vstack(
        [
            [[0, 0, 1, y, -x, 0], [1, 0, 0, 0, -0.1, -y], [0, 1, 0, 0.1, 0, x]]
            for x, y in corners
        ]
    ) @ np.diag([1, 1, 1, 4, 4, 4])  # fmt: skip
    contacts, falls = [(3, 0.2)] * 4, rows @ np.array([1.0, 0.0, -1.0, 0, 0, 0])
    slides = solve_contact_problem(rows, falls, contacts)
    along = contact_tangent(slides, rows[:, :3], rows, contacts)
    np.testing.assert_allclose(along.velocities[1::3, 0], 1.0, atol=1e-12)
    turns = falls + rows @ np.array([0, 0.3, 0, 0, 0, 1.0])
    found = solve_contact_problem(rows, turns, contacts)
    tangent = contact_tangent(found, rows, rows, contacts, throw=False)
    assert tangent.status is Status.NOT_ACHIEVABLE
    assert tangent.border == (0, 1, 2, 3)


def test_changes_that_part_redundant_rows_are_inconsistent() -> None:
    rows = np.array([[1.0], [1.0]])
    found = solve_contact_problem(rows, [-1.0, -1.0], [(1, 0.0), (1, 0.0)])
    assert contact_tangent(found, [1.0, 1.0], rows, [(1, 0.0), (1, 0.0)]).status is Status.OK
    parted = contact_tangent(found, [1.0, 0.0], rows, [(1, 0.0), (1, 0.0)], throw=False)
    assert parted.status is Status.INCONSISTENT
    assert "redundant rows" in parted.message


def test_arguments_are_checked() -> None:
    found = solve_contact_problem(np.eye(1), [-1.0], [(1, 0.0)])
    with pytest.raises(ArgumentError, match="changes must be finite, with 1 rows"):
        contact_tangent(found, [1.0, 2.0], np.eye(1), [(1, 0.0)])
    none = solve_contact_problem(np.zeros((1, 1)), [-1.0], [(1, 0.0)], throw=False)
    with pytest.raises(ArgumentError, match="only a solution has derivatives"):
        sr.optimize.contact_tangent(none, [1.0], np.zeros((1, 1)), [(1, 0.0)])
