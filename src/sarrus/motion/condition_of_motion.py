"""The scalar g or ν that keeps the condition number of a formulation least over a motion, found before the run.

The motion is first computed with the compiled solve; g or ν is then fitted to its M and A.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.control.laws.law import Law
from sarrus.formulations import LEAST_CONDITION
from sarrus.formulations.projections.condition_rule import LeastConditionRule
from sarrus.formulations.projections.least_condition import least_condition
from sarrus.motion.loop.tolerances import FORMULATION_RANK_CUT
from sarrus.motion.motion import Motion
from sarrus.motion.records.readings import states_of
from sarrus.motion.records.records import EventRecord
from sarrus.motion.records.singularity_channels import stretches
from sarrus.motion.records.trajectory import Trajectory

# States of the motion that count: evenly out of its records. The largest condition changes by 1e-3 with ten times more.
_STATES = 400


def with_constant(motion: Motion) -> tuple[Motion, tuple[EventRecord, ...]]:
    """Return the motion with its scalar g or ν, and the event that reports the value.

    A motion without a rule over the motion comes back unchanged. Raises `ArgumentError` if Python functions are called
    at samples (they may remember their arguments), and if M is not positive definite on the null space of A along the
    motion.
    """
    rule = _rule(motion)
    if rule is None or rule.over != "motion":
        return motion, ()
    name = motion.system.name
    if motion.called:
        raise ArgumentError(
            f"{name}: one {rule.parameter} for the whole motion is found in a run before this one, which would "
            'call the Python functions twice. Give the number, or LeastConditionRule(..., over="state")',
            element="formulation",
        )
    control = motion.control.copy() if isinstance(motion.control, Law) else motion.control
    before, _, _, _ = replace(motion, formulation=None, control=control, watch=None).run(False, again=True)
    masses, rows = _matrices(motion, before)
    try:
        found = least_condition(masses, rows, rule.formulation, tolerance=FORMULATION_RANK_CUT)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}", element=error.element) from error
    said = (
        f"{rule.parameter} = {found.constant:.6g}: least condition along the motion; the condition number is "
        f"{found.gain:.3g} times less than with {rule.parameter} = ‖M‖"
    )
    return replace(motion, formulation=rule.having(found.constant)), (EventRecord(said, motion.options.t0),)


def _rule(motion: Motion) -> LeastConditionRule | None:
    """Return the `LeastConditionRule` of a motion, given as an object or by its name."""
    given = motion.formulation
    if isinstance(given, str):
        return LEAST_CONDITION.get(given)
    return given if isinstance(given, LeastConditionRule) else None


def _matrices(motion: Motion, trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Return M (k, nv, nv) and A (k, nc, nv) at k states of a motion, with the constraints active at each state."""
    system = motion.system
    trajectory = trajectory.revised(system=system)
    every = max(1, len(trajectory.t) // _STATES)
    masses, rows = [], []
    for start, stop, _, values in stretches(trajectory, system):  # type: ignore[arg-type]
        states = states_of(trajectory, system, values, slice(start, stop, every))  # type: ignore[arg-type]
        n = len(states)
        masses.append(system.compiled.function("mass_matrix").each(states).reshape(n, system.nv, system.nv))
        rows.append(system.compiled.function("jacobian").each(states).reshape(n, system.nc, system.nv))
    return np.concatenate(masses), np.concatenate(rows)
