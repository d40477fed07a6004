"""From a state to a motion: the time loop, its events and switches, what is recorded, and how good the result is."""
