"""`impact`: the jump of the velocity when constraints close.

During an impact positions are constant and the constraints act by impulses Λ = ∫ λ dt:

    M (v⁺ − v⁻) = AᵀΛ,    A v⁺ = b.

If b belongs to the constraints themselves, v⁺ is the projection of v⁻ on the admissible velocities in the metric of M,
and the loss of kinetic energy is the energy of the lost velocity, ½ ‖v⁺ − v⁻‖²_M (Carnot's theorem; Moreau: Unilateral
contact and dry friction in finite freedom dynamics, 1988). Closing contacts may rebound with Newton's law,
v_n⁺ = −e v_n⁻.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is, check_known
from sarrus.base.status import Answer, Status
from sarrus.dynamics.closing.assembly import rank_analysis
from sarrus.dynamics.closing.manifold import finite_jacobian
from sarrus.dynamics.closing.rigidity import leaves
from sarrus.dynamics.impacts.activity import AT_CONTACT, active, gap_rates, gaps, switch_off, switch_on
from sarrus.dynamics.impacts.complementarity import OneSided, mass_left
from sarrus.dynamics.impacts.tolerances import LEAST_RESTITUTION, RESTITUTION_FOUND
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.inertia import is_singular_at
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.projected import projected_rates
from sarrus.kernels.linalg.ranked import at_rank, in_metric, ranked

# Maps the right side r of A Δ = r to the change Δ of the velocity and the impulses Λ.
_Solve = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class Impact(Answer):
    """Velocity after an impact, and the impulses.

    Attributes
    ----------
    v : (nv,) velocity after the impact, v⁺.
    impulse : (nc,) Λ [N s, N m s] of each row, of least norm in characteristic units
        (`sarrus.dynamics.model.characteristic`) if rows are redundant; normal impulses are ≥ 0.
    generalized_impulse : (nv,) AᵀΛ = M (v⁺ − v⁻), unique even if Λ is not.
    energy_loss : loss of kinetic energy [J]; ½ ‖v⁺ − v⁻‖²_M without rebound.
    rank : rank of the rows with impulses.
    determined : (nc,) bool, which impulses are unique.
    restitution_scale : largest factor ≤ 1 on all restitutions with which kinetic energy does not grow.
    slipping : names of closed contacts that cannot stick, because they would have to pull.
    released : names of contacts without impulse, because they would have to pull, in the order of their rows.
    status : OK; SINGULAR (the rank drops at this configuration; the lost direction has no impulse); RIGID (v⁺ has a
        part that A allows and no motion has; no finite impulse stops it); INCONSISTENT (redundant rows prescribe
        different velocities: least squares).
    """

    v: Array
    impulse: Array
    generalized_impulse: Array
    energy_loss: float
    rank: int
    determined: np.ndarray
    restitution_scale: float
    slipping: tuple[str, ...]
    released: tuple[str, ...]
    status: Status


@described()
def impact(
    system: Evaluations,
    q: ArrayLike,
    v: ArrayLike,
    t: float = 0.0,
    *,
    closing: Iterable[str] | None = None,
    restitution: float | Mapping[str, float] | None = None,
) -> Impact:
    """Return the velocity after the constraints ``closing`` have closed at q; all other active ones stay active.

    Parameters
    ----------
    q, v : configuration (nq,) and the velocity before the impact (nv,).
    closing : names of closures, couplings and contacts, active or not; None: all active ones, for example after a jump
        of v or after `sarrus.dynamics.impacts.activity.switch_on`. Inactive constraints that are not named take no
        part. Contacts with Coulomb friction and between geometries, ropes, limits of joints and dry friction of joints
        are left out; runs handle their impacts.
    restitution : coefficient e of Newton's law v_n⁺ = −e v_n⁻ for the closing contacts: one number, numbers by
        name, or None for the coefficients of the mechanism. Newton's law can create kinetic energy for contacts that
        stick or touch at several points (Kane and Levinson 1985); then all coefficients are scaled down to the largest
        ones that do not.

    Contacts are unilateral: those that would have to pull open and are named in ``released``. A contact sticks, with
    any friction impulse, while its normal impulse is positive. If it can neither stick nor open without penetrating its
    plane, it has a frictionless impulse, and ``slipping`` names it. `sarrus.dynamics.impacts.complementarity` has the
    method.

    Redundant rows: v⁺ and the generalized impulse are unique, Λ has least norm in characteristic units. Singular M:
    solved in the null space of A. The system's parameters do not change: switch the constraints on for the motion
    afterwards.

    Raises `ArgumentError` for unknown names and for a constraint that is open at q; `SolveError` if M is not positive
    definite on the motions that the constraints allow (ILL_POSED), or if no velocity keeps all contacts from
    penetrating their planes.
    """
    check_is("impact", system, Evaluations)
    q, v = system.normalized(q), np.array(system.checked(v, system.nv, "v"))
    valid = tuple(system.closure_rows)
    on = [name for name in valid if active(system).get(name, True)]
    closing = on if closing is None else list(closing)
    for name in closing:
        check_known("constraint", name, valid, f"{system.name}: closing")
    system = system.varied()
    switch_on(system, [name for name in active(system) if name in closing or name in on], q, t)
    _check_gaps(system, closing, q, t)
    rebound = _rebound(system, closing, restitution, gap_rates(system, q, v, t))
    return _resolve(system, q, v, t, rebound)


def hold(system: Evaluations, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Impact:
    """Return the impact after which all active constraints hold as bilateral ones: contacts may pull."""
    q, v = system.normalized(q), np.array(system.checked(v, system.nv, "v"))
    return _jump(system, q, v, t, np.zeros(system.nc), 0.0)


def _check_gaps(system: Evaluations, closing: list[str], q: Array, t: float) -> None:
    for name, gap in gaps(system, q, t).items():
        if name in closing and abs(gap) > AT_CONTACT * system.characteristic.length:
            raise ArgumentError(
                f"{system.name}: contact {name!r} does not touch its plane at q, the gap is {gap:.3g} m",
                element=name,
            )


def _rebound(
    system: Evaluations,
    closing: list[str],
    restitution: float | Mapping[str, float] | None,
    rates: dict[str, float],
) -> dict[str, float]:
    """Return −e v_n⁻ ≥ 0 [m/s] of the closing contacts, by name."""
    coefficients = {c.name: c.restitution for c in system.equations.contacts if c.name in closing}
    given = dict(restitution) if isinstance(restitution, Mapping) else {}
    if restitution is not None and not isinstance(restitution, Mapping):
        given = dict.fromkeys(coefficients, restitution)
    for name, value in given.items():
        check_known("contact that closes", name, coefficients, f"{system.name}: restitution")
        if not (isinstance(value, (int, float, np.number)) and 0.0 <= value <= 1.0):
            raise ArgumentError(
                f"{system.name}: restitution of {name!r} must be between 0 and 1, got {value!r}", element=name
            )
    return {name: max(0.0, -(coefficients | given)[name] * rates[name]) for name in coefficients}


def _resolve(system: Evaluations, q: Array, v: Array, t: float, rebound: dict[str, float]) -> Impact:
    """Return the impact with the active set found among the active constraints."""
    elastic = np.zeros(system.nc)
    problem = OneSided(system, q, v, t)
    for contact in problem.contacts:
        elastic[contact.normal] = rebound.get(contact.name, 0.0)
    if not problem.contacts:
        return _jump(system, q, v, t, elastic, 1.0)
    base = v
    if problem.rows[problem.bilateral].any():
        without = system.varied()
        switch_off(without, [contact.name for contact in problem.contacts])
        base = _jump(without, q, v, t, elastic, 0.0).v
    slip, part = system.velocity_residual(q, base, t), 1.0
    while True:
        found = problem.solve(part * elastic - slip)
        pushed = system.varied()
        found.apply(pushed)
        result = _jump(pushed, q, v, t, elastic, part)
        if result.restitution_scale >= part * (1.0 - RESTITUTION_FOUND):
            break
        part = result.restitution_scale if result.restitution_scale > LEAST_RESTITUTION else 0.0
    names = [tuple(c.name for c in group) for group in (found.slipping, found.released)]
    return replace(result, slipping=names[0], released=names[1])


def _jump(system: Evaluations, q: Array, v: Array, t: float, elastic: Array, most: float) -> Impact:
    """Return the impact with all active rows; their velocities after it are ``elastic`` × a scale ≤ ``most``."""
    mass, jacobian = system.mass_matrix(q, t), finite_jacobian(system, q, t, v)
    inelastic, elastic = -system.velocity_residual(q, v, t), np.where(jacobian.any(axis=1), elastic, 0.0)
    near = rank_analysis(system, q, t, v)
    cut, size = system.options.singular_cut, system.characteristic
    measured, even = mass / np.outer(size.columns, size.columns), size.scaled_rows(jacobian)
    if is_singular_at(system, q, t):

        def left_mass(free: Array) -> Array:
            return mass_left(system, q, v, t, measured, free)

        rank, solve = _in_null_space(left_mass, measured, even, near.rank, cut * near.measured_rows_size)
    else:
        rank, solve = _in_kinetic_metric(measured, even, near.rank, cut * near.scaled_rows_size)
    (fall, stopping), (rise, bouncing) = (
        (step / size.columns, size.rows * impulse)
        for step, impulse in (solve(size.rows * wanted) for wanted in (inelastic, elastic))
    )
    lost, gained = (float(product(x, mass, x)) for x in (fall, rise))
    part = most if most**2 * gained <= lost else float(np.sqrt(lost / gained))
    step, impulse = fall + part * rise, stopping + part * bouncing
    impulse[~jacobian.any(axis=1)] = 0.0
    wanted = inelastic + part * elastic
    left = dense.norm(product(jacobian, step) - wanted)
    if left > system.options.inconsistent * (1.0 + dense.norm(wanted)):
        status = Status.INCONSISTENT
    else:
        status = Status.SINGULAR if rank < near.rank else Status.OK
    if near.motions is not None and leaves(near.motions, v + step):
        status = Status.RIGID
    return Impact(
        v=read_only(v + step),
        impulse=read_only(impulse),
        generalized_impulse=read_only(product(jacobian.T, impulse)),
        energy_loss=-dense.dot(impulse, product(jacobian, v + 0.5 * step)),
        rank=rank,
        determined=read_only(at_rank(jacobian, rank).determined),
        restitution_scale=part,
        slipping=(),
        released=(),
        status=status,
    )


def _in_kinetic_metric(mass: Array, jacobian: Array, most: int, cut: float) -> tuple[int, _Solve]:
    """Return the rank and the least-squares, minimum-norm solver of M Δ = AᵀΛ, A Δ = r, with Â = A L⁻ᵀ, M = L Lᵀ."""
    lower = dense.cholesky(mass)
    weighted = in_metric(jacobian, lower)
    rows = at_rank(weighted, min(most, ranked(weighted, cut).rank))

    def solve(wanted: Array) -> tuple[Array, Array]:
        scaled = product(rows.left.T, wanted) / rows.kept
        return dense.solve(lower.T, product(rows.right, scaled)), product(rows.left, scaled / rows.kept)

    return rows.rank, solve


def _in_null_space(
    left_mass: Callable[[Array], Array], mass: Array, jacobian: Array, most: int, cut: float
) -> tuple[int, _Solve]:
    """Return rank and solver for singular M: Δ = A⁺r + Z y with ZᵀM Δ = 0, Z a basis of the null space of A."""
    rows = at_rank(jacobian, min(most, ranked(jacobian, cut).rank))
    inertia = left_mass(rows.null.T)

    def solve(wanted: Array) -> tuple[Array, Array]:
        step = rows.solve(wanted)
        step += product(rows.null, projected_rates(rows.null, mass, np.zeros(len(step)), step, inertia))
        return step, rows.solve_transposed(product(mass, step))

    return rows.rank, solve
