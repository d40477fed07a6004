"""legged."""
