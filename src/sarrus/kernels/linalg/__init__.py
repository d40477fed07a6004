"""Dense linear algebra for Python code, with the same bits on every machine; ranks and Newton's method."""
