"""Contact point of two ellipsoids, cylinders, capsules, balls or boxes, exactly: the direction of largest separation.

All of these are Minkowski sums of a ball with radius ρ and of flat or slim ellipsoids {Bᵀ y : |y| ≤ 1}, their terms: a
cylinder is a disc and a segment, a box three segments. With the vector D between both centres the separation along a
unit vector n is

    s(n) = n · D − Σ |B n| − Σ ρ,

and its largest value is the gap; n is then the normal, and y = B n/|B n| gives the points of both surfaces. Where B n
vanishes (sides and ends of cylinders, edges and faces of boxes), y with |y| ≤ 1 follows from x₂ − x₁ = s n. If such y
exist, x₁ and x₂ are on the surfaces and n is normal to both: no search decides that, the equations do.

The search replaces |B n| by (|B n|² + μ²)^½ and lets μ go to zero, with Newton steps for n and y together (T. Chan,
G. Golub, P. Mulet, A Nonlinear Primal-Dual Method for Total Variation-Based Image Restoration, SIAM J. Sci. Comput.
20(6), 1999). Then terms with B n near zero are active, B n = 0, and Newton's method finds n among the directions that
are left. A positive maximum is the only one. Bodies that overlap are first searched for at a smaller size, where they
do not overlap, since the overlap of bodies that are slim has several minima.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import copy, dot, fill
from sarrus.kernels.geometry.tolerances import (
    ACTIVE_TERM,
    FIRST_SMOOTHING,
    HALVINGS_OF_TURN,
    LAST_SMOOTHING,
    LAST_STEPS,
    LAST_TURN,
    LEAST_BEND,
    LESS_SMOOTH,
    LONGEST_TURN,
    NEXT_SMOOTHING,
    PARALLEL_TERMS,
    POINTS_FOUND,
    ROUNDS_OF_TERMS,
    SAME_CENTRE,
    SAME_SEPARATION,
    SEARCH_STEPS,
    SHARE_BEYOND,
    SHRUNK,
    SINGULAR_BEND,
)
from sarrus.kernels.memory.geometry_layout import MOST_TERMS, GeometryTable
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal, raw_contact_at

# Where the numbers of a search begin: y of the terms, whether they are active, n, both tangents, D, a kept direction.
_ACTIVE = 3 * MOST_TERMS
_NORMAL = _ACTIVE + MOST_TERMS
_FIRST, _SECOND, _BETWEEN, _KEPT = _NORMAL + 3, _NORMAL + 6, _NORMAL + 9, _NORMAL + 12


@internal
def meet_by_supports(geometry: GeometryTable, k: int, limit: float):
    """Write the contact point of a pair with a gap up to ``limit`` [m]; return their number, −1: not found."""
    one, other = geometry.ones[k], geometry.others[k]
    n, between = geometry.search + _NORMAL, geometry.search + _BETWEEN
    size = geometry.radii[one] + geometry.radii[other]
    for i in range(3):
        between[i] = geometry.positions[3 * other + i] - geometry.positions[3 * one + i]
    _start(geometry, one, size)
    apart = _ascend(geometry, one, other, 1.0, FIRST_SMOOTHING * size, limit)
    if apart > limit:
        return 0
    if apart < 0.0:
        kept = geometry.search + _KEPT
        copy(n, kept, 3)
        _start(geometry, one, size)
        _ascend(geometry, one, other, SHRUNK, FIRST_SMOOTHING * size, np.inf)
        again = _ascend(geometry, one, other, 1.0, NEXT_SMOOTHING * size, limit)
        if again < apart:
            copy(kept, n, 3)
            _ascend(geometry, one, other, 1.0, NEXT_SMOOTHING * size, limit)
    if not _finish(geometry, one, other, size):
        return -1
    return _write(geometry, one, other, limit)


@internal
def _start(geometry: GeometryTable, one: int, size: float):
    """Write the direction between the centres to n, or the third axis of the first geometry if they coincide."""
    n, between = geometry.search + _NORMAL, geometry.search + _BETWEEN
    length = np.sqrt(dot(between, between, 3))
    for i in range(3):
        n[i] = between[i] / length if length > SAME_CENTRE * size else geometry.rotations[9 * one + 3 * i + 2]


@internal
def _separation(geometry: GeometryTable, one: int, other: int, scale: float, smooth: float, n: Floats):
    """Return s(n) [m] of bodies of a relative size ``scale``, with the smoothing μ [m]."""
    apart = dot(n, geometry.search + _BETWEEN, 3) - scale * (geometry.balls[one] + geometry.balls[other])
    for side in range(2):
        geom = one if side == 0 else other
        rotation = geometry.rotations + 9 * geom
        for term in range(geometry.term_firsts[geom], geometry.term_firsts[geom + 1]):
            square = smooth * smooth
            for i in range(3):
                square += (scale * geometry.terms[3 * term + i] * _along(rotation, i, n)) ** 2
            apart -= np.sqrt(square)
    return apart


@internal
def _along(rotation: Floats, i: int, n: Floats):
    """Return the component of n along the axis i of a geometry."""
    return rotation[i] * n[0] + rotation[3 + i] * n[1] + rotation[6 + i] * n[2]


@internal
def _span(first: Floats, n: Floats, second: Floats):
    """Write n × ``first`` to ``second``."""
    second[0] = n[1] * first[2] - n[2] * first[1]
    second[1] = n[2] * first[0] - n[0] * first[2]
    second[2] = n[0] * first[1] - n[1] * first[0]


@internal
def _set_tangents(search: Floats):
    """Write two unit tangents to n."""
    n, first = search + _NORMAL, search + _FIRST
    least = 0
    for i in range(3):
        if abs(n[i]) < abs(n[least]):
            least = i
    fill(first, 0.0, 3)
    first[least] = 1.0
    _project(first, n)
    _span(first, n, search + _SECOND)


@internal
def _project(x: Floats, n: Floats):
    """Subtract from x its part along the unit vector n, and make it a unit vector; return its length before."""
    along = dot(x, n, 3)
    for i in range(3):
        x[i] -= along * n[i]
    return _unit(x)


@internal
def _unit(x: Floats):
    """Divide x by its length, which is returned; zeros stay."""
    length = np.sqrt(dot(x, x, 3))
    if length > 0.0:
        for i in range(3):
            x[i] /= length
    return length


@internal
def _ascend(geometry: GeometryTable, one: int, other: int, scale: float, smooth: float, limit: float):
    """Find n with the largest separation up to the last smoothing, from n; return s(n) [m].

    Ends as soon as the separation exceeds ``limit`` [m]: the bodies are that far apart along n.
    """
    search, size = geometry.search, geometry.radii[one] + geometry.radii[other]
    n, last = search + _NORMAL, LAST_SMOOTHING * size
    for step in range(SEARCH_STEPS):
        apart = _separation(geometry, one, other, scale, 0.0, n)
        if apart > limit:
            return apart
        _set_tangents(search)
        first, second = search + _FIRST, search + _SECOND
        bent = dot(n, search + _BETWEEN, 3)
        g1, g2 = dot(first, search + _BETWEEN, 3), dot(second, search + _BETWEEN, 3)
        h11, h12, h22, count = 0.0, 0.0, 0.0, 0
        for side in range(2):
            geom = one if side == 0 else other
            rotation = geometry.rotations + 9 * geom
            for term in range(geometry.term_firsts[geom], geometry.term_firsts[geom + 1]):
                y = search + 3 * count
                bb, b1, b2, y1, y2, u11, u12, u22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for i in range(3):
                    a = scale * geometry.terms[3 * term + i]
                    b, u, w = (
                        a * _along(rotation, i, n),
                        a * _along(rotation, i, first),
                        a * _along(rotation, i, second),
                    )
                    bb, b1, b2 = bb + b * b, b1 + b * u, b2 + b * w
                    u11, u12, u22 = u11 + u * u, u12 + u * w, u22 + w * w
                    if step > 0:
                        y1, y2 = y1 + y[i] * u, y2 + y[i] * w
                rest = np.sqrt(bb + smooth * smooth)
                if step == 0:
                    y1, y2 = b1 / rest, b2 / rest
                bent -= bb / rest
                g1, g2 = g1 - b1 / rest, g2 - b2 / rest
                h11 += (u11 - y1 * b1 / rest) / rest
                h12 += (u12 - 0.5 * (y1 * b2 + y2 * b1) / rest) / rest
                h22 += (u22 - y2 * b2 / rest) / rest
                count += 1
        h11, h22 = h11 + bent, h22 + bent
        middle, away = 0.5 * (h11 + h22), np.sqrt(0.25 * (h11 - h22) ** 2 + h12 * h12)
        shift = max(0.0, LEAST_BEND * size - (middle - away))
        h11, h22 = h11 + shift, h22 + shift
        det = max(h11 * h22 - h12 * h12, (LEAST_BEND * size) ** 2)
        d1, d2 = (h22 * g1 - h12 * g2) / det, (h11 * g2 - h12 * g1) / det
        length = np.sqrt(d1 * d1 + d2 * d2)
        if length > LONGEST_TURN:
            d1, d2 = d1 * LONGEST_TURN / length, d2 * LONGEST_TURN / length
        part = _shorten(geometry, one, other, scale, smooth, d1, d2)
        _move_shares(geometry, one, other, scale, smooth, part * d1, part * d2, step == 0)
        for i in range(3):
            n[i] += part * (d1 * first[i] + d2 * second[i])
        _unit(n)
        if part == 1.0 or part * length <= smooth / size:
            if smooth <= last and part * length <= LAST_TURN:
                break
            smooth = max(LESS_SMOOTH * smooth, last)
    return _separation(geometry, one, other, scale, 0.0, n)


@internal
def _shorten(
    geometry: GeometryTable, one: int, other: int, scale: float, smooth: float, d1: float, d2: float
):
    """Return the part of a step of n, 1 or a power of ½, with which the smoothed separation does not decrease."""
    search = geometry.search
    n, first, second, trial = search + _NORMAL, search + _FIRST, search + _SECOND, search + _KEPT + 3
    slack = SAME_SEPARATION * (geometry.radii[one] + geometry.radii[other])
    before, part = _separation(geometry, one, other, scale, smooth, n) - slack, 1.0
    for _ in range(HALVINGS_OF_TURN):
        for i in range(3):
            trial[i] = n[i] + part * (d1 * first[i] + d2 * second[i])
        _unit(trial)
        if _separation(geometry, one, other, scale, smooth, trial) >= before:
            break
        part *= 0.5
    return part


@internal
def _move_shares(
    geometry: GeometryTable,
    one: int,
    other: int,
    scale: float,
    smooth: float,
    d1: float,
    d2: float,
    begins: bool,
):
    """Move y of all terms with a step of n, to lengths of 1 at the most."""
    search, count = geometry.search, 0
    n, first, second = search + _NORMAL, search + _FIRST, search + _SECOND
    for side in range(2):
        geom = one if side == 0 else other
        rotation = geometry.rotations + 9 * geom
        for term in range(geometry.term_firsts[geom], geometry.term_firsts[geom + 1]):
            y, bb, bu = search + 3 * count, 0.0, 0.0
            for i in range(3):
                a = scale * geometry.terms[3 * term + i]
                b, u = (
                    a * _along(rotation, i, n),
                    a * (d1 * _along(rotation, i, first) + d2 * _along(rotation, i, second)),
                )
                bb, bu = bb + b * b, bu + b * u
            rest, square = np.sqrt(bb + smooth * smooth), 0.0
            for i in range(3):
                a = scale * geometry.terms[3 * term + i]
                b, u = (
                    a * _along(rotation, i, n),
                    a * (d1 * _along(rotation, i, first) + d2 * _along(rotation, i, second)),
                )
                held = b / rest if begins else y[i]
                y[i] = (b + u - held * bu / rest) / rest
                square += y[i] * y[i]
            if square > 1.0:
                for i in range(3):
                    y[i] /= np.sqrt(square)
            count += 1


@internal
def _finish(geometry: GeometryTable, one: int, other: int, size: float):
    """Find n and y without smoothing; return whether both points are on their surfaces, and n is normal to both."""
    search, count = geometry.search, 0
    n, active = search + _NORMAL, search + _ACTIVE
    for side in range(2):
        geom = one if side == 0 else other
        for term in range(geometry.term_firsts[geom], geometry.term_firsts[geom + 1]):
            near = _reach(geometry, geom, term, n) <= ACTIVE_TERM * size
            active[count] = 1.0 if near else 0.0
            count += 1
    for _ in range(ROUNDS_OF_TERMS):
        error = _solve(geometry, one, other, size)
        worst, most = -1, 1.0 + SHARE_BEYOND
        for j in range(count):
            length = np.sqrt(dot(search + 3 * j, search + 3 * j, 3))
            if active[j] != 0.0 and length > most:
                worst, most = j, length
        if worst < 0:
            return error <= POINTS_FOUND * size
        active[worst] = 0.0
        y = search + 3 * worst
        _leave(geometry, one, other, worst, y)
    return False


@internal
def _reach(geometry: GeometryTable, geom: int, term: int, n: Floats):
    """Return |B n| of a term [m]."""
    rotation, square = geometry.rotations + 9 * geom, 0.0
    for i in range(3):
        square += (geometry.terms[3 * term + i] * _along(rotation, i, n)) ** 2
    return np.sqrt(square)


@internal
def _leave(geometry: GeometryTable, one: int, other: int, which: int, y: Floats):
    """Turn n a little so that B n of a term that is active no more is along its y."""
    search, many = geometry.search, geometry.term_firsts[one + 1] - geometry.term_firsts[one]
    geom = one if which < many else other
    term = geometry.term_firsts[geom] + (which if which < many else which - many)
    rotation, n = geometry.rotations + 9 * geom, search + _NORMAL
    _unit(y)
    for i in range(3):
        if geometry.terms[3 * term + i] > 0.0:
            for j in range(3):
                n[j] += ACTIVE_TERM * y[i] * rotation[3 * j + i]
    _unit(n)


@internal
def _solve(geometry: GeometryTable, one: int, other: int, size: float):
    """Find n with B n = 0 of the active terms, and y of all; return the distance of x₂ − x₁ from s n [m]."""
    search = geometry.search
    n, first, second = search + _NORMAL, search + _FIRST, search + _SECOND
    for _ in range(LAST_STEPS):
        rank = _hold(geometry, one, other)
        _unit(n)
        g1, g2 = dot(first, search + _BETWEEN, 3), dot(second, search + _BETWEEN, 3)
        bent = dot(n, search + _BETWEEN, 3)
        h11, h12, h22, k11, k12, k22, count = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0
        r1, r2 = 0.0, 0.0
        for side in range(2):
            geom = one if side == 0 else other
            rotation = geometry.rotations + 9 * geom
            for term in range(geometry.term_firsts[geom], geometry.term_firsts[geom + 1]):
                y, reach = search + 3 * count, _reach(geometry, geom, term, n)
                held = search[_ACTIVE + count] != 0.0
                if not held and reach > 0.0:
                    for i in range(3):
                        y[i] = geometry.terms[3 * term + i] * _along(rotation, i, n) / reach
                u11, u12, u22, y1, y2 = 0.0, 0.0, 0.0, 0.0, 0.0
                for i in range(3):
                    a = geometry.terms[3 * term + i]
                    u, w = a * _along(rotation, i, first), a * _along(rotation, i, second)
                    u11, u12, u22 = u11 + u * u, u12 + u * w, u22 + w * w
                    y1, y2 = y1 + y[i] * u, y2 + y[i] * w
                r1, r2 = r1 + y1, r2 + y2
                if held:
                    k11, k12, k22 = k11 + u11, k12 + u12, k22 + u22
                elif reach > 0.0:
                    bent -= reach
                    h11, h12, h22 = (
                        h11 + (u11 - y1 * y1) / reach,
                        h12 + (u12 - y1 * y2) / reach,
                        h22 + (u22 - y2 * y2) / reach,
                    )
                count += 1
        g1, g2, h11, h22 = g1 - r1, g2 - r2, h11 + bent, h22 + bent
        if rank == 0:
            det = h11 * h22 - h12 * h12
            if abs(det) <= (SINGULAR_BEND * size) ** 2:
                return np.inf
            d1, d2, c1, c2 = (h22 * g1 - h12 * g2) / det, (h11 * g2 - h12 * g1) / det, 0.0, 0.0
        elif rank == 1:
            if abs(h22) <= SINGULAR_BEND * size and abs(g2) > POINTS_FOUND * size:
                return np.inf
            d1, c1, c2 = 0.0, g1 / k11, 0.0
            d2 = g2 / h22 if abs(h22) > SINGULAR_BEND * size else 0.0
        else:
            det = k11 * k22 - k12 * k12
            d1, d2, c1, c2 = 0.0, 0.0, (k22 * g1 - k12 * g2) / det, (k11 * g2 - k12 * g1) / det
        _share(geometry, one, other, c1, c2)
        for i in range(3):
            n[i] += d1 * first[i] + d2 * second[i]
        _unit(n)
        if max(abs(d1), abs(d2)) <= LAST_TURN:
            break
    return _error(geometry, one, other)


@internal
def _hold(geometry: GeometryTable, one: int, other: int):
    """Turn n so that B n = 0 of the active terms, which are along the first tangent; return their rank, 0 to 2."""
    search, rank, count = geometry.search, 0, 0
    n, first, second = search + _NORMAL, search + _FIRST, search + _SECOND
    _set_tangents(search)
    for side in range(2):
        geom = one if side == 0 else other
        rotation = geometry.rotations + 9 * geom
        for term in range(geometry.term_firsts[geom], geometry.term_firsts[geom + 1]):
            for i in range(3):
                if search[_ACTIVE + count] != 0.0 and geometry.terms[3 * term + i] > 0.0 and rank < 2:
                    axis = second if rank == 1 else first
                    for j in range(3):
                        axis[j] = rotation[3 * j + i]
                    if rank == 0:
                        rank = 1
                    elif _project(axis, first) > PARALLEL_TERMS:
                        rank = 2
            count += 1
    if rank == 1:
        _project(n, first)
        _span(first, n, second)
    if rank == 2:
        way = search + _KEPT
        _span(second, first, way)
        sign = 1.0 if dot(way, n, 3) > 0.0 else -1.0
        for j in range(3):
            n[j] = sign * way[j]
    return rank


@internal
def _share(geometry: GeometryTable, one: int, other: int, c1: float, c2: float):
    """Add B (c₁ t₁ + c₂ t₂) to y of the active terms, with the tangents t."""
    search, count = geometry.search, 0
    for side in range(2):
        geom = one if side == 0 else other
        rotation = geometry.rotations + 9 * geom
        for term in range(geometry.term_firsts[geom], geometry.term_firsts[geom + 1]):
            for i in range(3):
                if search[_ACTIVE + count] != 0.0:
                    turn = c1 * _along(rotation, i, search + _FIRST) + c2 * _along(
                        rotation, i, search + _SECOND
                    )
                    search[3 * count + i] += geometry.terms[3 * term + i] * turn
            count += 1


@internal
def _place(geometry: GeometryTable, one: int, other: int, side: int, i: int):
    """Return the coordinate i of the vector from the centre of a geometry to its point, of the second one reversed."""
    search, geom = geometry.search, one if side == 0 else other
    count = 0 if side == 0 else geometry.term_firsts[one + 1] - geometry.term_firsts[one]
    x = geometry.balls[geom] * search[_NORMAL + i]
    for term in range(geometry.term_firsts[geom], geometry.term_firsts[geom + 1]):
        for j in range(3):
            x += (
                geometry.rotations[9 * geom + 3 * i + j]
                * geometry.terms[3 * term + j]
                * search[3 * count + j]
            )
        count += 1
    return x


@internal
def _error(geometry: GeometryTable, one: int, other: int):
    """Return the distance of x₂ − x₁ from s(n) n [m]."""
    n, square = geometry.search + _NORMAL, 0.0
    gap = _separation(geometry, one, other, 1.0, 0.0, n)
    for i in range(3):
        both = _place(geometry, one, other, 0, i) + _place(geometry, one, other, 1, i)
        square += (geometry.search[_BETWEEN + i] - both - gap * n[i]) ** 2
    return np.sqrt(square)


@internal
def _write(geometry: GeometryTable, one: int, other: int, limit: float):
    """Write the contact if its gap is up to ``limit`` [m]; return the number of contacts."""
    n, met = geometry.search + _NORMAL, raw_contact_at(geometry.contacts)
    gap = _separation(geometry, one, other, 1.0, 0.0, n)
    if gap > limit:
        return 0
    met.distance, met.nx, met.ny, met.nz = gap, n[0], n[1], n[2]
    point = geometry.search + _KEPT
    for i in range(3):
        at = geometry.positions[3 * one + i] + geometry.positions[3 * other + i]
        point[i] = 0.5 * (at + _place(geometry, one, other, 0, i) - _place(geometry, one, other, 1, i))
    met.x, met.y, met.z = point[0], point[1], point[2]
    return 1
