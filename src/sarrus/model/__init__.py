"""The description of a mechanism, as plain data: built in Python or read from a file.

Comes in: calls of the builders, or MJCF, URDF and SDF. Goes out: a `Mechanism` with its import report; nothing here
knows equations, solvers or pictures.

Rooms: ``mechanism`` (elements, checks, report), ``builders`` (`Mechanism` and the methods that add elements),
``formats`` (readers of MJCF, URDF and SDF, the writer of MJCF).
Start reading: ``mechanism.elements``, then ``builders.mechanism``.
"""
