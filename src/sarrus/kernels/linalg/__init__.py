"""Dense linear algebra for Python with the same bits on every machine; ranks, Newton's method."""
