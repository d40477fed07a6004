"""`singularity_measure`: how far a mechanism is from its singular configurations, as a quantity that laws control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SarrusError, check_known, check_sequence
from sarrus.base.numbers import real_array
from sarrus.base.status import Status
from sarrus.control.quantities.quantities import Part, Quantity, along, position_quantity
from sarrus.control.quantities.tolerances import FADE_OF_LOG, FADE_PART, SQUARED_FLOOR, TRIAL_STEPS
from sarrus.dynamics.closing.assembly import free_velocities
from sarrus.dynamics.closing.manifold import close, closed_start, rank_cut
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import independent_rows, ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT
from sarrus.symbolic.equations import singular_values as sv
from sarrus.symbolic.equations.equations import activity_parameter

SMOOTH, LEAST, VOLUME, LOG = (
    "smooth singular value",
    "smallest singular value",
    "manipulability",
    "log determinant",
)
MEASURES = (SMOOTH, LEAST, VOLUME, LOG)
# Rows beyond which rotations of the smallest singular value become long code: 5e4 operations.
_MOST = 10


def singularity_measure(
    quantity: Any = None,
    *,
    driven: Sequence[str] = (),
    measure: str = SMOOTH,
    q: ArrayLike | None = None,
    t: float = 0.0,
) -> Part:
    """Return a distance to singular configurations, zero there (the logarithm: −∞); a `Bound` of it keeps away.

    It is about the singular values σ of J on the motions that the loops leave, J P with P = 1 − A⁺A, velocities and
    rows in characteristic units (`sarrus.dynamics.model.characteristic`): the same in metres and in millimetres, and
    with redundant rows. J is that of

    - a ``quantity``: where some direction of it cannot be moved. Of an arm the singularities of its Jacobian; of a
      mechanism with loops, with its output as quantity, those of type 1 (Gosselin and Angeles 1990).
    - ``driven`` joints or coordinates: where the mechanism moves although these are at rest, type 2.
    - neither: A itself, its independent rows: where closures become dependent and motions may branch.

    ``measure``, with σ as many as are not zero everywhere:

    - "smooth singular value": (Σ σ⁻⁸)^(−1/8), at most the smallest σ and at least n^(−1/8) of it. It is smooth wherever
      it is not zero, so that it is the one for laws.
    - "smallest singular value": where two σ meet, as in symmetrical poses, it has a kink; its slope is then that of one
      of them. At most 10 rows.
    - "manipulability": Π σ = √det(J P Jᵀ) (Yoshikawa 1985), in characteristic units: of lengths, times κ for each.
    - "log determinant": its logarithm.

    Parameters
    ----------
    quantity : as in `Task`, of positions; a list of them, such as a `point` and an `orientation`, is a pose.
    q, t : closed configuration and time near which ranks are judged; by default the reference pose, loops closed.

    ``sarrus.singularity_map(measure="singular value on motions")`` shades the smallest singular value. Other measures
    there, and `sarrus.distance_to_singularity`, are zero at the same configurations; they are singular values of
    [A; J], or of A without the driven columns, and depend on how the rows of A are written.
    Contacts come and go: they are none of the loops. Closures that switch are, while they hold; more rows than the
    motions that are left when all hold are refused then, and so is A itself.
    Below 1e-7 of the largest σ the smallest one is constant, without a slope, since σ² is what is found: at a singular
    configuration itself a bound or task of it is missed, and whatever leads out leads out. At singular configurations
    of the closures J P has another rank, and the measures of J jump. Raises `ArgumentError` where J P is rank deficient
    at every configuration tried, with the rows that make it so; for quantities of velocities; for constraints that are
    not linear in the velocity.
    """
    check_known("measure", measure, MEASURES, "singularity_measure")
    check_sequence("driven", driven)
    if not isinstance(driven, Sequence):
        raise ArgumentError(
            f"singularity_measure: driven must be a sequence of names of joints or coordinates, got {driven!r}",
            element="driven",
        )
    if quantity is not None and len(driven):
        raise ArgumentError(
            "singularity_measure: give a quantity (where it cannot be moved), or driven (where these no longer hold "
            "the mechanism), not both",
            element="driven",
        )

    def trace(system: System) -> Quantity:
        if ca.depends_on(system.equations.jacobian, system.equations.v):
            raise ArgumentError(
                f"{system.name}: singularity_measure needs constraints that are linear in the velocity",
                element="quantity",
            )
        rows = _rows(system, quantity, driven)
        if rows is None:
            (value, fade), label = _of_closures(system, measure, _places(system, q, t)), "closures"
        else:
            (value, fade), label = _of_rows(system, rows, measure, _places(system, q, t)), rows.label
        return replace(along(system, value, (f"{measure} of {label}",)), fade=fade)

    return Part(trace)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows J (k × nv) in characteristic units, their names, what they are together, and what to do if they are few."""

    jacobian: ca.SX
    names: tuple[str, ...]
    label: str
    driven: bool


