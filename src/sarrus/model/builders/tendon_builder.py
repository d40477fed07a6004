"""`TendonBuilder`: adds tendons to a mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.model.mechanism import checks
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import Function
from sarrus.model.mechanism.faults import Label, check_name, fault
from sarrus.model.mechanism.pose import as_pose, scalar, vector
from sarrus.model.mechanism.tendons import (
    WRAP_KINDS,
    Pulley,
    Tendon,
    TendonJoint,
    TendonPoint,
    Wrap,
    segments,
)

Item = TendonPoint | Pulley | Wrap | TendonJoint
# One item of a path: a point as (body, point), a body for its origin, or an object of the classes.
Given = Item | str | tuple[str, ArrayLike]


class TendonBuilder(Description):
    """The methods of `Mechanism` that add tendons."""

    def add_tendon(
        self,
        name: str,
        path: Sequence[Given] | Mapping[str, float],
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        rest_length: float | tuple[float, float] = 0.0,
        armature: float = 0.0,
        stiffness_higher: Sequence[float] = (),
        damping_higher: Sequence[float] = (),
        limits: tuple[float | Function, float | Function] | None = None,
        friction: float = 0.0,
        force_limits: tuple[float, float] | None = None,
        restitution: float = 0.0,
    ) -> Tendon:
        """Add a tendon: a string along a path over the bodies, or a weighted sum of joint coordinates.

        ``path`` lists points as (body, point in body axes [m]), with `Pulley`, `Wrap` and `TendonJoint` of
        `sarrus.model.mechanism.tendons` between them; or it maps scalar coordinates to weights. One of the bodies may
        be "world". The parameters are explained in `sarrus.model.mechanism.tendons.Tendon`; ``rest_length`` [m] is
        one number, or (lower, upper) between which the spring is slack. ``limits`` (lower, upper) [m] of the length are
        one-sided constraints, see `add_rope`. Actuators pull on a tendon through a `TendonTransmission`; couplings name
        its length "tendon:NAME".

        Raises `ModelError` for an unknown body or coordinate, for a path of fewer than two points, and for limits that
        are equal or cross.
        """
        label = self._fresh(name, "tendon", self.springs, self.coordinate_springs, self.tendons)
        tendon = Tendon(
            name,
            self._path(path, label),
            checks.nonnegative(stiffness, "stiffness", label),
            checks.nonnegative(damping, "damping", label),
            checks.rest_length(rest_length, label),
            checks.nonnegative(armature, "armature", label),
            tuple(scalar(c, "stiffness_higher", label) for c in stiffness_higher),
            tuple(scalar(c, "damping_higher", label) for c in damping_higher),
            checks.length_limits(limits, label),
            checks.nonnegative(friction, "friction", label),
            checks.bounds(force_limits, "force_limits", label),
            checks.fraction(restitution, "restitution", label),
        )
        self._check_friction(tendon, label)
        for rope in tendon.ropes:
            self._fresh(rope.name, "tendon", self.contacts, self.patches, self.flank_names)
        if tendon.force_limits and not tendon.force_limits[0] <= 0.0 <= tendon.force_limits[1]:
            raise fault(label, f"force_limits must contain zero, got {force_limits}")
        self.tendons[name] = tendon
        return tendon

    def add_rope(
        self,
        name: str,
        path: Sequence[Given] | Mapping[str, float],
        *,
        length: float | Function,
        joint_terms: Mapping[str, float] | None = None,
        restitution: float = 0.0,
    ) -> Tendon:
        """Add an inextensible, massless rope: a tendon whose length ℓ is at most ``length``.

        With the gap g = length − ℓ(q): g ≥ 0, tension T ≥ 0, T g = 0. T pulls along every part of the path, divided by
        the divisor of its pulley; pulleys turn freely. A wrap with ``friction_coefficient`` divides the path into two
        sides with tensions of their own, see `Wrap`. The rope pulls while it is taut and T > 0, and it is slack
        otherwise. When it becomes taut at speed, an impact follows with ℓ̇⁺ − L̇ = −``restitution`` (ℓ̇⁻ − L̇).

        Parameters
        ----------
        path : points, pulleys and wraps, or a mapping of coordinates to weights, as in `add_tendon`.
        length : L [m], a number or a function of time (a winch that pays out or hauls in), written with CasADi
            operations, or a `Spline`. The winch is at the end of the path and does the work −T L̇ on the mechanism.
        joint_terms : drums, a mapping of scalar coordinates to their radii [m]: radius × coordinate is rope on the drum
            and counts as length. A positive radius winds up where the coordinate grows.
        restitution : Newton's coefficient, from 0 to 1.

        The rope acts as a contact does, in all functions in which these act ("What acts where" on the page on
        contacts). Its force is ``contact_forces`` in the row "NAME.tension", with friction at a wrap in the rows
        "NAME.tension" and "NAME.grip" (`LengthLimit`); ``trajectory.tensions`` has the tensions by name. Several taut
        ropes whose rows are dependent have the least tensions among all T ≥ 0; statics and inverse dynamics mark unique
        ones in ``contacts.determined``. A start with a rope that is too long by more than 1e-6 of the characteristic
        length is an error that names it. For an elastic rope use `add_tendon` with ``stiffness`` and ``rest_length=(0,
        L)``.

        Raises `ModelError` as `add_tendon` does.
        """
        label = self._fresh(name, "rope", self.springs, self.coordinate_springs, self.tendons)
        drums = (
            tuple(TendonJoint(*term) for term in self._weights(joint_terms, "joint_terms", label))
            if joint_terms
            else ()
        )
        items = (*self._path(path, label), *drums)
        return self.add_tendon(name, items, limits=(-np.inf, length), restitution=restitution)

    def _path(self, path: Any, label: Label) -> tuple[Item, ...]:
        if isinstance(path, Mapping):
            return tuple(TendonJoint(*term) for term in self._weights(path, "path", label))
        if isinstance(path, str) or not np.iterable(path):
            raise fault(
                label,
                "path must be a list of points, pulleys and wraps, or a mapping of coordinates to weights, "
                f"got {path!r}",
            )
        items = tuple(self._item(item, label) for item in path)
        if items and all(isinstance(item, TendonJoint) for item in items):  # no path over the bodies
            return items
        try:
            segments(items)
        except ValueError as error:
            raise fault(label, f"its path is not valid: {error}") from None
        return items

    def _item(self, item: Any, label: Label) -> Item:
        """Return one checked item of a path."""
        if isinstance(item, TendonJoint):
            coordinate = self._scalar_coordinate(item.coordinate, label)
            return TendonJoint(coordinate, scalar(item.weight, f"weight of {coordinate!r}", label))
        if isinstance(item, Pulley):
            divisor = scalar(item.divisor, "divisor", label)
            if divisor <= 0.0:
                raise fault(label, f"the divisor of a pulley must be positive, got {divisor}")
            return Pulley(divisor)
        if isinstance(item, Wrap):
            return self._wrap(item, label)
        if isinstance(item, TendonPoint):
            body, point = item.body, item.point
        elif isinstance(item, str):
            body, point = item, np.zeros(3)
        elif isinstance(item, Sequence) and len(item) == 2 and isinstance(item[0], str):
            body, point = item[0], item[1]
        else:
            raise fault(label, f"an item of a path is (body, point), a Pulley or a Wrap, got {item!r}")
        self.check_body(body, label)
        return TendonPoint(body, vector(point, 3, "point", label))

    def _wrap(self, item: Wrap, label: Label) -> Wrap:
        self.check_body(item.body, label)
        check_name("wrap", item.kind, WRAP_KINDS, label)
        radius = scalar(item.radius, "radius", label)
        if radius <= 0.0:
            raise fault(label, f"the radius of a wrap must be positive, got {radius}")
        side = None
        if item.side is not None:
            body, point = item.side
            self.check_body(body, label)
            side = body, vector(point, 3, "side", label)
        friction = checks.nonnegative(item.friction_coefficient, "friction_coefficient", label)
        return Wrap(item.body, item.kind, radius, as_pose(item.pose, "pose", label), side, friction)

    def _check_friction(self, tendon: Tendon, label: Label) -> None:
        """Raise unless friction at wraps acts on an inextensible rope."""
        if not tendon.rubbing:
            return
        higher = *tendon.stiffness_higher, *tendon.damping_higher
        along = tendon.stiffness, tendon.damping, tendon.armature, tendon.friction, *higher
        if any(along) or [rope.sign for rope in tendon.ropes] != [1.0]:
            raise fault(
                label,
                "a wrap with friction needs an inextensible rope (`add_rope`): an upper limit of the length alone, "
                "without spring, damper, armature and friction along the length",
            )
