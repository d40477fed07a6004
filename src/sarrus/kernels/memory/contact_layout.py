"""Table of contacts, stops and dry friction for the kernels of runs, with the stored end of the last step.

The rows are, in this order: rows of contacts, the normal row first; one row for each length with dry friction; one row
for each stop; one row for each joint
with dry friction; rows of contacts between geometries found in this step. Contacts, stops and found contacts are
unilateral and have gaps; dry friction has none.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory import geometry_layout as cl
from sarrus.kernels.memory.batch_layout import LANES
from sarrus.kernels.memory.impact_layout import StepImpact
from sarrus.kernels.memory.record import Floats, Integers, Record, view_fields

# Numbers of a `Conditioning`; `sarrus.kernels.memory.layout`, which has them too, needs this module.
N_CONDITIONING = 3


# Modes of a contact in a smooth phase of a run by events; stops stick, dry friction sticks or slides.
OPEN, STICKING, SLIDING = 0, 1, 2
# Ends of parts of steps that are known, and the number of the slot that is room.
PARTIAL = 4
ROOM = 2 + PARTIAL


class ContactSettings(Record):
    """Tolerances and sizes of a run with contacts."""

    # gaps [m] and speeds [m/s] of `sarrus.kernels.contact.tolerances`, of rotations times ``scales``
    closed: float  # gap up to which an approaching contact is closed
    at_bound: float  # gap up to which a contact at rest is closed
    stick_speed: float  # speed below which a contact sticks
    rest_speed: float  # speed after an impact below which no contact or stop of a translation rebounds [m/s]
    rest_turn: float  # and no stop of a rotation [rad/s]
    force: float  # about the size of the forces [N]
    step_start: float  # when the step, or the part of one, began that was tried last [s]
    length: float  # how long it is [s]
    answered: float  # when that began whose forces are known [s]
    answered_length: float  # how long that is [s]
    power: float  # of all forces at the last acceleration of a smooth phase [W]
    loss: float  # energy that was taken before the present phase [J]
    slow_speed: (
        float  # speed below which the direction of friction in a smooth phase is not that of the slip [m/s]
    )
    bounced: float  # energy that the last impact of a single block took [J]
    event_slack: float  # how many times what counts as zero is larger than where margins are exact


class TouchingElements(Record, of=int):
    """Functions, numbers and coefficients of contacts, stops and dry frictions."""

    gaps: int  # native: gaps of the contacts
    motion: int  # native: at x the velocities of their rows, the bias of their derivatives, and their rows
    inner: int  # the kernel for accelerations without contacts
    slope: int  # native: (q̇, a, conditioning) of several states at once, where there is no ``response``, or 0
    n_factors: int  # number of factors that ``response`` of the system takes, 0: there is none
    solver: int  # the kernel of the contact problem
    contacts: int
    contact_rows: (
        int  # of contacts, and of dry friction along lengths: the rows that the native functions return
    )
    stops: int
    dry: int
    dry_lengths: (
        int  # of the dry frictions, the first ones act along lengths of tendons; rows after those of contacts
    )
    sizes: Integers  # rows of each unilateral one
    first_rows: Integers  # the normal row of each
    widths: Integers  # of each row that is there in every step: how many rows its friction is in, with itself
    coordinates: Integers  # of each stop
    speeds: Integers  # velocity of each stop, then of each joint with dry friction
    signs: Floats  # of each stop: the gap is sign × (coordinate − bound)
    scales: Floats  # of each stop, then of each joint with dry friction: 1 for translations, 1 rad over the length else
    bounds: Floats  # active bound of each stop; follows a coordinate that began beyond its limit
    given_bounds: Floats  # bound of each stop in the model
    ends: Floats  # coordinates at the end of the last step, in C, where others may be given next
    friction: Floats  # coefficient of each unilateral one that slides
    static: Floats  # and of each that sticks; inf: a contact that pushes sticks whatever the friction
    limits: Floats  # of each dry friction
    restitution: Floats  # of each unilateral one


class ContactTable(TouchingElements, of=int):
    """Contacts, stops and dry friction of a run, with the stored forces and gaps of the last steps."""

    settings: Annotated[Any, ContactSettings]
    slots: Floats  # see `Slot`: what a step begins with, the end of a whole one, those of parts in turn, and room
    kept: Floats  # copy of the slots during trial steps
    turn: int  # which of these was the last
    problem: Annotated[Any, cp.ContactProblem]
    impact: Annotated[Any, StepImpact]  # where contacts have Poisson's law, or none
    work: Floats
    geometry: Annotated[Any, cl.GeometryTable]  # geometries that may touch
    more_rows: int  # largest number of rows of contacts between geometries
    more_contacts: int
    found: int  # number of contacts between geometries in this step
    log: Floats  # what is recorded of these: `sarrus.kernels.memory.geometry_layout.StoredContact` behind the time
    logged: int  # how many
    failed: int  # failure of a step: NOT_SOLVED, NO_ROOM or 0
    given: int  # 1 where impulses that solve it are known: see ``answer``
    divides: int  # 1 where steps are known to be divided
    # of smooth phases, see `sarrus.kernels.integrate.contact_modes`
    projection: int  # the kernel that projects without contacts
    held_gaps: (
        int  # native: gaps of held contacts, beyond the borders of their places too; 0: no place has a border
    )
    borders: int  # native: at most 0 where the place of a contact is there; a closed contact opens at 1
    hurry: int  # native: 1 over the length of a step in which no place comes and goes [1/s]
    modes: Integers  # of each contact, stop and dry friction
    n_active: int  # how many of these there are that are closed, or dry
    directions: (
        Floats  # of each row with friction: of the unit vector along which a contact slides, or a sign
    )
    forces: Floats  # force on each row at the last acceleration [N, N m]
    start_forces: Floats  # forces where the phase began, to which redundant ones stay as near as they can
    lightness: Floats  # of each velocity: the diagonal of M⁻¹, about
    # of implicit methods in smooth phases, see `sarrus.kernels.integrate.mode_tangent`
    tangent: int  # native: derivatives of the rows of contacts, see `PhaseTangent`
    derived: Floats  # room, see there


# Marks of contacts and stops in ``ContactWork.active``; 0: not active.
ACTIVE, REBOUNDS, LEAVING = 1.0, 2.0, 3.0

# Failures of a step: a contact problem was not solved; there is no room for the contacts found.
NOT_SOLVED, NO_ROOM = 1, 2


class SlotFacts(Record):
    """Time, length and energy at the end of a step."""

    time: float  # when that was
    length: float  # of the step; 0: there is nothing
    loss: float  # energy that contacts, stops and friction took up to then [J]
    residual: float  # largest one of the contact problems up to then
    power: float  # of their forces then, in a smooth phase [W]
    kept: float  # contacts between geometries


N_FACTS = len(SlotFacts.fields)


class Slot(NamedTuple):
    """Arrays stored at the end of a step: forces, contacts and facts."""

    facts: Annotated[Any, SlotFacts]
    forces: Any  # of all rows [N, N m], impulses over the length of the step
    lasting: Any  # forces of contacts closed before the step, zero for contacts closed in it
    applied: Any  # generalized force of the lasting forces
    kept: Any  # contacts between geometries: `sarrus.kernels.memory.geometry_layout.StoredContact`


def row_count(contact_table: ContactTable):
    """Return the largest number of rows, with all rows of found contacts for which there is room."""
    return fixed_rows(contact_table) + contact_table.more_rows


def fixed_rows(contact_table: ContactTable):
    """Return the number of rows that exist in every step: contacts, stops and dry friction."""
    return contact_table.contact_rows + contact_table.stops + contact_table.dry - contact_table.dry_lengths


def row_of_dry(contact_table: ContactTable, d: int):
    """Return the row of dry friction d: along a length after the rows of contacts, of a joint after those of stops."""
    row = contact_table.contact_rows - contact_table.dry_lengths + d
    return row if d < contact_table.dry_lengths else row + contact_table.stops


def dry_of_row(contact_table: ContactTable, row: int):
    """Return the number d of the dry friction with a row, see `row_of_dry`."""
    d = row - contact_table.contact_rows + contact_table.dry_lengths
    return d if row < contact_table.contact_rows else d - contact_table.stops


def event_function_count(contact_table: ContactTable):
    """Return the number of event functions: gaps or normal forces, stick or slip of contacts, and dry friction."""
    return 2 * contact_table.contacts + contact_table.stops + contact_table.dry


def lasting_contacts(contact_table: ContactTable):
    """Return the number of contacts and stops that exist in every step; contacts found in a step come after them."""
    return contact_table.contacts + contact_table.stops


def unilateral_count(contact_table: ContactTable):
    """Return the number of contacts and stops in this step, with the contacts found in it."""
    return contact_table.contacts + contact_table.stops + contact_table.found


def slot_sizes(contact_table: ContactTable, nv: int):
    """Return the lengths of the arrays of a slot."""
    rows = row_count(contact_table)
    return Slot(
        facts=N_FACTS, forces=rows, lasting=rows, applied=nv, kept=contact_table.more_contacts * cl.N_KEPT
    )


def slot_size(contact_table: ContactTable, nv: int):
    """Return the number of entries of a slot."""
    length = 0
    for size in slot_sizes(contact_table, nv):
        length += size
    return length


def slot(contact_table: ContactTable, nv: int, k: int):
    """Return the arrays of the k-th slot."""
    return view_fields(contact_table.slots + k * slot_size(contact_table, nv), slot_sizes(contact_table, nv))


class ContactWork(NamedTuple):
    """Arrays of the contact problem of a step."""

    middle: Any  # an x
    free: Any  # acceleration without contacts, in the middle
    smooth: Any  # acceleration with the forces of contacts that were closed before
    ahead: Any  # velocity at the end
    first: Any  # velocity at the end by the first pass
    way: Any
    scratch: Any
    native: Any  # output of ``motion``: velocities, bias, rows
    gap: Any  # of each unilateral row, where the step begins
    after: Any  # and where it ends
    known: Any  # of each row, whether its compliance column is known
    active: Any  # of each contact and stop: `ACTIVE`, `REBOUNDS`, `LEAVING` (behind an impact), or 0
    forecast: Any  # of those that are open, the gap at the end over the length of the step, as it is without contacts
    delay: Any  # time until it closes
    rebound: Any  # of each row, the part of its velocity that restitution adds
    response: Any  # acceleration by a unit force on each row, with the friction that goes with it
    drag: Any  # of each row, its friction over the normal force where that slides in a smooth phase
    states: Any  # of several states at once, or factors and several forces; and what is found for them
    slopes: Any
    velocity: Any  # of each row without contacts
    begin: Any  # impulse of each row in the first pass
    # of the rows that take part
    which: Any
    owner: Any  # the unilateral one that each belongs to, −1: dry friction
    answer: Any  # impulses that solve a part of a step at which the kernel has failed, of all rows
    assembled: Any  # how many they were when W was found
    lasts: Any  # whether the row was closed before, without an impact
    delassus: Any
    given: Any
    turn: Any  # part of these: the turn of the row from the middle to the end
    numbers: Any
    impulses: Any
    matrix: Any
    inverse: Any
    left: Any
    solver: Any


def contact_sizes(contact_table: ContactTable, nq: int, nv: int, size: int):
    """Return the lengths of the arrays of the contact problem of a step; ``size`` is the length of x."""
    rows, unilateral = row_count(contact_table), lasting_contacts(contact_table) + contact_table.more_contacts
    blocks = (
        unilateral + contact_table.dry + contact_table.contacts
    )  # tangential rows may be blocks of their own
    dense = rows if contact_table.more_rows == 0 else min(rows, cp.MANY)
    responses = rows * nv if contact_table.more_rows == 0 else 0
    solver = 0
    for part in cp.contact_sizes(rows, blocks, dense * dense):
        solver += part
    return ContactWork(
        middle=size, free=nv, smooth=nv, ahead=nv, first=nv, way=nv, scratch=size + nq + 1,
        native=contact_table.contact_rows * (2 + nv) + 1, gap=unilateral, after=unilateral, known=rows,
        active=unilateral, forecast=unilateral, delay=unilateral, rebound=rows,
        response=responses, drag=rows, states=LANES * max(size, contact_table.n_factors + nv),
        slopes=LANES * (nq + nv + N_CONDITIONING),
        velocity=rows, begin=rows, which=rows, owner=rows, answer=rows, assembled=1, lasts=rows,
        delassus=max(dense * dense, rows), given=rows, turn=rows, numbers=blocks, impulses=rows, matrix=dense * dense,
        inverse=dense * dense, left=rows, solver=solver,
    )  # fmt: skip


def contact_work(contact_table: ContactTable, nq: int, nv: int, size: int):
    """Return the arrays of a step, views of ``contact_table.work``."""
    return view_fields(contact_table.work, contact_sizes(contact_table, nq, nv, size))


class PhaseTangent(NamedTuple):
    """Arrays of the linear model of a smooth phase.

    After ``input`` follows the output of ``tangent`` for forces f on contact rows and an acceleration a: the
    derivatives of Hᵀ f, of H a + Ḣ v and of the row velocities H v, by displacements and time (_q), and by v (_v).
    """

    input: Any  # [x | a | f]
    force_q: Any
    bias_q: Any
    bias_v: Any
    slip_q: Any
    # derivatives of the power of all forces along (y, η, t), that power, and the stages of its integral
    spent: Any
    power: Any
    stages: Any
    steered: Any  # number of a contact
    particular: Any  # a change of the acceleration, and the one by forces on held rows
    turned: Any
    # of a direction that is found with all that is held: Newton's matrix, its inverse, and the direction
    newton: Any
    steering: Any
    direction: Any
    # changes along one coordinate: of the velocities and drags of all rows, of accelerations and forces of held ones
    speeds: Any
    drag: Any
    bias: Any
    forces: Any
    left: Any


def tangent_sizes(contact_table: ContactTable, table: Any, size: int):
    """Return the lengths of the arrays of `PhaseTangent`; ``size`` is the length of x."""
    nv, own, rows = table.nv, contact_table.contact_rows, row_count(contact_table)
    square = rows * rows
    return PhaseTangent(
        input=size + nv + own, force_q=nv * (nv + 1), bias_q=own * (nv + 1), bias_v=own * nv,
        slip_q=own * (nv + 1), spent=2 * nv + 1, power=1, stages=table.n_implicit_stages, steered=1, particular=nv,
        turned=nv, newton=square, steering=square, direction=rows,
        speeds=rows, drag=rows, bias=rows, forces=rows, left=rows,
    )  # fmt: skip


def phase_tangent(contact_table: ContactTable, table: Any, size: int):
    """Return the arrays of the linear model of a smooth phase, views of ``contact_table.derived``."""
    return view_fields(contact_table.derived, tangent_sizes(contact_table, table, size))
