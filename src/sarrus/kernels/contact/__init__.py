"""Contacts in kernels: rows, the problem with Coulomb friction, its solvers, event functions."""
