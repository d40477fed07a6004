"""The files of an export: header, source, an example and a Makefile."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.codegen.c_source import c_number
from sarrus.dynamics.model.units import constraint_units, coordinate_units, velocity_units
from sarrus.dynamics.system import System
from sarrus.export.c.contents import Member, Natives, constant_array
from sarrus.export.c.entry_points import Entry, state_functions
from sarrus.export.c.functions import HELPERS, Kernels
from sarrus.export.c.identifiers import comment, enumeration, listing, note
from sarrus.export.c.writing import MARK
from sarrus.export.topologies import Topologies

STATUSES = (
    Status.OK,
    Status.SINGULAR,
    Status.INCONSISTENT,
    Status.NOT_CLOSED,
    Status.NOT_ACHIEVABLE,
    Status.ILL_POSED,
    Status.ILL_CONDITIONED,
    Status.ALMOST,
    Status.NOT_FINITE,
    Status.PROJECTION_FAILED,
    Status.INFEASIBLE,
    Status.NOT_CONVERGED,
    Status.UNSTABLE_STEP,
)


@dataclass
class Contents:
    """The contents of the files of an export.

    ``name`` is the prefix of all names in C; ``tables`` and ``constants`` are constant arrays of integers and of
    doubles by name; ``q`` is the configuration of the example; ``topologies`` are ranks and scales of A by active set;
    ``settings`` are the names of the law's settings; ``functions`` the exported functions.
    """

    name: str
    system: System
    q: Array
    settings: tuple[str, ...]
    kernels: Kernels
    natives: Natives
    members: list[Member]
    functions: tuple[str, ...]
    entries: list[Entry] = field(default_factory=list)
    tables: dict[str, np.ndarray] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    topologies: Topologies | None = None

    def add(self, entry: Entry) -> None:
        """Add an entry and its members of the workspace."""
        self.members += entry.members
        self.entries.append(entry)

    # --- header ------------------------------------------------------------------------------------------

    def header(self) -> str:
        """Return the header."""
        name, s = self.name, self.system
        upper = name.upper()
        sizes = {"NQ": s.nq, "NV": s.nv, "NU": s.nu, "NC": s.nc, "NP": len(s.parameters)}
        parts = [
            note(
                f"{MARK}: dynamics of {s.name}. SI units, radians. C99 and libm, nothing else; no "
                "allocation; all that changes is in the workspace, one of which serves one thread at a time."
            ),
            f'#ifndef {upper}_H\n#define {upper}_H\n\n#ifdef __cplusplus\nextern "C" {{\n#endif\n',
            note("Numbers of coordinates, velocities, controls, constraint rows and parameters."),
            "\n".join(f"#define {upper}_{key} {value}" for key, value in sizes.items()) + "\n",
        ]
        motions = "Velocities v; accelerations and generalized forces too."
        rows = "Constraint rows, with the units of their multipliers."
        for title, prefix, names, units in (
            ("Coordinates q.", "Q", s.coordinate_names, coordinate_units(s)),
            (motions, "V", s.velocity_names, velocity_units(s)),
            ("Controls u.", "U", s.actuator_names, ("",) * s.nu),
            (rows, "ROW", s.constraint_names, constraint_units(s)),
            (
                "Parameters: change them in the workspace.",
                "P",
                tuple(s.parameters),
                ("",) * len(s.parameters),
            ),
            ("Settings of the law.", "SETTING", self.settings, ("",) * len(self.settings)),
        ):
            if names:
                parts.append(enumeration(title, f"{upper}_{prefix}", names, units))
        if s.parameters:
            values = ", ".join(c_number(value) for value in s.parameters.values())
            parts.append(f"#define {upper}_PARAMETERS {{{values}}}\n")
        codes = [(f"{upper}_{x.name}", int(x), comment(x.diagnosis)) for x in STATUSES]
        parts.append(listing(note("What functions return."), codes))
        parts.append(self._workspace())
        parts += [entry.declaration for entry in self.entries]
        parts.append(f"#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {upper}_H */\n")
        return "\n".join(parts)

    def _workspace(self) -> str:
        lines = [
            f"    {m.type} {m.name}{f'[{max(m.size, 1)}]' if m.size else ''}; /* {comment(m.note)} */"
            for m in self.members
            if m.size or m.start is not None
        ]
        name = self.name
        return (
            f"{note('What the functions compute in and remember. Begin with init.')}\ntypedef struct {{\n"
            + "\n".join(lines)
            + f"\n}} {name}_workspace;\n\nvoid {name}_init({name}_workspace *W);\n"
        )

    # --- source ------------------------------------------------------------------------------------------

    def source(self) -> str:
        """Return the source."""
        kernels, public = self.kernels, [entry.definition for entry in self.entries]
        known = {*(function.name for function in kernels.functions.values()), *self.natives.outputs}
        words = re.findall(r"\w+", "\n".join(public))
        used, functions = kernels.reached(*(word for word in words if word in known))
        body = "\n".join([*(f"{one.head}\n{{\n{one.body}\n}}\n" for one in functions), *public])
        parts = [
            f"{note(f'{MARK}: dynamics of {self.system.name}; see {self.name}.h.')}\n"
            f'#include "{self.name}.h"\n\n#include <limits.h>\n#include <math.h>\n\n'
            "#if INT_MAX < 2147483647\n#error this code needs an int of 32 bits\n#endif\n",
            *(HELPERS[helper] for helper in HELPERS if helper in used),
            *(constant_array("int", table, values) for table, values in self.tables.items() if table in used),
            *(constant_array("double", key, values) for key, values in self.constants.items() if key in body),
            *self.natives.texts(used),
            *(_structure(text, kind.members) for kind, text in kernels.structs.items() if text in body),
            self._used_state_functions(body),
            body,
            self._init(),
        ]
        return "\n".join(part for part in parts if part)

    def _used_state_functions(self, body: str) -> str:
        """Return the functions that load states, if something calls them."""
        kept = ""
        for text in reversed(state_functions(self.system, self.name, self.topologies)):
            called = text.split("(")[0].split(" ")[-1]
            if f"{called}(" in body + kept:
                kept = f"{text}\n{kept}"
        return kept.removesuffix("\n")

    def _init(self) -> str:
        """Return the function that fills the workspace."""
        lines, arrays = [], []
        for m in self.members:
            if m.start is not None and not m.size:
                lines.append(f"    W->{m.name} = {int(m.start[0])};")
            elif m.start is not None and np.any(m.start):
                arrays.append(constant_array(m.type, f"first_{m.name}", m.start))
                lines.append(
                    f"    for (i = 0; i < {m.size}; i++)\n        W->{m.name}[i] = first_{m.name}[i];"
                )
        zero = (
            "    unsigned char *byte = (unsigned char *)W;\n    unsigned long k = 0;\n    int i = 0;\n"
            "    for (k = 0; k < sizeof *W; k++)\n        byte[k] = 0;\n"
        )
        body = zero + "\n".join(lines) + "\n    (void)i;\n"
        return "\n".join(arrays) + f"\nvoid {self.name}_init({self.name}_workspace *W)\n{{\n{body}}}\n"

    # --- example -----------------------------------------------------------------------------------------

    def example(self) -> str:
        """Return a program that calls each function at a configuration and times it."""
        name, s, upper = self.name, self.system, self.name.upper()
        calls = "\n".join(entry.example for entry in self.entries)
        q = ", ".join(c_number(float(x)) for x in self.q) or "0.0"
        return f"""\
{note(f"{MARK}: calls what {name}.c offers at one configuration of {s.name}, and times it.")}
#include <stdio.h>
#include <time.h>

