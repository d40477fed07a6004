"""Size and speed of exported C for every shipped model; writes the table in export.md beside this file.

python docs/export.py
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

import sarrus as sr
from sarrus.codegen.machine import host
from sarrus.export.c import CExport
from sarrus.kernels.platform.c_function import forward

PAGE = Path(__file__).with_suffix(".md")
TESTS = Path(__file__).resolve().parent.parent / "tests"
BEGIN, END = "<!-- begin of the table -->", "<!-- end of the table -->"
HEAD = """\
| model | nv | rows | instructions | workspace [kB] | object code [kB] | C, -O2 [ns] | C, -O3 [ns] | kernel [ns] |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
CALLS = 1_000


def fixed(name: str, system: sr.System, export: CExport) -> str:
    """Return the columns that do not depend on the machine."""
    size = f"{export.workspace_bytes / 1e3:.1f}"
    return f"| {name} | {system.nv} | {system.nc} | {export.n_instructions} | {size} |"


def measured(system: sr.System, export: CExport) -> str:
    """Return the columns that do: size of the object code, times per call of C and of the kernel."""
    folder, compiler = export.files[0].parent, shutil.which("gcc") or "cc"
    size, times = 0.0, []
    for level in ("-O2", "-O3"):
        subprocess.run(["make", "-s", "-C", folder, "clean"], check=True)
        subprocess.run(
            ["make", "-s", "-C", folder, f"CC={compiler}", f"CFLAGS={level} -DSECONDS=0.02"], check=True
        )
        runs = [
            subprocess.run([folder / "example"], check=True, capture_output=True, text=True).stdout
            for _ in range(20)
        ]
        times.append(min(float(re.findall(r"([\d.]+) ns per call", told)[0]) for told in runs))
        if level == "-O2":
            table = subprocess.run(
                ["size", folder / f"{export.name}.o"], check=True, capture_output=True, text=True
            )
            size = int(table.stdout.splitlines()[1].split()[0]) / 1e3
    return f" {size:.1f} | {times[0]:.0f} | {times[1]:.0f} | {kernel(system, export):.0f} |"


def kernel(system: sr.System, export: CExport) -> float:
    """Return nanoseconds per call of the library's own kernel, where the example of the export is."""
    text = export.files[2].read_text(encoding="utf-8")
    q = np.array(re.findall(r"double q\[\] = \{(.*)\}", text)[0].strip("()").split(","), dtype=object)
    q = np.array([float(x.strip(" ()")) for x in q])
    v, out = np.zeros(system.nv), np.empty(system.workspace().output_size)
    system.forward_dynamics(q, v, throw=False)
    best = np.inf
    for _ in range(100):
        began = perf_counter()
        forward(system.workspace().table, out, CALLS)
        best = min(best, (perf_counter() - began) / CALLS)
    return 1e9 * best


def conditions() -> str:
    """Return what the measured columns belong to."""
    compiler = shutil.which("gcc") or "cc"
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    return (
        f"Forward dynamics at the configuration of the example, from rest; gcc {version}, LLVM for the kernel, "
        f"{platform.machine()} ({host().cpu}).\nShort runs on a machine shared with others, the best of each: "
        "differences of a third are noise.\n"
    )


def table() -> str:
    """Return the table, measured now."""
    sys.path.append(str(TESTS))
    from linear_precision import SHIPPED, shipped

    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for number, name in enumerate(SHIPPED):
            system, q = shipped(name)
            export = sr.export.c_code(system, Path(directory) / str(number), name=f"model {number}", q=q)
            rows.append(fixed(name, system, export) + measured(system, export))
            print(rows[-1], flush=True)
    return "\n".join([conditions(), HEAD + "\n".join(rows)])


def render(text: str, fresh: str) -> str:
    """Return the page with another table."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{fresh}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), table()), encoding="utf-8")
