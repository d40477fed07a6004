"""sarrus: dynamics and control of constrained mechanical systems.

Closed loops, redundant constraints, singular configurations, nonholonomic constraints, passive joints.

Describe     `load` (MJCF, URDF, SDF), `Mechanism`, `Pose`, `Shape`; `mechanism` (elements), `surfaces` (to roll on)
Equations    `System` (also `System.from_lagrangian`, `System.from_equations`)
Motion       `simulate`, `Event`, `Switching`, `Trajectory`; `impact`, `contact_wrench`, `contact_wrenches`;
             `coordinates`, `parametrize` (local state space)
Many runs    `rollout`, `Rollout`; `study` (on disk, on clusters), `studies`; `compare` (formulations)
Analysis     `mobility`, `without_redundancy`, `find_singularity`, `distance_to_singularity`, `forecast_singularity`,
             `assembly_modes`, `inverse_kinematics`, `equilibrium`; `reactions`, `reactions_along` (forces in joints),
             `energy_balance`, `motor_loss`; `linearize`, `linearize_at`, `linearize_along`, `LinearSystem`
Linkages     `follow_curve`, `coupler_curve`, `transmission_angle`, `singularity_locus`, `singularity_map`, `workspace`
Derivatives  `sensitivity`: of equilibria, eigenvalues and motions by parameters, and of a step by its state
Design       `synthesis`: dimensions, springs, counterweights and motors that fulfil goals best
Measuring    `identification`: inertias, friction, springs and motors from logs
Pictures     `plot` (Matplotlib), `view` (in the browser), `render` (pages, pictures and films in 3-D)
Control      `control` (laws), `references`; `gym` (environments for reinforcement learning)
Export       `export`: C99 of dynamics and control laws, units of FMI, CasADi functions, MJCF
Programs     `optimize`: quadratic costs under limits and second-order cones
Matrices     `formulations`: the published formulations as functions of plain matrices; `compare` runs them
Answers      `Status`, and the class of each result (`Assembly`, `Mobility`, `Equilibrium`, …)
Errors       `SarrusError` and its kinds: `ModelError`, `ModelFileError`, `UnsupportedElementError`, `ArgumentError`,
             `SolveError`, `SimulationError`, `WriteError`, `ViewerError`, `CompilationError`,
             `UnsupportedOperationError`; `ModelWarning`, `AccuracyWarning`, `LimitWarning`,
             `SingularityWarning`, `StoreWarning`, `CacheWarning`

Names are loaded when they are first used, so that ``import sarrus`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import Any

from sarrus.base.version import __version__ as __version__

# Home and own name of each public name: the lines "from HOME import OWN as NAME" of the stub for type checkers.
with open(f"{__file__}i", encoding="utf-8") as _stub:
    _HOMES = {words[5]: (words[1], words[3]) for words in map(str.split, _stub) if words[:1] == ["from"]}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sarrus' has no attribute {name!r}")
    home, own = _HOMES[name]
    value = None if home == "sarrus" else getattr(importlib.import_module(home), own, None)
    if value is None:  # a module of its own
        value = importlib.import_module(f"{home}.{own}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
