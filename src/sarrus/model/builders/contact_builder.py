"""Adding unilateral contacts to a mechanism: points, lines and flat feet on planes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.model.builders.contact_places import Place, Plane, at_site, lower_face, only_one, point_of
from sarrus.model.mechanism import checks
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import CONTACT_ROWS, IMPACT_LAWS, WORLD, Contact, ContactPatch
from sarrus.model.mechanism.faults import Label, check_name, fault
from sarrus.model.mechanism.pose import (
    Pose,
    PoseLike,
    as_pose,
    clean,
    perpendicular_to,
    scalar,
    unit_vector,
    vector,
)
from sarrus.model.mechanism.tolerances import PERPENDICULAR

# Signs of the half sizes at the ends of a line and at the corners of a foot, in order around it.
_ENDS = ((1.0,), (-1.0,))
_CORNERS = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))


class ContactBuilder(Description):
    """The methods of a mechanism that add contacts."""

    def add_contact(
        self,
        name: str,
        body: str | None = None,
        point: ArrayLike | None = None,
        *,
        site: str | None = None,
        geom: str | None = None,
        ground: str = WORLD,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        offset: float = 0.0,
        tangent: ArrayLike | None = None,
        friction: str = "stick",
        friction_coefficient: float | None = None,
        restitution: float = 0.0,
        active: bool = False,
        radius: float | None = None,
        torsion: float = 0.0,
        static_coefficient: float | None = None,
        impact_law: str = "newton",
    ) -> Contact:
        """Let a point of a body touch a plane of another body; the plane only pushes.

        Parameters
        ----------
        body, point : the body and the point in its axes [m], by default its origin; instead of them one of

            - site : a frame by its name in the file (``mechanism.frames``), or a body: its origin is the point;
            - geom : a sphere by its name in the file (``mechanism.geoms``): the point is its centre, with the plane
              raised by its radius, so that the gap is right in all poses. Friction then acts at the centre, not at
              the surface: where it sticks the sphere does not roll. With "coulomb" it acts at the surface.
        ground : the body that carries the plane normal · r = ``offset`` [m], both in its axes; ``normal`` points to
            the side on which the point may be.
        tangent : direction of the first tangential row, perpendicular to ``normal``; by default the projection of
            the ground's x axis (of y where that is the normal). The second is normal × tangent.
        friction : "coulomb" holds the point with forces ‖λ_t‖ ≤ μ λ_n and lets it slide against them otherwise,
            exactly, in runs by phases between events or, with a fixed ``dt`` and in many runs, by time stepping
            (method "moreau-jean"); the contact is none of the constraints. "stick" holds the point where it touched
            down, with any force; "frictionless" lets it slide.
        friction_coefficient : μ ≥ 0 of "coulomb", which needs one; else recorded for laws with friction cones, and it
            limits nothing. By default that of the geom, if there is one.
        radius : of a ball about the point, which touches with its surface [m] and can roll; for "coulomb" only.
        torsion : length by which torsional friction counts [m], the couple about the normal over the force that would
            have the same limit: ‖(λ_t, couple / torsion)‖ ≤ μ λ_n; for "coulomb" only, 0: there is none.
        static_coefficient : ≥ μ, up to which it sticks; once it slides, μ counts. For "coulomb" only, by default μ.
        restitution : e from 0 to 1 of the impact law.
        impact_law : "newton": e is the part of the normal velocity with which the contact leaves an impact; "poisson":
            the part of the normal impulse of compression that expansion has, for "coulomb" and runs by events.
            With friction, and with different e at several contacts, they differ, and Newton's may create energy;
            Poisson's may where there are both (`sarrus.dynamics.impacts.restitution`).
        active : whether the contact is closed at the start. Its tangential rows then hold the point where it is in
            the reference pose; `sarrus.dynamics.impacts.activity.switch_on` anchors it elsewhere.

        Rows: "n", the gap [m] with the normal force [N] as multiplier, ≥ 0 where the ground pushes; with friction
        also "t1" and "t2", and "torsion". While the contact is open its rows are zero.
        `sarrus.dynamics.impacts.activity` switches it and measures the gap, `sarrus.dynamics.impacts.impacts.impact`
        gives the velocities after a touchdown. Redundant contacts are ordinary.

        Raises `ModelError` for a geom that does not touch with one point, and says what to do instead.
        """
        label = self._fresh_constraint(name, "contact")
        only_one(body, point, site, geom, label)
        if geom is not None:
            place = point_of(self, geom, label)
        else:
            own = Pose(vector((0.0, 0.0, 0.0) if point is None else point, 3, "point", label))
            place = self._place(body, own, site, label)
        plane = self._plane(ground, normal, offset, tangent, label)
        surface = _surface(
            place, ground, friction, friction_coefficient, restitution, impact_law, active, label
        )
        if friction == "coulomb":
            surface |= _ball(place.radius if radius is None else radius, torsion, label)
            surface["static_coefficient"] = checks.static_coefficient(
                static_coefficient, surface["friction_coefficient"], label
            )
        elif radius or torsion or static_coefficient is not None:
            raise fault(label, "radius, torsion and static_coefficient are for friction='coulomb'")
        else:
            plane = plane.raised(place.radius)
            surface["raised"] = place.radius
        contact = Contact(name, place.body, place.pose.position, **vars(plane), **surface)
        self.contacts[name] = contact
        return contact

    def add_contact_patch(
        self,
        name: str,
        body: str | None = None,
        pose: PoseLike = None,
        *,
        extent: float | tuple[float, float] | None = None,
        site: str | None = None,
        geom: str | None = None,
        ground: str = WORLD,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        offset: float = 0.0,
        tangent: ArrayLike | None = None,
        friction: str = "stick",
        friction_coefficient: float | None = None,
        restitution: float = 0.0,
        active: bool = False,
        impact_law: str = "newton",
    ) -> ContactPatch:
        """Let a line or a flat foot of a body touch a plane of another body, by contacts at its ends or corners.

        Parameters
        ----------
        body, pose : the body, and the patch on it: a `Pose` whose x axis is along, y across, and z the direction that
            the normal of the plane has where the patch lies flat; or its centre alone [m], with the axes of the body.
            Instead of them one of

            - site : a frame by its name in the file, with its axes;
            - geom : a box by its name in the file, without ``extent``: the patch is the face whose outward normal
              points most against that of the plane in the reference pose, along its edge nearest to the tangent.
        extent : half length along [m], of a line with the contacts NAME.1 (+) and NAME.2 (−); or half length along and
            half width across [m], of a foot with NAME.1 … NAME.4 at the corners + +, − +, − −, + −.
        ground, normal, offset, tangent, friction, friction_coefficient, restitution, active, impact_law : of every
            contact, as in `add_contact`.

        The ends and corners are ordinary contacts: those that push decide whether the patch lies, rocks on an edge or
        stands on a corner, and that they push and stay in their friction cones is what limits the centre of pressure
        and the torsion. The load is shared by the minimum-norm multipliers, because a rigid body does not determine
        it: a line with friction has 6 rows of rank 5, a foot 12 of rank 6. `sarrus.contact_wrench` turns them into
        the wrench of the patch and its centre of pressure.
        """
        label = self._fresh_constraint(name, "contact patch")
        only_one(body, pose, site, geom, label)
        if (extent is None) == (geom is None):
            wrong = "a box has its own" if geom is not None else "give a half length, or two half sizes"
            raise fault(label, f"extent: {wrong}")
        plane = self._plane(ground, normal, offset, tangent, label)
        if geom is not None:
            place, half = lower_face(self, geom, plane, label)
        else:
            half = _half_sizes(extent, label)
            place = self._place(body, as_pose(pose, "pose", label), site, label)
        surface = _surface(
            place, ground, friction, friction_coefficient, restitution, impact_law, active, label
        )
        signs = _ENDS if len(half) == 1 else _CORNERS
        names = tuple(f"{name}.{k}" for k in range(1, len(signs) + 1))
        for own in names:
            self._fresh_constraint(own, "contact")
        for own, sign in zip(names, signs):
            at = np.zeros(3)
            at[: len(half)] = np.multiply(half, sign)
            self.contacts[own] = Contact(own, place.body, place.pose.apply(at), **vars(plane), **surface)
        patch = ContactPatch(name, place.body, ground, place.pose, half, names)
        self.patches[name] = patch
        return patch

    def _place(self, body: Any, pose: Pose, site: str | None, label: Label) -> Place:
        """Return the place that a site, or a body and a pose on it, say."""
        if site is not None:
            return at_site(self, site, label)
        self.check_body(body, label)
        return Place(body, pose)

    def _plane(
        self,
        ground: str,
        normal: ArrayLike,
        offset: float,
        tangent: ArrayLike | None,
        label: Label,
    ) -> Plane:
        self.check_body(ground, label)
        n = unit_vector(normal, "normal", label)
        along = perpendicular_to(n) if tangent is None else unit_vector(tangent, "tangent", label)
        if abs(float(n @ along)) > PERPENDICULAR:
            raise fault(label, "tangent must be perpendicular to normal")
        return Plane(ground, scalar(offset, "offset", label) * n, n, along, clean(np.cross(n, along)))


def _surface(
    place: Place,
    ground: str,
    friction: str,
    friction_coefficient: float | None,
    restitution: float,
    impact_law: str,
    active: bool,
    label: Label,
) -> dict[str, Any]:
    """Return the checked attributes of a contact that say how the two bodies touch."""
    if place.body == ground:
        raise fault(label, f"needs two different bodies, got {ground!r} twice")
    check_name("friction", friction, CONTACT_ROWS, label)
    if friction_coefficient is None and friction != "frictionless":
        friction_coefficient = place.friction
    if friction_coefficient is not None:
        friction_coefficient = checks.nonnegative(friction_coefficient, "friction_coefficient", label)
        if friction == "frictionless" and friction_coefficient > 0.0:
            raise fault(label, "a frictionless contact has no friction_coefficient; give friction='coulomb'")
    elif friction == "coulomb":
        raise fault(label, "friction='coulomb' needs a friction_coefficient")
    check_name("impact_law", impact_law, IMPACT_LAWS, label)
    if impact_law != "newton" and friction != "coulomb":
        raise fault(
            label,
            f"impact_law={impact_law!r} is for friction='coulomb', with a coefficient of zero where it slides freely",
        )
    return {
        "friction": friction,
        "friction_coefficient": friction_coefficient,
        "restitution": checks.fraction(restitution, "restitution", label),
        "active": bool(checks.activity(active, label)),
        "impact_law": impact_law,
    }


def _ball(radius: float, torsion: float, label: Label) -> dict[str, float]:
    """Return the checked lengths of a contact with Coulomb friction."""
    return {
        "radius": checks.nonnegative(radius, "radius", label),
        "torsion": checks.nonnegative(torsion, "torsion", label),
    }


def _half_sizes(extent: Any, label: Label) -> tuple[float, ...]:
    """Return one half length or two half sizes, > 0."""
    values = (extent,) if np.isscalar(extent) else tuple(extent) if np.iterable(extent) else ()
    half = tuple(scalar(value, "extent", label) for value in values)
    if len(half) not in (1, 2) or min(half) <= 0.0:
        raise fault(
            label,
            f"extent must be a positive half length [m], or a half length and a half width, got {extent!r}",
        )
    return half
