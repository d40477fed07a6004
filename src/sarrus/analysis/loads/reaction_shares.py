"""Forces of redundant bearings: one distribution out of many that satisfy the equations of motion.

Reactions are r + V y, with r one solution of the equations, V (columns) the states of self-stress (wrenches of bearings
that balance each other) and any y. With stiffness, y minimises the complementary energy Σ r²/k (Castigliano,
Menabrea). Without it, y gives least norm: a couple counts as the force with the lever arm κ of `reach`, the multiplier
of a coupling in characteristic units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.loads.tolerances import ABSENT_SHARE, DEPENDENT_SHARE, NO_LOAD
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import real_array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.ranked import spanned
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD
from sarrus.symbolic.multibody.connections import Connection

_LABELS = (
    "force along x",
    "force along y",
    "force along z",
    "couple about x",
    "couple about y",
    "couple about z",
)
Stiffness = Mapping[str, ArrayLike]


@dataclass(frozen=True, eq=False)
class Sharing:
    """Scales and compliances by which redundant bearings share a load.

    ``length`` is κ [m]. ``units`` (6 n + couplings,) make components of bearings, then couplings, comparable.
    ``compliance`` [m/N, 1/N m] is 1/k, zero for infinite or missing stiffness; ``loose`` marks components of zero
    stiffness, which carry no load.
    """

    connections: tuple[Connection, ...]
    couplings: tuple[str, ...]
    units: Array
    compliance: Array
    loose: np.ndarray
    length: float

    @property
    def by_stiffness(self) -> bool:
        """Whether any stiffness is given."""
        return bool(self.compliance.any() or self.loose.any())

    @property
    def names(self) -> list[tuple[str, str]]:
        """For each component the label of its connection, and its own name."""
        own = [(one.label, f"{one.label!r} ({label})") for one in self.connections for label in _LABELS]
        return [*own, *((name, repr(name)) for name in self.couplings)]

    def share(self, bearing: Array, ways: Array, when: str = "") -> tuple[Array, Array]:
        """Return y (k,), and as columns (k, left) the states of self-stress that the stiffness leaves undetermined.

        ``bearing`` (components,) is the load and ``ways`` (components, k) its changes.
        """
        y, left = np.zeros(ways.shape[1]), np.eye(ways.shape[1])
        every = np.ones(len(bearing), dtype=bool)
        levels = (
            (self.loose, self.units),
            (self.compliance > 0.0, np.sqrt(self.compliance)),
            (every, self.units),
        )
        for level, (rows, weights) in enumerate(levels):
            if level == 2:
                open_ways = left
            if rows.any() and left.shape[1]:
                weighed = weights[rows, None] * ways[rows]
                cut = DEPENDENT_SHARE * float(np.abs(weighed).max(initial=0.0))
                found = spanned(product(weighed, left), cut=max(cut, LEAST_DIVISOR))
                y = y - product(left, found.solve(weights[rows] * bearing[rows] + product(weighed, y)))
                left = product(left, found.null)
            if level == 0 and rows.any():
                self._check_loose(bearing + product(ways, y), bearing, when)
        return y, open_ways

    def _check_loose(self, shared: Array, bearing: Array, when: str) -> None:
        """Raise `ArgumentError` if a bearing of zero stiffness must carry a load for equilibrium."""
        left = np.where(self.loose, np.abs(self.units * shared), 0.0)
        worst = int(np.argmax(left))
        if left[worst] > NO_LOAD * max(float(np.abs(self.units * bearing).max(initial=0.0)), LEAST_DIVISOR):
            element, name = self.names[worst]
            raise ArgumentError(
                f"stiffness{when}: {name} has zero stiffness, but equilibrium requires a load of {shared[worst]:.4g} "
                "there; give it a stiffness",
                element=element,
            )

    def determined(self, entries: Array, ways: Array) -> np.ndarray:
        """Return which entries (components, k) do not change along ``ways`` (components, k), all entries being
        wrenches.

        The ways are first made orthonormal in characteristic units, so that the threshold is relative.
        """
        if ways.shape[1] == 0:
            return np.ones(len(entries), dtype=bool)
        found = spanned(self.units[:, None] * ways, relative=DEPENDENT_SHARE)
        parts = product(self.units[:, None] * entries, found.right / found.kept)
        return np.asarray((parts**2).sum(axis=1) < ABSENT_SHARE)


def sharing(system: Evaluations, connections: tuple[Connection, ...], stiffness: Stiffness | None) -> Sharing:
    """Return the `Sharing` of a system; errors name the connection with an invalid stiffness."""
    mechanism = system.current_mechanism()
    length = reach(mechanism) or system.characteristic.length
    couplings = tuple(mechanism.couplings)
    units = np.tile([1.0, 1.0, 1.0, 1.0 / length, 1.0 / length, 1.0 / length], len(connections))
    scales = [
        1.0 / (system.characteristic.rows[system.closure_rows[name].start] * length) for name in couplings
    ]
    units = np.concatenate([units, scales])
    compliance, loose = np.zeros(len(units)), np.zeros(len(units), dtype=bool)
    labels = [one.label for one in connections]
    for label, value in (stiffness or {}).items():
        check_known("joint", label, (*labels, *couplings), f"{system.name}: stiffness")
        if label in couplings and label not in labels:
            place = slice(
                6 * len(labels) + couplings.index(label), 6 * len(labels) + couplings.index(label) + 1
            )
            numbers = _checked(system, label, value, (1,))
        else:
            k = labels.index(label)
            one, place = connections[k], slice(6 * k, 6 * k + 6)
            if one.what == "contact":
                raise ArgumentError(
                    f"{system.name}: stiffness of {label!r}: the forces of contacts with Coulomb friction follow from "
                    "their laws. Stiffness is for joints, closures, couplings and contacts that are constraints",
                    element=label,
                )
            numbers = _checked(system, label, value, (6,), length)
            carries = np.ones(6, dtype=bool)
            carries[list(one.free)] = False
            loose[place] = (numbers == 0.0) & carries
        with np.errstate(divide="ignore"):
            compliance[place] = np.where(numbers > 0.0, 1.0 / numbers, 0.0)
    return Sharing(connections, couplings, units, compliance, loose, length)


def reach(mechanism: Mechanism) -> float:
    """Return the largest distance between joints, closures, contacts and the centre of mass on one body [m].

    It does not depend on which joint closes a loop. Zero if they coincide on every body.
    """
    points: dict[str, list[Array]] = {name: [body.com] for name, body in mechanism.bodies.items()}
    points[WORLD] = []  # where a mechanism stands is no length of its own
    for name, body in mechanism.bodies.items():
        for anchor in [joint.anchor for joint in body.joints if joint.kind != "free"]:
            points[name].append(anchor)
            points[body.parent].append(body.placement.apply(anchor))
        if not body.joints:
            points[name].append(np.zeros(3))
            points[body.parent].append(body.placement.position)
    for closure in mechanism.closures.values():
        points[closure.body1].append(closure.pose1.position)
        points[closure.body2].append(closure.pose2.position)
    for contact in mechanism.contacts.values():
        points[contact.body].append(contact.point)
    for rolling in mechanism.rollings.values():
        points[rolling.body].append(rolling.centre)
    distances = [dense.norm(a - b) for name in mechanism.bodies for a, b in combinations(points[name], 2)]
    return max(distances, default=0.0)


def _checked(
    system: Evaluations, label: str, value: ArrayLike, shape: tuple[int, ...], length: float = 1.0
) -> Array:
    """Return the stiffness of one connection; a single number counts for all translations, times length² for
    rotations.
    """
    try:
        numbers = real_array(value)
    except ArgumentError:
        numbers = np.full(shape, np.nan)
    if numbers.ndim == 0:
        whole = np.full(shape, float(numbers))
        whole[3:] *= length**2
        numbers = whole
    if numbers.shape != shape or not (numbers >= 0.0).all() or not (numbers > 0.0).any():
        wanted = (
            "one number"
            if shape == (1,)
            else "one number, or six (kx, ky, kz, krx, kry, krz) along its own axes"
        )
        raise ArgumentError(
            f"{system.name}: stiffness of {label!r} must be {wanted} [N/m, N m/rad], positive or infinite, or zero in "
            f"directions without load, got {value!r}",
            element=label,
        )
    return numbers
