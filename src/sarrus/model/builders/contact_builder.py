"""`ContactBuilder`: adds unilateral contacts of points, lines and flat feet with planes to a mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.model.builders.contact_places import Place, Plane, at_site, lower_face, only_one, point_of
from sarrus.model.mechanism import checks
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import CONTACT_ROWS, IMPACT_LAWS, WORLD, Contact, ContactPatch
from sarrus.model.mechanism.faults import Label, check_name, fault
from sarrus.model.mechanism.pose import Pose, PoseLike, as_pose, plane_axes, scalar, vector

# Signs of the half sizes at the ends of a line and at the corners of a foot, in order around it.
_ENDS = ((1.0,), (-1.0,))
_CORNERS = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))


class ContactBuilder(Description):
    """The methods of `Mechanism` that add contacts with planes."""

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
        rolling: float = 0.0,
        static_coefficient: float | None = None,
        impact_law: str = "newton",
    ) -> Contact:
        """Add a unilateral contact between a point of a body and a plane of another body.

        Parameters
        ----------
        body, point : the body and the point in its axes [m], by default its origin. Instead of them one of

            - site : a frame by its name in the file (``mechanism.frames``), or a body: the point is its origin;
            - geom : a sphere by its name in the file (``mechanism.geoms``): the point is its centre, and the plane is
              raised by its radius, so that the gap is right in all poses. With "coulomb" friction acts at the surface.
              With "stick" it acts at the centre, and the sphere does not roll.
        ground : the body that carries the plane normal · r = ``offset`` [m], both in its axes; ``normal`` points from
            the ground towards the free side.
        tangent : direction of the first tangential row, perpendicular to ``normal``; by default the projection of
            the ground's x axis (of y if x is the normal). The second is normal × tangent.
        friction : "coulomb": stick with ‖λ_t‖ ≤ μ λ_n, slip with ‖λ_t‖ = μ λ_n against the slip velocity. The contact
            is no constraint (no row of A); it acts in event-driven runs and, with a fixed ``dt`` and in many runs, in
            time stepping (method "moreau-jean"). "stick": no slip, without a limit of the friction force.
            "frictionless": λ_t = 0.
        friction_coefficient : μ ≥ 0. Required for "coulomb". For "stick" it is recorded for control laws with friction
            cones and limits nothing. Default: the coefficient of the geom, if there is one.
        radius : radius [m] of a ball about the point, which touches with its surface and can roll; "coulomb" only.
        torsion, rolling : lengths [m] of friction against rotation relative to the ground, about the normal and about
            both tangents; "coulomb" only. 0: no such friction. One cone limits force and moments,
            ‖(F_t, M_n / torsion, M_t / rolling)‖ ≤ μ λ_n, and what slides has them opposite to
            (v_t, torsion ω_n, rolling ω_t): as ``condim`` 4 and 6 of MuJoCo with elliptic cones. A wheel or ball that
            only rolls resists with the moment μ λ_n rolling at most, less where a tangential force acts. With μ = 0
            the cone has no room for moments either; this is an error.
        static_coefficient : coefficient of static friction, ≥ μ; "coulomb" only, by default μ.
        restitution : coefficient e of the impact law, from 0 to 1.
        impact_law : "newton": the normal velocity after an impact is −e times the one before. "poisson": the normal
            impulse of expansion is e times the impulse of compression; for "coulomb" alone. The laws differ with
            friction, and with different e at several contacts; there Newton's law can create energy. Poisson's law can
            if both hold (`sarrus.dynamics.impacts.restitution`).
        active : whether the contact is closed at the start. The tangential rows then hold the point at its place in
            the reference pose; `sarrus.dynamics.impacts.activity.switch_on` anchors it elsewhere.

        Rows: "n", the gap [m], with the normal force λ_n ≥ 0 [N] as multiplier; with friction also "t1", "t2", with
        torsional friction "torsion", and with rolling friction "roll1" and "roll2": velocities length · ω [m/s] and
        forces moment / length [N]. While the contact is open its rows are zero.
        `sarrus.dynamics.impacts.activity` switches contacts and measures gaps,
        `sarrus.dynamics.impacts.impacts.impact` gives the velocities after a touchdown. Redundant contacts are legal.

        Raises `ModelError` for a geom that can touch at more than one point; the error says what to do instead.
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
            radius = place.radius if radius is None else radius
            for what, number in (("radius", radius), ("torsion", torsion), ("rolling", rolling)):
                surface[what] = checks.nonnegative(number, what, label)
            surface["static_coefficient"] = checks.static_coefficient(
                static_coefficient, surface["friction_coefficient"], label
            )
            if (torsion or rolling) and not (static_coefficient or surface["friction_coefficient"]):
                raise fault(
                    label,
                    "torsion and rolling bound moments by friction_coefficient times a length, which is 0 here; "
                    "give a friction_coefficient > 0, or leave both out",
                )
        elif radius or torsion or rolling or static_coefficient is not None:
            raise fault(label, "radius, torsion, rolling and static_coefficient are for friction='coulomb'")
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
        """Add a line or a flat foot: unilateral contacts at its ends or corners with a plane of another body.

        Parameters
        ----------
        body, pose : the body, and the patch on it: a `Pose` with the x axis along the patch, y across it, and z along
            the normal of the plane when the patch lies flat; or its centre alone [m], with the axes of the body.
            Instead of them one of

            - site : a frame by its name in the file, with its axes;
            - geom : a box by its name in the file, without ``extent``: the patch is the face whose outward normal
              points most against that of the plane in the reference pose, along its edge nearest to the tangent.
        extent : half length along [m], of a line with the contacts NAME.1 (+) and NAME.2 (−); or half length along and
            half width across [m], of a foot with NAME.1 … NAME.4 at the corners + +, − +, − −, + −.
        ground, normal, offset, tangent, friction, friction_coefficient, restitution, active, impact_law : of every
            contact, as in `add_contact`.

        The ends and corners are ordinary contacts. Their active set decides whether the patch lies flat, rocks on an
        edge or stands on a corner, and their friction cones limit the centre of pressure and the torsion. Rigid-body
        statics does not determine the load at each contact (a line with friction has 6 rows of rank 5, a foot 12 of
        rank 6); the multipliers are the minimum-norm ones. `sarrus.contact_wrench` sums them to the wrench of the patch
        and its centre of pressure, which are unique.
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
        """Return the place given by a site, or by a body and a pose on it."""
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
        n, along, across = plane_axes(normal, tangent, label)
        return Plane(ground, scalar(offset, "offset", label) * n, n, along, across)


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
    """Return the checked attributes of a contact: friction, restitution, impact law and activity."""
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
            f"impact_law={impact_law!r} is for friction='coulomb'; give friction_coefficient=0 for free sliding",
        )
    return {
        "friction": friction,
        "friction_coefficient": friction_coefficient,
        "restitution": checks.fraction(restitution, "restitution", label),
        "active": bool(checks.activity(active, label)),
        "impact_law": impact_law,
    }


def _half_sizes(extent: Any, label: Label) -> tuple[float, ...]:
    """Return one half length, or a half length and a half width [m], > 0."""
    values = (extent,) if np.isscalar(extent) else tuple(extent) if np.iterable(extent) else ()
    half = tuple(scalar(value, "extent", label) for value in values)
    if len(half) not in (1, 2) or min(half) <= 0.0:
        raise fault(
            label,
            f"extent must be a positive half length [m], or a half length and a half width, got {extent!r}",
        )
    return half
