"""URDF, with loops beside it, to a `Mechanism`."""
