"""Tables of reactions as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.analysis.loads.tolerances import NEXT_TO_NOTHING
from sarrus.base.arrays import Array
from sarrus.symbolic.multibody.connections import Connection

OPEN, SETTLED = "~", "*"


def table_of(
    head: str,
    frame: str,
    connections: Sequence[Connection],
    loads: Array,
    floor: Array,
    certain: tuple[np.ndarray, np.ndarray],
) -> list[str]:
    """Return the lines of a table with a row for each joint, closure and contact; components that are not unique are
    marked.

    ``loads`` (n, 6); ``floor`` (6,): loads below it are written as zero; ``certain``: masks (n, 6) determined and
    settled.
    """
    rows: list[Sequence[str]] = [("", "on", "", "force [N]", "", "", "couple [N m]", "", "")]
    for one, values, sure, settled in zip(connections, loads, *certain):
        marks = ["" if yes else SETTLED if stiff else OPEN for yes, stiff in zip(sure, settled)]
        numbers = [mark + number(x, least) for mark, x, least in zip(marks, values, floor)]
        rows.append((one.label, one.body, one.kind, *numbers))
    seen = {"world": "axes of the world", "joint": "own axes"}.get(frame, f"axes of {frame}")
    return [f"{head}: load of each joint on its child, of each closure on body 2; {seen}", *aligned(rows)]


def floors(force: Array, couple: Array, length: float) -> Array:
    """Return the loads (6,) below which a component is written as zero; a couple counts as a force with this
    lever arm.
    """
    largest = [float(np.nan_to_num(np.abs(part)).max(initial=0.0)) for part in (force, couple / length)]
    return np.repeat([NEXT_TO_NOTHING * max(largest), NEXT_TO_NOTHING * length * max(largest)], 3)


def number(value: float, least: float) -> str:
    """Return a number with five digits, zero below ``least``."""
    return "0" if abs(value) <= least else f"{value:.5g}"


def aligned(rows: Sequence[Sequence[str]], left: int = 3) -> list[str]:
    """Return rows of text in aligned columns, the first ``left`` columns flush left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]
