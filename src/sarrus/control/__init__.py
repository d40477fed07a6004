"""Control laws of constrained mechanisms: u = law(q, v, t), from Python or inside the compiled simulation.

Motion          `ProjectedInverseDynamics`, `OperationalSpaceTracking`, `ComputedTorque`, `Regulator`
Forces          `HybridMotionForce`
Constraints     `ServoConstraint`
Contacts        `LeggedController` with `ContactForce`, `Gait`, `SwingFeet`, `Travel`, `CaptureSteps`, `Balance`;
                `ContactLaw`, `ContactOptions`, `Distribution`
Priorities      `TaskHierarchy` of `Task`s about coordinates, a `point`, an `orientation`, the `centre_of_mass`
Simulation      ``sr.simulate(control=law, sample_time=Sampling(...))``: sample time, delay, noise
Task space      `TaskSpace`, `TaskKinematics`
Feasibility     `controllability`; ``law.solve(q, v, t)`` returns a `Command` with a `Level` for each demand
Own laws        `Law` of `Demand`s and `ForceDemand`s, with `Settings`
Limits          `LawOptions`; ``law.explain(q, v, t)``: an `Explanation` of `LevelShare`s and `LimitUse`s
"""

from sarrus.control.capture_steps import Balance, CaptureSteps
from sarrus.control.computed_torque import ComputedTorque
from sarrus.control.contact_force import ContactForce
from sarrus.control.contact_law import ContactLaw, Distribution
from sarrus.control.contact_options import ContactOptions
from sarrus.control.controllability import Controllability, controllability
from sarrus.control.demands import Command, Demand, ForceDemand, Level, Settings
from sarrus.control.explanation import Explanation, LevelShare, LimitUse
from sarrus.control.gait import Gait, SwingFeet, Travel
from sarrus.control.hybrid_motion_force import HybridMotionForce
from sarrus.control.law import Law
from sarrus.control.law_options import LawOptions
from sarrus.control.legged_controller import LeggedController
from sarrus.control.regulator import Regulator
from sarrus.control.sampling import Sampling
from sarrus.control.servo_constraint import ServoConstraint
from sarrus.control.task_hierarchy import TaskHierarchy
from sarrus.control.task_space import TaskKinematics, TaskSpace
from sarrus.control.tasks import Part, Task, centre_of_mass, orientation, point
from sarrus.control.tracking import OperationalSpaceTracking, ProjectedInverseDynamics

__all__ = [
    "Balance",
    "CaptureSteps",
    "Command",
    "ComputedTorque",
    "ContactForce",
    "ContactLaw",
    "ContactOptions",
    "Controllability",
    "Demand",
    "Distribution",
    "Explanation",
    "ForceDemand",
    "Gait",
    "HybridMotionForce",
    "Law",
    "LawOptions",
    "LeggedController",
    "Level",
    "LevelShare",
    "LimitUse",
    "OperationalSpaceTracking",
    "Part",
    "ProjectedInverseDynamics",
    "Regulator",
    "Sampling",
    "ServoConstraint",
    "Settings",
    "SwingFeet",
    "Task",
    "TaskHierarchy",
    "TaskKinematics",
    "TaskSpace",
    "Travel",
    "centre_of_mass",
    "controllability",
    "orientation",
    "point",
]
