"""Cone programs in kernels: primal-dual interior-point method, and Newton's method on the active set."""
