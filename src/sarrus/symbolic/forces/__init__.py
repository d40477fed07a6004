"""Generalized forces by virtual power: springs, dampers, actuators, and tendons by their lengths."""
