"""`Regressor`: the matrix W of the equations of motion as a linear function of the parameters to be identified.

M a + h − k − s = W(q, v, a, u, t) p + w(q, v, a, u, t), traced through the recursion of inverse dynamics and compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is
from sarrus.codegen import NativeFunction, compile_function
from sarrus.design.identification.inertial import LENGTHS, LinearPart, numbers_of
from sarrus.design.identification.numbers import Numbers, dry_friction
from sarrus.design.identification.tolerances import FAINT_PARAMETER
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import at_rank, rank_by, ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.multibody.dynamics import bias_force
from sarrus.symbolic.multibody.model import trace


@dataclass(frozen=True, eq=False)
class _Traced:
    """Symbols and expressions: the inputs q, v, a, u, t and switches, W (nv × n), w (nv,) and the constraints."""

    inputs: list[ca.SX]
    matrix: ca.SX
    known: ca.SX
    jacobian: ca.SX
    residuals: ca.SX
    rates: ca.SX


class Regressor:
    """The regressor W and the known part w of M a + h − k − s = W p + w, with h, k, s as in `sarrus.System`.

    Dry friction f sign(v) is on the left side. The motion obeys W p + w = τ + Aᵀλ. `rows` eliminates λ:
    Zᵀ W p = Zᵀ (τ − w), Z a basis of the velocities that the constraints allow (nv, dof). So passive joints, redundant
    closures and singular configurations are allowed; at singular ones Z has more columns, and all equations hold.

    Parameters
    ----------
    system : of a mechanism. Its switches and parameters count as they are at the call.
    parameters : names, see `sarrus.design.identification.numbers`; the name of a body stands for its ten inertial
        parameters. Default: those of all bodies, and the nonzero stiffness, damping, dry friction and armature of
        joints, springs and tendons.
    also : additional names, such as "motor.gain". known : names (or bodies) that keep the mechanism's values.

    Attributes
    ----------
    names : (n,) names in order. values : (n,) values of the mechanism. size : (n,) characteristic sizes, which make
        columns of W comparable.

    Raises `ArgumentError` for a system of one's own equations; unknown names; parameters in which the equations are not
    linear together (gain and gear of one motor, stiffness and rest length of one spring, gains behind force limits);
    and contacts with Coulomb friction, whose forces no row eliminates.
    """

    def __init__(
        self,
        system: System,
        parameters: tuple[str, ...] | list[str] | None = None,
        *,
        also: tuple[str, ...] | list[str] = (),
        known: tuple[str, ...] | list[str] = (),
    ) -> None:
        check_is(type(self).__name__, system, System)
        if system.mechanism is None:
            raise ArgumentError(
                "identification needs the System of a Mechanism; own equations have no inertial parameters",
                element="system",
            )
        for contact in system.equations.friction_contacts:
            what = "is one-sided" if contact.kind == "rope" else "has Coulomb friction"
            raise ArgumentError(
                f"{system.name}: {contact.kind} {contact.name!r} {what}, whose force cannot be eliminated; identify "
                "without it",
                element=contact.name,
            )
        self.system = system
        mechanism = system.current_mechanism()
        self.numbers = Numbers.of(mechanism, parameters, also, known)
        self.names, self.values = self.numbers.names, self.numbers.values
        self._traced = _trace(self.numbers)

    @cached_property
    def size(self) -> Array:
        """Characteristic size of each parameter (n,): mass, mass × length, mass × length² for bodies, else by its
        use.
        """
        c = self.system.model.characteristic
        out = np.ones(len(self.names))
        for places in self.numbers.inertial.values():
            for k, place in places.items():
                out[place] = c.mass * c.length ** LENGTHS[k]
        for place in range(len(out)):
            if place >= self.numbers.others or any(place == p for p, _ in self.numbers.friction):
                out[place] = abs(self.values[place]) or 1.0
        return read_only(out)

    @cached_property
    def typical(self) -> Array:
        """Scale of each parameter (n,): for bodies m, m κ and m κ², κ² = tr Σ / m; for others their value.

        κ is the radius of gyration about the origin of the body's frame, Σ the second moments of its mass. No entry of
        the pseudo-inertia is larger than these, for any axes of the body.
        """
        out = np.abs(self.values)
        for name, places in self.numbers.inertial.items():
            ten = numbers_of(self.numbers.mechanism.bodies[name])
            mass, second = float(ten[0]), 0.5 * float(ten[4:7].sum())
            for k, place in places.items():
                out[place] = (mass, np.sqrt(max(mass * second, 0.0)), second)[LENGTHS[k]]
        return read_only(np.maximum(out, FAINT_PARAMETER * self.size))

    def sizes(self, matrix: Array, values: Array) -> Array:
        """Return the scales of base parameters K p (K: ``matrix``): |β|, or the largest term |K| × typical."""
        return np.asarray(np.maximum(np.abs(values), (np.abs(matrix) * self.typical).max(axis=1)))

    @cached_property
    def function(self) -> NativeFunction:
        """The native function of [q | v | a | u | t | switches] that returns W, w and A."""
        e = self._traced
        outputs = {
            "matrix": e.matrix,
            "known": e.known,
            "jacobian": e.jacobian,
        }
        return compile_function(f"{self.system.name}.regressor", e.inputs, outputs)

    def pack(self, q: Array, v: Array, a: Array, u: Array, t: float) -> Array:
        """Return the input of the native function."""
        return np.concatenate([q, v, a, u, [t], self._switches])

    @property
    def _switches(self) -> Array:
        e, own = self.system.equations, set(self.system.equations.design_parameters)
        return np.array([self.system.parameters[n] for n in e.parameter_values if n not in own])

    def matrix(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, u: ArrayLike | None = None, t: float = 0.0
    ) -> Array:
        """Return W (nv, n) at a state with accelerations a (nv,) and controls u (nu,; default zero)."""
        return self._at(q, v, a, u, t)["matrix"]

    def known_force(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, u: ArrayLike | None = None, t: float = 0.0
    ) -> Array:
        """Return w (nv,) [N, N m]: the contribution of known parameters to M a + h − k − s."""
        return self._at(q, v, a, u, t)["known"][:, 0]

    def _at(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, u: ArrayLike | None, t: float
    ) -> dict[str, Array]:
        s = self.system
        control = np.zeros(s.nu) if u is None else s.checked(u, s.nu, "u")
        moving = s.checked(v, s.nv, "v"), s.checked(a, s.nv, "a")
        x = self.pack(s.normalized(q), *moving, control, s.checked_time(t))
        return self.function.evaluate(x)

    def allowed(self, jacobian: Array, rank: int | None = None) -> Array:
        """Return Z (nv, dof), the velocities that A (nc, nv) allows, orthonormal in characteristic units.

        Without ``rank``, singular values below 1e-6 of the largest one count as zero.
        """
        c = self.system.model.characteristic
        even = c.scaled_rows(jacobian)
        found = ranked(even, relative=RANK_CUT) if rank is None else at_rank(even, rank)
        return np.asarray(found.null / c.columns[:, None])

    def rank(self, jacobian: Array) -> int:
        """Return the rank of A in characteristic units, by singular values above 1e-6 of the largest one."""
        c = self.system.model.characteristic
        return 0 if not len(jacobian) else rank_by(ranked(c.scaled_rows(jacobian)).values, RANK_CUT)

    def rank_of_columns(self, jacobian: Array, columns: list[int]) -> int:
        """Return the rank of selected columns of A, in characteristic units."""
        even = self.system.model.characteristic.scaled_rows(jacobian)[:, columns]
        return rank_by(ranked(even).values, RANK_CUT) if even.size else 0

    def rows(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        u: ArrayLike | None = None,
        t: float = 0.0,
        tau: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Return Zᵀ W (dof, n) and Zᵀ (τ − w) (dof,) at one state on the loops: the identification equations Zᵀ W p =
        Zᵀ (τ − w).

        ``tau`` (nv,) is applied from outside [N, N m]. At singular configurations there are more rows.
        """
        at = self._at(q, v, a, u, t)
        z = self.allowed(at["jacobian"])
        force = np.zeros(self.system.nv) if tau is None else self.system.checked(tau, self.system.nv, "tau")
        return z.T @ at["matrix"], z.T @ (force - at["known"][:, 0])

    @cached_property
    def linearized(self) -> NativeFunction:
        """The native function of the state and of p (n,), λ (nc,): equations and their derivatives by the state.

        "equations" (nv,) is W p + w, "slopes" the derivative of W p + w − Aᵀλ by (δq, v, a, u), δq along velocities;
        "residuals" φ, ψ, A a + γ and their "residual_slopes".
        """
        e, s = self._traced, self.system
        p, multipliers = ca.SX.sym("p", len(self.names)), ca.SX.sym("lambda", s.nc)
        q, v, a, u = e.inputs[:4]
        force = e.matrix @ p + e.known
        rate = ca.jacobian(e.rates, v)

        def slopes(f: ca.SX) -> ca.SX:
            return ca.horzcat(ca.jacobian(f, q) @ rate, *(ca.jacobian(f, x) for x in (v, a, u)))

        outputs = {
            "matrix": e.matrix,
            "equations": force,
            "slopes": slopes(force - e.jacobian.T @ multipliers),
            "jacobian": e.jacobian,
            "residuals": e.residuals,
            "residual_slopes": slopes(e.residuals),
        }
        return compile_function(f"{s.name}.regressor slopes", [*e.inputs, p, multipliers], outputs)


