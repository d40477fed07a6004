"""Programs around the library: parameter studies, environments for learning, the command line.

Comes in: systems, files, commands. Goes out: stores of results, environments of Gymnasium, tables on the terminal.

Rooms: ``studies`` (`sarrus.study`), ``gym`` (`sarrus.gym`), ``cli`` (the command ``sarrus``).
Start reading: ``studies.study`` and ``cli.main``.
"""
