"""`Entries`: addresses and sizes of the native functions of a model for the table of the kernels, written at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sarrus.dynamics.model.compiled import CompiledEquations
from sarrus.kernels.memory import layout as la
from sarrus.kernels.platform.c_function import Kernel, acceleration, null_space_acceleration
from sarrus.symbolic.equations.least_norm import Basis

# Functions used next to singular configurations only, if straight-line code solves the rest.
SELDOM = frozenset(("dynamics", "position", "velocity", "closing", "slipping"))
# Largest number of entries of A for which singular values are computed densely.
SMALL = 100
# Fields of the table: all are written, so that none is left from another basis.
_NAMES = (
    "dynamics", "position", "velocity", "closing", "slipping", "rate", "energy", "metric", "acceleration",
    "direct", "checked", "measure", "nearest", "unsatisfied", "residuals", "response", "direct_rank", "n_dependent",
    "n_factors",
)  # fmt: skip
_PLACES = np.array([la.Table.places[name] for name in _NAMES])
_STRAIGHT = frozenset(("direct", "checked", "measure", "nearest", "response"))


@dataclass(frozen=True, eq=False)
class Entries:
    """Addresses and sizes of native functions."""

    values: NDArray[np.int64]

    def fill(self, table: la.Table) -> None:
        """Write the entries into a table."""
        table[_PLACES] = self.values


def acceleration_kernel(compiled: CompiledEquations) -> Kernel:
    """Return the kernel for accelerations."""
    return null_space_acceleration if compiled.mass_is_singular else acceleration


def entries_of(compiled: CompiledEquations, names: frozenset[str], basis: Basis | None) -> Entries:
    """Return the entries for kernels that call the functions ``names``, with straight-line code for ``basis``."""
    found: Entries | None = compiled.entries.get((names, basis))
    if found is None:
        found = compiled.entries[names, basis] = _found(compiled, names, basis)
    return found


def _found(compiled: CompiledEquations, names: frozenset[str], basis: Basis | None) -> Entries:
    """Compile the functions; with straight-line code, compile the rarely used ones at their first call."""
    e = compiled.equations
    wanted = set(names)
    if "position" in wanted:
        wanted.update(compiled.projecting)
    if "rate" in wanted:
        wanted |= {"direct", "nearest"}
    found: dict[str, int] = {"direct_rank": -1}
    for name in sorted(wanted - _STRAIGHT):
        late = basis is not None and name in SELDOM
        found[name] = compiled.address(name) if late else compiled.function(name).address
    if "dynamics" in wanted:
        found["acceleration"] = acceleration_kernel(compiled).address
    if basis is not None and wanted & _STRAIGHT:
        found["direct_rank"], found["n_dependent"] = len(basis.independent), len(basis.dependent)
        for name in sorted(wanted & {"direct", "checked"}):
            found[name] = compiled.direct(name, basis).address
        if "direct" in wanted:
            factors, _ = compiled.direct("direct", basis).outputs["factors"]
            found["n_factors"] = factors.stop - factors.start
            if "nearest" in wanted and 0 < e.nc == e.nh:
                found["residuals"] = compiled.function("residuals").address
                found["nearest"] = compiled.nearest(basis).address
                found["unsatisfied"] = compiled.address("unsatisfied")
            if "response" in wanted and found["n_factors"] > 0:
                found["response"] = compiled.response(basis).address
        if "measure" in wanted and not basis.dependent and e.nc * e.nv > SMALL:
            found["measure"] = compiled.direct("measure", basis).address
    return Entries(np.array([found.get(name, 0) for name in _NAMES], dtype=np.int64))
