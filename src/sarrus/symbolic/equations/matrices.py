"""Equations of motion from a given mass matrix and bias force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

import casadi as ca

from sarrus.base.errors import ArgumentError
from sarrus.symbolic.equations.completion import Around, complete
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.symbolic import Tracer, UserFunction, dimension


def assemble_equations(
    nq: int,
    mass_matrix: UserFunction,
    bias: UserFunction,
    *,
    nv: int | None = None,
    rate: UserFunction | None = None,
    potential_energy: UserFunction | None = None,
    parameters: Mapping[str, float] | None = None,
    quaternions: Sequence[int] = (),
    name: str = "system",
    **around: Unpack[Around],
) -> Equations:
    """Return the equations M(q) a + h(q, v) = k + S u + τ + Aᵀλ for given M and h; v may be quasi-velocities.

    Arguments common with `sarrus.symbolic.equations.lagrangian.derive` have the same meaning. Forces have nv entries,
    dual to v: their power is k·v.

    Parameters
    ----------
    nq, nv : numbers of coordinates and velocities; nv = nq by default.
    mass_matrix : M(q, t) (nv × nv), symmetric; may be singular if it is definite on the kernel of A. Functions of q
        alone may omit t.
    bias : h(q, v, t) (nv,), Coriolis, centrifugal and gravity forces on the left-hand side; t may be omitted. If M
        depends on t (variable mass), h must contain the momentum flux of the mass.
    rate : q̇ = f(q, v) (nq,), linear in v; by default q̇ = v. Constraints are differentiated along it.
    potential_energy : V(q, t) [J], t may be omitted; zero by default. It is used for energies only; its force belongs
        in ``bias``.
    quaternions : index in q of the first entry of each unit quaternion (wxyz), which is kept at length one;
        ``rate`` must give its rate, such as ½ q ⊗ (0, ω).
    velocity_names : by default the coordinate names, or v1, v2, … with ``rate``.

    Energies: T = ½ vᵀ M v and V as given. The system counts as conservative if T + V is constant in free
    motion, which is verified at random states.
    Raises `ArgumentError`, naming the argument, for wrong shapes, unknown symbols, an M that is not symmetric
    or a rate that is not linear in v.
    """
    nq = dimension(name, "nq", nq)
    nv = nq if nv is None else dimension(name, "nv", nv)
    _check_quaternions(name, nq, quaternions)
    if rate is None and (nv != nq or quaternions):
        raise ArgumentError(
            f"{name}: rate is needed, a function q̇ = f(q, v), where v is not q̇", element="rate"
        )
    trace = Tracer(name, nq, nv, parameters, quaternions)
    mass = _mass_matrix(trace, mass_matrix)
    q_rate = trace.v if rate is None else _linear_rate(trace, rate)
    potential = (
        ca.SX(0)
        if potential_energy is None
        else trace.scalar("potential_energy", potential_energy, "qt", "t")
    )
    return complete(trace, mass, trace.column("bias", bias, "qvt", nv, "t"), q_rate, potential, **around)


def _mass_matrix(trace: Tracer, function: UserFunction) -> ca.SX:
    mass, nv = trace.matrix("mass_matrix", function, "qt", "t"), trace.v.numel()
    if mass.shape != (nv, nv):
        raise ArgumentError(
            f"{trace.name}: mass_matrix must return shape {(nv, nv)}, got {mass.shape}", element="mass_matrix"
        )
    if not trace.vanishes(mass - mass.T, mass):
        raise ArgumentError(f"{trace.name}: mass_matrix must be symmetric and finite", element="mass_matrix")
    return ca.tril2symm(ca.tril(mass))


def _linear_rate(trace: Tracer, function: UserFunction) -> ca.SX:
    rate = trace.column("rate", function, "qv", trace.q.numel())
    matrix = ca.jacobian(rate, trace.v)
    if ca.depends_on(matrix, trace.v) or not trace.vanishes(rate - matrix @ trace.v, rate):
        raise ArgumentError(
            f"{trace.name}: rate must be linear in v, q̇ = N(q) v, and finite",
            element="rate",
        )
    return rate


def _check_quaternions(system: str, nq: int, quaternions: Sequence[int]) -> None:
    used: set[int] = set()
    for start in quaternions:
        entries = set(range(start, start + 4))
        if start < 0 or start + 4 > nq or used & entries:
            raise ArgumentError(
                f"{system}: quaternions must be starts of separate groups of four in 0 … {nq - 1}, got "
                f"{tuple(quaternions)}",
                element="quaternions",
            )
        used |= entries
