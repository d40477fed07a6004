"""Mechanisms and motions in three dimensions: in the browser, as stand-alone pages, pictures and animations.

Drawing     `meshes` (triangles), `parts` (what is drawn of a mechanism), `drawing` (where it is), `layers` (of
            motions over each other), `force_arrows`, `camera`, `ground` (the grid)
Browser     `server` (`sarrus.view`), `worker_thread`, `scene` and `scene_nodes` (what viser shows), `readout`, `plots`,
            `markup` (names as HTML); the panels `time_panel`, `joint_panel`, `force_panel`, `run_panel`,
            `mode_panel`, `plot_panel`
Serving     `address` (host and port), `access` (who gets in), `serving` (viser's server), `timeouts`
Files       `render` (`sarrus.render`), `raster` (pictures), `page` (HTML)
"""
