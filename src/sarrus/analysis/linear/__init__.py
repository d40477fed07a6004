"""Linear models on the constraint manifold, in minimal coordinates: `taylor`, `linearize`, `linear_system`."""
