"""Dynamics at one state, by `System`: closed configurations, ranks, accelerations, controls, sensor readings.

In: a `Mechanism` or `Equations`. `Model` holds the compiled equations and never changes, `Workspace` the arrays and
tolerances of one call or thread, `System` is the handle of the user. Start with `sarrus.dynamics.system`.
"""
