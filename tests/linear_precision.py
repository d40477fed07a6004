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
from sarrus.activity import switch_on
from sarrus.coordinates.parametrization import parametrize
from sarrus.errors import ArgumentError
from sarrus.linear.along import linearize_along
from sarrus.linear.linear_system import LinearSystem
from sarrus.linear.taylor import first_order_taylor
from sarrus.mechanism.load import load
from sarrus.mechanism.pose import Array
from sarrus.status import Status
from sarrus.system import System
from test_linearization import Nonlinear

MODEL = Path(__file__).parent.parent / "models" / "five_bar.xml"
KICK = 0.5  # of the configuration, along velocities, before it is closed
WELL_CONDITIONED = 100.0  # states beyond are drawn again
TIME = 0.3
STATES = 20
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
    """Errors of one linear model relative to the largest entry of each block, the worst of Â₂₁, Â₂₂, B̂₂ and E, affine.

    ``taylor`` and ``along`` are those of the two functions against many digits, ``differences`` those
    of central differences of the compiled dynamics in double precision.
    """

    taylor: float
    along: float
    differences: float


def errors(state: State) -> Errors:
    """Compare the linear models at a state, in the coordinates that the library chooses there."""
    system, q, v, u, t = state
    model = first_order_taylor(system, q, v, u, t=t)
    names = model.coordinates if system.nc == system.nh else "partition"  # by name: equal pivots leave it to rounding
    derivatives, rates = ReducedMotion(model, q, v, u, t).derivatives()
    right = np.column_stack([derivatives, rates])
    whole = np.column_stack([model.A, model.B, model.E, model.affine])
    along = 0.0
    if system.nc == system.nh:  # `linearize_along` has no nonholonomic rows
        m = linearize_along(system, q[None], v[None], u[None], t=[t], coordinates=names)
        along = worst(model, np.column_stack([m.A[0], m.B[0], m.E[0], m.affine[0]]), right)
    differences = Nonlinear(state, model, names).extrapolated(STEP)
    return Errors(worst(model, whole, right), along, worst(model, differences, right[:, :-1]))


def worst(model: LinearSystem, found: Array, right: Array) -> float:
    """Return the largest error relative to its block; blocks that are zero are measured by the largest entry of all."""
    ny, n, nu = len(model.coordinates), len(model.names), len(model.input_names)
    out = 0.0
    for rows in (slice(0, ny), slice(ny, n)):
        for part in np.split(np.arange(found.shape[1]), np.cumsum([ny, n - ny, nu])):
            size = np.abs(right[rows][:, part]).max(initial=0.0)
            gap = np.abs(found[rows][:, part] - right[rows][:, part]).max(initial=0.0)
            scale = size if size > 1e-20 * np.abs(right).max() else np.abs(right).max()
            out = max(out, float(gap / scale))
    return out


def main() -> None:
    """Print the worst errors of twenty states of each model."""
    print("model                     states  drawn again   taylor    along  differences  seconds")
    for name in sys.argv[1:] or SHIPPED:
        began, drawn, found = perf_counter(), 0, []
        for state in draws(name):
            drawn += 1
            if state is not None:
                found.append(errors(state))
            if len(found) == STATES:
                break
        largest = [max(getattr(e, kind) for e in found) for kind in ("taylor", "along", "differences")]
        print(
            f"{name:24} {len(found):7} {drawn - len(found):12} {largest[0]:8.1e} {largest[1]:8.1e}"
            f" {largest[2]:12.1e} {perf_counter() - began:8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
