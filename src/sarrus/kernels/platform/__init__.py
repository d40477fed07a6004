"""Language and compilation of kernels: pointers, calls by address, translation to LLVM, shipped object code."""
