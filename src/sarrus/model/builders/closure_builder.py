"""Adding loop closures and couplings of coordinates to a mechanism."""

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
    """The methods of a mechanism that add constraints."""

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
        axis : the joint axis in frame 1, and in frame 2 the same unless ``axis2`` is given.
            universal: ``axis`` is fixed to body 1 and ``axis2``, perpendicular to it, to body 2.
            point_on_line, point_on_plane: line direction, plane normal, fixed to body 1; the origin of
            frame 2 lies on it.
        length : distance of the two origins [m], > 0, for ``distance``.
        motion : a function of time, of CasADi expressions, or a `Spline`: of a distance its length [m], in the place
            of ``length``; of all others where frame 1 is as seen from pose1, a position [m], three entries, or that
            and a wxyz quaternion, seven, or both as a pair. Body 2 follows exactly, with velocity and acceleration;
            the multipliers are what this takes, and their work is in the energy.
        keep_offset : True keeps the frames as far apart as they are in the reference pose, in position and in angle,
            along directions in which no joint moves the two bodies, such as across the plane of a planar loop. There
            the rows are met then, as if they were left out; without it a loop with such an offset cannot close.
        active : True or False makes the closure one that comes and goes, on or off at the start; see
            `sarrus.dynamics.impacts.activity`. By default it always holds.
        capture : how far from closed each row may be when it is switched on [m, rad], as a gripper takes what it is
            told to take; it then holds the frames as they are there. 0: it has to be closed to 1e-5, and closes that.

        Positions: the residual is the origin of frame 2 minus the origin of frame 1, so the multiplier is the
        force [N] that body 1 exerts on body 2; both in the axes of the last body with a joint that carries the
        two, in world axes where there is none (see `Mechanism.carrier`). Perpendicular directions of the other
        kinds are fixed to body 1; see `sarrus.symbolic.rows.closures`.
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
                label, "capture is for closures that come and go: give active=True or False, and no motion"
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
        """Couple joint coordinates and lengths of tendons: Σ of term(coordinate − reference) = motion(t).

        ``terms`` maps a coordinate name, or "tendon:NAME" for the length of a tendon, to its polynomial coefficients,
        constant first, to one number, the factor of a linear term, or to a function of CasADi expressions or a
        `Spline`. A gear with q1 = n q2: ``{"joint1": 1.0, "joint2": -n}``. A rack:
        ``{"slide": 1.0, "pinion": -radius}``. A differential: ``{"left": 1.0, "right": 1.0, "carrier": -2.0}``. A cam:
        ``{"follower": -1.0, "cam": Spline.through(angles, lifts, ends="periodic")}``.

        ``motion`` is a function of time or a `Spline`; by default the sum is zero.
        ``active`` True or False makes it a coupling that comes and goes, such as a clutch or, with one term, a
        brake, on or off at the start; see `sarrus.dynamics.impacts.activity`.
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
        """Let a scalar coordinate, or the length of a tendon "tendon:NAME", be a function of time or a `Spline`.

        A motor that follows exactly, whatever it takes: its force [N] or torque [N m] is the multiplier of the row
        ``name``, positive along the coordinate, and its work is in the energy. It is the coupling
        ``{coordinate: 1.0}`` with a motion.
        """
        return self.add_coupling(name, {coordinate: 1.0}, motion=motion)
