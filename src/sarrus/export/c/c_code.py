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
from sarrus.export.c.contact_step_entry import contact_step, step_on_contacts
from sarrus.export.c.contacts_entry import contacts
from sarrus.export.c.contents import Natives, SystemPlan
from sarrus.export.c.entry_points import Entry, step, terms
from sarrus.export.c.forward_dynamics_entry import forward_dynamics
from sarrus.export.c.functions import Kernels
from sarrus.export.c.identifiers import prefix_of
from sarrus.export.c.law_entry import LawPlan, control_law, demanding_law, inverse_dynamics
from sarrus.export.c.package import Contents
from sarrus.export.c.sensors_entry import sensors
from sarrus.export.c.state_plan import StatePlan, force_names, takes_part
from sarrus.export.c.state_support_entry import inverse_dynamics_on_contacts
from sarrus.export.c.tolerances import EXPORTED_TIME
from sarrus.export.c.values import Table
from sarrus.export.c.writing import write_files
from sarrus.motion.inputs.contacts_of_events import with_closed_forms
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
# Functions that advance time, and the time [s] until which prescribed motions are checked for jumps.
_STEPS = ("step", "contact_step")
# Functions with the forces of contacts at a state.
_AT_STATES = ("forward_dynamics", "inverse_dynamics")
# Functions that read their state from the array x of the workspace.
_OF_THE_SYSTEM = ("forward_dynamics", "terms", "step", "sensors", "contacts", "contact_step")


