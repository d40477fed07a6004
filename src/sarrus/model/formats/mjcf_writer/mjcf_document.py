"""`Document`: an MJCF document under construction: sections, bodies, joints and sites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

from sarrus.base.arrays import Array
from sarrus.base.names import unique
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.mjcf_writer.attributes import numbers
from sarrus.model.formats.mjcf_writer.joints import ExportedJoint
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.tendons import Wrap

NO_CONTACT = {
    "mass": "0",
    "contype": "0",
    "conaffinity": "0",
}  # attributes of a geom that is drawn only


def place(element: Element, pose: Pose) -> None:
    """Write a pose as ``pos`` and ``quat``."""
    element.set("pos", numbers(pose.position))
    element.set("quat", numbers(pose.quaternion))


def add_terms(tendon: Element, terms: Iterable[tuple[str, float]]) -> None:
    """Write the coordinates of a fixed tendon with their weights."""
    for coordinate, weight in terms:
        SubElement(tendon, "joint", {"joint": coordinate, "coef": repr(weight)})


@dataclass
class Document:
    """``bodies`` and ``poses`` map body names to their elements and to their world poses in ``qpos0``.

    ``coordinates`` maps scalar coordinates to their value in ``qpos0``; ``velocities`` maps each velocity
    to (MuJoCo joint, index in it, number of velocities of that joint).
    """

    mechanism: Mechanism
    root: Element
    bodies: dict[str, Element]
    poses: dict[str, Pose]
    coordinates: dict[str, float] = field(default_factory=dict)
    velocities: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    _sites: set[str] = field(default_factory=set)
    _geoms: set[str] = field(default_factory=set)
    _tendons: set[str] = field(default_factory=set)
    _meshes: dict[tuple[str, tuple[float, ...]], str] = field(default_factory=dict)

    def section(self, tag: str) -> Element:
        """Return a section of the document, created on first use."""
        found = self.root.find(tag)
        return SubElement(self.root, tag) if found is None else found

    def add_joint(self, joint: ExportedJoint) -> None:
        """Record the coordinates and velocities of a written joint."""
        for index, velocity in enumerate(joint.velocities):
            self.velocities[velocity] = (joint.name, index, len(joint.velocities))
        if len(joint.velocities) == 1:
            self.coordinates[joint.name] = joint.reference

    def site(self, name: str, body: str, pose: Pose) -> str:
        """Add a site on a body and return its name."""
        name = unique(name, self._sites)
        self._sites.add(name)
        place(SubElement(self.bodies[body], "site", {"name": name}), pose)
        return name

    def tendon(self, tag: str, name: str) -> Element:
        """Add a ``fixed`` or ``spatial`` tendon; a number makes its name unique."""
        mechanism = self.mechanism
        name = unique(
            name, (*self._tendons, *mechanism.springs, *mechanism.coordinate_springs, *mechanism.tendons)
        )
        self._tendons.add(name)
        return SubElement(self.section("tendon"), tag, {"name": name})

    def combination(self, name: str, terms: Iterable[tuple[str, float]]) -> str:
        """Add a fixed tendon, the weighted sum of scalar coordinates, and return its name."""
        tendon = self.tendon("fixed", name)
        add_terms(tendon, terms)
        return tendon.get("name", "")

    def wrap(self, name: str, wrap: Wrap) -> str:
        """Add the geom around which a tendon wraps, neither drawn nor colliding, and return its name."""
        name = unique(name, self._geoms)
        self._geoms.add(name)
        size = [wrap.radius] if wrap.kind == "sphere" else [wrap.radius, wrap.radius]
        geom = {"name": name, "type": wrap.kind, "size": numbers(size), **NO_CONTACT, "group": "3"}
        place(SubElement(self.bodies[wrap.body], "geom", geom), wrap.pose)
        return name

    def inline_mesh(self, points: Array, faces: Array) -> str:
        """Return the name of a new mesh asset with given vertices (n, 3) and faces (m, 3)."""
        name = unique("mesh", self._meshes.values())
        self._meshes[name, ()] = name
        corners = " ".join(str(int(k)) for k in faces.ravel())
        SubElement(
            self.section("asset"), "mesh", {"name": name, "vertex": numbers(points.ravel()), "face": corners}
        )
        return name

    def mesh(self, file: Path, scale: Array) -> str:
        """Return the name of the mesh asset for a file at a scale, created on first use."""
        key = (str(file.resolve()), tuple(float(s) for s in scale))
        if key not in self._meshes:
            name = unique(file.stem, self._meshes.values())
            self._meshes[key] = name
            factors = [s if s != 0.0 else 1.0 for s in key[1]]
            attributes = {"name": name, "file": key[0], "scale": numbers(factors)}
            SubElement(self.section("asset"), "mesh", attributes)
        return self._meshes[key]
