"""Derivatives of the rows of contacts and of their forces, traced with CasADi and compiled at their first use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.codegen import NativeFunction
from sarrus.dynamics.contacts.contact_functions import motion_outputs, row_count
from sarrus.dynamics.model.derivatives import along, by_variables
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.symbolic.equations.equations import ContactEquations


@dataclass(frozen=True, eq=False)
class RowSlopes:
    """Derivatives by z = (q, v, u, p) of all rows of contacts, stops and dry friction.

    Of gaps and places (``position``, see `ContactEquations`; zero for rows without a place), of H v, of H w and of Hᵀ f
    with constant w and f, and of Ḣ v.
    """

    position: Array
    velocity: Array
    forward: Array
    backward: Array
    drift: Array


def friction_turn(slip: Array, most: float) -> Array:
    """Return the derivative (n × n) of the friction −f d by the slip u: −f (1 − d dᵀ)/‖u‖, d = u/‖u‖, f = ``most``."""
    speed = float(np.linalg.norm(slip))
    d = slip / speed
    return np.asarray(-most / speed * (np.eye(len(slip)) - np.multiply.outer(d, d)))


def add_part(found: dict[str, Array], given: Mapping[str, Array], first: int) -> None:
    """Add derivatives of generalized forces, and write derivatives of rows from row ``first`` on."""
    for name, part in given.items():
        if name in ("force_q", "backward"):
            found[name] += part
        else:
            found[name][first : first + len(part)] = part


def row_tangent(system: Evaluations) -> NativeFunction:
    """Return the function of [x | a | f] for `tangent_outputs`: a (nv,), f the forces on the rows."""
    rows = row_count(system)
    return system.compiled.named(
        "touch tangent", partial(tangent_outputs, system), {"a": system.nv, "forces": rows}
    )


def tangent_outputs(system: Evaluations, a: ca.SX, forces: ca.SX) -> dict[str, ca.SX]:
    """Return the derivatives of Hᵀ f, H a + Ḣ v and H v (`kernels.memory.contact_layout.PhaseTangent`).

    H are the rows of the contacts, f the forces on them.
    """
    return tangent_of(system, motion_outputs(system), a, forces)


def tangent_of(system: Evaluations, motion: Mapping[str, ca.SX], a: ca.SX, forces: ca.SX) -> dict[str, ca.SX]:
    """Return `tangent_outputs` of the rows of ``motion``, as `motion_outputs` has them."""
    v = system.equations.v
    force, bias = motion["rows"].T @ forces, motion["rows"] @ a + motion["bias"]
    ends = np.cumsum([0, system.nv, bias.numel(), bias.numel()]).tolist()
    by_place = ca.vertsplit(along(system, ca.vertcat(force, bias, motion["rates"])), ends)
    return {
        "force_q": by_place[0],
        "bias_q": by_place[1],
        "bias_v": ca.jacobian(bias, v),
        "slip_q": by_place[2],
    }


def row_slopes(system: Evaluations) -> NativeFunction:
    """Return the function of [x | w | f] for `slope_outputs`: w (nv,), f the forces on the rows."""
    rows = row_count(system)
    return system.compiled.named(
        "touch slopes", partial(slope_outputs, system), {"w": system.nv, "forces": rows}
    )


def slope_outputs(system: Evaluations, w: ca.SX, forces: ca.SX) -> dict[str, ca.SX]:
    """Return the derivatives by z = (q, v, u, p) of gaps and places, H v, H w, Hᵀ f and Ḣ v, w and f constant."""
    e = system.equations
    places = [_position(contact) for contact in e.friction_contacts]
    position = ca.vertcat(ca.SX(0, 1), *places, ca.SX(len(e.dry_lengths), 1))
    return slopes_of(system, motion_outputs(system), position, w, forces)


def slopes_of(
    system: Evaluations, motion: Mapping[str, ca.SX], position: ca.SX, w: ca.SX, forces: ca.SX
) -> dict[str, ca.SX]:
    """Return `slope_outputs` of the rows of ``motion`` with gaps and places ``position``."""
    parts = {
        "position": position,
        "velocity": motion["rates"],
        "forward": motion["rows"] @ w,
        "backward": motion["rows"].T @ forces,
        "drift": motion["bias"],
    }
    return by_variables(system, parts)


def _position(contact: ContactEquations) -> ca.SX:
    """Return the gap of a contact and its place, zero for rows without one."""
    rows, place = len(contact.row_names) - 1, contact.place
    known = ca.SX(0, 1) if place is None else place[: min(rows, place.numel())]
    return ca.vertcat(contact.gap, known, ca.SX(rows - known.numel(), 1))
