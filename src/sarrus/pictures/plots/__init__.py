"""Pictures of trajectories: histories over time, stroboscopic drawings, animations."""
