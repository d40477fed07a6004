"""Analyses of a system: mobility and rank, closed configurations, statics and reactions, singularities, work and
losses.

`mobility`, `equilibrium`, `reactions` and `inverse_kinematics` are the functions to start with.
"""
