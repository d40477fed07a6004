"""Table of a batch of runs, shared by Python and the kernels that step through them.

Run k of a batch has row k of every array here. Each thread has its own table, and computes the runs from ``first`` to
before ``last``.
"""

from __future__ import annotations

from typing import Annotated, Any

from sarrus.kernels.memory.record import Floats, Integers, Record
from sarrus.kernels.memory.run_state import N_FACTS


class Times(Record):
    """Times of a batch [s]: start, end, interval of the inputs, step."""

    begin: float
    end: float
    hold: float  # length of an interval of the inputs
    step: float


class ContactBatch(Record, of=int):
    """Functions and sizes of time stepping side by side (see `sarrus.motion.loop.contact_lane_functions`)."""

    stage: int
    start: int
    forecast: int
    more: int
    gaps: int
    motion: int
    speeds: int
    moved: int
    slots: Integers  # numbers of slots of each size of contact problem: contacts, unilateral rows
    problems: Integers  # functions of each size: `COLUMNS` … `CLOSING`
    n_sizes: int
    most_contacts: int  # slots of the largest size
    most_single: int
    dry: int  # slots of dry friction, in problems of every size
    n_factors: int  # of ``stage``
    contact_work: Floats  # see `sarrus.kernels.memory.lane_layout.ContactLanes`


class BatchTable(ContactBatch, of=int):
    """Functions, arrays and sizes of a batch of runs."""

    advance: int  # the kernel `sarrus.kernels.integrate.run.advance`
    first: int  # runs to do
    last: int
    # what they share
    times: Annotated[Any, Times]
    template: Floats  # the state of a run before it begins
    # per run
    states: Floats  # x, from start to end (runs × size of x)
    outcomes: Floats  # runs × N_OUTCOME
    bounds: Floats  # of the stops that act (runs × stops), see `sarrus.kernels.memory.contact_layout.ContactTable`
    inputs: Floats  # controls that are held (runs × intervals × nu)
    n_intervals: int
    samples: Floats  # runs × n_samples × width; one: the last
    n_samples: int  # 0: none are recorded
    # folds of the samples of each run (runs × width)
    least: Floats
    greatest: Floats
    total: Floats
    squares: Floats
    block: Floats  # room to record in
    room: int  # and its number of rows
    # of runs that step side by side: straight-line functions (see `sarrus.motion.loop.lane_functions`)
    slope: int
    closed: int
    control: int  # 0: none
    work: Floats  # see `sarrus.kernels.memory.lane_layout`
    steps: int  # in all
    steps_held: int  # of one interval of the inputs
    every: int  # from one sample to the next
    stop: Floats  # not 0: an interrupt ends all runs


class Outcome(Record):
    """Outcome of one run: its end code, time and counts."""

    code: float  # see `run_state`
    reached: float  # time
    accepted: float  # steps
    rejected: float
    sampled: float  # samples made


CODE, REACHED, ACCEPTED, REJECTED, SAMPLED = range(len(Outcome.fields))
N_OUTCOME = len(Outcome.fields)


class Start(Record):
    """Rank and conditioning of a start, written by `prepare` to its outcome; pivots are relative to the largest."""

    gap: float  # open loops
    slip: float
    projected: float  # whether it could be
    smallest: float  # pivot of the projected state at the generic rank
    beyond: float  # and the first beyond it


GAP, SLIP, PROJECTED, SMALLEST, BEYOND = range(len(Start.fields))

# Runs side by side, the same on all machines, so that results are. Registers hold 2, 4 or 8 numbers; more than one
# register at a time hides the time that an operation takes.
LANES = 8
# Functions of each size of contact problem, see `sarrus.symbolic.equations.contact_lanes`.
COLUMNS, PUSH, SCALED, SWEEP, NEWTON, SHARING, CLOSING = range(7)
N_PROBLEM = 7
# [steps] Interval at which interrupts are checked.
LOOK_EVERY = 4096
# Number of rows of a stretch that one lane computes alone.
STRETCH = 34


def record_width(table: Any):
    """Return the number of columns of a record."""
    return 1 + table.nq + 2 * table.nv + table.nu + table.nc + N_FACTS
