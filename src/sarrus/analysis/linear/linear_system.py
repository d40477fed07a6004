"""`LinearSystem`: a linear model ẋ = f₀ + A δx + B δu, y = C δx + D δu, with names and units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm
from scipy.signal import StateSpace

from sarrus.analysis.linear.neutral import Staircase, stable, staircase
from sarrus.analysis.linear.outputs import output_units
from sarrus.analysis.linear.tolerances import NEUTRAL_ENTRY
from sarrus.analysis.linear.vibration_mode import VibrationMode, swing
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SarrusError
from sarrus.base.lazy_import import lazy_import
from sarrus.base.notebook import heading, preformatted, table
from sarrus.base.numbers import positive_number, real_array
from sarrus.dynamics.contacts.support_reactions import ContactForces
from sarrus.dynamics.model.units import coordinate_units, velocity_units
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.ranked import ranked


@dataclass(frozen=True, eq=False)
class DiscreteSystem:
    """Discrete model x(t + dt) = A x + B u + affine, u held over the step, exact for the linear model; y = C x
    + D u.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    affine: Array
    dt: float


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """The first-order model of a constrained mechanism at a state, in independent coordinates.

    d/dt x = affine + A δx + B δu + E δt,  outputs = C δx + D δu, where x = (y, η): y are independent coordinates and η
    = ẏ; δ are differences from the state (q, v, u, t) of linearization. Activations of actuators are the last entries
    of x; ``tangent`` and `A_full` do not include them. With nonholonomic constraints y has more entries than η, and η
    are independent velocities of their own.

    Attributes
    ----------
    A : (n, n), B : (n, nu), C : (ny, n), D : (ny, nu).
    E : (n,) ∂ẋ/∂t at fixed (x, u); zero for autonomous systems.
    affine : (n,) ẋ at the state itself, zero at an equilibrium.
    names, input_names, output_names : of the entries of x, u and the outputs; the rate of "boom" is "boom.rate".
    coordinates, velocities : names of y and η in the mechanism. ``coordinate_indices``, ``velocity_indices`` : their
        numbers among the velocities of the mechanism; () for the tangent space, whose coordinates are mixtures.
    condition : condition number of [A / |A|; W], W the chosen rows; near one is a good choice of coordinates.
    multipliers : (nc,) λ at the state. rank : of A.
    saturated : names of the actuators at a limit (their own or their joint's); their columns of B are those at the
        limit, zero for a limit of the actuator itself.
    tangent : (2 nv, n) changes of (q along velocities, v) of the whole mechanism for unit changes of x.
    q, v, u, t : the state.
    contacts : modes and forces of contacts, stops and dry friction at the state; None if none acts. ``ambiguous``
        includes contacts on whose shares of the load A depends although statics does not determine them.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    E: Array
    affine: Array
    names: tuple[str, ...]
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    coordinate_indices: tuple[int, ...]
    velocity_indices: tuple[int, ...]
    condition: float
    multipliers: Array
    rank: int
    saturated: tuple[str, ...]
    tangent: Array
    q: Array
    v: Array
    u: Array
    t: float
    system: System = field(repr=False)
    coordinate_rows: Array = field(repr=False)
    velocity_rows: Array | None = field(repr=False)
    tangent_rates: Array = field(repr=False)
    at: Callable[[Array, Array], LinearSystem] = field(
        repr=False
    )  # the model at (q, v), same controls and time
    own: Callable[[Array, Array], Array] | None = field(
        default=None, repr=False
    )  # δx of (q, v) along a relation
    contacts: ContactForces | None = field(default=None, repr=False)

    @property
    def dof(self) -> int:
        """Number of independent velocities."""
        return len(self.velocities)

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the entries of x; () for mixtures and unknown units."""
        if not self.coordinate_indices:
            return ("",) * len(self.names)
        of_v = velocity_units(self.system)
        units = [of_v[i].removesuffix("/s") for i in self.coordinate_indices]
        known = (*units, *(of_v[i] for i in self.velocity_indices))
        return (*known, *coordinate_units(self.system)[self.system.nq - len(self.names) + len(known) :])

    @property
    def output_units(self) -> tuple[str, ...]:
        """Units of the outputs; () if unknown."""
        return self.units if self.output_names == self.names else output_units(self.system, self.output_names)

    # --- modes -------------------------------------------------------------------------------------

    @cached_property
    def _staircase(self) -> Staircase:
        return staircase(self)

    @cached_property
    def _modes(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = self._staircase.eigenvectors if self.neutral else np.linalg.eig(self.A)
        order = np.lexsort((values.imag, values.real, np.round(np.abs(values), 12), np.abs(values) > 0.0))
        return values[order].astype(complex), vectors[:, order].astype(complex)

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues s of A (n,) [1/s], slowest first. At an equilibrium they do not depend on the coordinates.

        Eigenvalues of neutral directions are exactly zero and come first.
        """
        return self._modes[0]

    @property
    def neutral(self) -> tuple[int, ...]:
        """Indices of the exact zero eigenvalues (neutral directions), the first ones.

        Neutral are rigid-body modes of a vehicle or free structure: position, heading, rolled angle of wheels, and the
        speed of a steady motion that exists at every speed. The zeros may form Jordan chains. Their columns of
        ``mode_shapes`` span the corresponding motions; ``neutral_velocities`` names them.
        """
        return tuple(range(self._staircase.neutral))

    @property
    def neutral_velocities(self) -> tuple[str, ...]:
        """Names of the velocities of the mechanism that take part in neutral directions."""
        stairs, nv = self._staircase, self.system.nv
        ways = product(self.tangent[:nv], stairs.scale[:, None] * stairs.basis[:, : stairs.neutral])
        sizes = np.abs(ways).max(axis=1, initial=0.0) * self.system.characteristic.columns
        return tuple(name for name, size in zip(self.system.velocity_names, sizes) if size > NEUTRAL_ENTRY)

    @property
    def natural_frequencies(self) -> Array:
        """Natural frequencies |s| of the eigenvalues (n,) [rad/s]."""
        return np.abs(self.eigenvalues)

    @property
    def damping_ratios(self) -> Array:
        """Damping ratios −Re s / |s| of the eigenvalues (n,), negative for growing modes; 0 for exact zeros."""
        size = np.abs(self.eigenvalues)
        return -self.eigenvalues.real / np.where(size > 0.0, size, 1.0)

    @property
    def mode_shapes(self) -> np.ndarray:
        """Mode shapes of the whole mechanism (nv, n), complex, largest entry of each column one.

        Column k belongs to eigenvalue k: the configuration moves along the velocity Re(shape e^{st}), dependent
        coordinates included. A column is zero if the mode changes no configuration.
        """
        shapes = self.tangent[: self.system.nv] @ self._modes[1]
        largest = shapes[np.abs(shapes).argmax(axis=0), np.arange(shapes.shape[1])]
        return np.asarray(shapes / np.where(largest != 0.0, largest, 1.0))

    def vibration_mode(self, mode: int, amplitude: float = 0.2, frames: int = 50) -> VibrationMode:
        """Return a `VibrationMode`: a period of a mode, q ⊕ amplitude Re(shape e^{iθ}), with loops closed again.

        Growth and decay are left out, so that the motion is periodic; a mode with a real eigenvalue is shown as an
        oscillation along its shape. The configurations differ from the linear motion by the order of the amplitude
        squared.

        Parameters
        ----------
        mode : index of the eigenvalue, as in ``eigenvalues``; a conjugate pair has one motion.
        amplitude : of the largest velocity component [rad or m]. frames : N.

        Raises
        ------
        ArgumentError
            No such mode, or one that changes no configuration (velocities alone, as with nonholonomic constraints).
        SolveError
            At this amplitude the loops do not close, or only farther from the linear motion than half the amplitude.
        """
        count, name = len(self.eigenvalues), self.system.name
        if not isinstance(mode, (int, np.integer)) or not 0 <= mode < count:
            raise ArgumentError(f"{name}: mode must be an index below {count}, got {mode!r}", element="mode")
        shape = self.mode_shapes[:, mode]
        if not np.abs(shape).max(initial=0.0) > 0.5:
            raise ArgumentError(
                f"{name}: mode {mode} changes velocities alone, no configuration", element="mode"
            )
        return swing(self.system, self.q, self.t, mode, shape, self.eigenvalues[mode], amplitude, frames)

    def animate_vibration_mode(self, mode: int, path: str | Path, **options: Any) -> Path:
        """Write an animated GIF of a mode; return its path. Options: `sarrus.plot.vibration_mode`."""
        return lazy_import("pictures.plots.plot", "vibration_mode")(self, mode, path, **options)

    @cached_property
    def stable(self) -> bool | None:
        """True if all eigenvalues except the neutral ones have negative real parts, False if one has a positive real
        part.

        None if the linear model does not decide: a real part is zero within rounding, as for undamped modes; all
        eigenvalues are neutral; or a zero eigenvalue is neutral at this state only. The rounding error of an eigenvalue
        follows from its condition number (Wilkinson, The Algebraic Eigenvalue Problem, 1965, chapter 2). With neutral
        directions of nonholonomic constraints the statement concerns the remaining motion: a bicycle may be stable and
        yet head elsewhere after a push. Without such constraints a zero may be a rigid mode or a critical load, which
        the linear model does not distinguish.
        """
        return stable(self, self._staircase)

    # --- other forms -------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        labels = [f"{name} [{unit}]" if unit else name for name, unit in zip(self.names, self.units)]
        head = ["A | B", *labels, *self.input_names]
        rows = [
            [label, *(f"{x:.6g}" for x in row)] for label, row in zip(labels, np.hstack([self.A, self.B]))
        ]
        values = ", ".join(f"{x:.6g}" for x in self.eigenvalues)
        verdict = {True: "stable", False: "unstable", None: "stable or not: the model does not tell"}[
            self.stable
        ]
        freedom = f"{self.dof} degree{'s' * (self.dof != 1)} of freedom"
        title = f"linear model of {self.system.name}: {freedom}, {verdict}"
        return heading(title) + table(head, rows) + preformatted(f"eigenvalues {values}")

    @cached_property
    def A_full(self) -> Array:
        """The model of the whole mechanism (2 nv, 2 nv), independent of coordinates: Df P (Spencer 2004, (4.4)).

        It maps changes of (q along velocities, v) to their rates; P = T T⁺ is the orthogonal projection on the changes
        T that the constraints allow. At an equilibrium its eigenvalues are those of A and zeros (theorem 4.1.2 there).
        """
        return read_only(product(self.tangent_rates, ranked(self.tangent).inverse))

    def deviation(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return δx (n,) of a state of the whole mechanism, for a state feedback u = u₀ − K δx."""
        s = self.system
        q, v = s.normalized(q), s.checked(v, s.nv, "v")
        for start in s.equations.quaternions:
            part = slice(start, start + 4)
            if q[part] @ self.q[part] < 0.0:
                q[part] = -q[part]
        if self.own is not None:
            return self.own(q, v)
        if self.velocity_rows is not None:
            rate, before = self.velocity_rows @ v, self.velocity_rows @ self.v
        else:
            rate = self.coordinate_rows @ s.coordinate_rate(q, v)
            before = self.coordinate_rows @ s.coordinate_rate(self.q, self.v)
        moved = q - self.q
        return np.concatenate(
            [self.coordinate_rows @ moved, rate - before, moved[s.equations.activation_places]]
        )

    def discretize(self, dt: float) -> DiscreteSystem:
        """Return the `DiscreteSystem`: exact step over dt [s] with u held (zero-order hold), by one matrix exponential.

        Its ``affine`` is the change of x in a step at δx = δu = 0; E is left out.
        """
        dt = positive_number(dt, "dt", unit=" [s]")
        n, nu = self.B.shape
        stacked = np.zeros((n + nu + 1, n + nu + 1))
        stacked[:n] = np.column_stack([self.A, self.B, self.affine])
        step = expm(stacked * float(dt))[:n]
        a, b, c = step[:, :n].copy(), step[:, n : n + nu].copy(), step[:, n + nu].copy()
        return DiscreteSystem(read_only(a), read_only(b), self.C, self.D, read_only(c), float(dt))

    def frequency_response(self, omega: ArrayLike) -> np.ndarray:
        """Return C (iω − A)⁻¹ B + D for each ω [rad/s]: (number of ω, ny, nu), complex.

        `ArgumentError` if iω is an eigenvalue of A.
        """
        frequencies = np.atleast_1d(real_array(omega))
        matrices = 1j * frequencies[:, None, None] * np.eye(len(self.A)) - self.A
        try:
            return np.asarray(self.C @ np.linalg.solve(matrices, self.B.astype(complex)) + self.D)
        except np.linalg.LinAlgError:
            raise ArgumentError(
                "omega: i ω is an eigenvalue of A, so the response is infinite; give another ω",
                element="omega",
            ) from None

    def to_scipy(self) -> StateSpace:
        """Return `scipy.signal.StateSpace` of A, B, C, D; affine and E are left out."""
        return StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """Return ``control.StateSpace`` with the names; affine and E are left out. Needs python-control."""
        try:
            import control
        except ImportError:
            raise SarrusError(
                "to_control() needs python-control: pip install control", element="control"
            ) from None
        return control.ss(
            *(self.A, self.B, self.C, self.D),
            states=list(self.names),
            inputs=list(self.input_names),
            outputs=list(self.output_names),
            name=self.system.name,
        )

    def __repr__(self) -> str:
        states, inputs = (", ".join(names) or "none" for names in (self.names, self.input_names))
        return f"LinearSystem({self.system.name!r}: states {states}; inputs {inputs})"
