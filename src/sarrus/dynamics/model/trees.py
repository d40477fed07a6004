"""Forward dynamics of trees without constraints by articulated bodies, if it takes fewer operations than M."""

from __future__ import annotations

import casadi as ca

from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.sparse import elimination_work, largest, rows_of
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.multibody.articulated import solve

# Multiplications of the articulated-body algorithm per velocity, and of one entry of M without its elimination.
EACH_VELOCITY, EACH_ENTRY = 175, 25


def articulated_pays(equations: Equations) -> bool:
    """Tell whether the articulated-body algorithm applies and takes fewer operations than M and its factor.

    It does not support armature of tendons, and needs unit quaternions, which the stages of a step do not have.
    """
    e = equations
    if e.tree is None or e.rotors or e.nc or e.quaternions:
        return False
    rows = rows_of(e.mass_matrix)
    work = EACH_ENTRY * sum(len(row) - 1 for row in rows) // 2 + elimination_work(rows, range(e.nv)[::-1])
    return work > EACH_VELOCITY * e.nv


def articulated_answer(equations: Equations, force: ca.SX) -> dict[str, ca.SX]:
    """Return a with M a = f, and the other outputs of `direct_solution` and `stage` for a system without rows."""
    e = equations
    assert e.tree is not None
    found = solve(e.tree, links(e.tree, e.q, e.v), force)
    weak = [mass / pivot for mass, pivot in zip(found.diagonal, found.pivots)]
    # a nonpositive pivot, as of a direction without inertia, leaves no correct digit
    worst = ca.if_else(ca.mmin(ca.vertcat(*found.pivots)) > 0, largest(weak), ca.inf)
    return {
        "a": found.a,
        "multipliers": ca.SX(0, 1),
        "constraint_force": ca.SX(e.nv, 1),
        "rate": e.whole_rate,
        "conditioning": ca.SX([1.0, 1.0, 0.0]),
        "checks": ca.vertcat(0, worst, 0, 0, 0, 0, 0),
    }
