"""Laws for motion and force: tasks, bounds, hierarchies, computed torque, servo constraints, regulation."""
