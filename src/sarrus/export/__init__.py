"""For other programs: `c_code` (C99 of a system or a control law), `casadi_function`, `mjcf_file` (of a mechanism)."""

from sarrus.export.c.c_code import CExport, c_code
from sarrus.export.casadi import casadi_function
from sarrus.export.mjcf.writer import mjcf_file

__all__ = ["CExport", "c_code", "casadi_function", "mjcf_file"]
