"""Motion in time from a state (q, v): the time loop, events, contacts that switch, recording, error estimates.

Read `simulate` first; `many` has `sarrus.rollout`.
"""
