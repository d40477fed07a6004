"""Figures of results with Matplotlib: the functions of `sarrus.plot`.

Of a mechanism in one pose `mechanism`, every element with its symbol. Of a trajectory `history` (over time),
`stroboscope` (skeletons at several times) and `animation` (GIF); of its energy balance `energy_shares` and
`motor_diagram`; of a linear model `vibration_mode` (GIF); of a comparison `comparison`; of reactions `reactions`
(arrows), `reaction_history` and `hodograph`; of linkages `coupler_curve`, `transmission_angle`, `workspace`,
`singularity_locus`, `singularity_map` and `clearance` (from singular configurations). In 3-D: `sarrus.view`,
`sarrus.render`.
"""

from sarrus.pictures.plots.animation import animation, vibration_mode
from sarrus.pictures.plots.comparison import comparison
from sarrus.pictures.plots.curves import clearance, coupler_curve, transmission_angle
from sarrus.pictures.plots.energy import energy_shares, motor_diagram
from sarrus.pictures.plots.history import history
from sarrus.pictures.plots.maps import singularity_map
from sarrus.pictures.plots.mechanism_drawing import mechanism
from sarrus.pictures.plots.reactions import hodograph, reaction_history, reactions
from sarrus.pictures.plots.regions import singularity_locus, workspace
from sarrus.pictures.plots.stroboscope import stroboscope

__all__ = [
    "animation",
    "clearance",
    "comparison",
    "coupler_curve",
    "energy_shares",
    "history",
    "hodograph",
    "mechanism",
    "motor_diagram",
    "reaction_history",
    "reactions",
    "singularity_locus",
    "singularity_map",
    "stroboscope",
    "transmission_angle",
    "vibration_mode",
    "workspace",
]
