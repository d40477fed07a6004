"""Exports to other programs: `c_code` (C99 of a system or a control law), `fmu` (FMI 3.0), `casadi_function`,
`mjcf_file` (a mechanism as a MuJoCo model).
"""

from sarrus.export.c.c_code import CExport, c_code
from sarrus.export.casadi import casadi_function
from sarrus.export.fmi.fmu import FMUExport, fmu
from sarrus.model.formats.mjcf_writer.writer import mjcf_file

__all__ = ["CExport", "FMUExport", "c_code", "casadi_function", "fmu", "mjcf_file"]
