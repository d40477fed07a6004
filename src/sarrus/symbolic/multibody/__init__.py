"""Rigid-body recursions (Featherstone 2008): inverse dynamics, mass matrix, cuts, sensors, whole models."""
