"""Rigid-body recursions traced over CasADi scalars: kinematics, RNEA, CRBA, closures, forces."""
