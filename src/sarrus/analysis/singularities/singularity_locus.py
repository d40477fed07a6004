"""`singularity_locus`: the curves of singular configurations of a mechanism with two motions."""

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
    """Curves of singular configurations (arrays read-only); ``print`` sums them up.

    Attributes
    ----------
    held : what is at rest while the mechanism can still move there: "driven …" (type 2) or "output …" (type 1).
    pieces : each (k, nq), configurations along one curve. closed : of each whether it comes back to its start.
    residual : largest smallest singular value, in characteristic units, of them all: zero but for rounding.
    rays : how many walks over the motions looked for them.
    turns : indices of the coordinates that stand for the same place after a full turn.
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
        """Return where a point of a body is along the pieces, (k, 3) in the world [m]."""
        return tuple(
            np.array([self.system.jacobian(q, t=self.t, body=body, point=point).position for q in piece])
            for piece in self.pieces
        )

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Draw the curves over two coordinates or a point; options are those of `sarrus.plot.singularity_locus`."""
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
    """Return the curves of singular configurations of a mechanism with two motions, through the modes joined with q.

    With ``driven`` the inputs it is where they no longer hold the mechanism: singularities of type 2, where the
    platform moves, or forces grow without bound, with the inputs at rest. With ``output`` it is where inputs no longer
    move the output in every direction: type 1, which bounds the workspace. Both are where R = [A; H] has less than nv
    independent rows, H v the velocities at rest.

    The curves are found where ``rays`` walks over the motions, of seeded directions, pass through one; then each is
    followed in steps of 0.05 (radians and characteristic lengths), the smallest singular value brought to zero at each.
    All configurations returned are singular to rounding. **No more is guaranteed**: a curve that no walk crosses is
    not found; more ``rays`` make it less likely. Singular points that are no curves, where the sign does not change,
    are not looked for (`find_singularity`). Curves end less than a step before the limits of joints.

    Parameters
    ----------
    q : (nq,) start, closed to 1e-5 and not singular. locked : joints or coordinates that rest, so that two motions are
        left; they count as movable in R, so that a platform can be looked at for one orientation.
    driven : inputs, as many as the mechanism has motions, or more. output : a scalar coordinate or several, or a point
        of a body, ("platform", (0, 0, 0)).
    limits : {"crank": (lower, upper)}, besides and in place of those of joints [m, rad].

    Raises
    ------
    ArgumentError
        Not two motions; a start outside of the limits; R without full rank near q, where the driven or outputs are too
        few to hold the mechanism; unknown names; open loops.

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
