"""What designers of linkages ask: coupler curves, transmission angles, workspaces, maps."""
