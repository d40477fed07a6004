"""Rosenbrock–Wanner methods: RODAS4 of order 4(3), RODAS5P of order 5(4), both L-stable and stiffly accurate.

A step of ẏ = f(t, y) from (t₀, y₀), with J = ∂f/∂y and ḟ = ∂f/∂t there, solves for the stages u_i in turn

    (I/(h γ) − J) u_i = f(t₀ + α_i h, y₀ + Σ a_ij u_j) + Σ (C_ij/h) u_j + γ_i h ḟ

and ends at y₀ + Σ m_i u_i; the last stage is the error estimate (Hairer and Wanner, Solving Ordinary Differential
Equations II, 2nd ed., IV.7, equations (7.25)). Stiffly accurate: the step ends where the last stage begins, plus that
stage. Coefficients: of RODAS4 as in the same book's code RODAS; of RODAS5P from Steinebach, BIT Numer. Math. 63, 27,
2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.kernels.integrate.tableau import widest_gap

IMPLICIT_METHODS = ("rodas4", "rodas5p")

# Rows of a and of C below the diagonal. The last rows of a, and m, follow from the row before (`_method`).
_RODAS4_A = [
    [1.544],
    [0.9466785280815826, 0.2557011698983284],
    [3.314825187068521, 2.896124015972201, 0.9986419139977817],
    [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950],
]
_RODAS4_C = [
    [-5.6688],
    [-2.430093356833875, -0.2063599157091915],
    [-0.1073529058151375, -9.594562251023355, -20.47028614809616],
    [7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160],
    [8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054],
]
_RODAS5P_A = [
    [3.0],
    [2.849394379747939, 0.45842242204463923],
    [-6.954028509809101, 2.489845061869568, -10.358996098473584],
    [2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641],
    [-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946],
]
_RODAS5P_C = [
    [-14.155112264123755],
    [-17.97296035885952, -2.859693295451294],
    [147.12150275711716, -1.41221402718213, 71.68940251302358],
    [165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306],
    [24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471],
    [
        30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
        -28.087943162872662,
    ],
    [
        37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
        -54.66780262877968, -9.48861652309627,
    ],
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class RosenbrockTableau:
    """Coefficients of a method: γ, a and C (s × s, strictly lower), α_i, γ_i and m (s,).

    ``nodes`` holds α_i, ``time_weights`` holds γ_i.
    """

    name: str
    order: int
    error_order: int
    gamma: float
    a: Array
    c: Array
    nodes: Array
    time_weights: Array
    m: Array

    def between(self, place: float) -> float:
        """Return the fraction of a step, 0 to 1, at which a singular configuration is placed (`widest_gap`)."""
        return widest_gap(self.nodes, place)

    def packed(self) -> Array:
        """Return γ, a, C, α, γ_i and m in one vector, as `sarrus.kernels.integrate.rosenbrock` reads them."""
        parts = [
            np.array([self.gamma]),
            self.a.ravel(),
            self.c.ravel(),
            self.nodes,
            self.time_weights,
            self.m,
        ]
        return np.concatenate(parts)


@lru_cache(maxsize=len(IMPLICIT_METHODS))
def rosenbrock_tableau(name: str) -> RosenbrockTableau:
    """Return the coefficients of the method ``name``: rodas4 or rodas5p."""
    if name == "rodas4":
        return _method(name, 4, 0.25, _RODAS4_A, _RODAS4_C)
    if name == "rodas5p":
        return _method(name, 5, 0.21193756319429014, _RODAS5P_A, _RODAS5P_C)
    raise ArgumentError(
        f"unknown method {name!r}. Known: {', '.join(IMPLICIT_METHODS)}", element=name, valid=IMPLICIT_METHODS
    )


def _inverse_of_triangle(lower: Array) -> Array:
    """Return the inverse of a lower triangular matrix, by rows: unlike with LAPACK, all machines give equal bits."""
    inverse = np.zeros_like(lower)
    for i in range(len(lower)):
        inverse[i, i] = 1.0
        for j in range(i):
            inverse[i] -= lower[i, j] * inverse[j]
        inverse[i] /= lower[i, i]
    return inverse


def _method(
    name: str, order: int, gamma: float, a_rows: list[list[float]], c_rows: list[list[float]]
) -> RosenbrockTableau:
    """Return the coefficients of a method.

    Each row of a after ``a_rows``, and m, is the previous row with a 1 appended.
    """
    s = len(c_rows) + 1
    a, c = np.zeros((s + 1, s)), np.zeros((s, s))
    for i, row in enumerate(c_rows, 1):
        c[i, :i] = row
    for i in range(1, s + 1):
        a[i, :i] = a_rows[i - 1] if i <= len(a_rows) else [*a[i - 1, : i - 1], 1.0]
    a, m = a[:s], a[s]
    # α_ij and γ_ij of the untransformed method: Γ = (I/γ − C)⁻¹, α = a Γ.
    gammas = _inverse_of_triangle(np.eye(s) / gamma - c)
    return RosenbrockTableau(
        name,
        order,
        order - 1,
        gamma,
        a,
        c,
        (a[:, :, None] * gammas).sum(axis=1).sum(axis=1),
        gammas.sum(axis=1),
        m,
    )
