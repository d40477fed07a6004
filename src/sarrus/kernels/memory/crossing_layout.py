"""Log of singularity crossings, the array at ``table.passage`` (`sarrus.kernels.integrate.singularity_crossing`)."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.layout import Table, input_size
from sarrus.kernels.memory.record import Record, view_fields


class PassageHeader(Record):
    """State of the search for a minimum of σ."""

    logged: float  # rows in the log
    room: float  # and its room
    known: float  # states, at most 3
    last: float  # which of them is the last
    stay: float  # a count of the stays close to a singular configuration
    lowest: float  # the smallest size logged in this one
    highest: float  # the largest size of all
    wanted: float  # whether passages are looked for


class StateFacts(Record):
    """Pivot, σ and σ dσ/dt of a state at the end of a step."""

    pivot: float  # the smallest, relative to its largest value in the run
    projected: float  # whether the stages of the step were projected
    level: float  # level of the projection at the end of the step
    measured: float
    sigma: float  # σ
    rise: float  # σ dσ/dt


class PassageState(NamedTuple):
    """A state: x, its slope, and the singular vectors u, w."""

    facts: Annotated[Any, StateFacts]
    x: Any
    slope: Any
    left: Any
    right: Any


class Measure(NamedTuple):
    """Output of `sarrus.symbolic.equations.measure`: σ, uᵀ Ȧ w, the length of the longest row; u and w."""

    sigma: Any
    change: Any
    largest: Any
    left: Any
    right: Any


class LogFacts(Record):
    """Start of a row of the log; q and v of the evaluated state with the smallest σ follow."""

    time: float
    crossed: float
    least: float  # size there
    nearest: float  # size at the nearest state or stage of the step across
    stay_of: float
    closest: float  # smallest σ of the states evaluated


HEADER, STATE_HEADER = len(PassageHeader.fields), len(StateFacts.fields)
LOG_HEADER = len(LogFacts.fields)
TIME, CROSSED, LEAST, NEAREST, STAY_OF, CLOSEST = range(LOG_HEADER)

# Points through which a signed σ is interpolated.
POINTS = 4


class PassageArray(NamedTuple):
    """Arrays of the search: the last three states of the run and a trial state, an x, points, the log."""

    header: Annotated[Any, PassageHeader]
    states: Any
    shifted: Any
    times: Any  # of the points
    sigmas: Any
    log: Any


def state_sizes(table: Table):
    """Return the lengths of the arrays of a `PassageState`."""
    size, n = input_size(table), table.nq + table.nv
    return PassageState(facts=STATE_HEADER, x=size, slope=n, left=table.nc, right=table.nv)


def state_width(table: Table):
    """Return the number of entries of a `PassageState`."""
    width = 0
    for size in state_sizes(table):
        width += size
    return width


def measure_sizes(table: Table):
    """Return the lengths of the arrays of a `Measure`."""
    return Measure(sigma=1, change=1, largest=1, left=table.nc, right=table.nv)


def log_width(table: Table):
    """Return the number of entries of a row of the log."""
    return LOG_HEADER + table.nq + table.nv


def passage_sizes(table: Table, room: int):
    """Return the lengths of the arrays of `PassageArray` with ``room`` rows in its log."""
    return PassageArray(
        header=HEADER, states=4 * state_width(table), shifted=input_size(table), times=POINTS,
        sigmas=POINTS, log=room * log_width(table),
    )  # fmt: skip


def passage_array(table: Table):
    """Return the arrays at ``table.passage``."""
    return view_fields(table.passage, passage_sizes(table, 0))


def state_of(table: Table, passages: PassageArray, k: int):
    """Return the k-th of the four states of a `PassageArray`."""
    return view_fields(passages.states + k * state_width(table), state_sizes(table))
