"""A `Mechanism` as MJCF."""
