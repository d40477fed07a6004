"""Table of the contact problem on accelerations at one state, and its answer (`kernels.contact.state_forces`)."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.contact_layout import ContactTable
from sarrus.kernels.memory.record import Floats, Integers, Record, view_fields

# What is asked of a block: what its state says; that it takes no part; that it slides along its direction. Runs by
# events, which know what was before, ask one of these of each block or one of two more: that it touches and has no
# slip, whatever its gap and velocity are; and that it does not slide at a dead centre either.
NOTHING, LEFT_OUT, SLIDES_ALONG, RESTS, STAYS = 0, 1, 2, 3, 4
# Ends of a call: nothing acts; forces were found; a contact is deep below its plane; a contact approaches; the
# accelerations are not finite; M has no factor, so that level 1 is needed, with ``lightness`` in the table of contacts.
IDLE, FOUND, DEEP, CLOSING, NOT_FINITE, NO_FACTOR = 0, 1, 2, 3, 4, 5
# Further ends of `kernels.states.choices`: no finite forces let a contact slide on; no forces were found that obey the
# laws; no choice of flanks keeps all from closing; no acceleration does, which the forces in the answer prove.
IMPOSSIBLE, NOT_SOLVED, NO_CHOICE, NO_MOTION = 6, 7, 8, 9
# Levels of `kernels.states.choices` in a run by events, which has asked something of each block: M must have a factor;
# compliances are differences of accelerations where it has none.
IN_RUN, IN_RUN_BY_DIFFERENCES = 2, 3


class StateContacts(Record, of=int):
    """Contacts, stops and dry friction at one state. Blocks are contacts, then stops, then dry frictions."""

    contact_table: Annotated[Any, ContactTable]
    asked: Integers  # of each block: NOTHING, LEFT_OUT or SLIDES_ALONG
    units: Floats  # of each block: the characteristic length [m], or 1 rad
    reach: Floats  # of each contact and stop: the largest gap that counts as closed
    order: Integers  # room for a permutation
    answer: Floats  # see `StateAnswer`
    room: Floats  # see `StateRoom`


class StateChoices(StateContacts, of=int):
    """A state with what `kernels.states.choices` needs in addition."""

    forces: int  # the kernel of forces
    motion: int  # ``motion`` of the table of contacts; with contacts of a narrow phase a function of Python, 0: no rows
    opposites: Integers  # of each block: its opposite flank, −1 without one
    pairs: Integers  # room: the first flank of each pair of closed opposite flanks
    firsts: Integers  # room: of each pair, 1 if the second flank is left out first
    failed: Integers  # room: of each block, what was asked where the laws did not hold first


class StateFacts(Record):
    """What was found at a state."""

    rows: float  # of blocks that may stick, slide or open
    blocks: float  # how many these are
    at_fault: float  # block that is deep, or that approaches first
    speed: float  # with which it approaches [m/s, rad/s]
    gap: float  # of a block that is deep [m], or how an acceleration penetrates the block at fault
    residual: float  # largest violation of the laws
    largest: float  # acceleration of these rows without forces, at least STEADY [units/s²]
    at_rest: float  # 1 if a block that sticks and has friction neither moves nor is moved by forces
    still: float  # speed that counts as zero [units/s]


N_FACTS = len(StateFacts.fields)


class StateAnswer(NamedTuple):
    """Forces at a state, and the problem: its rows are those of blocks that may stick, slide or open, in units."""

    facts: Annotated[Any, StateFacts]
    modes: Any  # of each block of the model
    friction: Any  # of each block of the model: the coefficient that acts
    going: Any  # of each block of the model: 1 if it slides, 2: dry friction that does, −1: at a dead centre
    start: Any  # of each block of the model: its first row in the problem, −1: it is not there
    ambiguous: (
        Any  # of each block of the model: 1 if the laws leave forces open on which the acceleration depends
    )
    forces: Any  # of all rows of the model [N, N m]
    directions: Any  # of all rows of the model: of slip
    force: Any  # generalized force of all of them
    given: Any  # accelerations of the rows of the problem without forces
    delassus: Any  # its W, m × m


def answer_sizes(contact_table: Any, rows: Any, nv: Any) -> Any:
    """Return the lengths of the arrays of the answer, for up to ``rows`` rows."""
    blocks = contact_table.contacts + contact_table.stops + contact_table.dry
    return StateAnswer(
        facts=N_FACTS, modes=blocks, friction=blocks, going=blocks, start=blocks, ambiguous=blocks,
        forces=rows, directions=rows, force=nv, given=rows, delassus=rows * rows,
    )  # fmt: skip


class StateRoom(NamedTuple):
    """Work arrays of the problem of one state; its unknowns are fewer than its rows: one for a block that slides."""

    hats: Any  # of each row of the problem: P L⁻ᵀ Jᵀ, its row in coordinates of the kinetic metric
    light: Any  # of each row: its compliance without constraints
    unknowns: Any  # row of each unknown
    block_of: Any  # block of the model of each block of the problem
    scaled: Any  # forces on the rows, in units
    speeds: Any  # accelerations of the rows with them
    best: Any  # forces that are kept while others are tried
    normals: Any  # rows of the normal forces of contacts
    lifted: Any  # of each row: 1 if it is the normal row of a contact that would have to pull on springs
    known: Any  # forces that the modes give
    ways: Any  # direction of each unknown of the modes, by rows of the problem
    held: Any  # row of each unknown of the modes that has no acceleration
    weights: Any  # of each row: its unit, then the unit in which forces are least
    sprung: Any  # W with these compliances
    square: Any
    vectors: Any  # 7 vectors of the factorization


def room_sizes(rows: Any, nv: Any) -> Any:
    """Return the lengths of the arrays of the room, for up to ``rows`` rows."""
    return StateRoom(
        hats=rows * nv, light=rows, unknowns=rows, block_of=rows, scaled=rows, speeds=rows, best=rows, normals=rows,
        lifted=rows, known=rows, ways=rows * rows, held=rows, weights=rows, sprung=rows * rows, square=rows * rows,
        vectors=7 * (rows + 1),
    )  # fmt: skip


def answer_of(x: Any, contact_table: Any, rows: Any, nv: Any) -> Any:
    """Return the arrays of the answer, views of ``x.answer``."""
    return view_fields(x.answer, answer_sizes(contact_table, rows, nv))


def room_of(x: Any, rows: Any, nv: Any) -> Any:
    """Return the arrays of the room, views of ``x.room``."""
    return view_fields(x.room, room_sizes(rows, nv))
