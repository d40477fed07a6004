"""Goal: motion and constraint force are decoupled, because M leaves the null space of A invariant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.loads.tolerances import SYMMETRIC_WEIGHTS
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import finite_array
from sarrus.design.synthesis.conditions import Condition, Configuration
from sarrus.design.synthesis.goals import Goal, squares
from sarrus.design.synthesis.quantities import Quantities


def decoupling(
    at: Condition | Sequence[Condition],
    *,
    metric: ArrayLike | None = None,
    weight: float = 1.0,
    within: float | None = None,
) -> Goal:
    """Return the goal A W⁻¹ M v = 0 for all v that the constraints allow: weight × the sum of its squares.

    Then (I − P) M P = 0 in the coordinates of W, and forces along the motion, P f, do not contribute to the constraint
    force: force control needs no feed-forward of the motion (Aghili 2005, proposition 3, section 7.3; the condition is
    also necessary). The constraint force 𝓕 then consists of f⊥, h⊥ and M times the acceleration due to the curvature of
    the constraints. `sarrus.formulations.decouples` checks the condition for given matrices.

    Parameters
    ----------
    at : configurations whose drivers leave no degree of freedom. Each is evaluated once for each driver, moving at rate
        one with the other drivers at rest: these motions span the null space of A. Their own rates are not used.
    metric : W (nv, nv) of the velocities, or its diagonal: the metric in which a force is along the motion. Default:
        characteristic units, which is W = I if all velocities have one unit. For W = M every mechanism is decoupled.
        With motors at all joints, W = I is the metric of joint torques.
    weight, within : as in `sarrus.synthesis.squares`. The values are in characteristic units, kg m² for angles.

    Redundant, dead and zero rows of A change nothing. At a singular configuration the row that A loses there has no
    part in the goal.

    Raises
    ------
    ArgumentError
        A condition without drivers or with free ones; constraints with prescribed motions, when the problem is made; a
        metric that is not positive definite.
    """
    conditions = tuple(at) if isinstance(at, Sequence) else (at,)
    if not conditions or not all(isinstance(c, Configuration) and c.drivers for c in conditions):
        raise ArgumentError(
            "decoupling: at must be configurations with drivers, such as of synthesis.sweep", element="at"
        )
    moving: list[Configuration] = []
    for c in conditions:
        assert isinstance(c, Configuration)
        if c.free:
            raise ArgumentError(
                f"decoupling: driver {c.free[0]!r} is free; give the values of all drivers", element=c.free[0]
            )
        moving += [replace(c, rates={name: 1.0}, accelerations={}) for name in c.drivers]
    inverse = None if metric is None else _inverse(metric)

    def coupling(s: Quantities) -> ca.SX:
        e, size = s.system.equations, s.system.characteristic
        if not ca.substitute(e.velocity_residual, e.v, ca.SX.zeros(e.nv)).is_zero():
            raise ArgumentError(
                f"{s.system.name}: decoupling: constraints prescribe motions in time, which the null space of A does "
                "not contain; remove them, or make them constant",
                element="at",
            )
        if not e.nc:
            raise ArgumentError(
                f"{s.system.name}: decoupling needs constraints, and the mechanism has none", element="at"
            )
        if inverse is not None and len(inverse) != e.nv:
            raise ArgumentError(
                f"{s.system.name}: decoupling: metric must be of the {e.nv} velocities, got {len(inverse)}",
                element="metric",
            )
        back = np.diag(1.0 / size.columns**2) if inverse is None else inverse
        return ca.DM(size.rows) * (e.jacobian @ (ca.DM(back) @ (e.mass_matrix @ e.v)))

    return squares(coupling, moving, weight=weight, within=within, name="decoupling")


def _inverse(metric: ArrayLike) -> Array:
    """Return W⁻¹; `ArgumentError` unless W is positive numbers or a symmetric positive definite matrix."""
    given = finite_array(metric)
    whole = None if given is None else np.diag(given) if given.ndim == 1 else given
    if (
        whole is None
        or whole.ndim != 2
        or whole.shape[0] != whole.shape[1]
        or not np.allclose(whole, whole.T, rtol=SYMMETRIC_WEIGHTS, atol=0.0)
        or np.linalg.eigvalsh(whole)[0] <= 0.0
    ):
        raise ArgumentError(
            "decoupling: metric must be positive numbers or a symmetric positive definite matrix",
            element="metric",
        )
    return np.asarray(np.linalg.inv(whole))
