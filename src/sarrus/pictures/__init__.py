"""Mechanisms and results to look at: figures, films, pages, and the viewer in the browser.

Comes in: results and systems; no result imports a picture. Goes out: Matplotlib figures, PNG, GIF and MP4 files, HTML.

Rooms: ``symbols`` (what each element looks like, in lines), ``plots`` (`sarrus.plot`), ``scene`` (solids, cameras,
arrows in three dimensions), ``browser`` (`sarrus.view`, `sarrus.render`: pages, panels, the server).
Start reading: ``plots.plot``, then ``scene.drawing`` and ``browser.server``.
"""
