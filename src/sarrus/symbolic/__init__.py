"""From a description to equations of motion: expressions over CasADi scalars, traced once.

Comes in: a `Mechanism`, a Lagrangian or the user's own equations. Goes out: `Equations`, symbolic and complete;
nothing here knows a solver.

Rooms: ``equations`` (`Equations`, and solves written out over structural nonzeros), ``kinematics`` (jets, the tree,
frames), ``rows`` (closures, contacts, rolling), ``forces`` (springs, actuators, tendons), ``multibody`` (the
recursions that put a mechanism's equations together).
Start reading: ``equations.equations``, then ``multibody.model``.
"""
