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
    from sarrus.analysis.assembly_modes import AssemblyMode, AssemblyModes, assembly_modes
    from sarrus.analysis.contact_freedoms import ContactFreedoms
    from sarrus.analysis.coupler_curve import CouplerCurve, coupler_curve
    from sarrus.analysis.curve import Curve, TurningPoint, follow_curve
    from sarrus.analysis.double_points import Cusp, DoublePoint
    from sarrus.analysis.energy_balance import EnergyBalance, energy_balance
    from sarrus.analysis.energy_per_metre import EnergyPerMetre
    from sarrus.analysis.equilibrium import Equilibrium, equilibrium
    from sarrus.analysis.free_carriers import FreeCarrier
    from sarrus.analysis.internal_motions import InternalMotion
    from sarrus.analysis.inverse_kinematics import InverseKinematics, inverse_kinematics
    from sarrus.analysis.joint_exchanges import JointExchange
    from sarrus.analysis.mobility import Mobility, mobility, without_redundancy
    from sarrus.analysis.motor_loss import MotorLoss, motor_loss
    from sarrus.analysis.reaction_maxima import ReactionMaxima, ReactionPeak
    from sarrus.analysis.reactions import Reaction, Reactions, reactions
    from sarrus.analysis.reactions_along import ReactionsAlong, reactions_along
    from sarrus.analysis.reduction import Exchange, Reduction
    from sarrus.analysis.singular_path import SingularityProfile, distance_to_singularity
    from sarrus.analysis.singularity import Singularity, find_singularity
    from sarrus.analysis.singularity_locus import SingularityLocus, singularity_locus
    from sarrus.analysis.singularity_map import SingularityMap, singularity_map
    from sarrus.analysis.transmission import TransmissionAngle, transmission_angle
    from sarrus.analysis.workspace import Workspace, workspace
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
    from sarrus.contacts.impacts import Impact, impact
    from sarrus.contacts.wrenches import ContactWrench, ContactWrenches, contact_wrench, contact_wrenches
    from sarrus.control import references
    from sarrus.coordinates.parametrization import Parametrization, parametrize
    from sarrus.dynamics.body_motion import BodyJacobian, CentroidalMotion
    from sarrus.dynamics.branches import Branch
    from sarrus.dynamics.carried_load import CarriedLoad, ContactForces, TouchForces
    from sarrus.dynamics.rolling_contacts import RollingContact
    from sarrus.dynamics.sensing import Readings
    from sarrus.dynamics.singularity_forecast import SingularityForecast, forecast_singularity
    from sarrus.dynamics.solves import Assembly, ForwardDynamics, InverseDynamics
    from sarrus.dynamics.system import System
    from sarrus.formats.load import load
    from sarrus.linear.along import LinearModels, linearize_along
    from sarrus.linear.linear_system import DiscreteSystem, LinearSystem
    from sarrus.linear.linearize import linearize
    from sarrus.linear.linearize_at import linearize_at
    from sarrus.linear.vibration_mode import VibrationMode
    from sarrus.mechanism import surfaces
    from sarrus.mechanism.elements import Shape
    from sarrus.mechanism.mechanism import Mechanism
    from sarrus.mechanism.pose import Pose
    from sarrus.plotting import plot
    from sarrus.simulation.body_motion_along import BodyMotion
    from sarrus.simulation.inputs import Event
    from sarrus.simulation.invariant_check import InvariantCheck, check_invariants
    from sarrus.simulation.invariants import Invariant
    from sarrus.simulation.many.result import Rollout
    from sarrus.simulation.many.rollout import rollout
    from sarrus.simulation.quantities import Quantities
    from sarrus.simulation.records import EventRecord, LimitCrossing, Passage, SwitchRecord
    from sarrus.simulation.run_options import Recording, Stabilization, Stepping
    from sarrus.simulation.simulate import simulate
    from sarrus.simulation.singularity_watch import SingularityWatch
    from sarrus.simulation.switching import Switching
    from sarrus.simulation.trajectory import Trajectory
    from sarrus.studies.comparison import Comparison, ComparisonRow, compare
    from sarrus.studies.study import study
    from sarrus.viewer.render import render
    from sarrus.viewer.server import Viewer, view


