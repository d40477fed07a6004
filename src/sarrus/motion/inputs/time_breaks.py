"""Instants at which functions of time jump or have a kink, found before a run from their expressions.

The conditions of a `sarrus.motion.inputs.time_program.TimeProgram` are comparisons, min, max, sign, floor and similar
operations on functions of t alone. If the operands are linear in t the instants are in closed form. Otherwise
stretches of time in which interval arithmetic cannot decide a condition are halved, down to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import SolveError
from sarrus.control.laws.law import Law
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.state_functions import StateFunction, trace_function
from sarrus.motion.inputs.intervals import Interval, Truths, operate
from sarrus.motion.inputs.time_program import (
    BY_DIFFERENCE,
    BY_SECOND,
    TimeProgram,
    expressions_of,
    time_program,
)
from sarrus.motion.inputs.tolerances import BEND, FIRST_STRETCHES, JUMP, KINK, NO_SIGNAL, SHORTEST_STRETCH

# Most breaks that are found at once, and stretches that are looked at together.
MOST, AT_ONCE = 2048, 4096
# Most breaks of a whole call of `time_breaks`.
LARGEST = 100_000
_EPS = float(np.finfo(float).eps)


class Breaks(NamedTuple):
    """Breaks in a stretch of time that ends at ``until`` [s]: the instants, and times just before and just after each.

    At ``before`` and ``after`` every condition has its value on that side in spite of rounding. ``order`` is 0 where a
    signal jumps, 1 where its slope jumps, 2 where its curvature jumps. ``knots`` are the times at which a condition
    changes, breaks or not.
    """

    times: Array
    before: Array
    after: Array
    order: Array
    knots: Array
    until: float


def time_breaks(system: Evaluations, t0: float, t1: float) -> Array:
    """Return the instants (n,) between ``t0`` and ``t1`` [s] at which functions of time in the equations break,
    ascending.

    A break is a jump of a force, of a prescribed motion or its rate, of a gain, or of their first or second derivative
    with respect to t, at a condition on t alone: comparisons, min, max, sign, floor, ceil, fmod, knots of a
    `sarrus.Spline`. Conditions on the state are not included; t0 and t1 are not in the result.

    Raises `SolveError` if there are more than a hundred thousand.
    """
    program = program_of(system)
    if program is None or not t1 > t0:
        return read_only(np.zeros(0))
    constants, found, time = constants_of(system), list[Array](), float(t0)
    while time < t1:
        breaks = find_breaks(program, constants, time, float(t1))
        found.append(breaks.times)
        time = breaks.until
        if sum(map(len, found)) > LARGEST:
            raise SolveError(
                f"{system.name}: functions of time break more than {LARGEST} times from t = {t0:g} s to {time:g} s. "
                "Give a shorter interval"
            )
    times = np.concatenate(found)
    return read_only(times[(times > t0) & (times < t1)])


def program_of(system: Evaluations) -> TimeProgram | None:
    """Return the functions of time in the equations of a system as a `TimeProgram`; None without any."""
    e = system.equations

    def find() -> TimeProgram | None:
        return time_program(expressions_of(e), e.t, e.p, (e.q, e.v, e.u), e.name)

    found: TimeProgram | None = system.model.cached("time program", find)
    return found


def program_of_run(
    system: Evaluations, control: StateFunction | None, events: Sequence[StateFunction]
) -> TimeProgram | None:
    """Return the functions of time of the equations, a control that acts continuously, and event functions; None
    without any.
    """
    e = system.equations
    states = [e.q, e.v, e.u]
    if isinstance(control, Law):
        rows = control.timed_expressions()
        states += list(control.symbols)
    else:
        rows = [] if control is None else [trace_function(system, control, system.nu, "control")]
    rows += [trace_function(system, function, 1, "event") for function in events]
    rows = [row for row in rows if row.nnz() and ca.depends_on(row, e.t)]
    if not rows:
        return program_of(system)
    return time_program([*expressions_of(e), *rows], e.t, e.p, states, e.name)


def constants_of(system: Evaluations) -> Array:
    """Return the values of the parameters (np,)."""
    return np.array(list(system.parameters.values()), dtype=float)


def find_breaks(program: TimeProgram, constants: Array, t0: float, t1: float) -> Breaks:
    """Return the breaks from t0 to t1, or up to where there are `MOST` of them."""
    with np.errstate(all="ignore"):
        known = program.at(np.array([t0]), constants)[:, 0]
        linear = linear_values(program, known)
        places, others, until = list[tuple[float, float]](), list[int](), t1
        for k in program.conditions:
            own = _of_linear(program, k, linear, t0, until)
            if own is None:
                others.append(k)
            else:
                until = min(until, own[1])
                places += own[0]
        if others:
            found, until = _by_halving(program, others, known, t0, until)
            places += found
        return _confirmed(program, constants, sorted(p for p in places if p[0] <= until), t0, t1, until)


# --- conditions with operands that are linear in t -----------------------------------------------------------


class Line(NamedTuple):
    """A value that is linear in t: rate · t + offset, with the size of the summands in ``offset``."""

    rate: float
    offset: float
    size: float


def linear_values(program: TimeProgram, known: Array) -> dict[int, Line]:
    """Return the values that are linear in t, by their place."""
    lines: dict[int, Line] = {}
    for k, (op, a, b) in enumerate(program.instructions):
        if program.constant[k]:
            lines[k] = Line(0.0, float(known[k]), abs(float(known[k])))
        elif op == ca.OP_INPUT:
            lines[k] = Line(1.0, 0.0, 0.0)
        elif a in lines and b in lines:
            one, two = lines[a], lines[b]
            if op in (ca.OP_ADD, ca.OP_SUB):
                sign = 1.0 if op == ca.OP_ADD else -1.0
                lines[k] = Line(
                    one.rate + sign * two.rate, one.offset + sign * two.offset, one.size + two.size
                )
            elif op == ca.OP_NEG:
                lines[k] = Line(-one.rate, -one.offset, one.size)
            elif op == ca.OP_TWICE:
                lines[k] = Line(2.0 * one.rate, 2.0 * one.offset, 2.0 * one.size)
            elif op == ca.OP_MUL and 0.0 in (one.rate, two.rate):
                line, factor = (one, two.offset) if two.rate == 0.0 else (two, one.offset)
                lines[k] = Line(line.rate * factor, line.offset * factor, line.size * abs(factor))
            elif op == ca.OP_DIV and two.rate == 0.0 and two.offset != 0.0:
                lines[k] = Line(one.rate / two.offset, one.offset / two.offset, one.size / abs(two.offset))
    return lines


def _of_linear(
    program: TimeProgram, k: int, lines: dict[int, Line], t0: float, t1: float
) -> tuple[list[tuple[float, float]], float] | None:
    """Return the instants at which a condition changes, each with its uncertainty, and the time up to which they are
    known.

    None if they are not in closed form.
    """
    op, a, b = program.instructions[k]
    decisive = [b] if op in BY_SECOND else [a, b] if op in BY_DIFFERENCE else [a]
    if op in (ca.OP_AND, ca.OP_OR, ca.OP_NOT, ca.OP_IF_ELSE_ZERO) and _is_truth(program, a):
        return ([], t1) if op in (ca.OP_NOT, ca.OP_IF_ELSE_ZERO) or _is_truth(program, b) else None
    if op == ca.OP_INV:
        decisive = [a]
    if op in (ca.OP_AND, ca.OP_OR, ca.OP_ATAN2) or not all(i in lines for i in decisive):
        return None
    line = lines[decisive[0]]
    if op in BY_DIFFERENCE:
        other = lines[b]
        line = Line(line.rate - other.rate, line.offset - other.offset, line.size + other.size)
    if op in (ca.OP_FMOD, ca.OP_REMAINDER):
        if b not in lines or lines[b].rate != 0.0 or lines[b].offset == 0.0:
            return None
        period = abs(lines[b].offset)
        line = Line(line.rate / period, line.offset / period, line.size / period)
    elif op == ca.OP_TAN:
        line = Line(line.rate / np.pi, line.offset / np.pi, line.size / np.pi)
    shift = 0.5 if op in (ca.OP_REMAINDER, ca.OP_TAN) else 0.0
    if op not in (ca.OP_FLOOR, ca.OP_CEIL, ca.OP_FMOD, ca.OP_REMAINDER, ca.OP_TAN):
        levels, until = np.zeros(1), t1
    else:
        ends = sorted((line.rate * t0 + line.offset - shift, line.rate * t1 + line.offset - shift))
        first, last = np.floor(ends[0]), np.ceil(ends[1])
        until = t1
        if not last - first < MOST:
            until = t0 + MOST / abs(line.rate)
            ends = sorted((line.rate * t0 + line.offset - shift, line.rate * until + line.offset - shift))
            first, last = np.floor(ends[0]), np.ceil(ends[1])
            if not last - first < 2 * MOST:
                return None
        levels = shift + np.arange(first, last + 1.0)
    if line.rate == 0.0:
        return [], t1
    times = (levels - line.offset) / line.rate
    near = 4.0 * _EPS * (np.abs(times) + (line.size + np.abs(levels)) / abs(line.rate))
    return [(float(t), float(d)) for t, d in zip(times, near) if t0 <= t <= until], until


def _is_truth(program: TimeProgram, k: int) -> bool:
    """Return whether a value is 0 or 1, so that it changes only with the conditions that it depends on."""
    op, a, b = program.instructions[k]
    if op in (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR):
        return True
    sums = (ca.OP_ADD, ca.OP_SUB, ca.OP_MUL)
    return bool(program.constant[k]) or (op in sums and _is_truth(program, a) and _is_truth(program, b))


# --- other conditions ----------------------------------------------------------------------------------------


def enclose(program: TimeProgram, order: Sequence[int], known: Array, cells: Interval) -> dict[int, Interval]:
    """Return enclosures of the values in ``order`` over stretches of time; ``order`` contains all their operands."""
    found: dict[int, Interval] = {}

    def of(k: int) -> Interval:
        if k not in found:  # a constant
            both = np.full_like(cells[0], known[k])
            found[k] = both, both
        return found[k]

    for k in order:
        op, a, b = program.instructions[k]
        found[k] = cells if op == ca.OP_INPUT else operate(op, of(a), of(b))
    return found


def _undecided(op: int, a: Interval, b: Interval) -> Truths:
    """Return the stretches over which a condition may have more than one value."""
    match op:
        case ca.OP_LT:
            return ~((a[1] < b[0]) | (a[0] >= b[1]))
        case ca.OP_LE:
            return ~((a[1] <= b[0]) | (a[0] > b[1]))
        case ca.OP_EQ | ca.OP_NE | ca.OP_FMIN | ca.OP_FMAX:
            both = (a[0] == a[1]) & (b[0] == b[1])
            return ~((a[1] < b[0]) | (a[0] > b[1]) | both)
        case ca.OP_FLOOR | ca.OP_CEIL:
            whole = np.floor if op == ca.OP_FLOOR else np.ceil
            return whole(a[0]) != whole(a[1])
        case ca.OP_TAN:
            return np.floor(a[0] / np.pi + 0.5) != np.floor(a[1] / np.pi + 0.5)
        case ca.OP_FMOD | ca.OP_REMAINDER:
            quotient = operate(ca.OP_DIV, a, b)
            if op == ca.OP_FMOD:
                return ~(np.trunc(quotient[0]) == np.trunc(quotient[1]))
            return ~(np.round(quotient[0]) == np.round(quotient[1]))
        case ca.OP_ATAN2:
            return (b[0] <= 0.0) & (a[0] <= 0.0) & (a[1] >= 0.0) & ~((a[0] == 0.0) & (a[1] == 0.0))
        case ca.OP_AND | ca.OP_OR:
            return _changes_sign(a) | _changes_sign(b)
    return _changes_sign(b if op in BY_SECOND else a)


def _changes_sign(a: Interval) -> Truths:
    return (a[0] <= 0.0) & (a[1] >= 0.0) & ~((a[0] == 0.0) & (a[1] == 0.0))


def _by_halving(
    program: TimeProgram, conditions: list[int], known: Array, t0: float, t1: float
) -> tuple[list[tuple[float, float]], float]:
    """Return the instants at which conditions may change, as (middle, half width) [s], and the time up to which they
    are known.
    """
    operands = [i for k in conditions for i in program.instructions[k][1:]]
    order = program.ancestors(operands)
    edges = np.linspace(t0, t1, FIRST_STRETCHES + 1)
    low, high, until = edges[:-1], edges[1:], t1
    shortest = SHORTEST_STRETCH * _EPS * max(abs(t0), abs(t1))
    places: list[tuple[float, float]] = []
    while len(low):
        found = enclose(program, order, known, (low, high))
        open_ = np.zeros(len(low), dtype=bool)
        for k in conditions:
            op, a, b = program.instructions[k]
            pair = [found[i] if i in found else (np.full_like(low, known[i]),) * 2 for i in (a, b)]
            open_ |= _undecided(op, pair[0], pair[1])
        low, high = low[open_], high[open_]
        if len(low) > AT_ONCE:
            # between two that do not touch, so that no break is cut in two
            apart = np.flatnonzero(low[1:] > high[:-1]) + 1
            cut = int(apart[apart <= AT_ONCE // 2].max(initial=0)) or AT_ONCE // 2
            until = float(0.5 * (high[cut - 1] + low[cut]))
            low, high = low[:cut], high[:cut]
        middle = 0.5 * (low + high)
        done = (high - low <= shortest) | (middle <= low) | (middle >= high)
        places += [(float(m), float(0.5 * (b - a))) for a, b, m in zip(low[done], high[done], middle[done])]
        low, high, middle = low[~done], high[~done], middle[~done]
        low, high = np.stack([low, middle], 1).ravel(), np.stack([middle, high], 1).ravel()
    return [place for place in places if place[0] <= until], until


def _confirmed(
    program: TimeProgram,
    constants: Array,
    places: list[tuple[float, float]],
    t0: float,
    t1: float,
    until: float,
) -> Breaks:
    """Return the breaks among the instants at which conditions may change; neighbours are joined, other instants
    dropped.
    """
    merged: list[list[float]] = []
    least = SHORTEST_STRETCH * _EPS * max(abs(t0), abs(until))
    for time, near in places:
        low, high = time - near - least, time + near + least
        if merged and low <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high, time])
    if len(merged) > MOST:
        until = merged[MOST][0]
        merged = merged[:MOST]
    if not merged:
        none = np.zeros(0)
        return Breaks(none, none, none, none, none, until)
    before, after, times = np.array(merged).T
    one, two = (program.signals_at(side, constants) for side in (before, after))
    gap = after - before
    everywhere = np.nan_to_num(
        np.abs(program.signals_at(np.linspace(t0, until, FIRST_STRETCHES + 1), constants)), posinf=0.0
    )
    nothing = NO_SIGNAL * np.maximum(everywhere.max(axis=2), np.fmax(np.abs(one), np.abs(two)).max(axis=2))
    order = np.full(len(times), 3)
    for level, relative in ((2, BEND), (1, KINK), (0, JUMP)):
        size = np.maximum(np.abs(one[level]), np.abs(two[level]))
        change = np.abs(two[level] - one[level])
        if level < 2:
            change = change - 2.0 * gap * np.maximum(np.abs(one[level + 1]), np.abs(two[level + 1]))
        broken = (change > relative * size + nothing[level][:, None]) | (
            np.isfinite(one[level]) != np.isfinite(two[level])
        )
        order[broken.any(axis=0)] = level
    real = order < 3
    until = max(until, min(float(after[-1]), t1))
    return Breaks(times[real], before[real], after[real], order[real], times, until)