@dataclass(frozen=True, eq=False)
class _Place:
    """A closed configuration: A without contacts, in characteristic units, and what its singular values count from."""

    q: Array
    t: float
    closures: Array
    cut: float

    def motions(self, rank: int) -> Array:
        """Return an orthonormal basis (nv × d) of the motions, A having this rank at generic configurations."""
        return (
            np.linalg.svd(self.closures)[2][rank:].T if self.closures.size else np.eye(self.closures.shape[1])
        )


def _rows(system: System, quantity: Any, driven: Sequence[str]) -> _Rows | None:
    sizes = system.characteristic
    if len(driven):
        held = np.flatnonzero(free_velocities(system, driven, "driven") == 0.0)
        names = tuple(system.velocity_names[i] for i in held)
        return _Rows(ca.SX(ca.DM(np.eye(system.nv)[held])), names, f"driven {', '.join(driven)}", True)
    if quantity is None:
        return None
    several = isinstance(quantity, list | tuple) and not all(isinstance(part, str) for part in quantity)
    found = [
        position_quantity(system, part, "a singularity measure")
        for part in (quantity if several else [quantity])
    ]
    names = tuple(name for x in found for name in x.rows)
    if not names:
        raise ArgumentError(f"{system.name}: a singularity measure needs rows", element="quantity")
    lengths = [1.0 / sizes.length if unit == "m" else 1.0 for x in found for unit in x.units]
    jacobian = ca.vertcat(*(x.jacobian for x in found))
    scaled = ca.diag(ca.DM(lengths)) @ jacobian @ ca.diag(ca.DM(1.0 / sizes.columns))
    return _Rows(scaled, names, ", ".join(names), False)


def _own_rows(system: System) -> list[int]:
    """Return the rows of A but for those of contacts, which come and go."""
    contacts = system.mechanism.contacts if system.mechanism else {}
    rows = range(system.nc)
    taken = {row for name, part in system.closure_rows.items() if name in contacts for row in rows[part]}
    return [row for row in rows if row not in taken]


def _switching(system: System) -> dict[str, str]:
    """Return the parameters of closures and couplings that come and go, contacts aside, and the names of these."""
    contacts = system.mechanism.contacts if system.mechanism else {}
    found = {activity_parameter(name): name for name in system.closure_rows if name not in contacts}
    return {key: name for key, name in found.items() if key in system.parameters}


def _closures(system: System) -> ca.SX:
    """Return A without contacts, in characteristic units."""
    sizes, own = system.characteristic, _own_rows(system)
    rows = ca.diag(ca.DM(sizes.rows[own])) @ system.equations.jacobian[own, :]
    return rows @ ca.diag(ca.DM(1.0 / sizes.columns))


def _places(system: System, q: ArrayLike | None, t: float) -> list[_Place]:
    """Return closed configurations: the start, and seeded ones around it."""
    if q is not None:
        start = closed_start(system, real_array(q), t)
    else:
        closed = system.assemble(system.neutral(), t=t, throw=False)
        if closed.status is Status.NOT_CLOSED:
            raise ArgumentError(
                f"{system.name}: singularity_measure: the loops do not close from the reference pose; give a closed "
                "configuration, q=",
                element="q",
            )
        start = np.array(closed.q)
    rng = np.random.default_rng(12)
    places = [start]
    for size in TRIAL_STEPS:
        step = rng.standard_normal(system.nv) * size / system.characteristic.columns
        try:
            places.append(close(system, system.move(start, step), t))
        except SarrusError:  # nothing closes there
            continue
    sizes, own = system.characteristic, _own_rows(system)
    return [
        _Place(p, t, sizes.even(system.constraint_jacobian(p, t=t))[own], rank_cut(system, p, t, even=True))
        for p in places
    ]


