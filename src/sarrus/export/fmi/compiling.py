"""The shared library of a unit, by the C compiler of this machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sarrus.base.errors import ArgumentError, CompilationError

FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fvisibility=hidden", "-fPIC", "-shared")
_NAMES = ("cc", "gcc", "clang")
_MACHINES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
_SYSTEMS = {"Linux": ("linux", ".so"), "Darwin": ("darwin", ".dylib"), "Windows": ("windows", ".dll")}


def compiler() -> str:
    """Return the C compiler: the environment variable CC, else cc, gcc or clang."""
    given = os.environ.get("CC", "").strip()
    names = (given,) if given else _NAMES
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    looked = ", ".join(names)
    raise ArgumentError(
        f"no C compiler for the binary of a unit: looked for {looked}. Install one or set CC, or give binary=False "
        "for a unit of sources, which its importer compiles",
        element="binary",
        valid=_NAMES,
    )


def place(name: str) -> str:
    """Return the path of the library for this machine inside a unit."""
    known = _SYSTEMS.get(platform.system())
    if known is None:
        raise ArgumentError(
            f"FMI has no name for {platform.system()}: give binary=False for a unit of sources",
            element="binary",
        )
    machine = _MACHINES.get(platform.machine().lower(), platform.machine().lower())
    return f"binaries/{machine}-{known[0]}/{name}{known[1]}"


def library(texts: Mapping[str, str], with_compiler: str) -> bytes:
    """Return the shared library of sources given by file names."""
    with tempfile.TemporaryDirectory(prefix="sarrus_fmu_") as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        sources = sorted(name for name in texts if name.endswith(".c"))
        # reproducible bytes: no build id, no names of temporary files
        plain = ("-s", "-Wl,--build-id=none") if platform.system() == "Linux" else ()
        command = [with_compiler, *FLAGS, *plain, "-o", "unit", *sources, "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CompilationError(
                f"{with_compiler} could not compile the unit: {done.stderr.strip()[:2000]}", element="binary"
            )
        return Path(folder, "unit").read_bytes()
