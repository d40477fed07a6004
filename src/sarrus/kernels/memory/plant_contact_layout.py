"""Table of contacts, stops and dry friction of the plant of a law, for `sarrus.kernels.laws.plant_contacts`."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.record import Floats, Integers, Record, view_fields
from sarrus.kernels.memory.state_contacts_layout import StateContacts


class PlantTable(Record, of=int):
    """What a law knows of the contacts of its plant, and the tables that its kernel uses."""

    of_law: Integers  # table of the law without these contacts
    plain: int  # its kernel
    model: Integers  # table of the model, with its table of contacts
    state: Annotated[Any, StateContacts]
    run: Integers  # table of a run by events, whose modes the law takes; null: the state tells the modes
    off: int  # 1: no contacts take part, as in runs without them
    n_out: int  # length of the output of the native function of the law
    blocks: int  # contacts, stops and dry frictions
    rows: int  # of all of these
    told: int  # entries that tell about the levels
    hard: int  # levels of the law before the final soft ones
    opposite: Integers  # of each block: the opposite flank, of which at most one pushes; −1: none
    given: Floats  # `sarrus.kernels.memory.law_contact_layout.Physics` of the law without these contacts
    work: Floats


# Levels of a law that keep rows at rest: gaps and places on planes, before soft levels; joints with dry friction.
RESTS = 3

# What a block does: nothing is decided, it is open, its rows do not accelerate, it slides along its direction.
UNDECIDED, OPEN, HELD, SLIDING = 0, 1, 2, 3


class PlantFacts(Record):
    """What a law found about the contacts of its plant at a state."""

    acts: float  # 1 if any block takes part
    code: float  # of `sarrus.kernels.contact.state_problem.sort_blocks`
    at_fault: float  # block that is deep or approaches
    speed: float  # with which it approaches [m/s, rad/s]
    active: float  # blocks that may stick, slide or open
    unsettled: float  # 1 if no modes were found with which the law and the laws of contact agree
    rounds: float  # solutions of the law until the modes agreed
    force_root: float  # unit of forces
    zero: float  # acceleration that counts as zero [units/s²]


N_FACTS = len(PlantFacts.fields)


class PlantRoom(NamedTuple):
    """Arrays of the contacts of the plant; blocks are those of `StateContacts`, rows those of active blocks."""

    facts: Annotated[Any, PlantFacts]
    modes: Any  # of each block of the model
    pressed: (
        Any  # of each block of the model: 1 if the demands press it, so that it keeps them from being met
    )
    block_of: Any  # block of the model of each active block
    unknown: Any  # first unknown of each active block, −1: none
    directions: Any  # of each row: of slip, or the sign of dry friction
    beyond: (
        Any  # of each block of the model: mode in another try, where its law does not allow the force; or 0
    )
    forces: Any  # of each row: its force in the solution without the laws of contact
    retried: Any  # of each row: direction of slip in another try
    first_modes: Any  # of each block of the model, at the first try
    misses: Any  # of each level at the first try
    rests: Any  # where the next row of each of the last levels goes
    rates: Any  # of each row: its acceleration
    bias: Any  # of each row
    acceleration: Any  # nv
    slid: Any  # nv: force of dry friction that slides at the state
    force: Any  # nv: forces without actuators and contacts
    nearest: Any  # controls without the blocks that the demands press
    rows: Any  # rows × nv


def plant_sizes(plant: Any, nv: Any, actuators: Any) -> Any:
    """Return the lengths of the arrays of `PlantRoom`."""
    rows, blocks = plant.rows, plant.blocks
    return PlantRoom(
        facts=N_FACTS, modes=blocks, pressed=blocks, block_of=blocks, unknown=blocks, directions=rows,
        beyond=blocks, forces=rows, retried=rows, first_modes=blocks, misses=plant.told, rests=RESTS, rates=rows,
        bias=rows, acceleration=nv, slid=nv, force=nv, nearest=actuators, rows=rows * nv,
    )  # fmt: skip


def plant_room(plant: Any, nv: Any, actuators: Any) -> Any:
    """Return the arrays of `PlantRoom`, views of ``plant.work``."""
    return view_fields(plant.work, plant_sizes(plant, nv, actuators))
