"""Design parameters, and their places among the variables z = (q, v, u, p)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sarrus.base.errors import check_known, check_sequence
from sarrus.dynamics.model.evaluations import Evaluations


@dataclass(frozen=True)
class Columns:
    """Places of coordinates, velocities, inputs and design parameters among the columns z = (q, v, u, p)."""

    q: slice
    v: slice
    u: slice
    p: slice

    @classmethod
    def of(cls, system: Evaluations) -> Columns:
        """Return the places for a system."""
        ends = np.cumsum([0, system.nq, system.nv, system.nu, len(system.equations.design_parameters)])
        return cls(*(slice(int(a), int(b)) for a, b in pairwise(ends)))


def chosen_parameters(system: Evaluations, names: Sequence[str] | None) -> tuple[tuple[str, ...], list[int]]:
    """Return names of parameters, all by default, and their places among the design parameters."""
    known = system.equations.design_parameters
    if names is None:
        names = known
    check_sequence("parameters", names, system.name)
    for name in names:
        advice = "Give the System parameters= that say what they drive"
        check_known("parameter", name, known, f"{system.name}: parameters", advice=advice)
    return tuple(names), [known.index(name) for name in names]
