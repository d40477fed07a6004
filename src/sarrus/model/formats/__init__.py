"""Importers: an MJCF, URDF or SDF file, with a file of loop closures beside it, becomes a `Mechanism` with a report."""
