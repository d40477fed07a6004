"""Adding unilateral contacts to a mechanism."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sarrus.errors import ModelError, unknown_name
from sarrus.mechanism import checks
from sarrus.mechanism.description import Description
from sarrus.mechanism.elements import CONTACT_ROWS, WORLD, Contact
from sarrus.mechanism.pose import clean, perpendicular_to, scalar, unit_vector, vector


class ContactBuilder(Description):
    """The method of a mechanism that adds contacts."""

    def add_contact(
        self,
        name: str,
        body: str,
        point: ArrayLike = (0.0, 0.0, 0.0),
        *,
        ground: str = WORLD,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        offset: float = 0.0,
        tangent: ArrayLike | None = None,
        friction: str = "stick",
        friction_coefficient: float | None = None,
        restitution: float = 0.0,
        active: bool = False,
    ) -> Contact:
        """Let a point of ``body`` touch a plane of another body; the plane only pushes.

        Parameters
        ----------
        point : the point in axes of the body [m].
        ground : the body that carries the plane normal · r = ``offset`` [m], both in its axes; ``normal`` points to
            the side on which the point may be.
        tangent : direction of the first tangential row, perpendicular to ``normal``; by default the projection of
            the ground's x axis (of y where that is the normal). The second is normal × tangent.
        friction : "stick" holds the point where it touched down, with any force; "frictionless" lets it slide.
        friction_coefficient : recorded for laws with friction cones, ≥ 0; it limits nothing here.
        restitution : Newton's coefficient of the normal velocity at an impact, from 0 to 1.
        active : whether the contact is closed at the start. Its tangential rows then hold the point where it is in
            the reference pose; `sarrus.activity.switch_on` anchors it elsewhere.

        Rows: "n", the gap [m] with the normal force [N] as multiplier, ≥ 0 where the ground pushes; with "stick"
        also "t1" and "t2". While the contact is open its rows are zero. `sarrus.activity` switches it and
        measures the gap, `sarrus.impacts.impact` gives the velocities after a touchdown. Redundant contacts are
        ordinary.
        """
        self._fresh(name, "contact", (c.name for c in self.constraints()))
        label = f"contact {name!r}"
        self._body_or_world(body, label)
        self._body_or_world(ground, label)
        if body == ground:
            raise ModelError(f"{label}: needs two different bodies, got {body!r} twice", element=name)
        if friction not in CONTACT_ROWS:
            raise ModelError(
                f"{label}: " + unknown_name("friction", friction, CONTACT_ROWS),
                element=name,
                valid=CONTACT_ROWS,
            )
        if friction_coefficient is not None:
            friction_coefficient = checks.nonnegative(friction_coefficient, "friction_coefficient", label)
            if friction == "frictionless" and friction_coefficient > 0.0:
                raise ModelError(
                    f"{label}: a frictionless contact has no friction_coefficient; give friction='stick'",
                    element=name,
                )
        n = unit_vector(normal, "normal", label)
        along = perpendicular_to(n) if tangent is None else unit_vector(tangent, "tangent", label)
        if abs(float(n @ along)) > 1e-9:
            raise ModelError(f"{label}: tangent must be perpendicular to normal", element=name)
        contact = Contact(
            name=name,
            body=body,
            point=vector(point, 3, "point", label),
            ground=ground,
            origin=scalar(offset, "offset", label) * n,
            normal=n,
            tangent1=along,
            tangent2=clean(np.cross(n, along)),
            friction=friction,
            restitution=checks.fraction(restitution, "restitution", label),
            friction_coefficient=friction_coefficient,
            active=bool(checks.activity(active, label)),
        )
        self.contacts[name] = contact
        return contact
