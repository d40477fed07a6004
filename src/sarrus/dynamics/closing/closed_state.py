"""Checks that a given state satisfies the constraints, with one error for all functions that need this."""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.closing.levenberg_marquardt import data_of, judge_at
from sarrus.dynamics.closing.tolerances import MOVING_ROWS, NEARLY_ALL_OF_GAP, OPEN, PLACES_AROUND
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.measures import open_by
from sarrus.dynamics.model.rolling_contacts import why_not_finite
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT
from sarrus.symbolic.equations.equations import anchor_parameter
from sarrus.symbolic.equations.sparse import largest

_REMEDY = "close them with system.assemble(q)"


def largest_opening(system: Evaluations) -> float:
    """Return the largest residual of loops [rad, characteristic lengths] that still counts as closed.

    It depends on the digits of the model: a run may leave as much.
    """
    return data_of(system).accepted(OPEN)


def gap_expression(system: Evaluations) -> ca.SX:
    """Return the largest entry of φ in absolute value, in radians and characteristic lengths, over q, p and t.

    Rows of switchable constraints that hold the position at which they were switched on, such as brakes, are left out:
    the position is not known here.
    """
    factors, phi = system.characteristic.rows, ca.vertsplit(ca.densify(system.equations.position_residual))
    names = enumerate(system.constraint_names[: system.nh])
    rows = [k for k, name in names if anchor_parameter(name) not in system.equations.parameter_values]
    return largest([ca.fabs(float(factors[k]) * phi[k]) for k in rows])


def what_is_open(system: Evaluations, q: Array, t: float, what: str = "q", remedy: str = _REMEDY) -> str:
    """Return a sentence that names the row with the largest residual at q, empty if the loops are closed."""
    gap = open_by(system, q, t)
    if gap <= largest_opening(system):
        return ""
    judge_at(system, q, t)
    if gap <= largest_opening(system):
        return ""
    rows = np.abs(system.constraint_residual(q, t))
    worst = int(rows.argmax())
    return f"{what} leaves the loops open by {rows[worst]:.3g} (row {system.constraint_names[worst]!r}); {remedy}"


def unmoved_rows(system: Evaluations, q: Array, t: float) -> tuple[str, ...]:
    """Return the names of the rows that stay open at q because no joint moves the bodies along them.

    These are all open rows, or () is returned. Such directions are the left null space of A at q and at configurations
    around it; at a singular q alone A has further ones.
    """
    size, nh, rng = system.characteristic, system.nh, np.random.default_rng(3)
    phi = size.rows[:nh] * system.constraint_residual(q, t)
    places = [
        q,
        *(system.move(q, 0.1 * rng.standard_normal(system.nv) / size.columns) for _ in range(PLACES_AROUND)),
    ]
    rows = np.hstack([size.scaled_rows(system.constraint_jacobian(place, t=t))[:nh] for place in places])
    if not (np.isfinite(rows).all() and np.isfinite(phi).all()):
        return ()
    null = ranked(rows, relative=RANK_CUT).left_null
    against = np.abs(dense.product(null, dense.product(null.T, phi)))
    if not against.max(initial=0.0) > NEARLY_ALL_OF_GAP * np.abs(phi).max(initial=0.0):
        return ()
    return tuple(system.constraint_names[k] for k in np.flatnonzero(against > 0.1 * against.max()))


def require_closed(
    system: Evaluations,
    q: Array,
    t: float,
    what: str = "q",
    remedy: str = _REMEDY,
) -> None:
    """Raise `ArgumentError`, which names the row with the largest residual, if the loops are open at q."""
    if reason := what_is_open(system, q, t, what, remedy):
        raise ArgumentError(f"{system.name}: {reason}", element="q")


def require_on_constraints(
    system: Evaluations, q: Array, v: Array, t: float, which: str = "", also: str = ""
) -> None:
    """Raise `ArgumentError`, which names the worst row, if the loops are open at q or v violates the constraints.

    ``which`` is put before q and v in the message ("start "), ``also`` after the remedy.
    """
    require_at(system, system.pack(q, v, t=t), which, also)


