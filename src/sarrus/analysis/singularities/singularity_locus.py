"""`singularity_locus`: the curves of singular configurations of a mechanism with two degrees of freedom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.configurations.search_limits import SearchLimits
from sarrus.analysis.configurations.targets import scalar_coordinates
from sarrus.analysis.singularities.locked_rows import HeldRows, Output
from sarrus.analysis.singularities.locus_trace import LocusTrace
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import check_is, check_known
from sarrus.base.lazy_import import lazy_import
from sarrus.base.numbers import real_array
from sarrus.dynamics.closing.manifold import closed_start
from sarrus.dynamics.system import System

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class SingularityLocus:
    """Curves of singular configurations (read-only arrays); ``print`` gives a summary.

    Attributes
    ----------
    held : the velocities at rest with which the mechanism can still move: "driven …" (type 2) or "output …" (type 1).
    pieces : tuple of (k, nq), configurations along each curve. closed : for each whether it returns to its start.
    residual : largest of the smallest singular values of all configurations, in characteristic units; zero up to
        rounding.
    rays : number of walks that searched for the curves.
    turns : indices of the coordinates that repeat after a full turn.
    """

    held: str
    pieces: tuple[Array, ...]
    closed: tuple[bool, ...]
    residual: float
    rays: int
    turns: tuple[int, ...]
    t: float
    system: System = field(repr=False)

    def __len__(self) -> int:
        return len(self.pieces)

    def values(self, name: str) -> tuple[Array, ...]:
        """Return the values (k,) of a scalar coordinate along the pieces."""
        places = scalar_coordinates(self.system)
        check_known("scalar coordinate", name, places, self.system.name)
        return tuple(piece[:, places[name][0]] for piece in self.pieces)

    def points(self, body: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> tuple[Array, ...]:
        """Return the positions of a point of a body along the pieces, (k, 3) in the world [m]."""
        return tuple(
            np.array([self.system.jacobian(q, t=self.t, body=body, point=point).position for q in piece])
            for piece in self.pieces
        )

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Return a figure of the curves over two coordinates or a point; options: `sarrus.plot.singularity_locus`."""
        return lazy_import("pictures.plots.plot", "singularity_locus")(self, path, **options)

    def __str__(self) -> str:
        lines = [f"{self.system.name}: singular with {self.held} at rest: {len(self)} curves"]
        names = scalar_coordinates(self.system)
        for piece, closed in zip(self.pieces, self.closed):
            spans = ", ".join(
                f"{name} {piece[:, k].min():.4g} to {piece[:, k].max():.4g}" for name, (k, _) in names.items()
            )
            lines.append(f"  {'closed' if closed else 'open'}, {len(piece)} configurations: {spans}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"SingularityLocus({self.system.name!r}: {self.held}, {len(self)} curves)"


@described()
def singularity_locus(
    system: System,
    q: ArrayLike,
    *,
    driven: Sequence[str] = (),
    output: Output | Sequence[str] | None = None,
    locked: Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    rays: int = 24,
    t: float = 0.0,
) -> SingularityLocus:
    """Return the `SingularityLocus` of a mechanism with two degrees of freedom: its curves of singular configurations.

    With ``driven``, type 2: with the driven coordinates locked the platform can still move, and forces grow without
    bound. With ``output``, type 1: the inputs cannot move the output in some direction, which bounds the workspace. In
    both cases R = [A; H] has fewer than nv independent rows, H v being the velocities at rest. The curves belong to the
    assembly modes connected with q.

    ``rays`` walks over the motions in seeded directions look for sign changes of the smallest singular value; each
    curve found is followed in steps of 0.05 (radians and characteristic lengths), with the singular value brought to
    zero at each. All configurations returned are singular to rounding. **Completeness is not guaranteed**: a curve that
    no walk crosses is not found; more ``rays`` make that less likely. Isolated singular points, without a sign change,
    are not searched (`find_singularity`). Curves end less than a step before limits of joints.

    Parameters
    ----------
    q : (nq,) start, closed to 1e-5 and not singular. locked : joints or coordinates that are held, so that two degrees
        of freedom are left; they count as movable in R, so that a platform can be examined at one orientation.
    driven : inputs, at least as many as the mechanism has degrees of freedom. output : scalar coordinates, or a point
        of a body, ("platform", (0, 0, 0)).
    limits : {"crank": (lower, upper)}, in addition to and in place of those of joints [m, rad].
    rays : number of walks. t : time of the constraints [s].

    Raises
    ------
    ArgumentError
        Not two degrees of freedom; a start outside of the limits; R without full rank near q (too few driven
        coordinates or outputs); unknown names; open loops.

    Redundant rows change nothing.

    Source: C. Gosselin, J. Angeles, Singularity Analysis of Closed-Loop Kinematic Chains, IEEE Transactions on Robotics
    and Automation 6(3), 1990.
    """
    check_is("singularity_locus", system, System)
    start = closed_start(system, real_array(q), t)
    rows = HeldRows(system, start, driven, output, t)
    rows.require_full_rank()
    within = SearchLimits.of(system, limits)
    within.require(start)
    trace = LocusTrace(rows, start, locked, within)
    pieces: list[Array] = []
    closed: list[bool] = []
    rng = np.random.default_rng(12)
    seeds = [start]
    for k in range(rays):
        for crossing, left in trace.ray(seeds[int(rng.integers(len(seeds)))], rng.standard_normal(2)):
            if any(trace.passes(piece, crossing) for piece in pieces):
                continue
            piece, comes_back = trace.follow(crossing, left)
            pieces.append(read_only(piece))
            closed.append(comes_back)
        if k % 4 == 3 and trace.ended is not None:
            seeds.append(trace.ended)
    residual = max((rows.least(p) for piece in pieces for p in piece), default=0.0)
    return SingularityLocus(
        rows.label, tuple(pieces), tuple(closed), residual, rays, tuple(map(int, trace.turns)), t, system
    )
