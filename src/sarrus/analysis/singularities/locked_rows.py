"""`HeldRows`: constraint rows together with the rows of inputs or outputs at rest, and their signed singular value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import three_numbers
from sarrus.dynamics.closing.assembly import free_velocities
from sarrus.dynamics.closing.manifold import holonomic_jacobian
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT

Output = str | tuple[str, ArrayLike]


class HeldRows:
    """R = [A; H] in characteristic units: with H v = 0 the mechanism can move where R has fewer than nv independent
    rows.

    H has a unit row for every velocity of ``driven``, or the Jacobian of the ``output``: a coordinate, or a point of a
    body.
    """

    def __init__(
        self, system: System, q: Array, driven: Sequence[str], output: Output | Sequence[str] | None, t: float
    ) -> None:
        if bool(len(driven)) == (output is not None):
            raise ArgumentError(
                f"{system.name}: give either driven (type 2: with the motors locked the mechanism can move) or "
                "output (type 1: the motors cannot move the output in some direction)",
                element="driven",
            )
        self.system, self.t = system, t
        self.sizes = system.characteristic
        self.body: str | None = None
        self.point = np.zeros(3)
        names: Sequence[str] = driven
        if isinstance(output, tuple) and len(output) == 2 and not isinstance(output[1], str):
            self.body, place = output
            bodies = tuple(system.mechanism.bodies) if system.mechanism else ()
            check_known("body", self.body, bodies, "output")
            self.point = three_numbers(place, f"{system.name}: the point of the output", element="output")
            names = ()
        elif output is not None:
            names = [output] if isinstance(output, str) else [str(name) for name in output]
        self.argument = "driven" if len(driven) else "output"
        free = free_velocities(system, names, self.argument)
        self.units = np.eye(system.nv)[free == 0.0]
        what = f"{self.body} {tuple(map(float, self.point))}" if self.body else ", ".join(names)
        self.label = f"{self.argument} {what}"
        beside = np.random.default_rng(11).standard_normal((3, system.nv)) * 0.02 / self.sizes.columns
        places = [q, *(system.move(q, x) for x in beside)]
        found = [self.singular(p)[1] for p in places]
        self.cut = RANK_CUT * max(float(values[0]) for values in found)
        self.full = found[0]

    def require_full_rank(self) -> None:
        """Raise `ArgumentError` if the mechanism can move with the driven or output velocities at rest: R lacks full
        rank.
        """
        if self.full[-1] <= self.cut:
            raise ArgumentError(
                f"{self.system.name}: with {self.label} at rest the mechanism still moves at the start. Name more "
                "coordinates, or start at a configuration that is not singular",
                element=self.argument,
            )

    def require_two_motions(self, what: str, q: Array, hold: Array) -> None:
        """Raise `ArgumentError` unless the mechanism has two degrees of freedom at q with the locked coordinates at
        rest.
        """
        left = self.motions(q, hold).shape[1]
        if left != 2:
            raise ArgumentError(
                f"{self.system.name}: {what} needs two degrees of freedom, and the mechanism has {left}; "
                + ("lock others" if left > 2 else "unlock coordinates"),
                element="locked",
            )

    def matrix(self, q: Array) -> Array:
        """Return R (m, nv) at q."""
        rows = holonomic_jacobian(self.system, q, self.t)
        linear = None
        if self.body is not None:
            linear = self.system.jacobian(q, t=self.t, body=self.body, point=self.point).linear
        return self.stacked(rows, linear)

    def stacked(self, rows: Array, linear: Array | None) -> Array:
        """Return R (…, m, nv) of the holonomic rows of A (…, nh, nv) and the Jacobian of a point (…, 3, nv), if any."""
        if linear is not None:
            held = linear / self.sizes.length
        else:
            held = self.units * (self.units @ self.sizes.columns)[:, None]
            held = np.broadcast_to(held, (*rows.shape[:-2], *held.shape))
        closed = self.sizes.rows[: self.system.nh, None] * rows
        return np.asarray(np.concatenate([closed, held], axis=-2) / self.sizes.columns)

    def singular(self, q: Array) -> tuple[Array, Array, Array]:
        """Return the singular value decomposition of R: left (m, nv), values (nv,), right (nv, nv) by rows."""
        matrix = self.matrix(q)
        missing = self.system.nv - len(matrix)
        if missing > 0:
            matrix = np.vstack([matrix, np.zeros((missing, self.system.nv))])
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        return left, values, right

    def least(self, q: Array) -> float:
        """Return the smallest singular value of R."""
        return float(self.singular(q)[1][-1])

    def signed(self, q: Array, left: Array) -> float:
        """Return the smallest singular value of leftᵀ R with the sign of its determinant.

        ``left`` (m, nv) are the left singular vectors of R at a nearby regular configuration; redundant rows have no
        part in them.
        """
        square = left.T @ self.matrix(q)[: len(left)]
        sign = np.linalg.slogdet(square)[0]
        return float(sign * np.linalg.svd(square, compute_uv=False)[-1])

    def motions(self, q: Array, hold: Array) -> Array:
        """Return an orthonormal basis (nv, k), in characteristic units, of the motions with ``hold`` at rest."""
        rows = self.sizes.rows[: self.system.nh, None] * holonomic_jacobian(self.system, q, self.t)
        return ranked(np.vstack([rows / self.sizes.columns, hold.T]), self.cut).null
