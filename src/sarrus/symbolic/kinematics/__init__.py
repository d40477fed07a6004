"""Kinematics traced over CasADi scalars: jets (value, rate, acceleration), rotations, the tree, frames."""
