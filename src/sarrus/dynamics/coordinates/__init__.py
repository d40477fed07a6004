"""Independent coordinates of a constrained system: their choice, and the local state-space form in them."""

from sarrus.dynamics.coordinates.momenta import Momenta
from sarrus.dynamics.coordinates.relation import Relation, extend
from sarrus.dynamics.coordinates.rotation_vector import RotationVector

__all__ = ["Momenta", "Relation", "RotationVector", "extend"]
