"""`FloorContactBuilder`: contacts of the spheres, capsules and boxes of a file with a floor, with Coulomb friction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.contact_builder import ContactBuilder
from sarrus.model.builders.geometry_contacts import friction_of, pair_in_file
from sarrus.model.mechanism.elements import WORLD, Contact, Geom
from sarrus.model.mechanism.faults import Label, check_name, fault
from sarrus.model.mechanism.surface_contacts import balls

# Kinds of geoms that touch a plane at fixed points, or with balls about fixed points.
CONTACT_SHAPES = ("sphere", "capsule", "box")


class FloorContactBuilder(ContactBuilder):
    """The method of `Mechanism` that adds contacts with a floor."""

    def add_floor_contacts(
        self,
        floor: str | None = None,
        *,
        geoms: Iterable[str] | None = None,
        friction_coefficient: float | None = None,
        restitution: float = 0.0,
        impact_law: str = "newton",
    ) -> tuple[Contact, ...]:
        """Add contacts with Coulomb friction between the spheres, capsules and boxes of the file and a floor plane.

        Parameters
        ----------
        floor : a plane by its name in the file (``mechanism.geoms``). By default the only plane of the file, or z = 0
            of the world if the file has no plane.
        geoms : names of geoms; by default all spheres, capsules and boxes of the file that are not fixed to the body
            of the floor.
        friction_coefficient : for all contacts; by default that of the geom and the floor by MuJoCo's rules, as in
            `add_geometry_contacts`. Torsional and rolling friction follow the file (``condim`` 4 and 6).
        restitution, impact_law : for all contacts, as in `add_contact`.

        Returns the contacts: NAME of a sphere, NAME.1 and NAME.2 at the ends of a capsule, NAME.1 … NAME.8 at the
        corners of a box. Meshes, cylinders and ellipsoids have no fixed contact point and are skipped; add them with
        `add_geometry_contacts`.

        Raises `ModelError` for an unknown name, for a geom of another kind in ``geoms``, if there are several planes
        and ``floor`` is not given, and if no friction coefficient is known.
        """
        label = Label("floor", floor or WORLD)
        ground, normal, offset, plane = self._floor(floor, label)
        chosen = self._touching(ground, label) if geoms is None else list(geoms)
        added = []
        for name in chosen:
            check_name("geom", name, self.geoms, label, name)
            geom = self.geoms[name]
            pair = pair_in_file(self, geom, plane or _unknown_floor(geom))
            if friction_coefficient is not None:
                pair = replace(pair, condim=max(pair.condim, 3))
            mu, torsion, rolling = friction_of(pair, friction_coefficient, label)
            if geom.kind not in CONTACT_SHAPES:
                raise fault(
                    label,
                    f"geom {name!r} ({geom.kind}) has no fixed contact point; floor contacts are for "
                    f"{', '.join(CONTACT_SHAPES)}",
                    name,
                )
            for number, (point, radius) in enumerate(balls(geom), start=1):
                contact = self.add_contact(
                    name if geom.kind == "sphere" else f"{name}.{number}",
                    geom.body,
                    point,
                    ground=ground,
                    normal=normal,
                    offset=offset,
                    friction="coulomb",
                    friction_coefficient=mu,
                    restitution=restitution,
                    impact_law=impact_law,
                    radius=radius,
                    torsion=torsion,
                    rolling=rolling,
                )
                added.append(contact)
        return tuple(added)

    def _floor(self, floor: str | None, label: Label) -> tuple[str, Array, float, Geom | None]:
        """Return the body of the floor, the normal and offset of the plane on it, and the plane if it is a geom."""
        planes = [name for name, geom in self.geoms.items() if geom.kind == "plane"]
        if floor is None and len(planes) > 1:
            raise fault(label, f"there are several planes, choose one of {', '.join(map(repr, planes))}")
        if floor is None and not planes:
            return WORLD, np.array([0.0, 0.0, 1.0]), 0.0, None
        name = floor or planes[0]
        check_name("plane", name, planes, label, name)
        geom = self.geoms[name]
        normal = geom.pose.rotation[:, 2]
        return geom.body, normal, float(normal @ geom.pose.position), geom

    def _touching(self, ground: str, label: Label) -> list[str]:
        """Return the geoms that can touch the floor."""
        names = [
            name
            for name, g in self.geoms.items()
            if g.kind in CONTACT_SHAPES and g.body not in (ground, WORLD)
        ]
        if not names:
            raise fault(label, "the file has no sphere, capsule or box that collides and could touch it")
        return names


def _unknown_floor(geom: Geom) -> Geom:
    """Return a floor of which nothing is known: the friction is that of the geom."""
    return Geom(WORLD, WORLD, "plane", np.zeros(3), torsion=0.0, rolling=0.0, priority=geom.priority)
