"""`Block`: a contact, a joint stop or dry friction in the contact problem on accelerations."""

from __future__ import annotations

from dataclasses import dataclass

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_state import ContactElement, Mode


@dataclass
class Block:
    """A contact, stop or dry friction: its rows in W, mode, slip direction, and present friction coefficient.

    ``going``: it slips at the present velocity.
    """

    one: ContactElement
    rows: slice
    going: bool
    mode: Mode
    friction: float
    direction: Array

    @property
    def is_dry(self) -> bool:
        """Whether it is dry friction, without a normal force."""
        return self.one.kind == "friction"

    @property
    def tails(self) -> slice:
        """Its rows with friction."""
        return slice(self.rows.start + (not self.is_dry), self.rows.stop)
