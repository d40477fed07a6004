"""Records and layouts: the memory that Python and the kernels share, number by number."""
