"""`Law`, what laws are made of, their limits, settings and explanation."""
