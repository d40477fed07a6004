"""Singular configurations: the nearest one, the distance along a path, their curves."""
