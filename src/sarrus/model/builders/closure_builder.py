"""`ClosureBuilder`: adds loop closures, couplings of coordinates and prescribed motions to a mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from sarrus.model.mechanism import checks
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import CLOSURE_KINDS, Closure, Coupling, CouplingTerm, Function
from sarrus.model.mechanism.faults import check_name, fault
from sarrus.model.mechanism.pose import PoseLike, as_pose, clean, perpendicular_to, scalar, unit_vector
from sarrus.model.mechanism.tolerances import PERPENDICULAR


class ClosureBuilder(Description):
    """The methods of `Mechanism` that add constraints."""

    def add_closure(
        self,
        name: str,
        kind: str,
        body1: str,
        body2: str,
        *,
        pose1: PoseLike = None,
        pose2: PoseLike = None,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        axis2: ArrayLike | None = None,
        pitch: float = 0.0,
        length: float = 0.0,
        active: bool | None = None,
        motion: Function | None = None,
        keep_offset: bool = False,
        capture: float = 0.0,
    ) -> Closure:
        """Close a loop between frame 1 on ``body1`` and frame 2 on ``body2`` (either may be "world").

        Parameters
        ----------
        kind : weld (6 rows), point or spherical (3), revolute (5), prismatic (5), screw (5),
            cylindrical (4), universal (4), planar (3), distance (1), point_on_line (2),
            point_on_plane (1). ``fixed`` is a weld.
        pose1, pose2 : the frames on the two bodies: `Pose` or position [m].
        axis : the joint axis in frame 1, and in frame 2 too unless ``axis2`` is given.
            universal: ``axis`` is fixed to body 1 and ``axis2``, perpendicular to it, to body 2.
            point_on_line, point_on_plane: direction of the line, normal of the plane, fixed to body 1. The line or
            plane goes through the origin of frame 1; the origin of frame 2 lies on it.
        length : distance of the two origins [m], > 0, for ``distance``.
        motion : a function of time (a CasADi expression), or a `Spline`. For a distance: its length [m], given instead
            of ``length``. For all other kinds: frame 1 relative to ``pose1``, as a position [m] (3 entries), a position
            and a wxyz quaternion (7), or both as a pair. Body 2 follows exactly, in velocity and acceleration too. The
            multipliers are the driving forces; their work is part of the energy balance.
        keep_offset : True keeps the offset of the two frames in the reference pose, in position and in angle, along the
            directions in which no joint moves the two bodies, such as the normal of a planar linkage. The rows along
            these directions are then satisfied. Without it a loop with such an offset cannot be closed.
        active : True or False makes the closure switchable, and gives its state at the start; see
            `sarrus.dynamics.impacts.activity`. None: the closure is permanent.
        capture : largest residual of a row [m, rad] with which a switchable closure can be switched on, as when a
            gripper closes on a part. The closure then holds the frames at their offset of that moment. With 0 the
            residual must be below 1e-5, and the closure removes it.
        Rows x, y, z: the residual is the origin of frame 2 minus the origin of frame 1, so the multiplier is the
        force [N] that body 1 exerts on body 2. Both are in the axes of `Mechanism.carrier` of the two bodies: the last
        body with a joint on the way from the world to both, or the world. Perpendicular directions of the other
        kinds are fixed to body 1; see `sarrus.symbolic.rows.closures`. Redundant closures are legal.

        Raises `ModelError` for an unknown kind or body, and for numbers that do not fit the kind.
        """
        kind = {"spherical": "point", "fixed": "weld"}.get(kind, kind)
        label = self._fresh_constraint(name, "closure")
        check_name("kind", kind, CLOSURE_KINDS, label)
        self._check_bodies(body1, body2, label)
        frame1, frame2 = as_pose(pose1, "pose1", label), as_pose(pose2, "pose2", label)
        u = unit_vector(axis, "axis", label)
        if kind == "universal":
            w = perpendicular_to(u) if axis2 is None else unit_vector(axis2, "axis2", label)
            if abs(float(u @ w)) > PERPENDICULAR:
                raise fault(label, "axis2 must be perpendicular to axis")
        else:
            w = u if axis2 is None else unit_vector(axis2, "axis2", label)
        if motion is not None:
            checks.motion(motion, label)
        if not scalar(capture, "capture", label) >= 0.0:
            raise fault(label, f"capture must be at least 0 [m, rad], got {capture!r}")
        if capture and (active is None or motion is not None):
            raise fault(
                label, "capture is for switchable closures: give active=True or active=False, and no motion"
            )
        if kind == "distance" and motion is not None and length:
            raise fault(label, "a distance has a length or a motion, not both")
        if scalar(length, "length", label) <= 0.0 and kind == "distance" and motion is None:
            raise fault(label, f"length must be positive, got {length}. Zero distance is a 'point' closure")
        closure = Closure(
            name=name,
            kind=kind,
            body1=body1,
            body2=body2,
            pose1=frame1,
            pose2=frame2,
            axis1=clean(frame1.rotation @ u),
            axis2=clean(frame2.rotation @ w),
            pitch=scalar(pitch, "pitch", label),
            length=float(length),
            active=checks.activity(active, label),
            motion=motion,
            keep_offset=checks.flag(keep_offset, "keep_offset", label),
            capture=float(capture),
        )
        self.closures[name] = closure
        return closure

    def add_coupling(
        self,
        name: str,
        terms: Mapping[str, float | Sequence[float] | Function],
        references: Mapping[str, float] | None = None,
        *,
        active: bool | None = None,
        motion: Function | None = None,
    ) -> Coupling:
        """Couple joint coordinates and tendon lengths by one row: Σ term(coordinate − reference) = motion(t).

        ``terms`` maps a coordinate name, or "tendon:NAME" for the length of a tendon, to one number (the factor of a
        linear term), to polynomial coefficients (constant first), or to a function of a CasADi expression or a
        `Spline`. A gear with q1 = n q2: ``{"joint1": 1.0, "joint2": -n}``. A rack:
        ``{"slide": 1.0, "pinion": -radius}``. A differential: ``{"left": 1.0, "right": 1.0, "carrier": -2.0}``. A cam:
        ``{"follower": -1.0, "cam": Spline.through(angles, lifts, ends="periodic")}``.

        ``motion`` is a function of time or a `Spline`, by default zero. ``active`` True or False makes the coupling
        switchable, and gives its state at the start: a clutch, or, with one term, a brake; see
        `sarrus.dynamics.impacts.activity`. The multiplier λ gives the generalized force λ ∂(Σ term)/∂coordinate.

        Raises `ModelError` for an unknown coordinate or tendon, and for a term that is no number or function.
        """
        label = self._fresh_constraint(name, "coupling")
        checks.mapping(terms, "terms", label)
        for coordinate in set(references or ()):
            check_name("term", coordinate, terms, f"{label}: references", name)
        built = []
        for coordinate, given in terms.items():
            self._scalar_coordinate_or_tendon(coordinate, label)
            function: Function | None = None
            coefficients: tuple[Any, ...]
            if callable(given):
                function, coefficients = checks.function(given, f"term of {coordinate!r}", label), ()
            elif isinstance(given, Iterable) and not isinstance(given, str):
                coefficients = tuple(given)
            else:
                coefficients = (0.0, given)
            values = tuple(scalar(c, f"coefficient of {coordinate!r}", label) for c in coefficients)
            reference = scalar((references or {}).get(coordinate, 0.0), f"reference of {coordinate!r}", label)
            built.append(CouplingTerm(coordinate, values, reference, function))
        drive = None if motion is None else checks.function(checks.motion(motion, label), "motion", label)
        coupling = Coupling(name, tuple(built), checks.activity(active, label), drive)
        self.couplings[name] = coupling
        return coupling

    def add_motion(self, name: str, coordinate: str, motion: Function) -> Coupling:
        """Prescribe a scalar coordinate, or the length of a tendon "tendon:NAME", as a function of time or a `Spline`.

        An ideal motor. Its force [N] or torque [N m] is the multiplier of the row ``name``, positive along the
        coordinate, and its work is part of the energy balance. The element is the coupling ``{coordinate: 1.0}``
        with a motion.
        """
        return self.add_coupling(name, {coordinate: 1.0}, motion=motion)
