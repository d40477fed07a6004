"""`System`: the equations of motion of a mechanism, or of the user's own, compiled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import casadi as ca
from numpy.typing import ArrayLike

from sarrus.base.errors import check_is
from sarrus.base.lazy_import import lazy_import
from sarrus.dynamics.closing.assembly import assemble
from sarrus.dynamics.contacts.contact_state import touching_of
from sarrus.dynamics.model.body_motion import centroidal, jacobian
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.model import Model
from sarrus.dynamics.model.options import Options
from sarrus.dynamics.model.rolling_contacts import rolling
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.forward_dynamics import forward_dynamics, on_contacts, solved
from sarrus.dynamics.solve.inverse_dynamics import inverse_dynamics
from sarrus.dynamics.solve.ranks import project_velocity
from sarrus.dynamics.solve.sensing import sensors
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.model.builders.mechanism import Mechanism
from sarrus.symbolic.equations.completion import check_keywords
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.lagrangian import derive
from sarrus.symbolic.equations.matrices import assemble_equations
from sarrus.symbolic.multibody.parameters import Targets
from sarrus.symbolic.multibody.size import LARGEST

Given = ParamSpec("Given")
Found = TypeVar("Found")


def _of_workspace(
    function: Callable[Concatenate[Workspace, Given], Found],
) -> Callable[Concatenate[System, Given], Found]:
    """Return a function of a workspace as a method of systems."""

    @wraps(function)
    def method(self: System, *args: Given.args, **kwargs: Given.kwargs) -> Found:
        return function(self.workspace(), *args, **kwargs)

    return method


class _OfThread(threading.local):
    work: Workspace | None = None


class System(Evaluations):
    """Equations of motion M a + h = k + S u + τ + Aᵀλ, A a + γ = 0, compiled to native code.

    Build it from a `Mechanism`, from a Lagrangian (`from_lagrangian`) or from matrices (`from_equations`).
    Redundant rows, zero rows and singular configurations are ordinary input of every method: rank, the
    minimum-norm multipliers and a status come back. Methods take (q, v, u, t) in this order, copy what
    they get and return read-only arrays; q and v are laid out as MuJoCo's qpos and qvel. Quaternions in q
    may have any length but zero and are scaled to length one.

    Threads share a system: what a call writes to is the thread's own. A call goes by the values of ``parameters`` and
    ``options`` at its start; a thread that wants others takes `with_parameters`. A system made from a mechanism can be
    copied and pickled; the copy compiles again, from the disk cache.

    ``parameters`` of a mechanism maps names to numbers of its description that they drive: {"m": "upper.mass",
    "l": ["fore.placement.x", ("upper.com.x", 0.5)]}. A driven number is its value + Σ factor × (p − p0), where p0 is
    what gives the first target its value; `sarrus.model.mechanism.entries` lists the numbers. {"c": 0.5} is a
    parameter of 0.5 that drives nothing of the mechanism, for functions of (q, v, t, p): controls, forces, events.
    ``system.parameters`` holds the values of the symbols p: assign to its items, or several with ``update``; nothing
    is compiled again. A value that makes a mass, stiffness, damping, armature, length or moment of inertia negative
    is an `ArgumentError` at the assignment; an inertia matrix that no body can have is not noticed there, and where M
    is not positive definite a solve says ILL_POSED. Loops that a new length opens are closed by `assemble`.

    The equations become straight-line code, and compiling it takes time and memory. A mechanism of more than
    ``largest`` velocities is a `ModelError` before anything is traced; those of one long chain count three times, see
    `sarrus.symbolic.multibody.size`. None: any number.
    """

    def __init__(
        self, mechanism: Mechanism, parameters: Targets | None = None, *, largest: int | None = LARGEST
    ) -> None:
        check_is("System", mechanism, Mechanism)
        self._begin(Model.of_mechanism(mechanism, parameters, largest), Options())

    @classmethod
    def from_lagrangian(cls, nq: int, lagrangian: Callable[..., Any], **arguments: Any) -> System:
        """Derive the equations from L(q, v, t), v = q̇; `sarrus.symbolic.equations.lagrangian.derive` documents the arguments.

        Keywords: holonomic f(q, t), velocity f(q, v, t), generalized_force f(q, v, t), inputs f(q, t), non_ideal
        f(q, v, t), parameters, name, coordinate_names, actuator_names, constraint_names.
        """
        check_keywords(derive, arguments)
        return cls.from_symbolic(derive(nq, lagrangian, **arguments))

    @classmethod
    def from_equations(
        cls, nq: int, mass_matrix: Callable[..., Any], bias: Callable[..., Any], **arguments: Any
    ) -> System:
        """Take M(q, t) and h(q, v, t) as given (`sarrus.symbolic.equations.matrices.assemble_equations` has the arguments).

        Keywords: those of `from_lagrangian`; nv, rate f(q, v), potential_energy f(q, t), quaternions,
        velocity_names. Functions that do not depend on t may leave it out.
        """
        check_keywords(assemble_equations, arguments)
        return cls.from_symbolic(assemble_equations(nq, mass_matrix, bias, **arguments))

    @classmethod
    def from_symbolic(cls, equations: Equations) -> System:
        """Compile given symbolic `Equations`."""
        return cls.of_model(Model(equations))

    @classmethod
    def of_model(
        cls, model: Model, parameters: Mapping[str, float] | None = None, options: Options | None = None
    ) -> System:
        """Return a system of a model, which others may share, with values of its parameters."""
        system = cls.__new__(cls)
        system._begin(model, options or Options())  # noqa: SLF001  of this class
        system.parameters.update(parameters or {})
        return system

    def _begin(self, model: Model, options: Options) -> None:
        super().__init__(model, model.parameter_values(), options)

    def with_parameters(
        self, parameters: Mapping[str, float] | None = None, *, options: Options | None = None
    ) -> System:
        """Return a system of the same compiled equations with values and options of its own, at first as here.

        It costs some microseconds. What is assigned to the one is not seen by the other.
        """
        other = System.__new__(System)
        Evaluations.__init__(other, self.model, self.parameters.own(), options or self.options)
        other._of_thread.work = self.workspace().copy(other.options)  # noqa: SLF001  of this class
        other.parameters.update(parameters or {})
        return other

    @property
    def options(self) -> Options:
        """Tolerances of the solves; assign others, which hold from the next call on."""
        return self._options

    @options.setter
    def options(self, options: Options) -> None:
        self._options, self._of_thread = options, _OfThread()

    def workspace(self) -> Workspace:
        """Return the workspace of this thread, with parameters and options as they are now: for one call at a time.

        A run, and what assigns parameters, takes a `copy` of it.
        """
        work = self._of_thread.work
        if work is None:
            work = self._of_thread.work = Workspace(self.model, self.parameters.own(), self.options)
        elif work.parameters.changes != self.parameters.changes:
            work.parameters.follow(self.parameters)
        return work

    def __reduce__(self) -> tuple[Callable[..., System], tuple[Any, ...]]:
        return System.of_model, (self.model, dict(self.parameters), self.options)

    def __repr__(self) -> str:
        return f"System({self.name!r}: nq={self.nq}, nv={self.nv}, nu={self.nu}, nc={self.nc})"

    assemble = assemble
    jacobian = jacobian
    centroidal = centroidal
    rolling = rolling
    project_velocity = _of_workspace(project_velocity)

    # --- solves ------------------------------------------------------------------------------------

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        u: ArrayLike | None = None,
        t: float = 0.0,
        tau: ArrayLike | None = None,
        *,
        contacts: bool = True,
        throw: bool = True,
    ) -> ForwardDynamics:
        """Return acceleration, constraint force, multipliers, rank and status at a state.

        Full rank: the unique solution. Redundant and consistent: unique a and Aᵀλ; λ of
        least norm in characteristic units (`sarrus.dynamics.model.characteristic`), the same in metres and in
        millimetres.
        Inconsistent: least squares, status INCONSISTENT. Singular: status SINGULAR, the lost direction
        unconstrained. Rigid (velocities that A allows and no motion has): status RIGID, nothing accelerates there,
        and ``unbalanced`` is the force that no finite multipliers hold. Massless bodies: solved in the null space of
        A; ILL_POSED raises `SolveError` (or is the status with ``throw=False``) where M is not positive definite on it.

        OK is said of an answer whose residuals were looked at: relative to what was summed in them they are below
        1e-9, after one step of refinement if it takes that; of dependent rows, which a model closes to its printed
        digits, below ``options.inconsistent``. Otherwise the status is ALMOST. It is ILL_CONDITIONED where M is so
        near to singular (condition above 5e9, every coordinate in units of its own √M_kk) that a may be wrong by
        more than 1e-6 though the residuals are small.

        Contacts with Coulomb friction, stops of joints and dry friction act with exact laws, as in runs, and as many at
        once as there are: what is closed and neither leaves nor approaches pushes or opens, sticks or slides, so that a
        is that of the motion from here on; ``result.contacts`` has the forces, what each does, the residual of the
        laws, and what is not determined (`sarrus.dynamics.contacts.support_reactions.ContactForces`). Closed are gaps
        up to 1e-6 lengths (rad) of what neither approaches nor leaves; what approaches is, from 1e-9. Velocities
        below 1e-8 are none. Where something closes with a velocity there is an impact in place of an acceleration:
        INCONSISTENT. Where no finite forces obey the laws (Painlevé): INFEASIBLE. Both are raised, the names in the
        message. With friction the laws may allow other accelerations too; this is one. A joint beyond its limit is
        stopped where it is, as in
        runs: it may come back and does not go further out. A contact below its plane by more than 1e-6 lengths is an
        `ArgumentError`, and so are contacts between geometries without closed form, which runs alone know.
        ``contacts=False`` leaves all of them out; contacts and closures that are constraints hold as ``parameters``
        say.

        Parameters: q (nq,), v (nv,), u (nu,) controls, t [s], tau (nv,) applied generalized force.
        """
        work = self._of_thread.work
        if u is None and work is not None and work.is_plain:
            found = solved(work, q, v, t, tau, throw)
        else:
            work = self.workspace()
            found = forward_dynamics(work, q, v, u, t, tau, throw)
        if self._is_untouched or not contacts:
            return found
        return on_contacts(work, found, q, v, t, tau, throw)

    @cached_property
    def _is_untouched(self) -> bool:
        """Whether there is nothing that `sarrus.dynamics.contacts.contact_state.takes_part` asks for."""
        return not (self.touching_geometries or touching_of(self))

    inverse_dynamics = _of_workspace(inverse_dynamics)
    sensors = _of_workspace(sensors)

    def to_casadi(self, name: str, **options: Any) -> ca.Function:
        """Return a quantity or a solve as a CasADi function; see `sarrus.export.casadi_function`.

        Names: forward_dynamics, reduced_dynamics, mass_matrix, constraint_jacobian and so on. Keywords: rows,
        coordinates, quantity, q, t.
        """
        return lazy_import("export.casadi", "casadi_function")(self, name, **options)
