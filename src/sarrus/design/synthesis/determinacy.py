"""Whether what goals are written with is determined: forces that redundant closures or drivers share have no value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.design.synthesis.held import Held
from sarrus.design.synthesis.resting import Resting
from sarrus.design.synthesis.state import State
from sarrus.design.synthesis.traced import TracedGoal

# Draws of forces at which a goal is looked at, always the same: what is so by chance at one is not at others.
_DRAWS, _SEED = 4, 0


def verify(
    label: str,
    names: Sequence[str],
    goals: Sequence[TracedGoal],
    held: Sequence[Held | Resting],
    states: Sequence[State],
) -> None:
    """Raise `ArgumentError` for the first goal that depends on forces that have no value, and name one of them.

    ``names`` are those of rows and drivers. Components must be determined one by one, or in what the goal makes of
    them, such as their sum, whatever they are.
    """
    for g in goals:
        for n, k in enumerate(g.conditions):
            place = held[k]
            if isinstance(place, Resting) or not (g.forces or g.names):
                continue
            missing = next(_undetermined(g, place, states[k], names), None)
            if missing is not None and not _is_invariant(g, n, place, states[k]):
                what, element = missing
                raise ArgumentError(
                    f"{label}: {g.goal.name!r} depends on {what}, which redundant closures share: rigid bodies do not "
                    "determine it",
                    element=element,
                )


def _undetermined(g: TracedGoal, held: Held, state: State, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Iterate over what a goal is written with that is not determined by itself: in words, and the element."""
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


def _is_invariant(g: TracedGoal, n: int, held: Held, state: State) -> bool:
    """Tell whether a goal does not change along forces without effect, at forces of any size and sign."""
    rng = np.random.default_rng(_SEED)
    nc = len(state.multipliers)
    size = max(float(np.abs(np.concatenate([state.multipliers, state.drive])).max(initial=0.0)), 1.0)
    for _ in range(_DRAWS):
        draw = size * rng.standard_normal(nc + len(state.drive))
        changes = g.evaluate(n, replace(state, multipliers=draw[:nc], drive=draw[nc:]))["jacobian"]
        if not np.isfinite(changes).all() or not held.settles(state, changes[:, g.by_forces]).all():
            return False
    return True