#include "{name}.h"

#ifndef SECONDS
#define SECONDS 0.2 /* that each function is timed */
#endif

static {name}_workspace W;

static void show(const char *what, const double *x, int n)
{{
    int i = 0;
    printf("%s =", what);
    for (i = 0; i < n; i++)
        printf(" %.17g", x[i]);
    printf("\\n");
}}

/* Prints the time of an expression, the mean of its calls in SECONDS. */
#define TIME(expression)                                                 \\
    do {{                                                                 \\
        clock_t start = clock();                                         \\
        double spent = 0.0;                                              \\
        long count = 0, k = 0;                                           \\
        do {{                                                             \\
            for (k = 0; k < 100; k++)                                    \\
                expression;                                              \\
            count += 100;                                                \\
            spent = (double)(clock() - start) / CLOCKS_PER_SEC;          \\
        }} while (spent < SECONDS);                                       \\
        printf("%.1f ns per call\\n", 1e9 * spent / (double)count);      \\
    }} while (0)

int main(void)
{{
    double q[] = {{{q}}};
    double v[{max(s.nv, 1)}] = {{0}};
    double u[{max(s.nu, 1)}] = {{0}};
    double t = 0.0;
    int status = {upper}_OK;
    {name}_init(&W);
{calls}
    (void)u;
    (void)t;
    (void)status;
    return 0;
}}
"""

    def makefile(self) -> str:
        """Return the Makefile."""
        name = self.name
        return f"""\
# {MARK}: builds the example; link {name}.o with a program of your own and -lm.
CC ?= cc
CFLAGS ?= -O2
FLAGS = -std=c99 -Wall -Wextra -pedantic -ffp-contract=off

example: main.o {name}.o
\t$(CC) $(LDFLAGS) -o $@ main.o {name}.o -lm

main.o: main.c {name}.h
\t$(CC) $(FLAGS) $(CFLAGS) -c main.c

{name}.o: {name}.c {name}.h
\t$(CC) $(FLAGS) $(CFLAGS) -c {name}.c

clean:
\trm -f example main.o {name}.o

.PHONY: clean
"""


def _structure(name: str, members: tuple[tuple[str, str], ...]) -> str:
    return f"{name} {{\n" + "\n".join(f"    {kind} {member};" for member, kind in members) + "\n};\n"
