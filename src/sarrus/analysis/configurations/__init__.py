"""configurations."""