@dataclass(frozen=True)
class CExport:
    """Exported C source.

    Attributes
    ----------
    name : prefix of all names.
    files : source, header, example, Makefile.
    functions : names of the exported functions.
    n_instructions : scalar instructions in the straight-line code of the model.
    workspace_bytes : size of the workspace [bytes], without padding of the compiler.
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
    contacts: bool = True,
) -> CExport:
    """Write a system or a control law as self-contained C99: name.h, name.c, main.c (an example) and a Makefile.

    The code needs only libm, allocates nothing, and writes only to the workspace and the results; one workspace serves
    one thread at a time. It is the code that runs here: the traced terms of the model in the same order of operations,
    and the kernels, translated from their source with the sizes of the model filled in. Results agree to rounding.

    Redundant rows, zero rows and singular configurations are ordinary input, as in Python, and a status is returned.
    The rank of A at ordinary configurations is looked up for the active set of switchable constraints, for up to ten
    switches; with more, pivots decide at each call. A generic rank that changes with q is found by Python only.

    Parameters
    ----------
    source : System or Law
        The system or law to export, with its present tolerances, parameters, gains and limits.
    directory : path
        The output folder, made if it is missing. Files of an earlier export are replaced; any other file of these names
        is an error and is kept.
    functions : sequence of str, optional
        Of a system: forward_dynamics (default), inverse_dynamics (the u of least norm for a given a), terms (M, h,
        k, S, φ, ψ, A, γ, N v), step (RK4 with projection; with contacts, stops or dry friction it is contact_step,
        which is exported, too), sensors (readings; with sensors of accelerations or forces also forward_dynamics),
        contacts (gaps, velocities and rows of contacts with Coulomb friction), contact_step (a step of the method
        moreau-jean, with the forces). Of a law also: law (default).
    name : str, optional
        Prefix of all names in C; by default the name of the system with letters, digits and underscores only, with
        ``model_`` before it if C has that name already.
    q : (nq,), optional
        An ordinary configuration for the rank and the example. By default the first keyframe, or the reference pose,
        assembled if it is open, with the rank that the system has found before.
    contacts : bool
        Whether contacts with Coulomb friction, ropes, limits and dry friction of joints act in forward_dynamics,
        inverse_dynamics, sensors, step and laws that know them (forward_dynamics is exported, too, then: it tells
        whether the law is right), as in `System.forward_dynamics` and runs. False: these leave them out.

    Returns
    -------
    CExport

    Raises
    ------
    ArgumentError
        An unknown function, ``law`` of a system, or inverse dynamics without actuators; a prescribed speed with jumps,
        which steps do not support; contacts between geometries without closed form, without ``contacts=False``; a
        ``name`` used by C, libm or the export; an existing file that sarrus did not write.
    UnsupportedOperationError
        An expression uses an operation without a form in C.
    """
    contents = c_contents(source, functions, name, q=q, contacts=contacts)
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
    contacts: bool = True,
    more: Sequence[Callable[[str, SystemPlan, Kernels, Natives], Entry]] = (),
) -> Contents:
    """Return the contents of the files of an export; see `c_code`. ``more`` makes additional entries of a system."""
    if not isinstance(source, System | Law):
        raise ArgumentError(
            f"c_code needs a System or a control law, got {type(source).__name__}", element="source"
        )
    law = source if isinstance(source, Law) else None
    system = source.system if isinstance(source, Law) else source
    wanted = _checked(functions, law is not None)
    if "sensors" in wanted and "forward_dynamics" not in wanted and needs_accelerations(sensors_of(system)):
        wanted = ("forward_dynamics", *wanted)
    on_plant = law is not None and law.plant is not None and "law" in wanted
    if contacts and (
        on_plant or any(function in (*_AT_STATES, "step", "contact_step") for function in wanted)
    ):
        given, system = system, with_closed_forms(system, "C", "contacts=False leaves all contacts out")
        law = law.of_run(system, given) if law is not None and system is not given else law
    on_plant = on_plant and takes_part(system, contacts)
    if on_plant and "forward_dynamics" not in wanted:
        wanted = ("forward_dynamics", *wanted)  # which tells whether the law is right
    own = prefix_of(system.name, name)
    where = _configuration(system, q)
    if "step" in wanted and "contact_step" not in wanted and takes_part(system, contacts):
        wanted = (*wanted, "contact_step")
    if any(function in _STEPS for function in wanted):
        refuse_jumps(system.workspace(), where, 0.0, EXPORTED_TIME, "steps in C")
    if law is not None and (q is not None or not law.is_prepared):
        law.forget_ranks()
        law.prepare(where, np.zeros(system.nv))
    return _contents(own, system, law, wanted, where, contacts, more)


def _contents(
    name: str,
    system: System,
    law: Law | None,
    wanted: tuple[str, ...],
    q: Array,
    with_contacts: bool,
    more: Sequence[Callable[[str, SystemPlan, Kernels, Natives], Entry]],
) -> Contents:
    """Return the contents for a system, or for its law, with the given functions."""
    natives, kernels = Natives(), Kernels(f"{name}_workspace")
    plan = SystemPlan(system, natives)
    steps_on_contacts = "step" in wanted and takes_part(system, with_contacts)
    contents = Contents(
        name, system, q, tuple(law.settings) if law else (), kernels, natives, plan.parameters(), wanted
    )
    tables: list[Table] = []
    if any(function in (*_OF_THE_SYSTEM, *_AT_STATES) for function in wanted):
        contents.members += plan.members("step" in wanted and not steps_on_contacts)
        contents.topologies = plan.topologies(q)
        tables.append(plan.table)
    at_state = None
    at_states = [function for function in _AT_STATES if function in wanted]
    if at_states and takes_part(system, with_contacts):
        at_state = StatePlan(plan, natives, q)
    if at_state or "contact_step" in wanted:
        texts = [
            force_names(system, name.upper()),
            *([at_state.declaration(name.upper())] if at_state else []),
        ]
        contents.add(Entry(at_state.members if at_state else [], "\n".join(texts), "", ""))
    for function in wanted:
        if function == "inverse_dynamics" and at_state and system.nu:
            entry = inverse_dynamics_on_contacts(name, plan, kernels, natives, at_state)
        elif function in ("law", "inverse_dynamics"):
            own = function == "law"
            asked = LawPlan(
                law if law and own else demanding_law(system, q),
                natives,
                q,
                "law" if own else "inverse",
                at_state,
            )
            entry = (control_law if own else inverse_dynamics)(name, asked, kernels)
            tables += asked.tables
            contents.constants |= asked.constants
        elif function == "forward_dynamics":
            entry = forward_dynamics(name, plan, kernels, at_state)
        elif function == "terms":
            entry = terms(name, plan, natives)
        elif function == "step" and steps_on_contacts:
            entry = step_on_contacts(name, system)
        elif function == "step":
            entry = step(name, plan, kernels)
            contents.constants |= plan.constants
        elif function == "contact_step":
            entry = contact_step(name, plan, kernels, natives, q)
        elif function == "contacts":
            entry = contacts(name, plan, kernels, natives)
        else:
            entry = sensors(name, plan, kernels, natives, at_state is not None)
        contents.add(entry)
    for make in more:
        contents.add(make(name, plan, kernels, natives))
    contents.tables = {table.text: table.numbers[: table.entry_count] for table in tables}
    return contents


def _checked(functions: Sequence[str] | None, of_a_law: bool) -> tuple[str, ...]:
    """Return the requested functions, each once."""
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
    """Return the configuration of the example, after the system has found the rank of A nearby."""
    if q is not None:
        given = np.array(system.normalized(q))
        generic_rank(system.workspace(), given, renew=True)
        return given
    start = default_configuration(system)
    generic_rank(system.workspace(), start)
    return start
