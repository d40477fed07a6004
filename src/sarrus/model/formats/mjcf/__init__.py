"""MJCF, as the reference compiler reads it, to a `Mechanism`."""
