"""What every other wing stands on: errors, statuses, arrays of numbers, files.

Comes in: nothing of sarrus. Goes out: the classes of errors and warnings, `Status` with its remedies, checks of
arguments and numbers, progress and interrupts, files that are whole or absent.

Rooms: ``files`` (whole or not at all, sealed, as NetCDF).
Start reading: ``errors``, then ``status``.
"""
