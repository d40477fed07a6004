"""Mechanisms and loads in three dimensions: meshes, parts, arrows, cameras, the rasteriser."""
