"""Linear models of every shipped model against differences with sixty digits, and in every choice of coordinates."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import combinations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from high_precision import DIGITS, OPERATIONS, ExactFunction, ReducedMotion, exact, solve
from linear_precision import SHIPPED, State, draws, errors
from sarrus.analysis.configurations.equilibrium import equilibrium
from sarrus.analysis.linear.linearize import linearize
from sarrus.analysis.linear.linearize_at import linearize_at
from sarrus.base.errors import ArgumentError
from test_linearization import pendulum, sorted_eigenvalues

LARGE = ("quadruped", "stewart")  # every fifth column of these


def drawn(name: str) -> State:
    """Return the first state of a model that counts."""
    return next(state for state in draws(name, seed=1) if state is not None)


@pytest.mark.parametrize("name", SHIPPED)
def test_models_have_ten_digits(name: str) -> None:
    found = errors(drawn(name), every=5 if name in LARGE else 1)
    assert found.taylor < 1e-10
    assert found.along < 1e-10
    assert found.differences < 1e-6


# --- the reference itself ------------------------------------------------------------------------------


def test_reference_has_thirty_digits_of_a_pendulum() -> None:
    """ẍ = x (g y − η² l² / y²) / l² on the circle, with η = ẋ and y = −√(l² − x²)."""
    model = linearize_at(pendulum(), [1.2, -1.6], [0.8, 0.6])
    assert model.coordinates == ("x",)
    with localcontext(prec=DIGITS):
        length, g = Decimal(2), np.divide(*exact([0.7 * 9.81, 0.7]))  # weight and mass are doubles
        step, motion = Decimal("1e-18"), ReducedMotion(model, model.q, model.v, model.u, 0.0)
        x, eta = exact([1.2, 0.8])
        y, none = -(length**2 - x**2).sqrt(), exact([])

        def difference(one: Decimal, two: Decimal) -> Decimal:
            ends = [motion(s * np.array([one]), s * np.array([two]), none, Decimal(0))[1] for s in (1, -1)]
            return (ends[0] - ends[1]) / 2 / step

        speed = eta**2 * length**2
        by_x = (g * y - speed / y**2 - x**2 / y * (g + 2 * speed / y**3)) / length**2
        zero = Decimal(0)
        assert abs(difference(step, zero) - by_x) < Decimal("1e-30")
        assert abs(difference(zero, step) + 2 * x * eta / y**2) < Decimal("1e-30")


def test_operations_are_those_of_casadi() -> None:
    a, b = ca.SX.sym("a"), ca.SX.sym("b")
    expressions = ca.vertcat(
        a + b, a - b, a * b, a / b, -a, a**2, 2 * a, 1 / b, ca.sqrt(a), ca.sin(a), ca.cos(a), a < b, ca.logic_not(a),
        ca.if_else(a < 1, b, 0), a <= b, ca.logic_and(a < b, b < 1), ca.logic_or(a < b, b < 1), ca.fabs(a - b),
        ca.fmin(a, b), ca.fmax(a, b),
    )  # fmt: skip
    function = ca.Function("expressions", [ca.vertcat(a, b)], [expressions])
    used = {function.instruction_id(k) for k in range(function.n_instructions())}
    assert used >= OPERATIONS.keys()
    many = ExactFunction(ca.vertcat(a, b), value=expressions)
    for one, two in ((0.3, 1.7), (1.7, 0.3), (0.3, 0.3), (0.0, 2.0)):
        found = many(exact([one, two]))["value"].astype(float)
        assert_allclose(found, np.array(function([one, two]))[:, 0], rtol=1e-15)


def test_elimination_is_exact() -> None:
    """Hilbert's matrix of order ten, whose condition number is 1e13, against its integer inverse."""
    n = 10
    with localcontext(prec=DIGITS):
        hilbert = np.array([[1 / Decimal(i + j + 1) for j in range(n)] for i in range(n)])
        inverse = solve(hilbert, exact(np.eye(n)))
    assert abs(inverse[0, 0] - n**2) < Decimal("1e-40")
    assert max(abs(x - x.to_integral_value()) for x in inverse.flat) < Decimal("1e-35")


# --- equilibria ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["front_loader", "five_bar", "models/five_bar.xml", "parallelogram", "bricard", "bricard, free bodies"],
)
def test_eigenvalues_agree_in_every_valid_choice_of_coordinates(name: str) -> None:
    """Every set of names is refused where [A; W] loses rank and else gives the eigenvalues of all others."""
    system, q, *_ = drawn(name)
    rest = equilibrium(system, q, hold=True, within_limits=False) if system.nu else equilibrium(system, q)
    first = linearize(system, rest.q, rest.u)
    n = 2 * first.dof
    assert first.A.shape == (n, n)
    assert n == (2 if name.startswith("bricard") else 4)
    expected = sorted_eigenvalues(first.A, n)
    size = np.abs(expected).max()
    assert_allclose(sorted_eigenvalues(first.A_full, n) / size, expected / size, atol=1e-9)
    rows, models = system.constraint_jacobian(rest.q), 0
    for names in combinations(system.velocity_names, first.dof):
        chosen = np.eye(system.nv)[[system.velocity_names.index(each) for each in names]]
        if np.linalg.matrix_rank(np.vstack([rows, chosen]), tol=1e-9) < system.nv:
            with pytest.raises(ArgumentError, match="do not determine the other coordinates here"):
                linearize(system, rest.q, rest.u, coordinates=names)
            continue
        model = linearize(system, rest.q, rest.u, coordinates=names)
        assert_allclose(sorted_eigenvalues(model.A, n) / size, expected / size, atol=1e-9)
        assert_allclose(sorted_eigenvalues(model.A_full, n) / size, expected / size, atol=1e-9)
        models += 1
    assert models >= 3
