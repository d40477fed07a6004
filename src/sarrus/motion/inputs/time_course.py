"""Bounds of the step, found before a run, with which no step passes over a change of a function of time.

A mechanism at rest allows long steps, and a pulse that begins later could lie between two stages. So the time is
divided at breaks (`sarrus.motion.inputs.time_breaks`), where steps end, and between breaks into stretches in which each
function of time varies by at most half of its range in the run. Interval arithmetic encloses the functions over whole
stretches, so that every peak is found, however narrow. Constant terms of the equations limit no step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.kernels.integrate.stretches import WIDTH
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.run_state import Run
from sarrus.motion.inputs.time_breaks import LARGEST, Line, enclose, find_breaks, linear_values
from sarrus.motion.inputs.time_program import TimeProgram
from sarrus.motion.inputs.tolerances import (
    ALIKE_STRETCHES,
    LARGE_COURSE,
    MANY_STRETCHES,
    RESTING_RANGE,
    RESTING_TERM,
    SEEN_TO_VARY,
    STRETCH_OF_PERIOD,
    VARYING_TERM,
)

# Stretches that are looked at together at most, and halvings of one.
AT_ONCE, DEEPEST = 4096, 40
# Courses that a program keeps.
KEPT = 16
# Different parameters of functions of time in many runs, at most.
MOST_PARAMETERS = 256
_SUMS = frozenset((ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE))
_CHOICES = frozenset((
    ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR, ca.OP_SIGN, ca.OP_FLOOR, ca.OP_CEIL,
    ca.OP_FMIN, ca.OP_FMAX, ca.OP_FABS, ca.OP_IF_ELSE_ZERO, ca.OP_FMOD, ca.OP_REMAINDER, ca.OP_COPYSIGN,
))  # fmt: skip


class Course(NamedTuple):
    """Stretches of time for the kernel (n, 3), see `sarrus.kernels.integrate.stretches`; known ``until`` [s]."""

    rows: Array
    until: float


class TimeCourse:
    """The stretches of time of one run, found piece by piece as the run reaches them."""

    def __init__(self, program: TimeProgram, constants: Array, gap: float) -> None:
        self._program, self._constants, self._gap = program, constants, gap
        self._until = -np.inf
        self.rows = np.zeros((0, WIDTH))

    def extend(self, table: la.Table, state: Run, time: float, end: float) -> float:
        """Give the kernel the stretches from ``time`` on; return the time up to which they are known, at most ``end``
        [s].
        """
        if not time < self._until:
            self.rows, self._until = known_course(self._program, self._constants, time, end, self._gap)
            table.stretches, state.stretch, state.n_stretches = self.rows, 0.0, len(self.rows)
        return min(end, self._until)

    def extend_to_end(
        self, table: la.Table, state: Run, t0: float, t1: float, others: Iterable[Array] = ()
    ) -> None:
        """Give the kernel the stretches from t0 to t1 [s], for the parameters of all of many runs.

        ``others`` are parameters of some of the runs. Steps then end at the breaks of all runs.
        """
        used = self._program.uses
        every = {one[used].tobytes(): one for one in (self._constants, *others)}
        if len(every) > MOST_PARAMETERS:
            raise ArgumentError(
                f"functions of time depend on parameters with {len(every)} different values in these runs; adaptive "
                f"steps are planned for at most {MOST_PARAMETERS}. Use fixed steps (dt=), or split the runs",
                element="parameters",
            )
        courses = [whole_course(self._program, one, t0, t1, self._gap).rows for one in every.values()]
        self.rows, self._until = joined(courses), t1
        table.stretches, state.stretch, state.n_stretches = self.rows, 0.0, len(self.rows)


def known_course(program: TimeProgram, constants: Array, t0: float, t1: float, gap: float) -> Course:
    """Return the stretches from t0 to t1 as `course_of` finds them, cached with the program."""
    key = (t0, t1, gap, constants.tobytes())
    if key not in program.courses:
        if len(program.courses) >= KEPT:
            program.courses.clear()
        program.courses[key] = course_of(program, constants, t0, t1, gap)
    found: Course = program.courses[key]
    return found


def whole_course(program: TimeProgram, constants: Array, t0: float, t1: float, gap: float) -> Course:
    """Return the stretches from t0 to t1 [s]; raises `SolveError` if there are more than a hundred thousand."""
    found, time, count = list[Array](), t0, 0
    while time < t1:
        rows, time = known_course(program, constants, time, t1, gap)
        found.append(rows)
        count += len(rows)
        if count > LARGEST:
            raise SolveError(
                f"functions of time change more than {LARGEST} times from t = {t0:g} s to {time:g} s, too often for "
                "many adaptive runs. Give a shorter duration, or fixed steps (dt=)"
            )
    return Course(np.concatenate(found), t1)


def joined(courses: Sequence[Array]) -> Array:
    """Return the common stretches of several courses over the same time: the breaks of all, the shortest steps."""
    if len(courses) == 1:
        return courses[0]
    marks = sorted((row[0], row[2]) for rows in courses for row in rows)
    merged: list[list[float]] = []
    for end, following in marks:
        if merged and end <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], following)
        else:
            merged.append([end, following])
    ends = np.array(merged)
    begins = np.append(-np.inf, ends[:-1, 1])
    longest = np.full(len(ends), np.inf)
    for rows in courses:
        low, high = np.append(-np.inf, rows[:-1, 2]), rows[:, 0]
        for k, (begin, end) in enumerate(zip(begins, ends[:, 0])):
            over = (low < end) & (high > begin)
            longest[k] = min(longest[k], rows[over, 1].min(initial=np.inf))
    return np.ascontiguousarray(np.column_stack([ends[:, 0], longest, ends[:, 1]]))


class _Kinds(NamedTuple):
    """For each value the time [s] in which it varies by its own scale, and whether its enclosure decides instead."""

    lengths: Array
    tested: Array


def course_of(program: TimeProgram, constants: Array, t0: float, t1: float, gap: float) -> Course:
    """Return the stretches from t0 to t1, or up to where the number of stretches in one search is reached.

    ``gap``: widest gap between two stages of the method, in steps. A step is at most the length of a stretch over
    ``gap``.
    """
    breaks = find_breaks(program, constants, t0, t1)
    cuts = np.unique(
        np.concatenate([[t0], breaks.knots[(breaks.knots > t0) & (breaks.knots < breaks.until)]])
    )
    low, high = cuts, np.append(cuts[1:], breaks.until)
    for before, after in zip(breaks.before, breaks.after):
        high[(high > before) & (high < after)] = before
        low[(low > before) & (low < after)] = after
    whole = low < high
    low, high, until = low[whole], high[whole], breaks.until
    with np.errstate(all="ignore"):
        known = program.at(np.array([t0]), constants)[:, 0]
        kinds = _kinds(program, linear_values(program, known))
        ends, longest, until = _stretches(program, constants, known, kinds, (low, high), until)
    rows = np.column_stack([ends, longest / gap, ends])
    hard = breaks.before < until
    marks = np.column_stack([breaks.before, np.full(len(breaks.before), np.inf), breaks.after])[hard]
    place = np.searchsorted(rows[:, 0], marks[:, 0])
    for k, (before, _, after) in zip(place, marks):
        if k < len(rows) and rows[k, 0] <= after:
            rows[k, 0], rows[k, 2] = before, after
    missing = [mark for mark in marks if mark[0] not in rows[:, 0]]
    if missing:  # a break at the very start
        rows = np.vstack([*missing, rows])
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
    return Course(np.ascontiguousarray(_merged(rows)), until)


def _merged(rows: Array) -> Array:
    """Return the stretches, with neighbours that allow about the same steps joined."""
    kept: list[list[float]] = []
    for end, longest, following in rows.tolist():
        last = kept[-1] if kept else [0.0, 0.0, 1.0, 0.0]
        least, most = min(last[1], longest), max(last[3], longest)
        if last[2] == last[0] and (least == most or most <= ALIKE_STRETCHES * least):
            kept[-1] = [end, least, following, most]
        else:
            kept.append([end, longest, following, longest])
    return np.ascontiguousarray(np.array(kept).reshape(-1, WIDTH + 1)[:, :WIDTH])


def _kinds(program: TimeProgram, lines: dict[int, Line]) -> _Kinds:
    """Return how fast values vary: closed form for sums and products of sines of time, else undecided.

    A sum or product has no feature much narrower than those of its terms and factors.
    """
    count = len(program.instructions)
    lengths, tested = np.full(count, np.inf), np.zeros(count, dtype=bool)
    for k, (op, a, b) in enumerate(program.instructions):
        if k in lines or op in (ca.OP_INPUT, ca.OP_CONST):
            continue
        if op in (ca.OP_SIN, ca.OP_COS) and a in lines:
            lengths[k] = STRETCH_OF_PERIOD * 2.0 * np.pi / abs(lines[a].rate)
        elif op in _SUMS or op in _CHOICES or (op == ca.OP_DIV and program.constant[b]):
            lengths[k] = min(lengths[a], lengths[b])
        elif op == ca.OP_MUL or (op == ca.OP_SQ and np.isfinite(lengths[a])):
            fastest = np.hypot(1.0 / lengths[a], 1.0 / lengths[b])
            lengths[k] = 1.0 / fastest if fastest > 0.0 else np.inf
        else:
            lengths[k], tested[k] = np.inf, True
    return _Kinds(lengths, tested)


def _sizes(program: TimeProgram, largest: Array) -> Array:
    """Return the size of the summands of each value, to which its rounding is proportional, from the largest values
    seen.
    """
    sizes = np.where(np.isfinite(largest), largest, 0.0).tolist()
    for k, (op, a, b) in enumerate(program.instructions):
        if op in (ca.OP_INPUT, ca.OP_CONST):
            continue
        if op in _SUMS:
            sizes[k] = max(sizes[a], sizes[b])
        elif op == ca.OP_MUL:
            sizes[k] = sizes[a] * sizes[b]
        elif op == ca.OP_SQ:
            sizes[k] = sizes[a] * sizes[a]
        elif op == ca.OP_DIV and sizes[b] > 0.0:
            sizes[k] = sizes[a] / sizes[b]
    return np.array(sizes)


def _stretches(
    program: TimeProgram,
    constants: Array,
    known: Array,
    kinds: _Kinds,
    cells: tuple[Array, Array],
    until: float,
) -> tuple[Array, Array, float]:
    """Return the ends of stretches, the longest sub-stretch of each that misses no change, and the time up to which
    they go.
    """
    low, high = cells
    pieces = len(low) > 1
    order = program.ancestors(program.terms)
    above = [program.ancestors([term]) for term in program.terms]
    least = np.array([kinds.lengths[own].min(initial=np.inf) for own in above])
    if not kinds.tested[order].any() and not np.isfinite(least).any() and not pieces:
        return high, np.full(len(high), np.inf), until
    if len(order) * len(low) > LARGE_COURSE or len(program.terms) > 200:
        return high, np.minimum(least.min(initial=np.inf), high - low), until
    terms = np.array(program.terms)
    tests = [(k, np.array([k in own for own in map(set, above)])) for k in order if kinds.tested[k]]
    smallest, largest = np.full(len(known), np.inf), np.full(len(known), -np.inf)
    leaves: list[tuple[Array, Array, Array, Array]] = []
    loose: list[int] = []  # values whose enclosures are much wider than what they do
    for depth in range(DEEPEST + 1):
        if len(low) > AT_ONCE:
            until, low, high = float(low[AT_ONCE // 2]), low[: AT_ONCE // 2], high[: AT_ONCE // 2]
        points = program.at(np.concatenate([low, 0.5 * (low + high), high]), constants)
        finite = np.isfinite(points)
        smallest = np.minimum(smallest, np.where(finite, points, np.inf).min(axis=1))
        largest = np.maximum(largest, np.where(finite, points, -np.inf).max(axis=1))
        span = largest - smallest
        nothing = RESTING_TERM * _sizes(program, np.maximum(np.abs(largest), np.abs(smallest)))
        found = enclose(program, order, known, (low, high))
        widths = np.array([found[k][1] - found[k][0] for k in terms])
        active = ~(widths <= np.maximum(RESTING_TERM * span, RESTING_RANGE * nothing)[terms][:, None])
        unknown = np.zeros(len(low), dtype=bool)
        for k, own in tests:
            varies = ~(found[k][1] - found[k][0] <= max(VARYING_TERM * span[k], nothing[k])) & active[
                own
            ].any(axis=0)
            if varies.sum() > MANY_STRETCHES:
                seen = points[k].reshape(3, -1)[:, varies]
                if not (np.ptp(seen, axis=0) > SEEN_TO_VARY * span[k]).any() or span[k] <= nothing[k]:
                    loose.append(k)
            unknown |= varies
        if loose:
            kinds.tested[loose] = False
            return _stretches(program, constants, known, kinds, cells, until)
        if depth == DEEPEST:
            unknown[:] = False
        fits = ~unknown
        limited = np.full(fits.sum(), depth > 0 or pieces)
        leaves.append((low[fits], high[fits], widths[:, fits], limited))
        low, high = low[unknown], high[unknown]
        if not len(low):
            break
        middle = 0.5 * (low + high)
        low, high = np.stack([low, middle], 1).ravel(), np.stack([middle, high], 1).ravel()
    low, high, limited = (np.concatenate([leaf[k] for leaf in leaves]) for k in (0, 1, 3))
    widths = np.concatenate([leaf[2] for leaf in leaves], axis=1)
    active = ~(widths <= np.maximum(RESTING_TERM * span, RESTING_RANGE * nothing)[terms][:, None])
    longest = np.where(active, least[:, None], np.inf).min(axis=0, initial=np.inf)
    longest = np.where(limited & active.any(axis=0), np.minimum(longest, high - low), longest)
    sequence = np.argsort(low, kind="stable")
    sequence = sequence[low[sequence] < until]
    return np.minimum(high[sequence], until), longest[sequence], until
