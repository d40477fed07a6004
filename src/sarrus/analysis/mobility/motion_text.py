"""Motions in words: names and rates of the velocities that move together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sarrus.analysis.mobility.tolerances import CLEAR_CONDITION, SMALL_ENTRY, WRITTEN_ENTRIES
from sarrus.base.arrays import Array
from sarrus.dynamics.closing.branches import Branch
from sarrus.kernels.linalg.ranked import independent_rows


def describe(names: Iterable[str], motion: Array) -> str:
    """Return a motion as names and rates, without rates that are zero up to rounding."""
    entries = [(n, x) for n, x in zip(names, motion) if abs(x) > SMALL_ENTRY * float(np.abs(motion).max())]
    more = f" and {len(entries) - WRITTEN_ENTRIES} more" if len(entries) > WRITTEN_ENTRIES else ""
    return ", ".join(f"{n} {x:.3g}" for n, x in entries[:WRITTEN_ENTRIES]) + more


def relations(names: Sequence[str], motions: Array, independent: Sequence[int]) -> str:
    """Return the velocities of motions (nv, dof) as functions of independent ones, such as "b = 2 a − c"."""
    ratios = motions @ np.linalg.inv(motions[list(independent)])
    dependent = [i for i in range(len(names)) if i not in independent]
    texts = []
    for i in dependent[:WRITTEN_ENTRIES]:
        total = ""
        for k, x in zip(independent, ratios[i]):
            if abs(x) > SMALL_ENTRY:
                sign = (" − " if total else "−") if x < 0.0 else (" + " if total else "")
                total += sign + ("" if abs(abs(x) - 1.0) < SMALL_ENTRY else f"{abs(x):.3g} ") + names[k]
        texts.append(f"{names[i]} = {total or 0}")
    more = len(dependent) - WRITTEN_ENTRIES
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def shared_independent(branches: Sequence[Branch]) -> list[int]:
    """Return velocities that determine all others on every branch that is a surface; [] if there are none.

    They are the first ones in the order of coordinates, independent of the order of the branches.
    """
    surfaces = [branch for branch in branches if not branch.cone]
    for candidate in sorted(independent_rows(branch.tangents, branch.dof) for branch in surfaces):
        parts = [branch.tangents[candidate] for branch in surfaces]
        if all(part.shape[0] == part.shape[1] and np.linalg.cond(part) < CLEAR_CONDITION for part in parts):
            return candidate
    return []


def describe_branch(names: Sequence[str], branch: Branch, shared: Sequence[int]) -> str:
    """Return kind, degrees of freedom and rank of a branch, and the relations of the velocities at its start."""
    kind = "cone" if branch.cone else "curve" if branch.dof == 1 else "surface"
    end = " that ends here" if branch.sides == 1 else ""
    text = f"{kind}{end}, {branch.dof} degree{'s' * (branch.dof != 1)} of freedom, rank {branch.rank}"
    if branch.dof == 1:
        tangent = branch.tangents[:, 0]
        size = np.abs(tangent)
        first = int(
            np.argmax(size > 0.99 * size.max())
        )  # of equal ones the first, not the one rounding prefers
        text += ": " + describe(names, tangent / tangent[first])
    elif not branch.cone:
        independent = shared or independent_rows(branch.tangents, branch.dof)
        text += ": " + relations(names, branch.tangents, independent)
    return text
