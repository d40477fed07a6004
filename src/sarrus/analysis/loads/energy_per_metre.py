"""`EnergyPerMetre`: loss and energy of the motors, divided by the length of a path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.loads.motor_loss import motor_powers
from sarrus.analysis.loads.tolerances import REAL_ROOT
from sarrus.analysis.loads.work_integral import integral, sides
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_known
from sarrus.motion.records.body_motion_along import body_motion
from sarrus.motion.records.interpolation import between
from sarrus.motion.records.trajectory import Trajectory

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
# Halvings towards a place where a speed is least: what is left is this part of an interval between samples.
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class EnergyPerMetre:
    """Loss and energy of the motors over the path of a point; ``print`` gives a summary (read-only arrays).

    Attributes
    ----------
    name : name of the system. path : the moving point, such as "tip of arm", or the coordinate.
    t : (T,) [s]. length : (T,) length of the path from the start [m]. length_error : its estimated error [m].
    loss : (T,) heat in all windings from the start [J]. work : (T,) mechanical work of all actuators [J], negative
        while they brake. error : estimated error of loss and work at the end [J].
    weight : m g of all bodies [N]; zero without gravity, and for equations of one's own.
    """

    name: str
    path: str
    t: Array
    length: Array
    length_error: float
    loss: Array
    work: Array
    error: float
    weight: float

    @property
    def loss_per_metre(self) -> float:
        """Heat of all windings over the length of the path [J/m]."""
        return float(self.loss[-1] / self.length[-1])

    @property
    def energy_per_metre(self) -> float:
        """Heat plus mechanical work over the length of the path [J/m], the energy delivered by the source."""
        return float((self.loss[-1] + self.work[-1]) / self.length[-1])

    @property
    def cost_of_transport(self) -> float:
        """Cost of transport, energy per metre over the weight m g [1]; `ArgumentError` without a weight."""
        if self.weight == 0.0:
            raise ArgumentError(
                f"{self.name}: the weight m g is zero and the cost of transport not defined; give gravity and masses",
                element="gravity",
            )
        return self.energy_per_metre / self.weight

    def __str__(self) -> str:
        return (
            f"{self.name}: path of {self.path} {self.length[-1]:.6g} m; loss {self.loss_per_metre:.6g} J/m, "
            f"energy {self.energy_per_metre:.6g} J/m"
        )


def energy_per_metre(
    trajectory: Trajectory,
    body: str | None = None,
    point: ArrayLike = (0.0, 0.0, 0.0),
    *,
    coordinate: str | None = None,
    weights: ArrayLike | None = None,
) -> EnergyPerMetre:
    """Return the `EnergyPerMetre` of a trajectory: energy of the motors per path of a point of a body, or of a
    coordinate.

    The path counts to and fro: its length is ∫|ṗ| dt of the polynomial of degree five through positions, velocities and
    accelerations at the samples. For time stepping with contacts, whose velocities jump within steps, it is the length
    of straight lines between samples.

    Parameters
    ----------
    body, point : the body, and the point (3,) in axes of the body [m].
    coordinate : instead of a point, a coordinate with a rate of the same name.
    weights : W of the loss uᵀW u if the motors are not known, see `sarrus.analysis.loads.motor_loss.motor_loss_along`.

    Raises
    ------
    ArgumentError
        A path of length zero; neither or both of body and coordinate; unknown names; everything that
        `Trajectory.motor_loss` and `Trajectory.body_motion` refuse.
    """
    if (body is None) == (coordinate is None):
        raise ArgumentError(
            f"{trajectory.name}: give either body or coordinate=",
            element="body",
        )
    powers = motor_powers(trajectory, weights)
    if body is not None:
        moved = body_motion(trajectory, body, point)
        name, p, v, a = f"a point of {body}", moved.position, moved.velocity, moved.acceleration
    else:
        names = [c for c in trajectory.coordinate_names if c in trajectory.velocity_names]
        check_known("coordinate with a rate", coordinate, names, trajectory.name)
        assert coordinate is not None
        i, j = trajectory.coordinate_names.index(coordinate), trajectory.velocity_names.index(coordinate)
        name, p, v, a = coordinate, trajectory.q[:, [i]], trajectory.v[:, [j]], trajectory.a[:, [j]]
    length, off = path_length(trajectory, p, v, a)
    if not length[-1] > 0.0:
        raise ArgumentError(
            f"{trajectory.name}: {name} does not move, so the length of its path is zero", element=name
        )
    (loss, one), (work, two) = (
        integral(powers.t, power.sum(axis=1)) for power in (powers.losses, powers.mechanical)
    )
    return EnergyPerMetre(
        name=trajectory.name,
        path=name,
        t=trajectory.t,
        length=read_only(length),
        length_error=off,
        loss=read_only(loss[powers.place]),
        work=read_only(work[powers.place]),
        error=one + two + float(powers.doubt.sum()),
        weight=_weight(trajectory),
    )


def path_length(trajectory: Trajectory, p: Array, v: Array, a: Array) -> tuple[Array, float]:
    """Return the length of a path from the start to each sample (T,) [m], and the estimated error at the end [m]."""
    steps = np.diff(trajectory.t)[:, None]
    chords = np.linalg.norm(np.diff(p, axis=0), axis=1)
    if len(chords) == 0:
        return np.zeros(1), 0.0
    ends = (array[m] for array in (p, v, a) for m in (slice(None, -1), slice(1, None)))
    smooth = _lengths(np.stack(between(trajectory, steps, *ends)))
    rough = chords
    if trajectory.mean_contacts:
        smooth, rough = rough, smooth
    else:
        rise, w0, w1 = np.diff(p, axis=0), steps * v[:-1], steps * v[1:]
        cubic = (p[:-1], w0, 3.0 * rise - 2.0 * w0 - w1, w0 + w1 - 2.0 * rise)
        rough = _lengths(np.stack([*cubic, 0.0 * w0, 0.0 * w0]))
    found = np.where(sides(trajectory.t), 0.0, smooth)
    return np.append(0.0, np.cumsum(found)), float(np.abs(found - rough)[~sides(trajectory.t)].sum())


def _lengths(c: Array) -> Array:
    """Return ∫₀¹ |dp/ds| ds of polynomials with coefficients (6, k, n), to rounding (k,)."""
    rate = np.stack([(m + 1) * c[m + 1] for m in range(5)])

    def speeds(s: Array) -> Array:
        """Return |dp/ds| (k, points) at parts s (k, points)."""
        value = rate[4][:, None, :] * np.ones_like(s)[:, :, None]
        for m in (3, 2, 1, 0):
            value = value * s[:, :, None] + rate[m][:, None, :]
        return np.asarray(np.linalg.norm(value, axis=2))

    whole = np.tile(0.5 * (1.0 + _NODES), (c.shape[1], 1))
    found = speeds(whole) @ (0.5 * _WEIGHTS)
    slopes = np.stack([(m + 1) * rate[m + 1] for m in range(4)])
    falls = np.einsum("kn,kn->k", rate[0], slopes[0]) <= 0.0
    rises = np.einsum("kn,kn->k", rate.sum(axis=0), slopes.sum(axis=0)) >= 0.0
    for k in np.flatnonzero(falls & rises):
        found[k] = _through_a_minimum(rate[:, k])
    return found


def _through_a_minimum(rate: Array) -> float:
    """Return the length of a path over an interval in which the speed has a minimum, possibly zero (a kink)."""

    def speed(s: Array) -> Array:
        value = np.tile(rate[4], (*s.shape, 1))
        for m in (3, 2, 1, 0):
            value = value * s[..., None] + rate[m]
        return np.asarray(np.linalg.norm(value, axis=-1))

    squared = np.sum([np.convolve(column, column) for column in rate.T], axis=0)
    if not squared.any():
        return 0.0
    found = np.polynomial.polynomial.polyroots(np.polynomial.polynomial.polyder(np.trim_zeros(squared, "b")))
    inside = sorted(
        float(root.real) for root in found if abs(root.imag) < REAL_ROOT and 0.0 < root.real < 1.0
    )
    halves = 0.5 ** np.arange(1, _HALVINGS)
    marks = [0.0, 1.0, *inside]
    for root in inside:
        marks += [*(root * (1.0 - halves)), *(root + (1.0 - root) * halves)]
    edges = np.unique(np.clip(marks, 0.0, 1.0))
    steps = np.diff(edges)
    parts = edges[:-1, None] + 0.5 * steps[:, None] * (1.0 + _NODES)
    return float((0.5 * steps * (speed(parts) @ _WEIGHTS)).sum())


def _weight(trajectory: Trajectory) -> float:
    """Return m g of all bodies [N]."""
    system = trajectory.moved_system()
    if system is None or system.mechanism is None:
        return 0.0
    mechanism = system.model.driven.apply(system.mechanism, {**system.parameters, **trajectory.parameters})
    mass = sum(body.mass for body in mechanism.bodies.values())
    return float(mass * np.linalg.norm(np.asarray(mechanism.gravity, dtype=float)))
