"""What every importer shares: the place of the mechanism being built, refusals, unique names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sarrus.errors import UnsupportedElementError
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.pose import Pose
from sarrus.mechanism.report import ImportReport

# what the reports say of shapes that collide
CONTACTS = (
    "contacts are added after loading: mechanism.add_contact(name, geom=…) or (name, site=…), and for box feet "
    "mechanism.add_contact_patch(name, geom=…), with the names in mechanism.geoms and mechanism.frames"
)


@dataclass
class Import:
    """One import in progress."""

    path: Path
    mechanism: Mechanism
    strict: bool = True

    @property
    def report(self) -> ImportReport:
        """The report of the mechanism."""
        return self.mechanism.report

    @property
    def frames(self) -> dict[str, tuple[str, Pose]]:
        """The frames that a loop file may name: bodies, and the frames of the file whose names no body has."""
        return self.mechanism.frames | {name: (name, Pose()) for name in self.mechanism.bodies}

    def refuse(self, kind: str, name: str, reason: str, remedy: str) -> None:
        """Raise `UnsupportedElementError`, or with ``strict=False`` list the element as left out.

        ``remedy`` says how the model could be changed so that the element is kept.
        """
        if self.strict:
            raise UnsupportedElementError(
                f"{self.path.name}: {kind} {name!r} cannot be kept: {reason}. To go on: {remedy}; or load "
                "with strict=False, which leaves it out and lists it in mechanism.report",
                element=name,
            )
        self.report.leave_out(kind, name, reason)


def unique(name: str, taken: Iterable[str]) -> str:
    """Return ``name``, with a number appended if it is among ``taken``."""
    names = taken if isinstance(taken, (set, dict)) else set(taken)
    if name not in names:
        return name
    number = 2
    while f"{name}_{number}" in names:
        number += 1
    return f"{name}_{number}"
