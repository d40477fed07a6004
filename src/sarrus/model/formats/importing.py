"""`Import`: the mechanism being built from a file, its report, and the refusal of elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from xml.etree.ElementTree import Element

from numpy.typing import ArrayLike

from sarrus.base.errors import ModelFileError, UnsupportedElementError
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.model_xml import parse_xml
from sarrus.model.mechanism import checks
from sarrus.model.mechanism.elements import Body, Shape
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.report import Entry, Outcome

# Note in the reports for collision shapes.
CONTACTS = (
    "contacts are added after loading: mechanism.add_geometry_contacts() between geometries; with a plane "
    "mechanism.add_contact(name, geom=…) or (name, site=…), box feet by mechanism.add_contact_patch(name, geom=…); "
    "mechanism.geoms and mechanism.frames have the names"
)


@dataclass(frozen=True)
class Joined:
    """A connection of two links that is not read: refused for ``reason`` unless a closure joins the same two links."""

    kind: str
    name: str
    links: tuple[str, str]
    reason: str
    remedy: str

    @classmethod
    def in_gazebo(cls, kind: str, name: str, links: tuple[str, str], words: str) -> Joined:
        """Return a connection of two links in Gazebo; ``words`` is its form in the file format."""
        one, two = links
        return cls(
            kind,
            name,
            links,
            f"it joins {one!r} and {two!r} in Gazebo, which is not read",
            f"write it as {words}",
        )


@dataclass
class Import:
    """One import in progress; ``strict`` is the argument of `sarrus.load`."""

    path: Path
    strict: bool | None = None

    def __post_init__(self) -> None:
        self.mechanism = Mechanism(self.path.stem)
        self.report = self.mechanism.report
        self.report.source = str(self.path)
        self.joined: list[Joined] = []

    @cached_property
    def frames(self) -> dict[str, tuple[str, Pose]]:
        """The frames that a loop can name: bodies, and the frames of the file without a body of the same name.

        Valid after all bodies have been added.
        """
        here = Pose()
        return self.mechanism.frames | {name: (name, here) for name in self.mechanism.bodies}

    def keep_time_step(self, step: float) -> None:
        """Record the time step [s] given in the file."""
        self.mechanism.time_step = step
        self.report.act("time step", f"{step:g} s", "the default of fixed steps")

    def refuse(self, kind: str, name: str, reason: str, remedy: str) -> None:
        """Raise `UnsupportedElementError`, or with ``strict=False`` list the element as left out.

        For elements that connect bodies or coordinates. ``remedy`` says how to change the model so that it can be read.
        """
        if self.strict is not False:
            raise UnsupportedElementError(
                f"{self.path.name}: {kind} {name!r} cannot be kept: {reason}. To go on: {remedy}; or load "
                "with strict=False, which leaves it out and lists it in mechanism.report",
                element=name,
            )
        self.report.leave_out(kind, name, reason)

    def odd(
        self,
        kind: str,
        name: str,
        reason: str,
        outcome: Outcome = Outcome.LEFT_OUT,
        *,
        element: str | None = None,
        valid: Iterable[str] = (),
    ) -> None:
        """List an error of the file that the reference parser accepts; ``strict=True`` raises `ModelFileError`."""
        if self.strict:
            raise ModelFileError(
                f"{self.path}: {kind} {name!r}: {reason}", element=element or name, valid=valid
            )
        self.report.entries.append(Entry(kind, name, outcome, reason))

    def parse(self, path: Path) -> Element:
        """Return the root element of an XML file; violations of XML that the reference parser accepts are listed."""
        oddities: list[tuple[int, str]] = []
        root = parse_xml(path, oddities)
        for line, what in oddities:
            self.odd("XML", f"{path.name}, line {line}", what, Outcome.ACTS, element=path.name)
        return root

    def add_body(
        self,
        name: str,
        mass: float,
        com: ArrayLike,
        inertia: ArrayLike,
        shapes: Sequence[Shape] = (),
        label: str = "body",
    ) -> Body:
        """Add a body with the inertia of the file; an impossible inertia is listed and used unchanged."""
        body = self.mechanism.add_body(name, mass, com, inertia, shapes=shapes, physical=False)
        if not body.physical:
            reason = checks.impossible(body.mass, body.inertia)
            self.odd("inertia", name, f"{reason}; taken as it is", Outcome.ACTS, element=f"{label} {name!r}")
        elif body.mass == 0.0 and body.inertia.any():  # a rotor whose mass is part of another body
            self.report.act("inertia", name, "inertia without mass; taken as it is")
        return body
