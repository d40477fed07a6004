"""Batches of runs in kernels: in sequence, and in parallel lanes of the processor."""
