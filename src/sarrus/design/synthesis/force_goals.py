"""Goals of forces: drive forces, shaking force and moment, reactions in joints and closures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import casadi as ca
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import positive_number, three_numbers
from sarrus.design.synthesis.conditions import Condition
from sarrus.design.synthesis.goals import Expression, Goal, between, chosen_axes, peak, squares
from sarrus.design.synthesis.loads import WORLD_FRAME
from sarrus.design.synthesis.quantities import Quantities

Part = Literal["force", "couple", "bearing_force", "bearing_couple"]
_PARTS = ("force", "couple", "bearing_force", "bearing_couple")


def drive_force(driver: str, at: Condition | Sequence[Condition], *, weight: float = 1.0) -> Goal:
    """Return the goal that minimises the squares of the torque or force of a driver [N² m², N²]."""
    return squares(lambda s: _drive(s, driver), at, weight=weight, name=f"force of {driver}")


def peak_drive_force(driver: str, at: Condition | Sequence[Condition], *, weight: float = 1.0) -> Goal:
    """Return the goal that minimises the largest torque or force of a driver over the conditions [N m, N]."""
    return peak(lambda s: _drive(s, driver), at, weight=weight, name=f"peak force of {driver}")


def shaking_force(
    at: Condition | Sequence[Condition],
    *,
    axes: str = "xyz",
    weight: float = 1.0,
    within: float | None = None,
) -> Goal:
    """Return the goal that minimises the squares of the shaking force −ṗ [N²]; see `Quantities.shaking_force`."""
    chosen = chosen_axes(axes)
    return squares(lambda s: s.shaking_force[chosen], at, weight=weight, within=within, name="shaking force")


def shaking_moment(
    at: Condition | Sequence[Condition],
    *,
    about: ArrayLike = (0.0, 0.0, 0.0),
    axes: str = "xyz",
    weight: float = 1.0,
    within: float | None = None,
) -> Goal:
    """Return the goal that minimises the squares of the shaking moment about a point of the world (3,) [m], [N² m²]."""
    chosen, where = chosen_axes(axes), three_numbers(about, "about")
    return squares(
        lambda s: s.shaking_moment(where)[chosen], at, weight=weight, within=within, name="shaking moment"
    )


def reaction(
    joint: str,
    at: Condition | Sequence[Condition],
    *,
    part: Part = "force",
    axes: str = "xyz",
    frame: str = WORLD_FRAME,
    weight: float = 1.0,
    within: float | None = None,
) -> Goal:
    """Return the goal that minimises the squares of a load of a joint, closure or fixed body [N², N² m²].

    ``part`` is "force", "couple" (about the anchor), "bearing_force" or "bearing_couple" of the load on the child, or
    on body 2, as in `sarrus.reactions`; ``axes`` refer to ``frame``: "world", "joint" (its own axes) or a body. A
    component shared by redundant closures and joints, such as the one normal to a planar linkage with a revolute
    closure, is an `ArgumentError` that names it at the first evaluation: leave it out of ``axes``.
    """
    places, name = chosen_axes(axes), _label(joint, part)
    return squares(
        lambda s: getattr(s.reaction(joint, frame), part)[places],
        at,
        weight=weight,
        within=within,
        name=name,
    )


def peak_reaction(
    joint: str,
    at: Condition | Sequence[Condition],
    *,
    part: Part = "force",
    axes: str = "xyz",
    frame: str = WORLD_FRAME,
    weight: float = 1.0,
) -> Goal:
    """Return the goal that minimises the largest magnitude of a load over the conditions [N, N m]; see `reaction`."""
    return peak(_magnitude(joint, part, axes, frame), at, weight=weight, name=f"peak {_label(joint, part)}")


def reaction_below(
    joint: str,
    at: Condition | Sequence[Condition],
    most: float,
    *,
    part: Part = "force",
    axes: str = "xyz",
    frame: str = WORLD_FRAME,
) -> Goal:
    """Return the constraint that the magnitude of a load is at most ``most`` > 0 [N, N m]; see `reaction`."""
    upper = positive_number(most, "reaction_below: most", element=joint)
    return between(_magnitude(joint, part, axes, frame), at, upper=upper, name=_label(joint, part))


def _label(joint: str, part: str) -> str:
    if part not in _PARTS:
        raise ArgumentError(
            f"reaction of {joint!r}: part must be one of {', '.join(_PARTS)}, got {part!r}", element=joint
        )
    return f"{part.replace('_', ' ')} of {joint}"


def _magnitude(joint: str, part: str, axes: str, frame: str) -> Expression:
    places, _ = chosen_axes(axes), _label(joint, part)

    def magnitude(s: Quantities) -> ca.SX:
        square = ca.sumsqr(getattr(s.reaction(joint, frame), part)[places])
        some = (
            square > 0.0
        )  # where there is no load the derivative is zero, one of those that a root has there
        return some * ca.sqrt(ca.if_else(some, square, 1.0))

    return magnitude


def _drive(s: Quantities, driver: str) -> ca.SX:
    if driver not in s.drive:
        known = ", ".join(map(repr, s.drive)) or "none"
        raise ArgumentError(f"{s.system.name}: {driver!r} is no driver. Known: {known}", element=driver)
    return s.drive[driver]
