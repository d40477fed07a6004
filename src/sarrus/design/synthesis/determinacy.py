"""Check that the forces in goals are unique: forces shared by redundant closures or drivers have no unique value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.design.synthesis.design_equilibrium import DesignEquilibrium
from sarrus.design.synthesis.driven_configuration import DrivenConfiguration
from sarrus.design.synthesis.state import State
from sarrus.design.synthesis.traced import TracedGoal

# Draws of forces at which a goal is looked at, always the same: what is so by chance at one is not at others.
_DRAWS, _SEED = 4, 0


def verify(
    label: str,
    names: Sequence[str],
    goals: Sequence[TracedGoal],
    held: Sequence[DrivenConfiguration | DesignEquilibrium],
    states: Sequence[State],
) -> None:
    """Raise `ArgumentError` for the first goal that depends on a force that is not unique, and name the force.

    ``names`` are those of rows and drivers. Each component must be unique, or the expression of the goal must be, such
    as the sum of two shared forces.
    """
    for g in goals:
        for n, k in enumerate(g.conditions):
            place = held[k]
            if isinstance(place, DesignEquilibrium) or not (g.forces or g.names):
                continue
            missing = next(_undetermined(g, place, states[k], names), None)
            if missing is not None and not _is_invariant(g, n, place, states[k]):
                what, element = missing
                raise ArgumentError(
                    f"{label}: {g.goal.name!r} depends on {what}, which redundant closures share: it is not unique for "
                    "rigid bodies",
                    element=element,
                )


def _undetermined(
    g: TracedGoal, held: DrivenConfiguration, state: State, names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the forces in a goal that are not unique by themselves: in words, and the element."""
    unique = held.determined(state)
    for row in g.forces:
        if not unique[row]:
            what = "multiplier" if row < len(state.multipliers) else "force"
            yield f"the {what} of {names[row]!r}", names[row]
    if g.loads is not None:
        changes = g.loads.evaluate(state.z)["by_forces"]
        for (element, name), sure in zip(g.names, held.settles(state, changes)):
            if not sure:
                yield name, element


def _is_invariant(g: TracedGoal, n: int, held: DrivenConfiguration, state: State) -> bool:
    """Return whether a goal does not change along self-stresses, at forces of any size and sign."""
    rng = np.random.default_rng(_SEED)
    nc = len(state.multipliers)
    size = max(float(np.abs(np.concatenate([state.multipliers, state.drive])).max(initial=0.0)), 1.0)
    for _ in range(_DRAWS):
        draw = size * rng.standard_normal(nc + len(state.drive))
        changes = g.evaluate(n, replace(state, multipliers=draw[:nc], drive=draw[nc:]))["jacobian"]
        if not np.isfinite(changes).all() or not held.settles(state, changes[:, g.by_forces]).all():
            return False
    return True
