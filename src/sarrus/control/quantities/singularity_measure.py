"""`singularity_measure`: distance of a mechanism from its singular configurations, as a quantity for laws."""

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
    """Return the distance to singular configurations as a quantity, zero there (logarithm: −∞), for a `Bound` or task.

    It is a function of the singular values σ of J P, P = I − A⁺A the projection on the motions that the loops allow,
    velocities and rows in characteristic units (`sarrus.dynamics.model.characteristic`): the same in metres and in
    millimetres, and with redundant rows. J is the Jacobian of

    - a ``quantity``: zero where it cannot be moved in some direction. For an arm these are the singularities of its
      Jacobian; for a mechanism with loops and its output as quantity, type 1 (Gosselin and Angeles 1990).
    - ``driven`` joints or coordinates: zero where the mechanism can move with these locked, type 2.
    - neither: A itself, its independent rows: zero where closures become dependent and motions may branch.

    ``measure``, over the n singular values that are not zero everywhere:

    - "smooth singular value": (Σ σ⁻⁸)^(−1/8), between n^(−1/8) times the smallest σ and the smallest σ. It is
      smooth wherever it is not zero, and therefore suited for laws.
    - "smallest singular value": not differentiable where two σ coincide, as in symmetric poses; its gradient is
      then that of one of them. At most 10 rows.
    - "manipulability": Π σ = √det(J P Jᵀ) (Yoshikawa 1985), in characteristic units.
    - "log determinant": its logarithm.

    Parameters
    ----------
    quantity : as in `Task`, of positions; a list of them, such as a `point` and an `orientation`, is a pose.
    driven : names of joints or coordinates.
    q, t : closed configuration and time near which ranks are determined; default: the reference pose, loops closed.

    ``sarrus.singularity_map(measure="singular value on motions")`` maps the smallest singular value. Other measures
    there, and `sarrus.distance_to_singularity`, are zero at the same configurations; they are singular values of [A;
    J], or of A without the driven columns, and depend on the form of the rows of A.

    Contacts do not belong to the loops. Switched closures do while active; more rows than degrees of freedom with all
    of them active are then refused, and so is A.

    Below 1e-7 of the largest σ the smallest one is constant, without a gradient, because σ² is computed: at a singular
    configuration itself a bound or task of the measure is missed. At singular configurations of the closures J P
    changes its rank, and measures of J jump.

    Raises `ArgumentError` if J P is rank deficient at every configuration tried, naming the rows; for quantities of
    velocities; for constraints that are not linear in the velocity.
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
            "singularity_measure: give either a quantity (type 1: it cannot be moved in some direction) or driven "
            "(type 2: the mechanism can move with these locked)",
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
    """Rows J (k, nv) in characteristic units, their names, a label, and the advice if their rank is too low."""

    jacobian: ca.SX
    names: tuple[str, ...]
    label: str
    driven: bool


@dataclass(frozen=True, eq=False)
class _Place:
    """A closed configuration: A without contacts, in characteristic units, and the cut of its singular values."""

    q: Array
    t: float
    closures: Array
    cut: float

    def motions(self, rank: int) -> Array:
        """Return an orthonormal basis (nv, d) of the motions, A having this generic rank."""
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
        raise ArgumentError(
            f"{system.name}: a singularity measure needs a quantity with rows", element="quantity"
        )
    lengths = [1.0 / sizes.length if unit == "m" else 1.0 for x in found for unit in x.units]
    jacobian = ca.vertcat(*(x.jacobian for x in found))
    scaled = ca.diag(ca.DM(lengths)) @ jacobian @ ca.diag(ca.DM(1.0 / sizes.columns))
    return _Rows(scaled, names, ", ".join(names), False)


def _own_rows(system: System) -> list[int]:
    """Return the rows of A without those of contacts."""
    contacts = system.mechanism.contacts if system.mechanism else {}
    rows = range(system.nc)
    taken = {row for name, part in system.closure_rows.items() if name in contacts for row in rows[part]}
    return [row for row in rows if row not in taken]


def _switching(system: System) -> dict[str, str]:
    """Return the parameters that switch closures and couplings, contacts excluded, with the names of these."""
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
        _Place(
            p,
            t,
            sizes.scaled_rows(system.constraint_jacobian(p, t=t))[own],
            rank_cut(system, p, t, even=True),
        )
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
            f"{system.name}: the independent rows of A change when {', '.join(switching.values())} switches; give a "
            "quantity or driven",
            element=next(iter(switching.values())),
        )
    chosen = independent_rows(places[ranks.index(rank)].closures, rank)
    seen = [place.closures[chosen] for place in places]
    return _value(_closures(system)[chosen, :], ca.SX(0, system.nv), seen, rank, measure)


def _of_rows(system: System, rows: _Rows, measure: str, places: list[_Place]) -> tuple[ca.SX, float]:
    closure_rank = max(ranked(place.closures, place.cut).rank for place in places)
    freedoms, count = system.nv - closure_rank, len(rows.names)
    if freedoms == 0:
        raise ArgumentError(
            f"{system.name} has no degrees of freedom, so no singularity measure", element="q"
        )
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
                f"{system.name}: {rows.label} has {count} rows, and the mechanism has {left} degrees of freedom with "
                f"all switched closures active ({', '.join(switching.values())}), so the number of singular values "
                "would change; give fewer rows",
                element="driven" if rows.driven else "quantity",
            )
    return _value(rows.jacobian, _closures(system), seen, rank, measure)


def _refuse(system: System, rows: _Rows, matrix: Array, rank: int, freedoms: int) -> None:
    """Raise the error of rows whose rank on the motions is too low at all configurations."""
    kept = independent_rows(matrix, rank) if rank else []
    others = [name for k, name in enumerate(rows.names) if k not in kept]
    few = f"{system.name}: {rows.label} has rank {rank} over {freedoms} degrees of freedom at every configuration tried"
    if len(rows.names) <= freedoms:
        what = (
            "it is constant along every motion"
            if rank == 0
            else f"{', '.join(others)} is constant or depends on the other rows; leave it out"
        )
    else:
        what = "the mechanism can move with it at rest; name more rows"
    raise ArgumentError(f"{few}: {what}", element="driven" if rows.driven else others[0])


def _value(rows: ca.SX, held: ca.SX, seen: list[Array], rank: int, measure: str) -> tuple[ca.SX, float]:
    """Return a measure of rows of this rank on the motions that the rows ``held`` leave, and its ``fade``.

    ``fade`` is a tenth of the largest value at the configurations where it was ``seen``.
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
                f"singularity_measure: the {LEAST} is for at most {_MOST} rows, got {count}; take the {SMOOTH}",
                element="measure",
            )
        return sv.least_singular_value(gram, rank, floor), typical
    if measure == SMOOTH:
        return sv.smooth_singular_value(gram, ones, floor), typical
    least = floor * float(values[:, :-1].prod(axis=1).max())
    if measure == LOG:
        return sv.log_volume(gram, floor, least), FADE_OF_LOG
    return sv.volume(gram, floor, least), FADE_PART * float(values.prod(axis=1).max())
