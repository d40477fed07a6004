"""Motions in the smooth phase of a `Flow`, and what a run closes at its start, for derivatives of motions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sarrus.analysis.sensitivity.flow import Flow, Point
from sarrus.analysis.sensitivity.phase_flow import answer_under, require_one_phase
from sarrus.base.arrays import Array
from sarrus.dynamics.impacts.activity import switch_off, switch_on
from sarrus.dynamics.model.state_functions import StateFunction
from sarrus.dynamics.model.units import labels
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.motion.inputs.inputs import sampled
from sarrus.motion.loop.tolerances import WHOLE_STEPS
from sarrus.motion.records.conditioning import condition_numbers
from sarrus.motion.records.trajectory import Trajectory
from sarrus.symbolic.equations.equations import stick_parameter


def hold_closed(work: Workspace, q: Array, t: float, closed: Iterable[str], slipping: Iterable[str]) -> None:
    """Let the contacts that are constraints be active at q if they are among ``closed``; ``slipping`` ones slide."""
    names = {contact.name for contact in work.equations.contacts}
    switch_off(work, names)
    switch_on(work, [name for name in closed if name in names], q, t)
    for name in names.intersection(slipping):
        work.parameters[stick_parameter(name)] = 0.0


def held_run(
    system: System,
    flow: Flow,
    begun: Point,
    tau: Array,
    duration: float,
    dt: float,
    control: StateFunction | None,
) -> tuple[Trajectory, list[Point]]:
    """Return the motion of a flow from a point in steps dt, all recorded, and the points with their derivatives.

    ``tau`` (nv,) is τ without the friction of joints that slide. Raises `SolveError` where a contact changes its mode.
    """
    work, parts, t0 = flow.work, flow.work.parts, float(begun.x[flow.work.parts.t])
    count = int(np.ceil(duration / dt - WHOLE_STEPS))
    times = t0 + np.minimum(dt * np.arange(count + 1), duration)
    points = [begun]
    for k in range(count):
        points.append(flow.step(points[-1], float(times[k + 1] - times[k])))
        require_one_phase(flow, points[-2].x, points[-1].x, tau)
    q, v = (np.array([point.x[part] for point in points]) for part in (parts.q, parts.v))
    answers = [answer_under(work, point.x, tau) for point in points]
    ranks = np.array([one.rank for one in answers], dtype=np.int64)
    controls = np.zeros((len(points), system.nu))
    if control is not None:
        controls = np.array([sampled(system, control, *state, "control") for state in zip(q, v, times)])
    residuals = [np.abs(system.constraint_residual(*state)).max(initial=0.0) for state in zip(q, times)]
    energies = [
        system.kinetic_energy(p, w, t=t) + system.potential_energy(p, t=t) for p, w, t in zip(q, v, times)
    ]
    return Trajectory(
        name=system.name,
        t=times,
        q=q,
        v=v,
        a=np.array([one.a for one in answers]),
        u=controls,
        multipliers=np.array([one.multipliers for one in answers]).reshape(len(points), system.nc),
        energy=np.array(energies),
        rank=ranks,
        condition=condition_numbers(system, np.array([point.x for point in points]), ranks),
        residual=np.array(residuals),
        **labels(system),
        parameters={name: system.parameters[name] for name in system.equations.design_parameters},
        steps=count,
        system=system,
    ), points
