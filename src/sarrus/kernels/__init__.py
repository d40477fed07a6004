"""Compiled kernels (Numba): factorisation, constrained solves, projections, integrators. They know no mechanism.

Most are C functions in the cache of the models (`sarrus.kernels.c_function`). Those that Python calls with arrays are
cached by Numba, by their own files alone, and would go on using an old copy of a function inlined from another file. So
that cache is emptied whenever any of the sources has changed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def _discard_stale_cache(*folders: Path) -> None:
    """Delete Numba's cache files in ``folders``/__pycache__ unless they belong to the sources as they are now."""
    sources = [source for folder in folders for source in sorted(folder.glob("*.py"))]
    state = "\n".join(
        f"{source.name} {source.stat().st_mtime_ns} {source.stat().st_size}" for source in sources
    )
    mark = folders[0] / "__pycache__" / "sources.txt"
    with suppress(OSError):  # a folder that cannot be written holds no cache either
        if mark.exists() and mark.read_text() == state:
            return
        for folder in folders:
            for pattern in ("*.nbi", "*.nbc"):
                for file in (folder / "__pycache__").glob(pattern):
                    file.unlink(missing_ok=True)
        mark.parent.mkdir(exist_ok=True)
        mark.write_text(state)


_HERE = Path(__file__).parent
_discard_stale_cache(_HERE, _HERE.parent / "linear")
