"""Quantities that tasks and bounds are about: of coordinates, bodies, all bodies together, clearances."""
