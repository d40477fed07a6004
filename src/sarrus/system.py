"""`System`: the equations of motion of a mechanism, or of the user's own, compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis import assembly
from sarrus.compiled import CompiledEquations
from sarrus.equations import Equations
from sarrus.errors import ArgumentError, SolveError, unknown_name
from sarrus.kernels import layout as la
from sarrus.kernels.forward import INCONSISTENT, SINGULAR, STRIDE, forward, project
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.pose import Array
from sarrus.multibody.model import body_placements, trace
from sarrus.options import Options
from sarrus.quaternions import are_unit, normalize
from sarrus.solves import Assembly, ForwardDynamics, InverseDynamics, read_only
from sarrus.status import Status
from sarrus.symbolic import ParameterValues


class System:
    """Equations of motion M a + h = k + S u + τ + Aᵀλ, A a + γ = 0, compiled to native code.

    Build it from a `Mechanism`, from a Lagrangian (`from_lagrangian`) or from matrices (`from_equations`).
    Redundant rows, zero rows and singular configurations are ordinary input of every method: rank, the
    minimum-norm multipliers and a status come back. Methods take (q, v, u, t) in this order, copy what
    they get and return read-only arrays; q and v are laid out as MuJoCo's qpos and qvel. Quaternions in q
    may have any length but zero and are scaled to length one.

    A system made from a mechanism can be copied and pickled; the copy compiles again, from the disk cache.

    ``parameters`` holds the values of the symbols p; assign to its items, nothing is compiled again.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        if not isinstance(mechanism, Mechanism):
            raise ArgumentError(
                f"System needs a Mechanism, got {type(mechanism).__name__}", element="mechanism"
            )
        self._set_up(trace(mechanism), mechanism.snapshot())

    @classmethod
    def from_lagrangian(cls, nq: int, lagrangian: Callable[..., Any], **arguments: Any) -> System:
        """Derive the equations from L(q, v, t), v = q̇; `sarrus.lagrangian.derive` documents the arguments.

        Keywords: holonomic f(q, t), velocity f(q, v, t), generalized_force f(q, v, t), inputs f(q), non_ideal
        f(q, v, t), parameters, name, coordinate_names, actuator_names, constraint_names.
        """
        from sarrus.lagrangian import derive

        return cls.from_symbolic(derive(nq, lagrangian, **arguments))

    @classmethod
    def from_equations(
        cls, nq: int, mass_matrix: Callable[..., Any], bias: Callable[..., Any], **arguments: Any
    ) -> System:
        """Take M(q) and h(q, v) as given; `sarrus.matrices.assemble_equations` documents the arguments.

        Keywords: those of `from_lagrangian`; nv, rate f(q, v), potential_energy f(q), quaternions,
        velocity_names.
        """
        from sarrus.matrices import assemble_equations

        return cls.from_symbolic(assemble_equations(nq, mass_matrix, bias, **arguments))

    @classmethod
    def from_symbolic(cls, equations: Equations) -> System:
        """Compile given symbolic `Equations`."""
        system = cls.__new__(cls)
        system._set_up(equations, None)
        return system

    def _set_up(self, equations: Equations, mechanism: Mechanism | None) -> None:
        e = equations
        self.mechanism = mechanism
        self.equations = e
        self.compiled = CompiledEquations(e)
        self.options = Options(on_change=self._renew_settings)
        self.parameters = ParameterValues(e.name, e.parameter_values)
        self.name, self.nq, self.nv, self.nu, self.nc, self.nh = e.name, e.nq, e.nv, e.nu, e.nc, e.nh
        self.coordinate_names, self.velocity_names = e.coordinate_names, e.velocity_names
        self.constraint_names, self.actuator_names = e.constraint_names, e.actuator_names
        joints = tuple(j.name for j in mechanism.joints()) if mechanism else e.velocity_names
        self.joint_names: tuple[str, ...] = joints
        self._quaternions = np.array(e.quaternions, dtype=np.int64)
        self._has_quaternions = bool(e.quaternions)
        self._generic_known = self.nc == 0
        self._non_ideal = not e.non_ideal.is_zero()
        self._scales, self.typical_pivot = (0.0, 0.0), 0.0
        self._build_table(self.compiled.sizes())
        self.output_size = 2 * self.nv + self.nc + la.N_FACTS + self.nq + self.nv
        n = self.nq + self.nv
        self._q_part, self._v_part, self._u_part = slice(0, self.nq), slice(self.nq, n), slice(n, n + self.nu)
        self._t_index = n + self.nu
        self._ready, self._complete, self._u_given = False, -2, False

    def _build_table(self, sizes: np.ndarray) -> None:
        """Lay out what the kernels need to know: one integer table, and the arrays that it points to."""
        self.table = np.zeros(la.SIZES + len(sizes) + self.nc + 1, np.int64)
        self._addresses = self.table[: la.N_ADDRESSES]
        self._sizes = self.table[la.SIZES : la.SIZES + len(sizes)]
        self._sizes[:] = sizes
        self._settings = self.settings()
        self._x = np.zeros(la.input_size(sizes))
        self._tau = np.zeros(self.nv)
        self._work = np.zeros(self.workspace_size())
        for place, array in (
            (la.SETTINGS, self._settings),
            (la.STATE, self._x),
            (la.APPLIED_FORCE, self._tau),
            (la.WORK, self._work),
        ):
            self.table[place] = array.ctypes.data

    # --- description -------------------------------------------------------------------------------

    @property
    def closure_rows(self) -> dict[str, slice]:
        """Rows of each closure, coupling or constraint by its name."""
        if self.mechanism is None:
            return {name: slice(i, i + 1) for i, name in enumerate(self.constraint_names)}
        rows, start = {}, 0
        for element in self.mechanism.constraints():
            rows[element.name] = slice(start, start + len(element.row_names))
            start += len(element.row_names)
        return rows

    def rows_of_closure(self, name: str, values: Array) -> dict[str, float]:
        """Return the entries of a constraint vector that belong to one closure, by row name."""
        rows = self.closure_rows
        if name not in rows:
            raise ArgumentError(unknown_name("closure", name, rows), element=name, valid=rows)
        return {n: float(x) for n, x in zip(self.constraint_names[rows[name]], values[rows[name]])}

    def velocity_indices(self, name: str) -> list[int]:
        """Return the indices of a joint's or a coordinate's velocities; empty where there is none."""
        return [i for i, n in enumerate(self.velocity_names) if n == name or n.rpartition(".")[0] == name]

    def neutral(self) -> Array:
        """Return q at the reference pose: zeros, or the references of the joints."""
        if self.mechanism is None:
            q = np.zeros(self.nq)
            q[list(self.equations.quaternions)] = 1.0
            return q
        return np.array([x for joint in self.mechanism.joints() for x in joint.reference], dtype=float)

    def __reduce__(self) -> tuple[Callable[..., System], tuple[Any, ...]]:
        if self.mechanism is None:
            raise ArgumentError(
                f"{self.name}: a system from your own equations cannot be copied or pickled; build it again "
                "from its functions, or use a Mechanism",
                element=self.name,
            )
        return _rebuild, (self.mechanism, replace(self.options, on_change=None))

    def __repr__(self) -> str:
        return f"System({self.name!r}: nq={self.nq}, nv={self.nv}, nu={self.nu}, nc={self.nc})"

    # --- quantities of the equations ---------------------------------------------------------------

    def mass_matrix(self, q: ArrayLike, t: float = 0.0) -> Array:
        """Return M(q) (nv × nv), armature included; t matters where a Lagrangian has explicit time."""
        return self.evaluate("mass_matrix", q, t=t)["mass_matrix"]

    def bias_force(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return h(q, v) (nv,): Coriolis, centrifugal and gravity forces, MuJoCo's qfrc_bias."""
        return self.evaluate("bias_force", q, v, t=t)["bias_force"][:, 0]

    def passive_force(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return k(q, v, t) (nv,): springs, dampers, actuator forces at u = 0, user forces."""
        return self.evaluate("passive_force", q, v, t=t)["passive_force"][:, 0]

    def actuation_matrix(self, q: ArrayLike) -> Array:
        """Return S (nv × nu), the generalized force per unit of control."""
        return self.evaluate("actuation", q)["actuation"]

    def constraint_residual(self, q: ArrayLike, t: float = 0.0) -> Array:
        """Return φ(q, t) (nh,), the residual of the holonomic constraints [m, rad]."""
        return self.evaluate("position_residual", q, t=t)["position_residual"][:, 0]

    def velocity_residual(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return ψ = A v − b (nc,), holonomic rows first, then nonholonomic ones."""
        return self.evaluate("velocity_residual", q, v, t=t)["velocity_residual"][:, 0]

    def constraint_jacobian(self, q: ArrayLike, t: float = 0.0, v: ArrayLike | None = None) -> Array:
        """Return A (nc × nv); ``v`` matters only where a constraint is nonlinear in the velocity."""
        return self.evaluate("jacobian", q, v, t=t)["jacobian"]

    def constraint_bias(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return γ (nc,), so that A a + γ = 0."""
        return self.evaluate("constraint_bias", q, v, t=t)["constraint_bias"][:, 0]

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> float:
        """Return the kinetic energy [J]; ``t`` as in `mass_matrix`."""
        return float(self.evaluate("kinetic_energy", q, v, t=t)["kinetic_energy"][0, 0])

    def potential_energy(self, q: ArrayLike, t: float = 0.0) -> float:
        """Return the potential energy of gravity and springs [J]; ``t`` as in `mass_matrix`."""
        return float(self.evaluate("potential_energy", q, t=t)["potential_energy"][0, 0])

    def coordinate_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return q̇ = N(q) v (nq,)."""
        return self.evaluate("rate", q, v)["rate"][:, 0]

    def body_placements(self, q: ArrayLike) -> tuple[Array, Array]:
        """Return positions (nb × 3) and rotations (nb × 3 × 3) in the order of ``mechanism.bodies``."""
        mechanism = self.mechanism
        if mechanism is None:
            raise ArgumentError(
                f"{self.name}: only a system made from a Mechanism has bodies", element="mechanism"
            )
        native = self.compiled.named(
            "placements", lambda: {"x": body_placements(mechanism, self.equations.q)}
        )
        flat = native(self.pack(q)).reshape(-1, 12)
        return read_only(flat[:, :3].copy()), read_only(flat[:, 3:].reshape(-1, 3, 3).copy())

    def evaluate(
        self, name: str, q: ArrayLike, v: ArrayLike | None = None, u: ArrayLike | None = None, t: float = 0.0
    ) -> dict[str, Array]:
        """Evaluate a native function of these equations by name; its outputs come as read-only matrices."""
        native = self.compiled.function(name)
        flat = native(self.pack(q, v, u, t))
        return {key: read_only(flat[part].reshape(shape)) for key, (part, shape) in native.outputs.items()}

    def pack(
        self, q: ArrayLike, v: ArrayLike | None = None, u: ArrayLike | None = None, t: float = 0.0
    ) -> Array:
        """Return x = [q | v | u | t | p], the input of the native functions.

        Lengths and finiteness are checked, and quaternions scaled to length one.
        """
        x = np.zeros(len(self._x))
        n, m = self.nq + self.nv, self.nq + self.nv + self.nu
        x[: self.nq] = self._with_unit_quaternions(self.checked(q, self.nq, "q"))
        if v is not None:
            x[self.nq : n] = self.checked(v, self.nv, "v")
        if u is not None:
            x[n:m] = self.checked(u, self.nu, "u")
        x[m] = self._time(t)
        if self.parameters:
            x[m + 1 :] = list(self.parameters.values())
        return x

    def checked(self, value: ArrayLike, size: int, what: str) -> Array:
        """Return an argument as a finite vector; the error names it and the ``size`` entries it needs."""
        controls = self.actuator_names
        names = {"q": self.coordinate_names, "u": controls, "weights": controls}.get(
            what, self.velocity_names
        )
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            array = np.empty((0, 0))
        if array.shape != (size,):
            given = f"shape {array.shape}" if array.ndim < 2 or array.size else repr(value)
            raise ArgumentError(
                f"{self.name}: {what} must have {size} entries ({', '.join(names)}), got {given}",
                element=what,
                valid=names,
            )
        if not np.isfinite(array).all():
            raise ArgumentError(f"{self.name}: {what} must be finite, got {array}", element=what)
        return array

    def _time(self, t: float) -> float:
        if not isinstance(t, (int, float, np.number)) or not np.isfinite(t):
            raise ArgumentError(f"{self.name}: t must be a finite number [s], got {t!r}", element="t")
        return float(t)

    # --- configuration -----------------------------------------------------------------------------

    def normalized(self, q: ArrayLike) -> Array:
        """Return a copy of q with unit quaternions."""
        out = np.array(self.checked(q, self.nq, "q"))
        vanished = normalize(out, self._quaternions)
        if vanished is not None:
            name = self.coordinate_names[vanished]
            raise ArgumentError(
                f"{self.name}: the quaternion {name.rpartition('.')[0]!r} has zero length", element=name
            )
        return out

    def _with_unit_quaternions(self, q: ArrayLike) -> ArrayLike:
        """Return q itself where its quaternions have length one, else a copy where they do."""
        try:
            unit = not self._has_quaternions or are_unit(q, self._quaternions)
        except TypeError:  # no array of floats
            unit = False
        return q if unit else self.normalized(q)

    def move(self, q: ArrayLike, step: ArrayLike) -> Array:
        """Return q ⊕ step: along N(q) step, quaternions back to unit length."""
        return self.normalized(np.asarray(q, dtype=float) + self.coordinate_rate(q, step))

    def assemble(
        self, q: ArrayLike, locked: Sequence[str] = (), t: float = 0.0, *, throw: bool = True
    ) -> Assembly:
        """Close the loops from the guess q; see `sarrus.analysis.assembly.assemble`."""
        return assembly.assemble(self, np.asarray(q, dtype=float), locked=locked, t=t, throw=throw)

    def project_velocity(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return the velocity nearest to v that the constraints allow at q, v − A⁺ψ, for any rank of A."""
        x = self.pack(self.normalized(q), v, None, t)
        given, q, v = x.copy(), x[self._q_part], x[self._v_part]
        generic = self.ensure_generic_rank(q, t, v)
        _, _, rank = self._project(x, positions=False)
        left = np.abs(self.velocity_residual(q, v, t)).max(initial=0.0)
        if rank < generic or left > assembly.DATA_TOLERANCE * (1.0 + np.abs(v).max(initial=0.0)):
            x[:] = given  # the rank nearby may differ from where it was found: look again, here
            self.ensure_generic_rank(q, t, v, renew=True)
            self._project(x, positions=False)
        return read_only(v.copy())

    def _project(self, x: Array, *, positions: bool = True) -> tuple[bool, float, int]:
        self.load_functions("position", "velocity", "rate")
        return project(self.table, x, positions)

    def ensure_generic_rank(
        self, q: Array, t: float = 0.0, v: Array | None = None, *, renew: bool = False
    ) -> int:
        """Find, once, the rank that A has at generic closed configurations near q, the kernels' most."""
        if not self._generic_known or renew:
            near = assembly.survey(self, q, t, v)
            self._sizes[la.HOLONOMIC_RANK] = near.holonomic_rank
            self._sizes[la.GENERIC_RANK] = near.rank
            self._scales = near.scale, near.weighted_scale
            self.typical_pivot = near.smallest
            self._renew_settings()
            self._generic_known = True
            self._ready = False
        return int(self._sizes[la.GENERIC_RANK])

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

        Full rank: the unique solution. Redundant and consistent: unique a and Aᵀλ, minimum-norm λ.
        Inconsistent: least squares, status INCONSISTENT. Singular: status SINGULAR, the lost direction
        unconstrained. Massless bodies: solved in the null space of A; ILL_POSED raises `SolveError` (or
        is the status with ``throw=False``) where M is not positive definite on it.

        Parameters: q (nq,), v (nv,), u (nu,) controls, t [s], tau (nv,) applied generalized force.
        """
        if self._has_quaternions:
            q = self._with_unit_quaternions(q)
        if not self._ready:
            self._prepare(q, v, t)
        if u is not None or self._u_given:
            self._x[self._u_part] = 0.0 if u is None else self.checked(u, self.nu, "u")
            self._u_given = u is not None
        if tau is not None:
            simple = type(tau) is np.ndarray and tau.shape == self._tau.shape
            self._tau[:] = tau if simple else self.checked(tau, self.nv, "tau")
            self._sizes[la.APPLIED] = 1
        if self.parameters:
            self._x[self._t_index + 1 :] = list(self.parameters.values())
        out = np.empty(self.output_size)
        try:
            code = forward(self.table, q, v, t, out)
        except TypeError:  # no arrays of floats: convert them, or say what is wrong with them
            x = self.pack(q, v, u, t)
            code = forward(self.table, x[self._q_part], x[self._v_part], x[self._t_index], out)
        if code != self._complete:
            return self._incomplete(out, code, q, v, t, throw)
        if tau is not None:
            self._sizes[la.APPLIED] = 0
        return ForwardDynamics(self, out, code, Status.OK, t)

    def _prepare(self, q: ArrayLike, v: ArrayLike, t: float) -> None:
        """Compile what forward dynamics needs and find the generic rank."""
        self.load_functions("dynamics", "position", "velocity")
        self.pack(q, v)
        try:
            self.ensure_generic_rank(self.normalized(q), t, np.asarray(v, dtype=float))
        except SolveError:
            return  # the constraints are not numbers here, which the status of the solve will say
        # An ordinary answer has this code; a non-ideal force needs a second look at every answer.
        self._complete = -2 if self._non_ideal else int(self._sizes[la.GENERIC_RANK])
        self._ready = True

    def _incomplete(
        self, out: Array, code: int, q: ArrayLike, v: ArrayLike, t: float, throw: bool
    ) -> ForwardDynamics:
        """Return the answer of a solve that is not an ordinary one, or raise where there is none."""
        try:
            x = self.pack(q, v, None, t)
            x[self._u_part] = self._x[self._u_part]
            q, v, facts = x[self._q_part], x[self._v_part], out[2 * self.nv + self.nc :]
            outcome, rank = divmod(code, STRIDE) if code >= 0 else (code, -1)
            if outcome == SINGULAR or (
                outcome == INCONSISTENT and facts[la.BEYOND] > 1e-3 * facts[la.LARGEST]
            ):
                # The rank nearby may differ from where it was found: look again, here.
                self.ensure_generic_rank(self.normalized(q), t, v, renew=True)
                code = forward(self.table, q, v, t, out)
                outcome, rank = divmod(code, STRIDE) if code >= 0 else (code, -1)
                self._prepare(q, v, t)
            if self._non_ideal:
                out[self.nv + self.nc : 2 * self.nv + self.nc] += self.compiled.function("non_ideal")(x)
            if outcome < 0:
                if self._sizes[la.APPLIED]:
                    self.checked(self._tau, self.nv, "tau")
                status = self.diagnose(x)
                if throw:
                    raise SolveError(f"{self.name}: {status.diagnosis}. {status.remedy}")
                return ForwardDynamics(self, out, rank, status, t)
            return ForwardDynamics(
                self, out, rank, (Status.OK, Status.SINGULAR, Status.INCONSISTENT)[outcome], t
            )
        finally:
            self._sizes[la.APPLIED] = 0

    def diagnose(self, x: Array) -> Status:
        """Say why there is no acceleration at x: NOT_FINITE or ILL_POSED; bad input is an error."""
        q, v, u, t = x[self._q_part], x[self._v_part], x[self._u_part], float(x[self._t_index])
        self.pack(q, v, u, t)
        names = ("mass_matrix", "bias_force", "passive_force", "non_ideal", "jacobian", "constraint_bias")
        numbers = all(np.isfinite(self.compiled.function(name)(x)).all() for name in names)
        return Status.ILL_POSED if numbers else Status.NOT_FINITE

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
        """Return the controls that produce a; see `sarrus.analysis.inverse.inverse_dynamics`."""
        from sarrus.analysis.inverse import inverse_dynamics

        return inverse_dynamics(self, q, v, a, t, weights=weights, tau=tau, throw=throw)

    # --- what the kernels need ---------------------------------------------------------------------

    def load_functions(self, *names: str) -> np.ndarray:
        """Compile the named functions that the kernels call and return the table of addresses."""
        for name in names:
            self._addresses[la.FUNCTIONS[name]] = self.compiled.function(name).address
        return self._addresses

    def settings(self) -> Array:
        """Return the tolerances for the kernels, from ``options``."""
        settings = np.zeros(la.N_SETTINGS)
        settings[la.SINGULAR_CUT] = self.options.singular_cut
        settings[la.POSITION_TOLERANCE] = self.options.position_tolerance
        settings[la.INCONSISTENT] = self.options.inconsistent
        settings[la.NEAR] = self.options.near_singular
        settings[la.SCALE_OF_ROWS], settings[la.SCALE_OF_WEIGHTED_ROWS] = self._scales
        settings[la.EVENT_TOLERANCE] = 1e-10
        settings[la.ACCEPTED_RESIDUAL] = assembly.DATA_TOLERANCE
        return settings

    def _renew_settings(self) -> None:
        self._settings[:] = self.settings()

    def adopt(self, other: System) -> None:
        """Take over mechanism, options and parameters of a system with the same coordinates."""
        self.mechanism, self.joint_names, self.parameters = (
            other.mechanism,
            other.joint_names,
            other.parameters,
        )
        self.options = replace(other.options, on_change=self._renew_settings)
        self._renew_settings()

    def sizes(self) -> np.ndarray:
        """Return a copy of the dimensions, modes and ranks for the kernels."""
        return self._sizes.copy()

    def workspace_size(self) -> int:
        """Return the length of the float workspace of the kernels."""
        return int(la.workspace(self._sizes).size)


def _rebuild(mechanism: Mechanism, options: Options) -> System:
    """Return a system of a mechanism with given options: what a pickle holds."""
    system = System(mechanism)
    system.options = replace(options, on_change=system._renew_settings)
    system._renew_settings()
    return system
