"""Systems and control laws as C99 source: the traced terms, and the kernels translated from their Python source."""

from sarrus.export.c.export_c import CExport, export_c

__all__ = ["CExport", "export_c"]
