"""Dense linear algebra of matrices from Python, with the same bits on every machine; ranks, Newton's method."""
