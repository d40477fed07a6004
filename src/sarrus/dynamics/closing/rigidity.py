"""Rigid configurations: velocities allowed by the constraints that no finite motion has.

If rows are dependent, the kernel of A may be larger than the tangent space of the motions. A curve q(s) of closed
configurations has ∂²φ(q′, q′) + A q″ = 0, so uᵀ∂²φ(q′, q′) = 0 for every u with uᵀA = 0 (Connelly and Whiteley,
Second-order rigidity and prestress stability for tensegrity frameworks, SIAM Journal on Discrete Mathematics 9(3),
1996); `sarrus.dynamics.closing.branches` finds the solutions and tests them. The equations M a = f + Aᵀλ, A a + γ = 0
do not contain this condition, and would accelerate such a mechanism in a blocked direction. In the limit of stiff
links it stays at rest, and its multipliers grow without bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.closing.branches import find_branches, goes_on, tangents
from sarrus.dynamics.closing.manifold import close, holonomic_jacobian, rank_cut
from sarrus.dynamics.closing.tolerances import (
    OPEN,
    RIGIDITY_ACCELERATION,
    RIGIDITY_CURVATURE,
    RIGIDITY_PROBES,
    RIGIDITY_SPEED,
    TANGENT_DIFFERENCE,
)
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.measures import open_by
from sarrus.kernels.linalg.ranked import Ranked, ranked
from sarrus.kernels.linalg.tolerances import NORMAL_DIRECTIONS


@dataclass(frozen=True)
class Ways:
    """Result of the second-order test.

    ``motions`` (nv × d): orthonormal basis of the finite motions out of q if they are fewer than the kernel of A; d = 0
    if q is isolated. None if they are not fewer, or if branches meet. ``places``: configurations on the branches.
    """

    motions: Array | None = None
    places: tuple[Array, ...] = ()


def look(system: Evaluations, q: Array, t: float, *, alone: bool = True) -> Ways:
    """Return the finite motions out of a closed configuration q at which the rank of A is known to be generic.

    ``alone``: no closed configuration near q is known. The test ends early if second-order terms vanish along seeded
    directions of the kernel. For constraints that depend on time nothing is decided: they may open at other times.
    """
    if not system.nh or system.model.is_rheonomic:
        return Ways()
    cut = rank_cut(system, q, t)
    parts = ranked(holonomic_jacobian(system, q, t), cut)
    if parts.rank in (system.nh, system.nv) or (not alone and _bends_nowhere(system, q, t, parts)):
        return Ways()
    here = tangents(system, q, t, cut)
    if here.flat and (not alone or goes_on(system, q, t, here)):
        return Ways()
    branches, complete = find_branches(system, q, t, here)
    if not branches and complete:
        return Ways(np.zeros((system.nv, 0)))
    if len(branches) == 1 and branches[0].rank == parts.rank and branches[0].dof == here.space.shape[1]:
        return Ways(here.space if here.space.shape[1] < parts.null.shape[1] else None)
    return Ways(places=tuple(branch.q for branch in branches))


def _bends_nowhere(system: Evaluations, q: Array, t: float, parts: Ranked) -> bool:
    """Tell whether all forms uᵀ∂²φ(x, x) vanish on the kernel of A, by their values at a few seeded x."""
    rng = np.random.default_rng(12)
    still = system.constraint_bias(q, np.zeros(system.nv), t)[: system.nh]
    for _ in range(RIGIDITY_PROBES):
        x = parts.null @ rng.standard_normal(parts.null.shape[1])
        bending = system.constraint_bias(q, x / np.linalg.norm(x), t)[: system.nh] - still
        scale = max(float(np.abs(bending).max()), float(parts.values[0]))
        if float(np.abs(parts.left_null.T @ bending).max()) > RIGIDITY_CURVATURE * scale:
            return False
    return True


def leaves(motions: Array, v: Array) -> bool:
    """Tell whether a velocity v with A v = 0 is outside the span of the motions."""
    return float(np.linalg.norm(v - motions @ (motions.T @ v))) > RIGIDITY_SPEED * float(np.linalg.norm(v))


def is_blocked(system: Evaluations, q: Array, v: Array, t: float, a: Array, motions: Array) -> bool:
    """Tell whether v or a has a part outside the finite motions; always True at an isolated q.

    False if the loops are open: the rows then describe another mechanism.
    """
    if open_by(system, q, t) > OPEN:
        return False
    if motions.shape[1] == 0:
        return True
    across, speed = _across(system, q, t, motions), float(np.linalg.norm(v))
    bent = _bending(system, q, t, motions.T @ v, motions)
    push = float(np.linalg.norm(across.T @ (a - bent)))
    slip = float(np.linalg.norm(across.T @ v))
    return slip > RIGIDITY_SPEED * speed or push > RIGIDITY_ACCELERATION * (
        float(np.linalg.norm(a)) + speed**2
    )


def _across(system: Evaluations, q: Array, t: float, motions: Array) -> Array:
    """Return a basis of the velocities x with A x = 0 normal to the motions."""
    kernel = ranked(system.constraint_jacobian(q, t=t), rank_cut(system, q, t)).null
    return kernel @ ranked(motions.T @ kernel, NORMAL_DIRECTIONS).null


def _bending(system: Evaluations, q: Array, t: float, rates: Array, motions: Array) -> Array:
    """Return the acceleration normal to the motions of a curve of velocity motions · rates: Ṗ v, P on the tangents."""
    speed = float(np.linalg.norm(rates))
    if speed == 0.0 or motions.shape[1] == 0:
        return np.zeros(system.nv)
    x = motions @ rates / speed
    cut = rank_cut(system, q, t)
    turned = []
    for step in (TANGENT_DIFFERENCE, -TANGENT_DIFFERENCE):
        p = close(system, system.move(q, step * x), t, across=x[:, None])
        space = tangents(system, p, t, cut).space
        turned.append(space @ (space.T @ x))
    return np.asarray((turned[0] - turned[1]) / (2 * TANGENT_DIFFERENCE) * speed**2)


def held(system: Evaluations, x: Array, motions: Array) -> tuple[Array, Array, Array, float]:
    """Return the dynamics at x = [q | v | u | t | p | τ] of a mechanism restricted to its finite motions.

    Returns a (nv,); the multipliers (nc,) of least norm, as in `ForwardDynamics`; the unbalanced force (nv,) in
    M a + h = k + S u + τ + Aᵀλ + unbalanced; the norm of A a + γ.

    Gauss's principle on the motions T: Tᵀ(M a − f) = 0 with A a + γ = 0. M a − f is split into Aᵀλ and the unbalanced
    rest, which no finite multipliers balance.
    """
    s = system
    q, v, u, t = x[s.parts.q], x[s.parts.v], x[s.parts.u], float(x[s.parts.t])
    mass, jacobian, bias = s.mass_matrix(q, t), s.constraint_jacobian(q, v, t), s.constraint_bias(q, v, t)
    force = s.passive_force(q, v, t) + s.input_force(q, v, u, t) - s.bias_force(q, v, t) + x[s.parts.tau]
    force = force + s.evaluate("non_ideal", q, v, t=t)["non_ideal"][:, 0]
    parts = ranked(jacobian, rank_cut(s, q, t))
    across = _across(s, q, t, motions)
    bent = _bending(s, q, t, motions.T @ v, motions)
    given = across @ (across.T @ bent) - parts.solve(bias)
    along = ranked(motions.T @ mass @ motions).solve(motions.T @ (force - mass @ given))
    a = given + motions @ along
    wanted = mass @ a - force
    held_by_rows = parts.right @ (parts.right.T @ wanted)
    multipliers = s.characteristic.least_multipliers(jacobian, parts.rank, held_by_rows)
    return a, multipliers, wanted - jacobian.T @ multipliers, float(np.linalg.norm(jacobian @ a + bias))
