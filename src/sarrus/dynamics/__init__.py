"""From equations to answers at one state, by `System`.

Comes in: a `Mechanism` or `Equations`. Goes out: compiled quantities, closed configurations, ranks, accelerations,
controls, readings of sensors.
"""
