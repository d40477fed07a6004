"""Equilibrium: where a mechanism rests, the inputs that hold it, and whether it stays there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.dynamics.activations import activations_of
from sarrus.dynamics.branches import goes_on, tangents
from sarrus.dynamics.closed_state import require_rest
from sarrus.dynamics.control_limits import control_bounds
from sarrus.dynamics.derivatives import stiffness_times
from sarrus.dynamics.manifold import (
    close,
    closed_start,
    difference,
    holonomic_jacobian,
    rank_cut,
    stays_closed,
)
from sarrus.dynamics.rigidity import look
from sarrus.dynamics.system import System
from sarrus.linalg.levenberg_marquardt import levenberg_marquardt
from sarrus.linalg.ranked import ROUNDING, ranked

# Force left along the motions, relative to the forces at work, at which a configuration is at rest.
TOLERANCE = 1e-10
# Iterations of Newton's method and of the descent, the longest step [rad, m], and relative stiffness that is zero.
_NEWTON, _DESCENT, _LONGEST, _NEUTRAL = 60, 400, 0.3, 1e-8
# Weight of the force to be held against the size of the inputs, where their limits are in the way.
_HOLD = 1e6


@dataclass(frozen=True, eq=False)
class Equilibrium(Answer):
    """A configuration at rest.

    Attributes
    ----------
    q, u : (nq,), (nu,) the configuration and the inputs that act.
    multipliers : (nc,) λ of least norm, as in `ForwardDynamics`, with k + S u − h + τ + Aᵀλ = 0; ``determined`` says
        which are unique.
    residual : norm of the generalized force left along the motions, zero at rest [N, N m].
    motions : (nv × dof) orthonormal basis Z of the motions that A allows.
    stiffness : (dof × dof) Zᵀ(∂²V − Σ λ_j ∂²φ_j)Z with u and τ held constant: the force that a small motion
        meets, curvature of the constraints included [N/m, N m/rad].
    eigenvalues : (dof,) of the stiffness, by real part; may be complex where follower forces make it unsymmetric.
    stable : True where all eigenvalues are positive, False where one is negative, None where stiffness does not
        tell: a zero eigenvalue (``neutral`` counts them), a singular configuration, no rest.
        For an unsymmetric stiffness those of M⁻¹K count, which must be real as well (no flutter without damping).
    iterations : steps taken.
    status : OK; SINGULAR (at rest, where the rank drops); RIGID (q is isolated and rests whatever acts; ``residual`` is
        the force along the velocities of A that no finite multipliers hold); NOT_ACHIEVABLE (no place of rest found,
        or no inputs hold q).
    """

    q: Array
    u: Array
    multipliers: Array
    determined: np.ndarray
    residual: float
    motions: Array
    stiffness: Array
    eigenvalues: np.ndarray
    stable: bool | None
    neutral: int
    iterations: int
    status: Status

    @property
    def dof(self) -> int:
        """Number of motions that A allows."""
        return int(self.motions.shape[1])


def equilibrium(
    system: System,
    q: ArrayLike,
    u: ArrayLike | None = None,
    *,
    hold: bool = False,
    stable: bool = False,
    t: float = 0.0,
    tau: ArrayLike | None = None,
    within_limits: bool = True,
    throw: bool = True,
) -> Equilibrium:
    """Find a place of rest near q for given inputs, or (``hold``) the inputs that keep q at rest.

    Rest is v = 0 with k + S u − h + τ + Aᵀλ = 0, so that no force is left along the motions: Zᵀ(k + S u − h + τ)
    = 0 with Z spanning the kernel of A.

    - Given u: Newton's method in the tangent space with the exact stiffness, steps that leave less force, each
      followed by closing the loops. It finds the place of rest that is near, stable or not; where it gets
      stuck, and from the start with ``stable``, a descent goes where the forces push, in steps in which they do
      work, and leaves saddles along their unstable direction, until the stiffness is positive.
    - ``hold``: q stays, u is of minimum norm, within the actuators' limits unless ``within_limits`` is False.

    Parameters
    ----------
    q : (nq,) start; loops open by up to 1e-5 are closed first, by more are an `ArgumentError`.
    u : (nu,) inputs, default zero; not with ``hold``. tau : (nv,) applied generalized force, held constant.
    t : time [s], for forces and constraints that depend on it, held fixed.
    throw : raise `SolveError` for NOT_ACHIEVABLE; its ``result`` holds the best answer found.

    Redundant rows are ordinary; λ is of minimum norm. Rigid: force is balanced along the motions that there are; where
    some is left along other velocities of A the status is RIGID, and at an isolated q, which rests there. Singular:
    the force must vanish along every motion that A allows here; status SINGULAR, ``stable`` None. Constraints that
    move at rest (ψ ≠ 0 at v = 0) allow no rest: `SolveError`. With nonholonomic rows the places of rest form
    surfaces, of which the nearest point is found, and the stiffness is that along the allowed velocities.
    """
    if hold and (u is not None or stable):
        raise ArgumentError(
            f"{system.name}: hold=True finds u for the given q; leave out u and stable", element="hold"
        )
    if hold and system.nu == 0:
        raise ArgumentError(f"{system.name} has no actuators to hold it; add_actuator", element="hold")
    if hold:
        system.without_activations("inputs that hold a place")
    place = _start(system, closed_start(system, real_array(q), t), u)
    rest = _Rest(system, u, tau, t, place)
    rest.motions = look(system, place, t).motions
    require_rest(system, place, t)
    iterations = 0
    if hold:
        rest.limited = False  # the search for u is linear in it
        rest.u = _holding(rest, place, within_limits)
        rest.limited = within_limits
    elif not rest.is_isolated:
        place, iterations = rest.find(place, stable)
    result = rest.describe(place, iterations)
    if throw and result.status is Status.NOT_ACHIEVABLE:
        what = "the actuators cannot hold it" if hold else "no place of rest found"
        raise SolveError(
            f"{system.name}: {what}; a force of {result.residual:.3g} is left along the motions",
            result=result,
        )
    return result


def _start(system: System, q: Array, u: ArrayLike | None) -> Array:
    """Return q with activations at rest: a filter's is its control, an integrator's stays, if its control is zero."""
    e = system.equations
    if e.drift is None:
        return q
    x = system.pack(q, None, u)
    for _ in range(2):  # ẇ is linear in w within its limits
        now = activations_of(system, x)
        falls = np.diag(now.by_state)
        x[e.nq - e.activations : e.nq] -= np.divide(
            now.rate, falls, out=np.zeros_like(falls), where=falls != 0.0
        )
    moving = np.abs(activations_of(system, x).rate) > 1e-12
    if moving.any():
        name = now.names[int(moving.argmax())]
        raise SolveError(
            f"{system.name}: {name!r} moves under these inputs, so nothing is at rest", element=name
        )
    return x[: e.nq]


def loads_at_rest(system: System, q: Array, u: Array, tau: Array, t: float) -> Array:
    """Return passive and non-ideal forces, inputs, gravity and applied force by rows (5 × nv)."""
    still = np.zeros(system.nv)
    return np.array(
        [
            system.passive_force(q, still, t),
            system.evaluate("non_ideal", q, t=t)["non_ideal"][:, 0],
            system.input_force(q, still, u, t),
            -system.bias_force(q, still, t),
            tau,
        ]
    )


@dataclass(frozen=True)
class _Balance:
    """Forces at rest in one configuration: f, what is left along the motions, and the kernels of A.

    ``motions`` of all rows, ``ways`` of the holonomic ones: velocities that A allows, and directions in which
    closed configurations lie.
    """

    force: Array
    left: Array
    jacobian: Array
    multipliers: Array
    determined: np.ndarray
    motions: Array
    ways: Array

    @property
    def residual(self) -> float:
        """Norm of the force left."""
        return float(np.linalg.norm(self.left))


class _Rest:
    """The search for a place of rest of one system under given loads."""

    def __init__(
        self, system: System, u: ArrayLike | None, tau: ArrayLike | None, t: float, q: Array
    ) -> None:
        self.system, self.t, self.limited = system, t, True
        self.motions: Array | None = None
        self.u = np.zeros(system.nu) if u is None else system.checked(u, system.nu, "u")
        self.tau = np.zeros(system.nv) if tau is None else system.checked(tau, system.nv, "tau")
        self.cut = rank_cut(system, q, t)
        rng = np.random.default_rng(11)
        beside = [system.move(q, 0.5 * rng.standard_normal(system.nv)) for _ in range(4)]
        loads = np.nan_to_num(np.array([self.loads(p) for p in (q, *beside)]))
        self.size = float(np.linalg.norm(loads, axis=2).sum(axis=1).max())

    @property
    def is_isolated(self) -> bool:
        """Whether no motion goes out of the start."""
        return self.motions is not None and self.motions.shape[1] == 0

    def rests(self, balance: _Balance) -> bool:
        """Tell whether the force left is rounding of the forces at work here or nearby."""
        return balance.residual <= TOLERANCE * self.size

    def loads(self, q: Array) -> Array:
        """Return passive forces, inputs, gravity and applied force by rows (5 × nv)."""
        found = loads_at_rest(self.system, q, self.u, self.tau, self.t)
        if not self.limited:
            found[2] = self.system.actuation_matrix(q) @ self.u
        return found

    def balance(self, q: Array) -> _Balance:
        """Return the balance of forces at q."""
        system = self.system
        force = self.loads(q).sum(axis=0)
        jacobian = system.constraint_jacobian(q, t=self.t)
        rows = ranked(jacobian, self.cut)
        ways = rows.null
        if system.nc > system.nh:
            ways = ranked(holonomic_jacobian(system, q, self.t), self.cut).null
        held = rows.right @ (rows.right.T @ -force)
        multipliers = system.characteristic.least_multipliers(jacobian, rows.rank, held)
        motions = rows.null
        if self.motions is not None and not self.is_isolated:
            ways = tangents(system, q, self.t, self.cut).space
            motions = ways @ ranked(jacobian @ ways, self.cut).null
        return _Balance(force, motions.T @ force, jacobian, multipliers, rows.determined, motions, ways)

    def stiffness(self, q: Array, balance: _Balance) -> Array:
        """Return Zᵀ K W (dof × number of ways): the force met along the motions when q moves along the ways."""
        columns = [
            stiffness_times(self.system, q, self.u, balance.multipliers, way, self.t)
            for way in balance.ways.T
        ]
        return balance.motions.T @ np.array(columns).reshape(len(columns), self.system.nv).T

    def move(self, q: Array, step: Array) -> Array | None:
        """Return q moved by at most the longest step and closed again; None where it does not close."""
        length = float(np.linalg.norm(step))
        p = close(self.system, self.system.move(q, step * min(1.0, _LONGEST / max(length, 1e-300))), self.t)
        return p if stays_closed(self.system, p, q, self.t) else None

    def find(self, q: Array, stable: bool) -> tuple[Array, int]:
        """Return a place of rest, or the one with the least force left, and the iterations."""
        done = 0
        if not stable:
            found, done = self.newton(q)
            if self.rests(self.balance(found)):
                return found, done
        lower, more = self.descend(q)
        polished, last = self.newton(lower)
        if not stable and self.balance(found).residual < self.balance(polished).residual:
            polished = found
        return polished, done + more + last

    def newton(self, q: Array) -> tuple[Array, int]:
        """Levenberg–Marquardt on the force left, at the quadratic rate of Newton's method."""

        def steps(at: tuple[Array, _Balance]) -> Callable[[float], tuple[Array, _Balance] | None] | None:
            q, here = at
            if here.residual <= 1e-14 * self.size or here.ways.shape[1] == 0:
                return None
            k = ranked(self.stiffness(q, here))

            def step(damping: float) -> tuple[Array, _Balance] | None:
                shift = damping * k.values[0] * min(1.0, here.residual / max(self.size, 1e-300))
                p = self.move(q, here.ways @ k.damped(here.left, shift**2))
                there = None if p is None else self.balance(p)
                return (p, there) if p is not None and there and there.residual < here.residual else None

            return step

        (found, _), count = levenberg_marquardt(
            (q, self.balance(q)),
            lambda at: at[1].residual,
            steps,
            damping=1e-3,
            least=1e-9,
            tries=12,
            most=_NEWTON,
        )
        return found, count

    def descend(self, q: Array) -> tuple[Array, int]:
        """Go where the forces push until they are at rest and the stiffness is positive."""
        here, reach = self.balance(q), _LONGEST
        for iteration in range(_DESCENT):
            if here.ways.shape[1] == 0:
                return q, iteration
            k = self.stiffness(q, here)
            along = here.ways.T @ here.motions
            push = along @ here.left
            values, vectors = np.linalg.eigh((along @ k + (along @ k).T) / 2)
            floor = 1e-6 * max(float(np.abs(values).max()), 1e-12)
            if here.residual <= 1e-7 * self.size:
                if values[0] > -floor:
                    return q, iteration
                step = 0.1 * vectors[:, 0] * (1.0 if push @ vectors[:, 0] >= 0.0 else -1.0)
            else:
                step = vectors @ ((vectors.T @ push) / np.maximum(np.abs(values), floor))
            step = here.ways @ step
            step *= min(1.0, reach / float(np.linalg.norm(step)))
            p = self.move(q, step)
            there = None if p is None else self.balance(p)
            if p is not None and there is not None and self.work(q, p, here, there) > 0.0:
                q, here, reach = p, there, min(2 * reach, _LONGEST)
            else:
                reach = min(reach, float(np.linalg.norm(step))) / 4
                if reach < 1e-9:
                    return q, iteration
        return q, _DESCENT

    def work(self, q: Array, p: Array, here: _Balance, there: _Balance) -> float:
        """Return the work of all forces on the way from q to p, by the trapezoidal rule."""
        return float((here.force + there.force) @ difference(self.system, q, p)) / 2

    def describe(self, q: Array, iterations: int) -> Equilibrium:
        """Return the answer at q with its stability."""
        here = self.balance(q)
        k = self.stiffness(q, here)
        k = k @ (here.ways.T @ here.motions)
        symmetric = np.abs(k - k.T).max(initial=0.0) < 1e-9 * np.abs(k).max(initial=1e-300)
        k = (k + k.T) / 2 if symmetric else k
        values: np.ndarray = np.linalg.eigvalsh(k) if symmetric else np.linalg.eigvals(k)
        values = values[np.argsort(values.real, kind="stable")]
        zero = _NEUTRAL * max(float(np.abs(values).max(initial=0.0)), 1e-9 * self.size)
        stable = _verdict(values, zero) if symmetric else self.flutter_verdict(q, here.motions, k)
        neutral = int(np.count_nonzero(np.abs(values) <= zero))
        status = self.status(q, here)
        return Equilibrium(
            q=read_only(q),
            u=read_only(self.u.copy()),
            multipliers=read_only(here.multipliers),
            determined=here.determined,
            residual=here.residual,
            motions=read_only(here.motions.copy()),
            stiffness=read_only(k),
            eigenvalues=values,
            stable=stable if status is Status.OK else None,
            neutral=neutral,
            iterations=iterations,
            status=status,
        )

    def status(self, q: Array, here: _Balance) -> Status:
        """Return what the answer is."""
        if self.is_isolated:
            return Status.RIGID
        if not self.rests(here):
            return Status.NOT_ACHIEVABLE
        if self.motions is None:
            smooth = goes_on(self.system, q, self.t, tangents(self.system, q, self.t, self.cut))
            return Status.OK if smooth else Status.SINGULAR
        left = float(np.linalg.norm(here.force + here.jacobian.T @ here.multipliers))
        return Status.OK if left <= TOLERANCE * self.size else Status.RIGID

    def flutter_verdict(self, q: Array, motions: Array, stiffness: Array) -> bool | None:
        """Return whether small undamped motions M ẍ + K x = 0 stay small, for an unsymmetric K."""
        mass = motions.T @ self.system.mass_matrix(q, self.t) @ motions
        if np.linalg.eigvalsh(mass)[0] <= 1e-12 * np.trace(mass):
            return None
        squares = np.linalg.eigvals(np.linalg.solve(mass, stiffness))
        return _verdict(squares, _NEUTRAL * float(np.abs(squares).max()))


def _verdict(values: np.ndarray, zero: float) -> bool | None:
    """Return whether eigenvalues of K or M⁻¹K mean stability; None where some are zero and none is bad."""
    if np.any(values.real < -zero) or np.any(np.abs(values.imag) > zero):
        return False
    return None if np.any(np.abs(values) <= zero) else True


def _holding(rest: _Rest, q: Array, within_limits: bool) -> Array:
    """Return inputs of minimum norm that leave the least force along the motions, within limits."""
    here = rest.balance(q)
    reach = here.motions.T @ rest.system.actuation_matrix(q)
    u = ranked(reach, relative=ROUNDING).solve(-here.left)
    bounds = control_bounds(rest.system) if within_limits else (-np.inf, np.inf)
    if np.all(u >= bounds[0]) and np.all(u <= bounds[1]):
        return np.asarray(u)
    weight = _HOLD / max(float(np.abs(reach).max(initial=0.0)), 1e-300)
    stacked = np.vstack([weight * reach, np.eye(len(u))])
    target = np.concatenate([-weight * here.left, np.zeros(len(u))])
    return np.asarray(lsq_linear(stacked, target, bounds=bounds, method="bvls", tol=1e-14).x)
