"""`DesignEquilibrium`: an equilibrium found again for each design, and its derivatives."""

from __future__ import annotations

import numpy as np

from sarrus.analysis.configurations.equilibrium import equilibrium
from sarrus.analysis.sensitivity.equilibrium_derivatives import equilibrium_derivatives
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.design.synthesis.conditions import Rest
from sarrus.design.synthesis.state import POSITION, BranchLostError, State, StateDerivatives
from sarrus.design.synthesis.variables import Variables
from sarrus.dynamics.system import System


class DesignEquilibrium:
    """Condition number ``index`` of a problem, a `Rest`, as a function of its variables."""

    def __init__(
        self, system: System, variables: Variables, condition: Rest, index: int, drivers: int
    ) -> None:
        self.system, self.variables, self.index, self.count = system, variables, index, drivers
        self.t = system.checked_time(condition.t)
        self.u = None if condition.u is None else system.checked(condition.u, system.nu, "u")

    def close(self, x: Array, q: Array, before: Array | None = None) -> Array:
        """Return the equilibrium at x near q; `BranchLostError` if none is found."""
        system = self._at(x)
        try:
            start = system.assemble(q, self.t).q
            return np.array(equilibrium(system, start, self.u, t=self.t, contacts=False).q)
        except (SolveError, ArgumentError) as error:
            raise BranchLostError(self.index, f"has no equilibrium: {error}") from error

    def state(self, x: Array, q: Array, level: int) -> State:
        """Return the `State` at q: coordinates alone."""
        if level > POSITION:
            raise ArgumentError(
                f"{self.system.name}: condition {self.index} is a Rest, where goals may use coordinates only",
                element="at",
            )
        system = self._at(x)
        zero = np.zeros(system.nv)
        z = system.pack(q, None, self.u, self.t)
        return State(z, zero, zero, np.zeros(system.nc), np.zeros(self.count), None, level)

    def follows(self, state: State) -> StateDerivatives:
        """Return the derivatives of q by x; all other quantities are constant."""
        system, n = self.system, len(self.variables.names)
        own = state.z[system.parts.p]
        at = self._at_parameters(own)
        q = state.z[system.parts.q]
        names = system.equations.design_parameters
        found = equilibrium_derivatives(at, q, self.u, t=self.t, parameters=names).along
        np_ = self.variables.parameters
        rows = np.zeros((3 * system.nv + system.nc + self.count + np_, n))
        rows[: system.nv, :np_] = found
        rows[-np_:, :np_] = np.eye(np_)
        return StateDerivatives(rows)

    def _at(self, x: Array) -> System:
        try:
            return self.system.with_parameters(self.variables.values(x))
        except ArgumentError as error:
            raise BranchLostError(self.index, str(error)) from error

    def _at_parameters(self, own: Array) -> System:
        return self.system.with_parameters(dict(zip(self.system.parameters, own)))
