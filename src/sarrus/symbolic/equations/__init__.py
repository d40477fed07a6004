"""Symbolic equations of motion: whoever derives them, they come out as `Equations` over CasADi symbols."""
