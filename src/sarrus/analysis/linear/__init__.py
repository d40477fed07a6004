"""Linear models on the constraint manifold, in minimal coordinates; start with `sarrus.linearize`."""
