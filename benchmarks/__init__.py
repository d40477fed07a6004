"""Sarrus against its peers, in one process, as medians of ratios: ``python -m benchmarks``."""
