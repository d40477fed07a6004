"""State of a run, its records and how a call ends: shared by Python and the loop `sarrus.kernels.integrate.run`."""

from __future__ import annotations

from sarrus.kernels.memory.record import Record

# How a call of `advance` ended. The numbers of failures are those of `sarrus.base.status.Status`.
RUNNING, RENEW_CHART, OTHER_METHOD, DONE = -1, -2, -3, 0
ILL_POSED, NOT_FINITE, STEP_TOO_SMALL, PROJECTION_FAILED, EVENT, CONTROL_FAILED = 5, 6, 7, 8, 10, 11
STEP_LIMIT, UNSTABLE_STEP = 20, 22
NOT_INVARIANT = 26
NOT_CONVERGED = 16  # a contact problem

# Whether an event stops a run, in the modes of events: 0 no, 1 yes, and for margins of gaps where the gap is zero.
GAP = 2.0

# Columns of a record after t, q, v, a, u, λ.
ENERGY, RANK, LARGEST, SMALLEST, RESIDUAL, CONDITION = 0, 1, 2, 3, 4, 5
N_FACTS = 6


class Steps(Record):
    """State of the time loop between two calls."""

    step: float  # [s]
    steps: float  # accepted
    rejected: float
    unrecorded: float  # steps since the last record; −1: nothing is recorded yet
    start: float  # where fixed steps are counted from
    factor: float  # largest growth of the step size
    logged: float  # crossings in the event log
    largest_pivot: float  # the smallest pivot, at its largest
    last_pivot: float  # relative to that, where the last step began and where it ended
    next_pivot: float
    last_step: float
    tried_error: float  # of the last attempt across a singular configuration
    blocked: float  # 1 if the last attempt was rejected
    split: float  # 1 if redundant rows are inconsistent at the stages
    keep_last: float  # 1 if the end is recorded
    tries: float  # rejections of the present step
    grid_start: float
    grid_next: float  # number of the next record on the grid, or in the list of times


class Request(Record):
    """Arguments of one call of the time loop, and the number of records it wrote."""

    end: float  # time to stop at
    grid: float  # interval of a grid of records, 0: none
    every: float  # steps from one record to the next
    relative: float  # tolerances and limits of adaptive steps
    absolute: float
    longest: float
    shortest: float
    power: float  # of the error in the choice of a step
    between: float  # middle of the widest gap between the stages, as a fraction of the step
    filled: float  # records written
    # samples of a control law
    period: float  # 0: none, the law acts at all times
    samples: float
    first_sample: float  # its time
    delay: float  # samples until the controls reach the actuators


class Run(Steps, Request):
    """The state of a run: the array at ``table.run``."""

    # stiffness, see `sarrus.kernels.integrate.stiffness`
    threshold: float  # h |λ| above which an explicit method hands over, or below which an implicit one does; 0: neither
    hints: float  # steps that favour the other method
    doubts: float  # steps in a row that do not
    unstable: float  # fixed steps in a row that were unstable
    unstable_error: float  # of the last one
    unstable_since: float  # time of the first instability [s], infinite: none
    unstable_size: float  # h |λ| at this time
    most_steps: float  # accepted and rejected, at which to stop
    pause: float  # accepted and rejected, at which a call comes back so that interrupts have their turn
    next_look: (
        float  # accepted and rejected, at which the state is noted at ``table.looks``; infinite: never again
    )
    looked: float  # states noted there
    # solves that were looked at, a `Status` each: the last one where it was no full answer, and two in a row
    doubtful: float
    unsound: float
    doubtful_since: float  # time of the first one of them [s]
    n_times: float  # at ``table.times``, at which records are wanted
    stretch: float  # number of the present one of those at ``table.stretches``
    n_stretches: float  # how many there are
    before_event: float  # where the next step has to end, before a declared event [s]


N_STATE = len(Run.fields)
