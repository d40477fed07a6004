"""Numbers of a mechanism that are sought: `synthesis` by goals, `identification` from measurements.

Comes in: a `Mechanism` with free numbers, and goals or logs. Goes out: a mechanism with numbers, and how certain they
are.

Rooms: ``synthesis`` (dimensions, springs, counterweights and motors that fulfil goals best), ``identification``
(inertias, friction, springs and motors from logs).
Start reading: ``synthesis.problem`` and ``identification.identify``.
"""
