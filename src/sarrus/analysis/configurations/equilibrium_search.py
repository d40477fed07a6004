"""The search for an equilibrium: residual force, stiffness, Newton's method and descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.configurations.static_contacts import Carried, StaticContacts
from sarrus.analysis.configurations.tolerances import (
    DESCENDED,
    DESCENT_STEPS,
    EQUILIBRIUM_DAMPING,
    EQUILIBRIUM_LEAST_DAMPING,
    EQUILIBRIUM_STEPS,
    FORCE_BALANCED,
    FORCE_ROUNDING,
    LEAST_STIFFNESS,
    LONGEST_STEP,
    NEUTRAL_STIFFNESS,
    SHORTEST_REST_STEP,
    SINGULAR_FLUTTER_MASS,
    SOFT_DIRECTION,
    STIFFNESS_ROUNDING,
    SYMMETRIC_STIFFNESS,
)
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.branches import goes_on, tangents
from sarrus.dynamics.closing.manifold import (
    close,
    comparable,
    difference,
    holonomic_jacobian,
    rank_cut,
    stays_closed,
)
from sarrus.dynamics.model.derivatives import stiffness_times
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.levenberg_marquardt import levenberg_marquardt
from sarrus.kernels.linalg.ranked import Ranked, ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT


def loads_at_rest(system: System, q: Array, u: Array, tau: Array, t: float) -> Array:
    """Return as rows (5, nv) passive and non-ideal forces, inputs, gravity and applied force [N, N m]."""
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
class Stability:
    """Stiffness along the motions at rest, its eigenvalues by real part, the verdict, and the number of zero
    eigenvalues.
    """

    stiffness: Array
    eigenvalues: np.ndarray
    stable: bool | None
    neutral: int


@dataclass(frozen=True)
class Balance:
    """Residual force f along the motions at one configuration, and null spaces of A.

    ``motions``: null space of all rows, the velocities that A allows. ``ways``: null space of the holonomic rows, the
    directions of closed configurations.
    """

    force: Array
    left: Array
    jacobian: Array
    multipliers: Array
    determined: np.ndarray
    motions: Array
    ways: Array
    carried: Carried | None = None

    @property
    def residual(self) -> float:
        """Norm of the residual force."""
        return float(np.linalg.norm(self.left))


class EquilibriumSearch:
    """The search for an equilibrium of one system under given loads."""

    def __init__(
        self,
        system: System,
        u: ArrayLike | None,
        tau: ArrayLike | None,
        t: float,
        q: Array,
        with_contacts: bool = False,
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
        self.resting = (
            StaticContacts(system, t, lambda p: self.loads(p).sum(axis=0), q) if with_contacts else None
        )

    @property
    def is_isolated(self) -> bool:
        """Whether no finite motion starts from the start."""
        return self.motions is not None and self.motions.shape[1] == 0

    def rests(self, balance: Balance) -> bool:
        """Return whether the residual force is rounding of the forces here or nearby."""
        return balance.residual <= FORCE_BALANCED * self.size

    def loads(self, q: Array) -> Array:
        """Return passive forces, inputs, gravity and applied force by rows (5 × nv)."""
        found = loads_at_rest(self.system, q, self.u, self.tau, self.t)
        if not self.limited:
            found[2] = self.system.actuation_matrix(q, t=self.t) @ self.u
        return found

    def balance(self, q: Array) -> Balance:
        """Return the balance of forces at q."""
        system = self.system
        force = self.loads(q).sum(axis=0)
        jacobian = system.constraint_jacobian(q, t=self.t)
        rows = ranked(comparable(system, jacobian), self.cut)
        ways = rows.null
        if self.resting is not None:
            return self.carried(q, force, jacobian, rows)
        if system.nc > system.nh:
            ways = ranked(comparable(system, holonomic_jacobian(system, q, self.t)), self.cut).null
        held = rows.right @ (rows.right.T @ -force)
        multipliers = system.characteristic.least_multipliers(jacobian, rows.rank, held)
        motions = rows.null
        if self.motions is not None and not self.is_isolated:
            ways = tangents(system, q, self.t, self.cut).space
            motions = ways @ ranked(jacobian @ ways, self.cut).null
        return Balance(force, motions.T @ force, jacobian, multipliers, rows.determined, motions, ways)

    def carried(self, q: Array, force: Array, jacobian: Array, rows: Ranked) -> Balance:
        """Return the balance with contacts: the residual is the part of the load that contacts do not balance."""
        assert self.resting is not None
        balanced = float(np.linalg.norm(rows.null.T @ force)) <= FORCE_BALANCED * self.size
        carried = self.resting.carried(q, jacobian, rows.rank, balanced)
        force = force + carried.load.force
        multipliers = self.system.characteristic.least_multipliers(jacobian, rows.rank, -force)
        motions = rows.null @ ranked(carried.held @ rows.null, relative=RANK_CUT).null
        left = rows.null.T @ force
        return Balance(force, left, jacobian, multipliers, rows.determined, motions, motions, carried)

    def stiffness(self, q: Array, balance: Balance) -> Array:
        """Return Zᵀ K W (dof, number of ways): the restoring force along the motions when q moves along the ways."""
        columns = [self.stiffness_times(q, balance, way) for way in balance.ways.T]
        return balance.motions.T @ np.array(columns).reshape(len(columns), self.system.nv).T

    def stiffness_times(self, q: Array, balance: Balance, way: Array) -> Array:
        """Return the restoring force when q moves along a way, with all constraint forces constant."""
        if self.resting is None or balance.carried is None:
            return stiffness_times(self.system, q, self.u, balance.multipliers, way, self.t)
        forces = balance.carried.load.forces
        return self.resting.stiffness_times(q, self.u, balance.multipliers, forces, way)

    def settle(self, q: Array, stable: bool) -> tuple[Array, int]:
        """Return q if it rests on its contacts (``stable``: and stays there), else the end of a slow motion, and the
        steps.
        """
        assert self.resting is not None
        most = np.inf
        if not self.resting.is_deep(q):
            here = self.balance(q)
            most = here.residual
            if here.carried is not None and here.carried.load.status.ok:
                if not stable or self.stability(q, here).stable is not False:
                    return q, 0
                k = self.stiffness(q, here)
                weakest = here.motions @ np.linalg.eigh((k + k.T) / 2)[1][:, 0]
                q = self.system.move(q, 0.1 * weakest)
        found, count = self.resting.settle(q, self.u, self.cut)
        found = self.resting.contact(found)
        there = self.balance(found)
        assert there.carried is not None
        return (found if there.carried.load.status.ok or there.residual < most else q), count

    def move(self, q: Array, step: Array) -> Array | None:
        """Return q moved by at most the longest step and closed again; None if it does not close."""
        length = float(np.linalg.norm(step))
        p = close(
            self.system,
            self.system.move(q, step * min(1.0, LONGEST_STEP / max(length, LEAST_DIVISOR))),
            self.t,
        )
        return p if stays_closed(self.system, p, q, self.t) else None

    def find(self, q: Array, stable: bool) -> tuple[Array, int]:
        """Return an equilibrium, or the configuration with the least residual force, and the iterations."""
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
        """Return the result of Levenberg–Marquardt on the residual force, with the quadratic rate of Newton's
        method.
        """

        def steps(at: tuple[Array, Balance]) -> Callable[[float], tuple[Array, Balance] | None] | None:
            q, here = at
            if here.residual <= FORCE_ROUNDING * self.size or here.ways.shape[1] == 0:
                return None
            k = ranked(self.stiffness(q, here))

            def step(damping: float) -> tuple[Array, Balance] | None:
                shift = damping * k.values[0] * min(1.0, here.residual / max(self.size, LEAST_DIVISOR))
                p = self.move(q, here.ways @ k.damped(here.left, shift**2))
                there = None if p is None else self.balance(p)
                return (p, there) if p is not None and there and there.residual < here.residual else None

            return step

        (found, _), count = levenberg_marquardt(
            (q, self.balance(q)),
            lambda at: at[1].residual,
            steps,
            damping=EQUILIBRIUM_DAMPING,
            least=EQUILIBRIUM_LEAST_DAMPING,
            tries=12,
            most=EQUILIBRIUM_STEPS,
        )
        return found, count

    def descend(self, q: Array) -> tuple[Array, int]:
        """Follow the forces until the residual vanishes and the stiffness is positive; return q and the iterations."""
        here, reach = self.balance(q), LONGEST_STEP
        for iteration in range(DESCENT_STEPS):
            if here.ways.shape[1] == 0:
                return q, iteration
            k = self.stiffness(q, here)
            along = here.ways.T @ here.motions
            push = along @ here.left
            values, vectors = np.linalg.eigh((along @ k + (along @ k).T) / 2)
            floor = SOFT_DIRECTION * max(float(np.abs(values).max()), LEAST_STIFFNESS)
            if here.residual <= DESCENDED * self.size:
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
                q, here, reach = p, there, min(2 * reach, LONGEST_STEP)
            else:
                reach = min(reach, float(np.linalg.norm(step))) / 4
                if reach < SHORTEST_REST_STEP:
                    return q, iteration
        return q, DESCENT_STEPS

    def work(self, q: Array, p: Array, here: Balance, there: Balance) -> float:
        """Return the work of all forces on the way from q to p, by the trapezoidal rule."""
        return float((here.force + there.force) @ difference(self.system, q, p)) / 2

    def stability(self, q: Array, here: Balance) -> Stability:
        """Return the stiffness at an equilibrium, and whether it is stable."""
        k = self.stiffness(q, here)
        k = k @ (here.ways.T @ here.motions)
        length = self.system.characteristic.length
        rounding = STIFFNESS_ROUNDING * self.size * max(length, 1.0 / length)  # of forces that cancel
        largest, least = float(np.abs(k).max(initial=0.0)), rounding / NEUTRAL_STIFFNESS
        if (
            here.carried is not None
        ):  # contacts have made up for the forces at work: what is left may be rounding
            least = self.size * min(length, 1.0 / length)
        largest = max(largest, least)
        symmetric = np.abs(k - k.T).max(initial=0.0) < SYMMETRIC_STIFFNESS * max(largest, LEAST_DIVISOR)
        k = (k + k.T) / 2 if symmetric else k
        values: np.ndarray = np.linalg.eigvalsh(k) if symmetric else np.linalg.eigvals(k)
        values = values[np.argsort(values.real, kind="stable")]
        zero = NEUTRAL_STIFFNESS * max(float(np.abs(values).max(initial=0.0)), least)
        stable = verdict(values, zero) if symmetric else self.flutter_verdict(q, here.motions, k, zero)
        if here.carried is not None:
            stable = here.carried.verdict(stable, here.motions, k, zero)
        return Stability(k, values, stable, int(np.count_nonzero(np.abs(values) <= zero)))

    def status(self, q: Array, here: Balance) -> Status:
        """Return the status of the answer at q."""
        if here.carried is not None and not here.carried.load.status.ok:
            return here.carried.load.status
        if self.is_isolated:
            return Status.RIGID
        if not self.rests(here):
            return Status.NOT_ACHIEVABLE
        if self.motions is None:
            smooth = goes_on(self.system, q, self.t, tangents(self.system, q, self.t, self.cut))
            return Status.OK if smooth else Status.SINGULAR
        left = float(np.linalg.norm(here.force + here.jacobian.T @ here.multipliers))
        return Status.OK if left <= FORCE_BALANCED * self.size else Status.RIGID

    def flutter_verdict(self, q: Array, motions: Array, stiffness: Array, zero: float) -> bool | None:
        """Return whether small undamped motions M ẍ + K x = 0 stay small, for an unsymmetric K."""
        mass = motions.T @ self.system.mass_matrix(q, self.t) @ motions
        largest = float(np.linalg.eigvalsh(mass)[-1])
        if np.linalg.eigvalsh(mass)[0] <= SINGULAR_FLUTTER_MASS * np.trace(mass):
            return None
        squares = np.linalg.eigvals(np.linalg.solve(mass, stiffness))
        return verdict(squares, max(NEUTRAL_STIFFNESS * float(np.abs(squares).max()), zero / largest))


def verdict(values: np.ndarray, zero: float) -> bool | None:
    """Return whether eigenvalues of K or M⁻¹K mean stability; None if some are zero and none is negative."""
    if np.any(values.real < -zero) or np.any(np.abs(values.imag) > zero):
        return False
    return None if np.any(np.abs(values) <= zero) else True
