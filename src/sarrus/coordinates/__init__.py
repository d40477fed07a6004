"""Independent coordinates of a constrained system: how they are chosen, and the local state-space form in them."""

from sarrus.coordinates.momenta import Momenta
from sarrus.coordinates.relation import Relation, extend

__all__ = ["Momenta", "Relation", "extend"]
