"""Mechanisms and motions in three dimensions: in the browser, as stand-alone pages, pictures and films.

Drawing     `meshes` (triangles), `parts` (what is drawn of a mechanism), `drawing` (where it is), `camera`, `forces`
Browser     `server` (`sarrus.view`): the panels `joint_panel`, `state_panel`, `time_panel`, `mode_panel`, `plots`
Files       `page` (HTML), `raster` and `film` (`sarrus.render`): PNG, GIF, MP4
"""
