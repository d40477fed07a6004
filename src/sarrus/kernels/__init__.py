"""Compiled code that knows no mechanism: factorisation, constrained solves, contacts, integrators, laws.

Comes in: a table of numbers and addresses (``memory.layout``), filled by `sarrus.dynamics`. Goes out: functions of C's
calling convention (``platform.c_function``), and the same source as C99 (`sarrus.export.c`). Kernels are plain Python
over pointers (``platform.pointers``), compiled by LLVM when the package is built or when they are first called.

Rooms, from the ground up: ``memory`` (records that Python and kernels share), ``platform`` (pointers, compilation,
shipped code), ``algebra`` (vectors, factors), ``linalg`` (the same algebra for Python), ``solve`` (accelerations,
projections), ``cones`` (cone programs), ``laws`` (hierarchies of tasks), ``contact`` (rows and problems with Coulomb
friction), ``integrate`` (steps, events, runs), ``batch`` (many runs), ``models`` (linear models), ``raster``.
Start reading: ``memory.layout``, then ``solve.acceleration``.
"""
