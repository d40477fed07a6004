"""`Workspace`: what a call or a thread writes to: values, tolerances, and the arrays that the kernels work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.descent import DATA_TOLERANCE
from sarrus.dynamics.evaluations import Evaluations
from sarrus.dynamics.inertia import may_lose_inertia
from sarrus.dynamics.judged_data import data_of
from sarrus.dynamics.model import Model
from sarrus.dynamics.options import Options
from sarrus.equations.symbolic import ParameterValues
from sarrus.kernels import layout as la
from sarrus.kernels.c_function import acceleration, null_space_acceleration, projection

if TYPE_CHECKING:
    from sarrus.dynamics.assembly import Neighbourhood


class Workspace(Evaluations):
    """A model with values of its own, the table of the kernels, and the arrays that this points to.

    Nobody else writes to it: a call takes one from its system, a run makes a `copy`, and assigns parameters as it needs
    them. ``near`` is what is known of A at closed configurations nearby (`sarrus.dynamics.ranks`), None at first.
    """

    def __init__(self, model: Model, parameters: ParameterValues, options: Options) -> None:
        super().__init__(model, parameters, options)
        self.table = model.compiled.table()
        self.forward: Any = (
            None  # `sarrus.kernels.forward.forward`, once it is loaded, and the length of its answer
        )
        self.output_size = 2 * self.nv + self.nc + la.N_FACTS + self.nq + self.nv
        self.near: Neighbourhood | None = None
        self.place: Any = None  # where that was found
        self.switched = parameters.switched  # and for which parameters
        self._arrays()

    def _arrays(self) -> None:
        """Make arrays and have the table point to them."""
        self.tolerances = self.settings()
        self.x = np.zeros(la.input_size(self.table))
        self.work = np.zeros(self.size)
        self.no_force = np.zeros(self.nv)
        self.table[[la.SETTINGS, la.STATE, la.WORK]] = [
            array.ctypes.data for array in (self.tolerances, self.x, self.work)
        ]
        self.forget()

    def copy(self, options: Options | None = None) -> Workspace:
        """Return a workspace with the same values and knowledge, and arrays of its own; it costs some microseconds."""
        copy = object.__new__(Workspace)
        vars(copy).update(vars(self))
        copy.parameters = self.parameters.own()
        copy.options = options or self.options
        copy.table = self.table.copy()
        copy._arrays()
        return copy

    def on(self, model: Model) -> Workspace:
        """Return a workspace with these values for another model of the same coordinates and parameters."""
        return Workspace(model, self.parameters.own(), self.options)

    @property
    def size(self) -> int:
        """Length of the float workspace of the kernels."""
        return int(la.workspace(self.table).size)

    # --- what forward dynamics keeps from call to call -----------------------------------------------

    def forget(self) -> None:
        """Have forward dynamics begin anew; see `sarrus.dynamics.forward_dynamics`."""
        self.is_ready, self.ordinary, self.has_controls, self.is_plain = False, -2, False, False

    # --- tolerances ----------------------------------------------------------------------------------

    @property
    def typical_pivot(self) -> float:
        """Size of the smallest pivot at ordinary configurations nearby, 0 where it is not known."""
        return 0.0 if self.near is None else self.near.smallest

    @property
    def motions_left(self) -> Array | None:
        """At a rigid q the basis of the motions that there are; None elsewhere (see `Neighbourhood`)."""
        return None if self.near is None else self.near.motions

    def settings(self) -> Array:
        """Return the tolerances for the kernels, from ``options`` and from what is known of A."""
        size, near = self.characteristic, self.near
        settings = np.concatenate(
            [np.zeros(la.N_SETTINGS), size.rows, size.columns, self.model.first_rows, size.coordinates]
        )
        settings[la.SINGULAR_CUT] = self.options.singular_cut
        settings[la.POSITION_TOLERANCE] = self.options.position_tolerance
        settings[la.INCONSISTENT] = self.options.inconsistent
        settings[la.NEAR] = self.options.near_singular
        settings[la.SIZE_OF_ENERGY] = size.mass * size.length**2
        settings[la.EVENT_TOLERANCE] = 1e-10
        settings[la.ACCEPTED_RESIDUAL] = DATA_TOLERANCE
        if near is not None:
            settings[la.SCALE_OF_ROWS], settings[la.SCALE_OF_WEIGHTED_ROWS] = near.scale, near.weighted_scale
            settings[la.SCALE_OF_EVEN_ROWS] = near.even_scale
            settings[la.SCALE_OF_MEASURED_ROWS] = near.measured_scale
            beside = near.smallest / near.even_scale if near.even_scale > 0.0 else 0.0
            data_of(self).loosen(settings, beside, holonomic=self.nc == self.nh)
        return settings

    def renew_settings(self) -> None:
        """Have the kernels see options and knowledge as they are now."""
        self.tolerances[:] = self.settings()
        self.is_ready = self.is_plain = False

    # --- kernels -------------------------------------------------------------------------------------

    def load_functions(self, *names: str) -> None:
        """Compile the named functions that the kernels call and put their addresses in the table."""
        if self.compiled.direct is None:
            names = tuple(name for name in names if name not in ("direct", "checked"))
        if "position" in names:
            names += self.compiled.projecting
        if "invariants" in names:
            names += ("metric",)
        for name in names:
            self.table[la.FUNCTIONS[name]] = self.compiled.function(name).address
        if "dynamics" in names:
            if may_lose_inertia(self.mechanism):
                self.expect_singular_mass()
            solve = null_space_acceleration if self.compiled.mass_is_singular else acceleration
            self.table[la.ACCELERATION] = solve.address

    def expect_singular_mass(self) -> bool:
        """Have the kernels solve in the null space of A wherever M is nearly singular; False where they did."""
        if self.compiled.mass_is_singular or self.table[la.WHOLE] != 0:
            return False
        self.table[la.WHOLE] = self.compiled.function("whole").address
        self.table[la.NULL_SPACE_SOLVE] = null_space_acceleration.address
        self.is_ready = self.is_plain = False
        return True

    def project(self, x: Array, *, positions: bool = True) -> int:
        """Project v in x = [q | v | …] in place, q before it if ``positions``; return the rank, −1 where it fails."""
        self.load_functions("position", "velocity", "rate")
        return projection(self.table, x, la.CONSTRAINTS if positions else la.VELOCITIES)

    def accelerate(self, x: Array) -> tuple[int, Array]:
        """Solve at x = [q | v | u | t | p | τ] as it is, quaternions of any length; return the rank and (a, λ, Aᵀλ,
        facts).

        The rank is −1 where there is no answer; the facts are those of `sarrus.kernels.layout`.
        """
        kernel = null_space_acceleration if self.compiled.mass_is_singular else acceleration
        self.load_functions("dynamics", "checked", "position", "velocity")
        rank = kernel(self.table, x, la.ANSWER)
        ws = la.workspace(self.table)
        answer = self.work[ws.a : ws.a + 2 * self.nv + self.nc]
        return rank, np.concatenate([answer, self.work[ws.facts : ws.facts + la.N_FACTS]])

    def diagnose(self, x: Array) -> Status:
        """Say why there is no acceleration at x: NOT_FINITE or ILL_POSED; bad input is an error."""
        q, v, u, t = x[self.parts.q], x[self.parts.v], x[self.parts.u], float(x[self.parts.t])
        self.pack(q, v, u, t)
        names = ("mass_matrix", "bias_force", "passive_force", "non_ideal", "jacobian", "constraint_bias")
        numbers = all(np.isfinite(self.compiled.function(name)(x)).all() for name in names)
        return Status.ILL_POSED if numbers else Status.NOT_FINITE
