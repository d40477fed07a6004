"""Systems and control laws as units (FMUs) of the Functional Mock-up Interface 3.0: exported C with its description."""

from sarrus.export.fmi.fmu import FMUExport, fmu

__all__ = ["FMUExport", "fmu"]
