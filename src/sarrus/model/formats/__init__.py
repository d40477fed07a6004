"""From model files to a `Mechanism` with its report: MJCF, URDF, SDF, and files of loops beside them."""
