"""The rank of A used by the kernels: found at closed configurations near a state, and kept in a workspace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import SarrusError
from sarrus.base.status import Status
from sarrus.dynamics.closing.assembly import Neighbourhood, assemble, rank_analysis
from sarrus.dynamics.closing.closed_state import largest_opening, require_velocities_that_agree
from sarrus.dynamics.closing.levenberg_marquardt import data_of
from sarrus.dynamics.closing.manifold import close
from sarrus.dynamics.closing.rigidity import is_blocked
from sarrus.dynamics.closing.tolerances import DATA_TOLERANCE
from sarrus.dynamics.model.inertia import is_singular_at
from sarrus.dynamics.model.one_sided import behind_jump
from sarrus.dynamics.solve.tolerances import FLOWN_OFF
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.memory.layout import Settings


def generic_rank(
    work: Workspace, q: Array, t: float = 0.0, v: Array | None = None, *, renew: bool = False
) -> int:
    """Return the rank of A at generic closed configurations near q, an upper bound for the kernels; found once.

    It is determined again with ``renew``, and after a change of parameters on which it may depend.
    ``work.near`` holds the `Neighbourhood` found.
    """
    if work.near is None or renew or work.switched != work.parameters.switched:
        near, weak, tolerances = look_around(work, q, t, v)
        work.learn_rank(near, tolerances)
        if weak and not work.compiled.mass_is_singular:
            work.expect_singular_mass()
    return int(work.table.generic_rank)


def look_around(
    work: Workspace, q: Array, t: float = 0.0, v: Array | None = None
) -> tuple[Neighbourhood, bool, Settings]:
    """Return the `Neighbourhood` of a state, whether M is singular there, and tolerances for the kernels.

    The result depends on the state, the parameters and the options; the workspace is not changed.
    """

    def look() -> tuple[Neighbourhood, bool, Settings]:
        near = _with_rows_of_the_model(work, rank_analysis(work, q, t, v))
        return near, is_singular_at(work, q, t), work.settings(near)

    # many runs begin at the same state, and this costs more than some hundred steps
    place = q.tobytes(), t, None if v is None else v.tobytes(), *work.parameters.values(), work.options
    return work.model.cached_lru(("rank_analysis", data_of(work), *place), look)


def _with_rows_of_the_model(work: Workspace, near: Neighbourhood) -> Neighbourhood:
    """Return the neighbourhood with the independent rows chosen at the neutral configuration, if they are independent.

    A model then has one choice of rows, and one compiled function for it, wherever runs begin. No rows are chosen if
    the digits of the model leave loops open: dependent rows then have different residuals.
    """
    live = work.compiled.live
    if live is None or near.rank == len(live) or work.equations.shaping_parameters:
        return near
    if not data_of(work).exact:
        return replace(near, independent=())

    def found() -> Neighbourhood | None:
        try:
            closed = assemble(work, work.neutral(), throw=False)
            return None if closed.status is Status.NOT_CLOSED else rank_analysis(work, closed.q)
        except SarrusError:  # the constraints are not finite there
            return None

    reference = work.model.cached_lru(("independent rows", *work.parameters.values(), work.options), found)
    if reference is None or reference.rank != near.rank:
        return near
    return replace(near, independent=reference.independent)


def project_velocity(work: Workspace, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
    """Return the velocity closest to v that satisfies the constraints at q, for any rank of A.

    Closest in the kinetic metric, v − L⁻¹(A L⁻¹)⁺ψ with M = LᵀL: the velocity after an ideal impulse of the
    constraints. Massless links: see `sarrus.kernels.solve.projection`. If a prescribed speed jumps at t, the speed
    after the jump holds. Redundant rows that prescribe different velocities are an `ArgumentError` that names them.
    """
    q = work.normalized(q)
    t = behind_jump(work, q, t)
    x = work.pack(q, v, None, t)
    given, place, speed = x.copy(), x[work.parts.q], x[work.parts.v]
    generic = generic_rank(work, place, t, speed)
    rank = work.project(x, positions=False)
    left = np.abs(work.velocity_residual(place, speed, t)).max(initial=0.0)
    allowed = data_of(work).rank_cut(DATA_TOLERANCE) * (1.0 + np.abs(speed).max(initial=0.0))
    if rank < generic or left > allowed:
        x[:] = given  # the rank nearby may differ from where it was found: determine it again here
        generic_rank(work, place, t, speed, renew=True)
        work.project(x, positions=False)
        psi = work.velocity_residual(place, speed, t)
        if np.abs(work.characteristic.rows * psi).max(initial=0.0) > largest_opening(work):
            require_velocities_that_agree(work, x, psi)
    return read_only(speed.copy())


def has_left(work: Workspace, x: Array) -> bool:
    """Tell whether a run that failed at x = [q | v | u | t | p | τ] had left the motions of a rigid mechanism."""
    s, x = work, x.copy()
    q, v, t = x[s.parts.q], x[s.parts.v], float(x[s.parts.t])
    if s.nc == 0 or not max(np.abs(q).max(), np.abs(v).max()) < FLOWN_OFF:
        return False
    try:
        q[:] = close(s, q, t)
        generic_rank(s, q, t, v, renew=True)
    except SarrusError:
        return False
    rank, answer = s.accelerate(x)
    motions = s.motions_left
    return rank >= 0 and motions is not None and is_blocked(s, q, v, t, answer[: s.nv], motions)
