"""Cache of prepared starts: a second run with the same arguments begins with a copy of the first run's arrays.

Preparing a run checks its arguments and its start, finds the rank, projects, and allocates a dozen arrays: some hundred
microseconds, more than many a short run takes. It is cached if all of it follows from numbers: the start, the options
and the parameters. Runs with laws, forces, events, contacts, limits that stop, implicit methods or drives that jump are
prepared anew each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np

from sarrus.codegen.addresses import address
from sarrus.dynamics.model.entries import entries_of
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.integrate.rosenbrock_tableau import IMPLICIT_METHODS
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.motion.loop.integration import Integration
from sarrus.motion.loop.recorder import Recorder
from sarrus.motion.loop.singularity_crossings import PassageLog
from sarrus.motion.loop.tolerances import FIRST_CALL

# So many motions are kept for a model, with so many loops each, of at most so many numbers.
_MOTIONS, _LOOPS, _LARGEST = 8, 6, 200_000
# Arrays that a run writes to, of the loop and of its workspace.
_OF_LOOP = ("x", "state", "settings", "values", "log", "stage_answer", "storage", "kept")
_OF_WORKSPACE = ("tolerances", "x", "work", "no_force", "stage_answer")
# What a loop that is arrays alone does not have.
_PYTHON = ("chart", "solver", "law", "control", "course", "jumps", "contact_run", "model")
_KINDS = (float, int, str, bool, type(None))

StoredContact = TypeVar("StoredContact")


class KnownMotions(Generic[StoredContact]):
    """Cache of the latest motions of one model that follow from numbers, shared by all threads."""

    def __init__(self) -> None:
        self._motions: OrderedDict[Hashable, StoredContact] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> StoredContact | None:
        """Return the motion with this key; None if it is not cached."""
        with self._lock:
            motion = self._motions.get(key)
            if motion is not None:
                self._motions.move_to_end(key)
        return motion

    def keep(self, key: Hashable, motion: StoredContact) -> None:
        """Cache a motion, whose workspace must not be changed from now on."""
        with self._lock:
            self._motions[key] = motion
            if len(self._motions) > _MOTIONS:
                self._motions.popitem(last=False)


def key_of(work: Workspace, q: object, v: object, *arguments: object) -> Hashable | None:
    """Return the cache key of a motion with these arguments; None if an argument is not made of numbers."""
    places = []
    for place in (q, v):
        if type(place) is np.ndarray and place.dtype == np.float64:
            places += [place.shape, place.tobytes()]
        elif type(place) is list and all(type(number) is float for number in place):
            places.append(tuple(place))
        elif place is not None:
            return None
        else:
            places.append(None)
    for argument in arguments:
        if type(argument) not in _KINDS:
            return None
    return *places, *arguments, *map(type, arguments), work.options, *work.parameters.values()


class ReadyLoops:
    """Cache of the loops of one motion and of its repetitions at their start, by scheme.

    ``steps_of_a_call`` is the number of steps in a kernel call that the last run has found.
    """

    def __init__(self) -> None:
        self.steps_of_a_call = FIRST_CALL
        self._loops: dict[Hashable, _ReadyLoop | None] = {}

    def copy(self, key: Hashable) -> Integration | None:
        """Return a loop at its start, ready to run; None if the cache has no loop with this key."""
        ready = self._loops.get(key)
        if ready is None:
            return None
        loop = ready.copy()
        loop.steps_of_a_call = self.steps_of_a_call
        return loop

    def note(self, key: Hashable, loop: Integration) -> None:
        """Cache a copy of a loop at its start, from the second time on that a key occurs."""
        if not _is_plain(loop):
            return
        if len(self._loops) >= _LOOPS and key not in self._loops:
            self._loops.clear()
        self._loops[key] = _ReadyLoop(loop) if key in self._loops else None


def _is_plain(loop: Integration) -> bool:
    """Return whether the start of a loop consists of arrays that `_ReadyLoop` copies, and these are small."""
    plain = all(getattr(loop, name) is None for name in _PYTHON)
    plain = plain and not (loop.events or len(loop.modes) or loop.records)
    small = len(loop.storage) + len(loop.system.work) <= _LARGEST
    return plain and small and loop.status is None and loop.method not in (*IMPLICIT_METHODS, TIME_STEPPING)


class _ReadyLoop:
    """A loop at its start, kept as a template: its arrays in one block of memory, and its other attributes.

    Tables point into that block, so a copied table needs one addition for its pointers.
    """

    def __init__(self, loop: Integration) -> None:
        s = loop.system
        owned = [("loop", name, getattr(loop, name)) for name in _OF_LOOP]
        owned += [("workspace", name, getattr(s, name)) for name in _OF_WORKSPACE]
        owned.append(("passages", "array", loop.passages.array))
        self.parts: list[tuple[str, str, slice, type[np.ndarray], tuple[int, ...] | None]] = []
        places, known, stop = list[tuple[int, int, int]](), dict[int, int](), 0
        for owner, name, array in owned:
            first = address(array)
            start = known.setdefault(first, stop) if array.size else stop
            stop = max(stop, start + array.size)
            shape = array.shape if array.ndim > 1 else None
            self.parts.append((owner, name, slice(start, start + array.size), type(array), shape))
            places.append((first, first + 8 * array.size, start))
        self.numbers = np.zeros(stop)
        for (_, _, part, _, _), (_, _, array) in zip(self.parts, owned):
            self.numbers[part] = array.ravel()
        self.tables = [_Table(table, places) for table in (loop.table, s.table)]
        gone = {"table", "system", "records", "recorder", "passages", "stretches", *_OF_LOOP}
        self.loop = {name: value for name, value in vars(loop).items() if name not in gone}
        gone = {"table", "parameters", *_OF_WORKSPACE}
        self.workspace = {name: value for name, value in vars(s).items() if name not in gone}
        self.parameters, self.stretches = s.parameters.own(), list(loop.stretches)
        self.width, self.passages = loop.recorder.width, loop.passages.sizes

    def copy(self) -> Integration:
        """Return a loop, ready to run, with arrays of its own."""
        loop, s = object.__new__(Integration), object.__new__(Workspace)
        of_loop, of_workspace = vars(loop), vars(s)
        of_loop.update(self.loop)
        of_workspace.update(self.workspace)
        numbers, of_passages = self.numbers.copy(), dict[str, Any]()
        owners = {"loop": of_loop, "workspace": of_workspace, "passages": of_passages}
        for owner, name, place, kind, shape in self.parts:
            part = numbers[place]
            if kind is not np.ndarray:
                part = part.view(kind)
            owners[owner][name] = part if shape is None else part.reshape(shape)
        base = address(numbers)
        of_loop["table"], of_workspace["table"] = (table.copy(base) for table in self.tables)
        of_workspace["parameters"] = self.parameters.own()
        entries_of(s.compiled, s.loaded, s.basis).fill(loop.table)
        loop.system, loop.records, loop.stretches = s, [], list(self.stretches)
        loop.passages = PassageLog(self.passages, of_passages["array"])
        loop.recorder = Recorder(self.width, loop.options.records, loop.scheme.limits.max_bytes)
        return loop


class _Table:
    """A table whose pointers into one block of memory are stored relative to the beginning of the block."""

    def __init__(self, table: np.ndarray, places: list[tuple[int, int, int]]) -> None:
        """Store a table that points to parts of memory: (address of the first number, address behind the last one,
        place).
        """
        self.table, found = table.copy(), []
        for k, value in enumerate(table.tolist()):
            for first, behind, start in places:
                if first <= value < behind:
                    self.table[k] = 8 * start + value - first
                    found.append(k)
                    break
        self.pointers = np.array(found, dtype=np.int64)

    def copy(self, base: int) -> Any:
        """Return the table for a block of memory that begins at the address ``base``."""
        table = self.table.copy()
        table[self.pointers] += base
        return table
