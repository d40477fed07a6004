"""Tolerances of the room ``model/formats/mjcf_writer``: what MJCF can say of springs and bodies."""

from __future__ import annotations

# [m and 1] A spring rests at a pose that MJCF can express if its reference differs by less. Poses computed in
# two ways differ by rounding (1e-16).
SAME_REST = 1e-12

# [kg and kg m²] A moving body is written with its inertia if mass and moments are above. MuJoCo refuses
# smaller ones (its mjMINVAL).
LEAST_INERTIA = 1e-15
