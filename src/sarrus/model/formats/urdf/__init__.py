"""URDF, with loop closures inside or in a file beside it, to a `Mechanism`."""
