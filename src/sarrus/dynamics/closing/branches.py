"""Branches of the configuration space through a configuration: number and tangents of the finite motions.

At a singular configuration the kernel K of A has more directions than finite motions. A motion with velocity x needs an
acceleration with A a + γ(x) = 0, so uᵀγ(x) = 0 for every u with uᵀA = 0: quadratic forms on K. Their common zeros are
the candidates. Each is tried: a small step along it, the loops closed again, the rank measured there. Branches that
touch without crossing have one tangent and count as one.

(Tangent cones of configuration spaces, shaky linkages: A. Müller, Local kinematic analysis of closed-loop linkages,
Journal of Mechanisms and Robotics 8(4), 2016.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.closing.levenberg_marquardt import data_of
from sarrus.dynamics.closing.manifold import (
    close,
    comparable,
    difference,
    holonomic_jacobian,
    second_derivatives,
)
from sarrus.dynamics.closing.tolerances import (
    ALIKE_TANGENTS,
    BRANCH_ASIDE,
    BRANCH_STEP,
    FLAT_FORMS,
    NEAR_CLOSED,
    ROOT_OF_FORMS,
    SAME_TANGENTS,
)
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.measures import open_by
from sarrus.kernels.linalg.ranked import Ranked, ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT, RANK_CUT

# Search for common zeros: starts in one round, largest numbers of rounds and candidates, and how often each candidate
# must be found before the search ends.
_ROUND, _ROUNDS, _MOST, _OFTEN = 64, 8, 64, 3
# Number of candidates with different tangents above which they form a cone; directions tried if all forms vanish.
_LOOSE, _TRIALS = 8, 30


@dataclass(frozen=True, eq=False)
class Branch:
    """One branch of finite motions out of a configuration.

    Attributes
    ----------
    tangents : (nv × dof) orthonormal basis of its tangent space. If ``cone`` is True, the motions into the branch fill
        a cone instead of a plane, and these are the tangents at ``q``.
    dof : its dimension, the degrees of freedom on it.
    rank : rank of the holonomic rows of A on it nearby.
    q : (nq,) a configuration on it, about 0.02 away.
    sides : 2; 1 for a curve that ends here, as at a cusp.
    exact : whether the quadratic forms give the tangents; else a short step gives them.
    """

    tangents: Array
    dof: int
    rank: int
    q: Array
    sides: int = 2
    cone: bool = False
    exact: bool = False


@dataclass(frozen=True)
class Tangents:
    """First and second order of the closed configurations at q: A with its rank by ``cut``, forms on its kernel.

    ``forms`` (l × k × k): uᵀ γ(x) = xᵀ F x for every left null vector u, x in the basis of the kernel.
    ``space`` (nv × d): the directions in which all forms vanish together with their derivatives.
    """

    rows: Ranked
    cut: float
    forms: Array
    space: Array

    @property
    def flat(self) -> bool:
        """Whether all forms vanish: to second order every velocity of the kernel is the velocity of a motion."""
        return len(self.forms) == 0


def tangents(system: Evaluations, q: Array, t: float, cut: float) -> Tangents:
    """Return the kernel of A, the independent quadratic forms on it, and their common null space."""
    parts = ranked(comparable(system, holonomic_jacobian(system, q, t)), cut)
    kernel = parts.null
    k = kernel.shape[1]
    if k == 0 or parts.left_null.shape[1] == 0:
        return Tangents(parts, cut, np.zeros((0, k, k)), kernel)
    bending = second_derivatives(system, q, t, kernel)
    bending = comparable(system, bending.reshape(system.nh, -1)).reshape(bending.shape)
    flat = np.einsum("rl,rij->lij", parts.left_null, bending).reshape(-1, k * k)
    scale = max(float(np.abs(bending).max()), float(parts.values[0]), cut / RANK_CUT)
    forms = ranked(flat, max(FLAT_FORMS, 10.0 * data_of(system).cut) * scale).right.T.reshape(-1, k, k)
    inside = ranked(forms.reshape(-1, k), FLAT_FORMS).null
    return Tangents(parts, cut, forms, kernel @ inside)


def goes_on(system: Evaluations, q: Array, t: float, here: Tangents) -> bool:
    """Tell whether the closed configurations at q are a smooth manifold with the whole kernel as tangent space."""
    kernel = here.rows.null
    if not here.flat:
        return False
    rng = np.random.default_rng(7)
    for _ in range(min(3, 2 * kernel.shape[1])):
        x = kernel @ rng.standard_normal(kernel.shape[1])
        x /= np.linalg.norm(x)
        landings = (_land(system, q, t, x, step, here.cut) for step in (BRANCH_STEP, BRANCH_STEP / 8))
        if all(landing is None or landing.near.rows.rank > here.rows.rank for landing in landings):
            return False
    return True


def find_branches(system: Evaluations, q: Array, t: float, here: Tangents) -> tuple[tuple[Branch, ...], bool]:
    """Return the branches through q, and whether the search ended because it found no new one.

    The search starts from seeded directions, so it may miss branches to which few of them lead. It ends after a round
    without a new candidate when every candidate has been found three times.
    """
    kernel, cut = here.rows.null, here.cut
    rng = np.random.default_rng(14)
    if len(here.forms) and not any(_candidates(*_outside(here), rng)):
        # All motions stay in the space in which every form vanishes.
        if here.space.shape[1] == 0:
            return (), True
        x = here.space @ rng.standard_normal(here.space.shape[1])
        found = _try(system, q, t, _Group(x / np.linalg.norm(x), here.space), cut, rng, trials=0)
        if found and found[0].sides == 2:
            return tuple(found), True
    rng = np.random.default_rng(8)
    groups: list[_Group] = []
    complete = curved = False
    for _ in range(_ROUNDS):
        known = len(groups)
        for x, space in _candidates(here.forms, kernel.shape[1], rng):
            _gather(groups, kernel @ x, kernel @ space)
        curved = sum(group.is_loose for group in groups) > _LOOSE
        complete = curved or (len(groups) == known and all(group.hits >= _OFTEN for group in groups))
        if complete or len(groups) >= _MOST:
            break
    branches: list[Branch] = []
    for group in groups:
        cone = curved and group.is_loose
        if not (cone and any(branch.cone for branch in branches)):
            for branch in _try(system, q, t, group, cut, rng):
                _add(branches, replace(branch, cone=cone))
    return tuple(branches), complete


@dataclass
class _Group:
    """Candidates with the same tangent space."""

    direction: Array
    space: Array
    hits: int = 1

    @property
    def is_loose(self) -> bool:
        """Whether one candidate alone has these tangents, as on a cone, where each candidate has its own."""
        return self.hits == 1 and self.space.shape[1] > 1


def _outside(here: Tangents) -> tuple[Array, int]:
    """Return the forms on the part of the kernel normal to their common null space, and its dimension."""
    k = here.rows.null.shape[1]
    across = ranked(here.forms.reshape(-1, k), FLAT_FORMS).right
    return np.einsum("mij,ia,jb->mab", here.forms, across, across), across.shape[1]


def _candidates(forms: Array, k: int, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Yield common zeros x of the forms on the unit sphere, with the null space of their derivative there.

    Gauss–Newton from random starts, all at once. Double zeros converge linearly; they are included.
    """
    x = rng.standard_normal((_ROUND, k))
    x /= np.linalg.norm(x, axis=1)[:, None]
    for _ in range(60 if len(forms) else 0):
        slope = np.einsum("mij,sj->smi", forms, x)
        value = np.einsum("smi,si->sm", slope, x)
        along = 2 * (slope - value[:, :, None] * x[:, None, :])
        step = -np.einsum("sim,sm->si", np.linalg.pinv(along, rcond=FINE_RANK_CUT), value)
        length = np.linalg.norm(step, axis=1)[:, None]
        x = x + step / np.maximum(1.0, length / 0.5)
        x /= np.linalg.norm(x, axis=1)[:, None]
    values = np.einsum("smi,si->sm", np.einsum("mij,sj->smi", forms, x), x)
    for one, value in zip(x, values):
        if np.abs(value).max(initial=0.0) < ROOT_OF_FORMS:
            yield one, ranked(np.einsum("mij,j->mi", forms, one), SAME_TANGENTS).null


