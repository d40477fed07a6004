"""Pairs of geometries that touch by construction, and the largest separation over dense directions."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

AXES = np.eye(3)


def terms(kind, size):
    """Return the half-axes of the terms of a geometry and the radius of its ball [m], written anew."""
    if kind == "sphere":
        return [], size[0]
    if kind == "ellipsoid":
        return [np.array(size)], 0.0
    if kind == "capsule":
        return [size[1] * AXES[2]], size[0]
    if kind == "cylinder":
        return [size[0] * (AXES[0] + AXES[1]), size[1] * AXES[2]], 0.0
    return [size[k] * AXES[k] for k in range(3)], 0.0


def random_size(rng, kind):
    """Return sizes [m] between 0.1 and 0.5."""
    return rng.uniform(0.1, 0.5, {"sphere": 1, "ellipsoid": 3, "capsule": 2, "cylinder": 2, "box": 3}[kind])


def random_support(rng, kind, size):
    """Return a unit normal in axes of the geometry, its point there, and how many directions are straight."""
    u, straight = rng.normal(size=3), 0
    chance = rng.integers(3)
    if kind in ("cylinder", "capsule") and chance == 1:
        u[2], straight = 0.0, 1
    if kind == "cylinder" and chance == 2:
        u[:2], straight = 0.0, 2
    if kind == "box":
        u[rng.permutation(3)[:chance]], straight = 0.0, int(chance)
    u /= np.linalg.norm(u)
    own, ball = terms(kind, size)
    x = ball * u
    for a in own:
        b = a * u
        if np.linalg.norm(b) > 0.0:
            x = x + a * b / np.linalg.norm(b)
        else:
            y = rng.normal(size=3) * (a > 0.0)
            x = x + a * y / np.linalg.norm(y) * rng.uniform(0.0, 0.9)
    return u, x, straight


def touching(rng, kinds, sizes, gap):
    """Return q of two free bodies with a gap along a normal, the normal, the point, and straight directions."""
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    turns, arms, straight = [], [], 0
    for sign, kind, size in zip((1.0, -1.0), kinds, sizes):
        u, x, lines = random_support(rng, kind, size)
        turn = Rotation.align_vectors(sign * n, u)[0]
        turn = Rotation.from_rotvec(rng.uniform(0.0, 2.0 * np.pi) * sign * n) * turn
        turns.append(turn)
        arms.append(turn.apply(x))
        straight += lines
    first = rng.uniform(-1.0, 1.0, 3)
    second = first + arms[0] + gap * n - arms[1]
    quaternions = [turn.as_quat(scalar_first=True) for turn in turns]
    q = np.concatenate([first, quaternions[0], second, quaternions[1]])
    return q, n, first + arms[0] + 0.5 * gap * n, straight


def separation(kinds, sizes, q, n):
    """Return s(n) [m] for unit vectors n (m, 3)."""
    apart = n @ (q[7:10] - q[:3])
    for kind, size, own in zip(kinds, sizes, (q[3:7], q[10:14])):
        m = n @ Rotation.from_quat(own, scalar_first=True).as_matrix()
        parts, ball = terms(kind, size)
        apart = apart - ball - sum(np.linalg.norm(m * a, axis=1) for a in parts)
    return apart


def largest_separation(kinds, sizes, q, count=4000, begins=6):
    """Return the largest separation [m] over dense directions, each of the best refined by shrinking grids."""
    k = np.arange(count) + 0.5
    z, angle = 1.0 - 2.0 * k / count, np.pi * (1.0 + np.sqrt(5.0)) * k
    ring = np.sqrt(1.0 - z * z)
    n = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), z])
    found = separation(kinds, sizes, q, n)
    best, grid = -np.inf, np.linspace(-1.0, 1.0, 13)
    u, v = (each.ravel() for each in np.meshgrid(grid, grid))
    chosen = []
    for k in np.argsort(-found):
        if all(n[k] @ n[j] < 0.99 for j in chosen):
            chosen.append(k)
        if len(chosen) == begins:
            break
    for k in chosen:
        at, width = n[k], 0.1
        while width > 1e-13:
            t = np.linalg.svd(at[None])[2][1:]
            near = at + width * (u[:, None] * t[0] + v[:, None] * t[1])
            near /= np.linalg.norm(near, axis=1)[:, None]
            near = np.vstack([at[None], near])
            values = separation(kinds, sizes, q, near)
            place = int(np.argmax(values))
            best = max(best, float(values[place]))
            inside = place == 0 or max(abs(u[place - 1]), abs(v[place - 1])) < 0.9
            at = near[place]
            width *= 0.6 if inside else 1.0
            if not inside and np.linalg.norm(near[place] - near[0]) < 1e-13:
                break
    return best
