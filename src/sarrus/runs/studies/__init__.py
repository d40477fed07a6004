"""Parameter studies and Monte Carlo: `sarrus.study`; `draw` draws samples, `compare` compares formulations."""

from sarrus.runs.studies.samples import draw, normal, uniform

__all__ = ["draw", "normal", "uniform"]
