"""What kernels are written with and compiled by: pointers, calls by address, Numba, shipped object code."""
