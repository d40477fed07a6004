"""Derivatives of results by parameters."""
