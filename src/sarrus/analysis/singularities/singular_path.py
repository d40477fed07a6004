"""Distance of a path from singular configurations, and paths between configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.configurations.tolerances import NO_PROGRESS
from sarrus.analysis.singularities.singular_measure import Measure
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_is
from sarrus.base.lazy_import import lazy_import
from sarrus.base.numbers import real_array
from sarrus.dynamics.closing.manifold import close, closed_start, difference, holonomic_jacobian, rank_cut
from sarrus.dynamics.closing.tolerances import DATA_TOLERANCE, WALK_STEP
from sarrus.dynamics.model.measures import open_by
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.motion.records.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class SingularityProfile:
    """Distance of a path from singular configurations (read-only arrays along the path).

    Attributes
    ----------
    q : (T, nq) the path.
    values : (T,) smallest singular value, nonzero generically, of the free columns of A in characteristic units; signed
        by continuity, so that it changes its sign where a singular configuration is crossed.
    distance : (T,) first-order distance to the singular set, value / |gradient along the motions|, in radians and
        characteristic lengths κ, ``system.characteristic.length``: the same in metres and in millimetres.
    generic_rank : generic rank, the number of the singular value.
    crossings : indices k such that the path crosses a singular configuration between k and k + 1.
    t : (T,) times of a trajectory [s]; None for configurations.
    """

    q: Array
    values: Array
    distance: Array
    generic_rank: int
    crossings: tuple[int, ...]
    t: Array | None = None

    @property
    def closest(self) -> int:
        """Index of the smallest singular value."""
        return int(np.argmin(np.abs(self.values)))

    @property
    def clearance(self) -> float:
        """Least first-order distance to the singular set along the path [rad, κ]; zero if the path crosses it."""
        return 0.0 if self.crossings else float(np.abs(self.distance).min())

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Return a figure of values and distance along the path; options: `sarrus.plot.clearance`."""
        return lazy_import("pictures.plots.plot", "clearance")(self, path, **options)

    def __str__(self) -> str:
        k = self.closest
        where = f"configuration {k}" if self.t is None else f"t = {self.t[k]:.6g} s"
        crossed = (
            f"crosses {len(self.crossings)} times" if self.crossings else f"clearance {self.clearance:.4g}"
        )
        least = f"smallest singular value {abs(self.values[k]):.4g} at {where}"
        return f"singular configurations of rank {self.generic_rank}: {crossed}; {least}"


@described()
def distance_to_singularity(
    system: System, path: Trajectory | ArrayLike, *, driven: Sequence[str] = (), t: float = 0.0
) -> SingularityProfile:
    """Return the `SingularityProfile` of a path: its distance from singular configurations.

    ``path`` is a trajectory or configurations (T, nq), closed to 1e-5 (else `ArgumentError`). For every configuration
    it gives the smallest singular value that is generically nonzero, and the distance at which it would vanish to first
    order. The generic rank is the largest rank along the path: redundant rows do not count. ``driven`` as in
    `find_singularity`. ``path_between`` returns a path between two configurations.
    """
    check_is("distance_to_singularity", system, System)
    times = path.t if isinstance(path, Trajectory) else None
    q = np.atleast_2d(real_array(path.q if isinstance(path, Trajectory) else path))
    if q.ndim != 2 or len(q) == 0:
        raise ArgumentError(
            f"{system.name}: path must be a trajectory or configurations of shape (T, {system.nq})",
            element="path",
        )
    first = float(times[0]) if times is not None else t
    measure = Measure(system, closed_start(system, q[0], first), driven, first)
    values, distance = np.empty(len(q)), np.empty(len(q))
    sign, before = 1.0, None
    crossings = []
    for k, place in enumerate(q):
        measure.t = float(times[k]) if times is not None else t
        value, left, right = measure.value(system.normalized(place))
        if before is not None:
            turned = float((before[0] @ left) * (before[1] @ right)) < 0.0
            if turned:
                crossings.append(k - 1)
                sign = -sign
        slope = float(np.linalg.norm(measure.gradient(place, left, right)))
        values[k], distance[k] = sign * value, value / slope if slope > 0.0 else np.inf
        before = (left, right)
    return SingularityProfile(
        read_only(q.copy()),
        read_only(values),
        read_only(distance),
        measure.rank,
        tuple(crossings),
        None if times is None else read_only(np.array(times)),
    )


def path_between(
    system: System, start: ArrayLike, end: ArrayLike, *, step: float = WALK_STEP, t: float = 0.0
) -> Array:
    """Return closed configurations (T, nq) from start to end, each by ``step`` [rad, κ] nearer to the end.

    Every step takes the motion nearest to the straight line. If no motion leads nearer, as between two assembly modes,
    `SolveError` gives the remaining distance; its ``result`` is the path so far.
    """
    q, goal = (closed_start(system, real_array(x), t) for x in (start, end))
    sizes = system.characteristic
    scale, rows, cut = sizes.columns, sizes.rows[: system.nh, None], rank_cut(system, q, t, even=True)
    path = [q]
    left = float(np.linalg.norm(scale * difference(system, q, goal)))
    while left > step:
        kernel = ranked(rows * holonomic_jacobian(system, q, t) / scale, cut).null
        x = kernel @ (kernel.T @ (scale * difference(system, q, goal)))
        size = float(np.linalg.norm(x))
        p = close(system, system.move(q, x * min(1.0, step / size) / scale), t) if size > 0.0 else q
        missing = float(np.linalg.norm(scale * difference(system, p, goal)))
        if missing > left - NO_PROGRESS * step or open_by(system, p, t) > DATA_TOLERANCE:
            raise SolveError(
                f"{system.name}: no motion leads nearer to the end than {left:.3g}; the two configurations may be "
                "different modes of assembly",
                result=np.array(path),
            )
        q, left = p, missing
        path.append(q)
    return np.array([*path, goal])
