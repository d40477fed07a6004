"""singularities."""
