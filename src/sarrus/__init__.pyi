"""The public names of sarrus by topic, each with its home: the one list, read by type checkers and by `sarrus`."""

# Describe
from sarrus.model.formats.load import load as load
from sarrus.model.builders.mechanism import Mechanism as Mechanism
from sarrus.model.mechanism.pose import Pose as Pose
from sarrus.model.mechanism.elements import Shape as Shape
from sarrus.model.mechanism.spline import Spline as Spline
from sarrus.model.mechanism import surfaces as surfaces
from sarrus.model import mechanism as mechanism

# Equations
from sarrus.dynamics.system import System as System
from sarrus.dynamics.model.body_motion import BodyJacobian as BodyJacobian
from sarrus.dynamics.model.body_motion import CentroidalMotion as CentroidalMotion
from sarrus.dynamics.results import Assembly as Assembly
from sarrus.dynamics.results import ForwardDynamics as ForwardDynamics
from sarrus.dynamics.results import InverseDynamics as InverseDynamics
from sarrus.dynamics.model.rolling_contacts import RollingContact as RollingContact
from sarrus.dynamics.solve.sensing import Readings as Readings

# Motion
from sarrus.motion.simulate import simulate as simulate
from sarrus.motion.inputs.run_options import Recording as Recording
from sarrus.motion.inputs.run_options import Stabilization as Stabilization
from sarrus.motion.inputs.run_options import Stepping as Stepping
from sarrus.motion.inputs.inputs import Event as Event
from sarrus.motion.inputs.invariants import Invariant as Invariant
from sarrus.motion.loop.invariant_check import check_invariants as check_invariants
from sarrus.motion.loop.invariant_check import InvariantCheck as InvariantCheck
from sarrus.motion.switching import Switching as Switching
from sarrus.motion.records.body_motion_along import BodyMotion as BodyMotion
from sarrus.motion.records.trajectory import Trajectory as Trajectory
from sarrus.motion.records.records import EventRecord as EventRecord
from sarrus.motion.records.records import LimitCrossing as LimitCrossing
from sarrus.motion.records.records import Passage as Passage
from sarrus.motion.records.records import SwitchRecord as SwitchRecord
from sarrus.dynamics.impacts.impacts import impact as impact
from sarrus.dynamics.impacts.impacts import Impact as Impact
from sarrus.dynamics.impacts.state_blocks import ContactImpulses as ContactImpulses
from sarrus.dynamics.impacts.wrenches import contact_wrench as contact_wrench
from sarrus.dynamics.impacts.wrenches import contact_wrenches as contact_wrenches
from sarrus.dynamics.impacts.wrenches import ContactWrench as ContactWrench
from sarrus.dynamics.impacts.wrenches import ContactWrenches as ContactWrenches
from sarrus.dynamics import coordinates as coordinates
from sarrus.dynamics.coordinates.parametrization import parametrize as parametrize
from sarrus.dynamics.coordinates.parametrization import Parametrization as Parametrization

# Many runs
from sarrus.motion.many.rollout import rollout as rollout
from sarrus.motion.many.result import Rollout as Rollout
from sarrus.motion.records.quantities import Quantities as Quantities
from sarrus.runs.studies.study import study as study
from sarrus.runs import studies as studies
from sarrus.analysis.comparison.comparison import compare as compare
from sarrus.analysis.comparison.comparison import Comparison as Comparison
from sarrus.analysis.comparison.comparison import ComparisonRow as ComparisonRow