# Where the public names are, by topic. Some are modules: the last part of where they are.
_NAMES = {
    # Describe
    "sarrus.formats.load": "load",
    "sarrus.mechanism.mechanism": "Mechanism",
    "sarrus.mechanism.pose": "Pose",
    "sarrus.mechanism.elements": "Shape",
    "sarrus.mechanism.spline": "Spline",
    "sarrus.mechanism.surfaces": "surfaces",
    "sarrus.mechanism": "mechanism",
    # Equations
    "sarrus.dynamics.system": "System",
    "sarrus.dynamics.body_motion": "BodyJacobian CentroidalMotion",
    "sarrus.dynamics.solves": "Assembly ForwardDynamics InverseDynamics",
    "sarrus.dynamics.rolling_contacts": "RollingContact",
    "sarrus.dynamics.sensing": "Readings",
    # Motion
    "sarrus.simulation.simulate": "simulate",
    "sarrus.simulation.run_options": "Recording Stabilization Stepping",
    "sarrus.simulation.inputs": "Event",
    "sarrus.simulation.invariants": "Invariant",
    "sarrus.simulation.invariant_check": "check_invariants InvariantCheck",
    "sarrus.simulation.switching": "Switching",
    "sarrus.simulation.body_motion_along": "BodyMotion",
    "sarrus.simulation.trajectory": "Trajectory",
    "sarrus.simulation.records": "EventRecord LimitCrossing Passage SwitchRecord",
    "sarrus.contacts.impacts": "impact Impact",
    "sarrus.contacts.wrenches": "contact_wrench contact_wrenches ContactWrench ContactWrenches",
    "sarrus.coordinates": "coordinates",
    "sarrus.coordinates.parametrization": "parametrize Parametrization",
    # Many runs
    "sarrus.simulation.many.rollout": "rollout",
    "sarrus.simulation.many.result": "Rollout",
    "sarrus.simulation.quantities": "Quantities",
    "sarrus.studies.study": "study",
    "sarrus.studies": "studies",
    "sarrus.studies.comparison": "compare Comparison ComparisonRow",
    # Analysis
    "sarrus.analysis.mobility": "mobility Mobility without_redundancy",
    "sarrus.analysis.reduction": "Exchange Reduction",
    "sarrus.analysis.joint_exchanges": "JointExchange",
    "sarrus.analysis.free_carriers": "FreeCarrier",
    "sarrus.analysis.reactions": "reactions Reaction Reactions",
    "sarrus.analysis.reactions_along": "reactions_along ReactionsAlong",
    "sarrus.analysis.reaction_maxima": "ReactionMaxima ReactionPeak",
    "sarrus.dynamics.branches": "Branch",
    "sarrus.analysis.internal_motions": "InternalMotion",
    "sarrus.analysis.contact_freedoms": "ContactFreedoms",
    "sarrus.analysis.singularity": "find_singularity Singularity",
    "sarrus.dynamics.singularity_forecast": "forecast_singularity SingularityForecast",
    "sarrus.simulation.singularity_watch": "SingularityWatch",
    "sarrus.analysis.singular_path": "distance_to_singularity SingularityProfile",
    "sarrus.analysis.assembly_modes": "assembly_modes AssemblyMode AssemblyModes",
    "sarrus.analysis.curve": "follow_curve Curve TurningPoint",
    "sarrus.analysis.coupler_curve": "coupler_curve CouplerCurve",
    "sarrus.analysis.double_points": "Cusp DoublePoint",
    "sarrus.analysis.transmission": "transmission_angle TransmissionAngle",
    "sarrus.analysis.singularity_locus": "singularity_locus SingularityLocus",
    "sarrus.analysis.singularity_map": "singularity_map SingularityMap",
    "sarrus.analysis.workspace": "workspace Workspace",
    "sarrus.analysis.inverse_kinematics": "inverse_kinematics InverseKinematics",
    "sarrus.analysis.equilibrium": "equilibrium Equilibrium",
    "sarrus.analysis.energy_balance": "energy_balance EnergyBalance",
    "sarrus.analysis.motor_loss": "motor_loss MotorLoss",
    "sarrus.analysis.energy_per_metre": "EnergyPerMetre",
    "sarrus.dynamics.carried_load": "CarriedLoad ContactForces TouchForces",
    # Linear models and derivatives
    "sarrus.linear.linearize": "linearize",
    "sarrus.linear.linearize_at": "linearize_at",
    "sarrus.linear.along": "linearize_along LinearModels",
    "sarrus.linear.linear_system": "DiscreteSystem LinearSystem",
    "sarrus.linear.vibration_mode": "VibrationMode",
    "sarrus.identification": "identification",
    "sarrus.sensitivity": "sensitivity",
    # Design
    "sarrus.synthesis": "synthesis",
    # Pictures
    "sarrus.plotting.plot": "plot",
    "sarrus.viewer.server": "view Viewer",
    "sarrus.viewer.render": "render",
    # Control
    "sarrus.control": "control",
    "sarrus.control.references": "references",
    "sarrus.gym": "gym",
    # Export, programs, matrices
    "sarrus.export": "export",
    "sarrus.optimize": "optimize",
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
