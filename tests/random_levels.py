"""Random hierarchies of equalities and inequalities over the forces of carts, and another solver level by level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import casadi as ca
import clarabel
import numpy as np
from scipy import sparse

import sarrus as sr
from sarrus import control
from sarrus.base.arrays import Array


@cache
def carts(count: int) -> sr.System:
    """Return carts of a kilogram side by side, each with a motor: accelerations are forces."""
    mechanism = sr.Mechanism("carts", gravity=(0, 0, 0))
    for k in range(count):
        mechanism.add_body(f"cart{k}", 1.0)
        mechanism.add_joint(f"x{k}", "prismatic", "world", f"cart{k}", axis=(1, 0, 0))
        mechanism.add_actuator(f"u{k}", f"x{k}")
    return sr.System(mechanism)


@dataclass(frozen=True)
class Rows:
    """T x = d, or T x ≤ d."""

    T: Array
    d: Array
    at_most: bool


class Hierarchy(control.Law):
    """Levels whose numbers are settings: rows of each, negative for inequalities."""

    def __init__(
        self,
        system: sr.System,
        shape: tuple[int, ...],
        used: int,
        active: tuple[float, ...] = (),
        **options: object,
    ) -> None:
        settings, levels = control.Settings(), []
        for k, rows in enumerate(shape):
            count, n = abs(rows), system.nv
            T = ca.reshape(settings.add(f"T{k}", 0.0, count * n, "levels"), count, n)
            d = settings.add(f"d{k}", 0.0, count, "levels")
            names = tuple(f"row{k}.{i}" for i in range(count))
            on = ca.SX(ca.DM.ones(count) * active[k]) if active else None
            if k < used:
                levels.append(control.Demand(f"level{k}", names, T, d, at_most=rows < 0, active=on))
        super().__init__(system, levels, settings, **options)

    def take(self, levels: list[Rows], lower: Array, upper: Array) -> None:
        """Go by these numbers from now on."""
        numbers = np.concatenate([np.concatenate([x.T.ravel(order="F"), x.d]) for x in levels])
        self._own_input()[: len(numbers)] = numbers
        assert self.limits is not None
        self.limits.arrays["physics"][: 2 * self.system.nu] = [*lower, *upper]


def random_levels(rng: np.random.Generator, shape: tuple[int, ...], n: int) -> list[Rows]:
    """Return random levels: some rows repeat others, some are zero, some ask for much."""
    levels: list[Rows] = []
    for rows in shape:
        T = rng.normal(size=(abs(rows), n)) * rng.choice([0.0, 1.0], size=(1, n), p=[0.3, 0.7])
        if levels and rng.random() < 0.3:
            T[0] = levels[-1].T[0]
        if abs(rows) > 1 and rng.random() < 0.3:
            T[-1] = T[0]
        d = rng.normal(size=abs(rows)) * rng.choice([0.3, 1.0, 4.0])
        levels.append(Rows(T, d, rows < 0))
    return levels


def misses(levels: list[Rows], x: Array) -> Array:
    """Return what levels miss."""
    left = [level.T @ x - level.d for level in levels]
    return np.array([np.linalg.norm(np.maximum(r, 0.0) if y.at_most else r) for y, r in zip(levels, left)])


def least_misses(levels: list[Rows], lower: Array, upper: Array) -> Array:
    """Return what each level misses at the least, with those before it as they are; NaN from where the solver fails."""
    n, told = len(lower), np.full(len(levels), np.nan)
    A, b = np.zeros((0, n)), np.zeros(0)
    G, h = np.vstack([np.eye(n), -np.eye(n)]), np.concatenate([upper, -lower])
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter = False, 400
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    for k, level in enumerate(levels):
        m = len(level.d)
        # variables x and w: T x − w = d, or ≤ d
        own = np.hstack([level.T, -np.eye(m)])
        wide = [np.hstack([part, np.zeros((len(part), m))]) for part in (A, G)]
        cones = [clarabel.ZeroConeT(len(A)), clarabel.NonnegativeConeT(len(G))]
        cones.append(clarabel.NonnegativeConeT(m) if level.at_most else clarabel.ZeroConeT(m))
        P = sparse.csc_matrix(np.diag([0.0] * n + [2.0] * m))
        q, right = np.zeros(n + m), np.concatenate([b, h, level.d])
        found = clarabel.DefaultSolver(
            P, q, sparse.csc_matrix(np.vstack([*wide, own])), right, cones, settings,
        ).solve()  # fmt: skip
        if "Solved" not in str(found.status):
            break
        x = np.array(found.x)[:n]
        told[k] = misses([level], x)[0]
        left = level.T @ x
        if level.at_most:
            G, h = np.vstack([G, level.T]), np.concatenate([h, np.maximum(level.d, left)])
        else:
            A, b = np.vstack([A, level.T]), np.concatenate([b, left])
    return told
