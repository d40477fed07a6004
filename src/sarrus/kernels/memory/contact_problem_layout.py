"""Table of a contact problem for its kernel (`sarrus.kernels.contact.contact_problem`): a record of integers."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.record import Floats, Integers, Record, view_fields

# Most rows of a block: normal, two tangents, torsion, two of rolling.
WIDEST = 6
# Outcomes of a contact problem.
SOLVED, UNSOLVED = 0, 1
# Largest number of rows of an island for a dense W, and for cone programs as a fallback of Newton's method.
MANY = 96
# Added to the level of a call for a rough solution, with a residual of `ROUGH_RESIDUAL`.
ROUGH = 1000


class Parts(Record, of=int):
    """Rows stored in parts, for problems too large for a dense W: see `sarrus.kernels.memory.geometry_layout`."""

    count: int  # rows
    rows: Floats  # number of each row
    parts: Floats
    compliance_column: Floats
    shared: Floats
    starts: Integers
    widest: int
    components: int
    velocities: int
    room: int  # rows and components that there is room for
    room_components: int
    work: Floats


class PartsWork(NamedTuple):
    """Arrays of a contact problem with rows stored in parts."""

    known: Any  # number of blocks of rows of the pattern that is known; whether W of each block of rows is
    count: Any  # number of components, and of numbers of the matrix
    joined: Any  # components of each block of rows, −1: none
    turn: Any  # of each component, −1: not among these
    members: Any  # component of each turn
    place: Any
    degree: Any  # how many blocks each row has behind its diagonal
    near: Any
    graph: Any
    slots: Any  # where each block begins in the matrix
    behind: Any  # columns of the blocks behind the diagonal
    own: Any  # parts of rows, scaled
    compliance_column: Any
    speed: Any  # velocities
    slopes: Any  # D of each block of rows
    delassus: Any  # W of each block of rows
    inverse: Any
    product: Any
    rest: Any
    small: Any
    matrix: Any


def parts_sizes(parts: Parts):
    """Return the lengths of the arrays of a contact problem with rows stored in parts."""
    n, w, rows = parts.room_components, parts.widest, parts.room
    wide = max(w, WIDEST)
    return PartsWork(
        known=2, count=2, joined=2 * rows, turn=n, members=n, place=n, degree=n, near=n, graph=n * n, slots=n * n,
        behind=n * n, own=2 * rows * w, compliance_column=2 * rows * w, speed=parts.velocities, slopes=rows * WIDEST,
        delassus=rows * WIDEST, inverse=rows * WIDEST, product=wide * wide, rest=wide * wide, small=2 * WIDEST,
        matrix=parts.velocities * parts.velocities,
    )  # fmt: skip


def parts_work(parts: Parts):
    """Return the arrays of a problem by parts, views of ``parts.work``."""
    return view_fields(parts.work, parts_sizes(parts))


class ContactProblem(Record, of=int):
    """Problem for forces r and velocities u = W r + b of blocks of rows: contacts (cones), then dry friction."""

    rows: int  # m
    blocks: int
    contacts: int  # the first blocks
    sizes: Integers  # rows of each block
    numbers: Floats  # μ of contacts, limits of dry friction
    delassus: Floats  # W (m × m), symmetric; of a sparse problem its diagonal
    sparse: int  # 1 if rows are stored in parts
    lenient: int  # 1 if cone programs have failed, too
    parts: Annotated[Any, Parts]
    velocities: Floats  # b
    turn: Floats  # part of b that need not agree between rows, see `sarrus.kernels.contact.inconsistent_drift`; or none
    forces: Floats  # initial r, then the solution
    work: Floats


class ContactFacts(Record):
    """Residual and counts of a solution, at the start of the workspace."""

    residual: (
        float  # largest entry of r − P_K(r − u − μ ‖u_t‖ n) over the largest of b and r, in units of the rows
    )
    steps: float  # of Newton's method
    sweeps: float  # over all blocks
    redundant: float  # 1 if active rows are redundant


N_FACTS = len(ContactFacts.fields)


class ContactWorkspace(NamedTuple):
    """Workspace of a contact problem with m rows, scaled so that b and the rows of a block are of size one."""

    facts: Annotated[Any, ContactFacts]
    factors: Any  # of each row
    delassus: Any
    velocities: Any
    turn: Any
    numbers: Any  # of each block
    forces: Any
    speeds: Any  # u
    gap: Any  # F = r − P_K(…)
    way: Any
    ahead: Any
    ahead_speeds: Any
    ahead_gap: Any
    best: Any
    kept: Any
    matrix: Any
    shifted: Any
    small: Any  # two matrices and two vectors of a block
    active: Any  # rows of blocks that may have forces, in turn


def contact_sizes(m: int, blocks: int, whole: int):
    """Return the lengths of the arrays of the workspace; ``whole`` is m² for a dense W, 0 for rows in parts."""
    return ContactWorkspace(
        facts=N_FACTS, factors=m, delassus=whole, velocities=m, turn=m, numbers=blocks, forces=m, speeds=m, gap=m,
        way=m, ahead=m, ahead_speeds=m, ahead_gap=m, best=m, kept=m, matrix=whole, shifted=m,
        small=2 * WIDEST * (WIDEST + 1), active=m,
    )  # fmt: skip


def contact_workspace(work: Floats, m: int, blocks: int, whole: int):
    """Return the arrays of the workspace of a contact problem with m rows, views of ``work``."""
    return view_fields(work, contact_sizes(m, blocks, whole))
