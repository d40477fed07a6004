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
from typing import TYPE_CHECKING, Any

from sarrus.base.version import __version__ as __version__

if TYPE_CHECKING:
    from sarrus import (
        control,
        coordinates,
        export,
        formulations,
        gym,
        identification,
        mechanism,
        optimize,
        sensitivity,
        studies,
        synthesis,
    )
    from sarrus.analysis.comparison.comparison import Comparison, ComparisonRow, compare
    from sarrus.analysis.configurations.assembly_modes import AssemblyMode, AssemblyModes, assembly_modes
    from sarrus.analysis.configurations.curve import Curve, TurningPoint, follow_curve
    from sarrus.analysis.configurations.equilibrium import Equilibrium, equilibrium
    from sarrus.analysis.configurations.inverse_kinematics import InverseKinematics, inverse_kinematics
    from sarrus.analysis.linear.along import LinearModels, linearize_along
    from sarrus.analysis.linear.linear_system import DiscreteSystem, LinearSystem
    from sarrus.analysis.linear.linearize import linearize
    from sarrus.analysis.linear.linearize_at import linearize_at
    from sarrus.analysis.linear.vibration_mode import VibrationMode
    from sarrus.analysis.linkages.coupler_curve import CouplerCurve, coupler_curve
    from sarrus.analysis.linkages.double_points import Cusp, DoublePoint
    from sarrus.analysis.linkages.singularity_map import SingularityMap, singularity_map
    from sarrus.analysis.linkages.transmission import TransmissionAngle, transmission_angle
    from sarrus.analysis.linkages.workspace import Workspace, workspace
    from sarrus.analysis.loads.energy_balance import EnergyBalance, energy_balance
    from sarrus.analysis.loads.energy_per_metre import EnergyPerMetre
    from sarrus.analysis.loads.motor_loss import MotorLoss, motor_loss
    from sarrus.analysis.loads.reaction_maxima import ReactionMaxima, ReactionPeak
    from sarrus.analysis.loads.reactions import Reaction, Reactions, reactions
    from sarrus.analysis.loads.reactions_along import ReactionsAlong, reactions_along
    from sarrus.analysis.mobility.contact_freedoms import ContactFreedoms
    from sarrus.analysis.mobility.free_carriers import FreeCarrier
    from sarrus.analysis.mobility.internal_motions import InternalMotion
    from sarrus.analysis.mobility.joint_exchanges import JointExchange
    from sarrus.analysis.mobility.mobility import Mobility, mobility, without_redundancy
    from sarrus.analysis.mobility.reduction import Exchange, Reduction
    from sarrus.analysis.singularities.singular_path import SingularityProfile, distance_to_singularity
    from sarrus.analysis.singularities.singularity import Singularity, find_singularity
    from sarrus.analysis.singularities.singularity_locus import SingularityLocus, singularity_locus
    from sarrus.base.errors import (
        AccuracyWarning,
        ArgumentError,
        CacheWarning,
        CompilationError,
        LimitWarning,
        ModelError,
        ModelFileError,
        ModelWarning,
        SarrusError,
        SimulationError,
        SingularityWarning,
        SolveError,
        StoreWarning,
        UnsupportedElementError,
        UnsupportedOperationError,
        ViewerError,
        WriteError,
    )
    from sarrus.base.status import Status
    from sarrus.control import references
    from sarrus.dynamics.closing.branches import Branch
    from sarrus.dynamics.contacts.support_reactions import CarriedLoad, ContactForces, TouchForces
    from sarrus.dynamics.coordinates.parametrization import Parametrization, parametrize
    from sarrus.dynamics.impacts.impacts import Impact, impact
    from sarrus.dynamics.impacts.wrenches import (
        ContactWrench,
        ContactWrenches,
        contact_wrench,
        contact_wrenches,
    )
    from sarrus.dynamics.model.body_motion import BodyJacobian, CentroidalMotion
    from sarrus.dynamics.model.rolling_contacts import RollingContact
    from sarrus.dynamics.results import Assembly, ForwardDynamics, InverseDynamics
    from sarrus.dynamics.singularity_forecast import SingularityForecast, forecast_singularity
    from sarrus.dynamics.solve.sensing import Readings
    from sarrus.dynamics.system import System
    from sarrus.model.builders.mechanism import Mechanism
    from sarrus.model.formats.load import load
    from sarrus.model.mechanism import surfaces
    from sarrus.model.mechanism.elements import Shape
    from sarrus.model.mechanism.pose import Pose
    from sarrus.motion.inputs.inputs import Event
    from sarrus.motion.inputs.invariants import Invariant
    from sarrus.motion.inputs.run_options import Recording, Stabilization, Stepping
    from sarrus.motion.loop.invariant_check import InvariantCheck, check_invariants
    from sarrus.motion.loop.singularity_watch import SingularityWatch
    from sarrus.motion.many.result import Rollout
    from sarrus.motion.many.rollout import rollout
    from sarrus.motion.records.body_motion_along import BodyMotion
    from sarrus.motion.records.quantities import Quantities
    from sarrus.motion.records.records import EventRecord, LimitCrossing, Passage, SwitchRecord
    from sarrus.motion.records.trajectory import Trajectory
    from sarrus.motion.simulate import simulate
    from sarrus.motion.switching import Switching
    from sarrus.pictures.browser.render import render
    from sarrus.pictures.browser.server import Viewer, view
    from sarrus.pictures.plots import plot
    from sarrus.runs.studies.study import study


