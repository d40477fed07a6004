"""The attacks in large numbers: ``python tests/attacks [--scale 0.01] [NAME ...]`` prints docs/reliability.md's table.

A campaign is a module of this folder with ``campaign(scale) -> list[Tally]``; scale 1 makes the counts of that page.
The suite does the same attacks in small numbers (test_*.py beside this file).
"""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from pathlib import Path

from tally import HEADER, Tally

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))  # what the suite's modules share

CAMPAIGNS: tuple[str, ...] = ("disks", "damage", "races", "model_files", "native_code", "names", "viewer")


def main() -> int:
    """Run the campaigns that are named, or all; return 1 if any attempt failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CAMPAIGNS)}; default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the counts of docs/reliability.md")
    given = parser.parse_args()
    unknown = set(given.names) - set(CAMPAIGNS)
    if unknown:
        parser.error(f"no campaign {', '.join(sorted(unknown))}; there are {', '.join(CAMPAIGNS)}")
    print(f"Python {platform.python_version()}, {platform.machine()}, scale {given.scale:g}\n\n{HEADER}")
    tallies: list[Tally] = []
    for name in given.names or CAMPAIGNS:
        for tally in importlib.import_module(name).campaign(given.scale):
            print(tally.row(), flush=True)
            tallies.append(tally)
    failures = [line for tally in tallies for line in tally.failures]
    print("", *failures, sep="\n", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
