"""Choice of independent coordinates at a configuration: linear choices W with ẏ = W v.

A choice is valid if [A; W] has full column rank: v follows from ẏ (Spencer 2004, theorem 2.3.1). All choices here are
linear changes of coordinates, (2.33) there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.dynamics.coordinates.tolerances import WORST_COORDINATES
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import at_rank, ranked

PARTITION, TANGENT_SPACE, NULL_SPACE = "partition", "tangent-space", "null-space"
AUTOMATIC = (PARTITION, TANGENT_SPACE, NULL_SPACE)

Coordinates = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class IndependentVelocities:
    """Rows W (dof × nv) with ẏ = W v, the names of y, and the condition number of [A / |A|; W] in characteristic units.

    ``indices`` are the chosen coordinates if the rows are unit vectors, else empty.
    """

    rows: Array
    names: tuple[str, ...]
    condition: float
    indices: tuple[int, ...] = ()


def choose(
    system: Evaluations,
    coordinates: Coordinates,
    jacobian: Array,
    rank: int,
    factors: Array | None = None,
) -> IndependentVelocities:
    """Return independent velocities for A = ``jacobian`` (m × nv) of the given rank.

    factors : (m,) of rows, to characteristic units; by default those of the constraints.
    coordinates : "partition", generalized coordinate partitioning: the coordinates that are no pivots of QR with column
        pivoting of A (Wehage and Haug 1982); "tangent-space" (Potra and Yen 1991) and "null-space" (Liang and Lance
        1987): an orthonormal basis of the null space of A; all in characteristic units; or names of coordinates or of
        joints.

    Raises
    ------
    ArgumentError
        A name is unknown, its joint has no coordinate whose rate is a velocity, the number of names is not
        nv − rank, or the named coordinates do not determine the configuration (the condition number is given).
    """
    dof = system.nv - rank
    if isinstance(coordinates, str):
        check_known("choice of coordinates", coordinates, AUTOMATIC)
        even = _even(system, jacobian, factors)
        if coordinates == PARTITION:
            dependent = dense.leading_columns(even, rank)
            return _units(
                system, [i for i in range(system.nv) if i not in dependent], jacobian, rank, factors
            )
        rows = at_rank(even, rank).null.T * system.characteristic.columns
        names = tuple(f"y{k}" for k in range(dof))
        return IndependentVelocities(rows, names, condition_number(system, jacobian, rows, rank, factors))
    if not all(
        isinstance(name, str) for name in (coordinates if isinstance(coordinates, Iterable) else [None])
    ):
        raise ArgumentError(
            f"{system.name}: coordinates must be one of {', '.join(AUTOMATIC)} or names of coordinates, got "
            f"{type(coordinates).__name__}. Others, y = R q or R(q, y) = 0, are a `sarrus.coordinates.Relation`: "
            "`sarrus.coordinates.extend` makes them coordinates of a system",
            element="coordinates",
            valid=AUTOMATIC,
        )
    indices = [i for name in coordinates for i in _indices(system, name)]
    if len(indices) != dof or len(set(indices)) != dof:
        raise ArgumentError(
            f"{system.name}: coordinates must name {dof} different independent coordinates "
            f"(nv − rank = {system.nv} − {rank}), got {list(coordinates)}",
            element="coordinates",
            valid=system.velocity_names,
        )
    chosen = _units(system, indices, jacobian, rank, factors)
    if not chosen.condition < WORST_COORDINATES:
        raise ArgumentError(
            f"{system.name}: {', '.join(chosen.names)} do not determine the other coordinates here (condition number "
            f"{chosen.condition:.3g}); choose other coordinates or coordinates='partition'",
            element="coordinates",
        )
    return chosen


def choose_both(
    system: Evaluations, coordinates: Coordinates, jacobian: Array, holonomic_rank: int, rank: int
) -> tuple[IndependentVelocities, IndependentVelocities]:
    """Return independent rates of positions (bound by the holonomic rows of A) and independent velocities.

    Without nonholonomic constraints they are equal; with them, names are an `ArgumentError`.
    """
    velocities = choose(system, coordinates, jacobian, rank)
    if system.nc == system.nh:
        return velocities, velocities
    if not (isinstance(coordinates, str) and coordinates in AUTOMATIC):
        raise ArgumentError(
            f"{system.name}: with nonholonomic constraints positions have more freedom than velocities; "
            f"coordinates must be one of {', '.join(AUTOMATIC)}",
            element="coordinates",
            valid=AUTOMATIC,
        )
    return choose(system, coordinates, jacobian[: system.nh], holonomic_rank), velocities


def rows_of_rates(system: Evaluations, rows: Array, rate: Array) -> Array:
    """Return W N⁺ (dof × nq) for rows W of velocities: W v = W N⁺ q̇. N (nq × nv) must have full rank."""
    turns = ranked(rate)
    if turns.rank < system.nv:
        raise ArgumentError(
            f"{system.name}: some velocities change no coordinate (N has rank {turns.rank} of {system.nv}), so that "
            "coordinates cannot stand for them; forward_dynamics needs none",
            element="coordinates",
        )
    return dense.product(rows, turns.inverse)


def _indices(system: Evaluations, name: str) -> list[int]:
    indices = system.velocity_indices(name)
    if not indices:
        check_known("coordinate", name, system.velocity_names)
    return indices


def _units(
    system: Evaluations, indices: list[int], jacobian: Array, rank: int, factors: Array | None
) -> IndependentVelocities:
    rows = np.eye(system.nv)[indices]
    names = tuple(system.velocity_names[i] for i in indices)
    condition = condition_number(system, jacobian, rows, rank, factors)
    return IndependentVelocities(rows, names, condition, tuple(indices))


def _even(system: Evaluations, jacobian: Array, factors: Array | None) -> Array:
    """Return A with rows and velocities in characteristic units."""
    size = system.characteristic
    return size.scaled_rows(jacobian) if factors is None else factors[:, None] * jacobian / size.columns


def condition_number(
    system: Evaluations, jacobian: Array, rows: Array, rank: int, factors: Array | None = None
) -> float:
    """Return the condition number of [A / |A|; W] with A cut to its rank; infinite for A = 0 with a nonzero rank.

    In characteristic units, with rows of W of length one, so that it does not depend on units.
    """
    if rank and not jacobian.any():
        return np.inf
    rows = rows / system.characteristic.columns
    lengths = np.sqrt(np.add.reduce(rows * rows, axis=1))[:, None]
    rows = rows / np.where(lengths > 0.0, lengths, 1.0)
    if rank:
        parts = at_rank(_even(system, jacobian, factors), rank)
        rows = np.vstack([(parts.kept / parts.values[0])[:, None] * parts.right.T, rows])
    return dense.condition(rows)
