"""Systems and laws as units of the Functional Mock-up Interface 3.0: exported C, and what the standard asks for."""

from sarrus.export.fmi.fmu import FMUExport, fmu

__all__ = ["FMUExport", "fmu"]
