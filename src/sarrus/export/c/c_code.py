"""`c_code`: a system or a control law as C99 source for controllers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.configurations.default_configuration import default_configuration
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.control.laws.law import Law
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.solve.sensing import needs_accelerations, sensors_of
from sarrus.dynamics.system import System
from sarrus.export.c.contact_step_entry import contact_step
from sarrus.export.c.contacts_entry import contacts
from sarrus.export.c.contents import Natives, SystemPlan
from sarrus.export.c.entry_points import Entry, forward_dynamics, step, terms
from sarrus.export.c.functions import Kernels
from sarrus.export.c.identifiers import prefix_of
from sarrus.export.c.law_entry import LawPlan, control_law, demanding_law, inverse_dynamics
from sarrus.export.c.package import Contents
from sarrus.export.c.sensors_entry import sensors
from sarrus.export.c.tolerances import EXPORTED_TIME
from sarrus.export.c.values import Table
from sarrus.export.c.writing import write_files
from sarrus.motion.inputs.drive_jumps import refuse_jumps

FUNCTIONS = (
    "forward_dynamics",
    "inverse_dynamics",
    "terms",
    "step",
    "sensors",
    "contacts",
    "contact_step",
    "law",
)
# Those that go on in time.
_STEPS = ("step", "contact_step")
# Those that read their state from the array x of the workspace.
_OF_THE_SYSTEM = ("forward_dynamics", "terms", "step", "sensors", "contacts", "contact_step")


@dataclass(frozen=True)
class CExport:
    """Exported C source.

    Attributes
    ----------
    name : prefix of all names.
    files : source, header, example, Makefile.
    functions : what was asked for.
    n_instructions : scalar instructions in the straight-line code of the model.
    workspace_bytes : size of the workspace, but for what a compiler adds to align it.
    """

    name: str
    files: tuple[Path, ...]
    functions: tuple[str, ...]
    n_instructions: int
    workspace_bytes: int


def c_code(
    source: System | Law,
    directory: str | Path,
    functions: Sequence[str] | None = None,
    name: str | None = None,
    *,
    q: ArrayLike | None = None,
) -> CExport:
    """Write a system or a control law as self-contained C99: name.h, name.c, main.c (an example) and a Makefile.

    The code needs libm and nothing else, allocates nothing, and changes nothing but the workspace and the results that
    it is handed; one workspace serves one thread at a time. It is the code that runs here: the traced terms of the
    model in the same order of operations, and the kernels, translated from their one source with the sizes of the model
    filled in. Results agree to rounding.

    Redundant rows, zero rows and singular configurations are ordinary there as here, and a status comes back. The rank
    of A at ordinary configurations follows the parameters that switch constraints, up to ten of them, by a table that
    is made here; where there are more, pivots decide at each call. Python finds it anew where it changes with q, too.

    Parameters
    ----------
    source : System or Law
        What to export; tolerances, parameters, gains and limits with the values that they have now.
    directory : path
        Where to write to, made if it is missing. Files of an earlier export are replaced; others of these names stay,
        and are an error.
    functions : sequence of str, optional
        Of a system: forward_dynamics (default), inverse_dynamics (a law that demands a; u of least norm), terms (M, h,
        k, S, φ, ψ, A, γ, N v), step (RK4 with projection), sensors (what they read; where some measure accelerations
        or forces it brings forward_dynamics along), contacts (gaps, velocities and rows of those with Coulomb
        friction), contact_step (a step with them, stops and dry friction; the others leave them open). Of a law also:
        law (default).
    name : str, optional
        Prefix of all names in C; by default that of the system, letters, digits and underscores of it, after
        ``model_`` where C has that name already.
    q : (nq,), optional
        An ordinary configuration, at which the rank is found and the example runs. By default the first keyframe, or
        the reference pose, assembled where it is open, and the rank that the system has found where it was used.

    Returns
    -------
    CExport

    Raises
    ------
    ArgumentError
        A function does not exist, ``law`` of a system, or a system without actuators has inverse dynamics; the speed of
        a drive jumps, which steps do not know; ``name`` is one that C, libm or the export has already; a file that
        sarrus did not write is in the way.
    UnsupportedOperationError
        An expression uses an operation without a form in C.
    """
    contents = c_contents(source, functions, name, q=q)
    own = contents.name
    texts = {
        f"{own}.c": contents.source(),
        f"{own}.h": contents.header(),
        "main.c": contents.example(),
        "Makefile": contents.makefile(),
    }
    files = write_files(Path(directory), texts)
    size = sum(max(m.size, 1) * (8 if m.type == "double" else 4) for m in contents.members)
    return CExport(own, files, contents.functions, contents.natives.count, size)


def c_contents(
    source: System | Law,
    functions: Sequence[str] | None,
    name: str | None,
    *,
    q: ArrayLike | None = None,
    more: Sequence[Callable[[str, SystemPlan, Kernels, Natives], Entry]] = (),
) -> Contents:
    """Return what the files of an export are made of; see `c_code`. ``more`` makes further entries of a system."""
    if not isinstance(source, System | Law):
        raise ArgumentError(
            f"c_code needs a System or a control law, got {type(source).__name__}", element="source"
        )
    law = source if isinstance(source, Law) else None
    system = source.system if isinstance(source, Law) else source
    wanted = _checked(functions, law is not None)
    if "sensors" in wanted and "forward_dynamics" not in wanted and needs_accelerations(sensors_of(system)):
        wanted = ("forward_dynamics", *wanted)
    own = prefix_of(system.name, name)
    where = _configuration(system, q)
    if any(function in _STEPS for function in wanted):
        refuse_jumps(system.workspace(), where, 0.0, EXPORTED_TIME, "steps in C")
    if law is not None and (q is not None or not law.is_prepared):
        law.forget_ranks()
        law.prepare(where, np.zeros(system.nv))
    return _contents(own, system, law, wanted, where, more)


def _contents(
    name: str,
    system: System,
    law: Law | None,
    wanted: tuple[str, ...],
    q: Array,
    more: Sequence[Callable[[str, SystemPlan, Kernels, Natives], Entry]],
) -> Contents:
    """Return what is written of a system, or of its law, for the functions that are wanted."""
    natives, kernels = Natives(), Kernels(f"{name}_workspace")
    plan = SystemPlan(system, natives)
    contents = Contents(
        name, system, q, tuple(law.settings) if law else (), kernels, natives, plan.parameters(), wanted
    )
    tables: list[Table] = []
    if any(function in _OF_THE_SYSTEM for function in wanted):
        contents.members += plan.members("step" in wanted)
        contents.topologies = plan.topologies(q)
        tables.append(plan.table)
    for function in wanted:
        if function in ("law", "inverse_dynamics"):
            own = function == "law"
            asked = LawPlan(
                law if law and own else demanding_law(system, q), natives, q, "law" if own else "inverse"
            )
            entry = (control_law if own else inverse_dynamics)(name, asked, kernels)
            tables += asked.tables
            contents.constants |= asked.constants
        elif function == "forward_dynamics":
            entry = forward_dynamics(name, plan, kernels)
        elif function == "terms":
            entry = terms(name, plan, natives)
        elif function == "step":
            entry = step(name, plan, kernels)
            contents.constants |= plan.constants
        elif function == "contact_step":
            entry = contact_step(name, plan, kernels, natives, q)
        elif function == "contacts":
            entry = contacts(name, plan, kernels, natives)
        else:
            entry = sensors(name, plan, kernels, natives)
        contents.add(entry)
    for make in more:
        contents.add(make(name, plan, kernels, natives))
    contents.tables = {table.text: table.numbers[: table.room] for table in tables}
    return contents


def _checked(functions: Sequence[str] | None, of_a_law: bool) -> tuple[str, ...]:
    """Return the functions asked for, each once."""
    valid = FUNCTIONS if of_a_law else FUNCTIONS[:-1]
    if functions is None:
        return ("law",) if of_a_law else ("forward_dynamics",)
    given = [functions] if isinstance(functions, str) else list(functions)
    for function in given:
        check_known("function to export", function, valid)
    if not given:
        raise ArgumentError(f"functions is empty; there are {', '.join(valid)}", element="functions")
    return tuple(dict.fromkeys(given))


def _configuration(system: System, q: ArrayLike | None) -> Array:
    """Return the configuration of the example, and have the system know the rank of A nearby."""
    if q is not None:
        given = np.array(system.normalized(q))
        generic_rank(system.workspace(), given, renew=True)
        return given
    start = default_configuration(system)
    generic_rank(system.workspace(), start)
    return start
