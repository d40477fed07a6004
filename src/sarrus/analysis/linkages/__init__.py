"""linkages."""