def require_at(system: Evaluations, x: Array, which: str = "", also: str = "") -> None:
    """Raise as `require_on_constraints` for the state in x = [q | v | u | t | p | τ]."""
    size, nh, residuals = system.characteristic, system.nh, system.compiled.function("residuals")(x)
    factors = system.model.cached("residuals", lambda: np.concatenate([size.rows[:nh], size.rows]))
    if (np.abs(factors * residuals) <= OPEN).all():
        return
    v, t, phi, psi = x[system.parts.v], float(x[system.parts.t]), residuals[:nh], residuals[nh:]
    if not np.isfinite(psi).all():
        row = int(np.argmin(np.isfinite(psi)))
        name = system.constraint_names[row]
        raise SolveError(
            f"{system.name}: constraint {name!r} has a velocity that is not finite at {which}q"
            f"{why_not_finite(system, row, x[system.parts.q], t)}",
            element=name,
        )
    if not np.abs(size.rows[:nh] * phi).max(initial=0.0) <= largest_opening(system):
        require_closed(system, x[system.parts.q], t, f"{which}q", f"close them with system.assemble(q){also}")
    rows = np.abs(psi)
    allowed = largest_opening(system) * (1.0 + np.abs(size.columns * v).max(initial=0.0))
    if not (size.rows * rows).max(initial=0.0) <= allowed:
        worst = int(rows.argmax())
        require_velocities_that_agree(system, x, psi)
        raise ArgumentError(
            f"{system.name}: {which}v violates the constraints by {rows[worst]:.3g} (row "
            f"{system.constraint_names[worst]!r}); make it admissible with system.project_velocity(q, v){also}",
            element="v",
        )


def contradicting_rows(
    system: Evaluations, q: Array, v: Array, t: float, values: Array
) -> tuple[tuple[str, ...], float]:
    """Return the names of redundant rows whose ``values`` (nc,), ψ or γ, no velocity or acceleration can satisfy.

    The second result is the largest residual in characteristic units. The names are those of rows with at least a tenth
    of it; () if A has full rank or no rows contradict each other.
    """
    size = system.characteristic
    even = size.scaled_rows(system.constraint_jacobian(q, v, t))
    null = ranked(even, relative=data_of(system).rank_cut(RANK_CUT)).left_null
    against = np.abs(dense.product(null, dense.product(null.T, size.rows * values)))
    most = float(against.max(initial=0.0))
    names = system.constraint_names
    return tuple(names[k] for k in np.flatnonzero(against > 0.1 * most)) if most > 0.0 else (), most


def require_velocities_that_agree(system: Evaluations, x: Array, psi: Array) -> None:
    """Raise `ArgumentError` if no velocity satisfies all constraints at x = [q | v | …]; ``psi`` (nc,) is ψ there."""
    q, v, t = x[system.parts.q], x[system.parts.v], float(x[system.parts.t])
    allowed = largest_opening(system) * (1.0 + np.abs(system.characteristic.columns * v).max(initial=0.0))
    names, most = contradicting_rows(system, q, v, t, psi)
    if most > allowed:
        raise ArgumentError(
            f"{system.name}: no velocity satisfies all constraints at t = {t:g}: {', '.join(map(repr, names))} are "
            "redundant and prescribe different velocities; leave some out, or give them consistent motions",
            element=names[0],
        )


def require_rest(system: Evaluations, q: Array, t: float, remedy: str = "") -> None:
    """Raise `SolveError` if prescribed motions move the constraints at v = 0: then no state is at rest."""
    drift = np.abs(system.velocity_residual(q, np.zeros(system.nv), t))
    if drift.max(initial=0.0) > MOVING_ROWS:
        raise SolveError(
            f"{system.name}: the constraint {system.constraint_names[int(drift.argmax())]!r} moves at t = {t:g} (by "
            f"{drift.max():.3g} at v = 0), so no state is at rest{remedy}"
        )
