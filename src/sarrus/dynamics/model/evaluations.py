"""`Evaluations`: the quantities of a model by name, at states and for values of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import is_finite, real_array
from sarrus.dynamics.model.characteristic import Characteristic
from sarrus.dynamics.model.compiled import CompiledEquations
from sarrus.dynamics.model.described import Described
from sarrus.dynamics.model.model import Model
from sarrus.dynamics.model.options import Options
from sarrus.kernels.linalg.quaternions import are_unit, normalize
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.keyframe import Keyframe
from sarrus.model.mechanism.surface_contacts import SurfaceContact
from sarrus.symbolic.equations.symbolic import ParameterValues
from sarrus.symbolic.multibody.model import body_placements


class Evaluations(Described):
    """Base of the handle of a user (`sarrus.System`) and of the workspace of a call: quantities at states.

    A model, values of its ``parameters`` and ``options``; dimensions and names of the model are attributes.
    """

    options: Options

    def __init__(self, model: Model, parameters: ParameterValues, options: Options) -> None:
        self.model, self.parameters, self.options = model, parameters, options
        vars(self).update(model.description)
        self.compiled: CompiledEquations = model.compiled
        #: characteristic length and mass
        self.characteristic: Characteristic = model.characteristic
        self._quaternions = model.quaternions

    def varied(self, parameters: Mapping[str, float] | None = None) -> Evaluations:
        """Return the evaluations of the same model with own parameter values: the present ones updated by these."""
        other = Evaluations(self.model, self.parameters.own(), self.options)
        other.parameters.update(parameters or {})
        return other

    # --- description -------------------------------------------------------------------------------

    def rows_of_closure(self, name: str, values: Array) -> dict[str, float]:
        """Return the entries of a constraint vector for one closure, by row name."""
        rows = self.closure_rows
        check_known("closure", name, rows)
        return {n: float(x) for n, x in zip(self.constraint_names[rows[name]], values[rows[name]])}

    def velocity_indices(self, name: str) -> list[int]:
        """Return the indices of a joint's or a coordinate's velocities; empty for an unknown name."""
        return [i for i, n in enumerate(self.velocity_names) if n == name or n.rpartition(".")[0] == name]

    def current_mechanism(self) -> Mechanism:
        """Return the mechanism with the present values of ``parameters``, to draw or export it."""
        if self.mechanism is None:
            raise ArgumentError(
                f"{self.name}: only a system made from a Mechanism has one", element="mechanism"
            )
        return self.model.driven.apply(self.mechanism, self.parameters)

    def neutral(self) -> Array:
        """Return q at the reference pose: zeros, or the references of the joints."""
        if self.mechanism is None:
            q = np.zeros(self.nq)
            q[list(self.equations.quaternions)] = 1.0
            return q
        return self.mechanism.neutral()

    def keyframe(self, name: str) -> Keyframe:
        """Return a keyframe of the mechanism, with unit quaternions in q and zeros for missing v and u.

        `ArgumentError` for an unknown name and for a keyframe whose lengths do not fit because joints or actuators were
        added after it.
        """
        known = self.mechanism.keyframes if self.mechanism else {}
        check_known("keyframe", name, known)
        key = known[name]
        v, u = (
            np.zeros(size) if values is None else self.checked(values, size, what).copy()
            for values, size, what in ((key.v, self.nv, "v"), (key.u, self.nu, "u"))
        )
        return replace(key, q=read_only(self.normalized(key.q)), v=read_only(v), u=read_only(u))

    @property
    def sensor_names(self) -> tuple[str, ...]:
        """Names of the sensors of the mechanism, in the order of their readings."""
        return tuple(self.mechanism.sensors) if self.mechanism else ()

    # --- quantities of the equations ---------------------------------------------------------------

    def mass_matrix(self, q: ArrayLike, t: float = 0.0) -> Array:
        """Return M(q) (nv × nv), armature included; t matters for equations with explicit time only."""
        return self.evaluate("mass_matrix", q, t=t)["mass_matrix"]

    def bias_force(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return h(q, v) (nv,): Coriolis, centrifugal and gravity forces, MuJoCo's qfrc_bias."""
        return self.evaluate("bias_force", q, v, t=t)["bias_force"][:, 0]

    def passive_force(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return k(q, v, t) (nv,): springs, dampers, actuator forces at u = 0 without limits, user forces."""
        return self.evaluate("passive_force", q, v, t=t)["passive_force"][:, 0]

    def actuation_matrix(self, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> Array:
        """Return S (nv × nu), the generalized force per unit of control, without limits.

        v, by default zero, matters only for an actuator with a gain that depends on its rate; t as in `mass_matrix`.
        """
        return self.evaluate("actuation", q, v, t=t)["actuation"]

    def input_force(self, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: float = 0.0) -> Array:
        """Return the generalized force of the controls (nv,): S u within limits of controls, actuators and joints."""
        return self.evaluate("input_force", q, v, u=u, t=t)["input_force"][:, 0]

    def saturated(
        self, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: float = 0.0
    ) -> tuple[str, ...]:
        """Return the names of the actuators at a limit, whose force does not follow u as S u.

        For motors with inductance: motors whose current does not follow u, because the current or u is at a limit.
        """
        if self.mechanism is None or not self.mechanism.has_limits:
            return ()
        lost = self.evaluate("input_jacobian", q, v, u, t)["input_jacobian"] != self.actuation_matrix(q, v, t)
        limited = {name for name, held in zip(self.actuator_names, lost.any(axis=0)) if held}
        currents = self.mechanism.current_names
        if currents:
            follows = self.evaluate("drift_jacobian", q, v, u, t)["drift_jacobian"]
            places = {name.rpartition(".")[0]: self.coordinate_names.index(name) for name in currents}
            limited |= {motor for motor, place in places.items() if not follows[place].any()}
        return tuple(name for name in self.actuator_names if name in limited)

    def constraint_residual(self, q: ArrayLike, t: float = 0.0) -> Array:
        """Return φ(q, t) (nh,), the residual of the holonomic constraints [m, rad]."""
        return self.evaluate("position_residual", q, t=t)["position_residual"][:, 0]

    def velocity_residual(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return ψ = A v − b (nc,), holonomic rows first, then nonholonomic ones."""
        return self.evaluate("velocity_residual", q, v, t=t)["velocity_residual"][:, 0]

    def constraint_jacobian(self, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> Array:
        """Return A (nc × nv); ``v`` matters only for constraints nonlinear in the velocity."""
        return self.evaluate("jacobian", q, v, t=t)["jacobian"]

    def constraint_bias(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return γ (nc,) of A a + γ = 0."""
        return self.evaluate("constraint_bias", q, v, t=t)["constraint_bias"][:, 0]

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> float:
        """Return the kinetic energy [J]; ``t`` as in `mass_matrix`."""
        return float(self.evaluate("kinetic_energy", q, v, t=t)["kinetic_energy"][0, 0])

    def potential_energy(self, q: ArrayLike, t: float = 0.0) -> float:
        """Return the energy of gravity, springs and the windings of motors [J]; ``t`` as in `mass_matrix`."""
        return float(self.evaluate("potential_energy", q, t=t)["potential_energy"][0, 0])

    def coordinate_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return q̇ = N(q) v (nq,)."""
        return self.evaluate("rate", q, v)["rate"][:, 0]

    def activation_rate(
        self, q: ArrayLike, u: ArrayLike | None = None, v: ArrayLike | None = None, t: float = 0.0
    ) -> Array:
        """Return ẇ of the activations of the actuators (the last coordinates) at controls u; empty without any.

        The rate of a current [A/s] depends on v, by default zero, through the induced voltage.
        """
        e = self.equations
        if e.drift is None:
            return np.zeros(0)
        return self.evaluate("drift", q, v, u, t)["drift"][e.activation_places, 0]

    def require_no_activations(self, what: str) -> None:
        """Raise `ArgumentError` if actuators have activations, which ``what`` does not support."""
        e = self.equations
        if e.activations:
            names = e.coordinate_names[e.activation_places]
            raise ArgumentError(
                f"{self.name}: {what} do not support activations ({', '.join(names)}): take a system of "
                "mechanism.without_activation(), whose actuators act at once",
                element=names[0].rpartition(".")[0],
            )

    @property
    def contact_geometries(self) -> tuple[str, ...]:
        """Names of the pairs of geometries whose contacts a narrow phase finds, without a gap in closed form."""
        return self.model.cached("touching geometries", self._contact_geometries)

    @property
    def surface_contacts(self) -> tuple[SurfaceContact, ...]:
        """The contact places of geometries in closed form."""
        return self.model.cached("surface contacts", self._surface_contacts)

    def _surface_contacts(self) -> tuple[SurfaceContact, ...]:
        return () if self.mechanism is None else self.mechanism.surface_contacts

    def _contact_geometries(self) -> tuple[str, ...]:
        return () if self.mechanism is None else tuple(pair.name for pair in self.mechanism.geometry_pairs)

    def body_placements(self, q: ArrayLike, t: float = 0.0) -> tuple[Array, Array]:
        """Return positions (nb × 3) and rotations (nb × 3 × 3) in the order of ``mechanism.bodies``.

        ``t`` matters for driven bodies.
        """
        mechanism, tree = self.mechanism, self.equations.tree
        if mechanism is None or tree is None:
            raise ArgumentError(
                f"{self.name}: only a system made from a Mechanism has bodies", element="mechanism"
            )
        native = self.compiled.named(
            "placements", lambda: {"x": body_placements(tree, mechanism.bodies, self.equations.q)}
        )
        flat = native(self.pack(q, t=t)).reshape(-1, 12)
        return read_only(flat[:, :3].copy()), read_only(flat[:, 3:].reshape(-1, 3, 3).copy())

    def evaluate(
        self, name: str, q: ArrayLike, v: ArrayLike | None = None, u: ArrayLike | None = None, t: float = 0.0
    ) -> dict[str, Array]:
        """Return the outputs of a native function of the equations at a state, read-only matrices by name."""
        found = self.compiled.function(name).evaluate(self.pack(q, v, u, t))
        return {key: read_only(part) for key, part in found.items()}

    def pack(
        self, q: ArrayLike, v: ArrayLike | None = None, u: ArrayLike | None = None, t: float = 0.0
    ) -> Array:
        """Return x = [q | v | u | t | p | τ], the input of the native functions, with τ = 0.

        Lengths and finiteness are checked; quaternions are scaled to length one.
        """
        x = np.zeros(self.parts.tau.stop)
        q = self.checked(q, self.nq, "q")
        x[self.parts.q] = q if are_unit(q, self._quaternions) else self.normalized(q)
        if v is not None:
            x[self.parts.v] = self.checked(v, self.nv, "v")
        if u is not None:
            x[self.parts.u] = self.checked(u, self.nu, "u")
        x[self.parts.t] = self.checked_time(t)
        if self.parameters:
            x[self.parts.p] = list(self.parameters.values())
        return x

    def checked(self, value: ArrayLike, size: int, what: str) -> Array:
        """Return an argument as a finite vector of ``size`` entries; the error names it and its entries."""
        given = ""
        try:
            array = real_array(value)
        except ArgumentError as error:
            array, given = np.empty((0, 0)), str(error)
        if array.shape != (size,):
            of_controls = dict.fromkeys(("u", "weights"), self.actuator_names)
            others = {"q": self.coordinate_names, "multipliers": self.constraint_names} | of_controls
            names = others.get(what, self.velocity_names)
            given = given or f"got shape {array.shape}"
            raise ArgumentError(
                f"{self.name}: {what} must have {size} entries ({', '.join(names)}), {given}",
                element=what,
                valid=names,
            )
        if not is_finite(array):
            raise ArgumentError(f"{self.name}: {what} must be finite, got {array}", element=what)
        return array

    def checked_time(self, t: float) -> float:
        """Return t as a float; it must be a finite number."""
        if not isinstance(t, (int, float, np.number)) or not isfinite(t):
            raise ArgumentError(f"{self.name}: t must be a finite number [s], got {t!r}", element="t")
        return float(t)

    # --- quaternions -------------------------------------------------------------------------------

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

    def move(self, q: ArrayLike, step: ArrayLike) -> Array:
        """Return q ⊕ step: q + N(q) step with quaternions scaled to unit length."""
        return self.normalized(real_array(q) + self.coordinate_rate(q, step))
