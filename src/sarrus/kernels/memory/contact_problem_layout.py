"""Table of a contact problem for its kernel (`sarrus.kernels.contact.contact_problem`): a record of integers."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.record import Floats, Integers, Record, view_fields

# Most rows of a block: normal, two tangents, torsion, two of rolling.
WIDEST = 6
# Modes of a block, as in `sarrus.dynamics.contacts.contact_elements.Mode`.
OPEN, STICKING, SLIDING = 0, 1, 2
# Stages of a solution: the start, sweeps, Newton's method, the interior-point method and Newton's method from there.
START, SWEEPS, NEWTON, INTERIOR = 0, 1, 2, 3
# Outcomes of a contact problem.
SOLVED, UNSOLVED = 0, 1
# Largest number of rows of an island for a dense W.
MANY = 96
# Added to the level of a call for a rough solution, with a residual of `ROUGH_RESIDUAL`.
ROUGH = 1000
# In place of ``level``: forces that close gaps.
CLOSE = 2000
# Steps of Newton's method whose ‖F‖² a line search looks back on.
REMEMBERED = 8


class Parts(Record, of=int):
    """Rows in parts: components of velocities, the rows G in each, and the compliance K, one block for each.

    Rows come from one of three sources. A step has them in parts already (`sarrus.kernels.memory.geometry_layout`):
    ``rows`` to ``shared``. A table of nonzero entries, ``first`` to ``entries``, has the rows G, with K in
    ``compliance``; or, with ``whole`` = 1, W itself: each block of rows is a component then, with G = 1 and K = W.
    """

    rows: Floats  # number of each row of a step
    parts: Floats
    compliance_column: Floats
    shared: Floats
    first: Integers  # place of the first entry of each row, and of the end
    columns: Integers
    entries: Floats
    component: Integers  # of each column
    blocks: Integers  # place of K of each component in ``compliance``
    compliance: Floats  # the inertia, replaced by K, its inverse; or none: K is the identity
    inverted: int  # 1 if it has been replaced
    whole: int
    starts: Integers  # first velocity of each component, and the end
    widest: int
    components: int
    velocities: int
    room: int  # number of rows that there is room for
    room_links: int  # of links between blocks of rows and components
    room_entries: int  # of numbers of all links
    room_components: int
    work: Floats


class PartsWork(NamedTuple):
    """Arrays of a contact problem with rows stored in parts."""

    known: Any  # number of blocks of rows of the pattern that is known; whether W of each block of rows is
    count: Any  # number of components, and of numbers of the matrix
    first: Any  # first link of each block of rows, and the end: a link joins it to a component
    joined: Any  # component of each link
    seen: Any  # link of each component to the block of rows in turn
    row_place: Any  # place of the rows G of a link in ``own``, −1: zeros
    column_place: Any  # place of K Gᵀ of a link in ``compliance_column``, a line for each row
    turn: Any  # of each component, −1: not among these
    members: Any  # component of each turn
    place: Any
    degree: Any  # how many blocks each row has behind its diagonal
    near: Any
    graph: Any
    slots: Any  # where each block begins in the matrix
    behind: Any  # columns of the blocks behind the diagonal
    own: Any  # scaled
    compliance_column: Any
    speed: Any  # velocities
    slopes: Any  # D of each block of rows
    delassus: Any  # W of each block of rows
    inverse: Any
    product: Any
    rest: Any
    small: Any
    matrix: Any
    least: Any  # two vectors of velocities of the search for least forces, its right-hand side, its step
    pull: Any
    way: Any
    interior: Any  # `InteriorWork`: 10 vectors of m + blocks numbers, two more


def parts_sizes(parts: Parts):
    """Return the lengths of the arrays of a contact problem with rows stored in parts."""
    n, w, rows, links = parts.room_components, parts.widest, parts.room, parts.room_links
    wide = max(w, WIDEST)
    return PartsWork(
        known=2, count=2, first=rows + 1, joined=links, seen=n, row_place=links, column_place=links, turn=n, members=n,
        place=n, degree=n, near=n, graph=n * n, slots=n * n, behind=n * n, own=parts.room_entries,
        compliance_column=parts.room_entries, speed=parts.velocities, slopes=rows * WIDEST, delassus=rows * WIDEST,
        inverse=rows * WIDEST, product=wide * wide, rest=wide * wide, small=2 * WIDEST,
        matrix=parts.velocities * parts.velocities, least=2 * parts.velocities, pull=parts.velocities,
        way=parts.velocities, interior=22 * rows,
    )  # fmt: skip


class InteriorWork(NamedTuple):
    """Arrays of the interior-point method for m rows in blocks: a block of n rows has n + 1 numbers of each vector.

    x and z are forces and velocities in units in which their cones are ‖tails‖ ≤ head, with the Nesterov–Todd scaling
    by ``w`` and ``eta``, and λ.
    """

    x: Any
    z: Any
    w: Any
    lam: Any
    missed: Any  # velocities of the laws minus z
    target: Any  # right-hand side of the linearized laws
    dx: Any
    dz: Any
    scaled_dx: Any
    scaled_dz: Any
    eta: Any  # of each block
    slip: Any  # derivative of μ ‖u_t‖ by the velocities of each row


def interior_sizes(m: int, blocks: int):
    """Return the lengths of the arrays of the interior-point method."""
    n = m + blocks
    return InteriorWork(
        x=n, z=n, w=n, lam=n, missed=n, target=n, dx=n, dz=n, scaled_dx=n, scaled_dz=n, eta=blocks, slip=m
    )


def interior_work(parts: Parts, m: int, blocks: int):
    """Return the arrays of the interior-point method, views of ``parts.work``."""
    return view_fields(parts_work(parts).interior, interior_sizes(m, blocks))


def parts_work(parts: Parts):
    """Return the arrays of a problem by parts, views of ``parts.work``."""
    return view_fields(parts.work, parts_sizes(parts))


class ContactAsk(Record):
    """What is asked of an answer."""

    enough: float  # residual that ends the iterations, 0: rounding
    least: float  # 1: least forces where they are not unique


class ContactProblem(Record, of=int):
    """Problem for forces r and velocities u = W r + b of blocks of rows: contacts (cones), then dry friction."""

    rows: int  # m
    blocks: int
    contacts: int  # the first blocks
    sizes: Integers  # rows of each block
    numbers: Floats  # μ of contacts, limits of dry friction
    delassus: Floats  # W (m × m), symmetric; of a sparse problem its diagonal
    sparse: int  # 1 if rows are stored in parts
    dense: Floats  # W (m × m) of a problem with an ``ask`` and rows in parts, or none
    lenient: int  # 1 if the solver for answers has failed, too
    parts: Annotated[Any, Parts]
    velocities: Floats  # b
    ask: Annotated[Any, ContactAsk]  # what is asked for, or none
    interrupt: int  # kernel that returns 1 when the iterations shall end, or none
    modes: Floats  # of each block, written where there is an ``ask``
    change: Floats  # of the velocities of ``parts``, and velocities of the rows, where there is an ``ask``
    speeds: Floats
    free: Floats  # 1 for forces that are not unique, where there is an ``ask``
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
    stage: float  # the last one that found better forces
    largest: float  # largest force, in units of the rows
    fast: float  # size of b, in units of the rows
    stretch: float  # root of the trace of the scaled W of each block
    indefinite: float  # 1 if the inertia is not positive definite
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
    solved_forces: Any  # r and u of the last factorized matrix
    solved_speeds: Any
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
    squares: Any  # ‖F‖² of the last steps


def contact_sizes(m: int, blocks: int, whole: int):
    """Return the lengths of the arrays of the workspace; ``whole`` is m² for a dense W, 0 for rows in parts."""
    return ContactWorkspace(
        facts=N_FACTS, factors=m, delassus=whole, velocities=m, turn=m, numbers=blocks, forces=m, speeds=m, gap=m,
        solved_forces=m, solved_speeds=m, way=m, ahead=m, ahead_speeds=m, ahead_gap=m, best=m, kept=m,
        matrix=whole, shifted=m,
        small=2 * WIDEST * (WIDEST + 1), active=m, squares=REMEMBERED,
    )  # fmt: skip


def contact_workspace(work: Floats, m: int, blocks: int, whole: int):
    """Return the arrays of the workspace of a contact problem with m rows, views of ``work``."""
    return view_fields(work, contact_sizes(m, blocks, whole))
