"""`step_derivatives`: exact derivatives of one step of `simulate` with respect to state, inputs and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.linear.linearize_at import on_constraints
from sarrus.analysis.linear.outputs import rate_name
from sarrus.analysis.sensitivity.contact_step import ContactStep
from sarrus.analysis.sensitivity.crossings import across
from sarrus.analysis.sensitivity.flow import Flow, Point
from sarrus.analysis.sensitivity.parameters import chosen_parameters
from sarrus.analysis.sensitivity.phase_flow import PhaseFlow, flow_of, require_one_phase
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_is
from sarrus.base.numbers import positive_number
from sarrus.dynamics.contacts.contact_state import takes_part
from sarrus.dynamics.system import System
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.motion.inputs.contacts_of_steps import with_contacts_of_steps
from sarrus.motion.inputs.drive_jumps import refuse_jumps


def change_names(system: System) -> tuple[str, ...]:
    """Return the names of the entries of a change of state (ϑ, δv, δw): velocities, these with ".rate", activations."""
    activations = system.coordinate_names[system.equations.activation_places]
    return (*system.velocity_names, *map(rate_name, system.velocity_names), *activations)


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """One step and its derivatives: δ⁺ = F δ + G δu + P δp.

    Changes of state are δ = (ϑ, δv) (2 nv,) with q ⊕ ϑ = `System.move` (q, ϑ), as in MuJoCo's mjd_transitionFD.
    ``names`` are those of their entries: velocities, then these with ".rate", then activations of actuators (also
    currents of windings), if there are any.

    Attributes
    ----------
    F, G, P : (n, n), (n, nu), (n, np), n = 2 nv plus the number of activations.
    q, v : (nq,), (nv,) the state at the end of the step.
    t, dt : begin of the step and its length [s].
    rank : rank of A.
    ambiguous : sliding contacts on whose shares of the load the derivatives depend although statics does not determine
        them, as in `sr.linearize_at`; shares are those of runs.
    """

    F: Array
    G: Array
    P: Array
    q: Array
    v: Array
    t: float
    dt: float
    rank: int
    names: tuple[str, ...]
    input_names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    ambiguous: tuple[str, ...] = ()


def step_derivatives(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    u: ArrayLike | None = None,
    t: float = 0.0,
    *,
    dt: float = 1e-3,
    tau: ArrayLike | None = None,
    parameters: Sequence[str] | None = None,
    contacts: bool = True,
    method: str = "rk4",
) -> StepDerivatives:
    """Return the `StepDerivatives` of one step of `sr.simulate`, by method "rk4" or, with contacts, "moreau-jean".

    The step of "rk4" is a map: projection of the start on the constraints, four stages, projection of position and
    velocity. Its derivatives are composed of exact ones (automatic differentiation of the equations, implicit
    differentiation of solves and projections). So F maps every change to one that the constraints allow at the end;
    changes that they do not allow at the start act by their projections. P is the derivative for given q and v, with
    the start projected on constraints that move with p.

    The step of "moreau-jean" is that of `sarrus.kernels.integrate.time_stepping`: two contact problems, whose active
    contacts and modes are held. It includes contacts that close in the step, rebounds, and the closing of gaps; a gap
    that is closed stays closed, whatever its change at the start. Changes of a start on the constraints are projected
    as above, those of gaps are not. Differences of steps in forty digits agree to 1e-9
    (decision 96).

    Parameters
    ----------
    q, v, u : (nq,), (nv,), (nu,) state and inputs, which are held during the step and not clipped; v and u default to
        zero.
    t : time [s]. dt : length of the step [s].
    tau : (nv,) applied generalized force, constant.
    parameters : names from ``system.parameters``; default: all except switches.
    contacts : True: contacts with Coulomb friction, stops of joints and dry friction act with the modes at the start
        of the step, and the derivatives of "rk4" are those of the smooth phase (`sr.linearize_at`). A step of "rk4" in
        which a mode changes is an error, also where a stop is met. What sticks keeps its place; a change of this place
        is a change of the start like others. False leaves them out.
    method : "rk4" or "moreau-jean". Contacts that are constraints open and close by "moreau-jean" alone.

    Redundant rows are cut to the generic rank, as in the simulator. Rows that are dependent on the constraints only
    separate at the stages, and the derivatives then differ from those of the discrete step by the order of its own
    error, dt⁵; otherwise they are exact. Near singular configurations (``Options.near_singular``) stages are projected
    as in `simulate`. A step through a singular configuration is taken by a step of order 8, with a check of the branch
    as in `motion_derivatives`. Massless bodies are allowed. Contacts and closures that are constraints do not switch.

    Raises
    ------
    ArgumentError
        q or v violate the constraints by more than 1e-5; an unknown name; a drive whose speed jumps in the step;
        another method; "moreau-jean" with activations, Poisson's law, contacts between geometries without closed form,
        or contacts=False.
    SolveError
        By "moreau-jean": a contact, rope, stop or dry friction (``error.element``) is at a border of modes, of being
        active or of a rebound, within 1e-7; the step depends on shares of the load that redundant contacts leave open;
        it is divided into parts, because impulses change its velocities much; a contact that is active has another
        coefficient of friction at rest, is a gear flank, or closes by the impulses of others in the step. By "rk4":
        A contact, stop or dry friction is at a border of modes, or its mode changes in the step (the time is given), or
        other features of geometries touch at its end; an
        activation is at its limit or reaches it in the step; a stage has no acceleration, a lower rank,
        or contradicting constraints; neighbouring motions turn back or take another branch at a singular
        configuration in the step, in the start or in a parameter, which is named.
    """
    check_is("step_derivatives", system, System)
    _check_method(system, method, contacts)
    if method == TIME_STEPPING:
        system = with_contacts_of_steps(system)
    dt = positive_number(dt, f"{system.name}: dt", unit=" [s]", element="dt")
    acts = method == TIME_STEPPING or takes_part(system, contacts)
    names, places = chosen_parameters(system, parameters)
    refuse_jumps(system.workspace(), system.normalized(q), t, float(dt), "derivatives of a step")
    x = on_constraints(system, q, v, u, t)
    if tau is not None:
        x[system.parts.tau] = system.checked(tau, system.nv, "tau")
    applied = x[system.parts.tau].copy()
    work = system.workspace().copy()
    if method == TIME_STEPPING:
        time_flow = ContactStep(work, x, places, range(system.nu))
        end = time_flow.step(time_flow.start(x), float(dt))
        return _derivatives(system, time_flow, end, t, float(dt), names)
    flow = flow_of(work, x, places, acts, inputs=range(system.nu))
    begun, h = flow.start(x), float(dt)
    crosses = not isinstance(flow, PhaseFlow) and flow.may_cross(begun, h)
    end = across(system, flow, begun, h, names) if crosses else flow.step(begun, h)
    states = [point.x[system.parts.q] for point in (begun, end)]
    if acts:
        require_one_phase(flow, begun.x, end.x, applied)
    refuse_limited(system, np.array(states), np.array([t, t + dt]))
    open_shares = flow.ambiguous(begun) if isinstance(flow, PhaseFlow) else ()
    return _derivatives(system, flow, end, t, h, names, open_shares)


def _check_method(system: System, method: str, contacts: bool) -> None:
    """Raise `ArgumentError` for a method without derivatives of its steps."""
    if method not in ("rk4", TIME_STEPPING):
        raise ArgumentError(
            f"{system.name}: method must be 'rk4' or {TIME_STEPPING!r} for derivatives of a step, got {method!r}",
            element="method",
        )
    if method == TIME_STEPPING and not contacts:
        raise ArgumentError(
            f"{system.name}: steps of {TIME_STEPPING!r} have contacts; without them give method='rk4'",
            element="contacts",
        )
    if method == TIME_STEPPING and system.contact_geometries:
        raise ArgumentError(
            f"{system.name}: derivatives of steps of {TIME_STEPPING!r} need gaps in closed form, and those of "
            f"{system.contact_geometries[0]!r} come from a narrow phase; method='rk4' has those with their features",
            element=system.contact_geometries[0],
        )
    laws = [one.name for one in system.equations.friction_contacts if one.impact_law == "poisson"]
    if method == TIME_STEPPING and laws:
        raise ArgumentError(
            f"{system.name}: contact {laws[0]!r} has impact_law='poisson', which derivatives of steps of "
            f"{TIME_STEPPING!r} do not know; impact_law='newton' has them",
            element=laws[0],
        )


def _derivatives(
    system: System,
    flow: Flow,
    end: Point,
    t: float,
    dt: float,
    names: tuple[str, ...],
    ambiguous: tuple[str, ...] = (),
) -> StepDerivatives:
    """Return the derivatives at the end of a step of a flow, by the parameters of these names."""
    f, g, p = np.split(flow.in_tangent(end), [flow.size, flow.size + system.nu], axis=1)
    return StepDerivatives(
        F=read_only(f.copy()),
        G=read_only(g.copy()),
        P=read_only(p.copy()),
        q=read_only(end.x[system.parts.q].copy()),
        v=read_only(end.x[system.parts.v].copy()),
        t=float(t),
        dt=dt,
        rank=flow.rank,
        names=change_names(system),
        input_names=tuple(system.actuator_names),
        parameter_names=names,
        ambiguous=ambiguous,
    )


def refuse_limited(system: System, q: Array, t: Array) -> None:
    """Raise `SolveError` where an activation is at its limit in one of the states q (T, nq) at times t (T,)."""
    for actuator in system.mechanism.actuators.values() if system.mechanism else ():
        if actuator.activation is None or actuator.activation.limits is None:
            continue
        w = q[:, system.coordinate_names.index(actuator.activation_name)]
        lower, upper = actuator.activation.limits
        met = (w <= lower) | (w >= upper)
        if met.any():
            raise SolveError(
                f"{system.name}: no derivatives where {actuator.activation_name!r} is at its limit, at "
                f"t = {t[int(met.argmax())]:g} s",
                element=actuator.name,
            )
