"""Systems and control laws as C99: the traced terms, and the kernels translated from their Python source."""

from sarrus.export.c.c_code import CExport, c_code

__all__ = ["CExport", "c_code"]
