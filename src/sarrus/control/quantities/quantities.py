"""`Quantity`: the function of the state that a task or bound controls, from coordinates, functions or `Part`s."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError, check_known, place_of
from sarrus.base.numbers import three_numbers
from sarrus.control.laws.row_units import units_of_rows
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD, Body
from sarrus.model.mechanism.tolerances import NO_DIRECTION
from sarrus.symbolic.equations.symbolic import traced
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.jet import Jet
from sarrus.symbolic.kinematics.link import links

AXES = "xyz"


@dataclass(frozen=True, eq=False)
class Quantity:
    """A function of the state that a task controls, over the symbols of a system.

    Degree 2: x(q, t), whose second derivative contains accelerations. Degree 1: y(q, v, t), whose first derivative
    does.

    Attributes
    ----------
    rows : names of its rows (m).
    value : x or y (m), as an SX column.
    rate : ẋ for degree 2, y for degree 1: the column whose derivative contains accelerations.
    jacobian, bias : J (m, nv) and (m) of d/dt ``rate`` = J a + bias.
    error : function of x_d that returns the column x_d − x.
    degree : number of derivatives after which accelerations occur.
    direct : whether ``rate`` is the derivative of ``value``; for an orientation it is the angular velocity.
    units : of the rows, as in `sarrus.control.Demand`.
    fade : distance from a bound [units of x] over which the rate of a `Bound` grows by the factor e, for quantities
        with an interior maximum, where J vanishes; None: constant rate.
    """

    rows: tuple[str, ...]
    value: ca.SX
    rate: ca.SX
    jacobian: ca.SX
    bias: ca.SX
    error: Callable[[ca.SX], ca.SX]
    degree: int = 2
    direct: bool = True
    units: tuple[str, ...] = ()
    fade: float | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """A quantity of any system, made by `point`, `orientation`, `gaze`, `clearance`, `centre_of_mass`, `momentum`,
    `capture_point` or `singularity_measure`.
    """

    trace: Callable[[System], Quantity]


def quantity(system: System, what: Any) -> Quantity:
    """Return the `Quantity` of names, a function or a `Part` for a system."""
    if isinstance(what, Part):
        return what.trace(system)
    if isinstance(what, str):
        what = [what]
    if callable(what):
        return _function(system, what)
    if isinstance(what, Sequence) and all(isinstance(name, str) for name in what):
        return _coordinates(system, what)
    raise ArgumentError(
        f"{system.name}: a quantity must be names of coordinates, a point, an orientation, another quantity of "
        f"sarrus.control, or a function of (q, t) or (q, v, t), got {what!r}",
        element="quantity",
    )


def position_quantity(system: System, what: Any, use: str) -> Quantity:
    """Return the `Quantity` for a ``use`` that excludes quantities of velocities."""
    x = quantity(system, what)
    if x.degree != 2:
        raise ArgumentError(
            f"{system.name}: {use} needs a function of (q, t), not of velocities ({', '.join(x.rows)})",
            element="quantity",
        )
    return x


def along(system: System, value: ca.SX, rows: tuple[str, ...]) -> Quantity:
    """Return the quantity x(q, t) with its derivatives along the motion."""
    rate = _drift(system, value)
    jacobian = ca.jacobian(rate, system.equations.v)
    return Quantity(
        rows, value, rate, jacobian, _drift(system, rate), lambda wanted: wanted - value,
        units=units_of_rows(system, jacobian),
    )  # fmt: skip


def of_velocity(
    system: System,
    value: ca.SX,
    rows: tuple[str, ...],
    bias: ca.SX | None = None,
    units: tuple[str, ...] = (),
) -> Quantity:
    """Return the quantity y(q, v, t) of degree 1; ``bias`` is ẏ at a = 0 if known."""
    jacobian = ca.jacobian(value, system.equations.v)
    bias = _drift(system, value) if bias is None else bias
    units = units or units_of_rows(system, jacobian)
    return Quantity(rows, value, value, jacobian, bias, lambda wanted: wanted - value, degree=1, units=units)


def of_jet(system: System, jet: Jet, rows: tuple[str, ...], unit: str) -> Quantity:
    """Return the quantity of degree 2 of a jet, all rows in one unit."""
    jacobian = ca.jacobian(jet.rate, system.equations.v)
    return Quantity(
        rows,
        jet.value,
        jet.rate,
        jacobian,
        jet.bias,
        lambda wanted: wanted - jet.value,
        units=(unit,) * len(rows),
    )


def _drift(system: System, value: ca.SX) -> ca.SX:
    """Return the derivative of a function of (q, v, t) with respect to time at a = 0."""
    e = system.equations
    return ca.jtimes(value, e.q, e.rate) + ca.jtimes(value, e.t, ca.SX(1))


def _coordinates(system: System, names: Sequence[str]) -> Quantity:
    places = [place_of("coordinate", name, system.coordinate_names) for name in names]
    return along(system, system.equations.q[places], tuple(names))


def _function(system: System, function: Callable[..., Any]) -> Quantity:
    e, name = system.equations, getattr(function, "__name__", "function")
    of_v = _arguments(function) == 3
    symbols, meant = ((e.q, e.v, e.t), "(q, v, t)") if of_v else ((e.q, e.t), "(q, t)")
    value = traced(
        function, symbols, f"{system.name}: task {name}", f"Write it with CasADi operations of {meant}"
    )
    rows = tuple(f"{name}[{k}]" for k in range(value.numel()))
    if not of_v:
        return along(system, value, rows)
    if not ca.which_depends(value, e.v, 1, True) == [True] * value.numel():
        raise ArgumentError(
            f"{system.name}: each row of the task {name} of (q, v, t) must depend on v; give rows that do not as a "
            "function of (q, t)",
            element=name,
        )
    return of_velocity(system, value, rows)


def _arguments(function: Callable[..., Any]) -> int:
    """Return the number of required arguments of a function."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    return sum(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters
    )


