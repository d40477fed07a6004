"""`export_c`: a system or a control law as C99 source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from sarrus.c_export.entries import Entry, ForwardDynamics, Step, Terms
from sarrus.c_export.files import Contents
from sarrus.c_export.names import identifier
from sarrus.c_export.plan import Natives, SystemPlan
from sarrus.control.law import Law
from sarrus.errors import ArgumentError, unknown_name
from sarrus.mechanism.pose import Array
from sarrus.system import System

FUNCTIONS = ("forward_dynamics", "terms", "step")


def export_c(
    source: System | Law,
    directory: str | Path,
    functions: Sequence[str] = ("forward_dynamics",),
    name: str | None = None,
    *,
    q: ArrayLike | None = None,
) -> list[Path]:
    """Write C99."""
    system = source
    natives = Natives()
    plan = SystemPlan(system, natives)
    where = np.array(system.neutral() if q is None else q, dtype=float)
    entries: list[Entry] = []
    for function in functions:
        if function == "forward_dynamics":
            entries.append(ForwardDynamics(plan))
        elif function == "terms":
            entries.append(Terms(plan, natives))
        elif function == "step":
            entries.append(Step(plan))
        else:
            raise ArgumentError(unknown_name("function", function, FUNCTIONS), valid=FUNCTIONS)
    own = identifier(system.name if name is None else name)
    members = [*plan.members("step" in functions), *(m for entry in entries for m in entry.members)]
    contents = Contents(own, system, entries, members, natives, {"system_table": plan.table.numbers}, where)
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        f"{own}.c": contents.source(),
        f"{own}.h": contents.header(),
        "main.c": contents.example(),
        "Makefile": contents.makefile(),
    }
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    return [folder / file for file in files]
