"""closing."""
