"""`StateChart`: the independent coordinates (y, z) of a run given by a relation R(x, y) = 0 with velocities."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.coordinates.chart import Chart
from sarrus.dynamics.coordinates.choices import Coordinates
from sarrus.dynamics.coordinates.extension import constants_of
from sarrus.dynamics.coordinates.momenta import Momenta
from sarrus.dynamics.coordinates.relation import Relation
from sarrus.dynamics.coordinates.rotation_vector import RotationVector
from sarrus.dynamics.coordinates.tolerances import USELESS_CHART, WORN_CHART
from sarrus.dynamics.coordinates.traced_relation import Place, TracedRelation
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.system import System
from sarrus.kernels.memory import layout as la
from sarrus.kernels.platform.c_function import state_projection


@dataclass(frozen=True, eq=False)
class StateCoordinates:
    """A relation with velocities, and the ``traced`` relation by which a system was extended."""

    relation: Relation
    traced: TracedRelation

    @property
    def system(self) -> System:
        """The system without the coordinates of the relation."""
        return self.traced.system


RunCoordinates = Coordinates | StateCoordinates


def chart_of(system: Evaluations, coordinates: RunCoordinates) -> Chart | StateChart:
    """Return the chart of a run in these coordinates."""
    if isinstance(coordinates, StateCoordinates):
        return StateChart(system, coordinates)
    return Chart(system, coordinates)


class StateChart:
    """Independent coordinates along a run, used by `sarrus.kernels.solve.state_chart.state_projection`.

    ``choices`` lists (time, names of y and z) of every chart taken, the first one included.
    """

    def __init__(self, system: Evaluations, coordinates: StateCoordinates) -> None:
        self.system, self.coordinates = system, coordinates
        relation = coordinates.relation
        self.renewed_by: Momenta | RotationVector | None = None
        if isinstance(relation, (Momenta, RotationVector)) and relation.renews:
            self.renewed_by = relation
        self.named = self.renewed_by is None
        self.choices: list[tuple[float, tuple[str, ...]]] = []
        self.renewed = -np.inf
        self.array = np.zeros(la.CHART_ROWS).view(la.Chart)

    def attach(self, table: la.Table) -> None:
        """Set the kernels to project along the relation."""
        s, traced = self.system, self.coordinates.traced
        self.function = s.compiled.named("relation", self._outputs)
        table.n_own, table.relation = len(traced.all_names), self.function.address
        self.array = np.zeros(la.CHART_ROWS + int(sum(la.state_sizes(table)))).view(la.Chart)
        table.chart, table.projection = self.array.ctypes.data, state_projection.address

    def _outputs(self) -> dict[str, ca.SX]:
        """Return φ, ψ and R of the extended equations, their derivatives along (q, v), and ∂R/∂(y, z)."""
        e, n = self.system.equations, len(self.coordinates.traced.all_names)
        nv = e.nv - n
        turn = ca.jacobian(e.rate, e.v)[:, :nv]
        of_q = ca.vertcat(e.position_residual, e.velocity_residual)
        by_q = ca.jacobian(of_q, e.q) @ turn
        by_v = ca.vertcat(ca.SX(e.nh, nv), e.jacobian[:, :nv])
        return {
            "residual": of_q,
            "jacobian": ca.densify(ca.horzcat(by_q, by_v)),
            "own": ca.densify(self._conditioning()),
        }

    def _conditioning(self) -> ca.SX:
        """Return the matrix of the relation whose pivots rate the chart, over the symbols of the extended equations."""
        e, traced = self.system.equations, self.coordinates.traced
        n, own = len(traced.all_names), traced.own
        if traced.conditioning is traced.by_own:
            return e.jacobian[e.nc - n :, e.nv - n :]
        return ca.substitute(traced.conditioning, own, e.v[e.nv - n :])

    def renew(self, table: la.Table, settings: la.Settings, x: Array) -> bool:
        """Choose the coordinates at x and set the kernel's limit.

        False if coordinates named by the user have failed.
        """
        t = float(x[self.system.parts.t])
        if self.choices and (self.named or (self.failed and t == self.renewed)):
            return False
        if self.choices:
            left = self.system.nv - int(table.generic_rank)
            if left != len(self.coordinates.traced.velocity_names):
                return False  # the active set changed: the number of velocities differs
            self._choose(x)
        self.renewed = t
        self.choices.append((t, self.coordinates.traced.all_names))
        state_projection(table, x.copy(), la.CONSTRAINTS)
        failed = self.failed
        self.array.conditioning_before, self.array.failed = self.array.conditioning, 0.0
        settings.chart_limit = self.array.conditioning * (USELESS_CHART if self.named else WORN_CHART)
        return not failed

    def _choose(self, x: Array) -> None:
        """Use the chart of the relation at x, and the values of its coordinates there."""
        assert self.renewed_by is not None
        s, traced = self.system, self.coordinates.traced
        base = traced.system.with_parameters({name: s.parameters[name] for name in traced.system.parameters})
        nv = base.nv
        place = Place(x[s.parts.q].copy(), x[s.parts.v][:nv].copy(), float(x[s.parts.t]))
        ranks = nv - traced.count, nv - len(traced.velocity_names)
        chart = self.renewed_by.chart(base, place, ranks)
        here = traced.with_values(base, chart.values)
        own = here.solve(place, np.concatenate([chart.y, np.zeros(len(traced.velocity_names))]))
        s.parameters.update(constants_of(here))
        x[s.parts.p] = list(s.parameters.values())
        x[s.parts.v][nv:] = own
        self.coordinates = replace(self.coordinates, traced=here)

    def follow(self, x: Array) -> None:
        """Write to x the (y, z) of its (q, v), after these have jumped; `SolveError` if R(q, v, y, z) = 0 has none."""
        s, traced = self.system, self.coordinates.traced
        nv, v = traced.system.nv, x[s.parts.v]
        place = Place(x[s.parts.q].copy(), v[:nv].copy(), float(x[s.parts.t]))
        v[nv:] = traced.solve(place, v[nv:].copy())

    def cause(self, x: Array) -> str:
        """Return the worst condition of theorem 2.3.1 in Spencer 2004 at x, with its number there."""
        s, traced = self.system, self.coordinates.traced
        base, v = traced.system, x[s.parts.v]
        place = Place(x[s.parts.q].copy(), v[: base.nv].copy(), float(x[s.parts.t]))
        ranks = base.nv - traced.count, base.nv - len(traced.velocity_names)
        relation = self.coordinates.relation
        if isinstance(relation, RotationVector) and (text := relation.limit_met(v[base.nv :])):
            return text
        found = traced.conditions(place, v[base.nv :].copy(), ranks)
        return str(max(found, key=lambda condition: condition.number))

    @property
    def failed(self) -> bool:
        """Whether a projection along the chart has failed since the last step."""
        return bool(self.array.failed)

    @property
    def changes(self) -> list[tuple[float, str]]:
        """Times of the changes of chart, with the new coordinates in words."""
        return [(time, f"independent coordinates: {', '.join(names)}") for time, names in self.choices[1:]]
