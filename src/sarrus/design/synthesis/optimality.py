"""First-order optimality of a design: the gradient projected on bounds, constraints and peaks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from sarrus.base.arrays import Array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.design.synthesis.evaluation import Found
from sarrus.design.synthesis.program import Program
from sarrus.design.synthesis.tolerances import (
    AT_DESIGN_BOUND,
    PEAK_FLAT,
    PEAK_HIGH,
    RESIDUAL_STEP,
    SHARES_WEIGHT,
)
from sarrus.kernels.linalg.dense import norm


@dataclass(frozen=True, eq=False)
class First:
    """Scales at the start of a search: size of cost and gradient, of costs and peaks alone, and the peaks."""

    size: float
    slopes: float
    heights: Array

    @classmethod
    def at(cls, program: Program, found: Found) -> First:
        """Return the scales for a design; never zero."""
        e, s = program.evaluation, program.scale
        slopes = [
            e.goals[i].goal.weight * norm(e.jacobian(found, i).sum(axis=0) * s) for i in program.costs
        ] + [
            e.goals[i].goal.weight * float(np.abs(e.jacobian(found, i) * s).max(initial=0.0))
            for i in program.peaks
        ]
        size = _of_squares(program, found) + sum(slopes) + abs(program.cost(found))
        return cls(max(size, LEAST_DIVISOR), sum(slopes), program.heights(found))


def gradient_size(program: Program, found: Found, first: First) -> float:
    """Return the scale of the gradient at a design, never zero.

    For squares it is the sum of the terms at the design itself, 2 ‖J‖ ‖r‖, and at least the change in a small step; a
    cost may vanish with its gradient, so its scale is that of the start.
    """
    return max(_of_squares(program, found) + first.slopes, LEAST_DIVISOR)


def _of_squares(program: Program, found: Found) -> float:
    e, total = program.evaluation, 0.0
    for i in program.squares:
        stiff = norm((e.jacobian(found, i) * program.scale).ravel())
        total += 2.0 * e.goals[i].goal.weight * stiff * (norm(found.goals[i]) + RESIDUAL_STEP * stiff)
    return total


def gradient_left(program: Program, found: Found, first: First) -> float:
    """Return the norm of the projected gradient in the scales of the variables, zero at a local minimum.

    Multipliers of active bounds and constraints are least-squares estimates with the sign of the Karush–Kuhn–Tucker
    conditions; a peak has the gradient of the best convex combination of the values that attain it.
    """
    s = program.scale
    gradient = program.gradient(found) * s
    columns = _active(program, found)
    peaks = [_highest(program, found, i, h) for i, h in zip(program.peaks, first.heights)]
    if not columns and not peaks:
        return norm(gradient)
    size = max([norm(gradient), *(float(np.abs(p).max(initial=0.0)) for p in peaks), LEAST_DIVISOR])
    blocks = [np.vstack([-p.T / size, np.zeros((len(peaks), len(p)))]) for p in peaks]
    for k, block in enumerate(blocks):
        block[len(s) + k] = SHARES_WEIGHT
    for column in columns:
        unit = max(float(np.abs(column).max(initial=0.0)), LEAST_DIVISOR)
        blocks.append(np.concatenate([column / unit, np.zeros(len(peaks))])[:, None])
    target = np.concatenate([gradient / size, np.full(len(peaks), SHARES_WEIGHT)])
    return float(nnls(np.hstack(blocks), target)[1]) * size


def _active(program: Program, found: Found) -> list[Array]:
    """Return the gradients of active constraints: of c ≥ 0 at zero, and both signs of equations."""
    v, s = program.evaluation.variables, program.scale
    columns: list[Array] = []
    for unit, x, low, high, scale in zip(np.eye(len(s)), found.x, v.lower, v.upper, s):
        if x - low <= AT_DESIGN_BOUND * scale:
            columns.append(unit)
        if high - x <= AT_DESIGN_BOUND * scale:
            columns.append(-unit)
    values, rows, sizes = program.inequalities(found)
    columns += [row * s / size for c, row, size in zip(values, rows, sizes) if c <= AT_DESIGN_BOUND * size]
    return columns + [sign * row * s for row in program.equalities(found)[1] for sign in (1.0, -1.0)]


def _highest(program: Program, found: Found, i: int, height: float) -> Array:
    """Return the gradients of the absolute values that attain the peak, both signs if it is zero."""
    goal = program.evaluation.goals[i].goal
    values, rows = found.goals[i], program.evaluation.jacobian(found, i)
    sizes = np.abs(values)
    top, flat = float(sizes.max()), PEAK_FLAT * height
    return np.array(
        [
            goal.weight * sign * row * program.scale
            for value, row, a in zip(values, rows, sizes)
            if a >= top * (1.0 - PEAK_HIGH) - flat
            for sign in ((1.0, -1.0) if a <= flat else (np.sign(value),))
        ]
    )
