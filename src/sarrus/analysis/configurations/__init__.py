"""Configurations sought: assembly modes, inverse kinematics, curves, equilibrium."""
