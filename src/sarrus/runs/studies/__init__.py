"""Parameter studies and Monte Carlo: `sarrus.study` and what it is made of; `draw` draws samples."""

from sarrus.runs.studies.samples import draw, normal, uniform

__all__ = ["draw", "normal", "uniform"]
