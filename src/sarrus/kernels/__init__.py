"""Compiled kernels (Numba): factorisation, constrained solves, projections, integrators. They know no mechanism.

Most are C functions (`sarrus.kernels.c_function`). Those that Python calls with arrays are Numba's own dispatchers
(`sarrus.kernels.dispatched`). Both are kept in the cache of the models, found by the content of all sources here.
"""
