"""Straight-line functions for time stepping of many runs at once, with their contacts and stops in lanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from sarrus.codegen import NativeFunction, compile_function
from sarrus.dynamics.contacts.contact_elements import dry_names
from sarrus.dynamics.contacts.contact_functions import gap_outputs
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.joint_limits import dry_friction, joint_limits
from sarrus.kernels.memory.batch_layout import LANES
from sarrus.motion.loop.lane_functions import basis_of_lanes, suits_lanes
from sarrus.symbolic.equations.contact_forecast import StepFields, Stops
from sarrus.symbolic.equations.contact_lanes import (
    Slots,
    closing,
    delassus,
    iteration,
    push,
    scaled,
    sharing,
    sweep,
)
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.sparse import largest
from sarrus.symbolic.equations.stages import StageElimination, response, stage

# Slots of the sizes of contact problems: contacts with friction, unilateral rows. A run with more leaves the lanes.
_SIZES = ((0, 2), (0, 4), (0, 8), (1, 4), (2, 4), (3, 4), (4, 0), (4, 2), (4, 4), (4, 8))
# Numbers of rows of a contact that slots have room for: without friction, or with two tangents.
_WIDTHS = (1, 3)
# Most rows of dry friction: each has a slot in problems of every size.
_MOST_DRY = 24


@dataclass(frozen=True, eq=False)
class ContactLanes:
    """The functions by their names in the table, and those of each size of contact problem with their slots."""

    functions: dict[str, NativeFunction]
    sizes: list[Slots]
    problems: list[NativeFunction]

    @property
    def slots(self) -> NDArray[np.int64]:
        """Numbers of slots of each size."""
        return np.array([(size.contacts, size.single) for size in self.sizes], dtype=np.int64).ravel()

    @property
    def addresses(self) -> NDArray[np.int64]:
        """Addresses of the functions of each size."""
        return np.array([function.address for function in self.problems], dtype=np.int64)


def suits_contact_lanes(system: Evaluations, rank: int) -> bool:
    """Tell whether runs with the contacts and stops of a system can step in lanes.

    Not among them: contacts that a narrow phase finds, contacts that always stick, opposite flanks, torsional and
    rolling friction, static friction above sliding friction, Poisson's law of restitution, places on features of
    surfaces, more than `_MOST_DRY` joints and tendons with dry friction.
    """
    contacts = system.equations.friction_contacts
    plain = all(
        len(contact.row_names) in _WIDTHS
        and contact.static_coefficient == contact.friction_coefficient
        and contact.friction_coefficient < np.inf
        and not contact.opposite_flank
        and contact.impact_law == "newton"
        for contact in contacts
    )
    without = not system.contact_geometries and len(dry_names(system)) <= _MOST_DRY
    plain = plain and all(place.feature is None for place in system.surface_contacts)
    # the accelerations of articulated bodies leave no factors
    return plain and without and not system.compiled.articulated and suits_lanes(system, rank)


def contact_lane_functions(system: Evaluations, rank: int) -> ContactLanes:
    """Return the functions of the states x of all lanes, traced once for a model and a rank of A.

    stage : (a, q̇, conditioning, largest M_kk over its pivot, factors) without contacts.
    start, forecast, more, motion, speeds : see `sarrus.symbolic.equations.contact_forecast`. gaps : of contacts.
    moved : q ⊕ δ of [x | δ].
    """
    found: ContactLanes = system.model.cached(
        f"contacts in lanes, rank {rank}", lambda: _functions(system, rank)
    )
    return found


def _functions(system: Evaluations, rank: int) -> ContactLanes:
    compiled, e = system.compiled, system.equations
    elimination = _stages(system, rank)

    limits = joint_limits(system)
    stops = Stops(
        places=limits.places.tolist(), speeds=limits.rates.tolist(), signs=(-limits.signs).tolist(),
        bounds=limits.bounds.tolist(), dry=dry_friction(system).rates.tolist(),
    )  # fmt: skip
    fields = StepFields(e, stops)

    def moved(step: ca.SX) -> dict[str, ca.SX]:
        return {"q": compiled.moved(step)}

    def named(
        name: str, outputs: Callable[..., dict[str, ca.SX]], extra: dict[str, int] | None = None
    ) -> NativeFunction:
        return compiled.named(f"{name} in {LANES} lanes", outputs, extra, lanes=LANES)

    functions = {
        "stage": named("stage with contacts", lambda: _stage(e, elimination)),
        "moved": named("move", moved, {"step": e.nv}),
    }
    functions["start"] = named("gaps at the start", fields.gaps_at_start, fields.start)
    functions["forecast"] = named("forecast", fields.forecast, fields.all)
    functions["more"] = named("further contacts", fields.more, fields.all)
    functions["motion"] = named("contact motion", fields.rows_and_jacobian, fields.all)
    functions["speeds"] = named("contact speeds", fields.rows, fields.all)
    if e.friction_contacts:
        functions["gaps"] = named("gaps", lambda: gap_outputs(system))
    wide = sum(len(contact.row_names) > 1 for contact in e.friction_contacts)
    single = len(e.friction_contacts) - wide + len(limits.names)
    factors, force, answer = response(e, elimination)
    compliance = ca.Function("compliance", [factors, force], [answer])
    sizes, problems = _sizes(wide, single, len(dry_names(system))), list[NativeFunction]()
    for size in sizes:
        name = f"columns of {size.name} in {LANES} lanes"
        problems.append(_columns(system, name, size, compliance, factors))
        problems += [*_of_any_tree(size, e.nv), *_of_any_system(size)]
    return ContactLanes(functions, sizes, problems)


def _stage(equations: Equations, elimination: StageElimination) -> dict[str, ca.SX]:
    """Return a, q̇, the conditioning, the largest M_kk over its pivot, and the factors."""
    found = stage(equations, elimination)
    factors, mass = found.pop("factors"), equations.mass_matrix
    condition = largest([mass[i, i] * value for i, value in elimination.inverse_masses.items()])
    return {**found, "mass_condition": condition, "factors": factors}


def _columns(
    system: Evaluations, name: str, size: Slots, compliance: ca.Function, factors: ca.SX
) -> NativeFunction:
    """Return the function (columns K Jᵀ, W) of the factors of a stage and of the rows J of all slots."""
    compiled = system.compiled

    def make() -> NativeFunction:
        rows, outputs = delassus(size, system.nv, compliance, factors, dry_friction(system).rates.tolist())
        return compile_function(f"{compiled.equations.name}.{name}", [factors, rows], outputs, lanes=LANES)

    found: NativeFunction = system.model.cached(name, make)
    return found


@cache
def _of_any_tree(size: Slots, nv: int) -> tuple[NativeFunction, ...]:
    """Return the functions of rows and columns of nv velocities."""
    return tuple(
        compile_function(f"{part.__name__} of {size.rows} rows, {nv} velocities", [x], outputs, lanes=LANES)
        for part in (push,)
        for x, outputs in (part(size, nv),)
    )


@cache
def _of_any_system(size: Slots) -> tuple[NativeFunction, ...]:
    """Return the functions of a contact problem of a size, for all systems."""
    return tuple(
        compile_function(f"{part.__name__} of {size.name}", [x], outputs, lanes=LANES)
        for part in (scaled, sweep, iteration, sharing, closing)
        for x, outputs in (part(size),)
    )


def _sizes(wide: int, single: int, dry: int) -> list[Slots]:
    """Return the sizes of problems of a system with these numbers of contacts with friction, of unilateral rows and of
    rows with dry friction.
    """
    found = {(min(c, wide), min(s, single)) for c, s in ((0, 0), *_SIZES)} - (set() if dry else {(0, 0)})
    return [Slots(*size, dry) for size in sorted(found, key=lambda size: (3 * size[0] + size[1], size))]


def _stages(system: Evaluations, rank: int) -> StageElimination:
    """Return the elimination that leaves the factors."""
    return system.compiled.stages(basis_of_lanes(system, rank))
