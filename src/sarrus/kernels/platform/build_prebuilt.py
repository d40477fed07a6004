"""``python -m sarrus.kernels.platform.build_prebuilt``: compile all kernels into the file that the package ships.

It is run when a wheel or an editable install is built, and needs Numba. Kernels that are in the file already, made from
the same sources, are taken over.
Kernels are compiled side by side in processes of their own; the file appears whole or not at all.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from sarrus.base.files.atomic import write
from sarrus.codegen.machine import baseline, build_object
from sarrus.kernels.platform import prebuilt
from sarrus.kernels.platform.c_function import KERNELS
from sarrus.kernels.platform.source_digest import OPTIMIZATION, sources


def made(module: str, name: str) -> tuple[bytes, str]:
    """Return the object code of a kernel for the baseline, and its LLVM text."""
    from sarrus.kernels.platform.build import kernel_text

    text = kernel_text(module, name)
    return build_object(text, OPTIMIZATION, passes=True, target=baseline()), text


def ship(path: Path) -> bool:
    """Write the file of all kernels, and say how far it is; False where it is there already."""
    made_from = {kernel.name: sources(kernel.module) for kernel in KERNELS}
    objects, texts = _known(path, made_from)
    missing = [kernel for kernel in KERNELS if kernel.name not in objects]
    if not missing:
        return False
    began, done = perf_counter(), 0
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        tasks = {pool.submit(made, kernel.module, kernel.name): kernel.name for kernel in missing}
        for task in as_completed(tasks):
            name = tasks[task]
            try:
                objects[name], texts[name] = task.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
            done += 1
            _say(f"compiled {done} of {len(missing)} kernels in {perf_counter() - began:.0f} s")
    content = prebuilt.pieces(dict(sorted(objects.items())), dict(sorted(texts.items())), made_from)
    write(path, content, kept="kernels are compiled when they are first used")
    return True


def _known(path: Path, made_from: Mapping[str, str]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return object code and LLVM text of the kernels in a file that were made from these sources."""
    found, objects, texts = prebuilt.read(path), dict[str, bytes](), dict[str, str]()
    if found is None:
        return objects, texts
    for name, source in made_from.items():
        code, text = found.code(name, source), found.text(name, source)
        if code is not None and text is not None:
            objects[name], texts[name] = code, text
    return objects, texts


def _say(text: str) -> None:
    """Show progress on the terminal, as one line: pip keeps to itself what builds print. Without one on stderr."""
    try:
        with open("/dev/tty", "w") as terminal:
            terminal.write(f"\r{text} ")
    except OSError:
        print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Write the file beside the sources."""
    ship(prebuilt.FILE)


if __name__ == "__main__":
    main()
