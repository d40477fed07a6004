"""`Workspace`: the mutable data of one call or thread: parameter values, tolerances, arrays of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.closing.levenberg_marquardt import data_of
from sarrus.dynamics.closing.tolerances import DATA_TOLERANCE
from sarrus.dynamics.model.entries import acceleration_kernel, entries_of
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.inertia import may_lose_inertia
from sarrus.dynamics.model.model import Model
from sarrus.dynamics.model.options import Options
from sarrus.dynamics.solve.tolerances import EVENT_TOLERANCE
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.c_function import (
    Kernel,
    bridge,
    forward_of_arrays,
    null_space_acceleration,
    projection,
)
from sarrus.kernels.platform.python_call import bound
from sarrus.symbolic.equations.least_norm import Basis
from sarrus.symbolic.equations.symbolic import ParameterValues

if TYPE_CHECKING:
    from sarrus.dynamics.closing.assembly import Neighbourhood


class Workspace(Evaluations):
    """A model with parameter values, the table of the kernels, and the arrays to which the table points.

    It belongs to one caller: a call takes one from its system, a run makes a `copy` and assigns parameters to it.
    ``near`` describes A at closed configurations nearby (`sarrus.dynamics.solve.ranks`), None at first.
    """

    def __init__(self, model: Model, parameters: ParameterValues, options: Options) -> None:
        super().__init__(model, parameters, options)
        self.table = model.compiled.table()
        self.sizes = la.workspace_sizes(self.table)
        #: length of the float workspace of the kernels
        self.size = int(sum(self.sizes))
        self._factored = self.size - int(sum(self.sizes[self.sizes._fields.index("factored") :]))
        # `sarrus.kernels.solve.forward.forward_of_arrays` for this table, once loaded, and the length of its answer
        self.forward: Any = None
        self.output_size = 2 * self.nv + self.nc + la.N_FACTS + self.nq + self.nv
        self.near: Neighbourhood | None = None
        self.loaded: frozenset[str] = frozenset()  # arguments of the calls of `load_functions`
        self.switched = parameters.switched  # the switches for which ``near`` was found
        self._arrays(self.settings())

    def _arrays(self, tolerances: la.Settings, stage: int = 0) -> None:
        """Make arrays and set the pointers of the table."""
        self.tolerances, self.settled = (
            tolerances,
            self.parameters.changes,
        )  # and the parameters they hold for
        self.x = np.zeros(self.parts.tau.stop)
        self.work = np.zeros(self.size)
        self.no_force = np.zeros(self.nv)
        self.table.settings, self.table.x, self.table.work = self.tolerances, self.x, self.work
        self._keep_stages(stage)
        self.forward = None
        self.state_contacts: Any = None  # `sarrus.dynamics.solve.state_contacts.StateContactTable`, once used
        self.forget()

    def copy(self, options: Options | None = None) -> Workspace:
        """Return a workspace with the same values and knowledge, and its own arrays; it takes some microseconds."""
        copy = object.__new__(Workspace)
        vars(copy).update(vars(self))
        copy.parameters = self.parameters.own()
        copy.table = self.table.copy()
        copy.options = options or self.options
        same = options is None and self.settled == self.parameters.changes
        copy._arrays(self.tolerances.copy() if same else copy.settings(), len(self.stage_answer))
        return copy

    def __reduce__(self) -> tuple[Callable[..., Workspace], tuple[Any, ...]]:
        return _of_values, (self.model, dict(self.parameters), self.options)

    def learn(self, other: Workspace) -> None:
        """Take over the neighbourhood found by another workspace of this model, for copies that begin there too."""
        if other.near is not None:
            self.learn_rank(other.near, other.tolerances)
            self.switched = other.switched

    def on(self, model: Model) -> Workspace:
        """Return a workspace with these values for another model with the same coordinates and parameters."""
        return Workspace(model, self.parameters.own(), self.options)

    # --- state of forward dynamics between calls ------------------------------------------------------

    def forget(self) -> None:
        """Reset the prepared state of forward dynamics; see `sarrus.dynamics.solve.forward_dynamics`."""
        self.is_ready, self.ordinary, self.has_controls, self.is_plain = False, -2, False, False

    def load_forward(self) -> None:
        """Prepare forward dynamics as a native function of q, v, τ (nv,), t and an array for the answer."""
        if self.forward is None:
            address = forward_of_arrays.address
            self.forward, self.forward_needs = bound(address, bridge.address, self.table)

    # --- tolerances ----------------------------------------------------------------------------------

    @property
    def typical_pivot(self) -> float:
        """Size of the smallest pivot at ordinary configurations nearby, 0 if unknown."""
        return 0.0 if self.near is None else self.near.smallest

    @property
    def motions_left(self) -> Array | None:
        """Basis of the finite motions at a rigid q; None elsewhere (see `Neighbourhood`)."""
        return None if self.near is None else self.near.motions

    def settings(self, near: Neighbourhood | None = None) -> la.Settings:
        """Return the tolerances for the kernels, from ``options`` and the neighbourhood, by default the present one."""
        near, settings = near or self.near, self.model.settings.copy()
        settings.singular_cut = self.options.singular_cut
        settings.position_tolerance = self.options.position_tolerance
        settings.inconsistent = self.options.inconsistent
        settings.near = self.options.near_singular
        settings.event_tolerance = EVENT_TOLERANCE
        settings.accepted_residual = DATA_TOLERANCE
        if near is not None:
            settings.scale_of_rows, settings.scale_of_weighted_rows = near.scale, near.weighted_scale
            settings.scale_of_even_rows = near.scaled_rows_size
            settings.scale_of_measured_rows = near.measured_rows_size
            beside = near.smallest / near.scaled_rows_size if near.scaled_rows_size > 0.0 else 0.0
            data_of(self).loosen(settings, beside, holonomic=self.nc == self.nh)
        return settings

    def _settle(self, tolerances: la.Settings) -> None:
        self.tolerances[:], self.settled = tolerances, self.parameters.changes

    # --- kernels -------------------------------------------------------------------------------------

    @property
    def acceleration_kernel(self) -> Kernel:
        """The kernel for accelerations."""
        return acceleration_kernel(self.compiled)

    def load_functions(self, *names: str) -> None:
        """Compile the named functions that the kernels call and put their addresses in the table."""
        if self.loaded.issuperset(names):
            return
        self.loaded |= set(names)
        self._fill()
        if "dynamics" in names and self.model.cached("massless", lambda: may_lose_inertia(self.mechanism)):
            self.expect_singular_mass()

    def _fill(self) -> None:
        """Write the loaded functions for the known rows into the table, and reserve memory for stages."""
        if self.loaded:
            entries_of(self.compiled, self.loaded, self.basis).fill(self.table)
            self._keep_stages(sum(la.stage_sizes_of(self.table)))

    def _keep_stages(self, length: int) -> None:
        """Reserve memory for the results of stages."""
        self.stage_answer = np.zeros(max(1, length))
        self.table.stage = self.stage_answer

    @property
    def basis(self) -> Basis | None:
        """The rows solved by straight-line code, None if it is not applicable or A is unknown."""
        return None if self.near is None else self.compiled.basis(self.near.rank, self.near.independent)

    def learn_rank(self, near: Neighbourhood, tolerances: la.Settings) -> None:
        """Use this neighbourhood of a state, and the tolerances that follow from it, from now on."""
        known, self.near, self.switched = self.near, near, self.parameters.switched
        self.table.holonomic_rank, self.table.generic_rank = near.holonomic_rank, near.rank
        self.is_ready = self.is_plain = False
        if known is not near:
            self._fill()
            self._settle(tolerances)

    def expect_singular_mass(self) -> bool:
        """Let the kernels use the null space of A wherever M is nearly singular; False if they already did."""
        if self.compiled.mass_is_singular or self.table.whole != 0:
            return False
        self.table.whole = self.compiled.function("whole").address
        self.table.null_space_solve = null_space_acceleration.address
        self.is_ready = self.is_plain = False
        return True

    def project(self, x: Array, *, positions: bool = True) -> int:
        """Project v in x = [q | v | …] in place, before it q if ``positions``; return the rank, −1 on failure."""
        self.load_functions("position", "velocity", "rate")
        self.work[self._factored] = 0.0
        return projection(self.table, x, la.CONSTRAINTS if positions else la.VELOCITIES)

    def accelerate(self, x: Array) -> tuple[int, Array]:
        """Return the rank and (a, λ, Aᵀλ, facts) at x = [q | v | u | t | p | τ], with quaternions of any length.

        The rank is −1 without an answer; the facts are explained in `sarrus.kernels.memory.layout`.
        """
        self.load_functions("dynamics", "checked", "position", "velocity")
        rank = self.acceleration_kernel(self.table, x, la.ANSWER)
        work = view_fields(self.work, self.sizes)
        return rank, np.concatenate([work.a, work.lam, work.reaction, work.facts])

    def stage(self, x: Array) -> tuple[list[int], Array] | None:
        """Return the rows satisfied at a stage off the constraints, if other rows depend on them, and (a, λ).

        None if `accelerate` gives the same, or if straight-line code is not applicable.
        """
        if self.basis is None or not self.basis.dependent:
            return None
        rows = self.basis.independent
        self.load_functions("direct")
        self.acceleration_kernel(self.table, x, la.SLOPE)
        answer = self.compiled.direct("checked", Basis(rows)).evaluate(x)
        taken = view_fields(self.work, self.sizes).a
        found = np.concatenate([answer["a"], answer["multipliers"]]).ravel()
        return (list(rows), found) if np.array_equal(found[: self.nv], taken) else None

    def diagnose(self, x: Array) -> Status:
        """Return why there is no acceleration at x: NOT_FINITE or ILL_POSED; wrong arguments are an error."""
        q, v, u, t = x[self.parts.q], x[self.parts.v], x[self.parts.u], float(x[self.parts.t])
        self.pack(q, v, u, t)
        names = (
            "mass_matrix",
            "bias_force",
            "passive_force",
            "input_force",
            "non_ideal",
            "jacobian",
            "constraint_bias",
        )
        numbers = all(np.isfinite(self.compiled.function(name)(x)).all() for name in names)
        return Status.ILL_POSED if numbers else Status.NOT_FINITE


def _of_values(model: Model, parameters: dict[str, float], options: Options) -> Workspace:
    """Return a workspace of a model with values of its parameters."""
    values = model.parameter_values()
    values.update(parameters)
    return Workspace(model, values, options)
