"""Figures of mechanisms and results with Matplotlib: `sarrus.plot` (`plotting.plot` lists the functions)."""
