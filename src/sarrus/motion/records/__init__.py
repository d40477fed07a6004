"""What a run leaves: samples, quantities, logs, files; `Trajectory` is their door."""
