"""Complete `Equations` of a user's system from M, h and q̇: constraints, forces, energies, names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

import casadi as ca

from sarrus.base.errors import ArgumentError, check_known
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.symbolic import Tracer, UserFunction, names_of


class Around(TypedDict, total=False):
    """Arguments that `lagrangian.derive` and `matrices.assemble_equations` of this room share."""

    holonomic: UserFunction | None
    velocity: UserFunction | None
    generalized_force: UserFunction | None
    inputs: UserFunction | None
    non_ideal: UserFunction | None
    coordinate_names: Sequence[str] | None
    velocity_names: Sequence[str] | None
    actuator_names: Sequence[str] | None
    constraint_names: Sequence[str] | None


def check_keywords(function: Callable[..., Equations], given: Mapping[str, Any]) -> None:
    """Raise `ArgumentError` for a keyword that is neither an argument of the function nor in `Around`."""
    own = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for name in given:
        check_known("argument", name, [*own, *Around.__annotations__], str(given.get("name", "system")))


def complete(
    trace: Tracer,
    mass: ca.SX,
    bias: ca.SX,
    rate: ca.SX,
    potential: ca.SX,
    *,
    holonomic: UserFunction | None = None,
    velocity: UserFunction | None = None,
    generalized_force: UserFunction | None = None,
    inputs: UserFunction | None = None,
    non_ideal: UserFunction | None = None,
    coordinate_names: Sequence[str] | None = None,
    velocity_names: Sequence[str] | None = None,
    actuator_names: Sequence[str] | None = None,
    constraint_names: Sequence[str] | None = None,
) -> Equations:
    """Return the equations; holonomic rows φ become ψ = dφ/dt along the rate, and γ = dψ/dt at a = 0.

    `sarrus.symbolic.equations.lagrangian.derive` documents the keywords.
    """
    name, v, nv = trace.name, trace.v, trace.v.numel()
    position = _rows(trace, "holonomic", holonomic, "qt")
    extra = _rows(trace, "velocity", velocity, "qvt")
    residual = ca.densify(ca.vertcat(trace.time_derivative(position, rate), extra))
    jacobian = ca.densify(ca.jacobian(residual, v))
    force = _force(trace, "generalized_force", generalized_force)
    working = _force(trace, "non_ideal", non_ideal)
    actuation = ca.SX(nv, 0) if inputs is None else trace.matrix("inputs", inputs, "qt", "t")
    if actuation.shape[0] != nv:
        raise ArgumentError(
            f"{name}: inputs must return a matrix of {nv} rows, got shape {actuation.shape}", element="inputs"
        )
    kinetic = ca.mtimes([v.T, mass, v]) / 2
    nu = actuation.shape[1]
    u = ca.SX.sym("u", nu)
    coordinates = names_of(name, "coordinate_names", coordinate_names, trace.q.numel(), "q")
    velocities = coordinates if rate is v and velocity_names is None else velocity_names
    return Equations(
        name=name,
        q=trace.q,
        v=v,
        u=u,
        t=trace.t,
        p=trace.p,
        mass_matrix=mass,
        bias_force=bias,
        passive_force=force,
        actuation=actuation,
        input_force=actuation @ u,
        rate=rate,
        position_residual=position,
        velocity_residual=residual,
        jacobian=jacobian,
        constraint_bias=ca.densify(trace.time_derivative(residual, rate)),
        kinetic_energy=kinetic,
        potential_energy=potential,
        non_ideal=working,
        coordinate_names=coordinates,
        velocity_names=names_of(name, "velocity_names", velocities, nv, "v"),
        constraint_names=_constraint_names(name, constraint_names, position.numel(), extra.numel()),
        actuator_names=names_of(name, "actuator_names", actuator_names, nu, "u"),
        conservative=force.is_zero()
        and working.is_zero()
        and _workless(trace, residual, jacobian)
        and _balanced(trace, kinetic + potential, bias, rate),
        parameter_values=trace.parameter_values,
        quaternions=trace.quaternions,
    )


def _rows(trace: Tracer, what: str, function: UserFunction | None, arguments: str) -> ca.SX:
    """Return the rows of a constraint function, none for a missing function."""
    return ca.SX(0, 1) if function is None else trace.column(what, function, arguments)


def _force(trace: Tracer, what: str, function: UserFunction | None) -> ca.SX:
    """Return the generalized force (nv,) of a function, zero for a missing function."""
    nv = trace.v.numel()
    return ca.SX.zeros(nv) if function is None else trace.column(what, function, "qvt", nv)


def _constraint_names(system: str, names: Sequence[str] | None, nh: int, extra: int) -> tuple[str, ...]:
    if names is not None:
        return names_of(system, "constraint_names", names, nh + extra, "")
    return tuple(f"phi{k + 1}" for k in range(nh)) + tuple(f"psi{k + 1}" for k in range(extra))


def _workless(trace: Tracer, residual: ca.SX, jacobian: ca.SX) -> bool:
    """Tell whether Aᵀλ does no work in any motion: ψ = A v, so that ψ = 0 gives λᵀA v = 0."""
    slip = jacobian @ trace.v
    return trace.vanishes(residual - slip, residual, slip)


def _balanced(trace: Tracer, energy: ca.SX, bias: ca.SX, rate: ca.SX) -> bool:
    """Tell whether time does not appear and d/dt(T + V) = v·(M a + h): the work of h is the change of V."""
    if ca.depends_on(ca.vertcat(energy, bias), trace.t):
        return False
    at_constant_velocity, by_bias = trace.time_derivative(energy, rate), ca.dot(trace.v, bias)
    return trace.vanishes(at_constant_velocity - by_bias, at_constant_velocity, by_bias)
