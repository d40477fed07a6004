"""Run benchmarks, print tables, write ``build/bench.json`` and ``build/bench.md``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from time import perf_counter

from rich.console import Console

from benchmarks import (
    accuracy,
    ant,
    batch,
    cones,
    contacts,
    control,
    cost,
    dynamics,
    friction,
    growth,
    gym,
    heaps,
    legged,
    linear,
    start_up,
    step,
    synthesis,
    work,
)
from benchmarks.models import ROOT
from benchmarks.rows import Row, write_json
from benchmarks.tables import highlights, markdown, print_tables, replace_between_markers

BENCHMARKS: dict[str, Callable[[bool], list[Row]]] = {
    "step": step.rows,
    "growth": growth.rows,
    "work": work.rows,
    "batch": batch.rows,
    "forward_dynamics": dynamics.python_rows,
    "kernel": dynamics.kernel_rows,
    "linear": linear.rows,
    "control": control.rows,
    "cones": cones.rows,
    "contacts": contacts.rows,
    "ant": ant.rows,
    "gym": gym.rows,
    "friction": friction.rows,
    "heaps": heaps.rows,
    "legged": legged.rows,
    "accuracy": accuracy.rows,
    "cost": cost.rows,
    "synthesis": synthesis.rows,
    "start_up": start_up.rows,
}


def main() -> None:
    """Run the benchmarks that are named, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Sarrus against its peers.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="few repeats, no first run with empty caches")
    parser.add_argument(
        "--readme",
        action="store_true",
        help="put the tables in docs/comparison.md, the most telling rows in README.md",
    )
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"unknown benchmark {', '.join(unknown)}. Known: {', '.join(BENCHMARKS)}")
    console = Console(width=None if sys.stdout.isatty() else 140)
    rows: list[Row] = []
    for name in arguments.names or BENCHMARKS:
        began = perf_counter()
        rows += BENCHMARKS[name](arguments.quick)
        console.print(f"{name}: {perf_counter() - began:.1f} s", style="dim")
    print_tables(rows, console)
    build = ROOT / "build"
    write_json(rows, build / "bench.json")
    text = markdown(rows)
    (build / "bench.md").write_text(text, encoding="utf-8")
    console.print(f"written: {build / 'bench.json'}, {build / 'bench.md'}")
    if arguments.readme:
        for page, content in (("docs/comparison.md", text), ("README.md", highlights(rows))):
            if not replace_between_markers(content, ROOT / page):
                parser.error(f"{page} has no markers <!-- bench:start --> and <!-- bench:end -->")
        if sizes := [row for row in rows if "size" in row.extra]:
            growth.draw(sizes, ROOT / "docs/images/growth.png")
        errors = [row for row in rows if "points" in row.extra]
        if loops := [row for row in errors if row.model not in friction.HEIGHTS]:
            work.draw(loops, ROOT / "docs/images/work.png", "error of the angle [rad]", "µs for 1 s")
        if feet := [row for row in errors if row.model in friction.HEIGHTS]:
            place = ROOT / "docs/images/friction.png"
            work.draw(feet, place, "error of the largest coordinate", "µs for 0.15 s")
        if problems := [row for row in rows if "solvers" in row.extra]:
            contacts.draw(problems, ROOT / "docs/images/contacts.png")


if __name__ == "__main__":
    main()
