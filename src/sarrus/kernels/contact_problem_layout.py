"""How a contact problem is handed to its kernel (`sarrus.kernels.contact_problem`): a record of integers."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.record import Floats, Integers, Record, laid

# Most rows of a block: normal, two tangents, torsion.
WIDEST = 4
# What is answered.
SOLVED, UNSOLVED = 0, 1


class ContactProblem(Record, of=int):
    """Forces r and velocities u = W r + b of blocks of rows: contacts, which are cones, then dry friction."""

    rows: int  # m
    blocks: int
    contacts: int  # the first blocks
    sizes: Integers  # rows of each block
    numbers: Floats  # μ of contacts, limits of dry friction
    operator: Floats  # W (m × m), symmetric
    velocities: Floats  # b
    forces: Floats  # r to begin with, then the answer
    work: Floats


class ContactFacts(Record):
    """What is known of an answer, first in the workspace."""

    residual: (
        float  # largest entry of r − P_K(r − u − μ ‖u_t‖ n) over the largest of b and r, in units of the rows
    )
    steps: float  # of Newton's method
    sweeps: float  # over all blocks
    redundant: float  # 1 where rows that have forces depend on others


N_FACTS = len(ContactFacts.fields)


class ContactWorkspace(NamedTuple):
    """The workspace for m rows and so many blocks; all is scaled so that rows of a block and b are of size one."""

    facts: Annotated[Any, ContactFacts]
    factors: Any  # of each row
    operator: Any
    velocities: Any
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


def contact_sizes(m, blocks):
    """Return the lengths of its parts."""
    return ContactWorkspace(
        facts=N_FACTS, factors=m, operator=m * m, velocities=m, numbers=blocks, forces=m, speeds=m, gap=m, way=m,
        ahead=m, ahead_speeds=m, ahead_gap=m, best=m, kept=m, matrix=m * m, shifted=m,
        small=2 * WIDEST * (WIDEST + 1), active=m,
    )  # fmt: skip


def contact_workspace(work, m, blocks):
    """Return the parts of the workspace."""
    return laid(work, contact_sizes(m, blocks))
