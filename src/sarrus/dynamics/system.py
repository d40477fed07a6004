"""`System`: the equations of motion of a mechanism, or of the user's own, compiled to native code."""

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
from sarrus.dynamics.contacts.contact_elements import contact_elements
from sarrus.dynamics.model.body_motion import centroidal, jacobian
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.model import Model
from sarrus.dynamics.model.options import Options
from sarrus.dynamics.model.rolling_contacts import rolling
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.accelerate import with_contact_forces
from sarrus.dynamics.solve.forward_dynamics import forward_dynamics, solved
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
    """Return a function of a workspace as a method of `System`."""

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
    minimum-norm multipliers and a status come back. Methods take (q, v, u, t) in this order, copy their
    arguments and return read-only arrays; q and v are laid out as MuJoCo's qpos and qvel. Quaternions in q
    may have any length but zero and are scaled to length one.

    Threads share a system: each thread has its own work arrays. A call uses the values of ``parameters`` and
    ``options`` at its start; for a thread with other values take `with_parameters`. A system made from a mechanism can
    be copied and pickled; the copy compiles again, from the disk cache.

    ``parameters`` of a mechanism maps names to the numbers of its description that they drive: {"m": "upper.mass",
    "l": ["fore.placement.x", ("upper.com.x", 0.5)]}. A driven number is its value + Σ factor × (p − p0), where p0 is
    the present value of the first target; `sarrus.model.mechanism.entries` lists the numbers. {"c": 0.5} is a
    parameter of value 0.5 without target, for functions of (q, v, t, p): controls, forces, events.
    ``system.parameters`` holds the values of the symbols p: assign to its items, or several with ``update``; nothing
    is compiled again. A value that makes a mass, stiffness, damping, armature, length or moment of inertia negative
    is an `ArgumentError` at the assignment. An impossible inertia matrix is not detected there; if M is not positive
    definite a solve has the status ILL_POSED. A new length may open loops; close them with `assemble`.

    The equations become straight-line code, whose compilation takes time and memory. A mechanism of more than
    ``largest`` velocities is a `ModelError` before anything is traced; velocities of one long chain count three times,
    see `sarrus.symbolic.multibody.size`. None: any number.
    """

    def __init__(
        self, mechanism: Mechanism, parameters: Targets | None = None, *, largest: int | None = LARGEST
    ) -> None:
        check_is("System", mechanism, Mechanism)
        self._begin(Model.of_mechanism(mechanism, parameters, largest), Options())

    @classmethod
    def from_lagrangian(cls, nq: int, lagrangian: Callable[..., Any], **arguments: Any) -> System:
        """Return the system of a Lagrangian L(q, v, t), v = q̇; arguments: `symbolic.equations.lagrangian.derive`.

        Keywords: holonomic f(q, t), velocity f(q, v, t), generalized_force f(q, v, t), inputs f(q, t), non_ideal
        f(q, v, t), parameters, name, coordinate_names, actuator_names, constraint_names.
        """
        check_keywords(derive, arguments)
        return cls.from_symbolic(derive(nq, lagrangian, **arguments))

    @classmethod
    def from_equations(
        cls, nq: int, mass_matrix: Callable[..., Any], bias: Callable[..., Any], **arguments: Any
    ) -> System:
        """Return the system of given M(q, t), h(q, v, t); arguments: `symbolic.equations.matrices.assemble_equations`.

        Keywords: as in `from_lagrangian`; nv, rate f(q, v), potential_energy f(q, t), quaternions,
        velocity_names. Functions that do not depend on t may leave it out.
        """
        check_keywords(assemble_equations, arguments)
        return cls.from_symbolic(assemble_equations(nq, mass_matrix, bias, **arguments))

    @classmethod
    def from_symbolic(cls, equations: Equations) -> System:
        """Return the system of given symbolic `Equations`."""
        return cls.of_model(Model(equations))

    @classmethod
    def of_model(
        cls, model: Model, parameters: Mapping[str, float] | None = None, options: Options | None = None
    ) -> System:
        """Return a system of a model, which several systems may share, with values of its parameters."""
        system = cls.__new__(cls)
        system._begin(model, options or Options())  # noqa: SLF001  of this class
        system.parameters.update(parameters or {})
        return system

    def _begin(self, model: Model, options: Options) -> None:
        super().__init__(model, model.parameter_values(), options)

    def with_parameters(
        self, parameters: Mapping[str, float] | None = None, *, options: Options | None = None
    ) -> System:
        """Return a system of the same compiled equations with its own parameter values and options, initially these.

        It takes some microseconds. Later assignments to one system do not change the other.
        """
        other = System.__new__(System)
        Evaluations.__init__(other, self.model, self.parameters.own(), options or self.options)
        other._of_thread.work = self.workspace().copy(other.options)  # noqa: SLF001  of this class
        other.parameters.update(parameters or {})
        return other

    @property
    def options(self) -> Options:
        """Tolerances of the solves; an assignment holds from the next call on."""
        return self._options

    @options.setter
    def options(self, options: Options) -> None:
        self._options, self._of_thread = options, _OfThread()

    def workspace(self) -> Workspace:
        """Return the workspace of this thread with the present parameters and options; for one call at a time.

        A run, or a function that changes parameters, takes a `copy` of it.
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
        unconstrained. Rigid (A allows velocities that no motion has): status RIGID, no acceleration in these
        directions, and ``unbalanced`` is the force that no finite multipliers balance. Massless bodies: solved in the
        null space of A; ILL_POSED raises `SolveError` (or is the status with ``throw=False``) if M is not positive
        definite on it.

        Accuracy: status OK means that the residuals, relative to the size of the summed terms, are below 1e-9, after
        one step of iterative refinement if necessary; for dependent rows, which a model closes to its printed digits,
        below ``options.inconsistent``. Otherwise the status is ALMOST. ILL_CONDITIONED: M is so near to singular
        (condition above 5e9, coordinates in units of 1/√M_kk) that a may have an error above 1e-6 despite small
        residuals.

        Contacts with Coulomb friction, joint stops and dry friction act with exact laws, as in runs, for any number of
        them: a closed contact without normal velocity pushes or opens, sticks or slips, so that a is the acceleration
        of the motion from this state on. ``result.contacts`` has the forces, modes, residual of the laws, and which
        forces are unique (`sarrus.dynamics.contacts.support_reactions.ContactForces`). Gaps up to 1e-6 lengths (rad)
        are closed, of approaching contacts up to 1e-9; velocities below 1e-8 are zero. A closed contact that
        approaches is an impact without acceleration: INCONSISTENT. No finite forces satisfy the laws (Painlevé):
        INFEASIBLE. Both are raised with the names in the message. With friction several accelerations may satisfy the
        laws; one of them is returned. A joint beyond its limit has its stop there: it may return and goes no further
        out. ``contacts=False`` ignores all of them; contacts and closures that are constraints hold as ``parameters``
        say. Contacts between geometries without closed form are those that a narrow phase finds at q, NAME-NAME.1, … of
        a pair. Raises `ArgumentError` for a contact below its plane by more than 1e-6 lengths.

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
        return with_contact_forces(work, found, q, tau, throw)

    @cached_property
    def _is_untouched(self) -> bool:
        """Whether the system has nothing that `sarrus.dynamics.contacts.contact_state.takes_part` looks for."""
        return not (self.contact_geometries or contact_elements(self))

    inverse_dynamics = _of_workspace(inverse_dynamics)
    sensors = _of_workspace(sensors)

    def to_casadi(self, name: str, **options: Any) -> ca.Function:
        """Return a quantity or a solve as a CasADi function; see `sarrus.export.casadi_function`.

        Names: forward_dynamics, reduced_dynamics, mass_matrix, constraint_jacobian and so on. Keywords: rows,
        coordinates, quantity, contacts, q, t.
        """
        return lazy_import("export.casadi", "casadi_function")(self, name, **options)
