"""Cone programs in kernels: a primal-dual interior-point method and Newton's method on the active rows."""
