"""Pictures of results with Matplotlib: what `sarrus.plot` is.

Of a trajectory `history` (over time), `stroboscope` (skeletons at several times) and `animation` (GIF); of a linear
model `vibration_mode` (GIF); of a comparison `comparison`. In 3-D: `sarrus.view` and `sarrus.render`.
"""

from sarrus.plotting.animation import animation, vibration_mode
from sarrus.plotting.comparison import comparison
from sarrus.plotting.history import history
from sarrus.plotting.stroboscope import stroboscope

__all__ = ["animation", "comparison", "history", "stroboscope", "vibration_mode"]
