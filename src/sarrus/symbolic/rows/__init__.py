"""Rows of constraints as jets: loop closures, couplings, rolling, contacts of points and of surfaces."""
