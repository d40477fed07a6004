"""Contact points of two convex geometries by their support functions."""
