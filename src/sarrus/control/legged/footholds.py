"""Nominal footholds of a gait relative to the centre of mass, from a pose in which the robot stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.control.legged.tolerances import FLAT_STANCE, NO_HEADING, UNEVEN_FEET
from sarrus.control.motion.tasks import centre_of_mass, point, quantity
from sarrus.dynamics.impacts.activity import gaps
from sarrus.dynamics.system import System


def heading(system: System, body: str) -> ca.SX:
    """Return cosine and sine of the heading of a body, the direction of its x axis in the plane."""
    here, ahead = (quantity(system, point(body, at, "xy")).value for at in ((0, 0, 0), (1, 0, 0)))
    along = ahead - here
    return along / ca.fmax(ca.norm_2(along), NO_HEADING)


def reference_footholds(
    system: System,
    base: str,
    pose: ArrayLike | str | None,
    names: tuple[str, ...],
    given: Mapping[str, ArrayLike],
) -> dict[str, ArrayLike]:
    """Return by contact its place (2,) [m] from the centre of mass in a pose, in axes that turn with the base.

    Footholds in ``given`` are used as they are. Raises `ArgumentError` for a pose in which the robot does not stand;
    the error names the foot.
    """
    mechanism = system.mechanism
    assert mechanism is not None
    free = [k for k, name in enumerate(names) if name not in given]
    if not free:
        return dict(given)
    parts = [quantity(system, centre_of_mass()).value, heading(system, base)]
    parts += [
        quantity(system, point(c.body, c.point)).value for c in (mechanism.contacts[name] for name in names)
    ]
    native = system.compiled.named("footholds", lambda: {"all": ca.vertcat(*parts)})
    faults = []
    for called, q in _poses(system, pose):
        flat = native(system.pack(q, np.zeros(system.nv), None, 0.0))[native.outputs["all"][0]]
        centre, (c, s), feet = flat[:3], flat[3:5], flat[5:].reshape(-1, 3)
        away = (feet - centre)[:, :2] @ np.array([[c, s], [-s, c]]).T
        heights = gaps(system, q)
        fault = _fault([(names[k], heights[names[k]], feet[k, 2] - centre[2], away[k]) for k in free])
        if fault is None:
            return dict(zip(names, away)) | dict(given)
        faults.append((fault[0], f"in {called} {fault[1]}"))
    raise ArgumentError(
        f"gait: {'; '.join(text for _, text in faults)}. Footholds need a pose in which the robot stands: give pose= "
        "(q or the name of a keyframe), or footholds=",
        element=faults[0][0],
    )


def _poses(system: System, pose: ArrayLike | str | None) -> Iterator[tuple[str, Array]]:
    """Yield names of poses and their q: the given one, else the reference pose and the keyframes."""
    mechanism = system.mechanism
    assert mechanism is not None
    frames = mechanism.keyframes
    if isinstance(pose, str):
        check_known("keyframe", pose, frames, "gait: pose")
        yield f"the keyframe {pose!r}", np.array(frames[pose].q)
    elif pose is not None:
        q = np.asarray(pose, float)
        if q.shape != (system.nq,) or not np.isfinite(q).all():
            raise ArgumentError(
                f"gait: pose must be {system.nq} finite numbers or the name of a keyframe, got {pose!r}",
                element="pose",
            )
        yield "the given pose", q
    else:
        yield "the reference pose", system.neutral()
        yield from ((f"the keyframe {name!r}", np.array(frame.q)) for name, frame in frames.items())


def _fault(feet: Sequence[tuple[str, float, float, Array]]) -> tuple[str, str] | None:
    """Return the name of a foot that shows that the robot does not stand, and the reason; None if it may stand.

    ``feet`` are names, gaps [m], and vectors from the centre of mass, upwards and along the ground [m].
    """
    middle = float(np.median([gap for _, gap, _, _ in feet]))
    name, gap, _, _ = max(feet, key=lambda foot: abs(foot[1] - middle))
    if abs(gap - middle) > UNEVEN_FEET:
        return name, f"the contact {name!r} is {gap - middle:+.3f} m from the plane of the others"
    name, _, up, away = max(feet, key=lambda foot: float(np.linalg.norm(foot[3])))
    far = float(np.linalg.norm(away))
    if -up < FLAT_STANCE * far:
        return (
            name,
            f"the contact {name!r} is {far:.3f} m beside the centre of mass, which is only {-up:.3f} m above it",
        )
    return None
