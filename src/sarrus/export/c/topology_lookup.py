"""The C function that selects the row of `Topologies` for the present active set."""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.codegen.c_source import c_number
from sarrus.export.c.identifiers import wrapped
from sarrus.export.topologies import Topologies


def lookup(known: Topologies, signature: str, targets: Sequence[str]) -> str:
    """Return the definition of a C function of the workspace W that assigns the selected row to ``targets``."""
    lines = [f"{signature}", "{"]
    if len(known.values) > 1:
        lines.append("    int row = 0;")
    for k in range(len(targets)):
        column, whole = known.values[:, k], k < known.counts
        if (column == column[0]).all():
            continue
        texts = [str(int(x)) if whole else c_number(float(x)) for x in column]
        body = wrapped(", ".join(texts) + ",", 102, "        ")
        lines.append(f"    static const {'int' if whole else 'double'} of_{k}[] = {{\n{body}\n    }};")
    if len(known.values) > 1:
        lines += [
            f"    row |= (W->parameters[{index}] != 0.0) << {bit};"
            for bit, index in enumerate(known.switches)
        ]
    else:
        lines.append("    (void)W;")
    for k, target in enumerate(targets):
        column = known.values[:, k]
        value = f"of_{k}[row]"
        if (column == column[0]).all():
            value = str(int(column[0])) if k < known.counts else c_number(float(column[0]))
        lines.append(f"    {target} = {value};")
    if len(known.values) > 1:
        lines.append("    (void)row;")
    return "\n".join([*lines, "}\n"])
