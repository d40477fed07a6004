"""`Chart`: the independent coordinates of a run, chosen anew when they become ill-conditioned."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.coordinates.choices import AUTOMATIC, NULL_SPACE, Coordinates, choose_both
from sarrus.dynamics.coordinates.tolerances import USELESS_CHART, WORN_CHART
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.memory import layout as la
from sarrus.kernels.platform.c_function import chart_projection


class Chart:
    """Independent coordinates along a run, used by `sarrus.kernels.solve.chart.chart_projection`.

    ``choices`` lists (time, names of y) of every chart taken, the first one included.
    """

    def __init__(self, system: Evaluations, coordinates: Coordinates) -> None:
        self.system = system
        self.coordinates = coordinates
        self.named = not (isinstance(coordinates, str) and coordinates in AUTOMATIC)
        self.array = np.zeros(la.chart_size(system.nv, system.nc)).view(la.Chart)
        self.choices: list[tuple[float, tuple[str, ...]]] = []
        self.renewed = -np.inf

    def attach(self, table: la.Table) -> None:
        """Set the kernels to project along this chart."""
        table.chart, table.projection = self.array.ctypes.data, chart_projection.address

    def renew(self, table: la.Table, settings: la.Settings, x: Array) -> bool:
        """Choose the coordinates at x and set the kernel's limit.

        False if coordinates named by the user have failed.
        """
        s = self.system
        q, v, t = x[: s.nq], x[s.nq : s.nq + s.nv], float(x[s.nq + s.nv + s.nu])
        if self.choices and (self.named or (self.failed and t == self.renewed)):
            return False
        self.renewed = t
        jacobian = s.constraint_jacobian(q, v, t)
        holonomic, rank = int(table.holonomic_rank), int(table.generic_rank)
        positions, velocities = choose_both(s, self.coordinates, jacobian, holonomic, rank)
        flat = np.concatenate([positions.rows.ravel(), velocities.rows.ravel()])
        self.array[la.CHART_ROWS : la.CHART_ROWS + len(flat)] = flat
        if not self.choices or not velocities.indices or velocities.names != self.choices[-1][1]:
            self.choices.append((t, velocities.names))
        self.array.failed = 0.0
        if self.coordinates == NULL_SPACE:
            settings.chart_limit = np.inf
            return True
        chart_projection(table, x.copy(), la.CONSTRAINTS)
        self.array.conditioning_before, self.array.failed = self.array.conditioning, 0.0
        settings.chart_limit = self.array.conditioning * (USELESS_CHART if self.named else WORN_CHART)
        return True

    @property
    def failed(self) -> bool:
        """Whether a projection along the chart has failed since the last step."""
        return bool(self.array.failed)

    def cause(self, x: Array) -> str:
        """Return the condition that fails at x in words; empty for choices without a relation."""
        return ""

    @property
    def changes(self) -> list[tuple[float, str]]:
        """Times of the changes of chart with the new coordinates in words; empty if every step has its own chart."""
        if self.coordinates == NULL_SPACE:
            return []
        return [(time, f"independent coordinates: {', '.join(names)}") for time, names in self.choices[1:]]
