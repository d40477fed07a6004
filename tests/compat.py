"""The suite with the lowest and the newest releases that pyproject.toml allows, on several Pythons: ``make compat``.

``python tests/compat.py [--python python3.11 ...] [--resolution lowest newest] [-- PYTEST ARGUMENTS]`` makes one
environment for each under build/compat, of releases that have a wheel there, runs the suite in it and prints a line. A
Python that is not on the path is left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "compat"
KERNELS = ROOT / "src" / "sarrus" / "kernels" / "prebuilt.bin"
PYTHONS = ["python3.11", "python3.12", "python3.13"]
RESOLUTIONS = {"lowest": "lowest-direct", "newest": "highest"}
SHOWN = ("numpy", "llvmlite", "casadi", "mujoco", "scipy")
SUITE = ["--quiet", "-m", "", "-p", "no:cacheprovider"]
VERSIONS = f"""
from importlib.metadata import version
from platform import python_version
print("Python " + python_version(), *(f"{{name}} {{version(name)}}" for name in {SHOWN}), sep=", ")
"""


def make(python: str, resolution: str) -> Path:
    """Make an environment with this library in it, editable, and return its Python."""
    which = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    version = subprocess.run(which, capture_output=True, text=True, check=True).stdout.strip()
    folder = PLACE / f"{resolution}-{version}"
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", python, folder], check=True)
    (inside,) = (
        path for path in (folder / "bin" / "python", folder / "Scripts" / "python.exe") if path.exists()
    )
    chosen = ["--resolution", RESOLUTIONS[resolution], "--only-binary", ":all:"]
    install = [*uv, "pip", "install", "--quiet", "--python", inside, *chosen, "--editable", f"{ROOT}[test]"]
    subprocess.run(install, check=True)
    KERNELS.unlink(missing_ok=True)  # compiled by another llvmlite, for an environment before
    subprocess.run([inside, "-m", "sarrus.kernels.platform.build_prebuilt"], check=True)
    return inside


def suite(python: Path, arguments: list[str]) -> tuple[bool, str]:
    """Run the suite with a cache of its own; return whether it passed, and its last line."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "SARRUS_CACHE_DIR": str(python.parents[1] / "cache")}
    log = python.parents[1] / "suite.log"
    with log.open("w") as file:
        done = subprocess.run(
            [python, "-m", "pytest", *SUITE, *arguments], cwd=ROOT, env=environment, stdout=file, stderr=file
        )
    lines = [
        x for x in log.read_text().splitlines() if " passed" in x or " failed" in x or " error" in x
    ] or ["no result"]
    return done.returncode == 0, lines[-1].strip("= ") + ("" if done.returncode == 0 else f" ({log})")


def main() -> int:
    """Make all environments and run the suite in each; return 1 if there is none, or one does not pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--python", nargs="+", default=PYTHONS, help="interpreters: names on the path, or paths"
    )
    parser.add_argument("--resolution", nargs="+", choices=RESOLUTIONS, default=list(RESOLUTIONS))
    parser.add_argument("arguments", nargs="*", metavar="PYTEST ARGUMENTS")
    given = parser.parse_args()
    tried, failed = 0, 0
    for name in given.python:
        python = shutil.which(name)
        if python is None:
            print(f"{name}: not on the path", flush=True)
            continue
        for resolution in given.resolution:
            tried += 1
            try:
                inside = make(python, resolution)
            except subprocess.CalledProcessError:
                failed += 1
                print(f"{name}, {resolution}: no such environment", flush=True)
                continue
            versions = subprocess.run(
                [inside, "-c", VERSIONS], capture_output=True, text=True, check=True
            ).stdout
            passed, last = suite(inside, given.arguments)
            failed += not passed
            print(f"{resolution}: {versions.strip()}: {last}", flush=True)
    return 0 if tried and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
