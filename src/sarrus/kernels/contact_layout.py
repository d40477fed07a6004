"""How the contacts of a control law are handed to its kernel (`sarrus.kernels.distribution`): the table at
table[CONTACTS] of the law, with entries named here.

The unknowns x of such a law are the controls u and then the forces λ of all contacts, each in its own frame
(n, t1, t2).
"""

from __future__ import annotations

from typing import NamedTuple

FRICTION, HOLD = 0, 1  # which friction; whether the last controls stay where there are none
EXTRA_LINEAR, EXTRA_CONES, EXTRA_ROWS = 2, 3, 4  # of the user: half-lines, second-order cones, rows of both
PHYSICS, EXTRA, MEMORY, WORK, REPORT = 5, 6, 7, 8, 9  # addresses
# first unknown and number of rows of each contact; sizes of the cones of the user; room for the sizes of a program and
# for a permutation
PLACES = 10

# Friction: true cones, pyramids of four sides inside them, none and forces of any sign.
CONE, PYRAMID, NO_LIMITS = 0, 1, 2

# What became of a distribution: with all tasks as they are; with tasks relaxed; the same, and controls that jump; the
# last controls; none.
EXACT, RELAXED, JUMPED, HELD, FAILED = 0, 1, 2, 3, 4


class Physics(NamedTuple):
    """Offsets in the array at PHYSICS: limits of the controls, weights of the unknowns and of what relaxed levels miss,
    coefficients of friction, largest normal forces, largest rate of the controls (0: any), limits of the solver."""

    lower: int
    upper: int
    weights: int
    relaxation: int
    friction: int
    largest: int
    rate: int
    solver: int
    size: int


def physics(actuators, contacts, unknowns, levels):
    """Return the offsets; ``size`` is the length."""
    weights = 2 * actuators
    relaxation = weights + unknowns
    friction = relaxation + levels
    largest = friction + contacts
    rate = largest + contacts
    solver = rate + 1
    return Physics(0, actuators, weights, relaxation, friction, largest, rate, solver, solver + 4)


class Report(NamedTuple):
    """Offsets in the array at REPORT: what became of it, the facts of the program, how strongly each actuator, contact
    and row of the user is in conflict where there is no solution."""

    outcome: int
    facts: int
    conflict: int
    size: int


def report(actuators, contacts, extra):
    """Return the offsets; ``size`` is the length."""
    return Report(0, 1, 8, 8 + actuators + contacts + extra)


class Memory(NamedTuple):
    """Offsets in the array at MEMORY: whether unknowns of a sample are known, these; then for programs with tasks as
    they are and relaxed: the signature of the last one solved (−1: none), its unknowns, s and z."""

    known: int
    controls: int
    exact: int
    relaxed: int
    size: int


def memory(unknowns, rows):
    """Return the offsets; ``size`` is the length."""
    slot = 1 + unknowns + 2 * rows
    return Memory(0, 1, 1 + unknowns, 1 + unknowns + slot, 1 + unknowns + 2 * slot)


def most_rows(actuators, contacts, extra):
    """Return how many rows a program can have."""
    return 2 * actuators + 6 * contacts + extra


class DistributionWorkspace(NamedTuple):
    """Offsets in the array at WORK: the rows of the levels, a vector of all unknowns, a cone program."""

    rows: int
    vector: int
    program: int
    size: int


def distribution_workspace(unknowns, total, program):
    """Return the offsets for so many unknowns, rows of levels, and numbers of a cone program."""
    vector = total * unknowns
    start = vector + unknowns
    return DistributionWorkspace(0, vector, start, start + program)
