"""Forces of actuators and contacts inside friction cones, by the log-barrier method (Aghili 2022)."""
