"""``python -m sarrus.kernels.platform.build_prebuilt [first]``: compile all kernels, or the first, into the package.

A wheel has all kernels, an editable install the kernels of a first simulation. Kernels in the file that were made
from equal sources are kept. The remaining kernels are compiled in parallel processes; the file is written completely
or not at all.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from sarrus.base.files.atomic import write
from sarrus.codegen.machine import baseline, build_object
from sarrus.kernels.platform import prebuilt
from sarrus.kernels.platform.build import kernel_text
from sarrus.kernels.platform.c_function import FIRST_KERNELS, KERNELS, Kernel
from sarrus.kernels.platform.source_digest import OPTIMIZATION, PACKED, sources


def made(module: str, name: str) -> bytes:
    """Return the object code of a kernel for the baseline."""
    packs = module in PACKED
    return build_object(kernel_text(module, name), OPTIMIZATION, passes=True, packs=packs, target=baseline())


def build_prebuilt(path: Path, kernels: Sequence[Kernel] | None = None) -> bool:
    """Write the file of ``kernels`` (default: all) and show progress; return False if the file has them all."""
    made_from = {kernel.name: sources(kernel.module) for kernel in KERNELS}
    objects = _known(path, made_from)
    wanted = KERNELS if kernels is None else kernels
    missing = [kernel for kernel in wanted if kernel.name not in objects]
    if not missing:
        return False
    began, done = perf_counter(), 0
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        tasks = {pool.submit(made, kernel.module, kernel.name): kernel.name for kernel in missing}
        for task in as_completed(tasks):
            name = tasks[task]
            try:
                objects[name] = task.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
            done += 1
            _say(f"compiled {done} of {len(missing)} kernels in {perf_counter() - began:.0f} s")
    content = prebuilt.pieces(dict(sorted(objects.items())), made_from)
    write(path, content, kept="kernels are compiled when they are first used")
    return True


def _known(path: Path, made_from: Mapping[str, str]) -> dict[str, bytes]:
    """Return the object code of the kernels in a file that were made from the sources ``made_from``."""
    found = prebuilt.read(path)
    codes = {} if found is None else {name: found.code(name, source) for name, source in made_from.items()}
    return {name: code for name, code in codes.items() if code is not None}


def _say(text: str) -> None:
    """Show progress on the terminal, in one line, since pip hides output of builds; on stderr without a terminal."""
    try:
        with open("/dev/tty", "w") as terminal:
            terminal.write(f"\r{text} ")
    except OSError:
        print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Write the file of all kernels, or of the first ones, beside the sources."""
    build_prebuilt(prebuilt.FILE, FIRST_KERNELS if sys.argv[1:] == ["first"] else KERNELS)


if __name__ == "__main__":
    main()
