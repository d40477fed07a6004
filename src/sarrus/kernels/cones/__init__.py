"""cones."""
