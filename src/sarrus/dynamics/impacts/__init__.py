"""Constraints that come and go: which hold, which push, what happens when they close, and their wrenches."""
