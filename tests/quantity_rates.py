"""Rates and accelerations of quantities against differences along a motion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import casadi as ca
import numpy as np

from mechanisms import random_state
from sarrus.base.arrays import Array
from sarrus.control.quantities.quantities import quantity
from sarrus.dynamics.system import System

STEP = 1e-6  # s, of central differences


def largest_difference(system: System, what: Any, seeds: Iterable[int], t: float = 0.3) -> float:
    """Return by how much, relative to 1 or more, ẋ and J a + bias differ from differences along a motion.

    The motion has v and a at random: q̇ = N v is followed to second order.
    """
    e, x = system.equations, quantity(system, what)
    outputs = [x.value, x.rate, x.jacobian, x.bias]
    function = ca.Function("quantity", [e.q, e.v, e.t, e.p], outputs)
    second = ca.jtimes(e.rate, e.q, e.rate)
    motion = ca.Function("motion", [e.q, e.v, e.t], [e.rate, second, ca.jacobian(e.rate, e.v)])
    values, worst = list(system.parameters.values()), 0.0
    for seed in seeds:
        q, v = random_state(system, seed)
        a = np.random.default_rng(seed + 100).standard_normal(system.nv)
        rate, curve, slope = (np.array(y) for y in motion(q, v, t))

        def at(h: float) -> list[Array]:
            there = q + h * rate[:, 0] + 0.5 * h * h * (curve[:, 0] + slope @ a)  # noqa: B023  called at once
            return [np.array(y) for y in function(there, v + h * a, t + h, values)]  # noqa: B023

        before, here, after = (at(h) for h in (-STEP, 0.0, STEP))
        pairs = [((after[1] - before[1]) / (2 * STEP), here[2] @ a[:, None] + here[3])]
        if x.degree == 2 and x.direct:
            pairs.append(((after[0] - before[0]) / (2 * STEP), here[1]))
        for seen, told in pairs:
            worst = max(worst, float(np.abs(seen - told).max() / (1.0 + np.abs(told).max())))
    return worst