def _trace(numbers: Numbers) -> _Traced:
    """Return W, w and the constraints traced: massless bodies for known terms, linear parts for inertial parameters."""
    mechanism = numbers.mechanism
    light = mechanism.snapshot()
    for body in mechanism.bodies.values():
        light.replace_body(replace(body, mass=0.0, inertia=np.zeros((3, 3))))
    e = trace(light, numbers.driven)
    a, tree = ca.SX.sym("a", e.nv), e.tree
    inertial = ca.SX.sym("inertial", sum(map(len, numbers.inertial.values())))
    nodes = [replace(node, parts=[]) for node in tree.nodes]
    for name, body in mechanism.bodies.items():
        node, pose = tree.location[name]
        if node >= 0:
            ten = ca.SX(ca.DM(numbers_of(body)))
            for k, place in numbers.inertial.get(name, {}).items():
                ten[k] = inertial[place]
            nodes[node].parts.append(LinearPart.of(ten, pose))
    heavy = replace(tree, nodes=tuple(nodes))
    force = bias_force(heavy, links(heavy, e.q, e.v, a))
    force += e.mass_matrix @ a + e.bias_force - e.passive_force - e.input_force
    dry = ca.SX.sym("dry", len(numbers.friction))
    coefficients = ca.SX(ca.DM(dry_friction(mechanism)))
    for k, (_, velocity) in enumerate(numbers.friction):
        coefficients[velocity] = dry[k]
    force += coefficients * ca.sign(e.v)
    driven = e.p[: len(numbers) - numbers.others]
    p = ca.vertcat(inertial, dry, driven)
    matrix = ca.jacobian(force, p)
    _check_linear(numbers, matrix, p)
    known = ca.substitute(force, p, ca.SX.zeros(p.shape[0]))
    acceleration = e.jacobian @ a + e.constraint_bias
    residuals = ca.vertcat(e.position_residual, e.velocity_residual, acceleration)
    if residuals.numel() and driven.numel() and ca.depends_on(residuals, driven):
        moving = ca.which_depends(residuals, driven)
        name = next(n for n, m in zip(numbers.names[numbers.others :], moving) if m)
        raise ArgumentError(
            f"{mechanism.name}: {name!r} shapes the loops; lengths cannot be identified from forces",
            element=name,
        )
    return _Traced(
        [e.q, e.v, a, e.u, e.t, e.p[driven.shape[0] :]],
        matrix,
        known,
        e.jacobian,
        residuals,
        e.rate,
    )


def _check_linear(numbers: Numbers, matrix: ca.SX, p: ca.SX) -> None:
    """Raise `ArgumentError` if W depends on parameters, naming them."""
    bad = [n for n, depends in zip(numbers.names, ca.which_depends(ca.vec(ca.densify(matrix)), p)) if depends]
    if bad:
        raise ArgumentError(
            f"{numbers.mechanism.name}: the equations of motion are not linear in {', '.join(bad)} together; leave "
            "some out, or fix them with known=",
            element=bad[0],
        )
