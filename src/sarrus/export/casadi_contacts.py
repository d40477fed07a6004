"""Contacts, ropes, stops and dry friction as CasADi expressions: rows, gaps, forces as inputs, and dynamics of a phase.

In a phase modes are held (`sarrus.dynamics.solve.contact_phase`): with the rows A of the constraints, H of what is held
and P = H, but H_n − μ dᵀ H_t for sliding contacts,

    M a = f + Aᵀλ + Pᵀ r,    A a + γ = 0,    H a + Ḣ v = 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.dynamics.contacts.contact_elements import (
    ContactElement,
    Mode,
    contact_elements,
    contact_names,
    require_limited_friction,
)
from sarrus.dynamics.contacts.contact_functions import gap_outputs
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.model.joint_limits import dry_friction, joint_limits
from sarrus.dynamics.system import System
from sarrus.kernels.contact.tolerances import STILL
from sarrus.kernels.linalg.ranked import independent_rows, rank_of
from sarrus.symbolic.equations.elimination import Weighted
from sarrus.symbolic.equations.sparse import column_of, matrix_of, rows_of

_MODES = {"open": Mode.OPEN, "sticking": Mode.STICKING, "sliding": Mode.SLIDING}


@dataclass(frozen=True)
class ContactExpressions:
    """Gaps (of each contact, then of each stop), rows J (m × nv), their velocities and biases (m,), as expressions.

    The rows are those of `sarrus.dynamics.contacts.contact_elements.contact_names`; stops are those of the model.
    """

    gaps: ca.SX
    rows: ca.SX
    rates: ca.SX
    bias: ca.SX


def contact_expressions(system: System) -> ContactExpressions:
    """Return gaps and rows; raises `ArgumentError` for contacts that a narrow phase finds."""
    if system.contact_geometries:
        pair = system.contact_geometries[0]
        raise ArgumentError(
            f"{system.name}: CasADi functions of contacts need gaps in closed form, and those of {pair!r} come from a "
            "narrow phase; add_geometry_contacts(closed_form=True) gives them where the kinds have one, and without "
            "contacts= all contacts are left out",
            element=pair,
        )
    e, limits, dry = system.equations, joint_limits(system), dry_friction(system)
    signs, speeds = ca.DM(-limits.signs), [*limits.rates.tolist(), *dry.rates.tolist()]
    scales = np.concatenate([-limits.signs, np.ones(len(dry.rates))])
    chosen = ca.DM.triplet(list(range(len(speeds))), speeds, ca.DM(scales), len(speeds), e.nv)
    at = ca.vertcat(ca.SX(0, 1), *(e.q[place] for place in limits.places.tolist()))
    stops = signs * (at - ca.DM(limits.bounds))
    return ContactExpressions(
        gaps=ca.vertcat(gap_outputs(system)["gap"], stops),
        rows=ca.vertcat(ca.jacobian(e.row_rates, e.v), ca.SX(chosen)),
        rates=ca.vertcat(e.row_rates, chosen @ e.v),
        bias=ca.vertcat(e.row_bias, ca.SX.zeros(len(speeds))),
    )


def forces_as_inputs(system: System) -> tuple[ca.SX, ca.SX]:
    """Return symbols of the forces r (m,) of all contacts, stops and dry friction, and their generalized force Jᵀ r."""
    rows = contact_expressions(system).rows
    forces = ca.SX.sym("forces", rows.shape[0])
    return forces, rows.T @ forces


@dataclass(frozen=True)
class _PhaseElement:
    """An element in a phase: its mode, and the unit direction of its slip (tails,), given or that of its slip."""

    one: ContactElement
    mode: Mode
    direction: ca.SX | None
    fixed: bool

    @property
    def slides_with_friction(self) -> bool:
        """Whether its friction is −μ r_n d."""
        return self.mode is Mode.SLIDING and self.one.kind == "contact" and self.one.friction > 0.0

    @property
    def tails(self) -> range:
        """The rows in which it sticks."""
        return range(self.one.tails.start, self.one.held(self.mode).stop)


class SymbolicPhase:
    """The rows of a phase with given modes, over the symbols of a system.

    ``force`` (nv,) is that of dry friction that slides. Names of rows are those of `contact_names`.
    """

    def __init__(self, system: System, modes: Mapping[str, Any]) -> None:
        require_limited_friction(system)
        self.system, self.all = system, contact_expressions(system)
        names = [one.name for one in contact_elements(system)]
        for name in modes:
            check_known("contact, stop or dry friction", name, names, system.name)
        self.elements = [
            self._element(one, modes.get(one.name, Mode.OPEN)) for one in contact_elements(system)
        ]
        closed = [h for h in self.elements if h.mode is not Mode.OPEN and h.one.kind != "friction"]
        self.normals = [h.one.rows.start for h in closed if h.one.kind == "contact"]
        stops = [h.one.rows.start for h in closed if h.one.kind == "stop"]
        self.others = [*stops, *(row for h in self.elements for row in h.tails)]
        self.sliding = {h.one.rows.start: h for h in self.elements if h.slides_with_friction}
        self.known = {
            h.one.rows.start: -h.one.limit * h.direction
            for h in self.elements
            if h.one.kind == "friction" and h.mode is Mode.SLIDING and h.direction is not None
        }
        self.force = ca.SX.zeros(system.nv)
        for row, force in self.known.items():
            self.force += self.all.rows[row, :].T * force

    def _element(self, one: ContactElement, mode: Any) -> _PhaseElement:
        """Return an element in its mode, which may have a direction."""
        direction: Any = None
        if isinstance(mode, Sequence) and not isinstance(mode, str):
            mode, direction = mode
        if isinstance(mode, str):
            check_known(f"mode of {one.name!r}", mode, tuple(_MODES), self.system.name)
            mode = _MODES[mode]
        mode = Mode(mode)
        if one.kind == "friction" and mode is Mode.OPEN:
            raise ArgumentError(
                f"{self.system.name}: contacts has no mode of {one.name!r}: dry friction is 'sticking' or 'sliding'",
                element=one.name,
            )
        if mode is not Mode.SLIDING or one.tails.stop == one.tails.start:
            return _PhaseElement(one, mode, None, False)
        slip = self.all.rates[one.tails]
        if direction is None:
            return _PhaseElement(one, mode, slip / self._speed(one, slip), False)
        given = np.atleast_1d(np.asarray(direction, dtype=float))
        length = float(np.linalg.norm(given))
        if given.shape != (slip.numel(),) or not 0.0 < length < np.inf:
            raise ArgumentError(
                f"{self.system.name}: the direction of {one.name!r} needs {slip.numel()} numbers, not all zero, "
                f"got {direction!r}",
                element=one.name,
            )
        return _PhaseElement(one, mode, ca.SX(given / length), True)

    def _speed(self, one: ContactElement, slip: ca.SX) -> ca.SX:
        """Return the length of a slip; 0 where it counts as zero, so that its direction is no number."""
        size, length = self.system.characteristic, ca.norm_2(slip)
        speeds = ca.vertcat(0, ca.DM(size.columns) * ca.fabs(self.system.equations.v))
        return ca.if_else(length > one.unit * STILL * (1.0 + ca.mmax(speeds)), length, 0.0)

    def push(self, row: int) -> ca.SX:
        """Return the row of P, along which the force of a held row acts."""
        out, held = self.all.rows[row, :], self.sliding.get(row)
        if held is None:
            return out
        assert held.direction is not None
        return out - held.one.friction * held.direction.T @ self.all.rows[held.one.tails, :]

    def independent(
        self, jacobian: Array, q: Array, t: float, choose: bool
    ) -> tuple[list[int], list[int], list[int]]:
        """Return normal rows and other rows that are independent with the rows A ``jacobian``, and dependent normals.

        Raises `ArgumentError` for dependent rows unless ``choose``.
        """
        state = contact_row_state(self.system, q, np.zeros(self.system.nv), t)
        held = [*self.normals, *self.others]
        stacked = np.vstack([jacobian, state.rows[held]])
        rank, first = rank_of(stacked), len(jacobian)
        kept = [held[j - first] for j in independent_rows(stacked, rank) if j >= first]
        dropped, names = [row for row in held if row not in kept], contact_names(self.system)
        if dropped and not choose:
            raise ArgumentError(
                f"{self.system.name}: the rows {', '.join(names[row] for row in dropped)} depend on others in this "
                "phase: statics leaves their forces open. rows='independent' makes normal forces those on equal "
                "springs and other dependent forces zero",
                element=names[dropped[0]],
            )
        return (
            [row for row in self.normals if row in kept],
            [row for row in self.others if row in kept],
            [row for row in self.normals if row not in kept],
        )

    def solved(
        self, problem: Weighted, kept: list[int], rows: tuple[list[int], list[int], list[int]]
    ) -> dict[str, ca.SX]:
        """Return a, λ (nc,) and r (m,) for the rows ``kept`` of A and those of `independent`."""
        e, (first, others, dependent) = self.system.equations, rows
        hat = problem.factor.solve_transposed

        def hats(matrix: Sequence[ca.SX]) -> ca.SX:
            found = [hat(row) for line in matrix for row in rows_of(line)]
            return matrix_of(found, e.nv)

        constraints = matrix_of([problem.rows[j] for j in kept], e.nv)
        held = [*first, *others]
        H = ca.vertcat(constraints, hats([self.all.rows[row, :] for row in held]))
        P = ca.vertcat(constraints, hats([self.push(row) for row in held]))
        shares = ca.SX.zeros(len(dependent), len(first))
        if dependent:
            above = H[: len(kept) + len(first), :]
            beside = hats([self.all.rows[row, :] for row in dependent])
            shares = ca.solve(above @ above.T, above @ beside.T)[len(kept) :, :].T
            P[len(kept) : len(kept) + len(first), :] += shares.T @ hats([self.push(row) for row in dependent])
        force = column_of(problem.force, e.nv)
        bias = ca.vertcat(
            ca.SX(0, 1), *(e.constraint_bias[j] for j in kept), *(self.all.bias[row] for row in held)
        )
        unknown = ca.solve(H @ P.T, -(bias + H @ force)) if H.shape[0] else ca.SX(0, 1)
        (along,) = rows_of((force + P.T @ unknown).T)
        multipliers, forces = ca.SX.zeros(e.nc), ca.SX.zeros(self.all.rows.shape[0])
        for j, value in zip(kept, ca.vertsplit(unknown[: len(kept)])):
            multipliers[j] = value
        for row, value in zip(held, ca.vertsplit(unknown[len(kept) :])):
            forces[row] = value
        for row, share in zip(dependent, ca.vertsplit(shares)):
            forces[row] = share @ unknown[len(kept) : len(kept) + len(first)]
        for row, held_one in self.sliding.items():
            assert held_one.direction is not None
            forces[held_one.one.tails] = -held_one.one.friction * forces[row] * held_one.direction
        for row, value in self.known.items():
            forces[row] = value
        return {
            "a": column_of(problem.factor.solve(along), e.nv),
            "multipliers": multipliers,
            "constraint_force": e.jacobian.T @ multipliers + e.non_ideal,
            "rate": e.whole_rate,
            "forces": forces,
        }

    def margins(self, forces: ca.SX) -> dict[str, ca.SX]:
        """Return what must not be negative in this phase, each in the order of the elements.

        Gaps of open elements [m, rad]; normal forces of closed ones [N, N m]; (μ_s r_n)² − ‖r_t‖², or limit² − r², of
        sticking ones; of sliding ones ‖u_t‖², or the slip along a given direction.
        """
        found: dict[str, list[ca.SX]] = {"gaps": [], "normals": [], "cones": [], "slips": []}
        unilateral = [h for h in self.elements if h.one.kind != "friction"]
        for k, h in enumerate(sorted(unilateral, key=lambda h: h.one.rows.start)):
            if h.mode is Mode.OPEN:
                found["gaps"].append(self.all.gaps[k])
            else:
                found["normals"].append(forces[h.one.rows.start])
        for h in self.elements:
            slip = self.all.rates[h.one.tails]
            if h.tails:
                most = h.one.limit if h.one.kind == "friction" else h.one.static * forces[h.one.rows.start]
                found["cones"].append(most**2 - ca.sumsqr(forces[h.one.tails]))
            elif h.direction is not None:
                found["slips"].append(ca.dot(h.direction, slip) if h.fixed else ca.sumsqr(slip))
        return {name: ca.vertcat(ca.SX(0, 1), *parts) for name, parts in found.items()}
