"""sarrus: dynamics and control of constrained mechanical systems.

Closed loops, redundant constraints, singular configurations, nonholonomic constraints, passive joints.

Describe     `load` (MJCF, URDF, SDF), `Mechanism`, `Pose`, `Shape`
Equations    `System` (also `System.from_lagrangian`, `System.from_equations`)
Motion       `simulate`, `Event`, `Switching`, `Trajectory`; `impact`, `contact_wrench`; `coordinates`, `parametrize`
             (local state space); `rollout`, `Rollout` (many runs); `study` (on disk, on clusters), `studies`
Analysis     `mobility`, `find_singularity`, `distance_to_singularity`, `assembly_modes`, `inverse_kinematics`,
             `equilibrium`; `linearize`, `linearize_at`, `linearize_along`, `LinearSystem`
Derivatives  `sensitivity`: of equilibria, eigenvalues and motions by parameters, and of a step by its state
Pictures     `view` (in the browser), `render` (pages, pictures and films in 3-D)
Control      `control` (laws), `references`; `gym` (environments for reinforcement learning)
Hardware     `export_c` (dynamics and control laws as C99)
Programs     `optimize`: quadratic costs under limits and second-order cones
Matrices     `formulations`: the published formulations as functions of plain matrices; `compare` runs them
Answers      `Status`; `SarrusError` and its kinds: `ModelError`, `ModelFileError`, `UnsupportedElementError`,
             `ArgumentError`, `SolveError`, `SimulationError`; `ModelWarning`

Names are loaded when they are first used, so that ``import sarrus`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sarrus import control, coordinates, formulations, gym, optimize, sensitivity, studies
    from sarrus.analysis.assembly_modes import assembly_modes
    from sarrus.analysis.equilibrium import equilibrium
    from sarrus.analysis.inverse_kinematics import inverse_kinematics
    from sarrus.analysis.mobility import mobility
    from sarrus.analysis.singular_path import distance_to_singularity
    from sarrus.analysis.singularity import find_singularity
    from sarrus.base.errors import (
        ArgumentError,
        ModelError,
        ModelFileError,
        ModelWarning,
        SarrusError,
        SimulationError,
        SolveError,
        UnsupportedElementError,
    )
    from sarrus.base.status import Status
    from sarrus.contacts.impacts import impact
    from sarrus.contacts.wrenches import contact_wrench
    from sarrus.control import references
    from sarrus.coordinates.parametrization import parametrize
    from sarrus.dynamics.system import System
    from sarrus.export.c.export_c import export_c
    from sarrus.formats.load import load
    from sarrus.linear.along import linearize_along
    from sarrus.linear.linear_system import LinearSystem
    from sarrus.linear.linearize import linearize
    from sarrus.linear.linearize_at import linearize_at
    from sarrus.mechanism.elements import Shape
    from sarrus.mechanism.mechanism import Mechanism
    from sarrus.mechanism.pose import Pose
    from sarrus.simulation.inputs import Event
    from sarrus.simulation.many.result import Rollout
    from sarrus.simulation.many.rollout import rollout
    from sarrus.simulation.simulate import simulate
    from sarrus.simulation.switching import Switching
    from sarrus.simulation.trajectory import Trajectory
    from sarrus.studies.comparison import Comparison, compare
    from sarrus.studies.study import study
    from sarrus.viewer.film import render
    from sarrus.viewer.server import view

__version__ = "0.1.0"

_HOME = {
    "load": "sarrus.formats.load",
    "Mechanism": "sarrus.mechanism.mechanism",
    "Pose": "sarrus.mechanism.pose",
    "Shape": "sarrus.mechanism.elements",
    "System": "sarrus.dynamics.system",
    "simulate": "sarrus.simulation.simulate",
    "rollout": "sarrus.simulation.many.rollout",
    "Rollout": "sarrus.simulation.many.result",
    "study": "sarrus.studies.study",
    "studies": "sarrus.studies",
    "gym": "sarrus.gym",
    "impact": "sarrus.contacts.impacts",
    "contact_wrench": "sarrus.contacts.wrenches",
    "Switching": "sarrus.simulation.switching",
    "Event": "sarrus.simulation.inputs",
    "Trajectory": "sarrus.simulation.trajectory",
    "Status": "sarrus.base.status",
    "SarrusError": "sarrus.base.errors",
    "ArgumentError": "sarrus.base.errors",
    "ModelError": "sarrus.base.errors",
    "ModelFileError": "sarrus.base.errors",
    "ModelWarning": "sarrus.base.errors",
    "SimulationError": "sarrus.base.errors",
    "SolveError": "sarrus.base.errors",
    "UnsupportedElementError": "sarrus.base.errors",
    "formulations": "sarrus.formulations",
    "control": "sarrus.control",
    "references": "sarrus.control.references",
    "optimize": "sarrus.optimize",
    "coordinates": "sarrus.coordinates",
    "parametrize": "sarrus.coordinates.parametrization",
    "mobility": "sarrus.analysis.mobility",
    "find_singularity": "sarrus.analysis.singularity",
    "distance_to_singularity": "sarrus.analysis.singular_path",
    "assembly_modes": "sarrus.analysis.assembly_modes",
    "inverse_kinematics": "sarrus.analysis.inverse_kinematics",
    "equilibrium": "sarrus.analysis.equilibrium",
    "compare": "sarrus.studies.comparison",
    "Comparison": "sarrus.studies.comparison",
    "linearize": "sarrus.linear.linearize",
    "linearize_at": "sarrus.linear.linearize_at",
    "linearize_along": "sarrus.linear.along",
    "LinearSystem": "sarrus.linear.linear_system",
    "sensitivity": "sarrus.sensitivity",
    "export_c": "sarrus.export.c.export_c",
    "view": "sarrus.viewer.server",
    "render": "sarrus.viewer.film",
}

__all__ = [
    "ArgumentError",
    "Comparison",
    "Event",
    "LinearSystem",
    "Mechanism",
    "ModelError",
    "ModelFileError",
    "ModelWarning",
    "Pose",
    "Rollout",
    "SarrusError",
    "Shape",
    "SimulationError",
    "SolveError",
    "Status",
    "Switching",
    "System",
    "Trajectory",
    "UnsupportedElementError",
    "assembly_modes",
    "compare",
    "contact_wrench",
    "control",
    "coordinates",
    "distance_to_singularity",
    "equilibrium",
    "export_c",
    "find_singularity",
    "formulations",
    "gym",
    "impact",
    "inverse_kinematics",
    "linearize",
    "linearize_along",
    "linearize_at",
    "load",
    "mobility",
    "optimize",
    "parametrize",
    "references",
    "render",
    "rollout",
    "sensitivity",
    "simulate",
    "studies",
    "study",
    "view",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sarrus' has no attribute {name!r}")
    module = importlib.import_module(_HOME[name])
    value = (
        module if _HOME[name].endswith(f".{name}") and not hasattr(module, name) else getattr(module, name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
