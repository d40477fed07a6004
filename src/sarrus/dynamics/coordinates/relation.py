"""`Relation`: independent coordinates given by equations R(x, y) = 0, x = (q, v), and their rank conditions.

The theory is Spencer 2004, section 2.3: `sarrus.dynamics.coordinates.traced_relation` has the conditions.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_is
from sarrus.base.numbers import finite_array
from sarrus.dynamics.coordinates.extension import with_coordinates, with_state
from sarrus.dynamics.coordinates.traced_relation import Place, TracedRelation
from sarrus.dynamics.model.joint_limits import dry_friction, joint_limits
from sarrus.dynamics.model.model import Model
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.system import System
from sarrus.symbolic.equations.symbolic import Tracer, UserFunction, names_of


class Relation:
    """Independent coordinates y of positions and z of velocities, given by a smooth relation R(x, y) = 0.

    One of three forms; functions may also take the time t and the parameters p by these names:

    - ``Relation(R_q, names)``: R_q(q, y) = 0 with z = ẏ, for holonomic constraints;
    - ``Relation(R_q, names, velocity=R_v, velocity_names=...)``: R_v(q, v, y, z) = 0 gives velocities that need not be
      derivatives of coordinates: quasi-velocities, momenta; the form for nonholonomic constraints;
    - ``Relation(R, names, velocity_names=...)``: R(q, v, y, z) = 0, coupled, with as many rows as y and z together.

    Parameters
    ----------
    function : R_q(q, y), or R(q, v, y, z) of the third form, of CasADi columns; returns residuals, SX expressions or
        lists of these. The number of y is nv − rank of the holonomic rows, of z nv − rank of all rows.
    names : names of the entries of y, different from the coordinates of the system.
    guess : y near which R = 0 is solved at the starting configuration; zeros by default. It selects one of several
        solutions, as of a length squared in R.
    velocity : R_v(q, v, y, z), one row for each z. velocity_names, velocity_guess : names and guess of z.

    Example: ``Relation(lambda q, y: [q[0] - y[0] * cos(y[1]), q[1] - y[0] * sin(y[1])], ["r", "angle"], [1.0, 0.0])``.

    When it is used, the rank conditions (2.21) and (2.22) of theorem 2.3.1 in Spencer 2004, or (2.27) and (2.28) for
    positions, are verified; an `ArgumentError` gives the failed condition and its condition number.
    """

    def __init__(
        self,
        function: UserFunction,
        names: Sequence[str],
        guess: ArrayLike | None = None,
        *,
        velocity: UserFunction | None = None,
        velocity_names: Sequence[str] | None = None,
        velocity_guess: ArrayLike | None = None,
    ) -> None:
        self.function, self.velocity = function, velocity
        self.names = names_of("relation", "names", names, len(names), "")
        self.velocity_names: tuple[str, ...] | None = None
        self.guess, self.velocity_guess = _near("guess", self.names, guess), np.zeros(0)
        if velocity_names is None:
            if velocity is not None or velocity_guess is not None:
                raise ArgumentError(
                    "relation: velocity_names is missing: one name for each row of velocity",
                    element="velocity_names",
                )
            return
        self.velocity_names = names_of("relation", "velocity_names", velocity_names, len(velocity_names), "")
        self.velocity_guess = _near("velocity_guess", self.velocity_names, velocity_guess)
        both = sorted({*self.names} & {*self.velocity_names})
        if both:
            raise ArgumentError(
                f"relation: {both[0]!r} is both in names and in velocity_names; choose different ones",
                element=both[0],
            )

    @property
    def has_velocities(self) -> bool:
        """Whether z is given by its own rows instead of ẏ."""
        return self.velocity_names is not None

    def traced(self, system: System, x: Place, ranks: tuple[int, int]) -> tuple[TracedRelation, Array]:
        """Return the relation over the symbols of a system, and start values of (y, z) for its solution at x.

        ``ranks`` are the ranks of the holonomic rows and of all rows.
        """
        ny, nz = self._counts(system, ranks)
        y, z = ca.SX.sym("y", ny), ca.SX.sym("z", nz)
        trace = _Tracing(system, y, z)
        if self.velocity_names is None:
            position, velocity = trace.rows("relation", self.function, "qy", ny), None
        elif self.velocity is None:
            position, velocity = None, trace.rows("relation", self.function, "qvyz", ny + nz)
        else:
            position = trace.rows("relation", self.function, "qy", ny)
            velocity = trace.rows("relation: velocity", self.velocity, "qvyz", nz)
        velocity_names = self.velocity_names or self.names
        found = TracedRelation(system, self.names, velocity_names, ca.vertcat(y, z), position, velocity)
        speeds = self.velocity_guess if self.has_velocities else np.zeros(nz)
        return found, np.concatenate([self.guess, speeds])

    def _counts(self, system: System, ranks: tuple[int, int]) -> tuple[int, int]:
        """Return the numbers of y and z, or raise `ArgumentError` if they do not fit the ranks."""
        holonomic, rank = ranks
        if self.velocity_names is None and system.nc > system.nh:
            raise ArgumentError(
                f"{system.name}: with nonholonomic constraints positions have more freedom than velocities; a relation "
                f"between q and y cannot give both: add velocity= and velocity_names= of {system.nv - rank} velocities",
                element="relation",
            )
        for names, own, what, which in (
            (
                self.names,
                holonomic,
                "independent coordinates",
                "" if rank == holonomic else " of holonomic rows",
            ),
            (self.velocity_names or self.names, rank, "independent velocities", ""),
        ):
            if len(names) != system.nv - own:
                raise ArgumentError(
                    f"{system.name}: relation must give {system.nv - own} {what} (nv − rank{which} = {system.nv} − "
                    f"{own}), got {len(names)} ({', '.join(names)})",
                    element="relation",
                )
        return system.nv - holonomic, system.nv - rank

    def __repr__(self) -> str:
        velocities = "" if self.velocity_names is None else f"; {', '.join(self.velocity_names)}"
        return f"Relation({', '.join(self.names)}{velocities})"


class _Tracing:
    """Tracing of user functions of q, v, y, z, and of t and p if they name them, over the symbols of a system."""

    def __init__(self, system: System, y: ca.SX, z: ca.SX) -> None:
        self.system, self.y, self.z = system, y, z

    def rows(self, what: str, function: UserFunction, arguments: str, size: int) -> ca.SX:
        """Return the rows of a function."""
        e = self.system.equations
        named = inspect.signature(function).parameters if callable(function) else {}
        values = {name: e.parameter_values[name] for name in e.design_parameters} if "p" in named else None
        trace = _Tracer(e.name, e.nq, e.nv, values)
        trace.y, trace.z = ca.SX.sym("y", self.y.numel()), ca.SX.sym("z", self.z.numel())
        rows = trace.column(what, function, arguments + ("t" if "t" in named else ""), size)
        places = [list(e.parameter_values).index(name) for name in values or ()]
        here = ca.vertcat(e.q, e.v, self.y, self.z, e.t, *(e.p[place] for place in places))
        return ca.substitute(rows, ca.vertcat(trace.q, trace.v, trace.y, trace.z, trace.t, trace.p), here)


class _Tracer(Tracer):
    """A tracer with the additional symbols y and z."""

    y, z = ca.SX(0, 1), ca.SX(0, 1)

    @property
    def symbols(self) -> ca.SX:
        """All symbols allowed in a function."""
        return ca.vertcat(super().symbols, self.y, self.z)


def trace_relation(
    system: System, relation: Relation, q: Array, t: float, v: Array
) -> tuple[TracedRelation, Array]:
    """Return the relation traced for a system, and (y, z) at the state (q, v), all conditions verified."""
    work = system.workspace()
    rank = generic_rank(work, q, t, v, renew=True)
    ranks = min(int(work.table.holonomic_rank), rank), rank
    x = Place(q, v, t)
    traced, guess = relation.traced(system, x, ranks)
    taken = sorted({*traced.all_names} & {*system.coordinate_names, *system.velocity_names})
    if taken:
        raise ArgumentError(
            f"{system.name}: relation: {taken[0]!r} is a coordinate of the system already; choose another name",
            element=taken[0],
        )
    traced.check_dependence(x, guess)
    own = traced.solve(x, guess)
    traced.check(x, own, ranks)
    return traced, own


def extend(
    system: System, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0, *, relation: Relation
) -> tuple[System, Array, Array]:
    """Return the system extended by the coordinates of a relation, and the state (q, v) extended by their values.

    The coordinates have no mass. R(q, y) = 0 for y alone: y is appended to q and ẏ to v, and the relation gives
    additional holonomic rows, named like y. y are then ordinary coordinates: recorded, lockable, and valid names in
    ``coordinates=`` and control laws; the first nq and nv entries are those of the given system. A relation with
    velocities: y and z are appended to v, q does not change, and R(x, y) = 0 are additional rows on velocities. Forces
    have as many additional entries as v. The extended system has no mechanism: its motions cannot be drawn.

    q must be closed. Redundant constraints are legal. Raises `ArgumentError` if the relation fails the rank
    conditions at q, for example at a singular configuration, and `SolveError` if R = 0 has no solution near the
    guess.
    """
    check_is("extend", system, System)
    return _extend(system, q, v, t, relation)[:3]


def extend_traced(
    system: System, q: ArrayLike, v: ArrayLike | None, t: float, relation: Relation
) -> tuple[System, Array, Array, TracedRelation]:
    """Return the results of `extend`, and the traced relation."""
    return _extend(system, q, v, t, relation)


def _extend(
    system: System, q: ArrayLike, v: ArrayLike | None, t: float, relation: Relation
) -> tuple[System, Array, Array, TracedRelation]:
    system.require_no_activations("relations")
    q0 = system.normalized(q)
    v0 = system.checked(np.zeros(system.nv) if v is None else v, system.nv, "v")
    traced, own = trace_relation(system, relation, q0, t, v0)
    larger = with_coordinates(traced) if traced.chained else with_state(traced)
    extended = System.of_model(Model(larger), system.parameters, system.options)
    extended.model.cached("limits", lambda: joint_limits(system))  # of the first coordinates and velocities
    extended.model.cached("dry friction", lambda: dry_friction(system))
    if traced.chained:
        y, rate = own[: traced.count], own[traced.count :]
        return extended, np.concatenate([q0, y]), np.concatenate([v0, rate]), traced
    return extended, q0, np.concatenate([v0, own]), traced


def _near(what: str, names: Sequence[str], guess: ArrayLike | None) -> Array:
    near = finite_array(np.zeros(len(names)) if guess is None else guess)
    if near is None or near.shape != (len(names),):
        raise ArgumentError(
            f"relation: {what} must be {len(names)} finite numbers ({', '.join(names)}), got {guess!r}",
            element=what,
        )
    return near.copy()
