"""`GeometryBuilder`: adds geometries and the contacts between them, with Coulomb friction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.model.builders.contact_places import collides
from sarrus.model.mechanism import checks
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import IMPACT_LAWS, WORLD, Geom, GeometryContact, GeomPair, Shape
from sarrus.model.mechanism.faults import Label, check_name, fault
from sarrus.model.mechanism.pose import PoseLike, as_pose, check_range, numbers, vector
from sarrus.model.mechanism.surface_contacts import SurfaceContact, places, surface_contacts

# Kinds of geoms and the number of sizes of each; the last kinds are unbounded and cannot touch each other.
GEOM_SIZES = {
    "sphere": 1,
    "capsule": 2,
    "ellipsoid": 3,
    "cylinder": 2,
    "box": 3,
    "mesh": 0,
    "hfield": 4,
    "plane": 0,
}
OPEN = ("plane", "hfield")
# Directions of friction by condim, and the least friction coefficient in MuJoCo.
CONDIMS = (1, 3, 4, 6)


class GeometryBuilder(Description):
    """The methods of `Mechanism` that add geometries and contacts between them."""

    def add_geom(
        self,
        name: str,
        body: str,
        kind: str,
        size: ArrayLike = (),
        pose: PoseLike = None,
        *,
        friction: float | None = None,
        torsion: float = 0.005,
        rolling: float = 0.0001,
        condim: int = 3,
        contype: int = 1,
        conaffinity: int = 1,
        priority: int = 0,
        margin: float = 0.0,
        points: ArrayLike | None = None,
        heights: ArrayLike | None = None,
        rgba: Sequence[float] = (0.5, 0.6, 0.7, 1.0),
    ) -> Geom:
        """Add a geometry to a body, or to "world". It is drawn; contacts are added by `add_geometry_contacts`.

        Parameters
        ----------
        kind, size : sphere (radius); capsule and cylinder (radius, half length along z); box (half sizes); ellipsoid
            (half axes); plane (none: its normal is z); mesh (none: the convex hull of ``points`` (n, 3)); hfield (half
            sizes along x and y, height of 1, thickness below 0: ``heights`` (rows along y, columns along x) from 0 to
            1) [m].
        pose : of the geometry in axes of the body.
        friction : coefficient of sliding friction; ``torsion`` and ``rolling``: lengths of torsional and rolling
            friction [m].
        condim, contype, conaffinity, priority, margin : as in MuJoCo, see `sarrus.model.mechanism.elements.Geom`.

        Raises `ModelError` for an unknown body or kind, and for sizes that do not fit the kind.
        """
        label = self._fresh(name, "geom", self.geoms)
        self.check_body(body, label)
        check_name("kind", kind, GEOM_SIZES, label)
        sizes = vector(size, GEOM_SIZES[kind], "size", label)
        if not (sizes > 0.0).all():
            raise fault(label, f"every size must be positive, got {sizes.tolist()}")
        if condim not in CONDIMS:
            raise fault(label, f"condim must be 1, 3, 4 or 6, got {condim!r}")
        geom = Geom(
            name,
            body,
            kind,
            np.concatenate([sizes, np.zeros(max(0, 3 - len(sizes)))]),
            as_pose(pose, "pose", label),
            None if friction is None else checks.nonnegative(friction, "friction", label),
            checks.nonnegative(torsion, "torsion", label),
            checks.nonnegative(rolling, "rolling", label),
            int(condim),
            int(contype),
            int(conaffinity),
            int(priority),
            checks.nonnegative(margin, "margin", label),
            _points(points, label) if kind == "mesh" else None,
            _heights(heights, label) if kind == "hfield" else None,
        )
        self.geoms[name] = geom
        self._draw(geom, rgba)
        return geom

    def _draw(self, geom: Geom, rgba: Sequence[float]) -> None:
        """Add a shape to draw for a geometry; a height field is not drawn."""
        red, green, blue, alpha = map(float, rgba)
        shape = Shape(geom.kind, geom.size, geom.pose, (red, green, blue, alpha))
        if geom.kind == "hfield":
            return
        if geom.kind == "plane":
            shape = replace(shape, size=np.array([5.0, 5.0, 0.1]))
        if geom.points is not None:
            shape = replace(shape, size=np.ones(3), points=geom.points, faces=hull(geom.points))
        if geom.body == WORLD:
            self.world_shapes = (*self.world_shapes, shape)
        else:
            body = self.bodies_as_added[geom.body]
            self.replace_body(replace(body, shapes=(*body.shapes, shape)))

    def add_geometry_contacts(
        self,
        geoms: Iterable[str] | None = None,
        others: Iterable[str] | None = None,
        *,
        friction_coefficient: float | None = None,
        static_coefficient: float | None = None,
        restitution: float = 0.0,
        impact_law: str = "newton",
        closed_form: bool | None = None,
    ) -> tuple[GeometryContact, ...]:
        """Add contacts with Coulomb friction between geometries: all pairs with contact in the file, or named ones.

        The pairs follow MuJoCo: a bit of the ``contype`` of one geom is in the ``conaffinity`` of the other, and the
        two bodies are not fixed to each other, not excluded, and not parent and child (unless the parent is the world).
        Explicit pairs of the file are always included. Contacts added by an earlier call are replaced.

        Parameters
        ----------
        geoms : names of geoms, of bodies (all their geoms), or "world"; each pair contains one of them. By default all.
        others : likewise; the other geom of each pair is one of these. If both are given, contype, conaffinity,
            excluded bodies and parents are not considered.
        friction_coefficient : sliding friction of all pairs. By default the coefficient of the geom with the higher
            priority, at equal priority the larger one. Torsional and rolling friction follow the geoms and their
            condim.
        static_coefficient : static friction of all pairs, ≥ sliding friction; by default equal to it.
        restitution, impact_law : for all pairs, as in `add_contact`; runs know Poisson's law for contacts in closed
            form, `sarrus.impact` for all.
        closed_form : True: the gap of each contact is an expression in q at fixed places; such contacts act wherever
            contacts of `add_contact` act, event-driven runs included. Possible for spheres, capsules, boxes and convex
            hulls of meshes with each other and with planes; for spheres with cylinders; for cylinders and ellipsoids
            with planes. False: a narrow phase finds the contacts in each time step (method "moreau-jean"), for all
            kinds and any number; runs by events take the closed form. Default: True if all pairs have a closed form
            with at most 64 places in total, other than cylinders with planes, boxes and meshes with each other, and
            pairs of a capsule with a box or mesh, or a sphere with a mesh.

        Returns the contacts, NAME-NAME. In closed form, contacts with several places are NAME-NAME.1, NAME-NAME.2, ….

        Raises `ModelError` for an unknown name, an unknown friction coefficient, a mesh without points, and for pairs
        without closed form if ``closed_form`` is True.
        """
        label = Label("geometry contacts", self.name)
        given = {} if friction_coefficient is None else {"friction": friction_coefficient}
        for what, number in given.items():
            checks.nonnegative(number, f"{what}_coefficient", label)
        checks.fraction(restitution, "restitution", label)
        check_name("impact_law", impact_law, IMPACT_LAWS, label)
        chosen = self._named(geoms, label)
        if others is None:
            pairs: Iterable[tuple[str, str]] = self.contact_geoms()
        else:
            second = self._named(others, label)
            pairs = (pair for pair in combinations(self.geoms, 2) if _joins(pair, chosen, second))
            pairs = (pair for pair in pairs if self._moves(*pair))
        added = {}
        for one, other in pairs:
            if one not in chosen and other not in chosen:
                continue
            contact = self._contact(one, other, friction_coefficient, restitution, label)
            sliding = contact.friction_coefficient
            static = checks.static_coefficient(static_coefficient, sliding, label)
            added[contact.name] = replace(
                contact, static_coefficient=static, closed_form=closed_form, impact_law=impact_law
            )
            if closed_form and not places(added[contact.name], self.geoms):
                kinds = " and ".join(f"{name!r} ({self.geoms[name].kind})" for name in (one, other))
                raise fault(
                    label,
                    f"{kinds} have no gap in closed form: leave closed_form out, or name other pairs",
                    contact.name,
                )
        if not added:
            raise fault(
                label, "none of the geoms can touch another: mechanism.geoms lists the collision shapes"
            )
        self.geometry_contacts.update(added)
        return tuple(added.values())

    @property
    def surface_contacts(self) -> tuple[SurfaceContact, ...]:
        """The contact places of all pairs in closed form."""
        return surface_contacts(self.geometry_contacts, self.geoms)

    @property
    def geometry_pairs(self) -> tuple[GeometryContact, ...]:
        """The pairs whose contacts are found by a narrow phase in each time step."""
        known = {place.pair.name for place in self.surface_contacts}
        return tuple(pair for pair in self.geometry_contacts.values() if pair.name not in known)

    def contact_geoms(self) -> Iterator[tuple[str, str]]:
        """Iterate over the pairs of geoms with contact in the file, by the rules of MuJoCo."""
        paired = {frozenset((pair.geom1, pair.geom2)) for pair in self.geom_pairs.values()}
        excluded = {frozenset(pair) for pair in self.excluded_bodies.values()}
        welds = {name: self._weld(name) for name in (WORLD, *self.bodies_as_added)}
        above = {
            weld: WORLD if weld == WORLD else welds[self.bodies_as_added[weld].parent]
            for weld in welds.values()
        }
        for one, other in combinations(self.geoms.values(), 2):
            if frozenset((one.name, other.name)) in paired:
                yield one.name, other.name
                continue
            first, second = welds[one.body], welds[other.body]
            fixed = first == second or self._both_still(first, second)
            related = first != WORLD != second and (above[first] == second or above[second] == first)
            bits = (one.contype & other.conaffinity) | (other.contype & one.conaffinity)
            bounded = one.kind not in OPEN or other.kind not in OPEN
            free = self.parents_touch or not related
            if bits and bounded and free and not fixed and frozenset((one.body, other.body)) not in excluded:
                yield one.name, other.name

    def _weld(self, body: str) -> str:
        """Return the closest ancestor of a body (itself included) with a joint or driven, or the world."""
        while body != WORLD and body not in self.driven_bodies and not self.bodies_as_added[body].joints:
            body = self.bodies_as_added[body].parent
        return body

    def _both_still(self, one: str, other: str) -> bool:
        """Tell whether two bodies are both fixed to the world or driven, without a joint above."""
        return all(weld == WORLD or weld in self.driven_bodies for weld in (one, other))

    def _moves(self, one: str, other: str) -> bool:
        """Tell whether two geoms can move relative to each other and are of kinds that can touch."""
        first, second = self.geoms[one], self.geoms[other]
        if first.kind in OPEN and second.kind in OPEN:
            return False
        welds = self._weld(first.body), self._weld(second.body)
        return welds[0] != welds[1] and not self._both_still(*welds)

    def _named(self, names: Iterable[str] | None, label: Label) -> set[str]:
        """Return the geoms selected by names of geoms and bodies."""
        if names is None:
            return set(self.geoms)
        found: set[str] = set()
        for name in [names] if isinstance(names, str) else names:
            own = {geom.name for geom in self.geoms.values() if geom.body == name}
            if name not in self.geoms and not own:
                collides(self, name, label)
                valid = [*self.geoms, *dict.fromkeys(geom.body for geom in self.geoms.values())]
                check_name("geom or body with geoms", name, valid, label, name)
            found |= {name} if name in self.geoms else own
        return found

    def _contact(
        self, one: str, other: str, coefficient: float | None, restitution: float, label: Label
    ) -> GeometryContact:
        """Return the contact of two geoms, with the friction of both."""
        for name in (one, other):
            geom = self.geoms[name]
            if geom.kind not in GEOM_SIZES or (geom.kind == "mesh" and geom.points is None):
                raise fault(
                    label,
                    f"geom {name!r} ({geom.kind}) has no points in the file: name geoms that have",
                    name,
                )
        pair = pair_in_file(self, self.geoms[one], self.geoms[other])
        mu, torsion, rolling = friction_of(pair, coefficient, label)
        return GeometryContact(f"{one}-{other}", one, other, mu, torsion, rolling, restitution, pair.margin)


def hull(points: Array) -> Array:
    """Return the triangles of the convex hull of points (n, 3): indices (m, 3)."""
    from scipy.spatial import ConvexHull  # here: it takes long to import

    return np.asarray(ConvexHull(points).simplices, dtype=float)


def pair_in_file(description: Description, one: Geom, other: Geom) -> GeomPair:
    """Return the contact parameters of two geoms: those of their pair in the file, else combined from both."""
    own = {frozenset((pair.geom1, pair.geom2)): pair for pair in description.geom_pairs.values()}
    return own.get(frozenset((one.name, other.name))) or _combined(one, other)


def friction_of(pair: GeomPair, coefficient: float | None, label: Label) -> tuple[float, float, float]:
    """Return μ, by default that of the file, and the lengths of torsional and rolling friction in its cone [m].

    MuJoCo bounds moments by its numbers times λ_n, so the lengths are these numbers divided by μ.
    """
    mu = pair.friction if coefficient is None else coefficient
    if np.isnan(mu):
        names = f"{pair.geom1!r} and {pair.geom2!r}"
        raise fault(label, f"the file has no friction of {names}: give friction_coefficient", pair.geom1)
    if pair.condim == 1 or mu == 0.0:
        return 0.0, 0.0, 0.0
    torsion, rolling = pair.torsion if pair.condim > 3 else 0.0, pair.rolling if pair.condim > 4 else 0.0
    return float(mu), torsion / mu, rolling / mu


def _combined(one: Geom, other: Geom) -> GeomPair:
    """Return the contact parameters of two geoms: of the higher priority, else the larger ones; margins add up."""
    rule = (
        [one, other] if one.priority == other.priority else [max(one, other, key=lambda geom: geom.priority)]
    )
    known = [geom.friction for geom in rule if geom.friction is not None]
    return GeomPair(
        "",
        one.name,
        other.name,
        max(geom.condim for geom in rule),
        max(known) if known else np.nan,
        max(geom.torsion for geom in rule),
        max(geom.rolling for geom in rule),
        one.margin + other.margin,
    )


def _joins(pair: tuple[str, str], first: set[str], second: set[str]) -> bool:
    one, other = pair
    return (one in first and other in second) or (other in first and one in second)


def _points(points: ArrayLike | None, label: Label) -> Array:
    """Return at least four points (n, 3)."""
    found = numbers(()) if points is None else numbers(points)
    if found.ndim != 2 or found.shape[1] != 3 or len(found) < 4:
        raise fault(label, f"a mesh needs points (n, 3), four at least, got shape {found.shape}")
    check_range(found, points, "points", label)
    return found


def _heights(heights: ArrayLike | None, label: Label) -> Array:
    """Return heights from 0 to 1, two rows and columns at least."""
    found = numbers(()) if heights is None else numbers(heights)
    if found.ndim != 2 or min(found.shape) < 2:
        raise fault(label, f"an hfield needs heights (rows, columns), two at least, got shape {found.shape}")
    check_range(found, heights, "heights", label)
    if found.min() < 0.0 or found.max() > 1.0:
        raise fault(label, "heights must be between 0 and 1; size has the height of 1")
    return found
