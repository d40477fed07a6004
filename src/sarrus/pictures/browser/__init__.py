"""The viewer in the browser and what it writes: server, panels, pages, films (`view`, `render`)."""
