"""Switchable and unilateral constraints: activity, complementarity, impacts, restitution, and contact wrenches."""
