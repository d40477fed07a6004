"""Linear models of every shipped model at random states against derivatives of many digits.

``python tests/linear_precision.py`` prints the table for twenty states of each; names of models may follow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from conftest import load_example
from high_precision import ReducedMotion
from sarrus.analysis.linear.along import linearize_along
from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.analysis.linear.linearize_at import linearize_at
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from sarrus.dynamics.coordinates.choices import PARTITION
from sarrus.dynamics.coordinates.parametrization import parametrize
from sarrus.dynamics.impacts.activity import switch_on
from sarrus.dynamics.system import System
from sarrus.model.formats.load import load
from test_linearization import Nonlinear

MODEL = Path(__file__).parent.parent / "models" / "five_bar.xml"
KICK = 0.5  # of the configuration, along velocities, before it is closed
WELL_CONDITIONED = 100.0  # states beyond are drawn again
TIME = 0.3
STATES = 20
ZERO = 1e-12  # a block below, relative to the largest entry, is rounding
STEP = 1e-3  # of differences in double precision, extrapolated once

State = tuple[System, Array, Array, Array, float]


@dataclass(frozen=True)
class Shipped:
    """A model that comes with the library and a configuration to start from, the reference pose by default."""

    build: Callable[[Any], Any]
    guess: Callable[[Any, System], Array] = lambda module, system: system.neutral()


def on_its_feet(module: Any) -> System:
    """Return the foot with all of its corners on the ground, four redundant rows among twelve."""
    system = System(module.build())
    switch_on(system, module.CORNERS, system.neutral())
    return system


SHIPPED: dict[str, Shipped] = {
    "models/five_bar.xml": Shipped(lambda _: load(MODEL)),
    "bennett": Shipped(lambda m: m.build()),
    "bennett, weld": Shipped(lambda m: m.build("weld")),
    "bricard": Shipped(lambda m: m.build()),
    "bricard, free bodies": Shipped(lambda m: m.build(True)),
    "five_bar": Shipped(lambda m: m.build()),
    "foot, in flight": Shipped(lambda m: m.build()),
    "foot, on the ground": Shipped(on_its_feet),
    "four_bar_chain": Shipped(lambda m: m.build()),
    "front_loader": Shipped(lambda m: m.build(), lambda m, s: m.pose(s, -0.55, 0.7)),
    "leg_four_bar": Shipped(lambda m: m.build()),
    "lqr_inverted": Shipped(lambda m: m.build()),
    "parallelogram": Shipped(lambda m: m.build(), lambda m, s: m.closed(0.4, 1.4)),
    "particle_on_circle": Shipped(lambda m: m.build()),
    "quadruped": Shipped(lambda m: m.build(), lambda m, s: m.standing(s)),
    "rolling_disc": Shipped(lambda m: m.build(), lambda m, s: m.straight(m.CRITICAL)[0]),
    "slider_crank": Shipped(lambda m: m.build()),
    "stewart": Shipped(lambda m: m.build()),
    "stiff, springs": Shipped(lambda m: m.build(1e6), lambda m, s: m.start(s)),
    "stiff, rigid": Shipped(lambda m: m.build(None), lambda m, s: m.start(s)),
    "three_leg_platform": Shipped(lambda m: m.build(), lambda m, s: m.pose(s, 0.05, -0.03, 0.2)),
    "two_arms": Shipped(lambda m: m.build()),
    "two_mass_spring": Shipped(lambda m: m.build()),
}


@cache
def shipped(name: str) -> tuple[System, Array]:
    """Return the system of a shipped model and the configuration that its states are drawn around."""
    model = SHIPPED[name]
    module = None if name.endswith(".xml") else load_example(name.split(",")[0])
    built = model.build(module)
    system = built if isinstance(built, System) else System(built)
    return system, np.array(model.guess(module, system), dtype=float)


def draws(name: str, seed: int = 0) -> Iterator[State | None]:
    """Draw closed configurations, admissible velocities and inputs; None where the draw does not count.

    Those count that can be closed and whose automatic coordinates have a condition number below a hundred.
    """
    system, start = shipped(name)
    rng = np.random.default_rng(seed)
    while True:
        kick, speed, u = (rng.standard_normal(n) for n in (system.nv, system.nv, system.nu))
        closed = system.assemble(system.move(start, KICK * kick), throw=False)
        if closed.status is not Status.OK:
            yield None
            continue
        v = system.project_velocity(closed.q, speed, TIME)
        try:
            condition = parametrize(system, closed.q, v, TIME).condition(closed.q, v)
        except ArgumentError:
            condition = np.inf
        yield (system, closed.q, v, u, TIME) if condition < WELL_CONDITIONED else None


@dataclass(frozen=True)
class Errors:
    """The largest errors of a linear model, each relative to the largest entry of its block: Â₂₁, Â₂₂, B̂₂, E, affine.

    ``taylor`` and ``along`` are those of the two functions against many digits, ``differences`` those of central
    differences of the compiled dynamics in double precision against the model. ``condition`` is that of the
    coordinates.
    """

    taylor: float
    along: float
    differences: float
    condition: float


def errors(state: State, every: int = 1) -> Errors:
    """Compare the linear models at a state, in the coordinates that the library chooses there.

    With ``every`` = k each k-th column alone is compared with many digits.
    """
    system, q, v, u, t = state
    model = linearize_at(system, q, v, u, t=t)
    names = (
        model.coordinates if system.nc == system.nh else PARTITION
    )  # by name: equal pivots leave it to rounding
    right = np.column_stack([model.A, model.B, model.E, model.affine])
    scales = block_scales(model, right)[:, ::-every][:, ::-1]
    exact = ReducedMotion(model, q, v, u, t).derivatives(every)

    def worst(found: Array) -> float:
        return float(np.abs((found[:, ::-every][:, ::-1] - exact) / scales).max())

    m = linearize_along(system, q[None], v[None], u[None], t=[t], coordinates=names)
    along = worst(np.column_stack([m.A[0], m.B[0], m.E[0], m.affine[0]]))
    differences = Nonlinear(state, model, names).extrapolated(STEP)
    of_differences = np.abs((differences - right[:, :-1]) / block_scales(model, right)[:, :-1]).max()
    return Errors(worst(right), along, float(of_differences), model.condition)


def block_scales(model: LinearSystem, matrix: Array) -> Array:
    """Return the largest entry of the block that each entry of [A | B | E | affine] is in.

    Blocks that are zero but for rounding are measured by the largest entry of all.
    """
    ny, n, nu = len(model.coordinates), len(model.names), len(model.input_names)
    scales = np.full(matrix.shape, np.abs(matrix).max())
    for rows in (slice(0, ny), slice(ny, n)):
        for columns in np.split(np.arange(matrix.shape[1]), np.cumsum([ny, n - ny, nu, 1])):
            size = np.abs(matrix[rows][:, columns]).max(initial=0.0)
            if size > ZERO * scales.max():
                scales[rows, columns] = size
    return scales


def main() -> None:
    """Print the worst of twenty states of each model, and how many were drawn again."""
    kinds = "taylor", "along", "differences", "condition"
    print(f"{'model':24} states again" + "".join(f"{kind:>12}" for kind in kinds) + "  seconds")
    for name in sys.argv[1:] or SHIPPED:
        began, drawn, found = perf_counter(), 0, []
        for state in draws(name):
            drawn += 1
            if state is not None:
                found.append(errors(state))
            if len(found) == STATES:
                break
        worst = [max(getattr(each, kind) for each in found) for kind in kinds]
        figures = "".join(f"{value:12.1e}" for value in worst[:-1]) + f"{worst[-1]:12.1f}"
        print(f"{name:24} {STATES:6} {drawn - STATES:5}{figures} {perf_counter() - began:8.1f}", flush=True)


if __name__ == "__main__":
    main()
