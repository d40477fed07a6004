"""Tolerances of the room ``files``: memory."""

from __future__ import annotations

# [B] Larger files are written to disk in parts; smaller ones are made in memory and written at once.
NETCDF_IN_MEMORY = 64e6
