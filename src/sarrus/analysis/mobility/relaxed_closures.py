"""Relaxations of a closure: kinds with fewer rows that allow all its motions, and the velocities that each row
measures.

A row of a closure measures one combination of the velocity of body 2 relative to body 1 at a closed configuration: the
angular velocity ω and the velocity v of the origin of frame 2, relative to body 1, in axes of body 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg import dense
from sarrus.model.mechanism.elements import CLOSURE_ROWS, Closure
from sarrus.model.mechanism.pose import clean, perpendicular_to
from sarrus.model.mechanism.tolerances import PARALLEL, PERPENDICULAR

# Kinds that hold the two origins together, so that lines and planes may be fixed to either body.
_CENTRED = ("weld", "point", "revolute", "universal")
# Kinds that hold the two frames parallel.
_PARALLEL = ("weld", "prismatic")


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A closure in place of another one of the same name; ``closure`` is None if the closure is removed.

    ``swapped``: its body 1 is body 2 of the original.
    """

    name: str
    closure: Closure | None
    swapped: bool = False

    @property
    def size(self) -> int:
        """Number of rows."""
        return 0 if self.closure is None else len(CLOSURE_ROWS[self.closure.kind])

    def rows(self, turn: Array) -> Array:
        """Return the combinations (rows, 6) of (ω, v) that its rows measure, in axes of body 1 of the original closure.

        ``turn`` (3, 3) is the orientation of body 2 in these axes.
        """
        c = self.closure
        if c is None:
            return np.zeros((0, 6))
        one, two = (c.axis1, c.axis2) if not self.swapped else (dense.product(turn, c.axis1), c.axis2)
        two = two if self.swapped else dense.product(turn, two)
        n1 = perpendicular_to(c.axis1)
        normals = [n1, clean(np.cross(c.axis1, n1))]
        if self.swapped:
            normals = [dense.product(turn, n) for n in normals]
        zero, out = np.zeros(3), []
        for label in CLOSURE_ROWS[c.kind]:
            match label:
                case "x" | "y" | "z":
                    out.append((zero, np.eye(3)["xyz".index(label)]))
                case "rx" | "ry" | "rz":
                    out.append((np.eye(3)["xyz".index(label[1])], zero))
                case "p1" | "p2":
                    out.append((zero, normals[int(label[1]) - 1]))
                case "n1" | "n2":
                    out.append((normals[int(label[1]) - 1], zero))
                case "height":
                    out.append((zero, one))
                case "perpendicular":
                    out.append((np.cross(two, one), zero))
                case "lead":
                    out.append((-c.pitch / (2 * np.pi) * one, one))
                case "length":
                    raise ValueError("the row of a rod depends on where it points")
        return np.array([np.concatenate(pair) for pair in out])


def relaxations(closure: Closure, first: Sequence[Array], second: Sequence[Array]) -> Iterator[Relaxation]:
    """Yield closures with fewer rows that allow all motions of this one, those with more rows first, finally None.

    ``first`` are unit vectors fixed to body 1, in its axes, and ``second`` those fixed to body 2, as candidates for the
    lines, planes and axes of a kind; the axis of the closure itself is always a candidate.
    """
    kind, axis = closure.kind, closure.axis1
    n1 = perpendicular_to(axis)
    mine = distinct([axis, *first, n1, clean(np.cross(axis, n1))])
    other = distinct([closure.axis2, *second])

    def like(new: str, along: Array, along2: Array | None = None, *, swapped: bool = False) -> Relaxation:
        one, two = closure, replace(
            closure, body1=closure.body2, body2=closure.body1, pose1=closure.pose2, pose2=closure.pose1,
            axis1=closure.axis2, axis2=closure.axis1,
        )  # fmt: skip
        base = two if swapped else one
        if along2 is None:
            pointing = new in ("point", "point_on_line", "point_on_plane")
            along2 = clean(base.pose2.rotation @ base.pose1.rotation.T @ along) if pointing else base.axis2
        return Relaxation(closure.name, replace(base, kind=new, axis1=along, axis2=along2), swapped)

    across = [n for n in mine if abs(float(n @ axis)) < PERPENDICULAR]
    across2 = [n for n in other if abs(float(n @ closure.axis2)) < PERPENDICULAR]
    if kind in _PARALLEL:
        turn = closure.pose2.rotation @ closure.pose1.rotation.T  # from body 1 to body 2, for good
        axes = mine if kind == "weld" else [axis]
        pairs = [(a, clean(dense.product(turn, a))) for a in axes]
        if kind == "weld":
            yield from (like("revolute", a, b) for a, b in pairs)
            yield from (like("prismatic", a, b) for a, b in pairs)
            yield from (
                like("universal", a, clean(dense.product(turn, b)))
                for a in mine
                for b in mine
                if abs(float(a @ b)) < PERPENDICULAR
            )
        yield from (like("cylindrical", a, b) for a, b in pairs)
        faces = mine if kind == "weld" else across
        planes = [like("planar", n, clean(dense.product(turn, n))) for n in faces]
    else:
        planes = []
    if kind == "revolute":
        yield like("cylindrical", axis)
        yield from (like("universal", n) for n in across)
        yield from (like("universal", n, swapped=True) for n in across2)
        planes = [like("planar", axis)]
    if kind == "screw":
        yield like("cylindrical", axis)
    if kind in _CENTRED and kind != "point":
        yield like("point", axis)
    yield from planes
    if kind in _CENTRED:
        yield from (like("point_on_line", d) for d in mine)
        yield from (like("point_on_line", d, swapped=True) for d in other)
        yield from (like("point_on_plane", d) for d in mine)
        yield from (like("point_on_plane", d, swapped=True) for d in other)
    elif kind in ("prismatic", "screw", "cylindrical"):
        yield like("point_on_line", axis)
    elif kind == "planar":
        yield like("point_on_plane", axis)
    if kind in ("prismatic", "screw", "cylindrical", "point_on_line"):
        yield from (like("point_on_plane", n) for n in across)
    yield Relaxation(closure.name, None)


def distinct(directions: Sequence[Array]) -> list[Array]:
    """Return directions without those parallel to an earlier one."""
    out: list[Array] = []
    for d in directions:
        if all(abs(float(d @ e)) < 1.0 - PARALLEL for e in out):
            out.append(d)
    return out