# Analysis
from sarrus.analysis.mobility.mobility import mobility as mobility
from sarrus.analysis.mobility.mobility import Mobility as Mobility
from sarrus.analysis.mobility.mobility import without_redundancy as without_redundancy
from sarrus.analysis.mobility.reduction import Exchange as Exchange
from sarrus.analysis.mobility.reduction import Reduction as Reduction
from sarrus.analysis.mobility.joint_exchanges import JointExchange as JointExchange
from sarrus.analysis.mobility.free_carriers import FreeCarrier as FreeCarrier
from sarrus.analysis.loads.reactions import reactions as reactions
from sarrus.analysis.loads.reactions import Reaction as Reaction
from sarrus.analysis.loads.reactions import Reactions as Reactions
from sarrus.analysis.loads.reactions_along import reactions_along as reactions_along
from sarrus.analysis.loads.reactions_along import ReactionsAlong as ReactionsAlong
from sarrus.analysis.loads.reaction_maxima import ReactionMaxima as ReactionMaxima
from sarrus.analysis.loads.reaction_maxima import ReactionPeak as ReactionPeak
from sarrus.dynamics.closing.branches import Branch as Branch
from sarrus.analysis.mobility.internal_motions import InternalMotion as InternalMotion
from sarrus.analysis.mobility.contact_freedoms import ContactFreedoms as ContactFreedoms
from sarrus.analysis.singularities.singularity import find_singularity as find_singularity
from sarrus.analysis.singularities.singularity import Singularity as Singularity
from sarrus.dynamics.singularity_forecast import forecast_singularity as forecast_singularity
from sarrus.dynamics.singularity_forecast import SingularityForecast as SingularityForecast
from sarrus.motion.loop.singularity_watch import SingularityWatch as SingularityWatch
from sarrus.analysis.singularities.singular_path import distance_to_singularity as distance_to_singularity
from sarrus.analysis.singularities.singular_path import SingularityProfile as SingularityProfile
from sarrus.analysis.configurations.assembly_modes import assembly_modes as assembly_modes
from sarrus.analysis.configurations.assembly_modes import AssemblyMode as AssemblyMode
from sarrus.analysis.configurations.assembly_modes import AssemblyModes as AssemblyModes
from sarrus.analysis.configurations.curve import follow_curve as follow_curve
from sarrus.analysis.configurations.curve import Curve as Curve
from sarrus.analysis.configurations.curve import TurningPoint as TurningPoint
from sarrus.analysis.linkages.coupler_curve import coupler_curve as coupler_curve
from sarrus.analysis.linkages.coupler_curve import CouplerCurve as CouplerCurve
from sarrus.analysis.linkages.double_points import Cusp as Cusp
from sarrus.analysis.linkages.double_points import DoublePoint as DoublePoint
from sarrus.analysis.linkages.transmission import transmission_angle as transmission_angle
from sarrus.analysis.linkages.transmission import TransmissionAngle as TransmissionAngle
from sarrus.analysis.singularities.singularity_locus import singularity_locus as singularity_locus
from sarrus.analysis.singularities.singularity_locus import SingularityLocus as SingularityLocus
from sarrus.analysis.linkages.singularity_map import singularity_map as singularity_map
from sarrus.analysis.linkages.singularity_map import SingularityMap as SingularityMap
from sarrus.analysis.linkages.workspace import workspace as workspace
from sarrus.analysis.linkages.workspace import Workspace as Workspace
from sarrus.analysis.configurations.inverse_kinematics import inverse_kinematics as inverse_kinematics
from sarrus.analysis.configurations.inverse_kinematics import InverseKinematics as InverseKinematics
from sarrus.analysis.configurations.equilibrium import equilibrium as equilibrium
from sarrus.analysis.configurations.equilibrium import Equilibrium as Equilibrium
from sarrus.analysis.loads.energy_balance import energy_balance as energy_balance
from sarrus.analysis.loads.energy_balance import EnergyBalance as EnergyBalance
from sarrus.analysis.loads.motor_loss import motor_loss as motor_loss
from sarrus.analysis.loads.motor_loss import MotorLoss as MotorLoss
from sarrus.analysis.loads.energy_per_metre import EnergyPerMetre as EnergyPerMetre
from sarrus.dynamics.contacts.support_reactions import SupportReactions as SupportReactions
from sarrus.dynamics.contacts.support_reactions import ContactForces as ContactForces
from sarrus.dynamics.contacts.support_reactions import ContactReactions as ContactReactions

# Linear models and derivatives
from sarrus.analysis.linear.linearize import linearize as linearize
from sarrus.analysis.linear.linearize_at import linearize_at as linearize_at
from sarrus.analysis.linear.along import linearize_along as linearize_along
from sarrus.analysis.linear.along import LinearModels as LinearModels
from sarrus.analysis.linear.linear_system import DiscreteSystem as DiscreteSystem
from sarrus.analysis.linear.linear_system import LinearSystem as LinearSystem
from sarrus.analysis.linear.vibration_mode import VibrationMode as VibrationMode
from sarrus.design import identification as identification
from sarrus.analysis import sensitivity as sensitivity

# Design
from sarrus.design import synthesis as synthesis

# Pictures
from sarrus.pictures.plots import plot as plot
from sarrus.pictures.browser.server import view as view
from sarrus.pictures.browser.server import Viewer as Viewer
from sarrus.pictures.browser.render import render as render

# Control
from sarrus import control as control
from sarrus.control import references as references
from sarrus.runs import gym as gym

# Export, programs, matrices
from sarrus import export as export
from sarrus.dynamics import optimize as optimize
from sarrus import formulations as formulations

# Answers
from sarrus.base.status import Status as Status
from sarrus.base.errors import ArgumentError as ArgumentError
from sarrus.base.errors import CompilationError as CompilationError
from sarrus.base.errors import ModelError as ModelError
from sarrus.base.errors import ModelFileError as ModelFileError
from sarrus.base.errors import SarrusError as SarrusError
from sarrus.base.errors import SimulationError as SimulationError
from sarrus.base.errors import SolveError as SolveError
from sarrus.base.errors import UnsupportedElementError as UnsupportedElementError
from sarrus.base.errors import UnsupportedOperationError as UnsupportedOperationError
from sarrus.base.errors import ViewerError as ViewerError
from sarrus.base.errors import WriteError as WriteError
from sarrus.base.errors import AccuracyWarning as AccuracyWarning
from sarrus.base.errors import CacheWarning as CacheWarning
from sarrus.base.errors import LimitWarning as LimitWarning
from sarrus.base.errors import ModelWarning as ModelWarning
from sarrus.base.errors import SingularityWarning as SingularityWarning
from sarrus.base.errors import StoreWarning as StoreWarning

__version__: str
