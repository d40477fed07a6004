"""Kernels: factorisation, constrained solves, projections, integrators. They know no mechanism.

They are plain Python over pointers (`sarrus.kernels.platform.pointers`), compiled by LLVM when the package is built,
and called as C functions (`sarrus.kernels.platform.c_function`).
"""
