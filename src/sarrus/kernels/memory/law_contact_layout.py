"""Limits and contacts of a control law: the record ``table.contacts`` of `sarrus.kernels.laws.hierarchy_in_cones`.

The unknowns of the law are the controls u, then the forces λ of all contacts, each in its frame (n, t1, t2). The
kernel computes with y, (u, λ) = preferred + roots y.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.plant_contact_layout import PlantTable
from sarrus.kernels.memory.record import Floats, Record, view_fields


class ContactTable(Record, of=int):
    """Limits and contacts of a control law.

    After the fields follow first unknown and number of rows of each contact, the sizes of the cones of the user, and
    room for the sizes of a program and for a permutation.
    """

    friction: int  # which friction
    hold: int  # whether joints are damped where there are no forces inside all limits
    first_soft: (
        int  # the level from which on coming close is enough, as many as there are levels where none is
    )
    # of the user
    extra_linear: int  # half-lines
    extra_cones: int  # second-order cones
    extra_rows: int  # of both
    # inequalities among the levels
    unequal: int  # rows of all of these levels
    slack: int  # and of the longest one
    physics: Floats
    extra: Floats
    memory: Floats
    work: Floats
    report: Floats
    plant: Annotated[Any, PlantTable]  # of a law that knows the contacts of its plant


PLACES = len(ContactTable.fields)

# Friction: true cones, pyramids of four sides inside them, none and forces of any sign.
CONE, PYRAMID, NO_LIMITS = 0, 1, 2
# In place of the coefficient of a force without friction that pulls as it pushes, up to its largest value.
BOTH_WAYS = -1

# Outcome of a law: all tasks met as demanded; tasks relaxed; tasks relaxed and controls that jump;
# damped joints; none.
EXACT, RELAXED, JUMPED, DAMPED, FAILED = 0, 1, 2, 3, 4


class Physics(NamedTuple):
    """Arrays of limits, weights and friction coefficients, at ``physics``."""

    lower: Any  # limits of the controls
    upper: Any
    weights: Any  # of the unknowns
    relaxation: Any  # weights of what relaxed levels miss; 0: the levels one after the other
    friction: Any  # coefficients
    largest: Any  # normal forces
    rate: Any  # of the controls, 0: any
    soft_share: Any  # of each limit, which levels of which coming close is enough may use up
    solver: Any  # limits of the solver


def physics(actuators: int, contacts: int, unknowns: int, levels: int):
    """Return the lengths of the arrays of `Physics`."""
    return Physics(
        lower=actuators, upper=actuators, weights=unknowns, relaxation=levels, friction=contacts, largest=contacts,
        rate=1, soft_share=1, solver=4,
    )  # fmt: skip


class Report(NamedTuple):
    """Arrays of the outcome of a control law, at ``report``."""

    outcome: Any  # EXACT, RELAXED, JUMPED, DAMPED or FAILED
    counts: Any  # half-lines and cones of the last program
    facts: Any  # of the program
    conflict: Any  # how strongly each actuator, contact, row of the user and inequality is in conflict, where one is


def report(actuators: int, contacts: int, extra: int):
    """Return the lengths of the arrays of `Report`."""
    return Report(outcome=1, counts=2, facts=7, conflict=actuators + contacts + extra)


class Memory(NamedTuple):
    """Arrays of the last solution of a control law, at ``memory``.

    A slot has the signature of the last program solved (−1: none), its unknowns, and z of all limits, zero for a
    limit that was not in the program.
    """

    known: Any  # whether unknowns of a sample are known
    kind: Any  # signature of the limits of the last program
    controls: Any  # these
    # which level was the first that the last answer missed, from 1 on; 0 for none; one more than there are levels
    # where all were met with shares of the limits, as `sarrus.kernels.laws.soft_levels` has them, in the way
    missing: Any
    working: Any  # which half-lines took part in the last program, by the number that they had
    exact: Any  # a slot for programs with tasks as they are
    relaxed: Any  # and for relaxed ones: of so many levels as they are, then of the costs, then of each level


def slot_size(unknowns: int, rows: int):
    """Return the number of entries of a slot."""
    return 1 + unknowns + rows


def memory(unknowns: int, rows: int, levels: int):
    """Return the lengths of the arrays of `Memory`."""
    slot = slot_size(unknowns, rows)
    return Memory(
        known=1, kind=1, controls=unknowns, missing=1, working=rows, exact=slot, relaxed=2 * levels * slot
    )


def most_rows(actuators: int, contacts: int, extra: int):
    """Return the largest number of rows of a program; ``extra`` are rows of the user and inequalities of levels."""
    return 2 * actuators + 6 * contacts + extra


class DistributionWorkspace(NamedTuple):
    """Arrays of the solution of a control law with contacts, at ``work``."""

    rows: Any  # T of the levels
    right: Any  # and d: levels want T y = d, or ≤ d
    goals: Any  # d, or what is left of it in directions that are damped
    vector: Any  # of all unknowns
    wanted: Any  # the unknowns with which levels are as their priorities allow, limits aside
    needed: Any  # the unknowns without levels of which coming close is enough
    base: Any  # the unknowns from which a program starts
    firsts: Any  # the first row of each level, and how many rows there are
    ends: Any  # how many turned unknowns each level and those before it have used up
    nearby: Any  # weight of what a program changes beside what a level misses
    margin: Any  # by how much limits are tighter in the next program
    turned: Any  # the unknowns turned, before levels that miss something turn them once more
    # limits, half-lines and then cones: rows over the unknowns, what these are at most, whose they are (number + 1 of
    # what the report tells, negative for lower limits), the level that they are (0: none), see
    # `sarrus.kernels.laws.faces`
    limits: Any
    most: Any
    owners: Any
    belongs: Any
    faces: Any
    places: Any  # which limit each row of a program is
    # of levels that come or go: all rows and right-hand sides, and the unknowns between those of some and others
    all_rows: Any
    all_right: Any
    between: Any
    across: Any
    program: Any  # a cone program


def distribution_sizes(unknowns: int, total: int, levels: int, rows: int, program: int):
    """Return the lengths of the arrays of `DistributionWorkspace`.

    ``total`` is the number of rows of levels, ``rows`` of limits, ``program`` the size of a cone program.
    """
    across = 0
    for part in across_sizes(unknowns, total, rows):
        across += part
    return DistributionWorkspace(
        rows=total * unknowns, right=total, goals=total, vector=unknowns, wanted=unknowns, needed=unknowns,
        base=unknowns, firsts=levels + 1, ends=levels, nearby=1, margin=1, turned=unknowns * unknowns,
        limits=rows * unknowns, most=rows, owners=rows, belongs=rows, faces=rows, places=rows,
        all_rows=total * unknowns, all_right=total, between=unknowns, across=across, program=program,
    )  # fmt: skip


class Across(NamedTuple):
    """Arrays for rows along which no further motion is allowed: see `sarrus.kernels.laws.faces`."""

    rows: Any
    diagonal: Any
    beta: Any
    beta2: Any
    norms: Any


def across_sizes(unknowns: int, total: int, rows: int):
    """Return the lengths of the arrays of `Across`."""
    # one more for the row that is being written
    count = 2 * rows + total + 1
    return Across(rows=count * unknowns, diagonal=count, beta=count, beta2=count, norms=count)


def extra_of(table: Any):
    """Return the number of rows of the user plus inequalities among the levels."""
    return table.contacts.extra_rows + table.contacts.unequal


def physics_of(table: Any):
    """Return the arrays of `Physics` of a law."""
    sizes = physics(table.actuators, table.n_contacts, table.nu, table.n_levels)
    return view_fields(table.contacts.physics, sizes)


def most_rows_of(table: Any):
    """Return the largest number of rows of a program of a law."""
    return most_rows(table.actuators, table.n_contacts, extra_of(table))


def memory_of(table: Any):
    """Return the arrays of `Memory` of a law."""
    return view_fields(table.contacts.memory, memory(table.nu, most_rows_of(table), table.n_levels))


def report_of(table: Any):
    """Return the arrays of `Report` of a law."""
    sizes = report(table.actuators, table.n_contacts, extra_of(table))
    return view_fields(table.contacts.report, sizes)
