"""What kernels are written with and compiled by: pointers, calls by address, the way to LLVM, shipped code."""
