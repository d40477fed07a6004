"""Assembly modes: the disjoint families of closed configurations of a mechanism with some coordinates held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from sarrus.analysis.configurations.curve import Curve, follow_curve
from sarrus.analysis.configurations.inverse_kinematics import Problem, coordinate_limits
from sarrus.analysis.configurations.many_configurations import chords
from sarrus.analysis.configurations.targets import Targets
from sarrus.analysis.configurations.tolerances import (
    ISOLATED_RESIDUAL,
    JOINING_STEP,
    NEAR_ISOLATED,
    NEVER_SAME,
    NO_PROGRESS,
    SAME_ASSEMBLY,
    STUCK_STEP,
)
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_is, place_of
from sarrus.base.numbers import real_array
from sarrus.base.status import Status
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.antiparallel import antiparallel
from sarrus.dynamics.closing.assembly import free_velocities
from sarrus.dynamics.closing.levenberg_marquardt import Rows
from sarrus.dynamics.closing.manifold import (
    came_back,
    close,
    difference,
    holonomic_jacobian,
    rank_cut,
    solve_rows,
    turning,
    walk,
)
from sarrus.dynamics.closing.rigidity import look
from sarrus.dynamics.closing.tolerances import DATA_TOLERANCE, WALK_STEP
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked

# Starts without a new mode after which the search ends, and starts at most.
_PATIENCE, _MOST = 40, 400
# Steps at most along a family of assemblies, each way.
_CURVE = 1000


@dataclass(frozen=True, eq=False)
class AssemblyMode:
    """One closed configuration q (nq,), or one family of them; ``hits``: number of random starts that ended in it."""

    q: Array
    hits: int
    status: Status


@dataclass(frozen=True, eq=False)
class AssemblyModes:
    """The assembly modes that a search found; iterating and indexing give `AssemblyMode`.

    Attributes
    ----------
    modes : ordered by number of hits, most first. Their ``status`` is OK; SINGULAR where the rank drops, as where two
        modes meet; RIGID where the configuration is isolated: no motion starts there, not even of the driven
        coordinates.
    tried : number of starts. A mode with a single hit suggests that others are missing.
    dof : degrees of freedom of the modes that are not RIGID, with the driven coordinates held. If it is not 0 a mode is
        a family of configurations, represented by one of them. A family with one degree of freedom is followed along
        its curve; with more, two configurations count as different families if no straight walk joins them.
    driven, values : the held coordinates and their values [m, rad].
    """

    modes: tuple[AssemblyMode, ...]
    tried: int
    dof: int
    driven: tuple[str, ...]
    values: tuple[float, ...]
    system: System = field(repr=False)
    time: float = 0.0

    def __len__(self) -> int:
        return len(self.modes)

    def __getitem__(self, index: int) -> AssemblyMode:
        return self.modes[index]

    @property
    def q(self) -> Array:
        """All modes (n, nq)."""
        return np.array([mode.q for mode in self.modes]).reshape(len(self.modes), self.system.nq)

    def follow_curve(self, lower: float | None = None, upper: float | None = None) -> tuple[Curve, ...]:
        """Return the `Curve` of each mode as the first driven coordinate moves; modes on one curve share it.

        ``lower`` and ``upper`` [m, rad] as in `follow_curve`. The other driven coordinates are held.
        """
        curves: list[Curve] = []
        turns = turning(self.system)
        for mode in self.modes:
            if not any(_passes(curve.q, mode.q, self.system, turns) for curve in curves):
                others = self.driven[1:]
                curves.append(
                    follow_curve(
                        self.system, mode.q, self.driven[0], lower, upper, locked=others, t=self.time
                    )
                )
        return tuple(curves)


@described()
def assembly_modes(
    system: System,
    driven: str | Sequence[str] = (),
    value: float | Sequence[float] = (),
    *,
    targets: Targets | None = None,
    by: Sequence[str] = (),
    t: float = 0.0,
    seed: int = 0,
    throw: bool = True,
) -> AssemblyModes:
    """Return the assembly modes found with driven coordinates at given values, as an `AssemblyModes`.

    Levenberg–Marquardt from seeded random configurations; solutions are compared modulo full turns and signs of
    quaternions. The search ends after 40 starts in a row without a new mode, at most 400 starts. Every mode returned is
    closed; that no other mode exists is not proved.

    Parameters
    ----------
    driven, value : scalar coordinates that are held, and their values [m, rad].
    targets : poses of bodies to be met as well, as in `inverse_kinematics`; the modes are then the working modes of a
        parallel robot.
    by : bodies by whose placement modes are distinguished; default: by all coordinates. A universal joint reaches every
        direction with two pairs of angles, so each leg of a platform doubles the number of modes by coordinates.
    seed : of the random configurations. Angles are drawn from a full turn, or from the limits of their joint;
        translations from their limits, or from the size of the mechanism. Solutions beyond limits count too.
    throw : raise `SolveError` if no start closes; False returns an empty ``modes``.

    Redundant rows change nothing. Inconsistent rows (to 1e-6, the rounding of printed digits) are met in the
    least-squares sense. A singular mode, in which two modes coincide, is found once, with status SINGULAR; an isolated
    one has status RIGID. Configurations with opposite instead of parallel axes do not count (see `System.assemble`).
    """
    check_is("assembly_modes", system, System)
    names = (driven,) if isinstance(driven, str) else tuple(driven)
    values = tuple(np.atleast_1d(real_array(value)).ravel().tolist())
    if len(names) != len(values):
        raise ArgumentError(
            f"{system.name}: driven has {len(names)} coordinates and value {len(values)} numbers; give one value for "
            "each coordinate",
            element="value",
        )
    search = _Search(system, names, values, targets or {}, by, t)
    rng = np.random.default_rng(seed)
    found: list[_Found] = []
    tried = quiet = 0
    while tried < _MOST and quiet < _PATIENCE:
        tried, quiet = tried + 1, quiet + 1
        q = search.attempt(rng, search.comparable(found))
        if q is None:
            continue
        known = next((one for one in search.near(found, q) if search.joined(one, q)), None)
        if known is not None:
            known.hits += 1
        else:
            motions = look(system, q, t).motions
            isolated = motions is not None and motions.shape[1] == 0
            found.append(_Found(q, q[None] if isolated else search.family(q), isolated))
            quiet = 0
    if throw and not found:
        raise SolveError(
            f"{system.name}: none of {tried} starts closed. Either no configuration closes with these values, or few "
            "starts lead to one: give another seed"
        )
    moving = [search.rank_nearby(one.q) for one in found if not one.isolated]
    generic = max(moving, default=int(search.free.sum()))
    modes = []
    for one in sorted(found, key=lambda one: -one.hits):
        status = Status.OK if search.rank(one.q) == generic else Status.SINGULAR
        modes.append(AssemblyMode(read_only(one.q), one.hits, Status.RIGID if one.isolated else status))
    dof = int(search.free.sum()) - generic
    return AssemblyModes(tuple(modes), tried, dof, names, values, system, t)


@dataclass(eq=False)
class _Found:
    """A closed configuration with its family (n, nq), whether it is isolated, and the number of starts that ended in
    it.
    """

    q: Array
    family: Array
    isolated: bool
    hits: int = 1


class _Search:
    """The equations of a mode, and the comparison of solutions."""

    def __init__(
        self,
        system: System,
        driven: Sequence[str],
        values: Sequence[float],
        targets: Targets,
        by: Sequence[str],
        t: float,
    ) -> None:
        self.system, self.t = system, t
        bodies = system.mechanism.bodies if system.mechanism else ()
        self.bodies = [place_of("body", name, bodies, "by") for name in by]
        Problem(system, dict(zip(driven, values)), (), False, t)  # checks that these are scalar coordinates
        self.free = free_velocities(system, driven, "driven")
        self.held = {system.coordinate_names.index(name): value for name, value in zip(driven, values)}
        problem, columns = Problem(system, targets, (), False, t), system.characteristic.columns
        self.rows = Rows(
            system,
            system.nh + len(problem.residual(system.neutral())),
            lambda q: np.concatenate([system.constraint_residual(q, t), problem.residual(q)]),
            lambda q: np.vstack(
                [system.constraint_jacobian(q, t=t)[: system.nh], problem.jacobian(q) * columns]
            ),
        )
        self.turns = turning(system)
        self.lower, self.upper = coordinate_limits(system)
        self.scale = system.characteristic.columns
        self.size = _size(system)
        self.cut = rank_cut(system, self.anywhere(np.random.default_rng(0)), t, 1.0)

    def anywhere(self, rng: np.random.Generator) -> Array:
        """Return random coordinates with the driven ones at their values."""
        system = self.system
        spread = np.full(system.nq, self.size)
        spread[self.turns] = np.pi
        neutral = system.neutral()
        lower = np.where(np.isfinite(self.lower), self.lower, neutral - spread)
        upper = np.where(np.isfinite(self.upper), self.upper, neutral + spread)
        q = rng.uniform(np.minimum(lower, upper), np.maximum(lower, upper))
        for start in system.equations.quaternions:
            q[start : start + 4] = rng.standard_normal(4)
        for index, value in self.held.items():
            q[index] = value
        return system.normalized(q)

    def attempt(self, rng: np.random.Generator, isolated: Array) -> Array | None:
        """Return a closed configuration from a random start, with angles within half a turn of the neutral ones; None
        without one.

        If the iteration comes close to one of the ``isolated`` configurations (n, nq), that configuration is returned.
        """

        def arrives(q: Array, size: float) -> bool:
            return size < ISOLATED_RESIDUAL and bool((self.distances(isolated, q) < NEAR_ISOLATED).any())

        q = solve_rows(self.rows, self.anywhere(rng), self.free, arrives if len(isolated) else None)
        gaps = self.distances(isolated, q)
        if len(isolated) and gaps.min() < NEAR_ISOLATED:
            return np.array(isolated[np.argmin(gaps)])
        if not np.abs(self.rows.residual(q)).max(initial=0.0) <= DATA_TOLERANCE or antiparallel(
            self.system, q, self.t
        ):
            return None
        neutral = self.system.neutral()
        for index in set(self.turns.tolist()) - set(self.held):
            q[index] -= 2 * np.pi * np.rint((q[index] - neutral[index]) / (2 * np.pi))
        return q

    def comparable(self, found: list[_Found]) -> Array:
        """Return the isolated solutions (n, nq) that differences of coordinates distinguish.

        They do not in equations of one's own, nor if modes are distinguished by bodies.
        """
        if self.system.mechanism is None or self.bodies:
            return np.zeros((0, self.system.nq))
        return np.array([one.q for one in found if one.isolated]).reshape(-1, self.system.nq)

    def near(self, found: list[_Found], q: Array) -> list[_Found]:
        """Return the solutions that q may coincide with: all except isolated ones that are far away."""
        gaps = iter(self.distances(self.comparable(found), q).tolist())
        return [one for one in found if not (one.isolated and next(gaps, 0.0) > NEVER_SAME)]

    def distances(self, others: Array, q: Array) -> Array:
        """Return the largest difference of a coordinate [rad, κ] to each of ``others`` (n,), modulo full turns and
        quaternion signs.
        """
        gaps = self.system.characteristic.coordinates * chords(
            others, np.broadcast_to(q, others.shape), self.system, self.turns
        )
        return np.asarray(np.abs(gaps).max(axis=1, initial=0.0))

    def matrix(self, q: Array) -> Array:
        """Return the Jacobian of all equations with zeros for the driven velocities."""
        return np.asarray(self.rows.jacobian(q) * self.free)

    def rank(self, q: Array) -> int:
        """Return the rank of all equations on the velocities that are not driven."""
        return ranked(self.matrix(q), self.cut).rank

    def rank_nearby(self, q: Array) -> int:
        """Return the largest rank at q and after a small motion that may move the driven coordinates too."""
        system = self.system
        kernel = ranked(holonomic_jacobian(system, q, self.t), self.cut).null
        x = kernel @ np.random.default_rng(13).standard_normal(kernel.shape[1])
        if np.linalg.norm(x) == 0.0:
            return self.rank(q)
        p = close(system, system.move(q, 0.03 * x / np.linalg.norm(x)), self.t)
        return max(self.rank(q), self.rank(p))

    def kernel(self, q: Array) -> Array:
        """Return a basis of the motions (nv, k) with the driven velocities at rest."""
        return ranked(np.vstack([self.matrix(q), np.diag(1.0 - self.free)]), self.cut).null

    def family(self, q: Array) -> Array:
        """Return the curve of closed configurations through q (n, nq) if the family is a curve; else q alone (1,
        nq).
        """
        system, kernel = self.system, self.kernel(q)
        if self.rows.nh > system.nh or kernel.shape[1] != 1:
            return q[None]
        hold = np.eye(system.nv)[:, self.free == 0.0]
        path = [q]
        for way in (kernel[:, 0], -kernel[:, 0]):
            steps = walk(system, q, way, t=self.t, step=WALK_STEP, cut=self.cut, hold=hold, scale=self.scale)
            for k, (p, tangent) in enumerate(islice(steps, _CURVE)):
                path.append(p)
                if k > 4 and came_back(system, q, way, p, tangent, self.turns, self.scale):
                    return np.array([*path, q])
            path.reverse()
        return np.array(path)

    def joined(self, known: _Found, q: Array) -> bool:
        """Return whether a configuration belongs to a known family, or a straight walk from its first member reaches
        it.

        No walk starts from an isolated configuration.
        """
        p = known.family[0]
        if self.bodies:
            return bool(np.abs(self.places(p) - self.places(q)).max() < SAME_ASSEMBLY)
        if _passes(known.family, q, self.system, self.turns):
            return True
        gap = self.scale * difference(self.system, p, q, self.turns)
        left = float(np.linalg.norm(gap))
        if known.isolated:
            return left < SAME_ASSEMBLY
        while left > SAME_ASSEMBLY:
            kernel, _ = np.linalg.qr(self.scale[:, None] * self.kernel(p))
            x = kernel @ (kernel.T @ gap)
            size = float(np.linalg.norm(x))
            if size < STUCK_STEP * left:
                return False
            step = x * min(1.0, JOINING_STEP / size) / self.scale
            p = solve_rows(self.rows, self.system.move(p, step), self.free)
            gap = self.scale * difference(self.system, p, q, self.turns)
            before, left = left, float(np.linalg.norm(gap))
            if left > before - NO_PROGRESS * min(JOINING_STEP, before):
                return False
        return True

    def places(self, q: Array) -> Array:
        """Return positions and rotations of the bodies that modes are told apart by."""
        positions, rotations = self.system.body_placements(q)
        return np.concatenate([np.append(positions[k], rotations[k]) for k in self.bodies])


def _size(system: System) -> float:
    """Return the range of translations of random starts [m]: the size of the mechanism, or 3."""
    if system.mechanism is None:
        return 3.0
    places, _ = system.body_placements(system.neutral())
    offsets = [p.position for c in system.mechanism.closures.values() for p in (c.pose1, c.pose2)]
    reach = [float(np.linalg.norm(x)) for x in (*places, *offsets)]
    return 1.5 * max(reach, default=1.0) + 0.1


def _passes(curve: Array, q: Array, system: System, turns: np.ndarray) -> bool:
    """Return whether a configuration lies on a curve of configurations, at a station or between two."""
    scale = system.characteristic.coordinates
    along = scale * chords(curve[:-1], curve[1:], system, turns)
    aside = scale * chords(curve[:-1], np.broadcast_to(q, curve[1:].shape), system, turns)
    length = np.maximum(np.sum(along**2, axis=1), LEAST_DIVISOR)
    share = np.clip(np.sum(along * aside, axis=1) / length, 0.0, 1.0)
    beside = np.linalg.norm(aside - share[:, None] * along, axis=1)
    return bool(np.any(beside < 0.05 * np.sqrt(length)))
