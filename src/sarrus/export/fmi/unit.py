"""unit.h: the constants of one unit for the C sources common to all units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

import numpy as np

from sarrus.codegen.c_source import c_number
from sarrus.dynamics.system import System
from sarrus.export.c.identifiers import note
from sarrus.export.c.package import STATUSES
from sarrus.export.c.writing import MARK
from sarrus.export.fmi.variables import TIME, Options, Variables

_NONE = 2**32 - 1  # a value reference without variable


def unit_header(system: System, name: str, token: str, variables: Variables, options: Options) -> str:
    """Return the text of unit.h."""
    s, upper, contacts = system, name.upper(), options.contacts
    blocks = variables.blocks
    sloped = s.nq + variables.n_sensors + 2  # rates, sensors, energies
    nz = s.nq + s.nv + s.nu
    n_slopes = s.nv * s.nv + s.nc * s.nv + (s.nv + s.nc) * nz + sloped * (nz + s.nv + s.nc)
    numbers = {
        **{key: f"{upper}_{key}" for key in ("NQ", "NV", "NU", "NC", "NP")},
        "NH": s.nh,
        "WITH_CONTACTS": int(contacts),
        "WITH_LAW": int(options.law),
        "WITH_SLOPES": int(options.derivatives),
        "N_SENSORS": variables.n_sensors,
        "N_SLOPED": sloped,
        "N_SLOPES": n_slopes,
        "N_QUATERNIONS": len(s.equations.quaternions),
        "TIME": TIME,
        "START_OF_STEP": c_number(options.step),
        "START_OF_TOLERANCE": c_number(options.tolerance),
        **{f"STATUS_{status.name}": f"{upper}_{status.name}" for status in STATUSES},
    }
    for key, block in blocks.items():
        if key in ("STEP_SIZE", "CLOSURE_TOLERANCE"):
            numbers[key] = f"{block.first if block.variables else _NONE}u"
        else:
            numbers |= {f"FIRST_{key}": f"{block.first}u", f"N_{key}": f"{len(block.variables)}u"}
    names = [one.name for one in takewhile(lambda one: not one.is_calculated, variables.all)]
    factors = np.concatenate([s.characteristic.rows[: s.nh], s.characteristic.rows])
    lists = {
        "STATUS_TEXTS": [
            f"{{{int(x)}, {c_string(x.name)}, {c_string(x.diagnosis)}}}" for x in STATUSES if int(x)
        ],
        "ROW_NAMES": _strings(s.constraint_names),
        "VARIABLE_NAMES": _strings(names),
        "START_OF_Q": _numbers(options.q),
        "START_OF_V": _numbers(options.v),
        "GAP_FACTORS": _numbers(factors),
        "QUATERNION_STARTS": [str(int(k)) for k in s.equations.quaternions] or ["0"],
    }
    lines = [
        f"{note(f'{MARK}: what this unit is.')}\n#ifndef SARRUS_UNIT_H\n#define SARRUS_UNIT_H\n",
        f'#include "{name}.h"\n',
        f"#define UNIT_NAME {c_string(name)}",
        f'#define UNIT_TOKEN "{token}"',
        f"#define MODEL(function) {name}_##function",
        f"typedef {name}_workspace workspace;",
        *_calls(name, variables, options),
        *(f"#define {key} {value}" for key, value in numbers.items()),
        f"#define N_NAMES {len(names)}u",
        *(f"#define {key} \\\n    " + ", \\\n    ".join(entries) for key, entries in lists.items()),
        "#define PARAMETER_BOUNDS" + "".join(f" \\\n    {bound}" for bound in _bounds(s)),
        "\n#endif\n",
    ]
    return "\n".join(line for line in lines if line)


def _calls(name: str, variables: Variables, options: Options) -> list[str]:
    """Return the macros with which the sources call the steps of a system, or the settings and inputs of a law."""
    blocks = variables.blocks
    if options.law:
        measured = "(now)->measured" if blocks["MEASURED"].variables else "NULL"
        nothing = "*((void)(k), (W)->law_work)"  # without settings nothing is read
        settings = f"{name.upper()}_SETTING(W, k)" if blocks["SETTINGS"].variables else nothing
        return [f"#define MODEL_SETTING(W, k) {settings}", f"#define MEASURED_OR_NULL(now) {measured}"]
    step, forces = ("contact_step", ", (now)->forces") if options.contacts else ("step", "")
    return [
        "#define MODEL_STEP(now, h) \\\n"
        f"    {name}_{step}(&(now)->W, (now)->q, (now)->v, (now)->u, &(now)->t, (now)->tau, h{forces})",
        *([] if options.contacts else [f"typedef {name}_motion motion_of_model;"]),
    ]


def _bounds(system: System) -> list[str]:
    """Return the C conditions on parameters from the bounds of the numbers that they drive."""
    places = {name: k for k, name in enumerate(system.parameters)}
    found = []
    for drive in system.model.driven.drives:
        entry = drive.entry
        if entry.least is None:
            continue
        terms = [f"{c_number(float(x))} * p[{places[name]}]" for name, x in drive.factors.items()]
        number = " + ".join([*terms, c_number(float(drive.offset))])
        limit = f"{'>' if entry.positive else '>='} {c_number(float(entry.least))}"
        said = "positive" if entry.positive else f"at least {entry.least:g}"
        text = f"{entry}, which {', '.join(drive.factors)} changes, must be {said}"
        found.append(f"BOUND({number} {limit}, {c_string(text)})")
    return found


def c_string(text: str) -> str:
    """Return a string literal of C with the bytes of the text in UTF-8."""
    found = []
    for byte in text.encode():
        sign = chr(byte)
        plain = 32 <= byte < 127 and sign not in '"\\?'  # question marks may be trigraphs
        found.append(sign if plain else f"\\{byte:03o}")
    return '"' + "".join(found) + '"'


def _strings(texts: Iterable[str]) -> list[str]:
    return [c_string(text) for text in texts] or ['""']


def _numbers(values: Sequence[float] | np.ndarray) -> list[str]:
    return [c_number(float(value)) for value in values] or ["0.0"]
