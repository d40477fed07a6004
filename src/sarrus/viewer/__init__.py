"""Mechanisms and motions in three dimensions: in the browser, as stand-alone pages, pictures and films.

Drawing     `meshes` (triangles), `parts` (what is drawn of a mechanism), `drawing` (where it is), `forces`, `camera`,
            `ground` (the grid)
Browser     `server` (`sarrus.view`), `worker` (its thread), `scene` and `nodes` (what viser shows), `readout`, `plots`,
            `markup` (names as HTML); the panels `time_panel`, `joint_panel`, `force_panel`, `run_panel`,
            `mode_panel`, `plot_panel`
Serving     `address` (host and port), `gate` (who gets in), `serving` (viser's server), `patience` (time limits)
Files       `film` (`sarrus.render`), `raster` (pictures), `page` (HTML)
"""
