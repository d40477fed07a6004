"""Constraints that come and go: which hold, what happens when they close, and the wrenches of contacts."""
