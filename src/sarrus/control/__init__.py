"""Control laws of constrained mechanisms: u = law(q, v, t), from Python or inside the compiled simulation.

Motion          `ProjectedInverseDynamics`, `OperationalSpaceTracking`, `ComputedTorque`, `Regulator`
Forces          `HybridMotionForce`
Constraints     `ServoConstraint`
Contacts        `LeggedController` with `ContactForce`, `CentreOfPressure`, `Gait`, `SwingFeet`, `Travel`,
                `CaptureSteps`, `Balance`, `Height`; `ContactLaw`, `ContactOptions`, `ContactSense`,
                `ContactCommand`
Priorities      `TaskHierarchy` of `Task`s, `Bound`s and `JointLimitBound`
Quantities      `point`, `orientation`, `gaze`, `clearance` of `Sphere`, `Capsule`, `Plane`; `centre_of_mass`,
                `momentum`, `capture_point`; `singularity_measure`; references that are `streamed`
Simulation      ``sr.simulate(control=law, sample_time=Sampling(...))``: sample time, delay, noise
Task space      `TaskSpace`, `TaskKinematics`
Switches        `HandOver`, `hand_overs` of a schedule
Feasibility     `controllability`, `controllability_along` a schedule; ``law.solve(q, v, t)`` returns a `Command` with a
                `Level` for each demand
Own laws        `Law` of `Demand`s and `ForceDemand`s, with `Settings`
Limits          `LawOptions`; ``law.explain(q, v, t)`` returns an `Explanation` with `LevelShare`s and `LimitUse`s
"""

from sarrus.control.laws.controllability import Controllability, controllability
from sarrus.control.laws.controllability_along import (
    ControllabilityAlong,
    Phase,
    SwitchLoad,
    controllability_along,
)
from sarrus.control.laws.demands import Command, Demand, ForceDemand, Level, Settings
from sarrus.control.laws.explanation import Explanation, LevelShare, LimitUse
from sarrus.control.laws.hand_over import HandOver, hand_overs
from sarrus.control.laws.law import Law
from sarrus.control.laws.law_options import LawOptions
from sarrus.control.laws.loss_weights import loss_weights
from sarrus.control.laws.reference import streamed
from sarrus.control.legged.capture_steps import Balance, CaptureSteps
from sarrus.control.legged.centre_of_pressure import CentreOfPressure
from sarrus.control.legged.contact_force import ContactForce
from sarrus.control.legged.contact_law import ContactCommand, ContactLaw
from sarrus.control.legged.contact_options import ContactOptions
from sarrus.control.legged.contact_sense import ContactSense
from sarrus.control.legged.gait import Gait, SwingFeet, Travel
from sarrus.control.legged.legged_controller import LeggedController
from sarrus.control.legged.terrain import Height
from sarrus.control.motion.bounds import Bound
from sarrus.control.motion.computed_torque import ComputedTorque
from sarrus.control.motion.hybrid_motion_force import HybridMotionForce
from sarrus.control.motion.joint_bounds import JointLimitBound
from sarrus.control.motion.regulator import Regulation, Regulator
from sarrus.control.motion.servo_constraint import ServoConstraint
from sarrus.control.motion.task_hierarchy import TaskHierarchy
from sarrus.control.motion.tasks import Task
from sarrus.control.motion.tracking import OperationalSpaceTracking, ProjectedInverseDynamics
from sarrus.control.quantities.body_quantities import gaze, orientation, point
from sarrus.control.quantities.centroidal_quantities import capture_point, centre_of_mass, momentum
from sarrus.control.quantities.clearance import Capsule, Plane, Sphere, clearance
from sarrus.control.quantities.quantities import Part
from sarrus.control.quantities.singularity_measure import singularity_measure
from sarrus.control.quantities.task_space import TaskKinematics, TaskSpace
from sarrus.control.sampling import Sampling

__all__ = [
    "Balance",
    "Bound",
    "Capsule",
    "CaptureSteps",
    "CentreOfPressure",
    "Command",
    "ComputedTorque",
    "ContactCommand",
    "ContactForce",
    "ContactLaw",
    "ContactOptions",
    "ContactSense",
    "Controllability",
    "ControllabilityAlong",
    "Demand",
    "Explanation",
    "ForceDemand",
    "Gait",
    "HandOver",
    "Height",
    "HybridMotionForce",
    "JointLimitBound",
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
