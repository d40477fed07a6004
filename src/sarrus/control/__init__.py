"""Control laws of constrained mechanisms: u = law(q, v, t), from Python or inside the compiled simulation.

Motion          `ProjectedInverseDynamics`, `OperationalSpaceTracking`, `ComputedTorque`, `Regulator`
Forces          `HybridMotionForce`
Constraints     `ServoConstraint`
Priorities      `TaskHierarchy` of `Task`s about coordinates, a `point`, an `orientation`, the `centre_of_mass`
Simulation      ``sr.simulate(control=law, sample_time=Sampling(...))``: sample time, delay, noise
Feasibility     `controllability`; ``law.solve(q, v, t)`` tells what became of each demand
"""

from sarrus.control.computed_torque import ComputedTorque
from sarrus.control.controllability import controllability
from sarrus.control.hybrid_motion_force import HybridMotionForce
from sarrus.control.law import Command, Law
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
    "HybridMotionForce",
    "Law",
    "OperationalSpaceTracking",
    "ProjectedInverseDynamics",
    "Regulator",
    "Sampling",
    "ServoConstraint",
    "Task",
    "TaskHierarchy",
    "centre_of_mass",
    "controllability",
    "orientation",
    "point",
]
