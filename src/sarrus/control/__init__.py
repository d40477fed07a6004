"""Control laws of constrained mechanisms: u = law(q, v, t), from Python or inside the compiled simulation.

Motion          `ProjectedInverseDynamics`, `OperationalSpaceTracking`, `ComputedTorque`, `Regulator`
Forces          `HybridMotionForce`
Constraints     `ServoConstraint`
Contacts        `LeggedController` with `ContactForce`, `Gait`, `SwingFeet`, `Travel`; `ContactLaw`, `Distribution`
Priorities      `TaskHierarchy` of `Task`s about coordinates, a `point`, an `orientation`, the `centre_of_mass`
Simulation      ``sr.simulate(control=law, sample_time=Sampling(...))``: sample time, delay, noise
Feasibility     `controllability`; ``law.solve(q, v, t)`` tells what became of each demand
"""

from sarrus.control.computed_torque import ComputedTorque
from sarrus.control.contact_force import ContactForce
from sarrus.control.contact_law import ContactLaw, Distribution
from sarrus.control.controllability import controllability
from sarrus.control.gait import Gait, SwingFeet, Travel
from sarrus.control.hybrid_motion_force import HybridMotionForce
from sarrus.control.law import Command, Law
from sarrus.control.legged_controller import LeggedController
from sarrus.control.operational_space import OperationalSpaceTracking
from sarrus.control.projected_inverse_dynamics import ProjectedInverseDynamics
from sarrus.control.regulator import Regulator
from sarrus.control.sampling import Sampling
from sarrus.control.servo_constraint import ServoConstraint
from sarrus.control.task_hierarchy import TaskHierarchy
from sarrus.control.tasks import Task, centre_of_mass, orientation, point

__all__ = [
    "Command",
    "ComputedTorque",
    "ContactForce",
    "ContactLaw",
    "Distribution",
    "Gait",
    "HybridMotionForce",
    "Law",
    "LeggedController",
    "OperationalSpaceTracking",
    "ProjectedInverseDynamics",
    "Regulator",
    "Sampling",
    "ServoConstraint",
    "SwingFeet",
    "Task",
    "TaskHierarchy",
    "Travel",
    "centre_of_mass",
    "controllability",
    "orientation",
    "point",
]
