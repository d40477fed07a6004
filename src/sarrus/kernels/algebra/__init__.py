"""Dense algebra in kernels in a fixed order of operations: vectors, factors, blocks, retraction q ⊕ δ."""
