"""From a state to a motion: `simulate`, `rollout` and `Trajectory`.

Comes in: a `System`, a state, controls, events. Goes out: a motion with an estimate of its error, its events, impacts
and singular passages, and a status that says whether it can be trusted.

Rooms: ``inputs`` (controls, options, functions of time), ``loop`` (the compiled time loop between Python calls),
``contacts`` (runs from event to event with Coulomb friction), ``records`` (samples, quantities, files), ``many``
(`rollout`).
Start reading: ``simulate``, then ``motion`` and ``loop.integration``.
"""