# --- what parts are made of ----------------------------------------------------------------------------------


def mechanism_of(system: System) -> Mechanism:
    """Return the mechanism of a system; raises `ArgumentError` where there is none."""
    if system.mechanism is None:
        raise ArgumentError(
            f"{system.name}: only a system made from a Mechanism has bodies; give a function of (q, t)",
            element="mechanism",
        )
    return system.mechanism


def frames_of(system: System, *bodies: str) -> Frames:
    """Return the frames of a system, in world axes; raises `ArgumentError` for an unknown body."""
    mechanism = mechanism_of(system)
    for body in bodies:
        if body != WORLD:
            check_known("body", body, mechanism.bodies)
    tree = system.equations.tree
    assert tree is not None
    return Frames(tree, links(tree, system.equations.q, system.equations.v))


def bodies_of(system: System) -> list[Body]:
    """Return the bodies of a system with expressions of the parameters in their numbers."""
    mechanism_of(system)
    return list(system.model.symbolic_mechanism().bodies.values())


def direction(value: ArrayLike, what: str) -> np.ndarray:
    """Return a vector of three numbers scaled to length one."""
    vector = three_numbers(value, what)
    length = float(np.linalg.norm(vector))
    if length < NO_DIRECTION:
        raise ArgumentError(f"{what} has length zero; give a direction such as (0, 0, 1)", element=what)
    return vector / length


def chosen_axes(axes: str, what: str = "axes") -> list[int]:
    """Return the numbers of axes such as "xy"."""
    known = isinstance(axes, str) and axes and len(set(axes)) == len(axes) and set(axes) <= set(AXES)
    if not known:
        raise ArgumentError(
            f"{what} must be some of x, y, z, each once, such as 'xy', got {axes!r}", element=what
        )
    return [AXES.index(axis) for axis in axes]
