"""`impact`: the jump of the velocity when constraints close, and when contacts and stops hit.

During an impact positions are constant and the constraints act by impulses Λ = ∫ λ dt:

    M (v⁺ − v⁻) = AᵀΛ,    A v⁺ = b.

If b belongs to the constraints themselves, v⁺ is the projection of v⁻ on the admissible velocities in the metric of M,
and the loss of kinetic energy is the energy of the lost velocity, ½ ‖v⁺ − v⁻‖²_M (Carnot's theorem; Moreau: Unilateral
contact and dry friction in finite freedom dynamics, 1988). Closing contacts may rebound with Newton's law,
v_n⁺ = −e v_n⁻.

Contacts with Coulomb friction and stops of joints then collide, with the constraints held that do not open
(`sarrus.dynamics.impacts.collisions`), by the function that runs use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_is, check_known
from sarrus.base.status import Answer, Status
from sarrus.dynamics.closing.assembly import Neighbourhood, rank_analysis
from sarrus.dynamics.closing.manifold import finite_jacobian
from sarrus.dynamics.closing.rigidity import leaves
from sarrus.dynamics.contacts.contact_state import geometry_contacts, takes_part
from sarrus.dynamics.impacts.activity import AT_CONTACT, active, gap_rates, gaps, switch_off, switch_on
from sarrus.dynamics.impacts.complementarity import OneSided, mass_left
from sarrus.dynamics.impacts.state_blocks import ContactImpulses, StateBlocks, coefficients
from sarrus.dynamics.impacts.tolerances import (
    IMPACT_ROUNDS,
    IMPULSE_ROUNDING,
    LEAST_RESTITUTION,
    RESTITUTION_FOUND,
)
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.inertia import is_singular_at
from sarrus.kernels.contact.tolerances import still_speed
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
    generalized_impulse : (nv,) M (v⁺ − v⁻) = AᵀΛ, plus ``contacts.force`` if contacts hit; unique even if Λ is not.
    energy_loss : loss of kinetic energy [J]; ½ ‖v⁺ − v⁻‖²_M without rebound. Negative if Newton's law creates energy
        at contacts with Coulomb friction.
    rank : rank of the rows with impulses.
    determined : (nc,) bool, which impulses are unique.
    restitution_scale : largest factor ≤ 1 on all restitutions with which kinetic energy does not grow.
    slipping : names of closed contacts that cannot stick, because they would have to pull.
    released : names of contacts without impulse, because they would have to pull, in the order of their rows.
    status : OK; SINGULAR (the rank drops at this configuration; the lost direction has no impulse); RIGID (v⁺ has a
        part that A allows and no motion has; no finite impulse stops it); INCONSISTENT (redundant rows prescribe
        different velocities: least squares).
    contacts : impulses and modes of contacts with Coulomb friction and of stops, a
        `sarrus.ContactImpulses`; None if the system has none, and with contacts=False.
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
    contacts: ContactImpulses | None = None


@described()
def impact(
    system: Evaluations,
    q: ArrayLike,
    v: ArrayLike,
    t: float = 0.0,
    *,
    closing: Iterable[str] | None = None,
    restitution: float | Mapping[str, float] | None = None,
    contacts: bool = True,
) -> Impact:
    """Return the velocity after an impact at q: of constraints that close, and of contacts and stops that hit.

    Parameters
    ----------
    q, v : configuration (nq,) and the velocity before the impact (nv,).
    closing : names of closures, couplings and contacts that close, active or not, besides the active ones. None: all
        active ones, for example after a jump of v or after `sarrus.dynamics.impacts.activity.switch_on`. Inactive
        constraints that are not named take no part. Contacts with Coulomb friction, ropes and limits of joints need no
        name: they take part whenever they touch, to 1e-6 characteristic lengths or rad, and one of them approaches.
    restitution : coefficient e of the contacts and limits: one number, numbers by name, or None for the coefficients
        of the mechanism. Contacts that are constraints have Newton's law v_n⁺ = −e v_n⁻, which can create kinetic
        energy for contacts that stick or touch at several points (Kane and Levinson 1985); then all their coefficients
        are scaled down to the largest ones that do not. Contacts with Coulomb friction have their ``impact_law``, all
        of them at once, as in event-driven runs (`sarrus.dynamics.impacts.restitution`).
    contacts : False leaves out contacts with Coulomb friction, ropes and limits of joints.

    The dry friction of joints is left out: its force is bounded, and a bounded force has no impulse in no time.

    Contacts that are constraints are unilateral: those that would have to pull open and are named in ``released``. Such
    a contact sticks, with any friction impulse, while its normal impulse is positive. If it can neither stick nor open
    without penetrating its plane, it has a frictionless impulse, and ``slipping`` names it.
    `sarrus.dynamics.impacts.complementarity` has the method. They close before the contacts with Coulomb friction
    collide, and hold then unless they would have to pull.

    Event-driven runs differ in one respect: what leaves an impact slower than ``Switching(rest_speed)`` stays closed in
    a run, so that a series of bounces ends.

    Redundant rows: v⁺ and the generalized impulse are unique, Λ has least norm in characteristic units, and
    ``contacts.determined`` marks the unique impulses of contacts. Where redundant contacts slide in different
    directions, or have Poisson's law and different e, v⁺ depends on how they share the load: they have the impulses of
    least norm. Singular M: solved in the null space of A. The system's parameters do not change: switch the constraints
    on for the motion afterwards.

    Contacts between geometries without closed form are those that touch at q; ``restitution`` and ``closing`` name
    them by their pair, NAME-NAME, and ``contacts`` by their points, NAME-NAME.1, …

    Raises `ArgumentError` for unknown names, and for a constraint or named contact that is open at q; `SolveError` if M
    is not positive definite on the motions that the constraints allow (ILL_POSED), or if no velocity keeps all contacts
    from penetrating their planes.
    """
    check_is("impact", system, Evaluations)
    q, v = system.normalized(q), np.array(system.checked(v, system.nv, "v"))
    acts = takes_part(system, contacts)
    hits = coefficients(system) if acts else {}
    valid = tuple(system.closure_rows)
    on = [name for name in valid if active(system).get(name, True)]
    named = list(closing or ())
    for name in named:
        check_known("constraint", name, (*valid, *hits), f"{system.name}: closing")
    closing = on if closing is None else [name for name in named if name in valid]
    system = system.varied()
    switch_on(system, [name for name in active(system) if name in closing or name in on], q, t)
    _check_gaps(system, [*closing, *named], q, t)
    own = _restitutions(system, closing, hits, restitution)
    return _collided(system, q, v, t, own) if hits else _resolve(system, q, v, t, own)[0]


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
    if apart := [name for name in system.contact_geometries if name in closing]:
        touching = {one.pair.name for one in geometry_contacts(system, q, t).points}
        for name in apart:
            if name not in touching:
                raise ArgumentError(
                    f"{system.name}: the geometries of {name!r} do not touch at q", element=name
                )


def _approaching(system: Evaluations, q: Array, v: Array, t: float) -> list[str]:
    """Return the names of the active contacts among the constraints that approach at the velocity v (nv,)."""
    rates, slow, on = gap_rates(system, q, v, t), _slow(system, v), active(system)
    own = [contact.name for contact in system.equations.contacts]
    return [name for name in own if on[name] and rates[name] < -slow]


def _slow(system: Evaluations, v: Array) -> float:
    """Return the normal speed [m/s] below which a contact counts as at rest at v (nv,)."""
    size = system.characteristic
    return still_speed(float(np.abs(size.columns * v).max(initial=0.0))) * size.length


def _restitutions(
    system: Evaluations,
    closing: list[str],
    hits: Mapping[str, float],
    restitution: float | Mapping[str, float] | None,
) -> dict[str, float]:
    """Return the coefficients of the contacts that close, and of those ``hits`` with Coulomb friction, by name."""
    own = {c.name: c.restitution for c in system.equations.contacts if c.name in closing} | dict(hits)
    given = dict(restitution) if isinstance(restitution, Mapping) else {}
    if restitution is not None and not isinstance(restitution, Mapping):
        given = dict.fromkeys(own, restitution)
    for name, value in given.items():
        check_known("contact that closes", name, own, f"{system.name}: restitution")
        if not (isinstance(value, (int, float, np.number)) and 0.0 <= value <= 1.0):
            raise ArgumentError(
                f"{system.name}: restitution of {name!r} must be between 0 and 1, got {value!r}", element=name
            )
    return own | given


def _collided(system: Evaluations, q: Array, v: Array, t: float, own: Mapping[str, float]) -> Impact:
    """Return the impact of constraints, and of contacts and stops with the constraints held that neither open nor pull.

    Rounds of the two are repeated while a contact that is a constraint approaches again.
    """
    contacts = {contact.name: contact.normal for contact in system.equations.contacts}
    before, impulse, loss, mass = v, np.zeros(system.nc), 0.0, system.mass_matrix(q, t)
    found: ContactImpulses | None = None
    for _ in range(IMPACT_ROUNDS):
        first, holding = _resolve(system, q, v, t, own)
        rates, slow = gap_rates(holding, q, first.v, t), _slow(system, first.v)
        gone = [name for name in contacts if active(holding)[name] and rates[name] > slow]
        switch_off(holding, gone)
        while True:
            v, pulled, blocks = _strike(holding, q, first.v, t, own)
            total = impulse + first.impulse + pulled
            least = -IMPULSE_ROUNDING * float(np.abs(total).max(initial=0.0))
            pulling = [n for n, row in contacts.items() if active(holding)[n] and total[row] < least]
            if not pulling:
                break
            switch_off(holding, [min(pulling, key=lambda name: float(total[contacts[name]]))])
        impulse, found = total, blocks if found is None else found.followed_by(blocks)
        loss += first.energy_loss + float(0.5 * product(first.v - v, mass, first.v + v))
        if not _approaching(system, q, v, t):
            break
    else:
        raise SolveError(f"{system.name}: contacts hit each other without end: {', '.join(contacts)}")
    released = [n for n in contacts if active(system)[n] and not active(holding)[n] and n not in gone]
    return replace(
        first,
        v=read_only(v),
        impulse=read_only(impulse),
        generalized_impulse=read_only(product(mass, v - before)),
        energy_loss=loss,
        released=tuple(released),
        contacts=found,
    )


def _strike(
    system: Evaluations, q: Array, v: Array, t: float, own: Mapping[str, float]
) -> tuple[Array, Array, ContactImpulses]:
    """Return the velocity after contacts and stops have collided, Λ of the constraints held, and the impulses."""
    metric = _metric(system, q, v, t)
    blocks = StateBlocks(system, q, v, t, metric.motions, own)
    _, found = blocks.strike()
    size = system.characteristic
    left = product(metric.mass, blocks.v - v) - found.force
    rows = at_rank(size.scaled_rows(metric.jacobian), metric.rank)
    return blocks.v, size.rows * rows.solve_transposed(left / size.columns), found


def _resolve(
    system: Evaluations, q: Array, v: Array, t: float, own: Mapping[str, float]
) -> tuple[Impact, Evaluations]:
    """Return the impact with the active set found among the active constraints, and the system with this set.

    ``own`` are the coefficients of restitution of the contacts, by name.
    """
    elastic = np.zeros(system.nc)
    problem = OneSided(system, q, v, t)
    rates = gap_rates(system, q, v, t)
    for contact in problem.contacts:
        elastic[contact.normal] = max(0.0, -own.get(contact.name, 0.0) * rates[contact.name])
    if not problem.contacts:
        return _jump(system, q, v, t, elastic, 1.0), system.varied()
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
    return replace(result, slipping=names[0], released=names[1]), pushed


class _Metric(NamedTuple):
    """The rows of A that are held, in the kinetic metric.

    ``motions`` (nv × k) are the velocities that they allow, with Zᵀ M Z = 1; ``solve`` is in characteristic units.
    """

    mass: Array
    jacobian: Array
    near: Neighbourhood
    rank: int
    solve: _Solve
    motions: Array


def _metric(system: Evaluations, q: Array, v: Array, t: float) -> _Metric:
    """Return mass matrix, active rows, rank, solver and free motions at (q, v, t)."""
    mass, jacobian = system.mass_matrix(q, t), finite_jacobian(system, q, t, v)
    near = rank_analysis(system, q, t, v)
    cut, size = system.options.singular_cut, system.characteristic
    measured, even = mass / np.outer(size.columns, size.columns), size.scaled_rows(jacobian)
    if is_singular_at(system, q, t):

        def left_mass(free: Array) -> Array:
            return mass_left(system, q, v, t, measured, free)

        found = _in_null_space(left_mass, measured, even, near.rank, cut * near.measured_rows_size)
    else:
        found = _in_kinetic_metric(measured, even, near.rank, cut * near.scaled_rows_size)
    rank, solve, motions = found
    return _Metric(mass, jacobian, near, rank, solve, motions / size.columns[:, None])


def _jump(system: Evaluations, q: Array, v: Array, t: float, elastic: Array, most: float) -> Impact:
    """Return the impact with all active rows; their velocities after it are ``elastic`` × a scale ≤ ``most``."""
    mass, jacobian, near, rank, solve, _ = _metric(system, q, v, t)
    size = system.characteristic
    inelastic = -system.velocity_residual(q, v, t)
    elastic = np.where(jacobian.any(axis=1), elastic, 0.0)
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


def _in_kinetic_metric(mass: Array, jacobian: Array, most: int, cut: float) -> tuple[int, _Solve, Array]:
    """Return the rank, the least-squares, minimum-norm solver of M Δ = AᵀΛ, A Δ = r, with Â = A L⁻ᵀ, M = L Lᵀ, and the
    free motions.
    """
    lower = dense.cholesky(mass)
    weighted = in_metric(jacobian, lower)
    rows = at_rank(weighted, min(most, ranked(weighted, cut).rank))

    def solve(wanted: Array) -> tuple[Array, Array]:
        scaled = product(rows.left.T, wanted) / rows.kept
        return dense.solve(lower.T, product(rows.right, scaled)), product(rows.left, scaled / rows.kept)

    return rows.rank, solve, dense.solve(lower.T, rows.null)


def _in_null_space(
    left_mass: Callable[[Array], Array], mass: Array, jacobian: Array, most: int, cut: float
) -> tuple[int, _Solve, Array]:
    """Return rank, solver and free motions for singular M: Δ = A⁺r + Z y with ZᵀM Δ = 0, Z a basis of the null space
    of A.
    """
    rows = at_rank(jacobian, min(most, ranked(jacobian, cut).rank))
    inertia = left_mass(rows.null.T)

    def solve(wanted: Array) -> tuple[Array, Array]:
        step = rows.solve(wanted)
        step += product(rows.null, projected_rates(rows.null, mass, np.zeros(len(step)), step, inertia))
        return step, rows.solve_transposed(product(mass, step))

    return rows.rank, solve, in_metric(rows.null, dense.cholesky(inertia))
