"""`System`: the equations of motion of a mechanism, or of the user's own, compiled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.numbers import real_array
from sarrus.base.status import Status
from sarrus.dynamics import assembly
from sarrus.dynamics.data_tolerance import EXACT, DataTolerance, judged_data
from sarrus.dynamics.evaluations import Evaluations
from sarrus.dynamics.inertia import is_singular_at, may_lose_inertia
from sarrus.dynamics.options import Options
from sarrus.dynamics.sensing import Readings, read
from sarrus.dynamics.solves import Assembly, ForwardDynamics, InverseDynamics
from sarrus.equations.equations import Equations
from sarrus.kernels import layout as la
from sarrus.kernels.c_function import acceleration, null_space_acceleration, projection
from sarrus.mechanism.mechanism import Mechanism
from sarrus.multibody.model import trace
from sarrus.multibody.parameters import NO_PARAMETERS, MechanismParameters, Targets
from sarrus.multibody.size import LARGEST, check_size


class System(Evaluations):
    """Equations of motion M a + h = k + S u + τ + Aᵀλ, A a + γ = 0, compiled to native code.

    Build it from a `Mechanism`, from a Lagrangian (`from_lagrangian`) or from matrices (`from_equations`).
    Redundant rows, zero rows and singular configurations are ordinary input of every method: rank, the
    minimum-norm multipliers and a status come back. Methods take (q, v, u, t) in this order, copy what
    they get and return read-only arrays; q and v are laid out as MuJoCo's qpos and qvel. Quaternions in q
    may have any length but zero and are scaled to length one.

    A system made from a mechanism can be copied and pickled; the copy compiles again, from the disk cache.

    Threads may share a system: calls that write to its arrays wait for each other, simulations and rollouts work on
    `private` views, side by side. Only one thread at a time may assign parameters; others take a view of their own.

    ``parameters`` of a mechanism maps names to numbers of its description that they drive: {"m": "upper.mass",
    "l": ["fore.placement.x", ("upper.com.x", 0.5)]}. A driven number is its value + Σ factor × (p − p0), where p0 is
    what gives the first target its value; `sarrus.mechanism.entries` lists the numbers. Then ``system.parameters``
    holds the values of the symbols p: assign to its items, or several with ``update``; nothing is compiled again. A
    value that makes a mass, stiffness, damping, armature, length or moment of inertia negative is an `ArgumentError`
    at the assignment; an inertia matrix that no body can have is not noticed there, and where M is not positive
    definite a solve says ILL_POSED. Loops that a new length opens are closed by `assemble`.

    The equations become straight-line code, and compiling it takes time and memory. A mechanism of more than
    ``largest`` velocities is a `ModelError` before anything is traced; those of one long chain count three times, see
    `sarrus.multibody.size`. None: any number.
    """

    def __init__(
        self, mechanism: Mechanism, parameters: Targets | None = None, *, largest: int | None = LARGEST
    ) -> None:
        if not isinstance(mechanism, Mechanism):
            raise ArgumentError(
                f"System needs a Mechanism, got {type(mechanism).__name__}", element="mechanism"
            )
        check_size(mechanism, largest)
        driven = MechanismParameters.read(mechanism, parameters)
        self._set_up(trace(mechanism, driven), mechanism.snapshot(), driven)

    @classmethod
    def from_lagrangian(cls, nq: int, lagrangian: Callable[..., Any], **arguments: Any) -> System:
        """Derive the equations from L(q, v, t), v = q̇; `sarrus.equations.lagrangian.derive` documents the arguments.

        Keywords: holonomic f(q, t), velocity f(q, v, t), generalized_force f(q, v, t), inputs f(q), non_ideal
        f(q, v, t), parameters, name, coordinate_names, actuator_names, constraint_names.
        """
        from sarrus.equations.lagrangian import derive

        return cls.from_symbolic(derive(nq, lagrangian, **arguments))

    @classmethod
    def from_equations(
        cls, nq: int, mass_matrix: Callable[..., Any], bias: Callable[..., Any], **arguments: Any
    ) -> System:
        """Take M(q) and h(q, v) as given; `sarrus.equations.matrices.assemble_equations` documents the arguments.

        Keywords: those of `from_lagrangian`; nv, rate f(q, v), potential_energy f(q), quaternions,
        velocity_names.
        """
        from sarrus.equations.matrices import assemble_equations

        return cls.from_symbolic(assemble_equations(nq, mass_matrix, bias, **arguments))

    @classmethod
    def from_symbolic(cls, equations: Equations) -> System:
        """Compile given symbolic `Equations`."""
        system = cls.__new__(cls)
        system._set_up(equations, None, NO_PARAMETERS)
        return system

    def _set_up(self, equations: Equations, mechanism: Mechanism | None, driven: MechanismParameters) -> None:
        e = equations
        self._describe(e, mechanism, driven)
        self.options = Options(on_change=self._renew_settings)
        self._generic_known, self._switched = self.nc == 0, 0
        self.motions_left: Array | None = None
        self._surveyed: tuple[Any, assembly.Neighbourhood] | None = None
        self._data: tuple[tuple[float, ...], DataTolerance] | None = None
        self._non_ideal = not e.non_ideal.is_zero()
        rows = self.closure_rows.values()
        self._first_rows = [row.start for row in rows for _ in range(row.start, row.stop)]
        self._scales, self.typical_pivot = (0.0, 0.0, 0.0, 0.0), 0.0
        self.table = self.compiled.table()
        self._no_force = np.zeros(self.nv)
        self._own_arrays()

    def _own_arrays(self) -> None:
        """Give the table arrays that no other system writes to."""
        self.lock = threading.RLock()
        self._settings = self.settings()
        self._x = np.zeros(la.input_size(self.table))
        self._work = np.zeros(self.workspace_size())
        self.point_table(self.table, self._settings, self._work)
        self.table[la.STATE] = self._x.ctypes.data
        self.output_size = 2 * self.nv + self.nc + la.N_FACTS + self.nq + self.nv
        self._ready, self._complete = False, -2
        self._u_given = False
        # For calls without controls: a table, its settings behind it, x and a workspace.
        self._plain_room = np.zeros(len(self.table) + len(self._settings), np.int64)
        self._plain, self._plain_ready = self._plain_room[: len(self.table)], False
        self._plain_arrays = np.zeros_like(self._x), np.zeros_like(self._work)

    def private(self) -> System:
        """Return a view of this system with parameters and options of its own, as they are now, to use in a thread.

        It shares the equations and the compiled code, and costs some microseconds. What happens to the one is not seen
        by the other.
        """
        with self.lock:
            own = object.__new__(type(self))
            own.__dict__.update(self.__dict__)
            own.parameters = self.parameters.own()
            own.options = replace(self.options, on_change=own._renew_settings)
            own.table = self.table.copy()
            own._own_arrays()
            return own

    def __reduce__(self) -> tuple[Callable[..., System], tuple[Any, ...]]:
        if self.mechanism is None:
            raise ArgumentError(
                f"{self.name}: a system from your own equations cannot be copied or pickled; build it again "
                "from its functions, or use a Mechanism",
                element=self.name,
            )
        options = replace(self.options, on_change=None)
        return _rebuild, (self.mechanism, self.driven.targets, options, dict(self.parameters))

    def __repr__(self) -> str:
        return f"System({self.name!r}: nq={self.nq}, nv={self.nv}, nu={self.nu}, nc={self.nc})"

    # --- configuration -----------------------------------------------------------------------------

    def assemble(
        self, q: ArrayLike, t: float = 0.0, *, locked: Sequence[str] = (), throw: bool = True
    ) -> Assembly:
        """Close the loops from the guess q; see `sarrus.dynamics.assembly.assemble`."""
        return assembly.assemble(self, real_array(q), locked=locked, t=t, throw=throw)

    def project_velocity(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return the velocity nearest to v that the constraints allow at q, for any rank of A.

        Nearest in the kinetic metric, v − L⁻¹(A L⁻¹)⁺ψ with M = LᵀL: what an ideal impulse of the constraints leaves.
        Massless links: see `sarrus.kernels.projection`.
        """
        x = self.pack(self.normalized(q), v, None, t)
        given, q, v = x.copy(), x[self._q_part], x[self._v_part]
        with self.lock:
            generic = self.ensure_generic_rank(q, t, v)
            rank = self.project(x, positions=False)
            left = np.abs(self.velocity_residual(q, v, t)).max(initial=0.0)
            if rank < generic or left > self.data.rank_cut(assembly.DATA_TOLERANCE) * (
                1.0 + np.abs(v).max(initial=0.0)
            ):
                x[:] = given  # the rank nearby may differ from where it was found: look again, here
                self.ensure_generic_rank(q, t, v, renew=True)
                self.project(x, positions=False)
        return read_only(v.copy())

    def project(self, x: Array, *, positions: bool = True) -> int:
        """Project v in x = [q | v | …] in place, q before it if ``positions``; return the rank, −1 where it fails."""
        with self.lock:
            self.load_functions("position", "velocity", "rate")
            return projection(self.table, x, la.CONSTRAINTS if positions else la.VELOCITIES)

    def accelerate(self, x: Array) -> tuple[int, Array]:
        """Solve at x = [q | v | u | t | p | τ] as it is, quaternions of any length; return the rank and (a, λ, Aᵀλ,
        facts).

        The rank is −1 where there is no answer; the facts are those of `sarrus.kernels.layout`.
        """
        kernel = null_space_acceleration if self.compiled.mass_is_singular else acceleration
        with self.lock:
            self.load_functions("dynamics", "checked", "position", "velocity")
            rank = kernel(self.table, x, la.ANSWER)
            ws = la.workspace(self.table)
            answer = self._work[ws.a : ws.a + 2 * self.nv + self.nc]
            return rank, np.concatenate([answer, self._work[ws.facts : ws.facts + la.N_FACTS]])

    def ensure_generic_rank(
        self, q: Array, t: float = 0.0, v: Array | None = None, *, renew: bool = False
    ) -> int:
        """Find, once, the rank that A has at generic closed configurations near q, the kernels' most.

        ``motions_left`` is then None, or at a rigid q the basis of the motions that there are (see ``Neighbourhood``).
        """
        with self.lock:
            if not self._generic_known or renew or self._switched != self.parameters.switched:
                near = self._survey(q, t, v)
                self.table[la.HOLONOMIC_RANK] = near.holonomic_rank
                self.table[la.GENERIC_RANK] = near.rank
                self._scales = near.scale, near.weighted_scale, near.even_scale, near.measured_scale
                self.motions_left = near.motions
                self.typical_pivot = near.smallest
                if not self.compiled.mass_is_singular and is_singular_at(self, q, t):
                    self.expect_singular_mass()
                self._renew_settings()
                self._generic_known, self._switched = True, self.parameters.switched
                self._ready = self._plain_ready = False
            return int(self.table[la.GENERIC_RANK])

    @property
    def data(self) -> DataTolerance:
        """What the digits of the model leave open of its loops, found once at or near its neutral configuration."""
        values = tuple(self.parameters.values())
        with self.lock:
            if self._data is None or self._data[0] != values:
                self._data = values, EXACT  # while it is looked for
                if self.nh > 1:
                    self._data = values, judged_data(self)
        return self._data[1]

    def _survey(self, q: Array, t: float, v: Array | None) -> assembly.Neighbourhood:
        """Return the survey at a state; where the last one was, with all as it was then, it is that one."""
        options = tuple(value for name, value in vars(self.options).items() if name != "on_change")
        values = tuple(self.parameters.values())
        place = q.tobytes(), t, None if v is None else v.tobytes(), values, options
        if self._surveyed is None or self._surveyed[0] != place:
            self._surveyed = place, assembly.survey(self, q, t, v)
        return self._surveyed[1]

    # --- solves ------------------------------------------------------------------------------------

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        u: ArrayLike | None = None,
        t: float = 0.0,
        tau: ArrayLike | None = None,
        *,
        throw: bool = True,
    ) -> ForwardDynamics:
        """Return acceleration, constraint force, multipliers, rank and status at a state.

        Full rank: the unique solution. Redundant and consistent: unique a and Aᵀλ; λ of
        least norm in characteristic units (`sarrus.dynamics.characteristic`), the same in metres and in millimetres.
        Inconsistent: least squares, status INCONSISTENT. Singular: status SINGULAR, the lost direction
        unconstrained. Rigid (velocities that A allows and no motion has): status RIGID, nothing accelerates there,
        and ``unbalanced`` is the force that no finite multipliers hold. Massless bodies: solved in the null space of
        A; ILL_POSED raises `SolveError` (or is the status with ``throw=False``) where M is not positive definite on it.

        OK is said of an answer whose residuals were looked at: relative to what was summed in them they are below
        1e-9, after one step of refinement if it takes that; of dependent rows, which a model closes to its printed
        digits, below ``options.inconsistent``. Otherwise the status is ALMOST. It is ILL_CONDITIONED where M is so
        near to singular (condition above 5e9, every coordinate in units of its own √M_kk) that a may be wrong by
        more than 1e-6 though the residuals are small.

        Parameters: q (nq,), v (nv,), u (nu,) controls, t [s], tau (nv,) applied generalized force.
        """
        out = np.empty(self.output_size)
        plain = type(q) is type(v) is np.ndarray and (tau is None or type(tau) is np.ndarray)
        if u is None and plain and self._plain_ready and self._switched == self.parameters.switched:
            try:  # no lock: compiled code that holds the interpreter's, on arrays that nothing else works with
                code = self._forward(self._plain, q, v, self._no_force if tau is None else tau, t, out)
            except TypeError:
                code = la.NOT_ARRAYS
            if code == self._complete:
                return ForwardDynamics(self, out, code, Status.OK, t)
        with self.lock:
            if not self._ready or self._switched != self.parameters.switched:
                self._prepare(q, v, t)
            if u is not None or self._u_given:
                self._x[self._u_part] = 0.0 if u is None else self.checked(u, self.nu, "u")
                self._u_given = u is not None
            if self.parameters:
                self._x[self._p_part] = list(self.parameters.values())
            code = la.NOT_ARRAYS  # convert what is no array of floats, or say what is wrong with it
            if plain:
                with suppress(TypeError):
                    code = self._forward(self.table, q, v, self._no_force if tau is None else tau, t, out)
            if code != self._complete:
                from sarrus.dynamics.second_look import incomplete

                return incomplete(self, out, code, q, v, t, tau, throw)
        return ForwardDynamics(self, out, code, Status.OK, t)

    def _prepare(self, q: ArrayLike, v: ArrayLike, t: float) -> None:
        """Compile what forward dynamics needs and find the generic rank."""
        from sarrus.kernels.forward import forward

        self._forward = forward
        self.load_functions("dynamics", "checked", "position", "velocity")
        self.pack(q, v)
        try:
            self.ensure_generic_rank(self.normalized(q), t, real_array(v))
        except SolveError:
            return  # the constraints are not numbers here, which the status of the solve will say
        # An ordinary answer has this code; a non-ideal force, or a rigid q, needs a second look at every answer.
        second_look = self._non_ideal or self.motions_left is not None
        self._complete = -2 if second_look else int(self.table[la.GENERIC_RANK])
        self._ready = True
        table = self.table.copy()
        table[[la.STATE, la.WORK]] = [array.ctypes.data for array in self._plain_arrays]
        table[la.SETTINGS] = self._plain_room[len(table) :].ctypes.data
        self._plain_room[:] = np.concatenate(
            [table, self._settings.view(np.int64)]
        )  # at once, for other threads
        self._plain_ready = not (self._non_ideal or self.parameters)

    def diagnose(self, x: Array) -> Status:
        """Say why there is no acceleration at x: NOT_FINITE or ILL_POSED; bad input is an error."""
        q, v, u, t = x[self._q_part], x[self._v_part], x[self._u_part], float(x[self._t_index])
        self.pack(q, v, u, t)
        names = ("mass_matrix", "bias_force", "passive_force", "non_ideal", "jacobian", "constraint_bias")
        numbers = all(np.isfinite(self.compiled.function(name)(x)).all() for name in names)
        return Status.ILL_POSED if numbers else Status.NOT_FINITE

    def sensors(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        u: ArrayLike | None = None,
        t: float = 0.0,
        tau: ArrayLike | None = None,
    ) -> Readings:
        """Return what the sensors of the mechanism read at a state, by name; `Mechanism.add_sensor` lists the kinds.

        Where one of them measures accelerations or forces, forward dynamics is solved, and its errors are raised.
        Readings of forces that redundant constraints leave open are named in ``undetermined``.
        """
        return read(self, q, v, u, t, tau)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        t: float = 0.0,
        *,
        weights: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        throw: bool = True,
    ) -> InverseDynamics:
        """Return the controls that produce a; see `sarrus.dynamics.inverse_dynamics.inverse_dynamics`."""
        from sarrus.dynamics.inverse_dynamics import inverse_dynamics

        return inverse_dynamics(self, q, v, a, t, weights=weights, tau=tau, throw=throw)

    def to_casadi(self, name: str, **options: Any) -> ca.Function:
        """Return a quantity or a solve as a CasADi function; see `sarrus.export.casadi_function`.

        Names: forward_dynamics, reduced_dynamics, mass_matrix, constraint_jacobian and so on. Keywords: rows,
        coordinates, q, t.
        """
        from sarrus import export

        return export.casadi_function(self, name, **options)

    # --- what the kernels need ---------------------------------------------------------------------

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
        self._ready = self._plain_ready = False
        return True

    @staticmethod
    def point_table(table: np.ndarray, settings: Array, work: Array) -> None:
        """Have a table point to tolerances and a workspace; the caller keeps the arrays alive."""
        table[la.SETTINGS], table[la.WORK] = settings.ctypes.data, work.ctypes.data

    def settings(self) -> Array:
        """Return the tolerances for the kernels, from ``options``."""
        size = self.characteristic
        settings = np.concatenate(
            [np.zeros(la.N_SETTINGS), size.rows, size.columns, self._first_rows, size.coordinates]
        )
        settings[la.SINGULAR_CUT] = self.options.singular_cut
        settings[la.POSITION_TOLERANCE] = self.options.position_tolerance
        settings[la.INCONSISTENT] = self.options.inconsistent
        settings[la.NEAR] = self.options.near_singular
        settings[la.SCALE_OF_ROWS], settings[la.SCALE_OF_WEIGHTED_ROWS] = self._scales[:2]
        settings[la.SCALE_OF_EVEN_ROWS], settings[la.SCALE_OF_MEASURED_ROWS] = self._scales[2:]
        settings[la.SIZE_OF_ENERGY] = size.mass * size.length**2
        settings[la.EVENT_TOLERANCE] = 1e-10
        settings[la.ACCEPTED_RESIDUAL] = assembly.DATA_TOLERANCE
        if self._data is not None:  # known before anything is solved
            beside = self.typical_pivot / self._scales[2] if self._scales[2] > 0.0 else 0.0
            self._data[1].loosen(settings, beside, holonomic=self.nc == self.nh)
        return settings

    def _renew_settings(self) -> None:
        with self.lock:
            self._settings[:] = self.settings()
            self._ready = self._plain_ready = False

    def adopt(self, other: System) -> None:
        """Take over mechanism, options and parameters of a system with the same coordinates."""
        self.mechanism, self.joint_names = other.mechanism, other.joint_names
        self.characteristic, self._first_rows = other.characteristic, other._first_rows
        self.compiled.ridge, self.compiled.stiff = other.compiled.ridge, other.compiled.stiff
        self.compiled.even = other.compiled.even
        self.driven, self.parameters, self._data = other.driven, other.parameters, other._data
        self.options = replace(other.options, on_change=self._renew_settings)
        self._renew_settings()

    def workspace_size(self) -> int:
        """Return the length of the float workspace of the kernels."""
        return int(la.workspace(self.table).size)


def _rebuild(
    mechanism: Mechanism, targets: Targets, options: Options, parameters: dict[str, float]
) -> System:
    """Return a system of a mechanism with given options and parameters: what a pickle holds."""
    system = System(mechanism, targets, largest=None)
    system.parameters.update(parameters)
    system.parameters = system.parameters.own()
    system.options = replace(options, on_change=system._renew_settings)
    system._renew_settings()
    return system
