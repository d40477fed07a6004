"""What a mechanism is and does, beside its motion: configurations, mobility, loads, linear models, derivatives.

Comes in: a `System` with a configuration, a state or a `Trajectory`. Goes out: results that check themselves, with
names of joints and rows, and methods that draw them.

Rooms: ``configurations`` (assembly modes, inverse kinematics, equilibrium), ``mobility`` (rank, redundancy),
``singularities`` (singular configurations and their curves), ``linkages`` (coupler curves, workspaces, maps),
``loads`` (reactions, energy, losses), ``linear`` (linear models on the constraint manifold), ``sensitivity``
(derivatives by parameters), ``comparison`` (formulations side by side).
Start reading: ``mobility.mobility``, then ``linear.linearize_at``.
"""
