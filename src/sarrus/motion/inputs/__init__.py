"""What a run is given: controls, events, options, invariants, and functions of time looked at before it."""
