"""Independent coordinates of a constrained system: how they are chosen, and the local state-space form in them."""

from sarrus.coordinates.momenta import Momenta
from sarrus.coordinates.relation import Relation, extend
from sarrus.coordinates.rotation_vector import RotationVector

__all__ = ["Momenta", "Relation", "RotationVector", "extend"]
