"""Accelerations and controls at a state: forward and inverse dynamics, with contact forces."""