def _of_closures(system: System, measure: str, places: list[_Place]) -> tuple[ca.SX, float]:
    ranks = [ranked(place.closures, place.cut).rank for place in places]
    rank = max(ranks)
    if rank == 0:
        raise ArgumentError(
            f"{system.name}: it has no constraint rows; give a quantity or driven", element="quantity"
        )
    if switching := _switching(system):
        raise ArgumentError(
            f"{system.name}: {', '.join(switching.values())} may come and go, and which rows of A are independent with "
            "it; give a quantity or driven",
            element=next(iter(switching.values())),
        )
    chosen = independent_rows(places[ranks.index(rank)].closures, rank)
    seen = [place.closures[chosen] for place in places]
    return _value(_closures(system)[chosen, :], ca.SX(0, system.nv), seen, rank, measure)


def _of_rows(system: System, rows: _Rows, measure: str, places: list[_Place]) -> tuple[ca.SX, float]:
    closure_rank = max(ranked(place.closures, place.cut).rank for place in places)
    freedoms, count = system.nv - closure_rank, len(rows.names)
    if freedoms == 0:
        raise ArgumentError(f"{system.name}: it has no motion, so no distance to a singular one", element="q")
    e = system.equations
    jacobian = ca.Function("jacobian", [e.q, e.t, e.p], [rows.jacobian])
    parameters = list(system.parameters.values())
    seen = []
    for place in places:
        motions = place.motions(closure_rank)
        seen.append(np.array(jacobian(place.q, place.t, parameters)) @ motions @ motions.T)
    largest = max(float(np.linalg.norm(matrix, 2)) for matrix in seen)
    ranks = [ranked(matrix, RANK_CUT * largest).rank if largest > 0.0 else 0 for matrix in seen]
    rank = max(ranks)
    if rank < min(count, freedoms):
        _refuse(system, rows, seen[ranks.index(rank)], rank, freedoms)
    if switching := _switching(system):
        every, own = system.with_parameters(dict.fromkeys(switching, 1.0)), _own_rows(system)
        held = [np.linalg.matrix_rank(every.constraint_jacobian(p.q, t=p.t)[own], RANK_CUT) for p in places]
        left = system.nv - max(held)
        if count > left:
            raise ArgumentError(
                f"{system.name}: {rows.label} has {count} rows, and {left} motions are left where all closures hold "
                f"({', '.join(switching.values())} may come and go): how many singular values there are would change; "
                "give fewer rows",
                element="driven" if rows.driven else "quantity",
            )
    return _value(rows.jacobian, _closures(system), seen, rank, measure)


def _refuse(system: System, rows: _Rows, matrix: Array, rank: int, freedoms: int) -> None:
    """Raise the error of rows whose rank on the motions is too low everywhere."""
    kept = independent_rows(matrix, rank) if rank else []
    others = [name for k, name in enumerate(rows.names) if k not in kept]
    few = (
        f"{system.name}: {rows.label} has rank {rank} on the {freedoms} motions at every configuration tried"
    )
    if len(rows.names) <= freedoms:
        what = (
            "no motion changes it"
            if rank == 0
            else f"{', '.join(others)} moves with the rest or not at all; leave it out"
        )
    else:
        what = "the mechanism always moves with it at rest; name more rows"
    raise ArgumentError(f"{few}: {what}", element="driven" if rows.driven else others[0])


def _value(rows: ca.SX, held: ca.SX, seen: list[Array], rank: int, measure: str) -> tuple[ca.SX, float]:
    """Return a measure of rows of this rank on the motions that the rows ``held`` leave, where they were ``seen``.

    The second is its ``fade``: a tenth of the largest value seen.
    """
    values = np.array([np.linalg.svd(matrix, compute_uv=False)[:rank] for matrix in seen])
    floor, typical = SQUARED_FLOOR * float(values.max()), FADE_PART * float(values[:, -1].max())
    count, ones = rows.shape[0], None
    if count == rank or measure == LEAST:
        gram = sv.gram_across(rows, held)
    else:
        gram, ones = sv.gram_on_motions(rows, held)
    if measure == LEAST:
        if count > _MOST:
            raise ArgumentError(
                f"singularity_measure: the {LEAST} of {count} rows is more code than {_MOST} rows make; take the "
                f"{SMOOTH}",
                element="measure",
            )
        return sv.least_singular_value(gram, rank, floor), typical
    if measure == SMOOTH:
        return sv.smooth_singular_value(gram, ones, floor), typical
    least = floor * float(values[:, :-1].prod(axis=1).max())
    if measure == LOG:
        return sv.log_volume(gram, floor, least), FADE_OF_LOG
    return sv.volume(gram, floor, least), FADE_PART * float(values.prod(axis=1).max())
