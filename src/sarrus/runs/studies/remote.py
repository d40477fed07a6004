"""Chunks of a study on the workers of a `dask.distributed` cluster.

A worker builds and compiles a model once for each study: every chunk is sent with the pickled study without its axes,
some kilobytes, and the values of its own runs. Results return to the calling process, which alone writes them to disk,
so workers need no common disk. A chunk is a pure function of the data sent, so dask repeats it if its worker dies, with
the same bits.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from threading import Lock
from typing import Any

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SarrusError
from sarrus.base.files.netcdf import Variable
from sarrus.runs.studies.specification import Study

# Chunks that each thread of the cluster has ahead of it.
_AHEAD = 2
# In a worker: the studies that were built, by the hash of what was sent, and how many there have been.
_studies: dict[str, Study] = {}
_lock = Lock()


def built() -> int:
    """Return the number of studies for which this process has built a model."""
    return len(_studies)


def packed(study: Study) -> bytes:
    """Return the study as bytes for the workers."""
    import cloudpickle  # an extra

    try:
        return bytes(cloudpickle.dumps(study))
    except SarrusError as error:
        raise ArgumentError(f"client: {error}", element="client") from error
    except Exception as error:  # whatever a user's object raises that cannot be pickled; laws do not pickle
        raise ArgumentError(
            "client: a control or an output cannot be sent to the workers: use functions of plain data "
            f"({' '.join(str(error).split())[:80]})",
            element="client",
        ) from error


def run_chunk(token: str, payload: bytes, values: dict[str, Array]) -> dict[str, Variable]:
    """Return the columns of a chunk, done in a worker, one chunk at a time on all its threads."""
    from distributed import get_worker  # an extra

    with _lock:
        if token not in _studies:
            _studies[token] = pickle.loads(payload)
        return _studies[token].run(values, threads=get_worker().state.nthreads)


def remotely(
    client: Any, study: Study, token: str, todo: Iterable[int], part: Callable[[int], Mapping[str, Array]]
) -> Iterator[tuple[int, dict[str, Variable]]]:
    """Yield the chunks ``todo`` as the cluster finishes them, each once; ``part`` returns the values of a chunk."""
    from distributed import as_completed  # an extra

    payload, waiting = packed(study), iter(todo)
    futures: dict[Any, int] = {}

    def submit(index: int) -> Any:
        future = client.submit(
            run_chunk, token, payload, dict(part(index)), key=f"sarrus-study-{token[:24]}-{index}", pure=True
        )
        futures[future] = index
        return future

    threads = max(1, sum(client.nthreads().values()))
    finished = as_completed([submit(index) for index in islice(waiting, _AHEAD * threads)])
    try:
        for future in finished:
            columns = future.result()
            index = futures.pop(future)
            for following in waiting:
                finished.add(submit(following))
                break
            del future
            yield index, columns
    finally:
        client.cancel(list(futures))
