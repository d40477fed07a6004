"""Elementary functions as straight-line code: the same bits on every processor."""