def _gather(groups: list[_Group], direction: Array, space: Array) -> None:
    for group in groups:
        if group.space.shape == space.shape and _apart(group.space, space) < SAME_TANGENTS:
            group.hits += 1
            return
    groups.append(_Group(direction, space))


def _apart(one: Array, two: Array) -> float:
    """Return the sine of the largest angle between two spaces of equal dimension."""
    return float(np.linalg.norm(one @ one.T - two @ two.T, 2))


@dataclass(frozen=True)
class _Landing:
    """A closed configuration at a step from q: the direction of the step, and the tangents at the configuration."""

    q: Array
    direction: Array
    near: Tangents


def _land(
    system: Evaluations, q: Array, t: float, x: Array, step: float, cut: float, aside: float = BRANCH_ASIDE
) -> _Landing | None:
    """Step along the unit vector x and close the loops across it; None if the closed configuration is too far away."""
    p = close(system, system.move(q, step * x), t, across=x[:, None])
    shift = difference(system, q, p)
    beside, length = float(np.linalg.norm(shift - step * x)), float(np.linalg.norm(shift))
    if (
        open_by(system, p, t) > max(NEAR_CLOSED + 10 * open_by(system, q, t), data_of(system).accepted(0.0))
        or not beside < aside * step
        or length == 0.0
    ):
        return None
    return _Landing(p, shift / length, tangents(system, p, t, cut))


def _try(
    system: Evaluations,
    q: Array,
    t: float,
    group: _Group,
    cut: float,
    rng: np.random.Generator,
    trials: int = _TRIALS,
) -> list[Branch]:
    """Return the branches found by steps along a candidate: one if the forms decide, else any number."""
    x, space = group.direction, group.space
    size = space.shape[1]
    sides = [_land(system, q, t, side * x, BRANCH_STEP, cut) for side in (1.0, -1.0)]
    decisive = [s for s in sides if s is not None and s.near.space.shape[1] == size]
    if decisive:
        return [Branch(space, size, decisive[0].near.rows.rank, decisive[0].q, len(decisive), exact=True)]
    found: list[Branch] = []
    for _ in range(trials):
        guess = space @ rng.standard_normal(size)
        far = _land(system, q, t, guess / np.linalg.norm(guess), BRANCH_STEP, cut, aside=3.0)
        landing = far and _land(system, q, t, far.direction, BRANCH_STEP / 4, cut)
        if landing is not None:
            line = landing.near.space.shape[1] == 1
            into = landing.direction[:, None] if line else landing.near.space
            ends = line and _land(system, q, t, -landing.direction, BRANCH_STEP / 4, cut) is None
            _add(found, Branch(into, into.shape[1], landing.near.rows.rank, landing.q, 1 if ends else 2))
    return found


def _add(branches: list[Branch], branch: Branch) -> None:
    """Add a branch unless it is known; of two equal ones keep the branch with two sides."""
    for k, other in enumerate(branches):
        exact = branch.exact and other.exact
        near = _apart(other.tangents, branch.tangents) < (SAME_TANGENTS if exact else ALIKE_TANGENTS)
        if other.dof == branch.dof and near:
            if branch.exact and not other.exact:
                branches[k] = branch
            return
    branches.append(branch)
