"""Activity of switchable constraints: which are active, the gaps of contacts, switching on and off.

A closure or coupling added with ``active=``, and every contact, has the parameter "active.NAME" in
``system.parameters``: 1 active, 0 inactive. Sizes never change; the rows of an inactive constraint are zero rows, with
zero multipliers. Redundancy depends on the active set, and every solve determines it anew.

Sticking contacts, couplings, and closures with a ``capture`` keep the residual at which they were closed: the
parameters "anchor.ROW", set by `switch_on`. Other closures must be closed when they are switched on.
"stick.NAME" = 0 lets a closed contact slide without friction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import casadi as ca
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known, check_sequence
from sarrus.dynamics.closing.tolerances import OPEN
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.symbolic.equations.equations import activity_parameter, anchor_parameter, stick_parameter

# Largest residual [characteristic lengths, rad] with which a closure can be switched on; loops are closed to this.
AT_CONTACT = OPEN


def active(system: Evaluations) -> dict[str, bool]:
    """Return the activity of the switchable constraints by name, in the order of their rows."""
    parameters = {name: activity_parameter(name) for name in system.closure_rows}
    return {n: system.parameters[p] != 0.0 for n, p in parameters.items() if p in system.parameters}


def switch_on(system: Evaluations, names: Iterable[str], q: ArrayLike, t: float = 0.0) -> None:
    """Activate the named constraints from now on, at the configuration q; contacts stick if they can.

    Sticking contacts, couplings, and closures with a ``capture`` are anchored at q if they were inactive or sliding; an
    active constraint does not change. The velocity does not change; `sarrus.dynamics.impacts.impacts.impact` gives
    the velocity after the impact.

    Raises `ArgumentError` for names of permanent or unknown constraints, and for a constraint open at q by more than
    1e-5 rad or characteristic lengths, or by more than its ``capture``, with its name and residual; then nothing is
    switched.
    """
    new = [name for name in _checked(system, names) if not active(system)[name] or sliding(system, name)]
    trial = system.varied()
    _hold(trial, new)
    residual = trial.constraint_residual(q, t)
    rows = system.closure_rows
    anchors = {}
    for name in new:
        for j in range(rows[name].start, rows[name].stop):
            anchor = anchor_parameter(system.constraint_names[j])
            if anchor in system.parameters:
                anchors[anchor] = system.parameters[anchor] + residual[j]
                if abs(anchors[anchor]) > _capture(system, name):
                    raise ArgumentError(
                        f"{system.name}: {name!r} cannot be switched on, it is open by {abs(anchors[anchor]):.3g} in "
                        f"row {system.constraint_names[j]!r} and captures no more than {_capture(system, name):.3g}",
                        element=name,
                    )
            elif abs(residual[j]) * system.characteristic.rows[j] > AT_CONTACT:
                raise ArgumentError(
                    f"{system.name}: {name!r} cannot be switched on, it is open by {abs(residual[j]):.3g} in row "
                    f"{system.constraint_names[j]!r}",
                    element=name,
                )
    for parameter, value in anchors.items():
        system.parameters[parameter] = value
    _hold(system, new)


def switch_off(system: Evaluations, names: Iterable[str]) -> None:
    """Deactivate the named constraints; `ArgumentError` for the name of a permanent or unknown constraint."""
    for name in _checked(system, names):
        system.parameters[activity_parameter(name)] = 0.0


def sliding(system: Evaluations, name: str) -> bool:
    """Tell whether a contact with friction is set to slide without friction while it is closed."""
    return system.parameters.get(stick_parameter(name)) == 0.0


def gaps(system: Evaluations, q: ArrayLike, t: float = 0.0) -> dict[str, float]:
    """Return the gap of each contact [m], active or not; negative if its point is below the plane."""
    return _measured(system, "gap", q, None, t)


def gap_rates(system: Evaluations, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> dict[str, float]:
    """Return the rate of each gap [m/s], active or not; negative if the point approaches its plane."""
    return _measured(system, "rate", q, v, t)


def contact_names(system: Evaluations) -> tuple[str, ...]:
    """Return the names of the contacts in the order of their rows."""
    return tuple(contact.name for contact in system.equations.contacts)


def gap_expressions(system: Evaluations) -> tuple[ca.SX, ca.SX]:
    """Return the gaps and their rates as columns over the symbols of the equations, for active and inactive
    contacts."""
    rows = [contact.normal for contact in system.equations.contacts]
    gap, rate = ca.horzsplit(_switched_on(system, rows))
    return gap, rate


def _switched_on(system: Evaluations, rows: list[int]) -> ca.SX:
    """Return residuals and velocities of rows (n × 2) over the symbols of the equations, with all contacts active."""
    e, prefixes = system.equations, (activity_parameter(""), stick_parameter(""))
    if not rows:
        return ca.SX(0, 2)
    switches = [k for k, name in enumerate(e.parameter_values) if name.startswith(prefixes)]
    both = ca.horzcat(e.position_residual[rows], e.velocity_residual[rows])
    return ca.substitute(both, e.p[switches], ca.SX.ones(len(switches)))


def _capture(system: Evaluations, name: str) -> float:
    """Return the largest residual with which an anchored constraint can be switched on: ``capture`` for closures."""
    closures = {} if system.mechanism is None else system.mechanism.closures
    return closures[name].capture if name in closures else math.inf


def _hold(system: Evaluations, names: Iterable[str]) -> None:
    for name in names:
        for parameter in (activity_parameter(name), stick_parameter(name)):
            if parameter in system.parameters:
                system.parameters[parameter] = 1.0


def _measured(
    system: Evaluations, what: str, q: ArrayLike, v: ArrayLike | None, t: float
) -> dict[str, float]:
    friction_contacts = system.equations.friction_contacts
    names = (*contact_names(system), *(contact.name for contact in friction_contacts))
    if not names:
        return {}

    native = system.compiled.named("gaps", lambda: _motion(system))
    flat = native(system.pack(q, v, None, t))
    return dict(zip(names, flat[native.outputs[what][0]].tolist()))


def _motion(system: Evaluations) -> dict[str, ca.SX]:
    """Return gaps and rates of contacts that are constraints, then of the others; velocities and rows of the former."""
    gap, rate = gap_expressions(system)
    friction_contacts = system.equations.friction_contacts
    all_rows = [row for contact in system.equations.contacts for row in (contact.normal, *contact.tangential)]
    velocities = _switched_on(system, all_rows)[:, 1]
    return {
        "gap": ca.vertcat(gap, *(contact.gap for contact in friction_contacts)),
        "rate": ca.vertcat(rate, *(contact.rates[0] for contact in friction_contacts)),
        "velocities": velocities,
        "rows": ca.densify(ca.jacobian(velocities, system.equations.v)),
    }


def contact_motion(system: Evaluations, x: Array) -> tuple[Array, Array, Array, Array]:
    """Return gaps (k,) of contacts that are constraints and their rates (k,); velocities (m,) and rows (m × nv).

    The m rows are the normal row and the tangential rows of each contact, active or not. x = [q | v | u | t | p | τ].
    """
    native, count = system.compiled.named("gaps", lambda: _motion(system)), len(system.equations.contacts)
    flat = native(x)
    gap, rate, speeds, rows = (
        flat[native.outputs[name][0]] for name in ("gap", "rate", "velocities", "rows")
    )
    return gap[:count], rate[:count], speeds, rows.reshape(-1, system.nv)


def _checked(system: Evaluations, names: Iterable[str]) -> list[str]:
    check_sequence("names", names, system.name)
    valid, checked = tuple(active(system)), list(dict.fromkeys(names))
    for name in checked:
        if name in system.closure_rows and name not in valid:
            raise ArgumentError(
                f"{system.name}: {name!r} always holds; add it with active=True or False to switch it. "
                f"Switchable constraints: {', '.join(map(repr, valid)) or 'none'}",
                element=name,
                valid=valid,
            )
        check_known("switchable constraint", name, valid, system.name)
    return checked
