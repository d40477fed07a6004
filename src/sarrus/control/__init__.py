"""Control laws of constrained mechanisms: u = law(q, v, t), from Python or inside the compiled simulation.

Motion          `ProjectedInverseDynamics`, `OperationalSpaceTracking`, `ComputedTorque`, `Regulator`
Forces          `HybridMotionForce`
Constraints     `ServoConstraint`
Contacts        `LeggedController` with `ContactForce`, `CentreOfPressure`, `Gait`, `SwingFeet`, `Travel`,
                `CaptureSteps`, `Balance`, `Height`; `ContactLaw`, `ContactOptions`, `ContactSense`,
                `Distribution`
Priorities      `TaskHierarchy` of `Task`s, `Bound`s and `JointLimits`
Quantities      `point`, `orientation`, `gaze`, `clearance` of `Sphere`, `Capsule`, `Plane`; `centre_of_mass`,
                `momentum`, `capture_point`; `singularity_measure`; references that are `streamed`
Simulation      ``sr.simulate(control=law, sample_time=Sampling(...))``: sample time, delay, noise
Task space      `TaskSpace`, `TaskKinematics`
Switches        `HandOver`, `hand_overs` of a schedule
Feasibility     `controllability`, `controllability_along` a schedule; ``law.solve(q, v, t)`` returns a `Command` with a
                `Level` for each demand
Own laws        `Law` of `Demand`s and `ForceDemand`s, with `Settings`
Limits          `LawOptions`; ``law.explain(q, v, t)``: an `Explanation` of `LevelShare`s and `LimitUse`s
"""

from sarrus.control.body_quantities import gaze, orientation, point
from sarrus.control.bounds import Bound
from sarrus.control.capture_steps import Balance, CaptureSteps
from sarrus.control.centre_of_pressure import CentreOfPressure
from sarrus.control.centroidal_quantities import capture_point, centre_of_mass, momentum
from sarrus.control.clearance import Capsule, Plane, Sphere, clearance
from sarrus.control.computed_torque import ComputedTorque
from sarrus.control.contact_force import ContactForce
from sarrus.control.contact_law import ContactLaw, Distribution
from sarrus.control.contact_options import ContactOptions
from sarrus.control.contact_sense import ContactSense
from sarrus.control.controllability import Controllability, controllability
from sarrus.control.controllability_along import (
    ControllabilityAlong,
    Phase,
    SwitchLoad,
    controllability_along,
)
from sarrus.control.demands import Command, Demand, ForceDemand, Level, Settings
from sarrus.control.explanation import Explanation, LevelShare, LimitUse
from sarrus.control.gait import Gait, SwingFeet, Travel
from sarrus.control.ground import Height
from sarrus.control.hand_over import HandOver, hand_overs
from sarrus.control.hybrid_motion_force import HybridMotionForce
from sarrus.control.joint_bounds import JointLimits
from sarrus.control.law import Law
from sarrus.control.law_options import LawOptions
from sarrus.control.legged_controller import LeggedController
from sarrus.control.loss_weights import loss_weights
from sarrus.control.quantities import Part
from sarrus.control.reference import streamed
from sarrus.control.regulator import Regulation, Regulator
from sarrus.control.sampling import Sampling
from sarrus.control.servo_constraint import ServoConstraint
from sarrus.control.singularity import singularity_measure
from sarrus.control.task_hierarchy import TaskHierarchy
from sarrus.control.task_space import TaskKinematics, TaskSpace
from sarrus.control.tasks import Task
from sarrus.control.tracking import OperationalSpaceTracking, ProjectedInverseDynamics

__all__ = [
    "Balance",
    "Bound",
    "Capsule",
    "CaptureSteps",
    "CentreOfPressure",
    "Command",
    "ComputedTorque",
    "ContactForce",
    "ContactLaw",
    "ContactOptions",
    "ContactSense",
    "Controllability",
    "ControllabilityAlong",
    "Demand",
    "Distribution",
    "Explanation",
    "ForceDemand",
    "Gait",
    "HandOver",
    "Height",
    "HybridMotionForce",
    "JointLimits",
    "Law",
    "LawOptions",
    "LeggedController",
    "Level",
    "LevelShare",
    "LimitUse",
    "OperationalSpaceTracking",
    "Part",
    "Phase",
    "Plane",
    "ProjectedInverseDynamics",
    "Regulation",
    "Regulator",
    "Sampling",
    "ServoConstraint",
    "Settings",
    "Sphere",
    "SwingFeet",
    "SwitchLoad",
    "Task",
    "TaskHierarchy",
    "TaskKinematics",
    "TaskSpace",
    "Travel",
    "capture_point",
    "centre_of_mass",
    "clearance",
    "controllability",
    "controllability_along",
    "gaze",
    "hand_overs",
    "loss_weights",
    "momentum",
    "orientation",
    "point",
    "singularity_measure",
    "streamed",
]
