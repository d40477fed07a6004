"""Compiled numerics of matrices and vectors: they know no mechanism, only sizes and addresses."""
