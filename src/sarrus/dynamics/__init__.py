"""From equations to answers at one state, by `System`.

Comes in: a `Mechanism` or `Equations`. Goes out: compiled quantities, closed configurations, ranks, accelerations,
controls, contact forces, readings of sensors, independent coordinates.

Rooms, from the ground up: ``model`` (compiled equations and their evaluation), ``contacts`` (contacts, stops and dry
friction at a state), ``optimize`` (cone programs and the contact problem), ``closing`` (assembly, the manifold of
closed configurations), ``solve`` (forward and inverse dynamics, with contact forces), ``system`` (the user's handle),
``impacts`` (constraints that close or open), ``coordinates`` (the local state-space form).
Start reading: ``system``, then ``solve.forward_dynamics``.
"""