# Where the public names are, by topic. Some are modules: the last part of where they are.
_NAMES = {
    # Describe
    "sarrus.model.formats.load": "load",
    "sarrus.model.builders.mechanism": "Mechanism",
    "sarrus.model.mechanism.pose": "Pose",
    "sarrus.model.mechanism.elements": "Shape",
    "sarrus.model.mechanism.spline": "Spline",
    "sarrus.model.mechanism.surfaces": "surfaces",
    "sarrus.model.mechanism": "mechanism",
    # Equations
    "sarrus.dynamics.system": "System",
    "sarrus.dynamics.model.body_motion": "BodyJacobian CentroidalMotion",
    "sarrus.dynamics.results": "Assembly ForwardDynamics InverseDynamics",
    "sarrus.dynamics.model.rolling_contacts": "RollingContact",
    "sarrus.dynamics.solve.sensing": "Readings",
    # Motion
    "sarrus.motion.simulate": "simulate",
    "sarrus.motion.inputs.run_options": "Recording Stabilization Stepping",
    "sarrus.motion.inputs.inputs": "Event",
    "sarrus.motion.inputs.invariants": "Invariant",
    "sarrus.motion.loop.invariant_check": "check_invariants InvariantCheck",
    "sarrus.motion.switching": "Switching",
    "sarrus.motion.records.body_motion_along": "BodyMotion",
    "sarrus.motion.records.trajectory": "Trajectory",
    "sarrus.motion.records.records": "EventRecord LimitCrossing Passage SwitchRecord",
    "sarrus.dynamics.impacts.impacts": "impact Impact",
    "sarrus.dynamics.impacts.wrenches": "contact_wrench contact_wrenches ContactWrench ContactWrenches",
    "sarrus.dynamics.coordinates": "coordinates",
    "sarrus.dynamics.coordinates.parametrization": "parametrize Parametrization",
    # Many runs
    "sarrus.motion.many.rollout": "rollout",
    "sarrus.motion.many.result": "Rollout",
    "sarrus.motion.records.quantities": "Quantities",
    "sarrus.runs.studies.study": "study",
    "sarrus.runs.studies": "studies",
    "sarrus.analysis.comparison.comparison": "compare Comparison ComparisonRow",
    # Analysis
    "sarrus.analysis.mobility.mobility": "mobility Mobility without_redundancy",
    "sarrus.analysis.mobility.reduction": "Exchange Reduction",
    "sarrus.analysis.mobility.joint_exchanges": "JointExchange",
    "sarrus.analysis.mobility.free_carriers": "FreeCarrier",
    "sarrus.analysis.loads.reactions": "reactions Reaction Reactions",
    "sarrus.analysis.loads.reactions_along": "reactions_along ReactionsAlong",
    "sarrus.analysis.loads.reaction_maxima": "ReactionMaxima ReactionPeak",
    "sarrus.dynamics.closing.branches": "Branch",
    "sarrus.analysis.mobility.internal_motions": "InternalMotion",
    "sarrus.analysis.mobility.contact_freedoms": "ContactFreedoms",
    "sarrus.analysis.singularities.singularity": "find_singularity Singularity",
    "sarrus.dynamics.singularity_forecast": "forecast_singularity SingularityForecast",
    "sarrus.motion.loop.singularity_watch": "SingularityWatch",
    "sarrus.analysis.singularities.singular_path": "distance_to_singularity SingularityProfile",
    "sarrus.analysis.configurations.assembly_modes": "assembly_modes AssemblyMode AssemblyModes",
    "sarrus.analysis.configurations.curve": "follow_curve Curve TurningPoint",
    "sarrus.analysis.linkages.coupler_curve": "coupler_curve CouplerCurve",
    "sarrus.analysis.linkages.double_points": "Cusp DoublePoint",
    "sarrus.analysis.linkages.transmission": "transmission_angle TransmissionAngle",
    "sarrus.analysis.singularities.singularity_locus": "singularity_locus SingularityLocus",
    "sarrus.analysis.linkages.singularity_map": "singularity_map SingularityMap",
    "sarrus.analysis.linkages.workspace": "workspace Workspace",
    "sarrus.analysis.configurations.inverse_kinematics": "inverse_kinematics InverseKinematics",
    "sarrus.analysis.configurations.equilibrium": "equilibrium Equilibrium",
    "sarrus.analysis.loads.energy_balance": "energy_balance EnergyBalance",
    "sarrus.analysis.loads.motor_loss": "motor_loss MotorLoss",
    "sarrus.analysis.loads.energy_per_metre": "EnergyPerMetre",
    "sarrus.dynamics.contacts.support_reactions": "CarriedLoad ContactForces TouchForces",
    # Linear models and derivatives
    "sarrus.analysis.linear.linearize": "linearize",
    "sarrus.analysis.linear.linearize_at": "linearize_at",
    "sarrus.analysis.linear.along": "linearize_along LinearModels",
    "sarrus.analysis.linear.linear_system": "DiscreteSystem LinearSystem",
    "sarrus.analysis.linear.vibration_mode": "VibrationMode",
    "sarrus.design.identification": "identification",
    "sarrus.analysis.sensitivity": "sensitivity",
    # Design
    "sarrus.design.synthesis": "synthesis",
    # Pictures
    "sarrus.pictures.plots.plot": "plot",
    "sarrus.pictures.browser.server": "view Viewer",
    "sarrus.pictures.browser.render": "render",
    # Control
    "sarrus.control": "control",
    "sarrus.control.references": "references",
    "sarrus.runs.gym": "gym",
    # Export, programs, matrices
    "sarrus.export": "export",
    "sarrus.dynamics.optimize": "optimize",
    "sarrus.formulations": "formulations",
    # Answers
    "sarrus.base.status": "Status",
    "sarrus.base.errors": (
        "ArgumentError CompilationError ModelError ModelFileError SarrusError SimulationError SolveError "
        "UnsupportedElementError UnsupportedOperationError ViewerError WriteError "
        "AccuracyWarning CacheWarning LimitWarning ModelWarning SingularityWarning StoreWarning"
    ),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "AccuracyWarning",
    "ArgumentError",
    "Assembly",
    "AssemblyMode",
    "AssemblyModes",
    "BodyJacobian",
    "BodyMotion",
    "Branch",
    "CacheWarning",
    "CarriedLoad",
    "CentroidalMotion",
    "Comparison",
    "ComparisonRow",
    "CompilationError",
    "ContactForces",
    "ContactFreedoms",
    "ContactWrench",
    "ContactWrenches",
    "CouplerCurve",
    "Curve",
    "Cusp",
    "DiscreteSystem",
    "DoublePoint",
    "EnergyBalance",
    "EnergyPerMetre",
    "Equilibrium",
    "Event",
    "EventRecord",
    "Exchange",
    "ForwardDynamics",
    "FreeCarrier",
    "Impact",
    "InternalMotion",
    "Invariant",
    "InvariantCheck",
    "InverseDynamics",
    "InverseKinematics",
    "JointExchange",
    "LimitCrossing",
    "LimitWarning",
    "LinearModels",
    "LinearSystem",
    "Mechanism",
    "Mobility",
    "ModelError",
    "ModelFileError",
    "ModelWarning",
    "MotorLoss",
    "Parametrization",
    "Passage",
    "Pose",
    "Quantities",
    "Reaction",
    "ReactionMaxima",
    "ReactionPeak",
    "Reactions",
    "ReactionsAlong",
    "Readings",
    "Recording",
    "Reduction",
    "RollingContact",
    "Rollout",
    "SarrusError",
    "Shape",
    "SimulationError",
    "Singularity",
    "SingularityForecast",
    "SingularityLocus",
    "SingularityMap",
    "SingularityProfile",
    "SingularityWarning",
    "SingularityWatch",
    "SolveError",
    "Spline",
    "Stabilization",
    "Status",
    "Stepping",
    "StoreWarning",
    "SwitchRecord",
    "Switching",
    "System",
    "TouchForces",
    "Trajectory",
    "TransmissionAngle",
    "TurningPoint",
    "UnsupportedElementError",
    "UnsupportedOperationError",
    "VibrationMode",
    "Viewer",
    "ViewerError",
    "Workspace",
    "WriteError",
    "assembly_modes",
    "check_invariants",
    "compare",
    "contact_wrench",
    "contact_wrenches",
    "control",
    "coordinates",
    "coupler_curve",
    "distance_to_singularity",
    "energy_balance",
    "equilibrium",
    "export",
    "find_singularity",
    "follow_curve",
    "forecast_singularity",
    "formulations",
    "gym",
    "identification",
    "impact",
    "inverse_kinematics",
    "linearize",
    "linearize_along",
    "linearize_at",
    "load",
    "mechanism",
    "mobility",
    "motor_loss",
    "optimize",
    "parametrize",
    "plot",
    "reactions",
    "reactions_along",
    "references",
    "render",
    "rollout",
    "sensitivity",
    "simulate",
    "singularity_locus",
    "singularity_map",
    "studies",
    "study",
    "surfaces",
    "synthesis",
    "transmission_angle",
    "view",
    "without_redundancy",
    "workspace",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sarrus' has no attribute {name!r}")
    home = _HOME[name]
    value = importlib.import_module(home)
    if home != f"sarrus.{name}":  # a package is itself, another module is where the name is, or itself
        value = getattr(value, name, value) if home.endswith(f".{name}") else getattr(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
